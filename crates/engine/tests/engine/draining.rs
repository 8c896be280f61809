//! A worker that drains: what has begun may finish, what has not is given back at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::{Done, Job, New, Tenure};
use tokio::sync::Semaphore;

use crate::{PATIENCE, on_each, until};

/// So many are done at once, which makes the worker fetch ahead; the next one waits.
const QUICK: u64 = 1_500;

// covers: K-54
#[test]
fn what_was_fetched_ahead_is_given_back_before_the_handler_that_runs_has_ended() {
    on_each(async |url| {
        let tenure = Tenure::builder(url).without_loops().open().await.unwrap();
        let jobs = tenure.create_all((0..4_000_u32).map(|number| New::job(&number))).await;
        assert!(jobs.iter().all(Result::is_ok));
        let (begun, gate) = (Arc::new(AtomicU64::new(0)), Arc::new(Semaphore::new(0)));
        let handler = {
            let (begun, gate) = (begun.clone(), gate.clone());
            move |_: Job| {
                let (is_quick, gate) = (begun.fetch_add(1, Ordering::SeqCst) < QUICK, gate.clone());
                async move {
                    if !is_quick {
                        gate.acquire().await.unwrap().forget();
                    }
                    Ok(Done::default())
                }
            }
        };
        let worker = tenure.worker("w").concurrency(1).grace(Duration::from_secs(3_600));
        let worker = worker.handle("job", handler).start().unwrap();
        let counters = tenure.counters();
        until(|| begun.load(Ordering::SeqCst) > QUICK && counters.committed() == QUICK).await;
        until(|| counters.leased() > QUICK + 1).await;
        let drained = async {
            worker.drain().await;
        };
        let look = async {
            // The handler that runs is not done before this is so.
            until(|| counters.released() > 0 && counters.released() + QUICK + 1 == counters.leased()).await;
            gate.add_permits(1);
        };
        tokio::join!(drained, look);
        assert_eq!(begun.load(Ordering::SeqCst), QUICK + 1, "nothing began while it drained");
        assert_eq!(counters.committed(), QUICK + 1);
    });
}

// covers: K-54
#[test]
fn a_worker_that_is_retired_finishes_what_it_holds_however_long_that_takes_and_takes_nothing_more() {
    on_each(async |url| {
        let tenure = Tenure::builder(url).without_loops().open().await.unwrap();
        let (begun, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (by_it, by_another) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let handler = {
            let (begun, gate, by_it) = (begun.clone(), gate.clone(), by_it.clone());
            move |_: Job| {
                let (begun, gate, by_it) = (begun.clone(), gate.clone(), by_it.clone());
                async move {
                    if by_it.fetch_add(1, Ordering::SeqCst) == 0 {
                        begun.add_permits(1);
                        gate.acquire().await.unwrap().forget();
                    }
                    Ok(Done::default())
                }
            }
        };
        // Drained, it would give back at once what it holds.
        let worker = tenure.worker("w").concurrency(2).grace(Duration::ZERO);
        let mut worker = worker.handle("job", handler).start().unwrap();
        let held = tenure.create(New::job(&1)).await.unwrap();
        begun.acquire().await.unwrap().forget();
        worker.retire();
        let others = {
            let by_another = by_another.clone();
            move |_: Job| {
                by_another.fetch_add(1, Ordering::SeqCst);
                async { Ok(Done::default()) }
            }
        };
        let other = tenure.worker("other").handle("job", others).start().unwrap();
        for number in 2..5 {
            let left = tenure.create(New::job(&number)).await.unwrap();
            assert_eq!(&**tenure.wait(left.id, PATIENCE).await.unwrap().item.state_name(), "SUCCEEDED");
        }
        // What it had asked for when it was told may still have brought it one.
        assert!(by_another.load(Ordering::SeqCst) >= 2, "the others are another's");
        assert!(!worker.has_ended(), "it still holds the first");
        gate.add_permits(1);
        assert_eq!(&**tenure.wait(held.id, PATIENCE).await.unwrap().item.state_name(), "SUCCEEDED");
        let ended = async {
            let mut looks = tokio::time::interval(Duration::from_millis(10));
            while !worker.has_ended() {
                looks.tick().await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("it ends");
        assert_eq!(tenure.counters().released(), 0, "it gave back none");
        other.drain().await;
    });
}
