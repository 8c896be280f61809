//! One event for many items.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{Service, as_who, on_each, token};

async fn jobs(service: &Service, count: usize) -> Vec<String> {
    let many: Vec<Value> = (0..count).map(|n| json!({ "kind": "job", "payload": n, "key": "k" })).collect();
    let page = service.post("/v1/items", json!(many)).await.yes(200);
    page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["item"]["id"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn many_are_cancelled_a_page_at_a_time_and_tried_again_as_new_jobs() {
    on_each(async |service| {
        let ids = jobs(&service, 5).await;
        let call = async |event: &str, more: Value| {
            let mut body = json!({ "filter": { "kind": "job", "key": "k" }, "reason": "a mistake" });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            service.post(&format!("/v1/items/bulk/{event}"), body).await
        };
        let dry = call("cancel", json!({ "dry_run": true })).await.yes(200);
        let would: Vec<&Value> = dry["items"].as_array().unwrap().iter().map(|one| &one["event"]).collect();
        assert_eq!(would, vec![&json!("cancel"); 5]);
        assert_eq!(service.get("/v1/items?phase=ready").await.yes(200)["items"].as_array().unwrap().len(), 5);

        let (mut cancelled, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = call("cancel", json!({ "limit": 2, "cursor": cursor })).await.yes(200);
            for one in page["items"].as_array().unwrap() {
                assert_eq!((one["status"].as_u64(), &one["item"]["state"]), (Some(200), &json!("CANCELLED")));
                cancelled.push(one["id"].as_str().unwrap().to_string());
            }
            cursor = page["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(cancelled, ids);
        let log = service.get(&format!("/v1/items/{}/log", ids[0])).await.yes(200);
        let last = log["items"].as_array().unwrap().last().unwrap();
        assert_eq!(
            (&last["actor"], last["action"].as_str()),
            (&json!("admin:local"), Some("cancel")),
            "{last}"
        );
        assert!(last.to_string().contains("a mistake"), "the reason is kept: {last}");

        // A cancelled job is final, so each has one new job in its place, however often it is asked for.
        let filter = json!({ "filter": { "kind": "job", "phase": "stopped" }, "reason": "fixed" });
        let first = service.post("/v1/items/bulk/redrive", filter.clone()).await.yes(200);
        let again = service.post("/v1/items/bulk/redrive", filter).await.yes(200);
        let new = |page: &Value| -> Vec<String> {
            let items = page["items"].as_array().unwrap().iter();
            items.map(|one| one["item"]["id"].as_str().unwrap().to_string()).collect()
        };
        assert_eq!(new(&first), new(&again));
        for (old, one) in ids.iter().zip(first["items"].as_array().unwrap()) {
            assert_eq!(
                (one["id"].as_str(), one["item"]["origin"].as_str()),
                (Some(old.as_str()), Some(old.as_str()))
            );
        }
    });
}

#[test]
fn what_many_are_asked_for_is_bounded_and_the_callers_own_to_ask() {
    on_each(async |service| {
        jobs(&service, 2).await;
        let all = json!({ "filter": {}, "reason": "r" });
        service.post("/v1/items/bulk/commit", all.clone()).await.no(400, "INVALID_REQUEST");
        for (field, bad) in
            [("limit", json!(501)), ("limit", json!(0)), ("reason", json!(" ")), ("cursor", json!("x"))]
        {
            let mut body = all.clone();
            body[field] = bad;
            let no = service.post("/v1/items/bulk/cancel", body).await.no(400, "INVALID_REQUEST");
            assert!(no["detail"].as_str().unwrap().contains(field), "{no}");
        }
        service
            .post("/v1/items/bulk/cancel", json!({ "filter": { "kindd": "job" }, "reason": "r" }))
            .await
            .no(400, "INVALID_REQUEST");
        service.post("/v1/items/bulk/cancel", json!({ "filter": {} })).await.no(400, "INVALID_REQUEST");

        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (_, worker) = token(&service, Some(&admin), json!({ "name": "w", "role": "worker" })).await;
        let (_, other) =
            token(&service, Some(&admin), json!({ "name": "o", "role": "api", "kinds": ["run"] })).await;
        for mode in [true, false] {
            let body = json!({ "filter": { "kind": "job" }, "reason": "r", "dry_run": mode });
            let page = as_who(&service, &worker, Method::POST, "/v1/items/bulk/cancel", body).await.yes(200);
            for one in page["items"].as_array().unwrap() {
                assert_eq!(
                    (one["status"].as_u64(), &one["problem"]["code"]),
                    (Some(403), &json!("FORBIDDEN"))
                );
            }
        }
        // A token for another kind finds none of these.
        let page = as_who(&service, &other, Method::POST, "/v1/items/bulk/cancel", all).await.yes(200);
        assert_eq!(page["items"], json!([]));
        let ready =
            as_who(&service, &admin, Method::GET, "/v1/items?phase=ready", Value::Null).await.yes(200);
        assert_eq!(ready["items"].as_array().unwrap().len(), 2);
    });
}
