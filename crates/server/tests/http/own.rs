//! Tenure's own work: everybody reads it as items, and nobody writes it so.

use axum::http::Method;
use serde_json::{Value, json};
use tenure::core::actor::Actor;
use tenure::{New, Tenure};

use crate::access::{Callers, job};
use crate::kit::{Answer, Service, as_who, on_each, token};

const OWN: [&str; 5] = ["schedule", "tick", "webhook", "delivery", "token"];

/// A no that is for everybody, with the way there is.
#[track_caller]
fn not_by_hand(answer: &Answer, kind: &str) {
    told(&answer.no(403, "FORBIDDEN"), kind);
}

#[track_caller]
fn told(no: &Value, kind: &str) {
    assert_eq!(no["code"], "FORBIDDEN", "{no}");
    let route = no["instead"].as_str().unwrap_or_else(|| panic!("{kind}: {no}"));
    assert!(route.starts_with("/v1/") && no["detail"].as_str().unwrap().contains(route), "{no}");
}

/// One of each kind that has items in a store of users: its kind and its id.
async fn standing(service: &Service, admin: &str) -> Vec<(&'static str, String)> {
    let made = async |path: &str, body: Value| {
        let made = as_who(service, admin, Method::POST, path, body).await.yes(201);
        made["id"].as_str().unwrap().to_string()
    };
    let creates = json!({ "kind": "job", "payload": 1 });
    let schedule = json!({ "name": "yearly", "times": "0 3 1 1 *", "creates": creates });
    let schedule = made("/v1/schedules", schedule).await;
    let webhook =
        json!({ "name": "hook", "url": "https://example.org/in", "secrets": ["env:NOBODY_HAS_THIS"] });
    let webhook = made("/v1/webhooks", webhook).await;
    let ticks = as_who(service, admin, Method::GET, "/v1/items?kind=tick", Value::Null).await.yes(200);
    let tick = ticks["items"][0]["id"].as_str().unwrap().to_string();
    let payload = json!({ "webhook": webhook, "item": schedule, "version": 1, "ordinal": 0, "at": "2026-01-01T00:00:00Z" });
    let delivery =
        system(&service.tenure).create(New::of("delivery", &payload)).await.unwrap().id.to_string();
    vec![("schedule", schedule), ("tick", tick), ("webhook", webhook), ("delivery", delivery)]
}

fn system(tenure: &Tenure) -> Tenure {
    let system: Actor = "system:engine".parse().unwrap();
    tenure.acting("default".parse().unwrap(), system)
}

/// A job that this token holds, or nothing where its role can not.
async fn held(service: &Service, admin: &str, token: &str) -> Option<Value> {
    let item = job(service, admin, "default").await;
    let lease = json!({ "items": [item], "worker": "w", "start": true });
    let leased = as_who(service, token, Method::POST, "/v1/leases", lease).await;
    (leased.status == 200).then(|| leased.json()["leases"][0].clone())
}

async fn commit(service: &Service, token: &str, lease: &Value, effects: Value) -> Answer {
    let path = format!("/v1/executions/{}/commit", lease["execution"].as_str().unwrap());
    let body = json!({ "lease_token": lease["lease_token"], "effects": effects });
    as_who(service, token, Method::POST, &path, body).await
}

