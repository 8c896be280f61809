//! Workers in process: they lease what is ready, run its handler, and commit what comes out, each once.
//!
//! ```text
//!            ┌ acquire: one call for many ─▶ handlers, so many at once, on the program's own runtime
//! runner ────┤                                   │ outcome
//!            └ outcomes, many in one batch ◀─────┘        ─▶ commit · fail · release ─▶ after commit
//! pulse      renews what is held at a third of its lease; gives up what can not be renewed in time
//! ```
//!
//! A worker that is retired takes nothing more and finishes what it holds; one that is drained has only so long for that.
//!
//! The runner and the pulse run on the engine's threads: a handler that blocks keeps neither from running.

mod ahead;
mod drain;
mod handler;
mod held;
mod lines;
mod outcome;
mod pulse;
mod runner;
mod settle;
mod term;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::actor::{Actor, Role};
use tenure_core::word::{Kind, Who};
use tokio::runtime::Handle;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::loops::Parts;
use crate::tenure::Tenure;
use ahead::AHEAD_MAX;
use runner::{POLL_MIN, Runner};

pub use handler::{Handler, Job};
pub use lines::Lines;
#[cfg(test)]
pub(crate) use outcome::How;
pub use outcome::{Done, Failure};
pub use term::LeaseTerm;

/// Handlers that run at the same time, unless a worker says otherwise.
const CONCURRENCY: usize = 64;
/// How long a handler may go on after its worker was told to stop.
const GRACE: Duration = Duration::from_secs(20);

/// A worker before it is started.
pub struct WorkerBuilder {
    tenure: Tenure,
    name: String,
    handlers: Vec<(String, Arc<dyn Handler>)>,
    concurrency: usize,
    lease: Option<Duration>,
    grace: Duration,
    ahead_max: usize,
    poll_min: Duration,
    unanswered: Unanswered,
}

/// Told why the database did not answer a worker that looked for work.
pub(crate) type Unanswered = Arc<dyn Fn(&str) + Send + Sync>;

impl std::fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

impl WorkerBuilder {
    pub(crate) fn new(tenure: Tenure, name: String) -> WorkerBuilder {
        let (handlers, unanswered) = (Vec::new(), Arc::new(|_: &str| {}));
        let (concurrency, grace, ahead_max) = (CONCURRENCY, GRACE, AHEAD_MAX);
        WorkerBuilder {
            tenure,
            name,
            handlers,
            concurrency,
            lease: None,
            grace,
            ahead_max,
            poll_min: POLL_MIN,
            unanswered,
        }
    }

    /// What is done with items of a kind. Kinds that are named first are looked at first, in turns.
    pub fn handle(mut self, kind: impl Into<String>, handler: impl Handler) -> WorkerBuilder {
        self.handlers.push((kind.into(), Arc::new(handler)));
        self
    }

    /// How many handlers run at the same time.
    pub fn concurrency(mut self, handlers: usize) -> WorkerBuilder {
        self.concurrency = handlers.max(1);
        self
    }

    /// Leases nothing before there is a place for its handler: what waits stays in the queue, in its order, and its window has not begun.
    /// Otherwise a fast worker fetches some of it ahead.
    pub fn without_ahead(mut self) -> WorkerBuilder {
        self.ahead_max = 0;
        self
    }

    /// How long a lease lasts without a heartbeat. Otherwise the lifecycle says so.
    pub fn lease(mut self, lease: Duration) -> WorkerBuilder {
        self.lease = Some(lease);
        self
    }

    /// How long handlers may go on once the worker drains.
    pub fn grace(mut self, grace: Duration) -> WorkerBuilder {
        self.grace = grace;
        self
    }

    /// Called when the database does not answer this worker's look for work, with the reason: a lock that somebody else holds, a
    /// lost connection. It looks again by itself.
    pub fn when_unanswered(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> WorkerBuilder {
        self.unanswered = Arc::new(tell);
        self
    }

    /// Starts it. Handlers run on the runtime of whoever calls this; without one, on the engine's threads.
    pub fn start(self) -> Result<Worker, Error> {
        let inner = self.tenure.inner.clone();
        let mut handlers = HashMap::new();
        let mut kinds: Vec<Kind> = Vec::new();
        for (kind, handler) in self.handlers {
            let kind: Kind = kind.parse()?;
            kinds.push(kind.clone());
            handlers.insert(kind, handler);
        }
        let actor = Actor {
            incarnation: Some(inner.incarnation.clone()),
            ..Actor::new(Role::Worker, self.name.parse::<Who>()?)
        };
        let (stop, drain) = (inner.closing.stop(), inner.closing.stop());
        let working = inner.closing.working();
        let (ended, end) = oneshot::channel();
        let runner = Runner {
            handlers,
            kinds,
            actor,
            concurrency: self.concurrency,
            lease: self.lease,
            grace: self.grace,
            ahead_max: self.ahead_max,
            poll_min: self.poll_min,
            unanswered: self.unanswered,
            stop: stop.clone(),
            drain: drain.clone(),
            outside: Handle::try_current().unwrap_or_else(|_| inner.background.handle().clone()),
            parts: self.tenure.parts(),
        };
        inner.background.spawn(async move {
            runner.run().await;
            drop(working);
            let _ = ended.send(());
        });
        Ok(Worker { stop, drain, end: Some(end), _tenure: self.tenure })
    }
}

/// A worker of the engine itself. It ends when the engine is closed, or with it.
pub(crate) struct Within {
    pub actor: Actor,
    pub handlers: Vec<(Kind, Arc<dyn Handler>)>,
    pub concurrency: usize,
    pub outside: Handle,
}

pub(crate) async fn run_within(parts: &Parts, worker: Within) {
    let runner = Runner {
        kinds: worker.handlers.iter().map(|(kind, _)| kind.clone()).collect(),
        handlers: worker.handlers.into_iter().collect(),
        actor: worker.actor,
        concurrency: worker.concurrency,
        lease: None,
        grace: GRACE,
        ahead_max: AHEAD_MAX,
        poll_min: POLL_MIN,
        unanswered: Arc::new(|_| {}),
        stop: parts.closing.stop(),
        drain: parts.closing.stop(),
        outside: worker.outside,
        parts: parts.clone(),
    };
    let working = parts.closing.working();
    runner.run().await;
    drop(working);
}

/// A worker that works. Dropped, it is told to drain and nobody waits for it.
#[derive(Debug)]
pub struct Worker {
    /// It takes no more leases.
    stop: CancellationToken,
    /// What it holds has only the grace left.
    drain: CancellationToken,
    /// None once it has ended.
    end: Option<oneshot::Receiver<()>>,
    /// The engine lives as long as its workers.
    _tenure: Tenure,
}

impl Worker {
    /// Takes no more leases, lets handlers finish for as long as the grace lasts, gives back what is left, and ends. It costs
    /// no item an attempt, but where its table has no `release`: there the recovery row ends it at once.
    pub async fn drain(mut self) {
        self.stop();
        if let Some(end) = self.end.take() {
            let _ = end.await;
        }
    }

