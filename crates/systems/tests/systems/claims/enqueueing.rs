//! Enqueueing, and who tries again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::core::entry::{Facts, Sealed};
use tenure::core::id::ItemId;
use tenure::core::request::{Command, Take, Terms};
use tenure::core::time::Time;
use tenure_systems::claims::decompose::NotDecomposed;
use tenure_systems::claims::{Claims, Guarded, Retries, Settings};

use super::kit::{Office, made, parts, settings, until};
use crate::kit::{on_each, on_kept, on_memory, on_postgres};
use crate::runs::away::Network;

fn code(error: &tenure_systems::claims::Error) -> String {
    error.code().unwrap().to_string()
}

// covers: C-04
#[test]
fn an_enqueue_is_answered_with_the_one_in_force() {
    on_each(async |url| {
        let office = Office::open(url).await;
        let claim = office.claim("it rained").await;
        let orchestrator = office.claims("orchestrator:o");
        let first = orchestrator.enqueue(claim, Some("initial".to_string())).await.unwrap();
        assert_eq!((first.claim_id, first.decomposition_status.as_str()), (claim, "queued"));
        let again = office.claims("orchestrator:p").enqueue(claim, Some("again".to_string())).await.unwrap();
        assert_eq!(again, first, "nothing was changed");
        assert_eq!(enqueues(&office, claim).await.len(), 1);
        for role in ["api:a", "worker:w", "human:h"] {
            assert_eq!(
                code(&office.claims(role).enqueue(claim, None).await.unwrap_err()),
                "FORBIDDEN",
                "{role}"
            );
        }
        let running = office.start(settings());
        office.at_rest(claim, "decomposed").await;
        let late = orchestrator.enqueue(claim, None).await.unwrap_err();
        assert_eq!(code(&late), "ALREADY_DECOMPOSED");
        let failed = office.claim("refuse").await;
        office.at_rest(failed, "failed").await;
        running.drain().await;
        let second = orchestrator.enqueue(failed, Some("by hand".to_string())).await.unwrap();
        let [initial, retry] = &enqueues(&office, failed).await[..] else { panic!("two enqueues") };
        assert_eq!((second.enqueued_at, &*retry.1), (retry.0, "by hand"), "the one in force, not the first");
        assert!(initial.0 < retry.0);
        let worker = office.tenure.acting(office.tenure.store().clone(), "worker:w/1".parse().unwrap());
        let take = Take { item: failed, terms: Terms { start: true, ..Terms::default() } };
        assert!(worker.ask(Command::Take(take)).await.unwrap().answer.is_yes());
        let held = orchestrator.enqueue(failed, None).await.unwrap();
        assert_eq!((held.decomposition_status.as_str(), held.enqueued_at), ("in_progress", retry.0));
        let nothing = "01M7GE4XB00006645Z0KC20ZT6".parse().unwrap();
        assert_eq!(code(&orchestrator.enqueue(nothing, None).await.unwrap_err()), "NOT_FOUND");
        let job = office.tenure.create(tenure::New::job(&1)).await.unwrap();
        assert_eq!(
            code(&orchestrator.enqueue(job.id, None).await.unwrap_err()),
            "NOT_FOUND",
            "a job is no claim"
        );
    });
}

/// When it was enqueued, why, and until when it was put off.
async fn enqueues(office: &Office, claim: ItemId) -> Vec<(Time, String, Option<Time>)> {
    let enqueue = |entry: &Sealed| match &entry.facts {
        Facts::Move(moved) => Some((entry.at, moved.reason.clone().unwrap_or_default(), moved.run_at)),
        _ => None,
    };
    office.tenure.history(claim).await.unwrap().iter().filter_map(enqueue).collect()
}

fn retrying(max: usize, guarded: tenure_systems::claims::Guarded) -> Settings {
    Settings { retries: Retries { max, first: Duration::from_millis(20) }, ..Settings::new(guarded) }
}

// covers: C-15
#[test]
fn a_failed_claim_is_tried_again_by_the_orchestrator_as_often_as_its_policy_says() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let tries = Arc::new(AtomicUsize::new(0));
        let counted = tries.clone();
        // The third time it works.
        let moody = made(move |statement| match counted.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Err(NotDecomposed("not in the mood".to_string())),
            _ => Ok(parts(&statement.text)),
        });
        let running = office.start(retrying(3, moody));
        let claim = office.claim("it rained").await;
        super::kit::until(async || {
            let shown = office.claims("api:a").get(claim).await.unwrap();
            (shown.decomposition_status == "decomposed").then_some(())
        })
        .await;
        let reasons: Vec<String> =
            enqueues(&office, claim).await.into_iter().map(|(_, why, _)| why).collect();
        assert_eq!(
            (reasons, tries.load(Ordering::SeqCst)),
            (["initial", "retry", "retry"].map(String::from).to_vec(), 3)
        );
        running.drain().await;
    });
}

