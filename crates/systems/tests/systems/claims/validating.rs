//! Validations and evidence: who says what, when it counts, and what takes its place.

use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::id::{ItemId, RecordId};
use tenure::core::item::Link;
use tenure::core::request::{Command, Create, Move};
use tenure::databases::outside::now;
use tenure_systems::claims::policy::{EvidenceType, Outcome, Status};
use tenure_systems::claims::{
    EXTRACTED_VALUE_BYTES_MAX, Error, Judged, NOTES_BYTES_MAX, NewEvidence, NewValidation,
};

use super::kit::{Office, judged, settings, until};
use crate::kit::{on_each, on_kept, on_memory};

fn code(error: &Error) -> String {
    error.code().unwrap().to_string()
}

fn of(truthbit_id: RecordId, judged: Judged) -> NewValidation {
    NewValidation { idempotency_key: None, truthbit_id, claim_id: None, judged }
}

pub async fn evidence(office: &Office, key: &str) -> ItemId {
    let new = NewEvidence {
        idempotency_key: Some(key.to_string()),
        kind: EvidenceType::PrimaryArtifact,
        uri: format!("https://example.org/{key}"),
        captured_at: now(),
        metadata: None,
    };
    office.claims("worker:w").add_evidence(new).await.unwrap().0.id
}

// covers: C-09
#[test]
fn nothing_is_validated_before_its_time_and_a_newer_judgement_takes_the_place_of_an_older() {
    on_each(async |url| {
        let office = Office::open(url).await;
        let early = office.claim("early").await;
        let api = office.claims("api:a");
        assert_eq!(code(&api.is_decomposed(early).await.unwrap_err()), "NOT_DECOMPOSED");
        assert_eq!(code(&api.compute_verdict(early).await.unwrap_err()), "NOT_DECOMPOSED");
        let bit = RecordId::of(early, &"truthbit".parse().unwrap(), &"statement/1".parse().unwrap());
        let too_soon = NewValidation { claim_id: Some(early), ..of(bit, Judged::default()) };
        assert_eq!(code(&api.create_validation(too_soon).await.unwrap_err()), "NOT_DECOMPOSED");
        assert_eq!(code(&api.create_validation(of(bit, Judged::default())).await.unwrap_err()), "NOT_FOUND");

        let running = office.start(settings());
        let (claim, bits) = office.decomposed("it rained; it was cold").await;
        running.drain().await;
        let seen = evidence(&office, "e").await;
        let (ann, bob) = (office.claims("human:ann"), office.claims("human:bob"));
        let supports = || judged(Outcome::Supports, 90, vec![seen]);
        let first = ann.create_validation(of(bits[0], supports())).await.unwrap().0;
        let others = bob.create_validation(of(bits[0], supports())).await.unwrap().0;
        let elsewhere = ann.create_validation(of(bits[1], supports())).await.unwrap().0;
        let pending = ann.create_validation(of(bits[0], Judged::default())).await.unwrap().0;
        assert_eq!((pending.status.as_str(), pending.judged.outcome), ("pending", None));
        let empty = ann.submit_validation(pending.id, Judged::default()).await.unwrap_err();
        assert_eq!(code(&empty), "INVALID_REQUEST", "it says nothing");
        let refutes =
            Judged { notes: Some("I looked again".into()), ..judged(Outcome::Refutes, 80, vec![seen]) };
        assert_eq!(code(&bob.submit_validation(pending.id, refutes.clone()).await.unwrap_err()), "FORBIDDEN");
        let newer = ann.submit_validation(pending.id, refutes.clone()).await.unwrap();
        assert_eq!((newer.status.as_str(), &newer.judged), ("submitted", &refutes));

        let all = api.validations(claim, None, 100).await.unwrap();
        let shown = |id| all.iter().find(|one| one.id == id).unwrap();
        assert_eq!(shown(first.id).status, "superseded");
        assert_eq!(shown(first.id).superseded_by, Some(newer.id), "it points to the new one");
        assert_eq!(shown(first.id).judged, supports(), "and says what it said");
        for kept in [others.id, elsewhere.id] {
            assert_eq!(shown(kept).status, "submitted", "another validator's, or of another TruthBit");
        }
        let late = ann.submit_validation(first.id, refutes).await.unwrap();
        assert_eq!(
            (late.status.as_str(), late.judged),
            ("superseded", supports()),
            "a late submit is a no-op"
        );
    });
}

