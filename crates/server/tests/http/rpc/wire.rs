//! RPC on the wire: plain POST, what is not known, what is too much, and what is counted.

use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::http::Method;
use prost::Message;
use serde_json::{Value, json};
use tenure::Tenure;
use tenure_server::{Access, App, Form, Open};

use super::caller::{Caller, Way};
use crate::kit::{on_each, served_app};

fn caller(service: &crate::kit::Service, way: Way) -> Caller<'_> {
    Caller { service, way, token: None }
}

#[test]
fn a_method_is_a_plain_post_of_json() {
    on_each(async |service| {
        let submit = "/tenure.v1.JobService/Submit";
        let made = service.post(submit, json!({ "payload_json": "[1.50]", "max_attempts": 2 })).await;
        assert_eq!(made.headers["content-type"], "application/json");
        assert!(!made.headers["x-request-id"].is_empty());
        let made = made.yes(200);
        assert_eq!((&made["payloadJson"], &made["maxAttempts"]), (&json!("[1.50]"), &json!(2)));
        // Names as the files have them, and as JSON writes them.
        let shown =
            service.post("/tenure.v1.JobService/Get", json!({ "id": made["jobId"], "waitMs": "1" })).await;
        assert_eq!(shown.yes(200)["jobId"], made["jobId"]);
        let unknown = service.post(submit, json!({ "payload_json": "1", "priorty": 2 })).await;
        assert_eq!(unknown.status, 400);
        let unknown = unknown.json();
        assert_eq!(unknown["code"], "invalid_argument");
        assert!(unknown["message"].as_str().unwrap().contains("priorty"), "{unknown}");
        assert_eq!(unknown["details"][0]["debug"]["code"], "INVALID_REQUEST");
        assert_eq!(unknown["details"][0]["debug"]["instance"], submit);
        let named = service.call(Method::POST, submit).header("x-request-id", "mine").json(&json!({}));
        assert_eq!(service.send(named).await.headers["x-request-id"], "mine");
        service.get(submit).await.no(405, "INVALID_REQUEST");
        service.post("/tenure.v1.JobService/Nothing", json!({})).await.no(404, "NOT_FOUND");
        let key = service
            .call(Method::POST, submit)
            .header("idempotency-key", "k")
            .json(&json!({ "payload_json": "1" }));
        let first = service.send(key).await.yes(200);
        let again =
            service.post(submit, json!({ "payload_json": "1", "idempotency_key": "k" })).await.yes(200);
        assert_eq!(first["jobId"], again["jobId"]);
    });
}

// fault: A22
#[test]
fn a_field_that_no_message_has_is_refused_by_every_method() {
    on_each(async |service| {
        let mut asked = 0;
        for method in tenure_server::methods() {
            let path = format!("/tenure.v1.{}", method.name);
            let answer = service.post(&path, json!({ "HERE": 1 })).await;
            assert_eq!(answer.status, 400, "{path}: {}", answer.text);
            let problem = answer.json()["details"][0]["debug"].clone();
            assert_eq!(
                (&problem["code"], &problem["field"]),
                (&json!("INVALID_REQUEST"), &json!("HERE")),
                "{path}: {problem}"
            );
            asked += 1;
        }
        assert!(asked > 80, "{asked}");
    });
}

/// A field that nobody knows, after a message.
#[derive(Clone, PartialEq, Message)]
struct Stranger {
    #[prost(string, optional, tag = "1")]
    payload_json: Option<String>,
    #[prost(string, tag = "999")]
    stranger: String,
}

#[test]
fn what_is_not_known_can_not_be_read_or_is_too_much_is_refused() {
    on_each(async |service| {
        let caller = caller(&service, Way::ConnectBinary);
        let stranger = Stranger { payload_json: Some("1".into()), stranger: "x".into() }.encode_to_vec();
        let no = async |kind: &str, body: Vec<u8>| {
            let answer = caller.posted("JobService/Submit", kind, body, &[]).await;
            (answer.status().as_u16(), serde_json::from_slice::<Value>(answer.body()).unwrap_or_default())
        };
        let (status, error) = no("application/proto", stranger).await;
        assert_eq!((status, &error["code"]), (400, &json!("invalid_argument")));
        assert!(error["message"].as_str().unwrap().contains("999"), "{error}");
        let (status, error) = no("application/proto", vec![0xff; 7]).await;
        assert_eq!((status, &error["details"][0]["debug"]["code"]), (400, &json!("INVALID_REQUEST")));
        let (status, error) = no("application/json", b"{\"payload_json\": ".to_vec()).await;
        assert_eq!((status, &error["details"][0]["debug"]["code"]), (400, &json!("INVALID_REQUEST")));
        let much = vec![b' '; tenure_server::REQUEST_BYTES_MAX + 1];
        let (_, error) = no("application/json", much).await;
        assert_eq!(
            (&error["code"], &error["details"][0]["debug"]["code"]),
            (&json!("resource_exhausted"), &json!("PAYLOAD_TOO_LARGE"))
        );
        assert_eq!(no("text/plain", b"1".to_vec()).await.0, 415);
        assert_eq!(service.get("/v1/items").await.yes(200)["items"], json!([]));
    });
}

#[test]
fn a_caller_waits_no_longer_than_it_says() {
    on_each(async |service| {
        let id = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201)["job_id"].clone();
        let body = json!({ "id": id, "wait_ms": 30000 }).to_string().into_bytes();
        let caller = caller(&service, Way::ConnectJson);
        let answer =
            caller.posted("JobService/Get", "application/json", body, &[("connect-timeout-ms", "50")]).await;
        let error: Value = serde_json::from_slice(answer.body()).unwrap();
        assert_eq!(error["code"], "deadline_exceeded");
    });
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_call_is_written_down_and_counted_once_with_the_status_of_rest() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let tenure = Tenure::open("memory:").await.unwrap();
        let lines = Lines::default();
        let app = App::new(tenure.clone(), Open::WhileNoToken).await.unwrap();
        let app = app.logging(Access::new(Form::Json, lines.clone()));
        served_app(app, tenure, async |service| {
            for way in super::caller::WAYS {
                let caller = caller(&service, way);
                caller.yes("JobService/Submit", json!({ "payload_json": "1" })).await;
                caller.no("ItemService/Get", json!({ "id": "nothing" })).await.is("not_found", "NOT_FOUND");
            }
            let written = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
            let lines: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let told: Vec<_> =
                lines.iter().map(|line| (line["route"].as_str().unwrap(), line["status"].as_u64().unwrap())).collect();
            let pair = [("/tenure.v1.JobService/Submit", 201), ("/tenure.v1.ItemService/Get", 404)];
            assert_eq!(told, [pair, pair, pair].concat());
            assert!(lines.iter().all(|line| line["actor"] == "admin:local"), "{written}");
            let metrics = service.get("/metrics").await.text;
            for line in [
                "tenure_http_requests_total{route=\"/tenure.v1.ItemService/Get\",method=\"POST\",status=\"404\"} 3",
                "tenure_http_requests_total{route=\"/tenure.v1.JobService/Submit\",method=\"POST\",status=\"201\"} 3",
                "tenure_problems_total{code=\"NOT_FOUND\"} 3",
            ] {
                assert!(metrics.contains(line), "{line}: {metrics}");
            }
        })
        .await;
    });
}
