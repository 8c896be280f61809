//! `tenure bench`: jobs through the engine as a program embeds it, with a handler that does nothing.

mod processes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::{Done, Job, New, Tenure};

use super::create;
use super::http;
use super::measure::{Latencies, Memory, rate};
use super::report::{Goal, Row};
use super::rounds::{self, Rounds};
use super::target::{Against, Target};
use super::work::payload;
use crate::cli::{Bench as Arguments, EndToEnd};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::time::{Stopwatch, pause};
use tenure_databases::url::SecretUrl;

/// How much of each; a hundredth of it with `--quick`.
struct Sizes {
    limits: usize,
    drain: usize,
    million: usize,
    create_8: usize,
    create_and_run: usize,
    latency: usize,
    http_create: usize,
    http_many: usize,
    work: usize,
    polls: usize,
    idle_settle: Duration,
    idle_span: Duration,
}

impl Sizes {
    fn new(quick: bool) -> Sizes {
        let of = |whole: usize| if quick { whole / 100 } else { whole };
        // Less than half a second of doing nothing shows nothing.
        let idle = if quick { Duration::from_millis(100) } else { Duration::from_secs(1) };
        Sizes {
            limits: of(2_000),
            drain: of(100_000),
            million: of(1_000_000),
            create_8: of(24_000),
            create_and_run: of(64_000),
            latency: of(1_000),
            http_create: of(64_000),
            http_many: of(200_000),
            work: of(1_000),
            polls: of(5_000),
            idle_settle: idle * 2,
            idle_span: idle * 5,
        }
    }
}

/// Jobs in a call that fills a database.
const FILL: usize = 1_000;
/// Often enough for a drain of seconds.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// An engine that is idle most of the time.
const LATENCY_RATE: u32 = 50;

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome, Error> {
    let target = Target::open(&arguments.on.db)?;
    // With SQLite the two would only take turns at one file.
    let has = |which: &EndToEnd| {
        let is_meant = !arguments.only.is_empty() || which.is_over_http() == arguments.http;
        is_meant && (*which != EndToEnd::CreateAndRun || target.is_postgres())
    };
    let wanted = rounds::wanted(&EndToEnd::ALL, &arguments.only, has);
    rounds::run(&Sizes::new(arguments.on.quick), target, wanted, arguments.on.form, output)
}

impl Rounds for Sizes {
    type One = EndToEnd;

    fn name(which: EndToEnd) -> &'static str {
        which.as_str()
    }

    fn against(which: EndToEnd) -> Against {
        match which {
            EndToEnd::Drain | EndToEnd::Create8 | EndToEnd::CreateAndRun => Against::Many,
            EndToEnd::HttpCreate64 | EndToEnd::HttpCreate100 | EndToEnd::HttpDrain => Against::Many,
            EndToEnd::Latency | EndToEnd::HttpLatency => Against::One,
            EndToEnd::DrainMillion | EndToEnd::Idle => Against::Itself,
            EndToEnd::HttpWork | EndToEnd::HttpIdle | EndToEnd::HttpPolls => Against::Itself,
        }
    }

    /// A rate is asked for; of machines that are slower than that of the first measurements (262,000 rows a second in commits of 100 and
    /// 6,700 one by one, 22,200 inserts from 32 clients and 4,600 from one) as much of their limit as the rate was of that one's.
    fn goals(which: EndToEnd, store: &str) -> Vec<Goal> {
        let rate = |per_second, or_ratio| Goal::Rate { per_second, or_ratio };
        match (which, store) {
            (EndToEnd::Drain, "sqlite") => vec![rate(45_000.0, 0.17)],
            (EndToEnd::Drain, _) => vec![rate(36_000.0, 1.6)],
            // Ten times the work at 0.8 and 0.7 of the rate.
            (EndToEnd::DrainMillion, "sqlite") => vec![Goal::AtMost(12.5)],
            (EndToEnd::DrainMillion, _) => vec![Goal::AtMost(14.3)],
            (EndToEnd::Create8, "sqlite") => vec![rate(10_000.0, 0.038)],
            (EndToEnd::Create8, _) => vec![rate(6_000.0, 0.27)],
            (EndToEnd::CreateAndRun, _) => vec![rate(9_000.0, 0.4)],
            // Medians of 2 and 4 ms there; over HTTP 3 and 5 ms.
            (EndToEnd::Latency, "sqlite") => vec![Goal::AtMost(13.4), Goal::Tail(10.0)],
            (EndToEnd::Latency, _) => vec![Goal::AtMost(18.4), Goal::Tail(20.0)],
            (EndToEnd::HttpLatency, "sqlite") => vec![Goal::AtMost(20.0)],
            (EndToEnd::HttpLatency, _) => vec![Goal::AtMost(23.0)],
            // K-52.
            (EndToEnd::Idle, _) => vec![Goal::AtMost(0.01), Goal::Memory(40.0)],
            (EndToEnd::HttpCreate64, "sqlite") => vec![rate(10_000.0, 0.038)],
            (EndToEnd::HttpCreate64, _) => vec![rate(7_000.0, 0.31)],
            (EndToEnd::HttpCreate100, "sqlite") => vec![rate(50_000.0, 0.19)],
            (EndToEnd::HttpCreate100, _) => vec![rate(35_000.0, 1.57)],
            (EndToEnd::HttpDrain, "sqlite") => vec![rate(20_000.0, 0.076)],
            (EndToEnd::HttpDrain, _) => vec![rate(16_000.0, 0.72)],
            (EndToEnd::HttpWork, "sqlite") => vec![Goal::AtMost(1.0)],
            (EndToEnd::HttpWork, _) => vec![Goal::AtMost(2.0)],
            (EndToEnd::HttpIdle | EndToEnd::HttpPolls, _) => vec![Goal::AtMost(1.0)],
        }
    }

    fn limit_size(&self) -> usize {
        self.limits
    }

    async fn one(&self, which: EndToEnd, target: &mut Target) -> Result<Row, Error> {
        match which {
            EndToEnd::Drain => self.drain(target, self.drain).await,
            EndToEnd::DrainMillion => self.drain_million(target).await,
            EndToEnd::Create8 => self.create(target, 8).await,
            EndToEnd::CreateAndRun => {
                let url = target.fresh().await?;
                processes::create_and_run(&url, self.create_and_run).await
            }
            EndToEnd::Latency => self.latency(target).await,
            EndToEnd::Idle => {
                let url = target.fresh().await?;
                processes::idle(&url, self.idle_settle, self.idle_span).await
            }
            EndToEnd::HttpCreate64 => http::create(&target.fresh().await?, 64, 1, self.http_create).await,
            EndToEnd::HttpCreate100 => http::create(&target.fresh().await?, 8, 100, self.http_many).await,
            EndToEnd::HttpDrain => http::drain(&target.fresh().await?, self.drain).await,
            EndToEnd::HttpLatency => http::latency(&target.fresh().await?, self.latency).await,
            EndToEnd::HttpWork => http::work(&target.fresh().await?, self.work).await,
            EndToEnd::HttpIdle => http::idle(&target.fresh().await?, self.idle_settle).await,
            EndToEnd::HttpPolls => http::polls(&target.fresh().await?, self.polls, self.idle_settle).await,
        }
    }
}

