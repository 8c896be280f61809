//! Answers that never arrive: the request has done its work, the connection is gone, and asking again is safe.

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::access::Operation;
use crate::kit::{Answer, Call, Service, as_who, leased, on_each, token};

/// Where a request has its key.
#[derive(Clone, Copy)]
enum In {
    Field,
    Header,
    Query,
}

impl In {
    /// A document is no object: it has no fields.
    fn of(self, path: &str) -> In {
        match self {
            In::Field if path == "/v1/documents" => In::Query,
            other => other,
        }
    }
}

/// A request with a key.
#[derive(Clone, Copy)]
struct Asked<'a> {
    path: &'a str,
    key: &'a str,
    at: In,
}

impl Asked<'_> {
    fn call(&self, service: &Service, body: &Value) -> Call {
        let Asked { path, key, at } = *self;
        match at {
            In::Field => {
                let mut body = body.clone();
                body["idempotency_key"] = json!(key);
                service.call(Method::POST, path).json(&body)
            }
            In::Header => service.call(Method::POST, path).header("idempotency-key", key).json(body),
            In::Query => service.call(Method::POST, &format!("{path}?idempotency_key={key}")).json(body),
        }
    }

    async fn send(&self, service: &Service, body: &Value) -> Answer {
        service.send(self.call(service, body)).await
    }
}

/// Sends a request, and lets go of the connection once its effect is there, without having read a byte.
async fn lost(service: &Service, path: &str, body: &Value, is_done: impl AsyncFn() -> bool) {
    lost_call(service, service.call(Method::POST, path).json(body), is_done).await;
}