// covers: C-03, C-15
#[test]
fn after_its_last_retry_a_failed_claim_rests() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let running = office.start(retrying(2, super::kit::guarded()));
        let claim = office.claim("refuse").await;
        // Claims after it come to their end, so the orchestrator has read on: it has decided about the last failure.
        super::kit::until(async || (office.tenure.item(claim).await.unwrap().fence.0 == 3).then_some(()))
            .await;
        office.at_rest(claim, "failed").await;
        office.decomposed("it rained").await;
        office.at_rest(claim, "failed").await;
        let found = enqueues(&office, claim).await;
        let reasons: Vec<&str> = found.iter().map(|(_, why, _)| why.as_str()).collect();
        assert_eq!(reasons, ["initial", "retry", "retry"]);
        assert_eq!(running.counters().retried(), 2);
        let failures: Vec<Time> = office
            .tenure
            .whole(claim)
            .await
            .unwrap()
            .executions
            .iter()
            .map(|execution| execution.ended.as_ref().unwrap().mark.at)
            .collect();
        // Each is put off, twice as long as the one before.
        for (number, pause) in [(1, 20), (2, 40)] {
            let until = found[number].2.expect("it is put off");
            assert!(
                until >= failures[number - 1].after(Duration::from_millis(pause)),
                "{found:?} {failures:?}"
            );
        }
        running.drain().await;

        let off = office.start(settings());
        let other = office.claims("api:a").create(super::kit::new("off", "refuse")).await.unwrap().0.claim_id;
        office.at_rest(other, "failed").await;
        office.decomposed("it was cold").await;
        assert_eq!(enqueues(&office, other).await.len(), 1, "switched off, nobody tries again");
        off.drain().await;
    });
}

// covers: C-01, C-04
#[test]
fn claims_of_every_store_and_from_before_are_enqueued() {
    on_kept(async |url| {
        let office = Office::open(url).await;
        let before = office.claim("it rained").await;
        let actor = "api:a".parse().unwrap();
        let elsewhere = office.tenure.acting("elsewhere".parse().unwrap(), actor);
        let there = tenure_systems::claims::Claims::of(&elsewhere);
        let claim = there.create(super::kit::new("k", "it was cold")).await.unwrap().0.claim_id;
        let running = office.start(settings());
        office.at_rest(before, "decomposed").await;
        elsewhere.wait(claim, crate::kit::PATIENCE).await.unwrap();
        assert_eq!(there.truthbits(claim).await.unwrap().len(), 1);
        assert_eq!(running.counters().enqueued(), 2);
        running.drain().await;
        // Where it has read to is kept: nothing is enqueued a second time.
        let running = office.start(settings());
        office.decomposed("it snowed").await;
        assert_eq!(running.counters().enqueued(), 1);
        running.drain().await;
    });
}

// covers: C-04, K-53
#[test]
fn turns_that_failed_are_counted_and_taken_again() {
    on_postgres(async |url| {
        let (network, through) = Network::before(&url).await;
        let office = Office::open(through).await;
        let running = office.start(settings());
        network.down.send_replace(true);
        until(async || (running.counters().failed_turns() > 0).then_some(())).await;
        network.down.send_replace(false);
        let outside = Office::open(url).await;
        let claim = outside.claim("it rained").await;
        outside.at_rest(claim, "decomposed").await;
        running.drain().await;
    });
}

// covers: C-13
#[test]
fn stores_that_wait_for_a_place_are_counted() {
    on_memory(async |url| {
        let office = Office::open(url).await;
        // More stores than a process works for at once, and their decomposers never come to an end.
        for number in 0..105 {
            let store = format!("s{number}").parse().unwrap();
            let tenure = office.tenure.acting(store, "api:a".parse().unwrap());
            Claims::of(&tenure).create(super::kit::new("k", "hang")).await.unwrap();
        }
        let stuck = Guarded::one(super::kit::Semicolons).limit(Duration::from_secs(3_600));
        let running = office.start(Settings { grace: Duration::ZERO, ..Settings::new(stuck) });
        until(async || (running.counters().stores_waited() > 0).then_some(())).await;
        running.drain().await;
    });
}