impl Sizes {
    async fn drain(&self, target: &mut Target, n: usize) -> Result<Row, Error> {
        let tenure = open(&target.fresh().await?).await?;
        for first in (0..n).step_by(FILL) {
            let jobs = (first..n.min(first + FILL)).map(|number| New::job(&payload(number)));
            for created in tenure.create_all(jobs).await {
                created.map_err(failed)?;
            }
        }
        let mut memory = Memory::default();
        let watch = Stopwatch::start();
        let worker = tenure.worker("bench").handle("job", async |_: Job| Ok(Done::default()));
        let worker = worker.start().map_err(failed)?;
        while tenure.counters().committed() < n as u64 {
            pause(LOOK_EVERY).await;
            memory.look();
        }
        let took = watch.elapsed();
        worker.drain().await;
        match tenure.counters().leased() {
            leased if leased == n as u64 => {}
            leased => return Err(Error::Bench(format!("{n} jobs took {leased} leases"))),
        }
        Ok(Row { callers: Some(1), n, rate: rate(n, took), rss_mb: memory.mb(), ..Row::default() })
    }

    async fn drain_million(&self, target: &mut Target) -> Result<Row, Error> {
        let tenth = self.drain(target, self.drain).await?;
        let whole = self.drain(target, self.million).await?;
        Ok(whole.beside(&tenth))
    }

    async fn create(&self, target: &mut Target, callers: usize) -> Result<Row, Error> {
        let tenure = open(&target.fresh().await?).await?;
        let create = move |number| {
            let tenure = tenure.clone();
            async move { tenure.create(New::job(&payload(number))).await.map(drop).map_err(failed) }
        };
        Ok(create::each(callers, self.create_8, create).await?.row(callers, 1))
    }

    /// From before the create to the first line of the handler.
    async fn latency(&self, target: &mut Target) -> Result<Row, Error> {
        let tenure = open(&target.fresh().await?).await?;
        let asked: Arc<Mutex<HashMap<u64, Stopwatch>>> = Arc::default();
        let begun: Arc<Mutex<Latencies>> = Arc::default();
        const HELD: &str = "nobody panics while holding it";
        let handler = {
            let (asked, begun) = (asked.clone(), begun.clone());
            move |job: Job| {
                let number: Result<u64, _> = job.payload();
                let watch = number.ok().and_then(|number| asked.lock().expect(HELD).remove(&number));
                watch.into_iter().for_each(|watch| begun.lock().expect(HELD).add(watch.elapsed()));
                async { Ok(Done::default()) }
            }
        };
        let worker = tenure.worker("bench").handle("job", handler).start().map_err(failed)?;
        let mut pace = tokio::time::interval(Duration::from_secs(1) / LATENCY_RATE);
        let (n, watch) = (self.latency, Stopwatch::start());
        for number in 0..n as u64 {
            pace.tick().await;
            asked.lock().expect(HELD).insert(number, Stopwatch::start());
            tenure.create(New::job(&number)).await.map_err(failed)?;
        }
        while tenure.counters().committed() < n as u64 {
            pause(LOOK_EVERY).await;
        }
        let took = watch.elapsed();
        worker.drain().await;
        let latencies = begun.lock().expect(HELD).clone();
        let (rate, paced_ms) = (rate(n, took), latencies.share_ms(0.5));
        let row = Row { callers: Some(1), batch: Some(1), n, rate, paced_ms, ..Row::default() };
        Ok(row.with(&latencies))
    }
}

pub async fn open(url: &SecretUrl) -> Result<Tenure, Error> {
    Tenure::open(url).await.map_err(|error| Error::Bench(error.to_string()))
}

pub fn failed(error: tenure::Error) -> Error {
    Error::Bench(error.to_string())
}
