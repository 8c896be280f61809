//! Claims over HTTP: their fields, their codes, and workers elsewhere. Nothing here runs by itself: the tests are the workers.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{Service, as_who, on_each, token};

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name}: {value}"))
}

async fn create(service: &Service, key: &str) -> String {
    let body =
        json!({ "idempotency_key": key, "domain": "weather", "text": "It rained.", "created_by": "ann" });
    text(&service.post("/v0.1/claims", body).await.yes(201), "claim_id").to_string()
}

/// Leases a claim that is queued.
async fn lease(service: &Service, claim: &str) -> Value {
    let body = json!({ "kinds": ["claim"], "items": [claim], "worker": "w" });
    service.post("/v1/leases", body).await.yes(200)["leases"][0].clone()
}

/// A claim with its TruthBit, as a worker elsewhere makes it.
async fn decomposed(service: &Service, key: &str) -> (String, String) {
    let claim = create(service, key).await;
    service.post(&format!("/v0.1/claims/{claim}/enqueue-decomposition"), json!({})).await.yes(200);
    let leased = lease(service, &claim).await;
    let body = json!({ "lease_token": leased["lease_token"] });
    let done = service.post(&format!("/v0.1/claims/{claim}/decompose"), body).await.yes(200);
    (claim, done["truthbit_ids"][0].as_str().unwrap().to_string())
}

// covers: C-01, C-04, C-05, C-12
#[test]
fn a_claim_is_created_enqueued_and_decomposed_by_a_worker_elsewhere() {
    on_each(async |service| {
        let body =
            json!({ "idempotency_key": "a", "domain": "weather", "text": "It rained.", "created_by": "ann" });
        let created = service.post("/v0.1/claims", body.clone()).await.yes(201);
        assert_eq!(service.post("/v0.1/claims", body.clone()).await.yes(200), created);
        let mut other = body;
        other["text"] = json!("It snowed.");
        service.post("/v0.1/claims", other).await.no(409, "IDEMPOTENCY_CONFLICT");
        service.post("/v0.1/claims", json!({ "domain": "d", "text": "t" })).await.no(400, "INVALID_REQUEST");
        for field in ["domain", "text"] {
            let mut body = json!({ "idempotency_key": "b", "domain": "d", "text": "t" });
            body.as_object_mut().unwrap().remove(field);
            service.post("/v0.1/claims", body.clone()).await.no(400, "INVALID_REQUEST");
            body[field] = json!(" ");
            service.post("/v0.1/claims", body).await.no(400, "INVALID_REQUEST");
        }
        let claim = text(&created, "claim_id");
        let path = format!("/v0.1/claims/{claim}");
        let shown = service.get(&path).await.yes(200);
        assert_eq!((text(&shown, "decomposition_status"), text(&shown, "text")), ("pending", "It rained."));
        assert_eq!(
            (text(&shown, "created_at"), text(&shown, "created_by")),
            (text(&created, "created_at"), "ann")
        );
        assert_eq!(service.get(&format!("{path}/truthbits")).await.yes(200)["items"], json!([]));

        let enqueue = format!("{path}/enqueue-decomposition");
        let enqueued = service.post(&enqueue, json!({ "reason": "initial" })).await.yes(200);
        assert_eq!((text(&enqueued, "claim_id"), text(&enqueued, "decomposition_status")), (claim, "queued"));
        assert_eq!(service.post(&enqueue, json!({})).await.yes(200), enqueued);
        let leased = lease(&service, claim).await;
        let again = service.post(&enqueue, json!({})).await.yes(200);
        assert_eq!(again["decomposition_status"], "in_progress");
        assert_eq!(again["enqueued_at"], enqueued["enqueued_at"], "of the enqueue in force");

        let decompose = format!("{path}/decompose");
        for wrong in
            [json!({ "lease_token": "w.0" }), json!({ "lease_token": leased["lease_token"], "attempt": 2 })]
        {
            service.post(&decompose, wrong).await.no(409, "LEASE_LOST");
        }
        service.post(&decompose, json!({})).await.no(400, "INVALID_REQUEST");
        let body = json!({ "lease_token": leased["lease_token"], "attempt": 1 });
        let done = service.post(&decompose, body.clone()).await.yes(200);
        assert_eq!((text(&done, "decomposition_status"), text(&done, "claim_id")), ("decomposed", claim));
        assert_eq!(service.post(&decompose, body).await.yes(200), done, "repeated, the same");
        service.post(&enqueue, json!({})).await.no(409, "ALREADY_DECOMPOSED");

        let bits = service.get(&format!("{path}/truthbits")).await.yes(200)["items"].clone();
        let mut fields: Vec<&str> = bits[0].as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort();
        assert_eq!(fields, ["claim_id", "created_at", "expected_type", "id", "key", "policy", "statement"]);
        assert_eq!(bits[0]["id"], done["truthbit_ids"][0]);
        let page = service.get(&format!("{path}/truthbits?limit=1")).await.yes(200);
        assert_eq!((&page["items"], &page["next_cursor"]), (&bits, &Value::Null));
        service.get(&format!("{path}/truthbits?cursor={claim}")).await.no(400, "INVALID_REQUEST");
        assert_eq!(
            service.get("/v0.1/claims?state=decomposed").await.yes(200)["items"][0]["claim_id"],
            *claim
        );
    });
}

