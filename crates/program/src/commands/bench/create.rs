//! Creating: one caller after another answer, 64 callers at once, and many in a call.

use std::future::Future;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::measure::{Latencies, rate};
use super::report::Row;
use super::store::Stage;
use super::work::{Work, created};
use crate::outcome::Error;
use crate::time::Stopwatch;

pub struct Created {
    pub n: usize,
    pub rate: f64,
    pub latencies: Latencies,
}

impl Created {
    pub fn row(self, callers: usize, batch: usize) -> Row {
        let Created { n, rate, latencies } = self;
        Row { callers: Some(callers), batch: Some(batch), n, rate, ..Row::default() }.with(&latencies)
    }
}

/// As many callers as there are, each waiting for its answer before it asks again.
pub async fn each<F>(
    callers: usize,
    n: usize,
    create: impl Fn(usize) -> F + Clone + Send + 'static,
) -> Result<Created, Error>
where
    F: Future<Output = Result<(), Error>> + Send,
{
    let per_caller = n.div_ceil(callers);
    let turns = move |caller: usize| {
        let create = create.clone();
        async move {
            let mut latencies = Latencies::default();
            for turn in 0..per_caller {
                let watch = Stopwatch::start();
                create(caller * per_caller + turn).await?;
                latencies.add(watch.elapsed());
            }
            Ok::<_, Error>(latencies)
        }
    };
    let watch = Stopwatch::start();
    let latencies = if callers == 1 {
        // A program's own thread, as the one that measures what one caller could reach at best.
        turns(0).await?
    } else {
        joined((0..callers).map(turns).collect()).await?
    };
    let n = per_caller * callers;
    Ok(Created { n, rate: rate(n, watch.elapsed()), latencies })
}

/// So many in a call. With two callers one makes its requests while the other's are written.
pub async fn bulk(stage: &Stage, callers: usize, per_call: usize, n: usize) -> Result<Created, Error> {
    let mut tasks = JoinSet::new();
    let calls = n.div_ceil(per_call * callers);
    let work = Arc::new(Work::new());
    let watch = Stopwatch::start();
    for caller in 0..callers {
        let (gather, work) = (stage.gather.clone(), work.clone());
        tasks.spawn(async move {
            let mut latencies = Latencies::default();
            for call in 0..calls {
                let first = (caller * calls + call) * per_call;
                let requests = (first..first + per_call).map(|number| work.create(number)).collect();
                let watch = Stopwatch::start();
                gather.ask_all(requests).await.into_iter().try_for_each(created)?;
                latencies.add(watch.elapsed());
            }
            Ok::<_, Error>(latencies)
        });
    }
    let latencies = joined(tasks).await?;
    let n = callers * calls * per_call;
    Ok(Created { n, rate: rate(n, watch.elapsed()), latencies })
}

/// The latencies of all callers.
pub async fn joined(mut tasks: JoinSet<Result<Latencies, Error>>) -> Result<Latencies, Error> {
    let mut latencies = Latencies::default();
    while let Some(ended) = tasks.join_next().await {
        latencies.extend(ended.expect("a caller does not panic")?);
    }
    Ok(latencies)
}

/// Which jobs a measurement finds there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fill {
    Ready,
    /// Not due for thousands of years.
    Scheduled,
}

/// Makes jobs that a measurement needs, by calls that are as large as a batch.
pub async fn fill(stage: &Stage, fill: Fill, n: usize) -> Result<(), Error> {
    let work = Work::new();
    let job = |number| match fill {
        Fill::Ready => work.create(number),
        Fill::Scheduled => work.create_later(number),
    };
    for first in (0..n).step_by(tenure_databases::batch::BATCH_MAX) {
        let last = n.min(first + tenure_databases::batch::BATCH_MAX);
        let requests = (first..last).map(job).collect();
        stage.gather.ask_all(requests).await.into_iter().try_for_each(created)?;
    }
    Ok(())
}
