//! Trace context over HTTP: what came with a create goes with every lease of what it made.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{Service, on_each};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

async fn create(service: &Service, path: &str, headers: &[(&str, &str)], body: Value) -> Value {
    let call = service.call(Method::POST, path).json(&body);
    let call = headers.iter().fold(call, |call, (name, value)| call.header(name, value));
    let answer = service.send(call).await;
    assert!(answer.status.is_success(), "a header is no reason to say no: {}", answer.text);
    answer.json()
}

/// The traces of everything that is ready, oldest first.
async fn leased(service: &Service) -> Vec<(Value, Value)> {
    let asked = json!({ "kinds": ["job"], "worker": "w", "max": 10 });
    let leases = service.post("/v1/leases", asked).await.yes(200);
    let traces = leases["leases"].as_array().unwrap().iter();
    traces.map(|lease| (lease["traceparent"].clone(), lease["tracestate"].clone())).collect()
}

#[test]
fn a_trace_comes_with_the_create_and_goes_with_the_lease() {
    on_each(async |service| {
        let job = json!({ "kind": "job", "payload": 1 });
        let headers =
            [("traceparent", PARENT), ("tracestate", "rojo=1"), ("tracestate", "congo=2"), ("x-other", "3")];
        create(&service, "/v1/items", &headers, job.clone()).await;
        create(&service, "/v1/jobs", &headers[..1], json!({ "payload": 2 })).await;
        create(&service, "/v1/items", &headers[..1], json!([job, job])).await;
        create(&service, "/v1/items", &headers[1..], job.clone()).await;
        let parent = json!(PARENT);
        let plain = (parent.clone(), Value::Null);
        let none = (Value::Null, Value::Null);
        assert_eq!(
            leased(&service).await,
            [(parent, json!("rojo=1,congo=2")), plain.clone(), plain.clone(), plain, none]
        );
    });
}

#[test]
fn a_trace_that_is_none_is_left_out_and_harms_nothing() {
    on_each(async |service| {
        let job = json!({ "kind": "job", "payload": 1 });
        let long = PARENT.replace("4bf9", &"a".repeat(10_000));
        for parent in ["", "00-xyz", &PARENT.to_uppercase(), &PARENT.replace("00-4", "ff-4"), &long] {
            create(&service, "/v1/items", &[("traceparent", parent)], job.clone()).await;
        }
        create(&service, "/v1/items", &[("traceparent", PARENT), ("traceparent", PARENT)], job.clone()).await;
        create(&service, "/v1/items", &[("traceparent", PARENT), ("tracestate", "=")], job).await;
        let mut expected = vec![(Value::Null, Value::Null); 6];
        expected.push((json!(PARENT), Value::Null));
        assert_eq!(leased(&service).await, expected);
    });
}
