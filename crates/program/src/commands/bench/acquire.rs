//! Acquiring from a deep queue must cost what it costs from a shallow one.

use std::time::Duration;

use super::create::{Fill, fill};
use super::drain;
use super::measure::Latencies;
use super::store::Stage;
use super::work::{Work, created, leased};
use crate::outcome::Error;
use crate::time::Stopwatch;

/// What a worker of many hands takes at once.
pub const LEASES: usize = 10;

/// A queue of a few jobs, and one that is deep. Both are asked in turns: a disk that is slow for a minute is slow for both,
/// and what is left between them is the depth.
pub struct Queues {
    pub shallow: Stage,
    pub deep: Stage,
}

/// How long an acquire took.
#[derive(Default)]
pub struct Compared {
    pub shallow: Latencies,
    pub deep: Latencies,
}

impl Queues {
    /// So many jobs ready in the shallow one; in the deep one so many ready, as many scheduled, as many finished.
    pub async fn fill(&self, shallow: usize, deep: usize) -> Result<(), Error> {
        fill(&self.shallow, Fill::Ready, shallow).await?;
        fill(&self.deep, Fill::Ready, deep).await?;
        drain::all(&self.deep, deep).await?;
        fill(&self.deep, Fill::Scheduled, deep).await?;
        fill(&self.deep, Fill::Ready, deep).await
    }

    pub async fn compare(&self, turns: usize) -> Result<Compared, Error> {
        let (work, mut compared) = (Work::new(), Compared::default());
        for turn in 0..turns {
            compared.shallow.add(acquire(&self.shallow, &work, turn).await?);
            compared.deep.add(acquire(&self.deep, &work, turn).await?);
        }
        Ok(compared)
    }
}

/// Acquires once. As many jobs come as went, so that every turn finds the same queue.
async fn acquire(stage: &Stage, work: &Work, turn: usize) -> Result<Duration, Error> {
    let watch = Stopwatch::start();
    let leases = leased(stage.gather.ask(work.acquire(LEASES)).await)?;
    let took = watch.elapsed();
    if leases.len() != LEASES {
        return Err(Error::Bench(format!("{} jobs were leased and {LEASES} were ready", leases.len())));
    }
    let more = (0..LEASES).map(|number| work.create(turn * LEASES + number)).collect();
    stage.gather.ask_all(more).await.into_iter().try_for_each(created)?;
    Ok(took)
}
