//! What goes on by itself: readiness, scheduler and gate, together or each alone, in any number of processes.
//!
//! Nothing depends on how often anybody looks: workers are leased their work, and what readiness misses in the log it finds in its sweep.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure::core::actor::{Actor, Role};
use tenure::core::entry::{Facts, Sealed};
use tenure::core::lifecycle::event::Event;
use tenure::core::word::Store;
use tenure::{Error, Job, Tenure, Worker, WorkerBuilder};
use tokio::runtime::Handle;

use super::executor::Executor;
use super::kept::{GATE, ORDER, READY, TICKET};
use super::readiness::Readiness;
use super::{gate, runner, scheduler};
use crate::desk::{Employed, System};
use crate::time::Stopwatch;

pub use crate::desk::Running;

/// Who has read the log so far. All processes share it: what one has seen to, nobody else needs to.
const MARK: &str = "tickets/readiness";
/// Entries that are read at once.
const ENTRIES: usize = 500;
/// How long a look at the log waits for something new, and how often the tickets themselves are looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// A scheduler reads a few rows, a gate may run commands: neither gains by more at once.
const CONCURRENCY: usize = 4;

/// One of the workers that a process may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Readiness,
    Scheduler,
    Gate,
}

impl Part {
    pub const ALL: [Part; 3] = [Part::Readiness, Part::Scheduler, Part::Gate];
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub parts: Vec<Part>,
    /// Where the gate checks patches and runs the commands that tickets name, and believes no runner. None: what runners have
    /// found counts.
    pub repository: Option<PathBuf>,
    /// How long what runs may go on when it is told to stop.
    pub grace: Duration,
    /// How long a lease lasts without a heartbeat. None: as the lifecycles say.
    pub lease: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { parts: Part::ALL.to_vec(), repository: None, grace: Duration::from_secs(20), lease: None }
    }
}

impl Settings {
    /// One of them, alone.
    pub fn only(part: Part) -> Settings {
        Settings { parts: vec![part], ..Settings::default() }
    }
}

/// Starts the workers of these settings. A runner is started by whoever has an executor: [`runner`](super::runner).
pub fn start(tenure: &Tenure, settings: Settings) -> Running {
    let desk = Desk { tenure: tenure.clone(), settings, readiness: BTreeMap::new(), swept: None };
    Running::start(desk, &Handle::current(), Arc::default())
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
    readiness: BTreeMap<Store, Readiness>,
    swept: Option<Stopwatch>,
}

impl System for Desk {
    const KINDS: &'static [&'static str] = &[TICKET, READY, ORDER, GATE];

    fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    fn workers(&mut self, store: &Store) -> Result<Vec<Worker>, Error> {
        let mut workers = Vec::new();
        for part in &self.settings.parts {
            match part {
                Part::Readiness => {
                    let readiness = Readiness::of(&self.tenure, store)?;
                    self.readiness.insert(store.clone(), readiness);
                }
                Part::Scheduler => workers.push(self.scheduler(store)?),
                Part::Gate => workers.push(self.gate(store)?),
            }
        }
        Ok(workers)
    }

    async fn begins(&mut self) -> Result<u64, Error> {
        match self.tenure.mark(MARK).await? {
            Some(mark) => Ok(mark),
            None => Ok(self.tenure.head().await?.position),
        }
    }

    async fn turn(&mut self, after: u64, employed: &mut Employed) -> Result<u64, Error> {
        if self.swept.is_none_or(|swept| swept.elapsed() >= SWEEP_EVERY) {
            for readiness in self.readiness.values_mut() {
                readiness.sweep().await?;
            }
            self.swept = Some(Stopwatch::start());
        }
        let page = self.tenure.log_or_wait(after, ENTRIES, SWEEP_EVERY).await?;
        let Some((last, _)) = page.last() else { return Ok(after) };
        for (_, entry) in &page {
            self.heard(entry, employed).await?;
        }
        if self.settings.parts.contains(&Part::Readiness) {
            self.tenure.set_mark(MARK, *last).await?;
        }
        Ok(*last)
    }
}

impl Desk {
    /// What an entry of the log means for tickets: there is one in a store, or one can be worked on now.
    async fn heard(&mut self, entry: &Sealed, employed: &mut Employed) -> Result<(), Error> {
        if let Facts::Create(birth) = &entry.facts
            && Desk::KINDS.contains(&birth.kind.as_str())
        {
            return employed.employ(self, &entry.store);
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