// covers: C-09
#[test]
fn a_validation_is_withdrawn_with_a_reason_before_it_counts_and_not_after() {
    on_each(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (_, bits) = office.decomposed("it rained").await;
        running.drain().await;
        let ann = office.claims("human:ann");
        let pending = ann.create_validation(of(bits[0], Judged::default())).await.unwrap().0;
        let without = Move::new(pending.id, "invalidate".parse().unwrap());
        let answer = office.acting("human:ann").ask(Command::Move(without)).await.unwrap().answer;
        assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
        let gone = ann.invalidate_validation(pending.id, "a slip".to_string()).await.unwrap();
        assert_eq!((gone.status.as_str(), gone.reason.as_deref()), ("invalidated", Some("a slip")));
        let said = judged(Outcome::Supports, 90, Vec::new());
        let late = ann.submit_validation(pending.id, said.clone()).await.unwrap();
        assert_eq!(late.status, "invalidated", "a late submit is a no-op");
        let counts = ann.create_validation(of(bits[0], said)).await.unwrap().0;
        let kept = ann.invalidate_validation(counts.id, "no".to_string()).await.unwrap_err();
        assert_eq!(code(&kept), "TRANSITION_REFUSED");
        let half = Judged { outcome: Some(Outcome::Supports), ..Judged::default() };
        assert_eq!(code(&ann.create_validation(of(bits[0], half)).await.unwrap_err()), "INVALID_REQUEST");
        let nothing = judged(Outcome::Supports, 90, vec![counts.id]);
        let no_evidence = ann.create_validation(of(bits[0], nothing)).await.unwrap_err();
        assert_eq!(code(&no_evidence), "INVALID_REQUEST", "a validation is no evidence");
        let worker = office.claims("worker:w").create_validation(of(bits[0], Judged::default())).await;
        assert_eq!(code(&worker.unwrap_err()), "FORBIDDEN");
    });
}

// covers: C-01, C-14, C-16
#[test]
fn what_was_said_once_stays_as_it_was_said() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (claim, bits) = office.decomposed("it rained").await;
        let before = office.tenure.whole(claim).await.unwrap();
        let seen = evidence(&office, "e").await;
        let reference = office.tenure.whole(seen).await.unwrap();
        let api = office.claims("api:a");
        let again = NewEvidence {
            idempotency_key: Some("e".to_string()),
            kind: EvidenceType::SecondaryArtifact,
            uri: "https://example.org/other".to_string(),
            captured_at: now(),
            metadata: None,
        };
        assert_eq!(code(&api.add_evidence(again).await.unwrap_err()), "IDEMPOTENCY_CONFLICT");
        api.create_validation(of(bits[0], judged(Outcome::Supports, 90, vec![seen]))).await.unwrap();
        let first = until(async || api.verdict(claim).await.unwrap().claim).await;
        api.create_validation(of(bits[0], judged(Outcome::Refutes, 90, vec![seen]))).await.unwrap();
        let second = until(async || {
            api.verdict(claim).await.unwrap().claim.filter(|verdict| verdict.body.status == Status::Refuted)
        })
        .await;
        assert_eq!(second.body.supersedes, Some(first.id));
        let history = api.verdict_history(claim, None, 10).await.unwrap();
        assert_eq!(history.last().unwrap().1.claim.as_ref(), Some(&first), "the older snapshot is as it was");
        assert_eq!(
            office.tenure.whole(claim).await.unwrap(),
            before,
            "the claim, its text and its TruthBits"
        );
        assert_eq!(office.tenure.whole(seen).await.unwrap(), reference);
        // The table has no row by which a client could change any of them.
        for actor in ["api:a", "human:ann"] {
            for (item, events) in [(claim, ["enqueue", "commit"]), (seen, ["submit", "update"])] {
                for event in events {
                    let step = Move::new(item, event.parse().unwrap());
                    let answer = office.acting(actor).ask(Command::Move(step)).await.unwrap().answer;
                    assert!(!answer.is_yes(), "{actor} {event}: {answer:?}");
                }
            }
        }
        running.drain().await;
    });
}

/// An item of the kind, made by hand, that says it is somebody's judgement.
async fn forged(office: &Office, actor: &str, payload: serde_json::Value, name: Option<&str>) -> ItemId {
    let body = Body::json(serde_json::to_vec(&payload).unwrap()).unwrap();
    let mut create = Create::new("validation".parse().unwrap(), body);
    create.name = name.map(|name| name.parse().unwrap());
    let claim = payload["claim_id"].as_str().unwrap().parse().unwrap();
    create.links.push(Link { label: "claim".parse().unwrap(), to: claim });
    match office.acting(actor).ask(Command::Create(create)).await.unwrap().answer {
        Answer::Created(item) => item.id,
        no => panic!("{no:?}"),
    }
}

