//! Decomposition: all TruthBits or none, under a lease, whatever a decomposer does.

use std::time::Duration;

use tenure::Tenure;
use tenure::core::answer::Answer;
use tenure::core::id::{ExecutionId, Fence, ItemId, RecordId};
use tenure::core::lifecycle::parse::parse;
use tenure::core::lifecycle::shipped;
use tenure::core::request::{Command, Take, Terms};
use tenure::core::time::Time;
use tenure::databases::Query;
use tenure_systems::claims::decompose::{Decomposer, Decomposing, Statement};
use tenure_systems::claims::policy::{EvidenceType, Outcome};
use tenure_systems::claims::{Claims, Guarded, NewEvidence, NewValidation, Settings};

use super::kit::{Office, guarded, judged, made, new, parts, settings, until};
use crate::kit::{on_each, on_kept, on_memory};

/// What a bad decomposer does, and what its claim fails with.
const BAD: [(&str, &str); 6] = [
    ("refuse", "this is no statement"),
    ("nothing", "found nothing"),
    ("twice", "\"a\" is there twice"),
    ("no key", "the key"),
    ("panic", "the decomposer panicked: a decomposer without manners"),
    ("hang", "did not answer within"),
];

// covers: C-06, C-08
#[test]
fn a_decomposer_that_goes_wrong_fails_its_claim_alone_and_leaves_no_truthbit() {
    on_each(async |url| {
        let office = Office::open(url).await;
        let mut claims = Vec::new();
        for (text, reason) in BAD {
            claims.push((office.claim(text).await, reason));
        }
        let good = office.claim("it rained").await;
        let running = office.start(settings());
        for (claim, reason) in claims {
            office.at_rest(claim, "failed").await;
            let shown = office.claims("api:a").get(claim).await.unwrap();
            assert!(shown.failed_reason.as_ref().unwrap().contains(reason), "{shown:?}");
            assert_eq!(office.tenure.whole(claim).await.unwrap().records, [], "{reason}");
        }
        office.at_rest(good, "decomposed").await;
        running.drain().await;
    });
}

// covers: C-08
#[test]
fn a_decomposer_that_never_gives_its_thread_back_is_given_up() {
    on_memory(async |url| {
        let office = Office::open(url).await;
        let (stuck, good) = (office.claim("spin").await, office.claim("it rained").await);
        let running = office.start(settings());
        office.at_rest(good, "decomposed").await;
        office.at_rest(stuck, "failed").await;
        running.drain().await;
    });
}

async fn leased(office: &Office, claim: ItemId, worker: &str) -> ExecutionId {
    let terms = Terms { lease: Some(Duration::from_secs(60)), ..Terms::default() };
    let take = Command::Take(Take { item: claim, terms });
    match office.acting(worker).ask(take).await.unwrap().answer {
        Answer::Leased(granted) => granted[0].execution,
        no => panic!("{no:?}"),
    }
}

