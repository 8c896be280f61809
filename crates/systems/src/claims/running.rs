//! What goes on by itself: the orchestrator, and the workers that decompose claims and compute verdicts, together or each alone, in any
//! number of processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::core::actor::{Actor, Role};
use tenure::core::lifecycle::guard::Guard;
use tenure::core::word::Store;
use tenure::{Done, Error, Failure, Job, Tenure, Worker};

use super::decompose::NotDecomposed;
use super::decompose::domains::Decomposers;
use super::decomposition::{bodies, shortened, statement};
use super::guarded::{Guarded, NotStarted};
use super::kept::{CLAIM, RECHECK, TRUTHBIT, VERDICT};
use super::orchestrator::Orchestrator;
use super::policy::Policy;
use super::weighing;
use crate::desk::{self, Employed, System};

const MARK_EVERY: Duration = Duration::from_millis(500);

/// One of those that a process may run. Workers of one's own take the place of any of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Orchestrator,
    Decomposers,
    Verdicts,
}

impl Part {
    pub const ALL: [Part; 3] = [Part::Orchestrator, Part::Decomposers, Part::Verdicts];
}

/// How claims are worked on.
#[derive(Clone, Debug)]
pub struct Settings {
    pub parts: Vec<Part>,
    pub guarded: Guarded,
    pub policy: Arc<Policy>,
    pub retries: Retries,
    /// Claims that are decomposed at the same time, in each store.
    pub concurrency: usize,
    /// How long what runs may go on when it is told to stop.
    pub grace: Duration,
    /// The orchestrator stores its position in the log this often, one write each time. After a crash it reads the entries since then
    /// again, which changes nothing.
    pub mark_every: Duration,
    /// What was done so far by whoever was started with these.
    pub counters: Arc<Counters>,
}

impl Settings {
    pub fn new(guarded: Guarded) -> Settings {
        let (policy, retries, counters) = (Arc::default(), Retries::default(), Arc::default());
        let (parts, grace) = (Part::ALL.to_vec(), Duration::from_secs(20));
        let mark_every = MARK_EVERY;
        Settings { parts, guarded, policy, retries, concurrency: 16, grace, mark_every, counters }
    }

    /// With the decomposer that ships, for every domain.
    pub fn shipped() -> Settings {
        Settings::with(Decomposers::default())
    }

    /// With the decomposers that domains have chosen.
    pub fn with(decomposers: Decomposers) -> Settings {
        Settings::new(Guarded::new(move |domain| decomposers.for_domain(domain)))
    }
}

/// How often a claim that failed is tried again, and how soon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retries {
    /// 0: never.
    pub max: usize,
    /// Before the first; each later one waits twice as long.
    pub first: Duration,
}

impl Default for Retries {
    fn default() -> Retries {
        Retries { max: 3, first: Duration::from_secs(10) }
    }
}

impl Retries {
    pub const NONE: Retries = Retries { max: 0, first: Duration::ZERO };

    /// How long the next one waits, after so many. None: there is no next one.
    pub(super) fn pause(&self, retried: usize) -> Option<Duration> {
        let doublings = u32::try_from(retried.min(20)).unwrap_or(20);
        (retried < self.max).then(|| self.first.saturating_mul(1 << doublings))
    }
}

/// What this process does for claims. Dropped, it stops and nobody waits for it.
#[derive(Debug)]
pub struct Running {
    desk: desk::Running,
    counters: Arc<Counters>,
}

/// What was done so far.
#[derive(Debug, Default)]
pub struct Counters {
    enqueued: AtomicU64,
    retried: AtomicU64,
    failed_turns: Arc<AtomicU64>,
    stores_waited: AtomicU64,
}

