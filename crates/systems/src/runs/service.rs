//! The runs of this process: a worker for each store that has some, in turns where they are many, and now and then a look at what
//! crashes have left.
//!
//! **The scheduler.** Runs are started by the engine's workers, and this is how they keep the rules of one:
//!
//! - *oldest first*: the ready runs of a store are in the order of their creation, and of a document only the first of them can be
//!   leased while none of it runs. Both stand in the database (`lanes`), so they hold for any number of processes.
//! - *a tick*: who found nothing looks again when it is told of new runs, and by itself within a second. It never loops without a pause.
//! - *contention*: a look that the database does not answer (somebody holds the lock of a SQLite file) is a line of the log and one more
//!   `SCHEDULER_RETRIED`; the next look comes.
//! - *no request waits*: creating a run is one write. Runs are leased and worked on by other threads than those that answer.
//! - *side by side*: [`Settings::concurrency`] runs of different documents at once in a store; a slow one holds one place of these.
//!
//! **Recovery.** What a dead process held is FAILED with `PROCESS_TERMINATED`: at once where its death can be seen
//! ([`Recovery::AtOnce`]), and otherwise when its lease has ended, by the engine's sweep in any process.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tenure::core::actor::{Actor, Role};
use tenure::core::word::Store;
use tenure::databases::backlog::Backlog;
use tenure::databases::url::Url;
use tenure::{Error, Job, Tenure, Worker};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::RUN;
use super::alive::Alive;
use super::files::AGE;
use super::library::{Library, count};
use super::pipeline::Pipeline;
use super::tidying::Tidying;
use super::worker;
use crate::desk::staff::Staff;
use crate::desk::{Standing, drained};
use crate::time::{pause, within};

/// Runs of a store at once. Steps may hold a document of 64 MiB each.
const CONCURRENCY: usize = 4;
/// Stores that a process works for at once, with as many runs as may go on in each. Where there are more they take turns.
const STORES_MAX: usize = 64;
/// What other processes create in other stores is found by looking; this process tells of its own at once.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// Told of a store that has no place it looks for one, no more often than this: a look counts what waits in all stores.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Younger than this, whoever uploads it may be about to make its run.
const MEND_AFTER: Duration = Duration::from_secs(60);
/// Threads that carry handlers. They wait for steps, which have their own.
const HANDLERS: usize = 2;
/// Steps that run, and steps that would not stop when their run was over. If all are taken runs wait, and time out.
const STEP_THREADS_MAX: usize = 512;

pub use crate::desk::staff::Places;

/// When the runs of a dead process are ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// When the next process starts: all that work on this database are on this machine and see the same files.
    AtOnce,
    /// When their leases have ended.
    WhenLeasesEnd,
}

impl Recovery {
    pub fn of(database: &Url) -> Recovery {
        match database {
            Url::Sqlite(_) => Recovery::AtOnce,
            Url::Memory | Url::Postgres(_) => Recovery::WhenLeasesEnd,
        }
    }
}

/// Gets a line for whoever runs the service.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone)]
pub struct Settings {
    /// Runs at once in a store.
    pub concurrency: usize,
    /// For the stores that are worked for at once.
    pub places: Places,
    /// How long a lease lasts without a heartbeat. None: as the lifecycle says.
    pub lease: Option<Duration>,
    /// How long runs may go on once the service drains.
    pub grace: Duration,
    pub recovery: Recovery,
    /// How old what nobody refers to must be before it is removed.
    pub leftovers_age: Duration,
    /// How old a document must be before somebody else makes its first run.
    pub mend_after: Duration,
    pub tell: Tell,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("concurrency", &self.concurrency).finish_non_exhaustive()
    }
}

