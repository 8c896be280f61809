//! Jobs by their own names.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{as_who, on_each, token};

// covers: J-01, J-09
#[test]
fn a_job_is_submitted_shown_cancelled_and_tried_again_as_a_new_one() {
    on_each(async |service| {
        let body = json!({ "payload": { "to": "Ada" }, "idempotency_key": "a", "max_attempts": 3 });
        let job = service.post("/v1/jobs", body.clone()).await.yes(201);
        assert_eq!(service.post("/v1/jobs", body).await.yes(200), job);
        for field in ["job_id", "payload", "state", "attempt", "created_at", "updated_at"] {
            assert!(!job[field].is_null(), "{field}: {job}");
        }
        let id = job["job_id"].as_str().unwrap();
        assert_eq!(service.get(&format!("/v1/jobs/{id}")).await.yes(200), job);
        assert_eq!(service.get("/v1/jobs?phase=ready").await.yes(200)["items"][0]["job_id"], job["job_id"]);

        let lease = json!({ "kinds": ["job"], "worker": "w", "start": true });
        let leased = service.post("/v1/leases", lease).await.yes(200)["leases"][0].clone();
        let live = service.get(&format!("/v1/jobs/{id}/executions")).await.yes(200)["items"][0].clone();
        for field in
            ["exec_id", "job_id", "attempt", "lease_owner", "lease_expires_at", "status", "started_at"]
        {
            assert!(!live[field].is_null(), "{field}: {live}");
        }
        let fail = json!({ "lease_token": leased["lease_token"], "reason": "broken", "retryable": false });
        let path = format!("/v1/executions/{}/fail", leased["execution"].as_str().unwrap());
        service.post(&path, fail).await.yes(200);
        assert_eq!(service.get(&format!("/v1/jobs/{id}")).await.yes(200)["state"], "FAILED");
        let ended = service.get(&format!("/v1/jobs/{id}/executions")).await.yes(200)["items"][0].clone();
        assert_eq!((&ended["status"], &ended["reason"]), (&json!("ABORTED"), &json!("broken")));

        let new = service.post(&format!("/v1/jobs/{id}/retry"), json!({})).await.yes(201);
        assert_eq!((&new["retry_of"], &new["state"]), (&job["job_id"], &json!("PENDING")));
        assert_ne!(new["job_id"], job["job_id"]);
        let again = service.post(&format!("/v1/jobs/{id}/retry"), json!({})).await.yes(200);
        assert_eq!(again["job_id"], new["job_id"], "asked twice it is one new job");
        let shown = service.get(&format!("/v1/jobs/{}", new["job_id"].as_str().unwrap())).await.yes(200);
        assert_eq!((&shown["retry_of"], &shown["payload"]), (&job["job_id"], &job["payload"]));

        // What has not ended, and what has succeeded, has no way back: that is its state's no, and no fault of the request.
        let no =
            service.post(&format!("/v1/jobs/{}/retry", new["job_id"].as_str().unwrap()), json!({})).await;
        let no = no.no(409, "TRANSITION_REFUSED");
        assert_eq!((&no["state"], &no["event"]), (&json!("PENDING"), &json!("retry")));
        assert!(no["allowed"].as_array().unwrap().contains(&json!("cancel")), "{no}");
        let stale = json!({ "expected_version": 77 });
        let path = format!("/v1/items/{}/cancel", new["job_id"].as_str().unwrap());
        let no = service.post(&path, stale).await.no(409, "TRANSITION_REFUSED");
        assert_eq!((&no["state"], &no["event"]), (&json!("PENDING"), &json!("cancel")));
        assert_eq!((&no["version"], &no["item"]), (&json!(1), &new["job_id"]));
        assert!(no["allowed"].as_array().unwrap().contains(&json!("cancel")), "{no}");

        let cancel = format!("/v1/jobs/{}/cancel", new["job_id"].as_str().unwrap());
        let cancelled = service.post(&cancel, json!({ "reason": "no more" })).await.yes(200);
        assert_eq!((&cancelled["state"], &cancelled["retry_of"]), (&json!("CANCELLED"), &job["job_id"]));
        assert_eq!(cancelled["failure"]["reason"], "no more", "what was cancelled says why");
        let listed = service.get("/v1/jobs?phase=stopped").await.yes(200);
        assert_eq!(listed["items"][0]["failure"]["reason"], "no more");
        service
            .post(&format!("/v1/jobs/{id}/cancel"), json!({ "reason": "late" }))
            .await
            .no(409, "TRANSITION_REFUSED");
    });
}