// covers: C-05, C-06
#[test]
fn a_claim_is_decomposed_under_its_lease_and_repeated_it_is_the_same() {
    on_each(async |url| {
        let office = Office::open(url).await;
        let claim = office.claim("it rained; it was cold").await;
        office.claims("orchestrator:o").enqueue(claim, None).await.unwrap();
        let execution = leased(&office, claim, "worker:w/1").await;
        let worker = office.claims("worker:w/1");
        let lost = |no: Result<_, tenure_systems::claims::Error>| no.unwrap_err().code().unwrap().to_string();
        let next = ExecutionId { fence: Fence(2), ..execution };
        assert_eq!(lost(worker.decompose(next, &guarded(), "1").await), "LEASE_LOST");
        let other = office.claims("worker:w/2");
        assert_eq!(lost(other.decompose(execution, &guarded(), "1").await), "LEASE_LOST");

        let done = worker.decompose(execution, &guarded(), "1").await.unwrap();
        let key = |number: u32| format!("statement/{number}").parse().unwrap();
        let id = |number| RecordId::of(claim, &"truthbit".parse().unwrap(), &key(number));
        assert_eq!(done.outcome.as_ref().unwrap(), &[id(1), id(2)], "a hash of claim and key");
        // Another decomposer now; what is decomposed stays as it is.
        let changed = made(|_| Ok(parts("it snowed")));
        assert_eq!(worker.decompose(execution, &changed, "2").await.unwrap(), done);
        assert_eq!(lost(other.decompose(execution, &guarded(), "1").await), "LEASE_LOST");
        let bits = office.claims("api:a").truthbits(claim).await.unwrap();
        let said: Vec<_> =
            bits.iter().map(|bit| (bit.key.as_str(), bit.statement.as_str(), &*bit.policy)).collect();
        assert_eq!(said, [("statement/1", "it rained", "1"), ("statement/2", "it was cold", "1")]);
        assert!(bits.iter().all(|bit| bit.claim_id == claim && bit.created_at == done.completed_at));

        let bad = office.claim("refuse").await;
        office.claims("orchestrator:o").enqueue(bad, None).await.unwrap();
        let execution = leased(&office, bad, "worker:w/1").await;
        let failed = worker.decompose(execution, &guarded(), "1").await.unwrap();
        assert_eq!(failed.outcome.as_ref().unwrap_err(), "this is no statement");
        assert_eq!(worker.decompose(execution, &guarded(), "1").await.unwrap(), failed);
    });
}

// covers: C-05
#[test]
fn a_lease_is_kept_for_as_long_as_its_decomposer_takes() {
    on_memory(async |url| {
        let office = Office::open(url).await;
        let claim = office.claim("slow").await;
        office.claims("orchestrator:o").enqueue(claim, None).await.unwrap();
        let terms = Terms { lease: Some(Duration::from_secs(1)), ..Terms::default() };
        let worker = office.acting("worker:w/1");
        worker.ask(Command::Take(Take { item: claim, terms })).await.unwrap();
        // The second renewal goes beyond this.
        let first = office.tenure.item(claim).await.unwrap().lease.unwrap().expires;
        let first = first.after(Duration::from_millis(500));
        let patient = Guarded::one(UntilRenewed { tenure: office.tenure.clone(), claim, first });
        let execution = ExecutionId { item: claim, fence: Fence(1) };
        let done = Claims::of(&worker).decompose(execution, &patient, "1").await.unwrap();
        assert_eq!(done.outcome.unwrap().len(), 1);
    });
}

// The decomposer does not return. The holder of the claim gets LEASE_LOST before the database gives the claim to another worker.
// covers: C-05, K-34
// fault: F19
#[test]
fn a_decomposer_that_outlasts_the_window_of_its_claim_is_given_up_when_it_ends() {
    on_memory(async |url| {
        let claim = include_str!("../../../../../lifecycles/claim.md");
        let mut tables = shipped::tables();
        let windowed = claim.replace("| attempts | 5     |", "| attempts | 5     |\n| window   | 2 s   |");
        let windowed = windowed.replace(
            "| in_progress | release ",
            "| in_progress | time-out | queued | system | | |\n| in_progress | release ",
        );
        drop(tables.add(parse(&windowed).unwrap()));
        let tenure = Tenure::builder(url).without_loops().lifecycles(tables).open().await.unwrap();
        let office = Office { tenure };
        let claim = office.claim("hang").await;
        office.claims("orchestrator:o").enqueue(claim, None).await.unwrap();
        let execution = leased(&office, claim, "worker:w/1").await;
        let patient = Guarded::one(super::kit::Semicolons).limit(Duration::from_secs(3_600));
        let worker = Claims::of(&office.acting("worker:w/1"));
        let refused = worker.decompose(execution, &patient, "1").await.unwrap_err();
        // Its own clock said so, and not a renewal that the database refused.
        assert_eq!(
            refused.to_string(),
            format!("LEASE_LOST: the lease or the window of execution {execution} has ended")
        );
    });
}