impl Counters {
    /// All of them by their names, as docs/metrics.md has them.
    pub fn all(&self) -> [(&'static str, u64); 4] {
        [
            ("enqueued", self.enqueued()),
            ("retried", self.retried()),
            ("orchestrator_failed_turns", self.failed_turns()),
            ("stores_waited", self.stores_waited()),
        ]
    }

    /// Claims that the orchestrator of this process enqueued, retries not counted.
    pub fn enqueued(&self) -> u64 {
        self.enqueued.load(Ordering::Relaxed)
    }

    pub fn retried(&self) -> u64 {
        self.retried.load(Ordering::Relaxed)
    }

    /// Turns of the orchestrator that ended in an error, and were taken again.
    pub fn failed_turns(&self) -> u64 {
        self.failed_turns.load(Ordering::Relaxed)
    }

    /// Stores that had work and no place when it was looked, look by look.
    pub fn stores_waited(&self) -> u64 {
        self.stores_waited.load(Ordering::Relaxed)
    }
}

/// Starts what claims need to move on by themselves, as far as the settings have it run here.
pub fn start(tenure: &Tenure, settings: Settings) -> Result<Running, NotStarted> {
    let counters = settings.counters.clone();
    let threads = settings.guarded.handle()?;
    let orchestrator = Orchestrator::new(tenure.clone(), settings.retries, settings.mark_every);
    let desk = Desk { orchestrator, settings, counters: counters.clone() };
    let failed = counters.failed_turns.clone();
    Ok(Running { desk: desk::Running::start(desk, &threads, failed), counters })
}

impl Running {
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Takes up nothing more, lets what runs come to its end for as long as the grace lasts, and gives back the rest.
    pub async fn drain(self) {
        self.desk.drain().await;
    }
}

struct Desk {
    orchestrator: Orchestrator,
    settings: Settings,
    counters: Arc<Counters>,
}

impl System for Desk {
    const KINDS: &'static [&'static str] = &[CLAIM, VERDICT, RECHECK];

    fn tenure(&self) -> &Tenure {
        &self.orchestrator.tenure
    }

    fn stores_waited(&self, stores: usize) {
        self.counters.stores_waited.fetch_add(stores as u64, Ordering::Relaxed);
    }

    /// Verdicts have workers of their own: a decomposer that hangs keeps no verdict waiting.
    fn workers(&mut self, store: &Store) -> Result<Vec<Worker>, Error> {
        let actor = Actor::new(Role::Worker, "claims".parse()?);
        let tenure = self.orchestrator.tenure.acting(store.clone(), actor);
        let mut workers = Vec::new();
        for part in &self.settings.parts {
            match part {
                // It follows the log, for all stores at once.
                Part::Orchestrator => {}
                Part::Decomposers => workers.push(self.decomposers(&tenure)?),
                Part::Verdicts => workers.push(self.judges(&tenure)?),
            }
        }
        Ok(workers)
    }

    async fn begins(&mut self) -> Result<u64, Error> {
        self.orchestrator.begins().await
    }

    async fn turn(&mut self, after: u64, employed: &mut Employed) -> Result<u64, Error> {
        let turn = match self.settings.parts.contains(&Part::Orchestrator) {
            true => self.orchestrator.turn(after).await?,
            false => self.orchestrator.look(after).await?,
        };
        self.counters.enqueued.fetch_add(turn.enqueued as u64, Ordering::Relaxed);
        self.counters.retried.fetch_add(turn.retried as u64, Ordering::Relaxed);
        for store in &turn.stores {
            employed.employ(self, store)?;
        }
        Ok(turn.read_to)
    }
}

impl Desk {
    fn decomposers(&self, tenure: &Tenure) -> Result<Worker, Error> {
        let Settings { guarded, policy, concurrency, grace, .. } = &self.settings;
        let (guarded, policy) = (guarded.clone(), policy.clone());
        let decompose = move |job: Job| decompose(guarded.clone(), policy.clone(), job);
        let decomposers = tenure.worker("decomposer").concurrency(*concurrency).grace(*grace);
        decomposers.handle(CLAIM, decompose).start()
    }

    fn judges(&self, tenure: &Tenure) -> Result<Worker, Error> {
        let Settings { policy, concurrency, grace, .. } = &self.settings;
        let (engine, policy) = (self.orchestrator.tenure.clone(), policy.clone());
        let compute = move |job: Job| {
            let (engine, policy) = (engine.clone(), policy.clone());
            async move { weighing::compute(engine, &policy, job).await }
        };
        let judges = tenure.worker("judge").concurrency(*concurrency).grace(*grace);
        judges.handle(VERDICT, compute).handle(RECHECK, weighing::recheck).start()
    }
}

/// Takes a claim apart. Whatever comes of it is the end of this attempt: trying again is the orchestrator's to say.
async fn decompose(guarded: Guarded, policy: Arc<Policy>, job: Job) -> Result<Done, Failure> {
    let no = |reason: String| Failure::permanent(shortened(&reason));
    let statement = statement(job.payload().ok()).map_err(no)?;
    let parts = guarded.decompose(statement).await.map_err(|NotDecomposed(reason)| no(reason))?;
    let mut done = Done::default().attest(Guard::Decomposition);
    for (key, body) in bodies(parts, &policy.version).map_err(no)? {
        done = done.record(TRUTHBIT, &key, &body)?;
    }
    Ok(done)
}
