//! The desk of a system: what a process does for it by itself.
//!
//! ```text
//! log ─▶ turn after turn ─▶ a store with work, seen for the first time ─▶ its workers
//! ```
//!
//! Any number of processes may do this on one database. A turn that fails is counted and taken again. What a turn does with what it
//! reads, and how far that was, is the system's own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::core::word::Store;
use tenure::{Error, Tenure, Worker};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::time::pause;

/// The database is away: no sooner is it asked again.
const AWAY: Duration = Duration::from_millis(500);
/// Each store has workers of its own, which look for work now and then. More are left to other processes.
const STORES_MAX: usize = 100;

/// A system that goes on by itself.
pub(crate) trait System: Send + 'static {
    /// Whoever has items of these in a store has work for it.
    const KINDS: &'static [&'static str];

    fn tenure(&self) -> &Tenure;

    /// The workers of a store.
    fn workers(&mut self, store: &Store) -> Result<Vec<Worker>, Error>;

    /// Where it goes on in the log.
    fn begins(&mut self) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Reads on, acts upon what it read, and employs workers where there is work. Answers how far it has read.
    fn turn(
        &mut self,
        after: u64,
        employed: &mut Employed,
    ) -> impl Future<Output = Result<u64, Error>> + Send;
}

/// The workers of this process, by their stores.
#[derive(Debug, Default)]
pub(crate) struct Employed(BTreeMap<Store, Vec<Worker>>);

impl Employed {
    /// Workers for a store that has none yet.
    pub fn employ(&mut self, system: &mut impl System, store: &Store) -> Result<(), Error> {
        if !self.0.contains_key(store) && self.0.len() < STORES_MAX {
            self.0.insert(store.clone(), system.workers(store)?);
        }
        Ok(())
    }

    /// For what is there already, in whatever store.
    async fn begin<S: System>(&mut self, system: &mut S) -> Result<u64, Error> {
        self.employ(system, &system.tenure().store().clone())?;
        for backlog in system.tenure().backlog_of_all().await? {
            if S::KINDS.contains(&backlog.kind.as_str()) {
                self.employ(system, &backlog.store)?;
            }
        }
        system.begins().await
    }
}

/// What this process does for a system. Dropped, it stops and nobody waits for it.
#[derive(Debug)]
pub struct Running(Standing);

impl Running {
    /// Follows the log for a system, on these threads. Turns that fail are counted.
    pub(crate) fn start(mut system: impl System, threads: &Handle, failed: Arc<AtomicU64>) -> Running {
        Running(Standing::start(threads, |mut stopped| async move {
            let mut employed = Employed::default();
            tokio::select! {
                // True, or whoever could have said so is gone.
                _ = stopped.wait_for(|stop| *stop) => {}
                () = turns(&mut system, &mut employed, &failed) => {}
            }
            drained(employed.0.into_values().flatten()).await;
        }))
    }

    /// Takes up nothing more, lets what runs come to its end for as long as the grace lasts, and gives back the rest.
    pub async fn drain(mut self) {
        self.0.drain().await;
    }
}

/// Turn after turn. One that fails is counted and taken again.
async fn turns<S: System>(system: &mut S, employed: &mut Employed, failed: &AtomicU64) {
    let mut begun: Option<u64> = None;
    loop {
        let turned = match begun {
            None => employed.begin(system).await,
            Some(after) => system.turn(after, employed).await,
        };
        match turned {
            Ok(read_to) => begun = Some(read_to),
            Err(_) => {
                failed.fetch_add(1, Ordering::Relaxed);
                pause(AWAY).await;
            }
        }
    }
}

/// Lets all of them come to their end, at once.
pub(crate) async fn drained(workers: impl IntoIterator<Item = Worker>) {
    let mut draining = JoinSet::new();
    for worker in workers {
        draining.spawn(worker.drain());
    }
    while draining.join_next().await.is_some() {}
}

/// Something that goes on until it is told to stop. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Standing {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Standing {
    /// It gets what will tell it to stop, and ends by itself then.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        threads: &Handle,
        work: impl FnOnce(watch::Receiver<bool>) -> F,
    ) -> Standing {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn_on(work(stopped), threads);
        Standing { stop, tasks }
    }

    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Tells it to stop, and waits until it has.
    pub async fn drain(&mut self) {
        self.stop();
        while self.tasks.join_next().await.is_some() {}
    }
}
