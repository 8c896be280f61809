//! Every method, once in every way, with an answer that is a yes.

use std::collections::BTreeMap;

use axum::http::Method;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::{Kind, MessageDescriptor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tenure_server::methods;

use super::caller::{Caller, WAYS, every_method};
use super::tickets;
use crate::kit::{Service, as_who, on_each, token};

const LIFECYCLE: &str = include_str!("../../../../../lifecycles/job.md");

/// Where everything is made that a message is about: REST, as an administrator.
pub struct Desk<'a> {
    pub service: &'a Service,
    admin: &'a str,
}

impl Desk<'_> {
    pub async fn get(&self, path: &str) -> Value {
        as_who(self.service, self.admin, Method::GET, path, Value::Null).await.yes(200)
    }
}

pub async fn made(desk: &Desk<'_>, path: &str, body: Value) -> Value {
    let answer = as_who(desk.service, desk.admin, Method::POST, path, body).await;
    assert!(answer.status.is_success(), "{path}: {}", answer.text);
    answer.json()
}

async fn job(desk: &Desk<'_>) -> Value {
    made(desk, "/v1/jobs", json!({ "payload": { "n": 1.50 }, "priority": 3, "key": "k" })).await["id"].clone()
}

/// A job that was started, and its lease.
async fn leased(desk: &Desk<'_>, start: bool) -> Value {
    let body = json!({ "items": [job(desk).await], "worker": "w1", "start": start });
    made(desk, "/v1/leases", body).await["leases"][0].clone()
}

