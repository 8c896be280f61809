//! `tenure bench store`: the measurements one after the other, with the limits in between.

use std::sync::Arc;

use tenure_core::lifecycle::shipped;
use tenure_databases::gather::Gather;
use tenure_databases::memory::Memory;
use tenure_databases::outside::{chance, now};
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::url::{SecretUrl, Url};

use super::acquire::{Compared, Queues};
use super::create::{self, Fill, fill};
use super::drain::{self, Drained, WORKERS};
use super::measure::{Latencies, rate};
use super::report::{Goal, Row};
use super::rounds::{self, Rounds};
use super::target::{Against, Target};
use super::work::{LEASES, Work, created};
use super::{acquire, pinned};
use crate::cli::{BenchStore, Measurement};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// A scratch database with its writers. It is closed when the last clone is gone.
#[derive(Clone, Debug)]
pub struct Stage {
    pub gather: Gather,
}

impl Stage {
    async fn open(url: &SecretUrl) -> Result<Stage, Error> {
        let tables = shipped::tables();
        let gather = match url.database()? {
            Url::Memory => Gather::of_memory(Arc::new(Memory::new(tables, Arc::new(now))), chance()),
            Url::Sqlite(path) => {
                let options = sqlite::Options { tables, ..sqlite::Options::default() };
                let database = Sqlite::open(&path, options)?;
                Gather::of_sqlite(Arc::new(database), chance())
            }
            Url::Postgres(url) => {
                let options = postgres::Options { tables, clock: None };
                let database = Postgres::connect(url.reveal(), options).await?;
                Gather::of_postgres(Arc::new(database), chance())
            }
        };
        Ok(Stage { gather })
    }
}

/// How much of each; a hundredth of it with `--quick`.
struct Sizes {
    limits: usize,
    create_one: usize,
    create_64: usize,
    create_bulk: usize,
    drain: usize,
    acquire_turns: usize,
    million: usize,
    pinned: usize,
}

impl Sizes {
    fn new(quick: bool) -> Sizes {
        let of = |whole: usize| if quick { whole / 100 } else { whole };
        Sizes {
            limits: of(2_000),
            create_one: of(9_000),
            create_64: of(128_000),
            create_bulk: of(200_000),
            drain: of(100_000),
            acquire_turns: of(500),
            million: of(1_000_000),
            pinned: of(400_000),
        }
    }
}

/// One takes a second or two, in which a shared machine may do anything else: the middle one of so many is shown.
const DRAINS: usize = 3;
/// Jobs in a call of `create_bulk`.
const BULK: usize = 1_000;
const BULK_CALLERS: usize = 2;
/// What is ready where a queue is called shallow.
const SHALLOW: usize = 1_000;

pub fn run(arguments: &BenchStore, output: &mut Output) -> Result<Outcome, Error> {
    let target = Target::open(&arguments.on.db)?;
    // A snapshot that is kept open harms a database that has several versions of a row, and those of SQLite are in a
    // file of their own.
    let has = |which: &Measurement| *which != Measurement::Pinned || target.is_postgres();
    let wanted = rounds::wanted(&Measurement::ALL, &arguments.only, has);
    rounds::run(&Sizes::new(arguments.on.quick), target, wanted, arguments.on.form, output)
}

impl Rounds for Sizes {
    type One = Measurement;

