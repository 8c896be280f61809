//! `tenure bench store`: the measurements one after the other, with the limits in between.

use tenure_databases::gather::Gather;

use super::acquire::{Compared, Queues};
use super::create::{self, Created, Fill, fill};
use super::drain::{self, Drained, WORKERS};
use super::limits::Limits;
use super::measure::{Latencies, rate};
use super::progress::Progress;
use super::report::{self, Row};
use super::target::Target;
use super::work::LEASES;
use super::{acquire, pinned};
use crate::cli::{BenchStore, Measurement};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// A scratch database with its writers. It is closed when the last clone is gone.
#[derive(Clone, Debug)]
pub struct Stage {
    pub gather: Gather,
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
            create_one: of(3_000),
            create_64: of(128_000),
            create_bulk: of(200_000),
            drain: of(100_000),
            acquire_turns: of(500),
            million: of(1_000_000),
            pinned: of(400_000),
        }
    }
}

/// Jobs in a call of `create_bulk`.
const BULK: usize = 1_000;
const BULK_CALLERS: usize = 2;
/// What is ready where a queue is called shallow.
const SHALLOW: usize = 1_000;

pub fn run(arguments: &BenchStore, output: &mut Output) -> Result<Outcome, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rows = runtime.block_on(async {
        let mut bench = Bench {
            target: Target::open(&arguments.db)?,
            sizes: Sizes::new(arguments.quick),
            progress: Progress::new(),
        };
        let measured = tokio::select! {
            measured = bench.measure(&arguments.only) => measured,
            _ = tokio::signal::ctrl_c() => Err(Error::Interrupted),
        };
        let removed = bench.target.remove().await;
        let rows = measured?;
        removed.map(|()| rows)
    })?;
    report::show(rows, arguments.form.json, output)?;
    Ok(Outcome::Done)
}

struct Bench {
    target: Target,
    sizes: Sizes,
    progress: Progress,
}

impl Bench {
    async fn measure(&mut self, only: &[Measurement]) -> Result<Vec<Row>, Error> {
        let is_wanted = |which: &Measurement| only.is_empty() || only.contains(which);
        let wanted = Measurement::ALL.into_iter().filter(is_wanted);
        let wanted: Vec<Measurement> = wanted.filter(|which| self.target.has(*which)).collect();
        let (mut limits, mut rows) = (Limits::default(), Vec::new());
        for which in wanted {
            self.progress.say("limits of the machine…");
            limits.add(self.target.sample(self.sizes.limits).await?);
            self.progress.say(&format!("{}…", which.as_str()));
            let row = self.one(which).await?;
            let limit_name = row.limit_name.clone().or(self.target.limit_of(which).map(str::to_string));
            let (name, store) = (which.as_str().to_string(), self.target.store());
            rows.push(Row { name, store, limit_name, ..row });
        }
        limits.add(self.target.sample(self.sizes.limits).await?);
        for row in rows.iter_mut().filter(|row| row.limit.is_none()) {
            row.limit = row.limit_name.as_deref().and_then(|name| limits.rate(name));
            row.ratio = row.limit.map(|limit| row.rate / limit);
        }
        let mut all = limits.rows(self.target.store());
        all.extend(rows);
        Ok(all)
    }

    async fn one(&mut self, which: Measurement) -> Result<Row, Error> {
        match which {
            Measurement::CreateOne => self.create(1, self.sizes.create_one).await,
            Measurement::Create64 => self.create(64, self.sizes.create_64).await,
            Measurement::CreateBulk => {
                let stage = self.target.fresh().await?;
                let created = create::bulk(&stage, BULK_CALLERS, BULK, self.sizes.create_bulk).await?;
                Ok(of_created(created, BULK_CALLERS, BULK))
            }
            Measurement::Drain => {
                let drained = self.drain(self.sizes.drain).await?;
                Ok(of_drained(&drained))
            }
            Measurement::AcquireDeep => self.acquire_deep().await,
            Measurement::DrainMillion => self.drain_million().await,
            Measurement::Pinned => self.pinned().await,
        }
    }

    async fn create(&mut self, callers: usize, n: usize) -> Result<Row, Error> {
        let stage = self.target.fresh().await?;
        Ok(of_created(create::each(&stage, callers, n).await?, callers, 1))
    }

    async fn drain(&mut self, n: usize) -> Result<Drained, Error> {
        let stage = self.target.fresh().await?;
        fill(&stage, Fill::Ready, n).await?;
        drain::all(&stage, n).await
    }

    async fn acquire_deep(&mut self) -> Result<Row, Error> {
        let (each, turns) = (self.sizes.million, self.sizes.acquire_turns);
        let queues = Queues { shallow: self.target.fresh().await?, deep: self.target.beside().await? };
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

    async fn drain_million(&mut self) -> Result<Row, Error> {
        let tenth = self.drain(self.sizes.drain).await?;
        let whole = self.drain(self.sizes.million).await?;
        let times = whole.n as f64 / tenth.n as f64;
        Ok(Row {
            limit_name: Some(format!("drain of {}", tenth.n)),
            limit: Some(tenth.rate),
            ratio: Some(times * tenth.rate / whole.rate),
            ..of_drained(&whole)
        })
    }

    async fn pinned(&mut self) -> Result<Row, Error> {
        let n = self.sizes.pinned;
        let stage = self.target.fresh().await?;
        let pin = self.target.pin().await?;
        let held = pinned::drained(&stage, Some(pin), n).await?;
        drop(stage);
        let stage = self.target.fresh().await?;
        let free = pinned::drained(&stage, None, n).await?;
        Ok(Row {
            limit_name: Some("not pinned".to_string()),
            limit: Some(free.rate),
            ratio: Some(held.rate / free.rate),
            ..of_drained(&held)
        })
    }
}

fn of_created(created: Created, callers: usize, batch: usize) -> Row {
    let Created { n, rate, latencies } = created;
    Row { callers: Some(callers), batch: Some(batch), n, rate, ..Row::default() }.with(&latencies)
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
