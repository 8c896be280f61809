//! What an operator does: look at attempts and owners, retry, redrive, cancel, drain.

use std::sync::Arc;
use std::time::Duration;

use tenure::core::actor::Role;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::Phase;
use tenure::databases::{Order, Query};
use tenure::{Done, Failure, Job, Mode, New, Outcome, Tenure};
use tokio::sync::Semaphore;

use crate::{PATIENCE, on_each};

/// Jobs that have failed for good.
async fn failed(tenure: &Tenure, count: usize) -> Vec<ItemId> {
    let fail = async |_: Job| Err::<Done, _>(Failure::permanent("there is no such address"));
    let worker = tenure.worker("failing").handle("job", fail).start().unwrap();
    let mut jobs = Vec::new();
    for number in 0..count {
        jobs.push(tenure.create(New::job(&number).priority(3)).await.unwrap().id);
    }
    for job in &jobs {
        let whole = tenure.wait(*job, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "FAILED");
    }
    worker.drain().await;
    // Within a millisecond ids are in no order.
    jobs.sort();
    jobs
}

// covers: J-01
#[test]
fn every_attempt_keeps_its_reason_and_its_last_lines() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let work = async |job: Job| {
            job.log(format!("attempt {} begins", job.attempt()));
            match job.attempt() {
                1 => Err(Failure::retry_after(Duration::ZERO, "it broke")),
                2 => {
                    (0..300).for_each(|number| job.log(format!("line {number}")));
                    Err(Failure::snooze(Duration::from_millis(1), "not yet"))
                }
                3 => {
                    job.log("about to fall");
                    panic!("a bug")
                }
                _ => Done::with(&"done"),
            }
        };
        let worker = tenure.worker("w").handle("job", work).start().unwrap();
        let job = tenure.create(New::job(&())).await.unwrap();
        let whole = tenure.wait(job.id, PATIENCE).await.unwrap();
        assert_eq!(whole.output.as_ref().unwrap().bytes(), b"\"done\"");
        let attempts = tenure.executions(job.id).await.unwrap();
        let told: Vec<_> =
            attempts.iter().map(|one| (one.attempt, one.status, one.reason.as_deref())).collect();
        assert_eq!(
            told,
            [
                (1, "ABORTED", Some("it broke")),
                (2, "ABORTED", Some("not yet")),
                (3, "ABORTED", Some("the handler panicked: a bug")),
                (4, "DONE", None),
            ]
        );
        assert_eq!(attempts[0].log.lines, ["attempt 1 begins"]);
        assert_eq!((attempts[1].log.lines.len(), attempts[1].log.dropped), (100, 201));
        assert_eq!(attempts[1].log.lines[99], "line 299");
        assert_eq!(attempts[2].log.lines, ["attempt 3 begins", "about to fall"]);
        assert_eq!(attempts[3].log.lines, ["attempt 4 begins"]);
        for one in &attempts {
            assert_eq!((one.job_id, one.exec_id.clone()), (job.id, format!("{}-{}", job.id, one.attempt)));
            assert!(one.lease_owner.starts_with("w/"));
            let (started, finished) = (one.started_at.expect("it began"), one.finished_at.expect("it ended"));
            assert!(started <= finished && finished < one.lease_expires_at);
        }
        worker.drain().await;
    });
}

