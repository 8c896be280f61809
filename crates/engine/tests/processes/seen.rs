//! The known ways in which a queue goes wrong, on real databases: they do not happen, and a number says that they would have.

use std::sync::Arc;
use std::time::Duration;

use tenure::core::request::{Command, Due, Effects, Sweep};
use tenure::{Done, Job, New, Tenure};
use tokio::sync::{Semaphore, mpsc};

use crate::place::{PATIENCE, is_sound, on_each, until_so};
use crate::raw;

// Two workers come to the end of one job, in either order: one takes effect, and the other is counted.
// covers: J-04, K-55
#[test]
fn fm_001_of_two_workers_one_takes_effect_and_the_other_is_counted() {
    on_each(async |url| {
        let tenure = Tenure::builder(url.clone()).without_loops().open().await.unwrap();
        let (begun, mut begins) = mpsc::unbounded_channel();
        let gates: Arc<[Semaphore; 2]> = Arc::new([Semaphore::new(0), Semaphore::new(0)]);
        let handler = {
            let gates = gates.clone();
            move |job: Job| {
                let (begun, gates, attempt) = (begun.clone(), gates.clone(), job.attempt());
                async move {
                    begun.send(attempt).unwrap();
                    let gate = &gates[usize::try_from(attempt - 1).unwrap() % 2];
                    gate.acquire().await.unwrap().forget();
                    Done::default().message("charge", &100)
                }
            }
        };
        // Longer than the test: no heartbeat tells the first worker that it has lost its lease.
        let worker =
            tenure.worker("w").lease(Duration::from_secs(3_600)).handle("job", handler).start().unwrap();
        for (round, order) in [[0, 1], [1, 0]].into_iter().enumerate() {
            let job = tenure.create(New::job(&round)).await.unwrap();
            assert_eq!(begins.recv().await, Some(1));
            let held = tenure.item(job.id).await.unwrap();
            let due = Due::Orphan { heartbeat: held.lease.as_ref().unwrap().heartbeat };
            let sweep = Sweep { item: job.id, fence: held.fence, due, offers: Effects::default() };
            let system = tenure.acting(held.store.clone(), "system:test".parse().unwrap());
            assert!(system.ask(Command::Sweep(sweep)).await.unwrap().fresh);
            assert_eq!(begins.recv().await, Some(2), "another has it");
            let counters = tenure.counters();
            let settled = |counted: u64| counters.stale_writes() + counters.committed() >= counted;
            for (number, worker) in (1..).zip(order) {
                gates[worker].add_permits(1);
                until_so(|| settled(2 * round as u64 + number)).await;
            }
            let whole = tenure.wait(job.id, PATIENCE).await.unwrap();
            assert_eq!((&**whole.item.state_name(), whole.messages.len()), ("SUCCEEDED", 1), "one charge");
            assert_eq!(whole.item.committed.map(|fence| fence.0), Some(2));
            let rounds = round as u64 + 1;
            assert_eq!((counters.committed(), counters.stale_writes()), (rounds, rounds));
            let refused = tenure.explain(job.id).await.unwrap().refused;
            let [late] = &refused[..] else { panic!("one came too late, and is told of: {refused:?}") };
            let code = if order == [0, 1] { "LEASE_LOST" } else { "ALREADY_COMMITTED" };
            assert_eq!((late.attempt, late.write, late.code, late.times), (1, "commit", code, 1));
        }
        worker.drain().await;
        drop(tenure);
        is_sound(&url).await;
    });
}

// covers: K-51, K-55
#[test]
fn rows_of_the_inbox_are_counted_taken_and_refused() {
    on_each(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        for kind in ["job", "job", "nothing"] {
            raw::run(&url, &format!("insert into @.tenure_inbox (kind, payload) values ('{kind}', '1')"))
                .await;
        }
        let counters = tenure.counters();
        until_so(|| (counters.inbox_taken(), counters.inbox_refused()) == (2, 1)).await;
    });
}

// Somebody's own trigger swallows a part of an update: all of it is taken back, and counted.
// covers: J-05, K-55
#[test]
fn fm_002_an_update_that_would_be_torn_is_taken_back_and_counted() {
    on_each(async |url| {
        let tenure = Tenure::builder(url.clone()).without_loops().open().await.unwrap();
        let job = tenure.create(New::job(&1)).await.unwrap();
        let tear = match raw::is_sqlite(&url) {
            true => "create trigger tear before update on items begin select raise(ignore); end;",
            false => {
                "create function @.tear() returns trigger language plpgsql as 'begin return null; end'; \
                 create trigger tear before update on @.items for each row execute function @.tear();"
            }
        };
        raw::run(&url, tear).await;
        let torn = tenure.cancel(job.id, "too late").await.unwrap_err();
        assert!(torn.to_string().contains("a row is not as it was locked"), "{torn}");
        assert_eq!(tenure.measures().torn(), 1);
        assert_eq!(tenure.history(job.id).await.unwrap().len(), 1, "no entry without its row");
        assert_eq!(&**tenure.item(job.id).await.unwrap().state_name(), "PENDING");
        let mend = match raw::is_sqlite(&url) {
            true => "drop trigger tear",
            false => "drop trigger tear on @.items; drop function @.tear()",
        };
        raw::run(&url, mend).await;
        tenure.cancel(job.id, "in time").await.unwrap();
        assert_eq!(tenure.measures().torn(), 1);
        drop(tenure);
        is_sound(&url).await;
    });
}