/// Comes back once the lease was renewed: without that it would be lost first.
struct UntilRenewed {
    tenure: Tenure,
    claim: ItemId,
    first: Time,
}

impl Decomposer for UntilRenewed {
    fn decompose<'a>(&'a self, statement: &'a Statement) -> Decomposing<'a> {
        Box::pin(async move {
            until(async || {
                let lease = self.tenure.item(self.claim).await.unwrap().lease;
                lease.filter(|lease| lease.expires > self.first)
            })
            .await;
            Ok(parts(&statement.text))
        })
    }
}

// covers: C-13
#[test]
fn nobody_waits_for_a_decomposer_that_never_returns() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let running = office.start(settings());
        let (ready, bits) = office.decomposed("it rained").await;
        running.drain().await;
        // All hands are full for good: nobody decomposes anything any more.
        let stuck = Settings {
            concurrency: 2,
            grace: Duration::ZERO,
            ..Settings::new(Guarded::one(super::kit::Semicolons).limit(Duration::from_secs(3_600)))
        };
        let running = office.start(stuck);
        for number in 0..4 {
            office.claims("api:a").create(new(&format!("h{number}"), "hang")).await.unwrap();
        }
        until(async || {
            let query = Query { state: Some("in_progress".parse().unwrap()), limit: 10, ..Query::default() };
            (office.claims("api:a").list(query).await.unwrap().len() == 2).then_some(())
        })
        .await;
        let api = office.claims("api:a");
        let claim = api.create(new("late", "it was cold")).await.unwrap().0.claim_id;
        assert_eq!(api.get(claim).await.unwrap().payload.unwrap().text, "it was cold");
        office.claims("orchestrator:o").enqueue(claim, None).await.unwrap();
        assert_eq!(api.truthbits(claim).await.unwrap(), []);
        let found = NewEvidence {
            idempotency_key: None,
            kind: EvidenceType::PrimaryArtifact,
            uri: "urn:x".to_string(),
            captured_at: tenure::databases::outside::now(),
            metadata: None,
        };
        let evidence = api.add_evidence(found).await.unwrap().0.id;
        let said = judged(Outcome::Supports, 90, vec![evidence]);
        let new = NewValidation { idempotency_key: None, truthbit_id: bits[0], claim_id: None, judged: said };
        assert_eq!(api.create_validation(new).await.unwrap().0.status, "submitted");
        api.compute_verdict(ready).await.unwrap();
        until(async || api.verdict(ready).await.unwrap().claim).await;
        assert_eq!(api.get(claim).await.unwrap().decomposition_status, "queued", "still nobody decomposes");
        running.drain().await;
    });
}

// covers: C-06
#[test]
fn two_processes_on_one_database_decompose_every_claim_once() {
    on_kept(async |url| {
        let office = Office::open(url.clone()).await;
        let other = Office::open(url).await;
        let running = [office.start(settings()), other.start(settings())];
        let mut claims = Vec::new();
        for number in 0..30 {
            let new = new(&number.to_string(), "it rained; it was cold");
            claims.push(office.claims("api:a").create(new).await.unwrap().0.claim_id);
        }
        for claim in claims {
            office.at_rest(claim, "decomposed").await;
            let history = office.tenure.history(claim).await.unwrap();
            let actions: Vec<String> = history.iter().map(|entry| entry.shown().to_string()).collect();
            let count = |action: &str| actions.iter().filter(|found| *found == action).count();
            assert_eq!(count("EnqueueDecomposition"), 1, "{actions:?}");
            assert_eq!(count("DecompositionSucceeded"), 1, "{actions:?}");
            assert_eq!(office.tenure.whole(claim).await.unwrap().records.len(), 2);
        }
        for running in running {
            running.drain().await;
        }
    });
}