    /// Takes no more leases. What it holds goes on, for as long as it takes, and then it has ended. It can still be drained.
    pub fn retire(&self) {
        self.stop.cancel();
    }

    /// Whether it holds nothing any more, and takes nothing.
    pub fn has_ended(&mut self) -> bool {
        let goes_on = self.end.as_mut().is_some_and(|end| end.try_recv() == Err(TryRecvError::Empty));
        if !goes_on {
            self.end = None;
        }
        !goes_on
    }

    fn stop(&self) {
        // In this order: who sees that it is to stop sees whether it is to drain.
        self.drain.cancel();
        self.stop.cancel();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tenure_core::request::{Command, Due, Effects, Request, Sweep};

    use super::*;
    use crate::tenure::New;

    /// Nothing is found by looking again after a while: it is told, or it waits in vain.
    const NEVER: Duration = Duration::from_secs(24 * 3600);

    #[test]
    fn the_next_of_a_key_begins_when_the_one_before_it_has_ended() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            let document = serde_json::json!({ "document_id": "d" });
            let runs = tenure.create_all((0..10).map(|_| New::of("run", &document))).await;
            let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (now, seen) = (running.clone(), most.clone());
            let work = move |_: Job| {
                let (now, seen) = (now.clone(), seen.clone());
                async move {
                    seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    // As long as another takes to begin, if it may.
                    for _ in 0..100 {
                        tokio::task::yield_now().await;
                    }
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok(Done::default())
                }
            };
            let mut builder = tenure.worker("w").concurrency(10).handle("run", work);
            builder.poll_min = NEVER;
            let worker = builder.start().unwrap();
            for run in runs {
                let whole = tenure.wait(run.unwrap().id, Duration::from_secs(60)).await.unwrap();
                assert_eq!(&**whole.item.state_name(), "COMPLETED");
            }
            worker.drain().await;
            assert_eq!(most.load(Ordering::SeqCst), 1, "no two runs of a document overlap");
        });
    }

    // covers: K-13
    #[test]
    fn a_worker_that_has_lost_all_its_leases_takes_others() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            let (begun, begins) = oneshot::channel();
            let begun = std::sync::Mutex::new(Some(begun));
            let work = move |job: Job| {
                let first = begun.lock().unwrap().take();
                async move {
                    match first {
                        Some(begun) => {
                            begun.send(()).unwrap();
                            std::future::pending().await
                        }
                        None => Ok(Done::with(&job.attempt())?),
                    }
                }
            };
            let builder = tenure.worker("w").concurrency(1).lease(Duration::from_secs(1));
            let worker = builder.handle("job", work).start().unwrap();
            let job = tenure.create(New::job(&())).await.unwrap();
            begins.await.unwrap();
            // Its process is declared dead, and it is not: the next heartbeat tells it.
            let held = tenure.item(job.id).await.unwrap();
            let due = Due::Orphan { heartbeat: held.lease.as_ref().unwrap().heartbeat };
            let sweep = Sweep { item: job.id, fence: held.fence, due, offers: Effects::default() };
            let actor = Actor::new(Role::System, "test".parse().unwrap());
            let request = Request { store: held.store.clone(), actor, command: Command::Sweep(sweep) };
            assert!(tenure.inner.gather.ask(request).await.unwrap().fresh);
            let whole = tenure.wait(job.id, Duration::from_secs(60)).await.unwrap();
            assert_eq!(whole.output.unwrap().bytes(), b"2");
            assert_eq!((tenure.counters().lost(), tenure.counters().stale_writes()), (1, 0));
            let refused = tenure.explain(job.id).await.unwrap().refused;
            let told: Vec<_> = refused.iter().map(|one| (one.write, one.attempt, one.code)).collect();
            assert_eq!(told, [("renew", 1, "LEASE_LOST")]);
            worker.drain().await;
        });
    }
}
