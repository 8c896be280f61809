//! `tenure bench runs`: many small documents wait, one of them is stuck, and the rest is worked off by the shipped pipeline.
//!
//! Beside the rate it is held against itself: the memory of the process with all of them waiting, or done, is a ratio of what it was
//! at a tenth. That no more run at once than may, and that the stuck one delays no other, is no number: otherwise the bench fails.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tenure::Tenure;
use tenure::core::id::ItemId;
use tenure_databases::url::{SecretUrl, Url};
use tenure_systems::runs::builtin::{BUILTIN, builtin};
use tenure_systems::runs::documents::Upload;
use tenure_systems::runs::files::Files;
use tenure_systems::runs::step::{Input, Step, StepFailed, Stepping};
use tenure_systems::runs::{self, Documents, Library, Pipeline, Settings};
use tokio::sync::watch;

use super::create::{self, Created};
use super::end_to_end::{failed, open};
use super::measure::{Latencies, rate, resident_kb};
use super::report::{Goal, Row};
use super::rounds::{self, Rounds};
use super::target::{Against, Target};
use crate::cli::BenchSystem;
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::time::{Stopwatch, pause};

/// An upload waits for the disk more than for anything else.
const CALLERS: usize = 16;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The document that is stuck has this name.
const STUCK: &str = "stuck.txt";
/// Memory is looked at when so large a part is there, and when all is.
const TENTH: usize = 10;

struct Sizes {
    limits: usize,
    documents: usize,
}

/// Both of one database: what was uploaded by the first is worked off by the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measured {
    Queued,
    Run,
}

pub fn run(arguments: &BenchSystem, output: &mut Output) -> Result<Outcome, Error> {
    let of = |whole: usize| if arguments.on.quick { whole / 100 } else { whole };
    let sizes = Sizes { limits: of(2_000), documents: of(10_000) };
    let wanted = vec![Measured::Queued, Measured::Run];
    rounds::run(&sizes, Target::open(&arguments.on.db)?, wanted, arguments.on.form, output)
}

impl Rounds for Sizes {
    type One = Measured;

    fn name(which: Measured) -> &'static str {
        match which {
            Measured::Queued => "documents_queued",
            Measured::Run => "documents_run",
        }
    }

    fn against(_which: Measured) -> Against {
        Against::Itself
    }

    fn goals(_which: Measured, _store: &str) -> Vec<Goal> {
        // Ten times the documents: caches fill, nothing else.
        vec![Goal::AtMost(1.5)]
    }

    fn limit_size(&self) -> usize {
        self.limits
    }

    async fn one(&self, which: Measured, target: &mut Target) -> Result<Row, Error> {
        let desk = Desk::open(&target.fresh().await?).await?;
        match which {
            Measured::Queued => Ok(desk.queue(self.documents).await?.row(CALLERS)),
            Measured::Run => {
                // In front of all others: they are created later.
                let stuck = uploaded(&desk.documents(), STUCK.to_string()).await?;
                let queued = desk.queue(self.documents).await?;
                let (concurrency, worked) = desk.work_off(stuck, queued.n).await?;
                Ok(worked.row(concurrency))
            }
        }
    }
}

/// How long it took, and the memory at a tenth of the way and at its end.
struct Seen {
    n: usize,
    took: Duration,
    latencies: Option<Latencies>,
    tenth_kb: Option<u64>,
    whole_kb: Option<u64>,
}

impl Seen {
    fn row(self, callers: usize) -> Row {
        let mb = |kb: Option<u64>| kb.map(|kb| kb as f64 / 1_024.0);
        let (tenth, whole) = (mb(self.tenth_kb), mb(self.whole_kb));
        let row = Row {
            callers: Some(callers),
            batch: Some(1),
            n: self.n,
            rate: rate(self.n, self.took),
            rss_mb: whole,
            limit_name: Some(format!("MB at {}", self.n / TENTH)),
            limit: tenth,
            ratio: whole.zip(tenth).map(|(whole, tenth)| whole / tenth),
            ..Row::default()
        };
        match &self.latencies {
            Some(latencies) => row.with(latencies),
            None => row,
        }
    }
}

struct Desk {
    tenure: Tenure,
    library: Library,
    database: Url,
    /// The files of a PostgreSQL database are the bench's own, too.
    _folder: tempfile::TempDir,
}

impl Desk {
    async fn open(url: &SecretUrl) -> Result<Desk, Error> {
        let (database, folder): (Url, _) = (url.database()?, tempfile::tempdir()?);
        let elsewhere = folder.path().join("files");
        let named: Option<&Path> = match &database {
            Url::Sqlite(_) => None,
            Url::Memory | Url::Postgres(_) => Some(&elsewhere),
        };
        let library = Library::new(Files::of(&database, named)?);
        Ok(Desk { tenure: open(url).await?, library, database, _folder: folder })
    }

    fn documents(&self) -> Documents {
        self.library.documents(self.tenure.clone())
    }

