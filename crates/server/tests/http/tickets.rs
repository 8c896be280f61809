//! Tickets, work orders and the inbox by their own names.

use axum::http::Method;
use serde_json::{Value, json};
use tenure_systems::tickets::{Settings, start};

use crate::kit::{Service, as_who, on_each, token};

async fn people(service: &Service) -> (String, String, String) {
    let (_, admin) = token(service, None, json!({ "name": "root", "role": "admin" })).await;
    let (_, eva) = token(service, Some(&admin), json!({ "name": "eva", "role": "human" })).await;
    let (_, client) = token(service, Some(&admin), json!({ "name": "app", "role": "api" })).await;
    let (_, worker) = token(service, Some(&admin), json!({ "name": "runner", "role": "worker" })).await;
    let _ = admin;
    (eva, client, worker)
}

/// Waits for work of a kind, as a worker does.
async fn lease(service: &Service, worker: &str, kind: &str) -> Value {
    let body = json!({ "kinds": [kind], "worker": "w", "start": true, "wait_ms": 30000 });
    let leases = as_who(service, worker, Method::POST, "/v1/leases", body).await.yes(200);
    assert!(leases["leases"][0].is_object(), "{kind}: {leases}");
    leases["leases"][0].clone()
}

// covers: M-01, M-03, M-06, M-08, M-09
#[test]
fn a_ticket_is_approved_by_a_person_run_by_a_worker_and_explained() {
    on_each(async |service| {
        let (eva, client, worker) = people(&service).await;
        let new = json!({ "title": "paint the door", "gates": ["human:is it red?"], "idempotency_key": "a" });
        let ticket = as_who(&service, &client, Method::POST, "/v1/tickets", new.clone()).await.yes(201);
        let again = as_who(&service, &client, Method::POST, "/v1/tickets", new).await.yes(200);
        assert_eq!(again["ticket_id"], ticket["ticket_id"]);
        let id = ticket["ticket_id"].as_str().unwrap();
        let to = |verb: &str| format!("/v1/tickets/{id}/{verb}");
        as_who(&service, &client, Method::POST, &to("approve"), json!({})).await.no(403, "FORBIDDEN");
        as_who(&service, &eva, Method::GET, &to("pause-state"), Value::Null).await.no(404, "NOT_FOUND");
        let approved = json!({ "note": "red" });
        let approved = as_who(&service, &eva, Method::POST, &to("approve"), approved).await.yes(200);
        assert_eq!((&approved["state"], &approved["approval"]["note"]), (&json!("TODO"), &json!("red")));
        as_who(&service, &eva, Method::POST, &to("block"), json!({})).await.no(400, "INVALID_REQUEST");
        let blocked = json!({ "reason": "no paint" });
        let blocked = as_who(&service, &eva, Method::POST, &to("block"), blocked).await.yes(200);
        assert_eq!(
            (&blocked["state"], &blocked["blockers"][0]["reason"]),
            (&json!("BLOCKED"), &json!("no paint"))
        );
        let inbox = as_who(&service, &eva, Method::GET, "/v1/inbox", Value::Null).await.yes(200);
        assert_eq!(
            (&inbox["items"][0]["id"], &inbox["items"][0]["question"]),
            (&json!(id), &json!("no paint"))
        );
        let resolved = as_who(&service, &eva, Method::POST, &to("resolve"), json!({})).await.yes(200);
        assert_eq!((&resolved["state"], &resolved["blockers"]), (&json!("TODO"), &json!([])));

        let workers = start(&service.tenure, Settings::default());
        let lease = lease(&service, &worker, "work_order").await;
        let order = lease["item"].as_str().unwrap();
        let path = format!("/v1/work-orders/{order}");
        let shown = as_who(&service, &worker, Method::GET, &path, Value::Null).await.yes(200);
        assert_eq!(
            (&shown["state"], &shown["context_snapshot"]["title"]),
            (&json!("EXECUTING"), &json!("paint the door"))
        );
        let bundle = json!({ "work_order_id": order, "ticket_id": id, "outcome": "COMPLETED", "budget_ms": 1000,
            "took_ms": 5, "output": "painted" });
        // Nobody stores what is no bundle, by whatever call.
        let record = json!({ "label": "output_bundle", "name": "1", "body": { "outcome": "GREAT" } });
        let commit = json!({ "lease_token": lease["lease_token"], "records": [record] });
        let path = format!("/v1/executions/{}/commit", lease["execution"].as_str().unwrap());
        as_who(&service, &worker, Method::POST, &path, commit).await.no(422, "SCHEMA_VIOLATION");
        let output = format!("/v1/work-orders/{order}/output");
        as_who(&service, &worker, Method::GET, &output, Value::Null).await.no(404, "NOT_FOUND");
        let mut delivered =
            json!({ "execution": lease["execution"], "lease_token": "another", "output_bundle": bundle });
        as_who(&service, &worker, Method::POST, &output, delivered.clone()).await.no(409, "LEASE_LOST");
        delivered["lease_token"] = lease["lease_token"].clone();
        as_who(&service, &worker, Method::POST, &output, delivered).await.yes(200);
        let kept = as_who(&service, &worker, Method::GET, &output, Value::Null).await.yes(200);
        assert_eq!(kept["output_bundle"], bundle);

        let inbox = as_who(&service, &eva, Method::GET, "/v1/inbox", Value::Null).await.yes(200);
        let gate = inbox["items"][0]["id"].as_str().unwrap();
        assert!(
            inbox["items"][0]["question"].as_str().unwrap().starts_with("is it red? (ticket "),
            "{inbox}"
        );
        as_who(&service, &client, Method::POST, &format!("/v1/inbox/{gate}/approve"), json!({}))
            .await
            .no(403, "FORBIDDEN");
        as_who(&service, &eva, Method::POST, &format!("/v1/inbox/{gate}/approve"), json!({ "note": "very" }))
            .await
            .yes(200);
        let path = format!("/v1/items/{id}?wait_ms=30000");
        let done = as_who(&service, &eva, Method::GET, &path, Value::Null).await.yes(200);
        assert_eq!(done["state"], "DONE");
        let explained = as_who(&service, &eva, Method::GET, &to("explain"), Value::Null).await.yes(200);
        let run = explained["runs"].as_array().unwrap().last().unwrap();
        assert_eq!((&run["run_record"]["verdict"], &run["output_bundle"]), (&json!("PASS"), &bundle));
        let records = as_who(&service, &eva, Method::GET, &to("run-records"), Value::Null).await.yes(200);
        assert_eq!(records["items"].as_array().unwrap().len(), 1);
        let paused = as_who(&service, &eva, Method::GET, &to("pause-state"), Value::Null).await.yes(200);
        assert_eq!(paused["reason"], "RUN_COMPLETE");
        workers.drain().await;
    });
}

#[test]
fn an_item_of_another_kind_is_no_ticket_and_no_work_order() {
    on_each(async |service| {
        let job = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let id = job["id"].as_str().unwrap();
        for path in [
            "tickets/ID",
            "tickets/ID/explain",
            "tickets/ID/run-records",
            "work-orders/ID",
            "work-orders/ID/output",
        ] {
            service.get(&format!("/v1/{}", path.replace("ID", id))).await.no(404, "NOT_FOUND");
        }
        for path in [
            "tickets/ID/approve",
            "tickets/ID/resolve",
            "work-orders/ID/output",
            "inbox/ID/approve",
            "inbox/ID/reject",
        ] {
            service.post(&format!("/v1/{}", path.replace("ID", id)), json!({})).await.no(404, "NOT_FOUND");
        }
        service.post("/v1/tickets", json!({ "title": "" })).await.no(422, "SCHEMA_VIOLATION");
        service
            .post("/v1/tickets", json!({ "title": "t", "gates": ["rm -rf"] }))
            .await
            .no(422, "SCHEMA_VIOLATION");
        service.post("/v1/tickets", json!({ "title": "t", "budget": 1 })).await.no(400, "INVALID_REQUEST");
    });
}
