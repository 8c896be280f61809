//! What operators do: schedules, webhooks, limits.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::on_each;

// covers: K-36
#[test]
fn a_schedule_is_given_paused_resumed_and_called_off() {
    on_each(async |service| {
        let body = json!({ "name": "nightly", "times": "0 3 * * *", "zone": "Europe/Berlin",
            "catch_up": "all", "catch_up_max": 3, "jitter_ms": 1000,
            "creates": { "kind": "job", "payload": { "n": 1 }, "priority": 1, "key": "k", "max_attempts": 2 } });
        let made = service.post("/v1/schedules", body.clone()).await.yes(201);
        assert_eq!((&made["state"], &made["creates"]), (&json!("ACTIVE"), &json!("job")));
        assert!(made["next_at"].as_str().is_some(), "{made}");
        assert_eq!(service.post("/v1/schedules", body.clone()).await.yes(200), made);
        let mut other = body.clone();
        other["times"] = json!("0 4 * * *");
        service.post("/v1/schedules", other).await.no(409, "IDEMPOTENCY_CONFLICT");
        for (field, bad) in [
            ("times", json!("every sometimes")),
            ("zone", json!("Mars/Base")),
            ("from", json!("soon")),
            ("catch_up", json!("some")),
        ] {
            let mut wrong = body.clone();
            wrong["name"] = json!("wrong");
            wrong[field] = bad;
            service.post("/v1/schedules", wrong).await.no(400, "INVALID_REQUEST");
        }
        // Nobody looks after another store: there it would stand and never fire.
        service.post("/v1/schedules?store=other", body).await.no(400, "INVALID_REQUEST");
        let paused = service.post("/v1/schedules/nightly/pause", json!({})).await.yes(200);
        assert_eq!((&paused["state"], &paused["next_at"]), (&json!("PAUSED"), &Value::Null));
        let resumed = service.post("/v1/schedules/nightly/resume", json!({})).await.yes(200);
        assert_eq!((&resumed["state"], &resumed["next_at"]), (&json!("ACTIVE"), &made["next_at"]));
        assert_eq!(service.get("/v1/schedules").await.yes(200)["items"].as_array().unwrap().len(), 1);
        service.send(service.call(Method::DELETE, "/v1/schedules/nightly")).await.yes(204);
        service.send(service.call(Method::DELETE, "/v1/schedules/nightly")).await.no(404, "NOT_FOUND");
        service.post("/v1/schedules/nightly/pause", json!({})).await.no(404, "NOT_FOUND");
        assert_eq!(service.get("/v1/schedules").await.yes(200)["items"], json!([]));
    });
}

#[test]
fn a_webhook_is_made_shown_without_its_secret_and_removed() {
    on_each(async |service| {
        let body = json!({ "name": "hook", "url": "https://example.org/in", "labels": ["paid"], "secrets": ["env:HOOK_SECRET"] });
        let made = service.post("/v1/webhooks", body.clone()).await.yes(201);
        assert_eq!((&made["state"], &made["labels"]), (&json!("ACTIVE"), &json!(["paid"])));
        let listed = service.get("/v1/webhooks").await;
        assert!(!listed.text.contains("HOOK_SECRET"), "{}", listed.text);
        assert_eq!(listed.yes(200)["items"][0], made);
        assert_eq!(service.post("/v1/webhooks/hook/pause", json!({})).await.yes(200)["state"], "PAUSED");
        assert_eq!(service.post("/v1/webhooks/hook/resume", json!({})).await.yes(200)["state"], "ACTIVE");
        let mut near = body;
        near["name"] = json!("near");
        near["url"] = json!("http://127.0.0.1:9/");
        service.post("/v1/webhooks", near.clone()).await.no(400, "INVALID_REQUEST");
        near["allow_private"] = json!(true);
        service.post("/v1/webhooks", near).await.yes(201);
        service.send(service.call(Method::DELETE, "/v1/webhooks/hook")).await.yes(204);
        service.send(service.call(Method::DELETE, "/v1/webhooks/hook")).await.no(404, "NOT_FOUND");
    });
}

// covers: K-38
#[test]
fn a_kind_is_paused_limited_and_given_its_own_limits_back() {
    on_each(async |service| {
        for number in 0..3 {
            service.post("/v1/jobs", json!({ "payload": number })).await.yes(201);
        }
        let lease = json!({ "kinds": ["job"], "worker": "w", "max": 10 });
        let leased = async || {
            service.post("/v1/leases", lease.clone()).await.yes(200)["leases"].as_array().unwrap().len()
        };
        let paused = service
            .post("/v1/limits", json!({ "kind": "job", "paused": true, "reason": "repairs" }))
            .await
            .yes(200);
        assert_eq!(
            (&paused["paused"]["by"], &paused["paused"]["reason"]),
            (&json!("admin:local"), &json!("repairs"))
        );
        assert_eq!(leased().await, 0);
        let set = json!({ "kind": "job", "paused": false, "concurrency": 2, "rate": { "count": 100, "per_ms": 60_000 }, "reason": "slowly" });
        let limited = service.post("/v1/limits", set).await.yes(200);
        assert_eq!((&limited["paused"], &limited["concurrency"]), (&Value::Null, &json!(2)));
        assert_eq!(limited["rate"], json!({ "count": 100, "per_ms": 60_000 }));
        assert_eq!(leased().await, 2);
        assert_eq!(leased().await, 0);
        assert_eq!(service.get("/v1/limits").await.yes(200)["items"][0]["active"], 2);
        service.send(service.call(Method::DELETE, "/v1/limits/job")).await.yes(204);
        assert_eq!(leased().await, 1);
        for bad in [
            json!({ "kind": "job", "reason": "nothing said" }),
            json!({ "kind": "job", "paused": true }),
            json!({ "kind": "job", "paused": true, "reason": "r", "concurency": 1 }),
            json!({ "kind": "job", "rate": { "count": 1, "per_ms": 0 }, "reason": "r" }),
        ] {
            service.post("/v1/limits", bad).await.no(400, "INVALID_REQUEST");
        }
        service
            .post("/v1/limits", json!({ "kind": "nonsense", "paused": true, "reason": "r" }))
            .await
            .no(404, "NOT_FOUND");
        service.send(service.call(Method::DELETE, "/v1/limits/nonsense")).await.no(404, "NOT_FOUND");
    });
}
