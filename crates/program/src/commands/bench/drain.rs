//! Draining: workers lease what is ready, started, and commit it, finished, until nothing is left.

use tokio::task::JoinSet;

use super::measure::{Latencies, Memory, rate};
use super::store::Stage;
use super::work::{LEASES, Work, committed, leased};
use crate::outcome::Error;
use crate::time::Stopwatch;

/// Four, so that while some are answered the leases and the commits of others come together in the next transaction.
pub const WORKERS: usize = 4;

pub struct Drained {
    pub n: usize,
    pub rate: f64,
    pub latencies: Latencies,
    pub memory: Memory,
}

/// Drains what is ready. Every job must be drained once; another count is an error.
pub async fn all(stage: &Stage, n: usize) -> Result<Drained, Error> {
    let mut workers = JoinSet::new();
    let watch = Stopwatch::start();
    for _ in 0..WORKERS {
        workers.spawn(worker(stage.clone()));
    }
    let (mut latencies, mut memory, mut done) = (Latencies::default(), Memory::default(), 0);
    while let Some(ended) = workers.join_next().await {
        let drained = ended.expect("a worker does not panic")?;
        done += drained.n;
        latencies.extend(drained.latencies);
        memory.add(drained.memory);
    }
    let rate = rate(n, watch.elapsed());
    match done == n {
        true => Ok(Drained { n, rate, latencies, memory }),
        false => Err(Error::Bench(format!("{done} jobs were drained and there were {n}"))),
    }
}

async fn worker(stage: Stage) -> Result<Drained, Error> {
    let work = Work::new();
    let mut drained = Drained { n: 0, rate: 0.0, latencies: Latencies::default(), memory: Memory::default() };
    loop {
        let watch = Stopwatch::start();
        let leases = leased(stage.gather.ask(work.acquire(LEASES)).await)?;
        drained.latencies.add(watch.elapsed());
        if leases.is_empty() {
            return Ok(drained);
        }
        drained.n += leases.len();
        let watch = Stopwatch::start();
        let commits = leases.iter().map(|lease| work.commit(lease.execution)).collect();
        stage.gather.ask_all(commits).await.into_iter().try_for_each(committed)?;
        drained.latencies.add(watch.elapsed());
        drained.memory.look();
    }
}