    fn name(which: Measurement) -> &'static str {
        which.as_str()
    }

    fn against(which: Measurement) -> Against {
        match which {
            Measurement::CreateOne => Against::One,
            Measurement::Create64 | Measurement::CreateBulk | Measurement::Drain => Against::Many,
            Measurement::AcquireDeep | Measurement::DrainMillion | Measurement::Pinned => Against::Itself,
        }
    }

    /// A share of the limit is asked for, or a rate; of machines that are slower than that of the first measurements (262,000 rows a
    /// second in commits of 100, 22,000 inserts from 32 clients) as much of their limit as the rate was of that one's.
    fn goals(which: Measurement, store: &str) -> Vec<Goal> {
        let rate = |per_second, or_ratio| Goal::Rate { per_second, or_ratio };
        match (which, store) {
            (Measurement::CreateOne, "sqlite") => vec![Goal::AtLeast(0.65)],
            (Measurement::Create64, "sqlite") => vec![rate(40_000.0, 0.15)],
            (Measurement::CreateBulk, "sqlite") => vec![rate(150_000.0, 0.57)],
            (Measurement::Drain, "sqlite") => vec![Goal::AtLeast(0.2)],
            (Measurement::CreateOne, _) => vec![Goal::AtLeast(0.45)],
            (Measurement::Create64, _) => vec![rate(15_000.0, 0.68)],
            (Measurement::CreateBulk, _) => vec![rate(90_000.0, 4.1)],
            (Measurement::Drain, _) => vec![Goal::AtLeast(1.8)],
            // A thousand times the depth: a few more levels of an index, no more.
            (Measurement::AcquireDeep, _) => vec![Goal::AtMost(2.0)],
            // Ten times the work in little more than ten times the time, and in no more memory.
            (Measurement::DrainMillion, _) => vec![Goal::AtMost(12.0), Goal::Memory(150.0)],
            (Measurement::Pinned, _) => vec![Goal::AtLeast(0.75)],
        }
    }

    fn limit_size(&self) -> usize {
        self.limits
    }

    async fn one(&self, which: Measurement, target: &mut Target) -> Result<Row, Error> {
        match which {
            Measurement::CreateOne => self.create(target, 1, self.create_one).await,
            Measurement::Create64 => self.create(target, 64, self.create_64).await,
            Measurement::CreateBulk => {
                let stage = self.stage(target).await?;
                let created = create::bulk(&stage, BULK_CALLERS, BULK, self.create_bulk).await?;
                Ok(created.row(BULK_CALLERS, BULK))
            }
            Measurement::Drain => {
                let mut drained = Vec::new();
                for _ in 0..DRAINS {
                    drained.push(self.drain(target, self.drain).await?);
                }
                drained.sort_by(|one, other| one.rate.total_cmp(&other.rate));
                Ok(of_drained(&drained[DRAINS / 2]))
            }
            Measurement::AcquireDeep => self.acquire_deep(target).await,
            Measurement::DrainMillion => self.drain_million(target).await,
            Measurement::Pinned => self.pinned(target).await,
        }
    }
}

impl Sizes {
    async fn stage(&self, target: &mut Target) -> Result<Stage, Error> {
        Stage::open(&target.fresh().await?).await
    }

    async fn create(&self, target: &mut Target, callers: usize, n: usize) -> Result<Row, Error> {
        let stage = self.stage(target).await?;
        let work = Arc::new(Work::new());
        let create = move |number| {
            let (gather, work) = (stage.gather.clone(), work.clone());
            async move { created(gather.ask(work.create(number)).await) }
        };
        Ok(create::each(callers, n, create).await?.row(callers, 1))
    }

    async fn drain(&self, target: &mut Target, n: usize) -> Result<Drained, Error> {
        let stage = self.stage(target).await?;
        fill(&stage, Fill::Ready, n).await?;
        drain::all(&stage, n).await
    }

    async fn acquire_deep(&self, target: &mut Target) -> Result<Row, Error> {
        let (each, turns) = (self.million, self.acquire_turns);
        let shallow = self.stage(target).await?;
        let queues = Queues { shallow, deep: Stage::open(&target.beside()).await? };
        queues.fill(SHALLOW, each).await?;
        let Compared { shallow, deep } = queues.compare(turns).await?;
        let row = Row {
            callers: Some(1),
            batch: Some(acquire::LEASES),
            n: turns,
            rate: per_second(&deep),
            limit_name: Some(format!("{SHALLOW} ready")),
            limit: Some(per_second(&shallow)),
            ratio: Some(per_second(&shallow) / per_second(&deep)),
            ..Row::default()
        };
        Ok(row.with(&deep))
    }

    async fn drain_million(&self, target: &mut Target) -> Result<Row, Error> {
        let tenth = self.drain(target, self.drain).await?;
        let whole = self.drain(target, self.million).await?;
        Ok(of_drained(&whole).beside(&of_drained(&tenth)))
    }

    async fn pinned(&self, target: &mut Target) -> Result<Row, Error> {
        let n = self.pinned;
        let stage = self.stage(target).await?;
        let pin = target.pin().await?;
        let held = pinned::drained(&stage, Some(pin), n).await?;
        drop(stage);
        let stage = self.stage(target).await?;
        let free = pinned::drained(&stage, None, n).await?;
        Ok(Row {
            limit_name: Some("not pinned".to_string()),
            limit: Some(free.rate),
            ratio: Some(held.rate / free.rate),
            ..of_drained(&held)
        })
    }
}

fn of_drained(drained: &Drained) -> Row {
    let row = Row {
        callers: Some(WORKERS),
        batch: Some(LEASES),
        n: drained.n,
        rate: drained.rate,
        rss_mb: drained.memory.mb(),
        ..Row::default()
    };
    row.with(&drained.latencies)
}

/// Calls a second at the median: one call that met a checkpoint should not count for hundreds.
fn per_second(latencies: &Latencies) -> f64 {
    let median_ms = latencies.share_ms(0.5).unwrap_or_default();
    rate(1, std::time::Duration::from_secs_f64(median_ms / 1_000.0))
}
