//! What a worker holds and has no place for, and what it runs beyond its window.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tenure::core::lifecycle::shipped::SHIPPED;
use tenure::{Done, Job, New, Tenure};
use tokio::sync::Semaphore;

use crate::{PATIENCE, on_memory, until};

/// So many are done at once, which makes the worker fetch ahead; the next one goes on and on.
const QUICK: u64 = 1_500;
const ALL: u64 = 3_000;
/// A third of it is how long something waits for a place: much longer than it does where places become free.
const LEASE: Duration = Duration::from_secs(6);

// covers: K-14
#[test]
fn what_waits_behind_a_slow_handler_is_done_by_a_worker_that_has_a_place() {
    on_memory(async |tenure: Tenure| {
        let jobs = tenure.create_all((0..ALL).map(|number| New::job(&number))).await;
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
        let slow = tenure.worker("slow").concurrency(1).lease(LEASE).handle("job", handler).start().unwrap();
        let counters = tenure.counters();
        until(|| begun.load(Ordering::SeqCst) > QUICK && counters.committed() == QUICK).await;
        until(|| counters.leased() > QUICK + 1).await;
        let other = tenure.worker("other").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        until(|| counters.committed() == ALL - 1).await;
        assert!(counters.released() > 0);
        assert_eq!(begun.load(Ordering::SeqCst), QUICK + 1, "none of what was given back began");
        gate.add_permits(1);
        until(|| counters.committed() == ALL).await;
        assert_eq!((counters.lost(), counters.stale_writes()), (0, 0));
        slow.drain().await;
        other.drain().await;
    });
}

/// Says that a handler has been stopped.
struct Stops(Arc<AtomicBool>);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

// Its lease would be asked for again only in twenty seconds.
// covers: K-13, K-34
#[test]
fn a_handler_is_stopped_when_its_window_is_over_and_before_another_begins() {
    on_memory(async |tenure: Tenure| {
        let job = SHIPPED.iter().find(|file| file.file == "job.md").unwrap().source;
        let short = job.replace("# job\n", "# parcel\n").replace("| window   | none ", "| window   | 1 s  ");
        assert!(short.contains("| 1 s "));
        tenure.add_lifecycle(short).await.unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        let work = {
            let stopped = stopped.clone();
            move |job: Job| {
                let stopped = stopped.clone();
                async move {
                    if job.attempt() == 1 {
                        let _stops = Stops(stopped);
                        std::future::pending::<()>().await;
                        unreachable!("it goes on until it is stopped");
                    }
                    Done::with(&stopped.load(Ordering::SeqCst))
                }
            }
        };
        let worker = tenure.worker("w").handle("parcel", work).start().unwrap();
        let parcel = tenure.create(New::of("parcel", &1)).await.unwrap();
        let whole = tenure.wait(parcel.id, PATIENCE).await.unwrap();
        assert_eq!(whole.output.unwrap().bytes(), b"true", "the first was stopped before the second began");
        let ended: Vec<_> = whole.executions[0].ended.iter().map(|end| end.cause.to_string()).collect();
        assert_eq!(ended, ["time-out"]);
        worker.drain().await;
    });
}