// covers: C-05, C-06
#[test]
fn a_worker_elsewhere_can_not_commit_a_claim_past_its_decomposer() {
    on_each(async |service| {
        let claim = create(&service, "a").await;
        service.post(&format!("/v0.1/claims/{claim}/enqueue-decomposition"), json!({})).await.yes(200);
        let leased = lease(&service, &claim).await;
        let execution = format!("/v1/executions/{}", text(&leased, "execution"));
        let token = json!({ "lease_token": leased["lease_token"] });
        service.post(&format!("{execution}/start"), token.clone()).await.yes(200);
        let bit =
            json!({ "label": "truthbit", "name": "a", "body": { "statement": "s", "expected_type": "t" } });
        for own in [json!({}), json!({ "records": [bit] })] {
            let mut body = token.clone();
            body.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            let no = service.post(&format!("{execution}/commit"), body).await.no(409, "NOT_DECOMPOSED");
            assert!(text(&no, "detail").contains("DecomposeClaim"), "{no}");
        }
        let shown = service.get(&format!("/v0.1/claims/{claim}")).await.yes(200);
        assert_eq!(text(&shown, "decomposition_status"), "in_progress");
        let done = service.post(&format!("/v0.1/claims/{claim}/decompose"), token).await.yes(200);
        assert_eq!(done["truthbit_ids"].as_array().unwrap().len(), 1, "{done}");
    });
}

