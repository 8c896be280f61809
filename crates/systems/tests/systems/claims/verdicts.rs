//! Verdicts: computed in the background, one for many changes, each a snapshot; and growing old.

use std::time::Duration;

use tenure::New;
use tenure::core::id::ItemId;
use tenure::databases::outside::now;
use tenure::databases::{PAGE_MAX, Query};
use tenure_systems::claims::policy::{EvidenceType, Outcome, Status};
use tenure_systems::claims::{Judged, NewEvidence, NewValidation, Part, Settings, VALIDATIONS_MAX};

use super::kit::{Office, judged, settings, until};
use super::validating::evidence;
use crate::kit::{PATIENCE, on_each, on_kept, on_memory};

const DAY: Duration = Duration::from_secs(86_400);

fn of(truthbit_id: tenure::core::id::RecordId, evidence: ItemId, outcome: Outcome) -> NewValidation {
    let judged = judged(outcome, 90, vec![evidence]);
    NewValidation { idempotency_key: None, truthbit_id, claim_id: None, judged }
}

async fn computations(office: &Office) -> usize {
    let query = Query { kind: Some("verdict".parse().unwrap()), limit: 100, ..Query::default() };
    office.tenure.list(query).await.unwrap().len()
}

// covers: C-10, C-13, C-15
#[test]
fn each_part_of_claims_runs_by_itself_and_another_takes_its_place() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let only = |part| office.start(Settings { parts: vec![part], ..settings() });
        let claim = office.claim("it rained").await;
        // Enqueued, and nobody takes it apart.
        let orchestrator = only(Part::Orchestrator);
        let queued = async || {
            Some(office.tenure.item(claim).await.unwrap())
                .filter(|item| item.state_name().as_str() == "queued")
        };
        until(queued).await;
        orchestrator.drain().await;
        let decomposers = only(Part::Decomposers);
        office.at_rest(claim, "decomposed").await;
        let untouched = office.claim("it snowed").await;
        let api = office.claims("api:a");
        let bit = api.truthbits(claim).await.unwrap().remove(0).id;
        let seen = evidence(&office, "e").await;
        office.claims("human:ann").create_validation(of(bit, seen, Outcome::Supports)).await.unwrap();
        api.compute_verdict(claim).await.unwrap();
        let verdicts = only(Part::Verdicts);
        let status = async || api.verdict(claim).await.unwrap().claim.map(|verdict| verdict.body.status);
        assert_eq!(until(status).await, Status::Supported);
        let item = office.tenure.item(untouched).await.unwrap();
        assert_eq!(item.state_name().as_str(), "pending", "to enqueue it is for the orchestrator");
        decomposers.drain().await;
        verdicts.drain().await;
    });
}

// covers: C-10, C-11
#[test]
fn many_changes_are_one_computation_and_reading_is_none() {
    on_each(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (claim, bits) = office.decomposed("it rained; it was cold").await;
        running.drain().await;
        // Nobody computes now: what is asked for is answered all the same.
        let api = office.claims("api:a");
        let asked = api.compute_verdict(claim).await.unwrap();
        assert_eq!((asked.claim_id, asked.status.as_str()), (claim, "queued"));
        let seen = evidence(&office, "e").await;
        let mut submitted = Vec::new();
        for who in ["human:ann", "human:bob", "api:a"] {
            for bit in &bits {
                let new = of(*bit, seen, Outcome::Supports);
                submitted.push(office.claims(who).create_validation(new).await.unwrap().0.id.to_string());
            }
        }
        assert_eq!(api.compute_verdict(claim).await.unwrap().computation_id, asked.computation_id);
        for _ in 0..3 {
            assert_eq!(api.verdict(claim).await.unwrap().claim, None);
            assert_eq!(api.verdict_history(claim, None, 10).await.unwrap(), []);
        }
        assert_eq!(computations(&office).await, 1, "one stands for all of them, and reading asks for none");

        let running = office.start(settings());
        let found =
            until(async || Some(api.verdict(claim).await.unwrap()).filter(|found| found.claim.is_some()))
                .await;
        let verdict = found.claim.unwrap();
        submitted.sort();
        assert_eq!((verdict.body.status, &verdict.body.validation_ids), (Status::Supported, &submitted));
        assert_eq!((verdict.body.supersedes, verdict.body.policy.as_str()), (None, "1"));
        assert!(!verdict.body.rationale.is_empty());
        let subjects: Vec<&str> = found.truthbits.iter().map(|one| one.body.subject_id.as_str()).collect();
        assert!(bits.iter().all(|bit| subjects.contains(&bit.to_string().as_str())), "{subjects:?}");

        office.claims("human:ann").create_validation(of(bits[0], seen, Outcome::Refutes)).await.unwrap();
        let newer =
            until(async || api.verdict(claim).await.unwrap().claim.filter(|newer| newer.id != verdict.id))
                .await;
        assert_eq!(newer.body.supersedes, Some(verdict.id), "it names the one before");
        let page = api.verdict_history(claim, None, 1).await.unwrap();
        assert_eq!(page[0].1.claim.as_ref(), Some(&newer));
        let rest = api.verdict_history(claim, Some(page[0].0), 10).await.unwrap();
        assert_eq!(rest.iter().map(|(_, one)| one.claim.clone().unwrap()).collect::<Vec<_>>(), [verdict]);
        running.drain().await;
    });
}

/// The orders in which three things can come.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