/// What is said under a lease.
async fn under(desk: &Desk<'_>, more: Value) -> Value {
    let lease = leased(desk, true).await;
    let mut message = json!({ "execution": lease["execution"], "lease_token": lease["lease_token"] });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

async fn schedule(desk: &Desk<'_>, name: &str) -> Value {
    let creates = json!({ "kind": "job", "payload": {} });
    made(desk, "/v1/schedules", json!({ "name": name, "times": "0 3 * * *", "creates": creates })).await;
    json!({ "name": name })
}

async fn webhook(desk: &Desk<'_>, name: &str) -> Value {
    let url = "https://example.org/in";
    made(desk, "/v1/webhooks", json!({ "name": name, "url": url, "secrets": ["env:HOOK"] })).await;
    json!({ "name": name })
}

async fn claim(desk: &Desk<'_>) -> Value {
    let key = format!("{:x}", tenure::databases::outside::chance());
    let body = json!({ "idempotency_key": key, "domain": "d", "text": "It rained." });
    made(desk, "/v0.1/claims", body).await["claim_id"].clone()
}

/// A claim that somebody has leased.
async fn leased_claim(desk: &Desk<'_>) -> Value {
    let id = claim(desk).await;
    made(desk, &format!("/v0.1/claims/{}/enqueue-decomposition", id.as_str().unwrap()), json!({})).await;
    let lease = made(desk, "/v1/leases", json!({ "items": [id], "worker": "w1" })).await["leases"][0].clone();
    json!({ "claim_id": id, "lease_token": lease["lease_token"], "attempt": 1 })
}

/// A claim with its one TruthBit.
async fn decomposed(desk: &Desk<'_>) -> (Value, Value) {
    let mut leased = leased_claim(desk).await;
    let id = leased.as_object_mut().unwrap().remove("claim_id").unwrap();
    let path = format!("/v0.1/claims/{}/decompose", id.as_str().unwrap());
    let made = made(desk, &path, leased).await;
    (id, made["truthbit_ids"][0].clone())
}

/// A judgement, and its evidence.
async fn judgement(desk: &Desk<'_>) -> Value {
    let body = json!({ "type": "primary_artifact", "uri": "urn:x", "captured_at": "2026-01-01T00:00:00Z" });
    let evidence = made(desk, "/v0.1/evidence", body).await["id"].clone();
    json!({ "outcome": "supports", "confidence": 0.75, "evidence_ids": [evidence], "notes": "n",
        "extracted_value_json": "{\"mm\":3}" })
}

async fn validation(desk: &Desk<'_>) -> Value {
    let (_, truthbit) = decomposed(desk).await;
    let path = format!("/v0.1/truthbits/{}/validations", truthbit.as_str().unwrap());
    made(desk, &path, json!({})).await["id"].clone()
}

fn with(mut message: Value, name: &str, value: Value) -> Value {
    message[name] = value;
    message
}

async fn document(desk: &Desk<'_>) -> Value {
    made(desk, "/v1/documents?name=a.txt", json!({ "a": 1 })).await
}

/// A run that somebody has taken through its only step.
async fn processed(desk: &Desk<'_>) -> Value {
    let run = document(desk).await["run_id"].clone();
    let body = json!({ "items": [run], "worker": "w1", "start": true });
    let lease = made(desk, "/v1/leases", body).await["leases"][0].clone();
    let artifact = json!({ "size": 3, "sha256": "ab".repeat(32), "value": 1.5 });
    let commit = json!({ "lease_token": lease["lease_token"],
        "records": [{ "label": "artifact", "name": "read", "body": artifact }] });
    made(desk, &format!("/v1/executions/{}/commit", lease["execution"].as_str().unwrap()), commit).await;
    run
}

/// A message that the method says yes to.
async fn example(desk: &Desk<'_>, name: &str) -> Value {
    let records = json!([{ "label": "note", "name": "1", "body_json": "[1.0]" }]);
    let new = json!({ "kind": "job", "payload_json": "{\"n\": 1.50}", "max_attempts": 2, "priority": -1,
        "run_at": "2026-11-15T20:25:00Z", "key": "k" });
    match name {
        "ItemService/Create" => new,
        "ItemService/CreateMany" => json!({ "items": [new, { "kind": "nonsense", "payload_json": "1" }] }),
        "ItemService/Get" => json!({ "id": leased(desk, true).await["item"], "wait_ms": 1 }),
        "ItemService/List" => {
            json!({ "kind": "job", "phase": "ready", "key": "k", "order": "newest", "limit": 2 })
        }
        "ItemService/Event" => {
            json!({ "id": job(desk).await, "event": "cancel", "reason": "r", "expected_version": 1 })
        }
        "ItemService/Bulk" => {
            job(desk).await;
            json!({ "event": "cancel", "filter": { "kind": "job" }, "reason": "r", "limit": 1, "dry_run": true })
        }
        "ItemService/EraseBody" => {
            let id = job(desk).await;
            made(desk, &format!("/v1/jobs/{}/cancel", id.as_str().unwrap()), json!({ "reason": "r" })).await;
            json!({ "id": id, "reason": "forget" })
        }
        "ItemService/ListExecutions" | "JobService/ListExecutions" => {
            json!({ "id": leased(desk, true).await["item"] })
        }
        "ItemService/ListLog" => json!({ "id": leased(desk, true).await["item"], "after": 1, "limit": 1 }),
        "ItemService/GetReceipt" | "ItemService/Explain" => json!({ "id": job(desk).await }),
        "WorkService/Lease" => {
            json!({ "items": [job(desk).await], "worker": "w2", "start": true, "lease_ms": 60000, "request_id": "r" })
        }
        "WorkService/Start" => {
            let lease = leased(desk, false).await;
            json!({ "execution": lease["execution"], "lease_token": lease["lease_token"] })
        }
        "WorkService/Renew" => under(desk, json!({ "lease_ms": 120000 })).await,
        "WorkService/RenewMany" => {
            json!({ "leases": [under(desk, json!({})).await, { "execution": "none", "lease_token": "none" }] })
        }
        "WorkService/Progress" => under(desk, json!({ "records": records })).await,
        "WorkService/Commit" => {
            let effects = json!({ "creates": [new], "messages": [{ "label": "sent", "body_json": "1.0" }] });
            under(desk, json!({ "output_json": "1.0", "records": records, "effects": effects })).await
        }
        "WorkService/CommitMany" => {
            json!({ "commits": [under(desk, json!({ "output_json": "2", "finish": false })).await] })
        }
        "WorkService/Finish" => {
            let lease = leased(desk, true).await;
            let message = json!({ "execution": lease["execution"], "lease_token": lease["lease_token"] });
            let path = format!("/v1/executions/{}/commit", lease["execution"].as_str().unwrap());
            made(desk, &path, json!({ "lease_token": lease["lease_token"], "finish": false })).await;
            message
        }
        "WorkService/Fail" => under(desk, json!({ "reason": "no route", "retry_after_ms": 1000 })).await,
        "WorkService/Release" => under(desk, json!({ "reason": "later", "delay_ms": 1000 })).await,
        "WorkService/ListLeases" => {
            leased(desk, true).await;
            json!({ "kind": "job", "limit": 1 })
        }
        "WorkService/ListWorkers" => json!({ "kind": "job" }),
        "JobService/Submit" => json!({ "payload_json": "{}", "idempotency_key": "same", "max_attempts": 3 }),
        "JobService/Get" => json!({ "id": job(desk).await }),
        "JobService/List" => json!({ "limit": 2 }),
        "JobService/Cancel" => json!({ "id": job(desk).await, "reason": "r" }),
        "JobService/Retry" => {
            let id = job(desk).await;
            made(desk, &format!("/v1/jobs/{}/cancel", id.as_str().unwrap()), json!({ "reason": "r" })).await;
            json!({ "id": id })
        }
        "ClaimService/CreateClaim" => {
            json!({ "idempotency_key": "c", "domain": "d", "text": "It rained.", "created_by": "ann" })
        }
        "ClaimService/GetClaim" | "ClaimService/GetTruthBits" | "ClaimService/ComputeVerdict" => {
            json!({ "claim_id": decomposed(desk).await.0 })
        }
        "ClaimService/ListClaims" => json!({ "state": "pending", "order": "newest", "limit": 2 }),
        "ClaimService/EnqueueDecomposition" => json!({ "claim_id": claim(desk).await, "reason": "initial" }),
        "ClaimService/DecomposeClaim" => leased_claim(desk).await,
        "ClaimService/AddEvidence" => json!({ "type": "secondary_artifact", "uri": "https://example.org/a",
            "captured_at": "2026-01-01T00:00:00Z", "metadata_json": "{\"by\":\"ann\"}" }),
        "ClaimService/CreateValidation" => {
            with(judgement(desk).await, "truthbit_id", decomposed(desk).await.1)
        }
        "ClaimService/CreateClaimValidation" => {
            let (claim, truthbit) = decomposed(desk).await;
            with(with(judgement(desk).await, "truthbit_id", truthbit), "claim_id", claim)
        }
        "ClaimService/ListValidations" => {
            let (claim, truthbit) = decomposed(desk).await;
            let path = format!("/v0.1/truthbits/{}/validations", truthbit.as_str().unwrap());
            made(desk, &path, json!({ "outcome": "refutes", "confidence": 0.5, "extracted_value": [1] }))
                .await;
            json!({ "claim_id": claim, "limit": 2 })
        }
        "ClaimService/SubmitValidation" => {
            with(judgement(desk).await, "validation_id", validation(desk).await)
        }
        "ClaimService/InvalidateValidation" => {
            json!({ "validation_id": validation(desk).await, "reason": "a slip" })
        }
        "ClaimService/GetVerdict" => {
            json!({ "claim_id": decomposed(desk).await.0, "include_history": true, "limit": 2 })
        }
        "DocumentService/UploadDocument" => {
            json!({ "content": "b25lIHR3bw==", "name": "a.txt", "idempotency_key": "same" })
        }
        "DocumentService/ListDocuments" => json!({ "order": "newest", "limit": 2 }),
        "DocumentService/GetDocument"
        | "DocumentService/GetContent"
        | "DocumentService/Reprocess"
        | "DocumentService/ListRuns" => {
            json!({ "id": document(desk).await["document_id"] })
        }
        "DocumentService/GetRun" => json!({ "id": document(desk).await["run_id"] }),
        "DocumentService/ListArtifacts" => json!({ "id": processed(desk).await }),
        "DocumentService/GetArtifact" => json!({ "id": processed(desk).await, "name": "read" }),
        name if name.starts_with("TodoService/") || name.starts_with("SessionService/") => {
            super::todos::example(desk.service, desk.admin, name).await
        }
        name if name.starts_with("TicketService/") || name.starts_with("InboxService/") => {
            tickets::example(desk, name).await
        }
        "LogService/List" => json!({ "after": 1, "limit": 2 }),
        "AdminService/CreateToken" => {
            json!({ "name": "t", "role": "worker", "kinds": ["job"], "stores": ["a"] })
        }
        "AdminService/RevokeToken" => {
            json!({ "id": made(desk, "/v1/tokens", json!({ "name": "t", "role": "admin" })).await["id"] })
        }
        "AdminService/CreateSchedule" => {
            json!({ "name": "each", "times": "0 3 * * *", "zone": "Europe/Berlin",
            "catch_up": "all", "catch_up_max": 3, "jitter_ms": 1000,
            "creates": { "kind": "job", "payload_json": "1.0", "key": "k", "priority": 1, "max_attempts": 2 } })
        }
        "AdminService/RemoveSchedule" => schedule(desk, "removed / one").await,
        "AdminService/PauseSchedule" | "AdminService/ResumeSchedule" => schedule(desk, "paused").await,
        "AdminService/CreateWebhook" => {
            json!({ "name": "near", "url": "http://127.0.0.1:9/", "allow_private": true,
            "secrets": ["env:HOOK"], "labels": ["sent"] })
        }
        "AdminService/RemoveWebhook" => webhook(desk, "removed").await,
        "AdminService/PauseWebhook" | "AdminService/ResumeWebhook" => webhook(desk, "paused").await,
        "AdminService/SetLimit" => json!({ "kind": "run", "concurrency": 2, "paused": true, "reason": "r",
            "rate": { "count": 100, "per_ms": 60000 } }),
        "AdminService/ResetLimit" => json!({ "kind": "run" }),
        "AdminService/AddLifecycle" => json!({ "source": LIFECYCLE }),
        "AdminService/GetLifecycle" | "AdminService/DrawLifecycle" => json!({ "kind": "job" }),
        "AdminService/ListTokens"
        | "AdminService/ListSchedules"
        | "AdminService/ListWebhooks"
        | "AdminService/ListLimits"
        | "AdminService/ListLifecycles"
        | "AdminService/GetStats" => json!({}),
        other => panic!("{other} has no example"),
    }
}

/// A message as it must be when REST answers so: null is unset, and zero is not written.
fn expected(message: &MessageDescriptor, rest: &str) -> Value {
    let object: BTreeMap<String, Box<RawValue>> = serde_json::from_str(rest).unwrap();
    let mut made = Map::new();
    for field in message.fields() {
        let name = field.name();
        let Some(raw) = object.get(name.strip_suffix("_json").unwrap_or(name)) else {
            assert_ne!(name, "document_json");
            continue;
        };
        let elements = || serde_json::from_str::<Vec<Box<RawValue>>>(raw.get()).unwrap();
        let value = match field.kind() {
            Kind::Message(inner) if field.is_list() => {
                elements().iter().map(|raw| expected(&inner, raw.get())).collect()
            }
            Kind::Message(inner) if !field.is_map() && raw.get() != "null" => expected(&inner, raw.get()),
            Kind::String if name.ends_with("_json") && field.is_list() => {
                elements().iter().map(|raw| json!(raw.get())).collect()
            }
            Kind::String if name.ends_with("_json") => json!(raw.get()),
            _ => serde_json::from_str(raw.get()).unwrap(),
        };
        let is_zero = [json!(""), json!(0), json!(false), json!([]), json!({})].contains(&value);
        if !(value.is_null() || is_zero && !field.supports_presence()) {
            made.insert(name.to_string(), value);
        }
    }
    Value::Object(made)
}

/// Whether the message is a text, and not one that has a text.
fn is_text(message: &MessageDescriptor) -> bool {
    message.fields().map(|field| field.name().to_string()).eq(["text"])
}

/// An explanation but for the moment at which it was given.
fn timeless(text: &str) -> Value {
    let mut explanation: Value = serde_json::from_str(text).unwrap();
    assert!(explanation.as_object_mut().unwrap().remove("at").is_some(), "{text}");
    explanation
}

/// The same by REST, where asking changes nothing.
async fn by_rest(desk: &Desk<'_>, name: &str, message: &Value) -> Option<String> {
    let row = methods().iter().find(|method| method.name == name).unwrap();
    if row.verb != Method::GET {
        return None;
    }
    let (mut path, mut query) = (row.path.to_string(), Vec::new());
    for (name, value) in message.as_object().unwrap() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        match path.contains(&format!("{{{name}}}")) {
            true => path = path.replace(&format!("{{{name}}}"), &text),
            false => query.push(format!("{name}={text}")),
        }
    }
    let path = format!("{path}?{}", query.join("&"));
    Some(as_who(desk.service, desk.admin, Method::GET, &path, Value::Null).await.text)
}

