//! The open door, and the pages of a browser on this machine.

use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::kit::{Answer, Call, Service, as_who, on_each, token};

/// As a page sends it without being asked whether it may: no content type that a browser would ask about.
async fn sent(service: &Service, headers: &[(&str, &str)], token: Option<&str>) -> Answer {
    let is_named = headers.iter().any(|(name, _)| *name == "host");
    let mut request = Request::builder().method(Method::POST).uri("/v1/jobs");
    if !is_named {
        request = request.header("host", service.address.to_string());
    }
    let mut call = Call { request, body: json!({ "payload": 1 }).to_string() };
    for (name, value) in headers {
        call = call.header(name, value);
    }
    service.send(if let Some(token) = token { call.token(token) } else { call }).await
}

// covers: K-07
// fault: A14
#[test]
fn no_page_of_somewhere_else_comes_through_the_open_door() {
    on_each(async |service| {
        let here = format!("http://{}", service.address);
        let foreign: [&[(&str, &str)]; 7] = [
            &[("origin", "https://evil.example")],
            &[("origin", "null")],
            &[("origin", "http://localhost:3000")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("host", "evil.example")],
            &[("host", "evil.example"), ("origin", "http://evil.example"), ("sec-fetch-site", "same-origin")],
        ];
        for headers in foreign {
            let no = sent(&service, headers, None).await.no(403, "FORBIDDEN");
            let header = no["header"].as_str().unwrap().to_lowercase();
            assert!(headers.iter().any(|(name, _)| *name == header), "{no}");
        }
        // RPC is the same door.
        let path = "/tenure.v1.JobService/Submit";
        let call = service.call(Method::POST, path).header("origin", "https://evil.example");
        let answer = service.send(call.json(&json!({ "payload_json": "1" }))).await;
        assert_eq!(answer.status, 403, "{}", answer.text);
        assert_eq!(service.get("/v1/jobs").await.yes(200)["items"], json!([]));

        let localhost = format!("localhost:{}", service.address.port());
        let ours: [&[(&str, &str)]; 4] = [
            &[],
            &[("origin", &here), ("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
            &[("host", &localhost)],
        ];
        for headers in ours {
            sent(&service, headers, None).await.yes(201);
        }
        // What anybody may ask is nobody's secret.
        let call = service.call(Method::GET, "/health/live").header("origin", "https://evil.example");
        service.send(call).await.yes(200);

        // A token is not a page's to show: where there is one, nothing of this is asked.
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        for headers in foreign {
            sent(&service, headers, Some(&admin)).await.yes(201);
        }
        let made = as_who(&service, &admin, Method::GET, "/v1/jobs", Value::Null).await.yes(200);
        assert_eq!(made["items"].as_array().unwrap().len(), ours.len() + foreign.len());
    });
}
