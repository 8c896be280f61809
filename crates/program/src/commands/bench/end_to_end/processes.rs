//! What needs processes of its own: work that one creates and another runs, and the cost of doing nothing.

use std::time::Duration;

use super::{Row, open, rate};
use crate::child::{Child, Said};
use crate::outcome::Error;
use crate::time::Stopwatch;
use tenure_databases::url::SecretUrl;

/// Callers of the process that creates.
const CALLERS: usize = 64;

pub async fn create_and_run(url: &SecretUrl, jobs: usize) -> Result<Row, Error> {
    // The first to open it makes it.
    drop(open(url).await?);
    let number = ("jobs", jobs.to_string());
    let (runner, mut ran) = Child::start("runner", url, std::slice::from_ref(&number))?;
    let callers = ("callers", CALLERS.to_string());
    let (mut producer, mut produced) = Child::start("producer", url, &[number, callers])?;
    heard(&mut ran, "open").await?;
    heard(&mut produced, "open").await?;
    let watch = Stopwatch::start();
    producer.tell("go").await;
    heard(&mut produced, "done").await?;
    heard(&mut ran, "done").await?;
    let took = watch.elapsed();
    if !(producer.end().await && runner.end().await) {
        return Err(Error::Bench("a process did not end well".to_string()));
    }
    Ok(Row { callers: Some(CALLERS), batch: Some(1), n: jobs, rate: rate(jobs, took), ..Row::default() })
}

/// The rate is the processor time in milliseconds a second; the ratio the share of a core.
pub async fn idle(url: &SecretUrl, settle: Duration, span: Duration) -> Result<Row, Error> {
    let arguments =
        [("settle-ms", settle.as_millis().to_string()), ("span-ms", span.as_millis().to_string())];
    let (child, mut said) = Child::start("idle", url, &arguments)?;
    let line = heard(&mut said, "idle").await?;
    child.end().await;
    let numbers: Vec<f64> = line.split(' ').skip(1).filter_map(|word| word.parse().ok()).collect();
    let [kb, micros] = numbers[..] else { return Err(Error::Bench(format!("a process said `{line}`"))) };
    let share = micros / span.as_micros() as f64;
    Ok(Row {
        n: 1,
        rate: share * 1_000.0,
        rss_mb: Some(kb / 1_024.0),
        limit_name: Some("ms of a core".to_string()),
        limit: Some(1_000.0),
        ratio: Some(share),
        ..Row::default()
    })
}

/// The line that begins like this. A process that ends before has failed, and said why on its own.
async fn heard(said: &mut Said, begin: &str) -> Result<String, Error> {
    while let Ok(Some(line)) = said.next_line().await {
        if line.starts_with(begin) {
            return Ok(line);
        }
    }
    Err(Error::Bench(format!("a process ended before it said `{begin}`")))
}