#[test]
fn what_succeeded_in_the_end_shows_no_failure_of_before() {
    on_each(async |service| {
        let job = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let path = format!("/v1/jobs/{}", job["job_id"].as_str().unwrap());
        for (step, more) in [("fail", json!({ "reason": "busy" })), ("commit", json!({}))] {
            let lease = json!({ "kinds": ["job"], "worker": "w", "start": true, "wait_ms": 30_000 });
            let leased = service.post("/v1/leases", lease).await.yes(200)["leases"][0].clone();
            let mut body = json!({ "lease_token": leased["lease_token"] });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let step = format!("/v1/executions/{}/{step}", leased["execution"].as_str().unwrap());
            service.post(&step, body).await.yes(200);
            let shown = service.get(&path).await.yes(200);
            match shown["phase"].as_str() {
                Some("succeeded") => {
                    assert_eq!((&shown["failures"], &shown["failure"]), (&json!(1), &Value::Null))
                }
                _ => assert_eq!(shown["failure"]["reason"], "busy", "{shown}"),
            }
        }
        assert_eq!(service.get(&path).await.yes(200)["phase"], "succeeded");
    });
}

#[test]
fn what_another_job_made_is_no_retry_of_it() {
    on_each(async |service| {
        service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let lease = json!({ "kinds": ["job"], "worker": "w", "start": true });
        let leased = service.post("/v1/leases", lease).await.yes(200)["leases"][0].clone();
        let effects = json!({ "creates": [{ "kind": "job", "payload": 2 }] });
        let commit = json!({ "lease_token": leased["lease_token"], "effects": effects, "finish": true });
        let path = format!("/v1/executions/{}/commit", leased["execution"].as_str().unwrap());
        service.post(&path, commit).await.yes(200);
        let made = service.get("/v1/jobs?phase=ready").await.yes(200)["items"][0].clone();
        assert_eq!((&made["origin"], &made["retry_of"]), (&leased["item"], &Value::Null));
    });
}

#[test]
fn an_item_of_another_kind_is_no_job() {
    on_each(async |service| {
        let other = json!({ "kind": "todo", "payload": { "title": "t" } });
        let other = service.post("/v1/items", other).await;
        let id = other.yes(201)["id"].as_str().unwrap().to_string();
        for path in [format!("/v1/jobs/{id}"), format!("/v1/jobs/{id}/executions")] {
            service.get(&path).await.no(404, "NOT_FOUND");
        }
        for (verb, body) in [("cancel", json!({ "reason": "r" })), ("retry", json!({}))] {
            service.post(&format!("/v1/jobs/{id}/{verb}"), body).await.no(404, "NOT_FOUND");
        }
        assert_eq!(service.get("/v1/jobs").await.yes(200)["items"], json!([]));
        service.get("/v1/jobs?kind=run").await.no(400, "INVALID_REQUEST");
        service.post("/v1/jobs", json!({ "kind": "job", "payload": 1 })).await.no(400, "INVALID_REQUEST");
    });
}

// covers: K-07
#[test]
fn a_retry_is_asked_for_by_who_may_create() {
    on_each(async |service| {
        let job = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let id = job["job_id"].as_str().unwrap();
        service.post(&format!("/v1/jobs/{id}/cancel"), json!({ "reason": "r" })).await.yes(200);
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (_, worker) = token(&service, Some(&admin), json!({ "name": "w", "role": "worker" })).await;
        let retry = format!("/v1/jobs/{id}/retry");
        as_who(&service, &worker, Method::POST, &retry, json!({})).await.no(403, "FORBIDDEN");
        as_who(&service, &admin, Method::POST, &retry, json!({})).await.yes(201);
    });
}