fn said_by(claim: ItemId, bit: RecordId, validator: &str) -> serde_json::Value {
    serde_json::json!({
        "claim_id": claim.to_string(), "truthbit_id": bit.to_string(),
        "validator_key": format!("{bit}/{validator}"), "outcome": "refutes", "confidence": 1.0,
    })
}

// covers: C-09, C-10, C-14
#[test]
fn nobody_takes_away_or_hands_in_the_judgement_of_another() {
    on_each(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (claim, bits) = office.decomposed("it rained").await;
        let seen = evidence(&office, "e").await;
        let ann = office.claims("human:ann");
        let supports = || judged(Outcome::Supports, 90, vec![seen]);
        let first = ann.create_validation(of(bits[0], supports())).await.unwrap().0;
        let draft = ann.create_validation(of(bits[0], Judged::default())).await.unwrap().0;

        let mallory = forged(&office, "api:mallory", said_by(claim, bits[0], "human:ann"), None).await;
        // By a move of one's own: hers, and Ann's draft that is still empty.
        for (actor, item) in [("api:mallory", mallory), ("human:bob", draft.id), ("human:ann", draft.id)] {
            let submit = Command::Move(Move::new(item, "submit".parse().unwrap()));
            let answer = office.acting(actor).ask(submit).await.unwrap().answer;
            assert!(matches!(answer, Answer::Refused(_)), "{actor}: {answer:?}");
        }
        // By the operation: in another's name, and under a name that Ann will give hers.
        let submitted = office.claims("api:mallory").submit_validation(mallory, Judged::default()).await;
        assert_eq!(code(&submitted.unwrap_err()), "FORBIDDEN");
        let admin = office.claims("admin:root").submit_validation(mallory, Judged::default()).await;
        assert_eq!(code(&admin.unwrap_err()), "FORBIDDEN", "it is nobody's, whoever hands it in");
        let mut same = said_by(claim, bits[0], "human:ann");
        same["evidence_ids"] = serde_json::json!([]);
        forged(&office, "api:mallory", same, Some("again")).await;
        let named = NewValidation {
            idempotency_key: Some("again".to_string()),
            ..of(bits[0], judged(Outcome::Refutes, 100, Vec::new()))
        };
        let taken = code(&ann.create_validation(named).await.unwrap_err());
        assert!(["FORBIDDEN", "IDEMPOTENCY_CONFLICT"].contains(&taken.as_str()), "{taken}");

        let status = async |id| office.tenure.item(id).await.unwrap().state_name().to_string();
        assert_eq!((status(first.id).await, status(draft.id).await), ("submitted".into(), "pending".into()));
        let asked = office.claims("api:a").compute_verdict(claim).await.unwrap().computation_id;
        office.tenure.wait(asked, crate::kit::PATIENCE).await.unwrap();
        let verdict = ann.verdict(claim).await.unwrap().claim.unwrap();
        assert_eq!(verdict.body.status, Status::Supported, "{}", verdict.body.rationale);
        assert_eq!(verdict.body.validation_ids, [first.id.to_string()]);
        running.drain().await;
    });
}

// covers: C-09
#[test]
fn what_is_said_beside_a_judgement_is_small() {
    on_memory(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (claim, bits) = office.decomposed("it rained").await;
        running.drain().await;
        let ann = office.claims("human:ann");
        let fits = Judged {
            notes: Some("n".repeat(NOTES_BYTES_MAX)),
            extracted_value: Some("v".repeat(EXTRACTED_VALUE_BYTES_MAX - 2).into()),
            ..judged(Outcome::Supports, 90, Vec::new())
        };
        let notes = Judged { notes: Some("n".repeat(NOTES_BYTES_MAX + 1)), ..fits.clone() };
        let value = "v".repeat(EXTRACTED_VALUE_BYTES_MAX - 1).into();
        let value = Judged { extracted_value: Some(value), ..fits.clone() };
        for (field, long) in [("notes", notes), ("extracted_value", value)] {
            let refused = ann.create_validation(of(bits[0], long)).await.unwrap_err();
            assert_eq!(code(&refused), "INVALID_REQUEST");
            assert!(refused.to_string().contains(field), "{refused}");
        }
        ann.create_validation(of(bits[0], fits)).await.unwrap();
        // Nor is it handed in where it was prepared by other means.
        let mut long = said_by(claim, bits[0], "human:ann");
        long["notes"] = "n".repeat(NOTES_BYTES_MAX + 1).into();
        let long = forged(&office, "human:ann", long, None).await;
        let refused = ann.submit_validation(long, Judged::default()).await.unwrap_err();
        assert_eq!(code(&refused), "INVALID_REQUEST");
    });
}