// covers: C-07, C-09, C-11, C-12
#[test]
fn validations_and_verdicts_have_their_fields_and_their_codes() {
    on_each(async |service| {
        let early = create(&service, "early").await;
        let bit = json!({ "truthbit_id": early, "outcome": "supports", "confidence": 1 });
        service.post(&format!("/v0.1/claims/{early}/validations"), bit).await.no(409, "NOT_DECOMPOSED");
        let compute = format!("/v0.1/claims/{early}/compute-verdict");
        service.post(&compute, json!({})).await.no(409, "NOT_DECOMPOSED");

        let (claim, bit) = decomposed(&service, "a").await;
        let new = json!({ "type": "primary_artifact", "uri": "https://example.org/a", "captured_at": "2026-01-01T00:00:00Z",
            "metadata": { "found_by": "ann" }, "idempotency_key": "e" });
        let evidence = service.post("/v0.1/evidence", new.clone()).await.yes(201);
        assert_eq!(service.post("/v0.1/evidence", new.clone()).await.yes(200), evidence);
        let mut fields: Vec<&str> = evidence.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort();
        assert_eq!(fields, ["captured_at", "id", "metadata", "type", "uri"]);
        for (field, bad) in
            [("uri", json!("nowhere")), ("captured_at", json!("today")), ("type", json!("rumour"))]
        {
            let mut body = new.clone();
            body[field] = bad;
            service.post("/v0.1/evidence", body).await.no(400, "INVALID_REQUEST");
        }

        let body = json!({ "evidence_ids": [evidence["id"]], "outcome": "supports", "confidence": 0.75,
            "extracted_value": { "mm": 3 }, "notes": "seen", "idempotency_key": "v" });
        let of_bit = format!("/v0.1/truthbits/{bit}/validations");
        let said = service.post(&of_bit, body.clone()).await.yes(201);
        assert_eq!(service.post(&of_bit, body).await.yes(200), said);
        assert_eq!((text(&said, "status"), text(&said, "created_by")), ("submitted", "admin:local"));
        for (field, value) in [
            ("truthbit_id", json!(bit)),
            ("evidence_ids", json!([evidence["id"]])),
            ("outcome", json!("supports")),
            ("confidence", json!(0.75)),
            ("extracted_value", json!({ "mm": 3 })),
            ("notes", json!("seen")),
        ] {
            assert_eq!(said[field], value, "{field}");
        }
        let pending = service.post(&of_bit, json!({})).await.yes(201);
        assert_eq!(pending["status"], "pending");
        let submit = format!("/v0.1/validations/{}/submit", text(&pending, "id"));
        service.post(&submit, json!({})).await.no(400, "INVALID_REQUEST");
        service
            .post(&submit, json!({ "outcome": "refutes", "confidence": 2 }))
            .await
            .no(400, "INVALID_REQUEST");
        let newer = service.post(&submit, json!({ "outcome": "refutes", "confidence": 0.5 })).await.yes(200);
        assert_eq!(newer["status"], "submitted");
        let of_claim = format!("/v0.1/claims/{claim}/validations");
        let third = service.post(&of_claim, json!({ "truthbit_id": bit })).await.yes(201);
        let invalidate = format!("/v0.1/validations/{}/invalidate", text(&third, "id"));
        service.post(&invalidate, json!({})).await.no(400, "INVALID_REQUEST");
        let gone = service.post(&invalidate, json!({ "reason": "a slip" })).await.yes(200);
        assert_eq!((text(&gone, "status"), text(&gone, "reason")), ("invalidated", "a slip"));
        let page = service.get(&format!("{of_claim}?limit=2")).await.yes(200);
        assert_eq!(page["items"][0]["superseded_by"], newer["id"]);
        let cursor = text(&page, "next_cursor");
        let rest = service.get(&format!("{of_claim}?limit=2&cursor={cursor}")).await.yes(200);
        assert_eq!((rest["items"].as_array().unwrap().len(), &rest["items"][0]["id"]), (1, &third["id"]));

        let asked = service.post(&format!("/v0.1/claims/{claim}/compute-verdict"), json!({})).await.yes(202);
        assert_eq!((text(&asked, "claim_id"), text(&asked, "status")), (claim.as_str(), "queued"));
        let verdict =
            service.get(&format!("/v0.1/claims/{claim}/verdict?include_history=true")).await.yes(200);
        assert_eq!(
            (&verdict["verdict"], &verdict["history"]),
            (&Value::Null, &json!([])),
            "nobody has computed it"
        );
    });
}

// covers: C-09, C-12
#[test]
fn who_asks_says_the_token() {
    on_each(async |service| {
        let (claim, bit) = decomposed(&service, "a").await;
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (_, human) = token(&service, Some(&admin), json!({ "name": "ann", "role": "human" })).await;
        let (_, other) = token(&service, Some(&admin), json!({ "name": "bob", "role": "human" })).await;
        let (_, worker) = token(&service, Some(&admin), json!({ "name": "w", "role": "worker" })).await;
        let of_bit = format!("/v0.1/truthbits/{bit}/validations");
        let as_ann = json!({ "outcome": "supports", "confidence": 1, "created_by": "human:bob" });
        as_who(&service, &human, Method::POST, &of_bit, as_ann).await.no(400, "INVALID_REQUEST");
        let pending = as_who(&service, &human, Method::POST, &of_bit, json!({})).await.yes(201);
        assert!(text(&pending, "created_by").starts_with("human:"));
        let submit = format!("/v0.1/validations/{}/submit", text(&pending, "id"));
        let judged = json!({ "outcome": "supports", "confidence": 1 });
        as_who(&service, &other, Method::POST, &submit, judged.clone()).await.no(403, "FORBIDDEN");
        let plainly = format!("/v1/items/{}/submit", text(&pending, "id"));
        for token in [&other, &human, &admin] {
            as_who(&service, token, Method::POST, &plainly, json!({})).await.no(409, "TRANSITION_REFUSED");
        }
        as_who(&service, &human, Method::POST, &submit, judged).await.yes(200);
        as_who(&service, &worker, Method::POST, &of_bit, json!({})).await.no(403, "FORBIDDEN");
        let enqueue = format!("/v0.1/claims/{claim}/enqueue-decomposition");
        as_who(&service, &human, Method::POST, &enqueue, json!({})).await.no(403, "FORBIDDEN");
        let new = json!({ "idempotency_key": "k", "domain": "d", "text": "t" });
        as_who(&service, &worker, Method::POST, "/v0.1/claims", new).await.no(403, "FORBIDDEN");
    });
}
