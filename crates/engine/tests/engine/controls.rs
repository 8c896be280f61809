//! Kinds that are paused, drained and limited while workers work, on every database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::core::lifecycle::settings::Rate;
use tenure::{Done, Error, Job, New, Tenure};
use tokio::sync::Semaphore;

use crate::{PATIENCE, on_each};

/// Long enough for a worker to have looked, had it been allowed to.
const SOON: Duration = Duration::from_millis(300);

// covers: K-38
#[test]
fn a_paused_kind_waits_and_goes_on_when_it_is_resumed() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        let first = tenure.create(New::job(&1)).await.unwrap();
        tenure.wait(first.id, PATIENCE).await.unwrap();
        let paused = tenure.pause("job", "the mail server is down").await.unwrap();
        assert_eq!(paused.pause.unwrap().why, "the mail server is down");
        let job = tenure.create(New::job(&2)).await.unwrap();
        assert!(matches!(tenure.wait(job.id, SOON).await, Err(Error::StillOpen(_))));
        assert!(tenure.counters().held_back() > 0);
        let seen = tenure.controls().await.unwrap();
        assert_eq!(seen.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>(), ["job"]);
        assert!(seen[0].control.pause.is_some());
        tenure.resume("job", "it is up").await.unwrap();
        tenure.wait(job.id, PATIENCE).await.unwrap();
        assert_eq!(tenure.controls().await.unwrap(), []);
        worker.drain().await;
    });
}

// covers: K-38
#[test]
fn a_drain_waits_for_what_is_held_and_lets_nothing_new_begin() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let (begun, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let work = {
            let (begun, go_on) = (begun.clone(), go_on.clone());
            move |_: Job| {
                let (begun, go_on) = (begun.clone(), go_on.clone());
                async move {
                    begun.add_permits(1);
                    go_on.acquire().await.unwrap().forget();
                    Ok(Done::default())
                }
            }
        };
        let worker = tenure.worker("w").handle("job", work).start().unwrap();
        let held = tenure.create(New::job(&1)).await.unwrap();
        begun.acquire().await.unwrap().forget();
        let early = tenure.drain("job", "a deploy", Duration::from_millis(50)).await;
        assert!(matches!(early, Err(Error::StillRunning(1))), "{early:?}");
        let waits = tenure.create(New::job(&2)).await.unwrap();
        go_on.add_permits(2);
        tenure.drain("job", "a deploy", PATIENCE).await.unwrap();
        assert!(tenure.item(held.id).await.unwrap().phase().is_ended());
        assert!(matches!(tenure.wait(waits.id, SOON).await, Err(Error::StillOpen(_))));
        tenure.resume("job", "it is deployed").await.unwrap();
        tenure.wait(waits.id, PATIENCE).await.unwrap();
        worker.drain().await;
    });
}

// covers: K-38
#[test]
fn two_engines_together_run_no_more_than_a_limit() {
    on_each(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        // Memory is one process's own.
        let other = if url.starts_with("memory") { tenure.clone() } else { Tenure::open(url).await.unwrap() };
        tenure.limit("job", Some(2), None, "a small machine").await.unwrap();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = move |running: Arc<AtomicUsize>, most: Arc<AtomicUsize>| {
            move |_: Job| {
                let (running, most) = (running.clone(), most.clone());
                async move {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    Ok(Done::default())
                }
            }
        };
        let workers = [&tenure, &other].map(|engine| {
            engine.worker("w").handle("job", work(running.clone(), most.clone())).start().unwrap()
        });
        let jobs = tenure.create_all((0..40).map(|number| New::job(&number))).await;
        for job in jobs {
            tenure.wait(job.unwrap().id, PATIENCE).await.unwrap();
        }
        assert!(most.load(Ordering::SeqCst) <= 2, "two at once");
        // A rate, too, holds for whoever works.
        let rate = Rate { count: 5, per: Duration::from_secs(1) };
        tenure.limit("job", None, Some(rate), "a small network").await.unwrap();
        let jobs = tenure.create_all((0..12).map(|number| New::job(&number))).await;
        let mut starts = Vec::new();
        for job in jobs {
            let done = tenure.wait(job.unwrap().id, PATIENCE).await.unwrap();
            starts.push(done.executions[0].leased_at);
        }
        let within = |from: &tenure::core::time::Time| {
            starts.iter().filter(|at| *at >= from && **at < from.after(rate.per)).count()
        };
        assert!(starts.iter().map(within).max() <= Some(5), "{starts:?}");
        for worker in workers {
            worker.drain().await;
        }
    });
}