// covers: K-07
// fault: A13
#[test]
fn what_is_tenures_own_is_made_leased_and_moved_by_nobodys_hand() {
    on_each(async |service| {
        let Callers { admin, good, .. } = Callers::of(&service).await;
        let standing = standing(&service, &admin).await;
        for (role, token) in &good {
            let post =
                async |path: &str, body: Value| as_who(&service, token, Method::POST, path, body).await;
            for kind in OWN {
                let new = json!({ "kind": kind, "payload": {} });
                not_by_hand(&post("/v1/items", new.clone()).await, kind);
                let many = post("/v1/items", json!([new])).await.yes(200);
                told(&many["items"][0]["problem"], kind);
                let lease = json!({ "kinds": ["job", kind], "worker": "w" });
                not_by_hand(&post("/v1/leases", lease).await, kind);
                // What failed of the deliveries is sent again so.
                if kind != "delivery" {
                    for event in ["cancel", "redrive"] {
                        let bulk = json!({ "filter": { "kind": kind }, "reason": "r" });
                        not_by_hand(&post(&format!("/v1/items/bulk/{event}"), bulk).await, kind);
                    }
                }
            }
            for (kind, id) in &standing {
                not_by_hand(&post("/v1/leases", json!({ "items": [id], "worker": "w" })).await, kind);
                for event in
                    ["pause", "resume", "remove", "fire", "cancel"].iter().filter(|_| *kind != "delivery")
                {
                    not_by_hand(
                        &post(&format!("/v1/items/{id}/{event}"), json!({ "reason": "r" })).await,
                        kind,
                    );
                }
                let shown =
                    as_who(&service, token, Method::GET, &format!("/v1/items/{id}"), Value::Null).await;
                assert_eq!(shown.yes(200)["kind"], *kind, "everybody reads it: {role}");
            }
            let Some(lease) = held(&service, &admin, token).await else { continue };
            for kind in OWN {
                let creates = json!({ "creates": [{ "kind": kind, "payload": {} }] });
                not_by_hand(&commit(&service, token, &lease, creates.clone()).await, kind);
                let body = json!({ "commits": [{ "execution": lease["execution"],
                    "lease_token": lease["lease_token"], "effects": creates }] });
                let many = post("/v1/executions/commit", body).await.yes(200);
                told(&many["items"][0]["problem"], kind);
            }
            for (kind, id) in standing.iter().filter(|(kind, _)| *kind != "delivery") {
                for event in ["pause", "remove", "end"] {
                    let moves = json!({ "moves": [{ "item": id, "event": event }] });
                    not_by_hand(&commit(&service, token, &lease, moves).await, kind);
                }
            }
        }
        let redrive = format!("/v1/items/{}/redrive", standing[3].1);
        let redriven = as_who(&service, &admin, Method::POST, &redrive, json!({})).await;
        assert!(!redriven.text.contains("instead"), "{}", redriven.text);
        for (path, name) in [("/v1/schedules", "yearly"), ("/v1/webhooks", "hook")] {
            let all = as_who(&service, &admin, Method::GET, path, Value::Null).await.yes(200);
            assert_eq!(all["items"].as_array().unwrap().len(), 1);
            assert_eq!(
                (&all["items"][0]["name"], &all["items"][0]["state"]),
                (&json!(name), &json!("ACTIVE"))
            );
        }
    });
}

// covers: K-07, M-01
// fault: A13
#[test]
fn nobody_gets_a_work_order_without_an_approval() {
    on_each(async |service| {
        let Callers { admin, good, .. } = Callers::of(&service).await;
        let planned = json!({ "event_id": "e", "ticket_id": "t", "number": 1 });
        let mut holders = Vec::new();
        for (role, token) in &good {
            for kind in ["work_order", "gate"] {
                let new = json!({ "kind": kind, "payload": planned });
                as_who(&service, token, Method::POST, "/v1/items", new.clone()).await.no(403, "FORBIDDEN");
                let creates = json!({ "kind": kind, "payload": planned });
                let schedule = json!({ "name": "s", "times": "every 1 s", "creates": creates });
                let scheduled = as_who(&service, token, Method::POST, "/v1/schedules", schedule).await;
                match *role {
                    "admin" => drop(scheduled.no(400, "INVALID_REQUEST")),
                    _ => drop(scheduled.no(403, "FORBIDDEN")),
                }
                // A job's commit may create anything, and that is not what is meant.
                if let Some(lease) = held(&service, &admin, token).await {
                    let no = commit(&service, token, &lease, json!({ "creates": [new] }))
                        .await
                        .no(403, "FORBIDDEN");
                    assert!(no["detail"].as_str().unwrap().contains(kind), "{no}");
                    holders.push(*role);
                }
            }
        }
        holders.sort_unstable();
        assert_eq!(
            holders,
            ["admin", "admin", "worker", "worker"],
            "the roles that can hold a job were refused"
        );
        for kind in ["work_order", "gate", "schedule"] {
            let path = format!("/v1/items?kind={kind}");
            let found = as_who(&service, &admin, Method::GET, &path, Value::Null).await.yes(200);
            assert_eq!(found["items"], json!([]));
        }
    });
}

#[test]
fn what_was_called_off_stays_so_when_all_that_was_stopped_is_tried_again() {
    on_each(async |service| {
        let creates = json!({ "kind": "job", "payload": 1 });
        let schedule = json!({ "name": "yearly", "times": "0 3 1 1 *", "creates": creates });
        let made = service.post("/v1/schedules", schedule).await.yes(201);
        service.send(service.call(Method::DELETE, "/v1/schedules/yearly")).await.yes(204);
        for dry_run in [true, false] {
            let all = json!({ "filter": { "phase": "stopped" }, "reason": "r", "dry_run": dry_run });
            let done = service.post("/v1/items/bulk/redrive", all).await.yes(200);
            let [one] = &done["items"].as_array().unwrap()[..] else { panic!("one was stopped: {done}") };
            assert_eq!((&one["id"], &one["problem"]["code"]), (&made["id"], &json!("TRANSITION_REFUSED")));
        }
        assert_eq!(service.get("/v1/schedules").await.yes(200)["items"], json!([]));
    });
}

