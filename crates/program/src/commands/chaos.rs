//! `tenure chaos`: real processes on a scratch database, killed, stopped and cut off while they work; then the scoreboard.
//!
//! ```text
//! loaders ──create──▶ database ◀──lease, commit── workers      nodes: sweep
//!                        ▲
//!       plan (seed) ─────┴─ SIGKILL, SIGSTOP … SIGCONT, cut connections      ─▶ drain without faults ─▶ judge ─▶ score
//! ```
//!
//! The seed decides the plan and the load. When exactly a signal hits is the machine's.

mod cast;
mod heard;
mod judge;
mod plan;
mod score;
pub mod task;

use std::future::Future;
use std::time::Duration;

use tenure::Tenure;
use tenure_databases::look::Look;
use tenure_databases::outside::{chance, now};
use tenure_databases::verify::{self, Report};
use tenure_databases::{Database, Query};

use crate::cli::Chaos;
use crate::database::{self, Access, Work};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::progress::Progress;
use crate::scratch::{Scratch, Server, failed, with};
use crate::time::{Stopwatch, pause};
use cast::{Cast, LOADERS};
use judge::{Facts, Judged, judge};
use plan::{Cuts, Plan, Size, Step, Who};
use score::Run;
use tenure_databases::url::SecretUrl;

/// A process has this long to open the database; there are many of them.
const OPEN_MAX: Duration = Duration::from_secs(60);
/// After the last fault everything comes to its end within a lease, a sweep and a retry's wait; this is many times that.
const DRAIN_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Connections of each process: a server has a hundred for all of them.
const CONNECTIONS: &str = "2";