async fn lost_call(service: &Service, call: Call, is_done: impl AsyncFn() -> bool) {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let (text, request) = (call.body, call.request.body(()).unwrap());
    let mut head = format!("POST {} HTTP/1.1\r\ncontent-length: {}\r\n", request.uri(), text.len());
    for (name, value) in request.headers() {
        head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    stream.write_all(format!("{head}\r\n{text}").as_bytes()).await.unwrap();
    let done = async { while !is_done().await {} };
    let waited = tokio::time::timeout(Duration::from_secs(20), done).await;
    assert!(waited.is_ok(), "{} {text}: nothing came of it", request.uri());
    stream.set_zero_linger().unwrap();
}

async fn count(service: &Service, path: &str) -> usize {
    service.get(path).await.yes(200)["items"].as_array().unwrap().len()
}

/// What adds something: how it is asked for, and how one sees that it is there.
struct Adding {
    /// The path, about something that is there.
    path: String,
    body: Value,
    /// The same with a difference: it has the key, and is another request.
    other: Value,
    /// A list that has one more when it was added.
    list: String,
}

/// A claim that is decomposed, and its first TruthBit.
async fn decomposed(service: &Service, key: &str) -> (String, String) {
    let body =
        json!({ "domain": "general", "text": "The lamp is red.", "idempotency_key": format!("{key}-claim") });
    let claim = service.post("/v0.1/claims", body).await.yes(201)["claim_id"].clone();
    let path = format!("/v0.1/claims/{}", claim.as_str().unwrap());
    service.post(&format!("{path}/enqueue-decomposition"), json!({})).await.yes(200);
    let lease = json!({ "kinds": ["claim"], "worker": "w", "items": [claim] });
    let leased = service.post("/v1/leases", lease).await.yes(200)["leases"][0].clone();
    let under = json!({ "lease_token": leased["lease_token"] });
    service.post(&format!("{path}/decompose"), under).await.yes(200);
    let bits = service.get(&format!("{path}/truthbits")).await.yes(200);
    (claim.as_str().unwrap().to_string(), bits["items"][0]["id"].as_str().unwrap().to_string())
}

/// How each route that takes a key is asked to add something. A route that is not here has no test, and so fails it.
async fn adding(service: &Service, path: &str, key: &str) -> Adding {
    let of = |body: Value, field: &str, value: Value, list: &str| {
        let mut other = body.clone();
        other[field] = value;
        Adding { path: path.to_string(), body, other, list: list.to_string() }
    };
    match path {
        "/v1/items" => {
            let body = json!({ "kind": "job", "payload": { "n": 1 }, "key": "an-item" });
            of(body, "payload", json!({ "n": 2 }), "/v1/items?key=an-item")
        }
        "/v1/jobs" => {
            let body = json!({ "payload": { "n": 1 }, "key": "a-job" });
            of(body, "payload", json!({ "n": 2 }), "/v1/jobs?key=a-job")
        }
        "/v0.1/claims" => {
            let body = json!({ "domain": "general", "text": "The lamp is red." });
            of(body, "text", json!("The lamp is blue."), "/v0.1/claims")
        }
        "/v0.1/evidence" => {
            let body = json!({ "type": "primary_artifact", "uri": "https://example.org", "captured_at": "2026-01-01T00:00:00Z" });
            of(body, "uri", json!("https://example.net"), "/v1/items?kind=evidence")
        }
        "/v0.1/truthbits/{id}/validations" | "/v0.1/claims/{id}/validations" => {
            let (claim, bit) = decomposed(service, key).await;
            let mut body = json!({ "outcome": "supports", "confidence": 0.5 });
            let mut path = path.replace("{id}", &bit);
            if path.starts_with("/v0.1/claims") {
                path = format!("/v0.1/claims/{claim}/validations");
                body["truthbit_id"] = json!(bit);
            }
            let list = format!("/v0.1/claims/{claim}/validations");
            Adding { path, ..of(body, "confidence", json!(0.25), &list) }
        }
        "/v1/documents" => of(json!({ "n": 1 }), "n", json!(2), "/v1/documents"),
        "/v1/documents/{id}/reprocess" => {
            let id = service.post("/v1/documents", json!("x")).await.yes(201)["document_id"].clone();
            let id = id.as_str().unwrap();
            let path = format!("/v1/documents/{id}/reprocess");
            // There is nothing to say but the key: another document with the same key is another run.
            Adding { path, body: json!({}), other: Value::Null, list: format!("/v1/documents/{id}/runs") }
        }
        "/v1/sessions" => {
            let body = json!({ "workspace": "here" });
            of(body, "workspace", json!("there"), "/v1/leases?kind=session")
        }
        "/v1/todos" => {
            of(json!({ "title": "sweep", "gates": ["human:look"] }), "title", json!("mop"), "/v1/todos")
        }
        "/v1/tickets" => of(json!({ "title": "a lamp" }), "title", json!("two lamps"), "/v1/tickets"),
        "/v1/tokens" => of(json!({ "name": "a", "role": "admin" }), "role", json!("api"), "/v1/tokens"),
        other => panic!("{other} takes an Idempotency-Key: say here how it is asked"),
    }
}

// covers: K-30
// fault: N1
#[test]
fn what_was_added_without_an_answer_is_answered_when_it_is_asked_again() {
    on_each(async |service| {
        let operations = Operation::all(&service.get("/openapi.json").await.yes(200));
        let takes_a_key = |one: &&Operation| {
            let parameters = one.described["parameters"].as_array();
            // The first token closes the door: its test is below.
            parameters.is_some_and(|all| all.iter().any(|one| one["name"] == "Idempotency-Key"))
                && one.path != "/v1/tokens"
        };
        let mut added = 0;
        for operation in operations.iter().filter(takes_a_key) {
            assert_eq!(operation.method, Method::POST);
            for at in [In::Field, In::Header] {
                let key = format!("lost-{added}");
                let Adding { path, body, other, list } = adding(&service, &operation.path, &key).await;
                let asked = Asked { path: &path, key: &key, at: at.of(&operation.path) };
                let before = count(&service, &list).await;
                let is_done = async || count(&service, &list).await == before + 1;
                lost_call(&service, asked.call(&service, &body), is_done).await;
                let again = asked.send(&service, &body).await.yes(200);
                assert_eq!(asked.send(&service, &body).await.yes(200), again, "{path}");
                assert_eq!(count(&service, &list).await, before + 1, "{path}");
                if !other.is_null() {
                    asked.send(&service, &other).await.no(409, "IDEMPOTENCY_CONFLICT");
                }
                // With another key it is another one, and told so.
                let asked = Asked { key: &format!("{key}-more"), ..asked };
                let more = asked.send(&service, &body).await.yes(201);
                assert_eq!(asked.send(&service, &body).await.yes(200), more, "{path}");
                assert_eq!(count(&service, &list).await, before + 2, "{path}");
                added += 1;
            }
        }
        assert!(added >= 22, "{added}");
    });
}

// covers: K-07, K-30
// fault: N1
#[test]
fn a_token_that_was_made_without_an_answer_is_one_token_and_is_not_shown_again() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let Adding { body, other, .. } = adding(&service, "/v1/tokens", "k").await;
        let asked = async |body: &Value, key: &str| {
            let call = service.call(Method::POST, "/v1/tokens").token(&admin).header("idempotency-key", key);
            service.send(call.json(body)).await
        };
        let first = asked(&body, "k").await.yes(201);
        let mut again = asked(&body, "k").await.yes(200);
        assert_eq!(again["token"], Value::Null);
        again["token"] = first["token"].clone();
        assert_eq!(again, first);
        assert_eq!(asked(&other, "k").await.no(409, "IDEMPOTENCY_CONFLICT")["item"], first["id"]);
        let mut named = body.clone();
        named["idempotency_key"] = json!("k");
        as_who(&service, &admin, Method::POST, "/v1/tokens", named).await.yes(200);
        assert_ne!(asked(&body, "k2").await.yes(201)["id"], first["id"]);
        let all = as_who(&service, &admin, Method::GET, "/v1/tokens", Value::Null).await.yes(200);
        assert_eq!(all["items"].as_array().unwrap().len(), 3);
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
            assert_eq!(service.post(path, body.clone()).await.yes(200), again);
            assert_eq!(service.get(path).await.yes(200)["items"], json!([again]));
            // Another under the same name is not the same, and none of it is taken over.
            let mut other = body.clone();
            let (field, value) = if path == "/v1/schedules" {
                ("times", "0 4 * * *")
            } else {
                ("url", "https://example.net/in")
            };
            other[field] = json!(value);
            let no = service.post(path, other).await.no(409, "IDEMPOTENCY_CONFLICT");
            assert_eq!(no["item"], again["id"]);
            assert!(no["detail"].as_str().unwrap().contains("remove that one first"), "{no}");
            assert_eq!(service.get(path).await.yes(200)["items"], json!([again]));
        }
        let job = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
        service.post(&format!("{path}/cancel"), json!({ "reason": "r" })).await.yes(200);
        let ready = async || count(&service, "/v1/jobs?phase=ready").await;
        lost(&service, &format!("{path}/retry"), &json!({}), async || ready().await == 1).await;
        let again = service.post(&format!("{path}/retry"), json!({})).await.yes(200);
        assert_eq!((&again["retry_of"], ready().await), (&job["id"], 1));
        assert_eq!(service.post(&format!("{path}/retry"), json!({})).await.yes(200), again);
        let source =
            json!({ "source": include_str!("../../../../lifecycles/job.md").replace("# job", "# parcel") });
        let first = service.post("/v1/lifecycles", source.clone()).await.yes(201);
        assert_eq!(service.post("/v1/lifecycles", source).await.yes(200), first);
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
            let again = leased(&service, &asked).await;
            assert_eq!(leased(&service, &asked).await, again);
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
