//! Acquiring from a deep queue must cost what it costs from a shallow one.

use super::create::{Fill, fill};
use super::drain;
use super::measure::{Latencies, Stopwatch};
use super::store::Stage;
use super::work::{Work, created, leased};
use crate::outcome::Error;

/// What a worker of many hands takes at once.
pub const LEASES: usize = 10;

/// So many jobs ready, scheduled and finished.
pub async fn deep(stage: &Stage, each: usize, turns: usize) -> Result<Latencies, Error> {
    fill(stage, Fill::Ready, each).await?;
    drain::all(stage, each).await?;
    fill(stage, Fill::Scheduled, each).await?;
    shallow(stage, each, turns).await
}

/// So many jobs ready and nothing else.
pub async fn shallow(stage: &Stage, ready: usize, turns: usize) -> Result<Latencies, Error> {
    fill(stage, Fill::Ready, ready).await?;
    let work = Work::new();
    let mut latencies = Latencies::default();
    for turn in 0..turns {
        let watch = Stopwatch::start();
        let leases = leased(stage.gather.ask(work.acquire(LEASES)).await)?;
        latencies.add(watch.elapsed());
        if leases.len() != LEASES {
            return Err(Error::Bench(format!("{} jobs were leased and {LEASES} were ready", leases.len())));
        }
        // As many come as went, so that every turn finds the same queue.
        let more = (0..LEASES).map(|number| work.create(turn * LEASES + number)).collect();
        stage.gather.ask_all(more).await.into_iter().try_for_each(created)?;
    }
    Ok(latencies)
}