// fault: M3
// covers: C-09, C-10
#[test]
fn of_a_validator_the_judgement_that_was_handed_in_last_counts_in_whatever_order_they_come() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let seen = evidence(&office, "e").await;
        let (ann, api) = (office.claims("human:ann"), office.claims("api:a"));
        let outcomes = [Outcome::Supports, Outcome::Refutes, Outcome::Inconclusive];
        for order in ORDERS {
            let (claim, bits) = office.decomposed(&format!("it rained, {order:?}")).await;
            let mut prepared = Vec::new();
            for _ in outcomes {
                let nothing =
                    NewValidation { judged: Judged::default(), ..of(bits[0], seen, Outcome::Supports) };
                prepared.push(ann.create_validation(nothing).await.unwrap().0.id);
            }
            for (at, number) in order.into_iter().enumerate() {
                let said = judged(outcomes[number], 90, vec![seen]);
                let submitted = ann.submit_validation(prepared[number], said).await.unwrap();
                assert_eq!(submitted.status, "submitted", "{order:?}: {at}");
                let asked = api.compute_verdict(claim).await.unwrap().computation_id;
                office.tenure.wait(asked, PATIENCE).await.unwrap();
                let verdict = api.verdict(claim).await.unwrap().claim.expect("it was computed").body;
                // An inconclusive judgement takes the place of the one before it, and weighs nothing.
                let counts = outcomes[number] != Outcome::Inconclusive;
                let counted = counts.then(|| prepared[number].to_string());
                assert_eq!(verdict.validation_ids, Vec::from_iter(counted), "{order:?}: {at}");
                match outcomes[number] {
                    Outcome::Supports => assert_eq!(verdict.status, Status::Supported, "{order:?}: {at}"),
                    Outcome::Refutes => assert_eq!(verdict.status, Status::Refuted, "{order:?}: {at}"),
                    Outcome::Inconclusive => {
                        let decided = matches!(verdict.status, Status::Supported | Status::Refuted);
                        assert!(!decided, "{order:?}: {at}: {:?}", verdict.status);
                    }
                }
            }
        }
        running.drain().await;
    });
}

// covers: C-10
#[test]
fn a_verdict_is_computed_again_when_its_evidence_has_grown_old() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (claim, bits) = office.decomposed("it rained").await;
        let api = office.claims("api:a");
        // In a moment it will be a year old.
        let new = NewEvidence {
            idempotency_key: None,
            kind: EvidenceType::PrimaryArtifact,
            uri: "urn:almanac".to_string(),
            captured_at: now().before(365 * DAY).after(Duration::from_millis(1_500)),
            metadata: None,
        };
        let old = api.add_evidence(new).await.unwrap().0.id;
        api.create_validation(of(bits[0], old, Outcome::Supports)).await.unwrap();
        let first = until(async || api.verdict(claim).await.unwrap().claim).await;
        assert_eq!(first.body.status, Status::Supported);
        let stale = until(async || {
            api.verdict(claim).await.unwrap().claim.filter(|verdict| verdict.body.status == Status::Stale)
        })
        .await;
        assert_eq!(stale.body.supersedes, Some(first.id), "nobody asked for it but time");
        // A new piece of evidence makes it good again.
        let seen = evidence(&office, "e").await;
        api.create_validation(of(bits[0], seen, Outcome::Supports)).await.unwrap();
        until(async || {
            api.verdict(claim).await.unwrap().claim.filter(|verdict| verdict.body.status == Status::Supported)
        })
        .await;
        running.drain().await;
    });
}

// covers: C-10, C-11
#[test]
fn the_newest_verdict_is_found_behind_more_validations_than_a_page_has() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (claim, bits) = office.decomposed("it rained").await;
        let api = office.claims("api:a");
        let computed = async || {
            let asked = api.compute_verdict(claim).await.unwrap().computation_id;
            office.tenure.wait(asked, PATIENCE).await.unwrap();
            asked
        };
        let before = computed().await;
        // Prepared and not handed in: they count for nothing, and are in the way all the same.
        for first in [0, PAGE_MAX / 2, PAGE_MAX] {
            let prepared = (first..first + PAGE_MAX / 2).map(|number| {
                let payload = serde_json::json!({
                    "claim_id": claim.to_string(), "truthbit_id": bits[0].to_string(),
                    "validator_key": format!("{}/human:{number}", bits[0]),
                });
                New::of("validation", &payload).link("claim", claim)
            });
            assert!(office.tenure.create_all(prepared).await.iter().all(Result::is_ok));
        }
        let after = computed().await;
        let page = api.verdict_history(claim, None, 1).await.unwrap();
        assert_eq!(page.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [after]);
        assert_eq!(api.verdict(claim).await.unwrap().claim, page[0].1.claim, "the newest of all");
        let rest = api.verdict_history(claim, Some(after), 10).await.unwrap();
        assert_eq!(rest.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [before]);
        running.drain().await;
    });
}

// covers: C-10
#[test]
fn a_claim_is_judged_however_many_validations_never_counted() {
    on_memory(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (claim, bits) = office.decomposed("it rained").await;
        let prepared = (0..=VALIDATIONS_MAX).map(|number| {
            let payload = serde_json::json!({
                "claim_id": claim.to_string(), "truthbit_id": bits[0].to_string(),
                "validator_key": format!("{}/human:{number}", bits[0]),
            });
            New::of("validation", &payload).link("claim", claim)
        });
        assert!(office.tenure.create_all(prepared).await.iter().all(Result::is_ok));
        let seen = evidence(&office, "e").await;
        let ann = office.claims("human:ann");
        let counts = ann.create_validation(of(bits[0], seen, Outcome::Supports)).await.unwrap().0;
        let asked = office.claims("api:a").compute_verdict(claim).await.unwrap().computation_id;
        office.tenure.wait(asked, PATIENCE).await.unwrap();
        let verdict = ann.verdict(claim).await.unwrap().claim.unwrap();
        assert_eq!(verdict.body.validation_ids, [counts.id.to_string()]);
        running.drain().await;
    });
}