// covers: K-11, K-19
#[test]
fn owners_and_workers_are_listed_with_what_they_hold() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let begun = Arc::new(Semaphore::new(0));
        let starts = begun.clone();
        let endless = move |_: Job| {
            starts.add_permits(1);
            std::future::pending()
        };
        let grace = Duration::from_millis(1);
        let worker = tenure.worker("w").handle("job", endless).grace(grace).start().unwrap();
        let jobs = [0, 1, 2].map(|number| New::job(&number));
        let jobs: Vec<ItemId> =
            tenure.create_all(jobs).await.into_iter().map(|job| job.unwrap().id).collect();
        begun.acquire_many(3).await.unwrap().forget();
        let live = &tenure.executions(jobs[0]).await.unwrap()[0];
        assert_eq!((live.status, live.finished_at), ("IN_PROGRESS", None));
        let page = |after, limit| Query { after, limit, ..Query::default() };
        let mut held = tenure.owners(page(None, 2)).await.unwrap();
        assert_eq!(held.len(), 2);
        held.extend(tenure.owners(page(Some(held[1].resource_id), 2)).await.unwrap());
        assert_eq!(held.iter().map(|one| one.resource_id).collect::<Vec<_>>(), jobs);
        for one in &held {
            assert_eq!((one.resource_type.as_str(), one.claim_version), ("JOB", 1));
            assert_eq!(one.owner_id, live.lease_owner);
            assert!(one.acquired_at <= one.heartbeat_at && one.heartbeat_at < one.lease_expires_at);
        }
        let by_name = |owner: &str| Query { owner: Some(owner.parse().unwrap()), ..page(None, 10) };
        assert_eq!(tenure.owners(by_name(&live.lease_owner)).await.unwrap().len(), 3);
        assert_eq!(tenure.owners(by_name("w/another")).await.unwrap(), []);
        let workers = tenure.workers().await.unwrap();
        assert_eq!(
            workers.iter().map(|one| (&*one.owner_id, one.holds)).collect::<Vec<_>>(),
            [(&*live.lease_owner, 3)]
        );
        worker.drain().await;
        assert_eq!(tenure.owners(page(None, 10)).await.unwrap(), []);
        assert_eq!(tenure.workers().await.unwrap(), []);
    });
}

// covers: J-09
#[test]
fn a_failed_job_is_retried_as_a_new_one_that_names_the_old_once() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let old = failed(&tenure, 1).await[0];
        let new = tenure.retry(old).await.unwrap();
        assert_eq!((new.origin, new.priority, &**new.state_name()), (Some(old), 3, "PENDING"));
        assert_eq!(tenure.retry(old).await.unwrap().id, new.id, "asked twice it happens once");
        assert_eq!(tenure.whole(new.id).await.unwrap().payload, tenure.whole(old).await.unwrap().payload);
        assert_eq!(&**tenure.item(old).await.unwrap().state_name(), "FAILED", "a final state never moves");
        assert!(tenure.retry(new.id).await.is_err(), "there is nothing to retry");
        tenure.cancel(new.id, "not needed").await.unwrap();
        let third = tenure.retry(new.id).await.unwrap();
        assert_eq!(third.origin, Some(new.id), "a cancelled one is retried too");
    });
}

// covers: J-09
#[test]
fn what_a_filter_finds_is_redriven_page_by_page_and_a_dry_run_does_nothing() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let old = failed(&tenure, 5).await;
        let jobs = |after| Query { kind: Some("job".parse().unwrap()), after, limit: 2, ..Query::default() };
        let dry = tenure.redrive(jobs(None), Role::Api, Mode::DryRun).await.unwrap();
        assert!(
            dry.outcomes
                .iter()
                .all(|(_, outcome)| matches!(outcome, Outcome::Would(event) if event.as_str() == "create"))
        );
        assert_eq!(dry.outcomes.len(), 2);
        let ready = Query { phase: Some(Phase::Ready), limit: 100, ..Query::default() };
        assert_eq!(tenure.list(ready.clone()).await.unwrap(), []);
        for is_first in [true, false] {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let page = tenure.redrive(jobs(after), Role::Api, Mode::Act).await.unwrap();
                for (id, outcome) in page.outcomes {
                    let new = match outcome {
                        Outcome::Again(new) if is_first => new,
                        Outcome::Stood(new) if !is_first => new,
                        other => panic!("{other:?}"),
                    };
                    assert_eq!(new.origin, Some(id));
                    seen.push(id);
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(seen, old);
            assert_eq!(tenure.list(ready.clone()).await.unwrap().len(), 5, "twice is once");
        }
        // Called off again, all of them.
        let cancelled = tenure.cancel_all(ready.clone(), "a mistake", Mode::DryRun).await.unwrap();
        assert!(cancelled.outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Would(_))));
        let cancelled = tenure.cancel_all(ready.clone(), "a mistake", Mode::Act).await.unwrap();
        assert!(cancelled.outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Moved(_))));
        assert_eq!((cancelled.outcomes.len(), tenure.list(ready).await.unwrap().len()), (5, 0));
        let stopped =
            Query { phase: Some(Phase::Stopped), order: Order::Newest, limit: 1, ..Query::default() };
        assert_eq!(tenure.list(stopped).await.unwrap().len(), 1);
    });
}

