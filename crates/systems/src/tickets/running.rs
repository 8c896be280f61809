//! What goes on by itself: readiness, scheduler and gate, together or each alone, in any number of processes.
//!
//! Each store that has tickets gets its workers as soon as one is seen there. Nothing depends on how often anybody looks: workers are
//! leased their work, and what readiness misses in the log it finds in its sweep.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::core::actor::{Actor, Role};
use tenure::core::entry::{Facts, Sealed};
use tenure::core::lifecycle::event::Event;
use tenure::core::word::Store;
use tenure::{Error, Job, Tenure, Worker, WorkerBuilder};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::executor::Executor;
use super::kept::{GATE, ORDER, READY, TICKET};
use super::readiness::Readiness;
use super::{gate, runner, scheduler};
use crate::time::{Stopwatch, pause};

/// Who has read the log so far. All processes share it: what one has seen to, nobody else needs to.
const MARK: &str = "tickets/readiness";
/// Entries that are read at once.
const ENTRIES: usize = 500;
/// How long a look at the log waits for something new, and how often the tickets themselves are looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// The database is away: no sooner is it asked again.
const AWAY: Duration = Duration::from_millis(500);
/// Each store has workers of its own, which look for work now and then. More are left to other processes.
const STORES_MAX: usize = 100;
/// A scheduler reads a few rows, a gate may run commands: neither gains by more at once.
const CONCURRENCY: usize = 4;

/// One of the workers that a process may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Readiness,
    Scheduler,
    Gate,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub parts: Vec<Part>,
    /// Where the gate checks patches and runs the commands that tickets name. None: what runners have found counts.
    pub repository: Option<PathBuf>,
    /// How long what runs may go on when it is told to stop.
    pub grace: Duration,
    /// How long a lease lasts without a heartbeat. None: as the lifecycles say.
    pub lease: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Settings {
        let parts = vec![Part::Readiness, Part::Scheduler, Part::Gate];
        Settings { parts, repository: None, grace: Duration::from_secs(20), lease: None }
    }
}

impl Settings {
    /// One of them, alone.
    pub fn only(part: Part) -> Settings {
        Settings { parts: vec![part], ..Settings::default() }
    }
}

/// What this process does for tickets. Dropped, it stops and nobody waits for it.
#[derive(Debug)]
pub struct Running {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
    failed_turns: Arc<AtomicU64>,
}

impl Running {
    /// Looks that ended in an error, and were taken again.
    pub fn failed_turns(&self) -> u64 {
        self.failed_turns.load(Ordering::Relaxed)
    }