pub fn run(arguments: &Chaos, output: &mut Output) -> Result<Outcome, Error> {
    let seed = arguments.seed.unwrap_or_else(|| chance() % 1_000_000);
    let span = Duration::from_secs(arguments.minutes * 60 + arguments.seconds());
    let place = SecretUrl::from(format!("sqlite:{}", std::env::temp_dir().display()));
    let mut scratch = Scratch::open(arguments.db.as_ref().unwrap_or(&place), "chaos")?;
    let cuts = if matches!(scratch, Scratch::Postgres(_)) { Cuts::Some } else { Cuts::None };
    let size = Size { nodes: arguments.nodes.max(1), workers: arguments.workers.max(2), span, cuts };
    let plan = Plan::new(seed, size);
    let url = match &mut scratch {
        Scratch::Sqlite(folder) => folder.place(),
        Scratch::Postgres(server) => with(&server.place(), "connections", CONNECTIONS),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let played = runtime.block_on(async {
        tokio::select! {
            played = play(&mut scratch, &url, seed, size, &plan) => played,
            _ = tokio::signal::ctrl_c() => Err(Error::Interrupted),
        }
    });
    let judged = played.and_then(|played| {
        let verified = database::with(&url, Access::Existing, Verified)?;
        Ok((played, verified))
    });
    match arguments.keep {
        true => {
            output.line(format!("kept: {url}"))?;
            scratch.keep();
        }
        false => runtime.block_on(scratch.remove())?,
    }
    let (played, verified) = judged?;
    let run = Run {
        seed,
        store: if cuts == Cuts::Some { "postgres" } else { "sqlite" },
        command: arguments.again(seed),
        nodes: size.nodes,
        workers: size.workers,
        loaders: LOADERS,
        faults_for: span,
        drained_in: played.drained_in,
        grace: Duration::from_secs(arguments.grace),
        faults: played.faults,
        heard: played.heard,
        judged: played.judged,
        verified,
    };
    run.show(arguments.form.json, output)
}

struct Played {
    drained_in: Duration,
    faults: cast::Faults,
    heard: heard::Heard,
    judged: Judged,
}

async fn play(
    scratch: &mut Scratch,
    url: &SecretUrl,
    seed: u64,
    size: Size,
    plan: &Plan,
) -> Result<Played, Error> {
    let progress = Progress::new();
    // The first to open it makes it.
    let tenure = Tenure::builder(url).without_loops().open().await;
    let tenure = tenure.map_err(|error| Error::Part(error.to_string()))?;
    let ahead = ahead(scratch).await?;
    progress.say(&format!("seed {seed}: {} nodes, {} workers, {LOADERS} loaders…", size.nodes, size.workers));
    let mut cast = Cast::new(url, seed, plan);
    for node in 0..size.nodes {
        cast.enter(Who::Node(node))?;
    }
    for worker in 0..size.workers {
        cast.enter(Who::Worker(worker))?;
    }
    cast.enter_loaders()?;
    let everyone = size.nodes + size.workers + LOADERS;
    let ears = cast.ears.clone();
    until(OPEN_MAX, "a process did not open the database", async || ears.look().opened >= everyone).await?;
    faults(&mut cast, scratch, size, plan, &progress).await?;
    progress.say("draining, without faults…");
    let watch = Stopwatch::start();
    cast.stop_loaders().await;
    // What is left open then is found by the judge.
    let _ = until(DRAIN_MAX, "", async || ears.look().ended == LOADERS && is_drained(&tenure).await).await;
    let drained_in = watch.elapsed();
    let (ears, struck, faults) = cast.leave().await;
    progress.say("judging…");
    let heard = ears.look().clone();
    let judged = judge(&tenure, &Facts::new(plan.leases.clone(), &struck, ahead), &heard).await?;
    Ok(Played { drained_in, faults, heard, judged })
}

async fn faults(
    cast: &mut Cast,
    scratch: &mut Scratch,
    size: Size,
    plan: &Plan,
    progress: &Progress,
) -> Result<(), Error> {
    let watch = Stopwatch::start();
    let mut told = 0;
    for event in &plan.events {
        pause(event.at.saturating_sub(watch.elapsed())).await;
        match (event.step, &mut *scratch) {
            (Step::Cut(which), Scratch::Postgres(server)) => {
                cast.faults.cut_connections += cut(server, which).await?;
            }
            (step, _) => cast.play(step).await?,
        }
        let second = watch.elapsed().as_secs();
        if second > told {
            told = second;
            let created = cast.ears.look().created.len();
            let line = format!(
                "{second} of {} s · {} faults · {created} created",
                size.span.as_secs(),
                cast.faults.all()
            );
            progress.now_and_then(&line, second);
        }
    }
    pause(size.span.saturating_sub(watch.elapsed())).await;
    Ok(())
}

/// Cuts one to four of the processes' connections, whichever they are just then.
async fn cut(server: &mut Server, which: u64) -> Result<usize, Error> {
    let client = server.connect().await?;
    let text = "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity \
                where application_name = $1 order by md5(pid::text || $2) limit $3) as chosen";
    let (salt, most) = (which.to_string(), (1 + which % 4) as i64);
    let cut: i64 = client.query_one(text, &[&server.prefix(), &salt, &most]).await.map_err(failed)?.get(0);
    Ok(cut as usize)
}

/// How far the database's clock is ahead of ours, in microseconds.
async fn ahead(scratch: &mut Scratch) -> Result<i64, Error> {
    let Scratch::Postgres(server) = scratch else { return Ok(0) };
    let client = server.connect().await?;
    let text = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
    let before = now().micros();
    let theirs: i64 = client.query_one(text, &[]).await.map_err(failed)?.get(0);
    Ok(theirs - (before + now().micros()) / 2)
}

async fn is_drained(tenure: &Tenure) -> bool {
    // What runs may create what is pending, so it is asked for on both sides.
    for state in ["RUNNING", "PENDING", "RUNNING"] {
        let query = Query { state: state.parse().ok(), limit: 1, ..Query::default() };
        if tenure.list(query).await.map_or(true, |items| !items.is_empty()) {
            return false;
        }
    }
    true
}

async fn until<F: Future<Output = bool>>(
    most: Duration,
    what: &str,
    is_so: impl Fn() -> F,
) -> Result<(), Error> {
    let watch = Stopwatch::start();
    while !is_so().await {
        if watch.elapsed() > most {
            return Err(Error::Part(what.to_string()));
        }
        pause(LOOK_EVERY).await;
    }
    Ok(())
}

struct Verified;

impl Work for Verified {
    type Done = Report;

    async fn run<D: Database + Look>(self, database: &D) -> Result<Report, Error> {
        Ok(verify::database(database, None, |_| {}).await?)
    }
}
