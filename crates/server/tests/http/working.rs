//! Working over HTTP: leases, heartbeats, commits, and workers that come too late.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{Service, on_each};

async fn lease(service: &Service, worker: &str, more: Value) -> Vec<Value> {
    let mut body = json!({ "kinds": ["job"], "worker": worker });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    service.post("/v1/leases", body).await.yes(200)["leases"].as_array().unwrap().clone()
}

async fn under(service: &Service, lease: &Value, what: &str, more: Value) -> crate::kit::Answer {
    let mut body = json!({ "lease_token": lease["lease_token"] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    service.post(&format!("/v1/executions/{}/{what}", lease["execution"].as_str().unwrap()), body).await
}

async fn job(service: &Service, payload: Value) -> String {
    let made = service.post("/v1/items", json!({ "kind": "job", "payload": payload })).await.yes(201);
    made["id"].as_str().unwrap().to_string()
}

// covers: K-17, K-34
// fault: F15
#[test]
fn a_lease_says_how_long_it_and_its_window_last_and_a_repeat_has_no_more() {
    on_each(async |service| {
        let parcel = include_str!("../../../../lifecycles/job.md").replace("# job\n", "# parcel\n");
        let parcel = parcel.replace("| window   | none ", "| window   | 50 s ");
        service.post("/v1/lifecycles", json!({ "source": parcel })).await.yes(201);
        service.post("/v1/items", json!({ "kind": "parcel", "payload": 1 })).await.yes(201);
        let asked = json!({ "kinds": ["parcel"], "worker": "w", "start": true, "request_id": "r" });
        let ask = async || service.post("/v1/leases", asked.clone()).await.yes(200)["leases"][0].take();
        let (first, again) = (ask().await, ask().await);
        let left = |lease: &Value, of: &str| lease[format!("{of}_left_ms")].as_u64().unwrap();
        // A fresh lease has its whole length left, and as much more as the request had waited for it.
        assert!(left(&first, "lease") >= 60_000 && left(&first, "window") >= 50_000, "{first}");
        assert!(first["window_ends_at"].as_str() < first["lease_expires_at"].as_str(), "{first}");
        for of in ["lease", "window"] {
            assert!(left(&again, of) < left(&first, of), "a repeat comes later: {first} {again}");
        }
        assert_eq!(again["window_ends_at"], first["window_ends_at"]);
        let renewed = under(&service, &first, "renew", json!({ "lease_ms": 100_000 })).await.yes(200);
        assert_eq!(renewed["window_ends_at"], first["window_ends_at"], "a renewal moves no window");
        assert_eq!((left(&renewed, "lease"), left(&renewed, "window") < 50_000), (100_000, true));

        job(&service, json!(1)).await;
        let [plain] = &lease(&service, "w", json!({})).await[..] else { panic!("one lease") };
        assert_eq!((&plain["window_ends_at"], &plain["window_left_ms"]), (&Value::Null, &Value::Null));
    });
}

// covers: K-11, K-13
#[test]
fn a_job_is_leased_started_renewed_and_committed() {
    on_each(async |service| {
        let id = job(&service, json!({ "to": "Ada" })).await;
        let [lease] = &lease(&service, "w1", json!({ "max": 10 })).await[..] else { panic!("one lease") };
        assert_eq!((lease["item"].as_str(), lease["kind"].as_str()), (Some(id.as_str()), Some("job")));
        assert_eq!((&lease["payload"], lease["attempt"].as_u64()), (&json!({ "to": "Ada" }), Some(1)));
        assert_eq!(lease["claim_version"], 1);
        let claims = service.get("/v1/leases").await.yes(200);
        let claim = &claims["items"][0];
        assert_eq!(
            (claim["resource_type"].as_str(), claim["resource_id"].as_str()),
            (Some("JOB"), Some(id.as_str()))
        );
        assert_eq!(
            (claim["owner_id"].as_str(), claim["claim_version"].as_u64()),
            (Some("local/w1"), Some(1))
        );
        assert_eq!(under(&service, lease, "start", json!({})).await.yes(200)["status"], "IN_PROGRESS");
        let renewed = under(&service, lease, "renew", json!({ "lease_ms": 120_000 })).await.yes(200);
        assert!(renewed["lease_expires_at"].as_str() > lease["lease_expires_at"].as_str());
        assert_eq!(renewed["cancel_requested"], false);
        let record = json!({ "records": [{ "label": "note", "name": "1", "body": "half" }] });
        under(&service, lease, "progress", record).await.yes(200);
        let done = under(&service, lease, "commit", json!({ "output": { "sent": true } })).await.yes(200);
        assert_eq!(done["status"], "DONE");
        let again = under(&service, lease, "commit", json!({ "output": { "sent": true } })).await.yes(200);
        assert_eq!(again["exec_id"], done["exec_id"]);
        let shown = service.get(&format!("/v1/items/{id}?wait_ms=1000")).await.yes(200);
        assert_eq!(
            (shown["phase"].as_str(), &shown["output"]),
            (Some("succeeded"), &json!({ "sent": true }))
        );
        let attempts = service.get(&format!("/v1/items/{id}/executions")).await.yes(200);
        assert_eq!(attempts["items"][0]["exec_id"], lease["execution"]);
    });
}

// covers: K-12, J-06
#[test]
fn whoever_comes_too_late_or_with_another_token_is_refused() {
    on_each(async |service| {
        let id = job(&service, json!({})).await;
        let first = lease(&service, "w1", json!({ "start": true })).await.remove(0);
        let held = service
            .post("/v1/leases", json!({ "items": [id], "worker": "w2" }))
            .await
            .no(409, "CLAIM_CONFLICT");
        assert_eq!(held["owner_id"], "local/w1");
        under(&service, &first, "release", json!({ "reason": "not now" })).await.yes(200);
        let second = lease(&service, "w2", json!({ "items": [id], "start": true })).await.remove(0);
        assert_eq!(second["claim_version"], 2);
        // Both are in the same state; only the fence tells them apart.
        under(&service, &first, "commit", json!({ "output": 1 })).await.no(409, "LEASE_LOST");
        under(&service, &first, "renew", json!({})).await.no(409, "LEASE_LOST");
        let forged = json!({ "execution": second["execution"], "lease_token": first["lease_token"] });
        under(&service, &forged, "commit", json!({ "output": 1 })).await.no(409, "LEASE_LOST");
        under(&service, &second, "commit", json!({ "output": 2 })).await.yes(200);
        let late =
            under(&service, &first, "commit", json!({ "output": 1 })).await.no(409, "ALREADY_COMMITTED");
        assert_eq!((&late["execution"], &late["output"]), (&second["execution"], &json!(2)));
        let late = under(&service, &first, "renew", json!({})).await.no(409, "ALREADY_COMMITTED");
        assert_eq!((&late["execution"], &late["output"]), (&second["execution"], &json!(2)));
        // One of many is told the same.
        let one = json!({ "execution": first["execution"], "lease_token": first["lease_token"] });
        for (path, body) in [
            ("/v1/executions/commit", json!({ "commits": [one] })),
            ("/v1/leases/renew", json!({ "leases": [one] })),
        ] {
            let many = service.post(path, body).await.yes(200);
            let late = &many["items"][0]["problem"];
            assert_eq!(late["code"], "ALREADY_COMMITTED", "{path}: {many}");
            assert_eq!((&late["execution"], &late["output"]), (&second["execution"], &json!(2)), "{path}");
        }
        assert_eq!(service.get(&format!("/v1/items/{id}")).await.yes(200)["output"], 2);
    });
}

// covers: K-55
#[test]
fn an_items_refused_writes_are_explained_with_who_came_too_late() {
    on_each(async |service| {
        let (id, other) = (job(&service, json!({})).await, job(&service, json!({})).await);
        let explain = async |id: &str| service.get(&format!("/v1/items/{id}/explain")).await.yes(200);
        let log = async || service.get(&format!("/v1/items/{id}/log")).await.text;
        let first = lease(&service, "w1", json!({ "items": [id], "start": true })).await.remove(0);
        under(&service, &first, "release", json!({})).await.yes(200);
        let second = lease(&service, "w2", json!({ "items": [id], "start": true })).await.remove(0);
        assert_eq!(explain(&id).await["refused"], json!([]));
        let before = log().await;
        // Both are in the same state; only the fence tells them apart.
        under(&service, &first, "commit", json!({ "output": 1 })).await.no(409, "LEASE_LOST");
        under(&service, &first, "renew", json!({})).await.no(409, "LEASE_LOST");
        let late = json!({ "execution": first["execution"], "lease_token": first["lease_token"] });
        service.post("/v1/executions/commit", json!({ "commits": [late] })).await.yes(200);
        // Who never had the lease wrote nothing that would have to be told.
        let forged = json!({ "execution": second["execution"], "lease_token": first["lease_token"] });
        under(&service, &forged, "commit", json!({})).await.no(409, "LEASE_LOST");
        assert_eq!(log().await, before, "a refused write leaves no entry");

        let told = explain(&id).await;
        assert_eq!(told["held"]["owner_id"], "local/w2");
        let seen = |told: &Value| -> Vec<Value> {
            let one =
                |one: &Value| json!([one["write"], one["attempt"], one["owner"], one["code"], one["times"]]);
            told["refused"].as_array().unwrap().iter().map(one).collect()
        };
        let renewal = json!(["renew", 1, "local/w1", "LEASE_LOST", 1]);
        let commit = json!(["commit", 1, "local/w1", "LEASE_LOST", 2]);
        assert_eq!(seen(&told), [renewal.clone(), commit.clone()], "the latest last, repeats counted");
        under(&service, &second, "commit", json!({ "output": 2 })).await.yes(200);
        under(&service, &first, "commit", json!({ "output": 1 })).await.no(409, "ALREADY_COMMITTED");
        let after = json!(["commit", 1, "local/w1", "ALREADY_COMMITTED", 1]);
        assert_eq!(seen(&explain(&id).await), [renewal, commit, after]);
        assert_eq!(explain(&other).await["refused"], json!([]));
    });
}

#[test]
fn a_lease_waits_for_work_and_a_lost_answer_is_given_again() {
    on_each(async |service| {
        let waiting = lease(&service, "w1", json!({ "wait_ms": 20_000, "request_id": "r1" }));
        let created = job(&service, json!(1));
        let (leases, id) = tokio::join!(waiting, created);
        assert_eq!(leases[0]["item"].as_str(), Some(id.as_str()));
        let again = lease(&service, "w1", json!({ "request_id": "r1" })).await;
        assert_eq!(again[0]["execution"], leases[0]["execution"]);
        assert_eq!(lease(&service, "w1", json!({})).await, Vec::<Value>::new());
        service
            .post("/v1/leases", json!({ "kinds": ["job"], "worker": "w", "wait_ms": 30_001 }))
            .await
            .no(400, "INVALID_REQUEST");
        service
            .post("/v1/leases", json!({ "kinds": ["nothing"], "worker": "w" }))
            .await
            .no(400, "INVALID_REQUEST");
        service.post("/v1/leases", json!({ "kinds": [], "worker": "w" })).await.no(400, "INVALID_REQUEST");
    });
}

// covers: K-07
#[test]
fn who_names_several_items_gets_those_that_can_be_had_and_is_told_why_there_are_none() {
    on_each(async |service| {
        let ids = [job(&service, json!(1)).await, job(&service, json!(2)).await];
        let body = |more: Value| {
            let mut body = json!({ "items": ids, "worker": "w2" });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let as_client = async |body: Value| {
            let call = service.call(Method::POST, "/v1/leases").header("tenure-actor", "api:app");
            service.send(call.json(&body)).await
        };
        assert_eq!(as_client(body(json!({}))).await.no(403, "FORBIDDEN")["event"], "lease");
        let long = body(json!({ "lease_ms": 1_000_000_000_000_u64 }));
        service.post("/v1/leases", long).await.no(400, "INVALID_REQUEST");
        let waits = body(json!({ "wait_ms": 30_001 }));
        service.post("/v1/leases", waits).await.no(400, "INVALID_REQUEST");
        lease(&service, "w1", json!({ "items": [ids[0]] })).await;
        let got = service.post("/v1/leases", body(json!({}))).await.yes(200);
        let [one] = &got["leases"].as_array().unwrap()[..] else { panic!("one is free: {got}") };
        assert_eq!(one["item"], json!(ids[1]));
        assert_eq!(service.post("/v1/leases", body(json!({}))).await.yes(200)["leases"], json!([]));
    });
}

// covers: K-03
#[test]
fn many_are_renewed_and_committed_each_with_its_own_outcome() {
    on_each(async |service| {
        for number in 0..3 {
            job(&service, json!(number)).await;
        }
        let mut leases = lease(&service, "w1", json!({ "max": 3, "start": true })).await;
        assert_eq!(leases.len(), 3);
        leases[1]["lease_token"] = json!("w1.00000000000000000000000000000000");
        let of =
            |lease: &Value| json!({ "execution": lease["execution"], "lease_token": lease["lease_token"] });
        let asked: Vec<Value> = leases.iter().map(of).collect();
        let statuses = |page: &Value| -> Vec<u64> {
            page["items"].as_array().unwrap().iter().map(|one| one["status"].as_u64().unwrap()).collect()
        };
        let renewed = service.post("/v1/leases/renew", json!({ "leases": asked })).await.yes(200);
        assert_eq!(statuses(&renewed), [200, 409, 200]);
        let committed = service.post("/v1/executions/commit", json!({ "commits": asked })).await.yes(200);
        assert_eq!(statuses(&committed), [200, 409, 200]);
        assert_eq!(committed["items"][1]["problem"]["code"], "LEASE_LOST");
        assert_eq!(
            service.get("/v1/items?phase=succeeded").await.yes(200)["items"].as_array().unwrap().len(),
            2
        );
    });
}

// covers: J-02
#[test]
fn a_failure_is_told_and_tried_again() {
    on_each(async |service| {
        let id = job(&service, json!({})).await;
        let one = lease(&service, "w1", json!({ "start": true })).await.remove(0);
        let failed = under(&service, &one, "fail", json!({ "reason": "no route", "retry_after_ms": 60_000 }))
            .await
            .yes(200);
        assert_eq!(
            (failed["status"].as_str(), failed["reason"].as_str()),
            (Some("ABORTED"), Some("no route"))
        );
        let item = service.get(&format!("/v1/items/{id}")).await.yes(200);
        assert_eq!((item["phase"].as_str(), item["failures"].as_u64()), (Some("ready"), Some(1)));
        assert_eq!(item["failure"]["reason"], "no route");
        let soon = service.post("/v1/leases", json!({ "items": [id], "worker": "w1" })).await;
        let detail = soon.no(409, "TRANSITION_REFUSED")["detail"].to_string();
        assert!(detail.contains("not due before"), "{detail}");
    });
}
