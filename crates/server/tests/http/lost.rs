//! Answers that never arrive: the request has done its work, the connection is gone, and asking again is safe.

use axum::http::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::access::Operation;
use crate::kit::{Service, on_each};

/// Sends a request, and lets go of the connection once its effect is there, without having read a byte.
async fn lost(service: &Service, path: &str, body: &Value, is_done: impl AsyncFn() -> bool) {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let text = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    stream.write_all(format!("{head}{text}").as_bytes()).await.unwrap();
    while !is_done().await {}
    stream.set_zero_linger().unwrap();
}

async fn count(service: &Service, path: &str) -> usize {
    service.get(path).await.yes(200)["items"].as_array().unwrap().len()
}

// covers: K-30
// fault: N1
#[test]
fn what_was_added_without_an_answer_is_answered_when_it_is_asked_again() {
    on_each(async |service| {
        let operations = Operation::all(&service.get("/openapi.json").await.yes(200));
        let takes_a_key = |one: &&Operation| {
            let parameters = one.described["parameters"].as_array();
            let named = parameters.is_some_and(|all| all.iter().any(|one| one["name"] == "Idempotency-Key"));
            // Those of the systems have tests of their own: what they add is no payload.
            named && ["/v1/items", "/v1/jobs"].contains(&one.path.as_str())
        };
        let mut adding = 0;
        for operation in operations.iter().filter(takes_a_key) {
            assert_eq!(operation.method, Method::POST);
            let key = format!("lost-{adding}");
            let mut body = json!({ "payload": { "n": 1 }, "key": key, "idempotency_key": key });
            if operation.path == "/v1/items" {
                body["kind"] = json!("job");
            }
            let list = format!("/v1/items?kind=job&key={key}");
            lost(&service, &operation.path, &body, async || count(&service, &list).await == 1).await;
            let again = service.post(&operation.path, body.clone()).await.yes(200);
            assert_eq!(
                service.post(&operation.path, body.clone()).await.yes(200),
                again,
                "{}",
                operation.path
            );
            let shown = service.get(&format!("/v1/items/{}", again["id"].as_str().unwrap())).await.yes(200);
            assert_eq!((&shown["version"], &shown["payload"]), (&json!(1), &again["payload"]));
            assert_eq!(count(&service, &list).await, 1, "{}", operation.path);
            body["payload"] = json!({ "n": 2 });
            service.post(&operation.path, body).await.no(409, "IDEMPOTENCY_CONFLICT");
            adding += 1;
        }
        assert!(adding >= 2, "items and jobs take a key");
    });
}

// covers: R-11
// fault: N1
#[test]
fn a_document_that_was_uploaded_without_an_answer_is_one_document() {
    on_each(async |service| {
        let (path, body) = ("/v1/documents?idempotency_key=k", json!({ "n": 1 }));
        lost(&service, path, &body, async || count(&service, "/v1/documents").await == 1).await;
        let again = service.post(path, body.clone()).await.yes(200);
        assert_eq!(service.post(path, body).await.yes(200), again);
        service.post(path, json!({ "n": 2 })).await.no(409, "IDEMPOTENCY_CONFLICT");
        let runs = format!("/v1/documents/{}/runs", again["document_id"].as_str().unwrap());
        assert_eq!((count(&service, "/v1/documents").await, count(&service, &runs).await), (1, 1));
        let more = format!("/v1/documents/{}/reprocess", again["document_id"].as_str().unwrap());
        let key = json!({ "idempotency_key": "r" });
        lost(&service, &more, &key, async || count(&service, &runs).await == 2).await;
        service.post(&more, key).await.yes(200);
        assert_eq!(count(&service, &runs).await, 2);
    });
}

// fault: N1
#[test]
fn what_has_a_name_of_its_own_is_there_once() {
    on_each(async |service| {
        let creates = json!({ "kind": "job", "payload": {} });
        for (path, body) in [
            ("/v1/schedules", json!({ "name": "s", "times": "0 3 * * *", "creates": creates })),
            ("/v1/webhooks", json!({ "name": "w", "url": "https://example.org/in", "secrets": ["env:S"] })),
        ] {
            lost(&service, path, &body, async || count(&service, path).await == 1).await;
            let again = service.post(path, body.clone()).await.yes(200);
            assert_eq!(service.post(path, body).await.yes(200), again);
            assert_eq!(service.get(path).await.yes(200)["items"], json!([again]));
        }
        let job = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
        service.post(&format!("{path}/cancel"), json!({ "reason": "r" })).await.yes(200);
        let ready = async || count(&service, "/v1/jobs?phase=ready").await;
        lost(&service, &format!("{path}/retry"), &json!({}), async || ready().await == 1).await;
        let again = service.post(&format!("{path}/retry"), json!({})).await.yes(201);
        assert_eq!((&again["retry_of"], ready().await), (&job["id"], 1));
    });
}

// covers: K-18, K-39
// fault: N1
#[test]
fn a_lease_and_all_that_is_done_under_it_can_be_asked_for_again() {
    on_each(async |service| {
        for number in 0..5 {
            service.post("/v1/jobs", json!({ "payload": number })).await.yes(201);
        }
        for (number, end) in ["commit", "fail", "release"].into_iter().enumerate() {
            let asked = json!({ "kinds": ["job"], "worker": "w", "request_id": format!("r{number}") });
            lost(&service, "/v1/leases", &asked, async || count(&service, "/v1/leases").await == 1).await;
            let again = service.post("/v1/leases", asked.clone()).await.yes(200)["leases"].clone();
            assert_eq!(service.post("/v1/leases", asked).await.yes(200)["leases"], again);
            assert_eq!((again.as_array().unwrap().len(), count(&service, "/v1/leases").await), (1, 1));
            let lease = &again[0];
            let item = lease["item"].as_str().unwrap();
            let version =
                async || service.get(&format!("/v1/items/{item}")).await.yes(200)["version"].clone();
            let progress = json!({ "records": [{ "label": "note", "name": "1", "body": "half" }] });
            let steps = [("start", json!({})), ("progress", progress), (end, json!({ "reason": "r" }))];
            for (step, more) in steps {
                let path = format!("/v1/executions/{}/{step}", lease["execution"].as_str().unwrap());
                let mut body = json!({ "lease_token": lease["lease_token"] });
                if step != "commit" {
                    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                }
                let before = version().await;
                lost(&service, &path, &body, async || version().await != before).await;
                let after = version().await;
                let again = service.post(&path, body.clone()).await.yes(200);
                assert_eq!(service.post(&path, body).await.yes(200), again, "{step}");
                assert_eq!(version().await, after, "{step} has happened once");
            }
            let log = service.get(&format!("/v1/items/{item}/log")).await.yes(200);
            let ends = log["items"].as_array().unwrap().iter().filter(|entry| entry["action"] == end).count();
            assert_eq!(ends, 1, "{log}");
        }
    });
}