const LETTER: &str = "# letter

One that a person puts right when it comes back.

## States

| State  | Phase     | Meaning            |
|--------|-----------|--------------------|
| Ready  | ready     | to be carried      |
| Going  | active    | somebody has it    |
| There  | succeeded | it has arrived     |
| Back   | failed    | nobody lives there |

## Transitions

| From  | Event  | To    | Actor  | Guard |
|-------|--------|-------|--------|-------|
| —     | create | Ready | api    |       |
| Ready | lease  | Going | worker |       |
| Going | commit | There | worker |       |
| Going | fail   | Back  | worker |       |
| Going | expire | Ready | system |       |
| Back  | mend   | Ready | human  |       |
";

#[test]
fn what_rests_in_a_failed_state_is_moved_by_whoever_may() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        tenure.add_lifecycle(LETTER).await.unwrap();
        let letter = tenure.create(New::of("letter", &())).await.unwrap().id;
        let fail = async |_: Job| Err::<Done, _>(Failure::permanent("nonsense"));
        let worker = tenure.worker("w").handle("letter", fail).start().unwrap();
        tenure.wait(letter, PATIENCE).await.unwrap();
        worker.drain().await;
        let letters = || Query { kind: Some("letter".parse().unwrap()), ..Query::default() };
        let refused = tenure.redrive(letters(), Role::Api, Mode::Act).await.unwrap();
        assert!(
            matches!(&refused.outcomes[..], [(_, Outcome::Not(error))] if error.code().unwrap().as_str() == "FORBIDDEN")
        );
        let moved = tenure.redrive(letters(), Role::Human, Mode::Act).await.unwrap();
        assert!(
            matches!(&moved.outcomes[..], [(id, Outcome::Moved(item))] if *id == letter && &**item.state_name() == "Ready")
        );
    });
}

// covers: K-54
#[test]
fn a_drain_ends_what_has_no_release_by_its_recovery_row_and_keeps_what_was_said() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let begun = Arc::new(Semaphore::new(0));
        let starts = begun.clone();
        let endless = move |job: Job| {
            job.log("it begins");
            starts.add_permits(1);
            std::future::pending()
        };
        let builder = tenure.worker("w").grace(Duration::from_millis(1)).handle("run", endless.clone());
        let worker = builder.handle("job", endless).start().unwrap();
        let run = tenure.create(New::of("run", &serde_json::json!({"document_id": "d1"}))).await.unwrap().id;
        let job = tenure.create(New::job(&())).await.unwrap().id;
        begun.acquire_many(2).await.unwrap().forget();
        worker.drain().await;
        let run = tenure.whole(run).await.unwrap().item;
        assert_eq!((&**run.state_name(), run.reason.as_deref()), ("FAILED", Some("its worker shut down")));
        let item = tenure.item(job).await.unwrap();
        assert_eq!((&**item.state_name(), item.failures, item.interruptions), ("PENDING", 0, 1));
        assert_eq!((tenure.counters().released(), tenure.counters().given_up()), (1, 1));
        for id in [run.id, job] {
            let attempts = tenure.executions(id).await.unwrap();
            assert_eq!((attempts[0].status, &attempts[0].log.lines[0][..]), ("ABORTED", "it begins"));
        }
    });
}
