//! The runs of this process: a worker for each store that has some, and now and then a look at what crashes have left.
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

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tenure::core::actor::{Actor, Role};
use tenure::core::word::Store;
use tenure::databases::backlog::Backlog;
use tenure::databases::outside::now;
use tenure::databases::url::Url;
use tenure::databases::{Order, Query};
use tenure::{Error, Job, Tenure, Worker};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::alive::Alive;
use super::documents::{Documents, NotDone};
use super::files::AGE;
use super::library::{Library, count};
use super::pipeline::Pipeline;
use super::worker;
use super::{DOCUMENT, RUN};
use crate::desk::{Standing, drained};
use crate::time::within;

/// Runs of a store at once. Steps may hold a document of 64 MiB each.
const CONCURRENCY: usize = 4;
/// Stores that a process works for at once. One that has nothing to do makes room for another.
const STORES_MAX: usize = 64;
/// What other processes create in other stores is found by looking; this process tells of its own at once.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// What crashes leave hurts nobody meanwhile.
const TIDY_EVERY: Duration = Duration::from_secs(600);
/// A document without a run is looked for among so many of the newest.
const MEND_MAX: usize = 100;
/// Younger than this, whoever uploads it may be about to make its run.
const MEND_AFTER: Duration = Duration::from_secs(60);
/// Threads that carry handlers. They wait for steps, which have their own.
const HANDLERS: usize = 2;
/// Steps that run, and steps that would not stop when their run was over. If all are taken runs wait, and time out.
const STEP_THREADS_MAX: usize = 512;

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
    let service = Service { tenure, library, pipeline, settings, threads, workers: BTreeMap::new() };
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

struct Service {
    tenure: Tenure,
    library: Library,
    pipeline: Pipeline,
    settings: Settings,
    threads: tokio::runtime::Handle,
    workers: BTreeMap<Store, Worker>,
}

impl Service {
    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        self.work_for(self.tenure.store().clone());
        let mut turn = 0;
        while !*stop.borrow() {
            let backlog = self.backlog().await;
            self.look(&backlog);
            if turn % (TIDY_EVERY.as_secs() / LOOK_EVERY.as_secs()) == 0 {
                self.tidy(&backlog).await;
            }
            turn += 1;
            // Until it is time to look again, what this process is told of is begun at once.
            let told = async {
                loop {
                    self.library.shared.tell.notified().await;
                    for store in self.library.told() {
                        self.work_for(store);
                    }
                }
            };
            tokio::select! {
                _ = within(LOOK_EVERY, told) => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        drained(self.workers.into_values()).await;
    }

    async fn backlog(&self) -> Vec<Backlog> {
        match self.tenure.backlog_of_all().await {
            Ok(backlog) => backlog,
            Err(error) => {
                self.retried(&error.to_string());
                Vec::new()
            }
        }
    }

    /// Works for every store that has something to do.
    fn look(&mut self, backlog: &[Backlog]) {
        let busy = |one: &&Backlog| one.kind.as_str() == RUN && one.ready + one.scheduled + one.active > 0;
        let busy: Vec<&Store> = backlog.iter().filter(busy).map(|one| &one.store).collect();
        if self.workers.len() >= STORES_MAX {
            // Told to drain; it has nothing to do.
            self.workers.retain(|store, _| busy.contains(&store));
        }
        for store in busy {
            self.work_for(store.clone());
        }
    }

    fn work_for(&mut self, store: Store) {
        if self.workers.contains_key(&store) || self.workers.len() >= STORES_MAX {
            return;
        }
        match self.worker(&store) {
            Ok(worker) => drop(self.workers.insert(store, worker)),
            Err(error) => (self.settings.tell)(&format!("runs: no worker for the store {store}: {error}")),
        }
    }

    fn worker(&self, store: &Store) -> Result<Worker, Error> {
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
        builder.start()
    }

    fn acting(&self, store: &Store) -> Result<Tenure, Error> {
        Ok(self.tenure.acting(store.clone(), Actor::new(Role::Api, "runs".parse()?)))
    }

    fn retried(&self, why: &str) {
        retried(&self.library, &self.settings.tell, why);
    }

    /// Removes files that nobody refers to, makes the first run of documents that have none, and erases the runs of those that are.
    async fn tidy(&self, backlog: &[Backlog]) {
        match self.library.files.sweep(&self.tenure, self.settings.leftovers_age).await {
            Ok(swept) if swept.removed > 0 => {
                count(&self.library.counters().files_removed, swept.removed);
                (self.settings.tell)(&format!(
                    "runs: {} files that nothing refers to were removed",
                    swept.removed
                ));
            }
            Ok(_) => {}
            Err(error) => self.retried(&error.to_string()),
        }
        for one in backlog.iter().filter(|one| one.kind.as_str() == DOCUMENT).take(STORES_MAX) {
            if let Err(error) = self.mend(&one.store).await {
                self.retried(&error.to_string());
            }
        }
    }

    async fn mend(&self, store: &Store) -> Result<(), NotDone> {
        let documents: Documents = self.library.documents(self.acting(store)?);
        let kind = Some(DOCUMENT.parse().map_err(Error::from)?);
        let query = Query { kind, order: Order::Newest, limit: MEND_MAX, ..Query::default() };
        let newest = self.acting(store)?.list(query).await?;
        for document in
            newest.iter().filter(|document| now().since(document.created) >= self.settings.mend_after)
        {
            let mended = documents.mend(document).await?;
            count(&self.library.counters().documents_mended, usize::from(mended));
        }
        Ok(())
    }
}

/// The database did not answer who looked for runs: a line, a number, and the next look comes.
fn retried(library: &Library, tell: &Tell, why: &str) {
    count(&library.counters().scheduler_retried, 1);
    tell(&format!("runs: SCHEDULER_RETRIED: {why}"));
}
