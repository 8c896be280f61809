//! Work by RPC: a whole life, those who come too late, and bytes that stay what they are.

use serde_json::{Value, json};

use super::caller::{Caller, WAYS, Way};
use crate::kit::on_each;

/// Numbers that a parser would change, spaces, escapes.
const PAYLOAD: &str =
    r#"{"price": 1.50,  "big":1152921504606846977, "e": 1E+2, "text":"\u00e9é\/", "a":[ ], "a b":null}"#;

async fn leased(caller: &Caller<'_>, message: Value) -> Value {
    let leases = caller.yes("WorkService/Lease", message).await;
    let [lease] = &leases["leases"].as_array().unwrap()[..] else { panic!("one lease: {leases}") };
    lease.clone()
}

fn under(lease: &Value, more: Value) -> Value {
    let mut message = json!({ "execution": lease["execution"], "lease_token": lease["lease_token"] });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

#[test]
fn a_job_is_submitted_leased_committed_and_read_with_its_bytes_unchanged() {
    on_each(async |service| {
        for way in WAYS {
            let caller = Caller { service: &service, way, token: None };
            let new =
                json!({ "payload_json": PAYLOAD, "idempotency_key": format!("{way:?}"), "priority": -2 });
            let first = caller.call("JobService/Submit", new.clone()).await.unwrap();
            let again = caller.call("JobService/Submit", new).await.unwrap();
            assert_eq!((first.status, again.status), (201, 200));
            assert_eq!(first.message["job_id"], again.message["job_id"]);
            assert_eq!(first.message["priority"], -2);
            let id = &first.message["job_id"];

            let lease =
                leased(&caller, json!({ "kinds": ["job"], "worker": "w1", "start": true, "wait_ms": 20000 }))
                    .await;
            assert_eq!((&lease["item"], &lease["payload_json"]), (id, &json!(PAYLOAD)));
            let running = caller.yes("JobService/Get", json!({ "id": id })).await;
            assert_eq!(running["lease"]["claim_version"], 1);
            assert_eq!(running["state"], "RUNNING");
            let commit = under(&lease, json!({ "output_json": PAYLOAD, "finish": true }));
            assert_eq!(caller.yes("WorkService/Commit", commit).await["status"], "DONE");

            let done = caller.yes("JobService/Get", json!({ "id": id, "wait_ms": 1000 })).await;
            assert_eq!(done["state"], "SUCCEEDED");
            assert_eq!((&done["payload_json"], &done["output_json"]), (&json!(PAYLOAD), &json!(PAYLOAD)));
            // REST has the same bytes.
            let rest = service.get(&format!("/v1/items/{}", id.as_str().unwrap())).await;
            assert!(rest.text.contains(&format!(r#""payload":{PAYLOAD}"#)), "{}", rest.text);
            assert!(rest.text.contains(&format!(r#""output":{PAYLOAD}"#)), "{}", rest.text);
        }
    });
}

// covers: K-12
#[test]
fn a_stale_lease_is_lost_in_every_way() {
    on_each(async |service| {
        for way in WAYS {
            let caller = Caller { service: &service, way, token: None };
            let id = caller.yes("JobService/Submit", json!({ "payload_json": "{}" })).await["job_id"].clone();
            let take = |worker: &str| json!({ "items": [id], "worker": worker, "start": true });
            let first = leased(&caller, take("w1")).await;
            let held = caller.no("WorkService/Lease", take("w2")).await;
            let held = held.is("failed_precondition", "CLAIM_CONFLICT")["document_json"].to_string();
            assert!(held.contains("local/w1"), "{held}");
            caller.yes("WorkService/Release", under(&first, json!({}))).await;
            let second = leased(&caller, take("w2")).await;
            // Both are in the same state; only the fence tells them apart.
            let commit = under(&first, json!({ "output_json": "1" }));
            caller.no("WorkService/Commit", commit.clone()).await.is("failed_precondition", "LEASE_LOST");
            caller
                .no("WorkService/Renew", under(&first, json!({})))
                .await
                .is("failed_precondition", "LEASE_LOST");
            let many = json!({ "leases": [under(&second, json!({})), under(&first, json!({}))] });
            let renewed = caller.yes("WorkService/RenewMany", many).await;
            assert_eq!(
                (&renewed["items"][0]["status"], &renewed["items"][1]["status"]),
                (&json!(200), &json!(409))
            );
            assert_eq!(renewed["items"][1]["problem"]["code"], "LEASE_LOST");
            // What was committed instead is told whole where there is room for it, and a client of gRPC can still read the no.
            let long = format!("[{}0]", "1.0,".repeat(10_000));
            caller.yes("WorkService/Commit", under(&second, json!({ "output_json": long }))).await;
            let late = caller.no("WorkService/Commit", commit).await;
            let problem = late.is("failed_precondition", "ALREADY_COMMITTED");
            let document: Value = serde_json::from_str(problem["document_json"].as_str().unwrap()).unwrap();
            assert_eq!(document["execution"], second["execution"]);
            assert_eq!(document["output"].is_array(), way != Way::Grpc);
        }
    });
}

// covers: T-14
#[test]
fn a_no_has_the_code_of_rest_in_every_way() {
    on_each(async |service| {
        let id = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201)["job_id"].clone();
        for way in WAYS {
            let caller = Caller { service: &service, way, token: None };
            let nothing = json!({ "id": "01M7GE4XB00006645Z0KC20ZT6" });
            caller.no("ItemService/Get", nothing).await.is("not_found", "NOT_FOUND");
            caller
                .no("ItemService/Get", json!({ "id": "no/../id?store=x#" }))
                .await
                .is("not_found", "NOT_FOUND");
            caller.no("ItemService/Get", json!({})).await.is("invalid_argument", "INVALID_REQUEST");
            caller
                .no("ItemService/Get", json!({ "id": "x".repeat(100_000) }))
                .await
                .is("invalid_argument", "INVALID_REQUEST");
            let wait = json!({ "id": id, "wait_ms": 30001 });
            caller.no("ItemService/Get", wait).await.is("invalid_argument", "INVALID_REQUEST");
            let stale = json!({ "id": id, "event": "cancel", "reason": "r", "expected_version": 7 });
            let no = caller.no("ItemService/Event", stale).await;
            let document = no.is("failed_precondition", "TRANSITION_REFUSED")["document_json"].to_string();
            assert!(document.contains("PENDING"), "{document}");
            // A payload is one JSON value, and no way to say more than that.
            for bad in ["", "{", "1, \"kind\": \"run\"", "1}", "nan"] {
                let new = json!({ "kind": "job", "payload_json": bad });
                let no = caller.no("ItemService/Create", new).await;
                let detail = no.is("invalid_argument", "INVALID_REQUEST")["detail"].to_string();
                assert!(detail.contains("payload_json"), "{detail}");
            }
            let none = caller.no("ItemService/Create", json!({ "kind": "job" })).await;
            assert!(none.is("invalid_argument", "INVALID_REQUEST")["detail"].to_string().contains("payload"));
            let run = json!({ "kind": "run", "payload_json": "{\"document_id\": 1}" });
            caller.no("ItemService/Create", run).await.is("invalid_argument", "SCHEMA_VIOLATION");
            let same =
                |payload: &str| json!({ "payload_json": payload, "idempotency_key": format!("{way:?}") });
            caller.yes("JobService/Submit", same("1")).await;
            caller.no("JobService/Submit", same("2")).await.is("failed_precondition", "IDEMPOTENCY_CONFLICT");
        }
    });
}