    /// Takes up nothing more, lets what runs come to its end for as long as the grace lasts, and gives back the rest.
    pub async fn drain(mut self) {
        let _ = self.stop.send(true);
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Starts the workers of these settings. A runner is started by whoever has an executor: [`runner`](super::runner).
pub fn start(tenure: &Tenure, settings: Settings) -> Running {
    let (stop, stopped) = watch::channel(false);
    let failed_turns: Arc<AtomicU64> = Arc::default();
    let mut tasks = JoinSet::new();
    let desk = Desk {
        tenure: tenure.clone(),
        settings,
        failed_turns: failed_turns.clone(),
        stores: BTreeMap::new(),
    };
    tasks.spawn(desk.run(stopped));
    Running { stop, tasks, failed_turns }
}

/// A runner with this executor. It works once it is started.
pub(super) fn runner_of(tenure: &Tenure, name: &str, executor: impl Executor) -> WorkerBuilder {
    let executor: Arc<dyn Executor> = Arc::new(executor);
    let engine = tenure.clone();
    let work = move |job: Job| runner::execute(engine.clone(), executor.clone(), job);
    tenure.worker(name).concurrency(1).handle(ORDER, work)
}

struct Desk {
    tenure: Tenure,
    settings: Settings,
    failed_turns: Arc<AtomicU64>,
    stores: BTreeMap<Store, Employed>,
}

struct Employed {
    workers: Vec<Worker>,
    readiness: Option<Readiness>,
}

impl Desk {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        tokio::select! {
            // True, or whoever could have said so is gone.
            _ = stopped.wait_for(|stop| *stop) => {}
            () = self.turns() => {}
        }
        let mut draining = JoinSet::new();
        for worker in self.stores.into_values().flat_map(|employed| employed.workers) {
            draining.spawn(worker.drain());
        }
        while draining.join_next().await.is_some() {}
    }

    /// Turn after turn. One that fails is counted and taken again.
    async fn turns(&mut self) {
        let mut begun: Option<u64> = None;
        let mut swept: Option<Stopwatch> = None;
        loop {
            let turned = match begun {
                None => self.begin().await,
                Some(after) => self.turn(after, &mut swept).await,
            };
            match turned {
                Ok(read_to) => begun = Some(read_to),
                Err(_) => {
                    self.failed_turns.fetch_add(1, Ordering::Relaxed);
                    pause(AWAY).await;
                }
            }
        }
    }

    /// Workers for what is there already, in whatever store.
    async fn begin(&mut self) -> Result<u64, Error> {
        self.employ(&self.tenure.store().clone())?;
        for backlog in self.tenure.backlog_of_all().await? {
            if [TICKET, READY, ORDER, GATE].contains(&backlog.kind.as_str()) {
                self.employ(&backlog.store)?;
            }
        }
        match self.tenure.mark(MARK).await? {
            Some(mark) => Ok(mark),
            None => Ok(self.tenure.head().await?.position),
        }
    }

    async fn turn(&mut self, after: u64, swept: &mut Option<Stopwatch>) -> Result<u64, Error> {
        if swept.is_none_or(|swept| swept.elapsed() >= SWEEP_EVERY) {
            for employed in self.stores.values_mut() {
                if let Some(readiness) = &mut employed.readiness {
                    readiness.sweep().await?;
                }
            }
            *swept = Some(Stopwatch::start());
        }
        let page = self.tenure.log_or_wait(after, ENTRIES, SWEEP_EVERY).await?;
        let Some((last, _)) = page.last() else { return Ok(after) };
        for (_, entry) in &page {
            self.heard(entry).await?;
        }
        if self.settings.parts.contains(&Part::Readiness) {
            self.tenure.set_mark(MARK, *last).await?;
        }
        Ok(*last)
    }

    /// What an entry of the log means for tickets: there is one in a store, or one can be worked on now.
    async fn heard(&mut self, entry: &Sealed) -> Result<(), Error> {
        if let Facts::Create(birth) = &entry.facts
            && [TICKET, READY, ORDER, GATE].contains(&birth.kind.as_str())
        {
            return self.employ(&entry.store);
        }
        let became_ready = match &entry.action {
            Event::Plain(name) => ["approve", "retry", "resolve"].contains(&name.as_str()),
            _ => false,
        };
        if became_ready && self.settings.parts.contains(&Part::Readiness) {
            Readiness::of(&self.tenure, &entry.store)?.look(entry.item).await?;
        }
        Ok(())
    }

    fn employ(&mut self, store: &Store) -> Result<(), Error> {
        if self.stores.contains_key(store) || self.stores.len() >= STORES_MAX {
            return Ok(());
        }
        let mut employed = Employed { workers: Vec::new(), readiness: None };
        for part in &self.settings.parts {
            match part {
                Part::Readiness => employed.readiness = Some(Readiness::of(&self.tenure, store)?),
                Part::Scheduler => employed.workers.push(self.scheduler(store)?),
                Part::Gate => employed.workers.push(self.gate(store)?),
            }
        }
        self.stores.insert(store.clone(), employed);
        Ok(())
    }

    fn worker(&self, store: &Store, name: &str) -> Result<(Tenure, WorkerBuilder), Error> {
        let actor = Actor::new(Role::Worker, name.parse()?);
        let tenure = self.tenure.acting(store.clone(), actor);
        let mut builder = tenure.worker(name).concurrency(CONCURRENCY).grace(self.settings.grace);
        if let Some(lease) = self.settings.lease {
            builder = builder.lease(lease);
        }
        Ok((tenure, builder))
    }

    fn scheduler(&self, store: &Store) -> Result<Worker, Error> {
        let (tenure, builder) = self.worker(store, "scheduler")?;
        builder.handle(READY, move |job: Job| scheduler::schedule(tenure.clone(), job)).start()
    }

    fn gate(&self, store: &Store) -> Result<Worker, Error> {
        let (tenure, builder) = self.worker(store, "gate")?;
        let repository = self.settings.repository.clone();
        builder.handle(GATE, move |job: Job| gate::judge(tenure.clone(), repository.clone(), job)).start()
    }
}
