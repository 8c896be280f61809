//! How a no is said: in the words of HTTP and of the product, with the field that it is about.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{Answer, as_who, on_each, token};

/// What no answer shows: the words of the language that the server is written in.
const RUST: [&str; 9] =
    ["i8", "u32", "u64", "usize", "struct ", "deserialize", "sequence", "invalid type", "digit"];

#[track_caller]
fn about(answer: &Answer, status: u16, field: &str) -> Value {
    let no = answer.no(status, "INVALID_REQUEST");
    let detail = no["detail"].as_str().unwrap();
    assert_eq!(no["field"], field, "{no}");
    assert!(RUST.iter().all(|word| !detail.contains(word)), "{no}");
    no
}

// covers: K-55
// fault: A7
#[test]
fn a_fault_is_told_with_its_field_and_without_a_word_of_rust() {
    on_each(async |service| {
        for (path, body, field) in [
            ("/v1/jobs", json!({}), "payload"),
            ("/v1/jobs", json!({ "payload": 1, "priority": 300 }), "priority"),
            ("/v1/jobs", json!({ "payload": 1, "priority": "high" }), "priority"),
            ("/v1/jobs", json!({ "payload": 1, "max_attempts": -1 }), "max_attempts"),
            ("/v1/jobs", json!({ "payload": 1, "run_at": "soon" }), "run_at"),
            ("/v1/jobs", json!({ "payload": 1, "key": {} }), "key"),
            ("/v1/items", json!({ "payload": 1 }), "kind"),
            ("/v1/items", json!({ "kind": "jbo", "payload": 1 }), "kind"),
            ("/v1/leases", json!({ "kinds": ["jbo"], "worker": "w" }), "kinds"),
            ("/v1/leases", json!({ "kinds": ["job"] }), "worker"),
            ("/v1/leases", json!({ "kinds": ["job"], "worker": "w", "max": 0 }), "max"),
            ("/v1/tokens", json!({ "name": "n", "role": "system" }), "role"),
            ("/v1/tokens", json!({ "name": "n", "role": "api", "kinds": ["?"] }), "kinds"),
            ("/v1/executions/commit", json!({}), "commits"),
            ("/v1/executions/commit", json!({ "commits": [] }), "commits"),
            ("/v1/executions/commit", json!([]), "commits"),
            ("/v1/executions/commit", json!({ "commits": [{ "execution": "x" }] }), "commits[0].lease_token"),
            ("/v1/leases/renew", json!([{}]), "leases"),
        ] {
            about(&service.post(path, body).await, 400, field);
        }
        for (query, field) in [
            ("limit=many", "limit"),
            ("limit=0", "limit"),
            ("limit=-1", "limit"),
            ("phase=x", "phase"),
            ("cursor=x", "cursor"),
        ] {
            about(&service.get(&format!("/v1/items?{query}")).await, 400, field);
        }
        let create = service.post("/v1/items", json!({ "kind": "jbo", "payload": 1 })).await;
        let create = about(&create, 400, "kind")["detail"].as_str().unwrap().to_string();
        assert!(create.contains("did you mean `job`?") && create.contains("GET /v1/lifecycles"), "{create}");
        let lease = service.post("/v1/leases", json!({ "kinds": ["jbo"], "worker": "w" })).await;
        assert_eq!(
            about(&lease, 400, "kinds")["detail"].as_str().unwrap().replace("kinds:", "kind:"),
            create
        );

        let mut call = service.call(Method::POST, "/v1/jobs").header("content-type", "application/json");
        call.body = "{kind:job}".to_string();
        let no = service.send(call).await.no(400, "INVALID_REQUEST");
        assert!(no["field"].is_null() && no["detail"].as_str().unwrap().contains("not JSON"), "{no}");
        let mut call = service.call(Method::POST, "/v1/jobs").header("content-type", "text/plain");
        call.body = "{}".to_string();
        let no = about(&service.send(call).await, 415, "content-type");
        assert!(no["detail"].as_str().unwrap().contains("content-type: application/json"), "{no}");
    });
}

// covers: K-07
// fault: A2
#[test]
fn who_is_refused_is_told_who_they_are_and_which_role_it_takes() {
    on_each(async |service| {
        let body = json!({ "kind": "job", "payload": 1 });
        let call = service.call(Method::POST, "/v1/items").header("tenure-actor", "worker:ann").json(&body);
        let no = service.send(call).await.no(403, "FORBIDDEN");
        let detail = no["detail"].as_str().unwrap();
        assert_eq!((&no["actor"], &no["roles"]), (&json!("worker:ann"), &json!("api")));
        assert!(detail.contains("api") && detail.contains("worker:ann"), "{no}");
        assert!(!detail.contains("token") && !detail.contains("system"), "{no}");
        let call = service.call(Method::GET, "/v1/tokens").header("tenure-actor", "human:ann");
        let no = service.send(call).await.no(403, "FORBIDDEN");
        let detail = no["detail"].as_str().unwrap();
        assert!(
            detail.contains("admin") && detail.contains("human:ann") && !detail.contains("token"),
            "{no}"
        );
        // What the engine does by itself is nobody's to ask for.
        let engines = json!({ "kind": "delivery", "payload": {} });
        let no = service.post("/v1/items", engines).await;
        no.no(403, "FORBIDDEN");
        assert!(!no.text.contains("system"), "{}", no.text);
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (id, worker) = token(&service, Some(&admin), json!({ "name": "w", "role": "worker" })).await;
        let no = as_who(&service, &worker, Method::POST, "/v1/items", body).await.no(403, "FORBIDDEN");
        assert_eq!(no["actor"], format!("worker:{id}"));
    });
}