#[test]
fn every_method_says_yes_as_rest_does_in_every_way() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let desk = Desk { service: &service, admin: &admin };
        for (name, method) in every_method() {
            for way in WAYS {
                let caller = Caller { service: &service, way, token: Some(&admin) };
                let message = example(&desk, &name).await;
                let answer = caller.yes(&name, message.clone()).await;
                let output = method.output();
                match by_rest(&desk, &name, &message).await {
                    Some(text) if is_text(&output) => {
                        assert_eq!(answer["text"], text, "{name}");
                    }
                    Some(text) if output.get_field_by_name("content").is_some() => {
                        assert_eq!(answer["content"], STANDARD.encode(text), "{name}");
                    }
                    Some(text) if output.get_field_by_name("document_json").is_some() => {
                        assert_eq!(timeless(answer["document_json"].as_str().unwrap()), timeless(&text));
                    }
                    // Time goes on, and what a server does by itself.
                    Some(text) if name == "AdminService/GetStats" => {
                        let kinds = |stats: &Value| {
                            let kinds = stats["kinds"].as_array().unwrap().iter();
                            kinds.map(|one| (one["kind"].clone(), one["active"].clone())).collect::<Vec<_>>()
                        };
                        assert_eq!(kinds(&answer), kinds(&expected(&output, &text)));
                        assert!(answer["counters"].is_object() && answer["log_position"].as_u64() > Some(0));
                    }
                    Some(text) => assert_eq!(answer, expected(&output, &text), "{name} by {way:?}"),
                    None => assert!(answer.is_object(), "{name}"),
                }
            }
        }
    });
}