impl Settings {
    pub fn of(database: &Url) -> Settings {
        Settings {
            concurrency: CONCURRENCY,
            places: Places::new(STORES_MAX),
            lease: None,
            grace: Duration::from_secs(20),
            recovery: Recovery::of(database),
            leftovers_age: AGE,
            mend_after: MEND_AFTER,
            tell: Arc::new(|_| {}),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    #[error("the threads and files of runs: {0}")]
    System(#[from] io::Error),
    #[error("what dead processes have left was not ended: {0}")]
    Recovery(#[from] Error),
}

/// Runs are worked on as long as this is there. Dropped, it is told to drain and nobody waits for it.
#[derive(Debug)]
pub struct Running {
    standing: Standing,
    /// None once it has ended.
    runtime: Option<Runtime>,
    _alive: Option<Alive>,
}

impl Running {
    /// Takes no more runs, lets those that are held finish for as long as the grace lasts, and ends the rest by the recovery row: a run
    /// is not given back.
    pub async fn drain(mut self) {
        self.standing.drain().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.standing.stop();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Ends what dead processes of this database held, and starts to work on runs.
pub async fn start(
    tenure: Tenure,
    library: Library,
    pipeline: Pipeline,
    settings: Settings,
) -> Result<Running, NotStarted> {
    let alive = match settings.recovery {
        Recovery::AtOnce => Some(recovered(&tenure, &library, &settings).await?),
        Recovery::WhenLeasesEnd => None,
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(HANDLERS)
        .max_blocking_threads(STEP_THREADS_MAX)
        .thread_name("tenure-runs")
        .enable_all()
        .build()?;
    let threads = runtime.handle().clone();
    let staff = Staff::new(settings.places);
    let means = Means { tenure, library, pipeline, settings, threads };
    let service = Service { means, staff, tidying: Tidying::default(), waiting: 0 };
    let standing = Standing::start(runtime.handle(), |stopped| service.run(stopped));
    Ok(Running { standing, runtime: Some(runtime), _alive: alive })
}

async fn recovered(tenure: &Tenure, library: &Library, settings: &Settings) -> Result<Alive, NotStarted> {
    let (alive, dead) = Alive::begin(&library.files.alive(), tenure.incarnation())?;
    if !dead.is_empty() {
        let kind = RUN.parse().map_err(Error::from)?;
        let ended = tenure.recover(&kind, |incarnation| dead.has(incarnation)).await?;
        count(&library.counters().recovered, ended);
        if ended > 0 {
            (settings.tell)(&format!("runs: RUN_RECOVERED_AS_FAILED: {ended} of processes that are gone"));
        }
        dead.forget();
    }
    Ok(alive)
}

/// What workers on runs work with.
pub(super) struct Means {
    pub tenure: Tenure,
    pub library: Library,
    pub pipeline: Pipeline,
    pub settings: Settings,
    pub threads: tokio::runtime::Handle,
}

struct Service {
    means: Means,
    staff: Staff,
    tidying: Tidying,
    /// Stores that had work and no place when it was looked.
    waiting: usize,
}

impl Service {
    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let own = self.means.tenure.store().clone();
        self.work_for(&own);
        while !*stop.borrow() {
            let backlog = self.means.backlog().await;
            self.look(&backlog).await;
            self.tidying.turn(&self.means, &backlog).await;
            let look_every = if self.waiting > 0 { self.staff.places().look_every } else { LOOK_EVERY };
            let until_the_next = async {
                if within(look_every, self.until_one_has_no_place()).await.is_ok() {
                    pause(LOOK_AGAIN).await;
                }
            };
            tokio::select! {
                () = until_the_next => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        drained(self.staff.into_workers()).await;
    }

    /// What this process is told of is begun at once, as long as there is a place for it.
    async fn until_one_has_no_place(&mut self) {
        loop {
            self.means.library.shared.tell.notified().await;
            for store in self.means.library.told() {
                if !self.work_for(&store) {
                    return;
                }
            }
        }
    }

    /// Works for every store that has something to do, in turns where they are too many.
    async fn look(&mut self, backlog: &[Backlog]) {
        let busy = |one: &&Backlog| one.kind.as_str() == RUN && one.ready + one.scheduled + one.active > 0;
        let busy: BTreeSet<Store> = backlog.iter().filter(busy).map(|one| one.store.clone()).collect();
        let looked = self.staff.look(&busy).await;
        for store in &looked.next {
            if let Err(error) = self.staff.place(store, || self.means.worker(store)) {
                self.means.no_worker(store, &error);
            }
        }
        if looked.waiting > 0 && self.waiting == 0 {
            let (waiting, most) = (looked.waiting, self.staff.places().stores_max);
            self.means.tell(&format!("STORES_WAIT: {waiting} stores with runs take turns at {most} places"));
        }
        count(&self.means.library.counters().stores_waited, looked.waiting);
        self.waiting = looked.waiting;
    }

    /// False: it has no place.
    fn work_for(&mut self, store: &Store) -> bool {
        self.staff.employ(store, || self.means.worker(store)).unwrap_or_else(|error| {
            self.means.no_worker(store, &error);
            true
        })
    }
}

impl Means {
    async fn backlog(&self) -> Vec<Backlog> {
        match self.tenure.backlog_of_all().await {
            Ok(backlog) => backlog,
            Err(error) => {
                self.retried(&error.to_string());
                Vec::new()
            }
        }
    }

    fn worker(&self, store: &Store) -> Result<Vec<Worker>, Error> {
        let steps = Arc::new(worker::Worker {
            tenure: self.tenure.clone(),
            library: self.library.clone(),
            pipeline: self.pipeline.clone(),
            threads: self.threads.clone(),
        });
        let (library, tell) = (self.library.clone(), self.settings.tell.clone());
        let mut builder = self
            .acting(store)?
            .worker("runs")
            .concurrency(self.settings.concurrency)
            .without_ahead()
            .grace(self.settings.grace)
            .when_unanswered(move |why| retried(&library, &tell, why))
            .handle(RUN, move |job: Job| steps.clone().run(job));
        if let Some(lease) = self.settings.lease {
            builder = builder.lease(lease);
        }
        Ok(vec![builder.start()?])
    }

    pub fn acting(&self, store: &Store) -> Result<Tenure, Error> {
        Ok(self.tenure.acting(store.clone(), Actor::new(Role::Api, "runs".parse()?)))
    }

    /// A line for whoever runs the service.
    pub fn tell(&self, line: &str) {
        (self.settings.tell)(&format!("runs: {line}"));
    }

    pub fn retried(&self, why: &str) {
        retried(&self.library, &self.settings.tell, why);
    }

    fn no_worker(&self, store: &Store, error: &Error) {
        self.tell(&format!("no worker for the store {store}: {error}"));
    }
}

/// The database did not answer who looked for runs: a line, a number, and the next look comes.
fn retried(library: &Library, tell: &Tell, why: &str) {
    count(&library.counters().scheduler_retried, 1);
    tell(&format!("runs: SCHEDULER_RETRIED: {why}"));
}
