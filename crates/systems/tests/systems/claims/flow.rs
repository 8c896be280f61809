//! From a text to a verdict, and all that is said on the way.

use std::collections::BTreeSet;

use tenure::core::time::Time;
use tenure::databases::outside::now;
use tenure_systems::claims::policy::{EvidenceType, Outcome, Status};
use tenure_systems::claims::{NewEvidence, NewValidation};

use super::kit::{Office, judged, new, settings, until};
use crate::kit::on_each;

fn evidence(key: &str, kind: EvidenceType, captured_at: Time) -> NewEvidence {
    NewEvidence {
        idempotency_key: Some(key.to_string()),
        kind,
        uri: "https://example.org/report".to_string(),
        captured_at,
        metadata: Some(serde_json::json!({ "found_by": "search" })),
    }
}

// covers: C-01, C-07, C-10, C-11
#[test]
fn a_claim_comes_to_its_verdict_by_itself() {
    on_each(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let api = office.claims("api:a");
        let (claim, fresh) = api.create(new("k", "it rained; it was cold")).await.unwrap();
        assert_eq!((fresh, claim.decomposition_status.as_str()), (true, "pending"));
        let (again, fresh) = api.create(new("k", "it rained; it was cold")).await.unwrap();
        assert_eq!((fresh, &again), (false, &claim), "the first answer");
        let conflict = api.create(new("k", "it snowed")).await.unwrap_err();
        assert_eq!(conflict.code().unwrap().as_str(), "IDEMPOTENCY_CONFLICT");

        office.at_rest(claim.claim_id, "decomposed").await;
        let truthbits = api.truthbits(claim.claim_id).await.unwrap();
        let said: Vec<&str> = truthbits.iter().map(|truthbit| truthbit.statement.as_str()).collect();
        assert_eq!(said, ["it rained", "it was cold"]);
        assert_eq!(api.verdict(claim.claim_id).await.unwrap().claim, None, "reading computes nothing");

        let (seen, _) = api.add_evidence(evidence("e", EvidenceType::PrimaryArtifact, now())).await.unwrap();
        let human = office.claims("human:ann");
        for truthbit in &truthbits {
            let new = NewValidation {
                idempotency_key: None,
                truthbit_id: truthbit.id,
                claim_id: None,
                judged: judged(Outcome::Supports, 90, vec![seen.id]),
            };
            let (validation, _) = human.create_validation(new).await.unwrap();
            assert_eq!(
                (validation.status.as_str(), validation.created_by.as_str()),
                ("submitted", "human:ann")
            );
        }
        let verdict = until(async || {
            let found = api.verdict(claim.claim_id).await.unwrap();
            found.claim.filter(|verdict| verdict.body.status == Status::Supported)
        })
        .await;
        assert_eq!(verdict.body.validation_ids.len(), 2, "{}", verdict.body.rationale);
        let ids: BTreeSet<&String> = verdict.body.validation_ids.iter().collect();
        assert_eq!(ids.len(), 2);
        running.drain().await;
    });
}
