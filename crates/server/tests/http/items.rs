//! Creating, reading, listing, moving, erasing.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{Service, on_each};

async fn job(service: &Service, payload: Value) -> Value {
    service.post("/v1/items", json!({ "kind": "job", "payload": payload })).await.yes(201)
}

// covers: K-04
#[test]
fn an_item_is_created_once_and_shown_as_it_was_sent() {
    on_each(async |service| {
        let body = json!({ "kind": "job", "payload": { "to": "Ada", "n": 1.50 }, "idempotency_key": "a1", "priority": 2, "key": "k" });
        let first = service.post("/v1/items", body.clone()).await.yes(201);
        assert_eq!((first["kind"].as_str(), first["store"].as_str()), (Some("job"), Some("default")));
        assert_eq!((first["state"].as_str(), first["phase"].as_str()), (Some("PENDING"), Some("ready")));
        assert_eq!((first["version"].as_u64(), first["attempt"].as_u64()), (Some(1), Some(0)));
        assert_eq!((first["priority"].as_i64(), first["key"].as_str()), (Some(2), Some("k")));
        let again = service.post("/v1/items", body.clone()).await.yes(200);
        assert_eq!(again, first);
        // The header is the same as the field.
        let mut bare = body.clone();
        bare.as_object_mut().unwrap().remove("idempotency_key");
        let call = service.call(Method::POST, "/v1/items").header("idempotency-key", "a1").json(&bare);
        assert_eq!(service.send(call).await.yes(200), first);
        let mut other = body;
        other["payload"] = json!({ "to": "Bob" });
        let conflict = service.post("/v1/items", other).await.no(409, "IDEMPOTENCY_CONFLICT");
        assert_eq!(conflict["item"], first["id"]);
        let path = format!("/v1/items/{}", first["id"].as_str().unwrap());
        let shown = service.get(&path).await;
        assert!(shown.text.contains(r#""n":1.5"#), "bytes as they came: {}", shown.text);
        assert_eq!(shown.yes(200), first);
    });
}

#[test]
fn of_many_each_has_its_own_outcome() {
    on_each(async |service| {
        let many = json!([
            { "kind": "job", "payload": 1, "idempotency_key": "x" },
            { "kind": "nonsense", "payload": 2 },
            { "kind": "job", "payload": 1, "idempotency_key": "x" },
            { "kind": "no such kind!", "payload": 3 },
        ]);
        let page = service.post("/v1/items", many).await.yes(200);
        let outcomes: Vec<u64> =
            page["items"].as_array().unwrap().iter().map(|one| one["status"].as_u64().unwrap()).collect();
        assert_eq!(outcomes[0], 201);
        assert_eq!(outcomes[2], 200);
        assert_eq!(page["items"][0]["item"]["id"], page["items"][2]["item"]["id"]);
        assert!(outcomes[1] >= 400 && outcomes[3] == 400, "{page}");
        assert_eq!(page["items"][3]["problem"]["code"], "INVALID_REQUEST");
        let too_many: Vec<Value> = (0..1_001).map(|n| json!({ "kind": "job", "payload": n })).collect();
        service.post("/v1/items", json!(too_many)).await.no(400, "INVALID_REQUEST");
    });
}

#[test]
fn bad_requests_are_told_where_they_are_bad() {
    on_each(async |service| {
        let unknown = service.post("/v1/items", json!({ "kind": "job", "payload": 1, "prioritty": 1 })).await;
        assert!(unknown.no(400, "INVALID_REQUEST")["detail"].as_str().unwrap().contains("prioritty"));
        let wrong =
            service.post("/v1/items", json!({ "kind": "job", "payload": 1, "priority": "high" })).await;
        assert_eq!(wrong.no(400, "INVALID_REQUEST")["field"], "priority");
        let param = service.get("/v1/items?knd=job").await.no(400, "INVALID_REQUEST");
        assert!(param["detail"].as_str().unwrap().contains("knd"));
        let text = service.call(Method::POST, "/v1/items").header("content-type", "text/plain");
        service.send(text).await.no(415, "INVALID_REQUEST");
        let mut cut = service.call(Method::POST, "/v1/items");
        cut.body = r#"{"kind": "job", "#.to_string();
        service.send(cut).await.no(400, "INVALID_REQUEST");
        let mut deep = service.call(Method::POST, "/v1/items");
        deep.body = format!(r#"{{"kind":"job","payload":{}{}}}"#, "[".repeat(500), "]".repeat(500));
        service.send(deep).await.no(400, "INVALID_REQUEST");
        let large = json!({ "kind": "job", "payload": "x".repeat(2 << 20) });
        service.post("/v1/items", large).await.no(413, "PAYLOAD_TOO_LARGE");
        let larger = json!({ "kind": "job", "payload": "x".repeat(9 << 20) });
        service.post("/v1/items", larger).await.no(413, "PAYLOAD_TOO_LARGE");
        // Whoever is told at once that it is too much gets to read that, however much is still on its way.
        let huge = "x".repeat(48 << 20);
        for (method, path, code) in [(Method::POST, "/v1/items", 413), (Method::POST, "/v1/nothing", 404)] {
            let mut call = service.call(method, path);
            call.body = huge.clone();
            assert_eq!(service.send(call).await.status, code, "{path}");
        }
        service.get("/v1/nothing").await.no(404, "NOT_FOUND");
        service.get("/v1/items/nonsense").await.no(404, "NOT_FOUND");
        service.send(service.call(Method::PUT, "/v1/items")).await.no(405, "INVALID_REQUEST");
        assert_eq!(service.get("/v1/items").await.yes(200), json!({ "items": [], "next_cursor": null }));
    });
}

#[test]
fn a_list_goes_on_where_its_page_ended() {
    on_each(async |service| {
        let mut ids = Vec::new();
        for number in 0..5 {
            ids.push(job(&service, json!(number)).await["id"].as_str().unwrap().to_string());
        }
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let after = cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let page = service.get(&format!("/v1/items?kind=job&phase=ready&limit=2{after}")).await.yes(200);
            found.extend(
                page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_string()),
            );
            cursor = page["next_cursor"].as_str().map(str::to_string);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, ids);
        let newest = service.get("/v1/items?order=newest&limit=1").await.yes(200);
        assert_eq!(newest["items"][0]["id"].as_str(), Some(ids[4].as_str()));
        service.get("/v1/items?limit=0").await.no(400, "INVALID_REQUEST");
        service.get("/v1/items?limit=1001").await.no(400, "INVALID_REQUEST");
        service.get("/v1/items?phase=sleeping").await.no(400, "INVALID_REQUEST");
        service.get("/v1/items?cursor=x").await.no(400, "INVALID_REQUEST");
    });
}

// covers: K-01
#[test]
fn an_item_moves_by_its_table_and_refusals_say_what_is_allowed() {
    on_each(async |service| {
        let id = job(&service, json!({})).await["id"].as_str().unwrap().to_string();
        let no =
            service.post(&format!("/v1/items/{id}/approve"), json!({})).await.no(409, "TRANSITION_REFUSED");
        assert_eq!((no["state"].as_str(), no["event"].as_str()), (Some("PENDING"), Some("approve")));
        assert!(no["allowed"].as_array().unwrap().contains(&json!("cancel")), "{no}");
        let stale = service.post(&format!("/v1/items/{id}/cancel"), json!({ "expected_version": 7 })).await;
        stale.no(409, "TRANSITION_REFUSED");
        let cancelled =
            service.post(&format!("/v1/items/{id}/cancel"), json!({ "reason": "no more" })).await.yes(200);
        assert_eq!(
            (cancelled["state"].as_str(), cancelled["phase"].as_str()),
            (Some("CANCELLED"), Some("stopped"))
        );
        let again =
            service.post(&format!("/v1/items/{id}/cancel"), json!({ "reason": "no more" })).await.yes(200);
        assert_eq!(again["version"], cancelled["version"]);
        let erased =
            service.send(service.call(Method::DELETE, &format!("/v1/items/{id}/body"))).await.yes(200);
        assert_eq!(erased["erased"], true);
        // It is there, and says that there is none; a list has no place for it.
        let shown = service.get(&format!("/v1/items/{id}")).await.yes(200);
        assert_eq!(shown.get("payload"), Some(&Value::Null));
        let listed = service.get("/v1/items").await.yes(200);
        assert_eq!(listed["items"][0].get("payload"), None);
    });
}