// covers: K-07
// fault: A13
#[test]
fn a_token_for_other_kinds_has_nothing_to_do_with_schedules_webhooks_and_what_it_moves() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        standing(&service, &admin).await;
        let limited = json!({ "name": "jobs", "role": "admin", "kinds": ["job"] });
        let (_, limited) = token(&service, Some(&admin), limited).await;
        for (method, path) in [
            (Method::GET, "/v1/schedules"),
            (Method::POST, "/v1/schedules/yearly/pause"),
            (Method::POST, "/v1/schedules/yearly/resume"),
            (Method::DELETE, "/v1/schedules/yearly"),
            (Method::GET, "/v1/webhooks"),
            (Method::POST, "/v1/webhooks/hook/pause"),
            (Method::POST, "/v1/webhooks/hook/resume"),
            (Method::DELETE, "/v1/webhooks/hook"),
        ] {
            let body = if method == Method::POST { json!({}) } else { Value::Null };
            as_who(&service, &limited, method, path, body).await.no(403, "FORBIDDEN");
        }
        // An effect is no way around: a ticket of which they know nothing is not there, as one that never was.
        let ticket = json!({ "title": "a lamp" });
        let ticket = as_who(&service, &admin, Method::POST, "/v1/tickets", ticket).await.yes(201);
        let ticket = ticket["ticket_id"].as_str().unwrap();
        let nobody = "01M7GE4XB00006645Z0KC20ZT6";
        let lease = held(&service, &admin, &limited).await.unwrap();
        let [hidden, absent] = [ticket, nobody].map(|item| {
            let moves = json!({ "moves": [{ "item": item, "event": "approve" }] });
            let (service, limited, lease) = (&service, &limited, &lease);
            async move { commit(service, limited, lease, moves).await.no(404, "NOT_FOUND")["detail"].clone() }
        });
        let (hidden, absent) = (hidden.await, absent.await);
        assert_eq!(hidden.as_str().unwrap().replace(ticket, nobody), absent.as_str().unwrap());
        let path = format!("/v1/tickets/{ticket}");
        let shown = as_who(&service, &admin, Method::GET, &path, Value::Null).await.yes(200);
        assert_eq!(shown["state"], "NEW");
    });
}

// covers: R-11
// fault: A16
#[test]
fn a_document_comes_by_upload_alone() {
    on_each(async |service| {
        let Callers { admin, good, .. } = Callers::of(&service).await;
        let facts = json!({ "name": "n", "media_type": "text/plain", "size": 1, "sha256": "a".repeat(64) });
        let new = json!({ "kind": "document", "payload": facts });
        for (role, token) in &good {
            let post =
                async |path: &str, body: Value| as_who(&service, token, Method::POST, path, body).await;
            not_by_hand(&post("/v1/items", new.clone()).await, role);
            let many = post("/v1/items", json!([new, { "kind": "job", "payload": 1 }])).await.yes(200);
            told(&many["items"][0]["problem"], role);
            let rpc = json!({ "kind": "document", "payload_json": facts.to_string() });
            assert_eq!(post("/tenure.v1.ItemService/Create", rpc.clone()).await.status, 403, "{role}");
            let rpc = post("/tenure.v1.ItemService/CreateMany", json!({ "items": [rpc] })).await;
            assert!(rpc.text.contains("by upload alone"), "{role}: {}", rpc.text);
            let schedule = json!({ "name": "s", "times": "every 1 s", "creates": new });
            let scheduled = post("/v1/schedules", schedule).await;
            assert!(scheduled.status == 400 || scheduled.status == 403, "{role}: {}", scheduled.text);
            if let Some(lease) = held(&service, &admin, token).await {
                not_by_hand(&commit(&service, token, &lease, json!({ "creates": [new] })).await, role);
            }
        }
        let found = as_who(&service, &admin, Method::GET, "/v1/items?kind=document", Value::Null).await;
        assert_eq!(found.yes(200)["items"], json!([]));
        let schedules = as_who(&service, &admin, Method::GET, "/v1/schedules", Value::Null).await;
        assert_eq!(schedules.yes(200)["items"], json!([]));
    });
}