    /// Uploads as many, none of which runs yet.
    async fn queue(&self, n: usize) -> Result<Seen, Error> {
        let watch = Stopwatch::start();
        let tenth = self.upload(0, n / TENTH).await?;
        let tenth_kb = resident_kb();
        let rest = self.upload(tenth.n, n - n / TENTH).await?;
        let (n, took, mut latencies) = (tenth.n + rest.n, watch.elapsed(), tenth.latencies);
        latencies.extend(rest.latencies);
        Ok(Seen { n, took, latencies: Some(latencies), tenth_kb, whole_kb: resident_kb() })
    }

    async fn upload(&self, first: usize, n: usize) -> Result<Created, Error> {
        let documents = self.documents();
        let create = move |number: usize| {
            let documents = documents.clone();
            async move { uploaded(&documents, format!("{}.txt", first + number)).await.map(drop) }
        };
        create::each(CALLERS, n, create).await
    }

    /// Everything that waits runs, behind one that never ends by itself.
    async fn work_off(&self, stuck: ItemId, n: usize) -> Result<(usize, Seen), Error> {
        let settings = Settings::of(&self.database);
        let (concurrency, watcher) = (settings.concurrency, Arc::new(Watcher::default()));
        let steps = BUILTIN.iter().filter_map(|name| builtin(name));
        let steps = steps.chain([watcher.clone() as Arc<dyn Step>]);
        let pipeline = Pipeline::new(steps).map_err(|why| Error::Bench(why.to_string()))?;
        let watch = Stopwatch::start();
        let running = runs::start(self.tenure.clone(), self.library.clone(), pipeline, settings).await;
        let running = running.map_err(|why| Error::Bench(why.to_string()))?;
        let tenth_kb = self.until_done(n / TENTH, concurrency).await?;
        let whole_kb = self.until_done(n, concurrency).await?;
        let took = watch.elapsed();
        let (most, state) = (watcher.most.load(Ordering::Relaxed), self.state(stuck).await?);
        watcher.release.send_replace(true);
        running.drain().await;
        match (most <= concurrency, state.as_str()) {
            // Its window may have passed: it took as long as it may, and all others were done meanwhile.
            (true, "RUNNING" | "TIMED_OUT") => {}
            (true, other) => return Err(Error::Bench(format!("the stuck document was {other}"))),
            (false, _) => {
                return Err(Error::Bench(format!("{most} ran at once, and at most {concurrency} may")));
            }
        }
        Ok((concurrency, Seen { n, took, latencies: None, tenth_kb, whole_kb }))
    }

    /// The memory when so many are through. Meanwhile no more are held than may be.
    async fn until_done(&self, so_many: usize, concurrency: usize) -> Result<Option<u64>, Error> {
        while self.tenure.counters().committed() < so_many as u64 {
            pause(LOOK_EVERY).await;
            let backlog = self.tenure.backlog_of_all().await.map_err(failed)?;
            let runs = backlog.iter().filter(|one| one.kind.as_str() == runs::RUN);
            let held: u64 = runs.map(|one| one.active).sum();
            if held > concurrency as u64 {
                return Err(Error::Bench(format!(
                    "{held} were held at once, and at most {concurrency} may be"
                )));
            }
        }
        Ok(resident_kb())
    }

    async fn state(&self, run: ItemId) -> Result<String, Error> {
        Ok(self.tenure.item(run).await.map_err(failed)?.state_name().to_string())
    }
}

/// A letter of some lines, no two alike. Its run.
async fn uploaded(documents: &Documents, name: String) -> Result<ItemId, Error> {
    let failed = |why: &dyn std::fmt::Display| Error::Bench(why.to_string());
    let text = format!(
        "Invoice {name}\n\nTotal: 1,249.50 EUR\nDate: 12 May 2024\n\nThank you for your order. The goods were sent \
         to the harbour on Monday and will arrive within ten days.\n"
    );
    let mut incoming = documents.receive().await.map_err(|why| failed(&why))?;
    incoming.write(text.as_bytes()).await.map_err(|why| failed(&why))?;
    let upload = Upload { name, ..Upload::default() };
    let uploaded = documents.upload(incoming, upload).await.map_err(|why| failed(&why))?;
    Ok(uploaded.run_id)
}

/// The last step: it counts who is at it, and is where the stuck document stays.
struct Watcher {
    now: Arc<AtomicUsize>,
    most: AtomicUsize,
    release: watch::Sender<bool>,
}

impl Default for Watcher {
    fn default() -> Watcher {
        Watcher { now: Arc::default(), most: AtomicUsize::new(0), release: watch::channel(false).0 }
    }
}

/// One that is at it, until it is dropped.
struct One(Arc<AtomicUsize>);

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Step for Watcher {
    fn name(&self) -> &str {
        "watch"
    }

    fn run(&self, mut input: Input) -> Stepping {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        let one = One(self.now.clone());
        let mut release = self.release.subscribe();
        Box::pin(async move {
            if input.document.name == STUCK {
                tokio::select! {
                    _ = release.wait_for(|released| *released) => {}
                    _ = input.stop.wait_for(|stop| *stop) => {}
                }
            }
            drop(one);
            Ok::<Value, StepFailed>(Value::Null)
        })
    }
}
