//! The open door, and the pages of a browser on this machine.

use axum::http::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tenure::Tenure;
use tenure_server::{App, Open};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::{Answer, Call, Service, as_who, on_each, served_app, token};
use crate::schema;

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

/// The answer of the service to these bytes as the head of a request.
async fn answer_to(service: &Service, head: &str) -> String {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

// fault: A21
#[test]
fn a_request_must_name_exactly_one_host() {
    on_each(async |service| {
        let here = service.address;
        let bad = |line: &str, hosts: &[&str]| {
            let hosts: String = hosts.iter().map(|host| format!("host: {host}\r\n")).collect();
            format!("GET {line}\r\n{hosts}")
        };
        let heads = [
            bad("/v1/items HTTP/1.1", &[]),
            bad("/v1/items HTTP/1.1", &["localhost", "evil.example"]),
            bad("/v1/items HTTP/1.1", &["localhost", "localhost"]),
            bad("/v1/items HTTP/1.1", &["localhost, evil.example"]),
            bad("http://evil.example/v1/items HTTP/1.1", &["localhost"]),
            bad("http://localhost/v1/items HTTP/1.1", &["evil.example"]),
            bad("http://localhost/v1/items HTTP/1.1", &[]),
            bad("/nothing/here HTTP/1.1", &[]),
            bad("/health/live HTTP/1.1", &[]),
        ];
        for head in &heads {
            let answer = answer_to(&service, head).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{head}: {answer}");
            assert!(answer.contains("INVALID_REQUEST"), "{head}: {answer}");
        }
        let rpc = "POST /tenure.v1.JobService/List HTTP/1.1\r\ncontent-type: application/json\r\n";
        assert!(answer_to(&service, rpc).await.starts_with("HTTP/1.1 400 "));
        // HTTP/1.0 has no `Host`; the open service is for requests that show where they were sent.
        let old = answer_to(&service, "GET /v1/items HTTP/1.0\r\n").await;
        assert!(old.starts_with("HTTP/1.0 403 "), "{old}");
        assert!(answer_to(&service, "GET /health/live HTTP/1.0\r\n").await.starts_with("HTTP/1.0 200 "));
        let same = format!("GET http://{here}/v1/items HTTP/1.1\r\nhost: {here}\r\n");
        assert!(answer_to(&service, &same).await.starts_with("HTTP/1.1 200 "));
        let forwarded = format!("GET /v1/items HTTP/1.1\r\nhost: {here}\r\nx-forwarded-host: a.example\r\n");
        assert!(answer_to(&service, &forwarded).await.starts_with("HTTP/1.1 200 "));
        let forwarded = "GET /v1/items HTTP/1.1\r\nhost: a.example\r\nx-forwarded-host: localhost\r\n";
        assert!(answer_to(&service, forwarded).await.starts_with("HTTP/1.1 403 "));
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        // A token is no excuse.
        let shown = format!("GET /v1/items HTTP/1.1\r\nauthorization: Bearer {admin}\r\n");
        assert!(answer_to(&service, &shown).await.starts_with("HTTP/1.1 400 "));
    });
}

/// The status of a request over HTTP/2 to this URL, with this `Host`.
async fn over_http2(service: &Service, uri: &str, host: Option<&str>) -> u16 {
    let stream = TcpStream::connect(service.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let mut request = Request::builder().uri(uri);
    if let Some(host) = host {
        request = request.header("host", host);
    }
    let request = request.body(axum::body::Body::empty()).unwrap();
    tokio::select! {
        response = sender.send_request(request) => response.unwrap().status().as_u16(),
        ended = connection => panic!("{uri}: the connection ended: {ended:?}"),
    }
}

// fault: A21
#[test]
fn the_authority_of_http2_is_a_host_too() {
    on_each(async |service| {
        let here = format!("http://{}/v1/items", service.address);
        for (uri, host, status) in [
            (here.as_str(), None, 200),
            ("http://evil.example/v1/items", None, 403),
            ("http://localhost/v1/items", Some("evil.example"), 400),
            ("http://evil.example/v1/items", Some("localhost"), 400),
        ] {
            assert_eq!(over_http2(&service, uri, host).await, status, "{uri} {host:?}");
        }
    });
}

// covers: K-07
// fault: A20
#[test]
fn a_service_that_had_a_token_stays_closed() {
    on_each(async |service| {
        let (id, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let path = format!("/v1/tokens/{id}");
        as_who(&service, &admin, Method::DELETE, &path, Value::Null).await.yes(204);
        assert_closed(&service).await;
    });
    on_each(async |service| {
        let past = json!({ "name": "past", "role": "admin", "expires_at": "2020-01-01T00:00:00Z" });
        token(&service, None, past).await;
        assert_closed(&service).await;
    });
}

async fn assert_closed(service: &Service) {
    let no = service.get("/v1/items").await.no(401, "UNAUTHENTICATED");
    assert!(no["fix"].as_str().unwrap().starts_with("tenure token create "), "{no}");
    assert!(!no["detail"].as_str().unwrap().contains("tenure "), "{no}");
    let said = service.call(Method::GET, "/v1/items").header("tenure-actor", "admin:me");
    service.send(said).await.no(401, "UNAUTHENTICATED");
    let made = service.post("/v1/tokens", json!({ "name": "mine", "role": "admin" })).await;
    made.no(401, "UNAUTHENTICATED");
}

// covers: K-07
// fault: A20
#[test]
fn a_service_that_had_a_token_is_closed_on_every_node_and_after_a_restart() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let schema = schema::fresh();
        let file = format!("sqlite:{}", folder.path().join("tenure.db").display());
        for url in [file, schema::url(&schema)] {
            let first = Tenure::open(&url).await.unwrap();
            let app = App::new(first.clone(), Open::WhileNoToken).await.unwrap();
            served_app(app, first, async |service| {
                let (id, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
                let path = format!("/v1/tokens/{id}");
                as_who(&service, &admin, Method::DELETE, &path, Value::Null).await.yes(204);
            })
            .await;
            let second = Tenure::open(&url).await.unwrap();
            let app = App::new(second.clone(), Open::WhileNoToken).await.unwrap();
            served_app(app, second, async |service| assert_closed(&service).await).await;
        }
        schema::drop(&schema).await;
    });
}
