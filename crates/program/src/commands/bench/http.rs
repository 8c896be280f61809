//! `tenure bench --http`: the service as callers elsewhere meet it. The server is a process of its own; this one is the load.

mod server;
mod wire;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_databases::url::SecretUrl;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::create::{Created, joined};
use super::measure::{Latencies, rate};
use super::report::Row;
use super::work::payload;
use crate::outcome::Error;
use crate::time::{Stopwatch, pause};
use server::Served;
use wire::Wire;

/// Items in a request that fills a database.
const FILL: usize = 1_000;
/// Leases and commits of one call of a drain.
const DRAIN_BATCH: usize = 500;
/// Connections of a drain: while one leases the others commit.
const DRAINERS: usize = 3;
/// A service that is idle most of the time.
const LATENCY_RATE: u32 = 50;
/// As long as a service waits with an answer.
const WAIT_MS: u64 = 30_000;
/// Callers beside those that wait for work.
const BESIDE: usize = 200;
const HELD: &str = "nobody panics while holding it";
/// What the service may have of memory: doing nothing, and with all those waiting.
const IDLE_MB: f64 = 50.0;
const POLLS_MB: f64 = 300.0;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Each caller sends its next request when the one before it is answered, on a connection that stays.
pub async fn create(url: &SecretUrl, callers: usize, per_request: usize, n: usize) -> Result<Row, Error> {
    let served = Served::start(url).await?;
    let created = created(served.address, callers, per_request, n).await?;
    let rss_mb = served.resident_mb();
    served.end().await?;
    Ok(Row { rss_mb, ..created.row(callers, per_request) })
}

async fn created(
    address: SocketAddr,
    callers: usize,
    per_request: usize,
    n: usize,
) -> Result<Created, Error> {
    let (mut wires, turns) = (Vec::new(), n.div_ceil(callers * per_request));
    for _ in 0..callers {
        wires.push(Wire::open(address).await?);
    }
    let mut tasks = JoinSet::new();
    let watch = Stopwatch::start();
    for (caller, mut wire) in wires.into_iter().enumerate() {
        tasks.spawn(async move {
            let mut latencies = Latencies::default();
            for turn in 0..turns {
                let body = items((caller * turns + turn) * per_request, per_request);
                let watch = Stopwatch::start();
                wire.post("/v1/items", body).await?;
                latencies.add(watch.elapsed());
            }
            Ok::<_, Error>(latencies)
        });
    }
    let latencies = joined(tasks).await?;
    let n = callers * turns * per_request;
    Ok(Created { n, rate: rate(n, watch.elapsed()), latencies })
}

/// One item, or an array of them.
fn items(first: usize, count: usize) -> String {
    let item = |number: usize| format!(r#"{{"kind":"job","payload":{}}}"#, payload(number));
    match count {
        1 => item(first),
        _ => format!("[{}]", (first..first + count).map(item).collect::<Vec<_>>().join(",")),
    }
}

#[derive(Deserialize)]
struct Leases {
    leases: Vec<Lease>,
}

#[derive(Deserialize)]
struct Lease {
    execution: String,
    lease_token: String,
    payload: Value,
}

async fn lease(wire: &mut Wire, max: usize, wait_ms: u64) -> Result<Vec<Lease>, Error> {
    let body = json!({ "kinds": ["job"], "worker": "bench", "max": max, "start": true, "wait_ms": wait_ms });
    let answer = wire.post("/v1/leases", body.to_string()).await?;
    let leases: Leases = serde_json::from_slice(&answer).map_err(|why| Error::Bench(why.to_string()))?;
    Ok(leases.leases)
}

async fn commit(wire: &mut Wire, leases: &[Lease]) -> Result<(), Error> {
    let one = |lease: &Lease| {
        let Lease { execution, lease_token, .. } = lease;
        json!({ "execution": execution, "lease_token": lease_token, "finish": true })
    };
    let body = json!({ "commits": leases.iter().map(one).collect::<Vec<_>>() });
    wire.post("/v1/executions/commit", body.to_string()).await.map(drop)
}

/// Workers elsewhere: many leases in a call, started, then many commits in one.
pub async fn drain(url: &SecretUrl, n: usize) -> Result<Row, Error> {
    let served = Served::start(url).await?;
    created(served.address, 2, FILL.min(n / 2), n).await?;
    let mut tasks = JoinSet::new();
    let watch = Stopwatch::start();
    for _ in 0..DRAINERS {
        let mut wire = Wire::open(served.address).await?;
        tasks.spawn(async move {
            let mut count = 0;
            loop {
                let leases = lease(&mut wire, DRAIN_BATCH, 0).await?;
                if leases.is_empty() {
                    return Ok::<_, Error>(count);
                }
                commit(&mut wire, &leases).await?;
                count += leases.len();
            }
        });
    }
    let mut count = 0;
    while let Some(ended) = tasks.join_next().await {
        count += ended.expect("a worker does not panic")?;
    }
    let took = watch.elapsed();
    let rss_mb = served.resident_mb();
    served.end().await?;
    if count < n {
        return Err(Error::Bench(format!("of {n} jobs {count} were run")));
    }
    let (callers, batch) = (Some(DRAINERS), Some(DRAIN_BATCH));
    Ok(Row { callers, batch, n: count, rate: rate(count, took), rss_mb, ..Row::default() })
}

/// From before a create to the answer of whoever waits for work.
pub async fn latency(url: &SecretUrl, n: usize) -> Result<Row, Error> {
    let served = Served::start(url).await?;
    let asked: Arc<Mutex<HashMap<u64, Stopwatch>>> = Arc::default();
    let (mut waits, mut commits) = (Wire::open(served.address).await?, Wire::open(served.address).await?);
    let (leased, mut leases) = tokio::sync::mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    let begun = asked.clone();
    tasks.spawn(async move {
        let mut latencies = Latencies::default();
        for _ in 0..n {
            for lease in lease(&mut waits, 1, WAIT_MS).await? {
                let watch =
                    lease.payload.as_u64().and_then(|number| begun.lock().expect(HELD).remove(&number));
                watch.into_iter().for_each(|watch| latencies.add(watch.elapsed()));
                let _ = leased.send(lease);
            }
        }
        Ok(latencies)
    });
    let done = async {
        while let Some(lease) = leases.recv().await {
            commit(&mut commits, &[lease]).await?;
        }
        Ok::<_, Error>(())
    };
    let creates = async {
        let mut wire = Wire::open(served.address).await?;
        let mut pace = tokio::time::interval(Duration::from_secs(1) / LATENCY_RATE);
        for number in 0..n as u64 {
            pace.tick().await;
            asked.lock().expect(HELD).insert(number, Stopwatch::start());
            wire.post("/v1/items", json!({ "kind": "job", "payload": number }).to_string()).await?;
        }
        joined(tasks).await
    };
    let watch = Stopwatch::start();
    let (latencies, ()) = tokio::try_join!(creates, done)?;
    let took = watch.elapsed();
    served.end().await?;
    let (rate, paced_ms) = (rate(n, took), latencies.share_ms(0.5));
    Ok(Row { callers: Some(1), batch: Some(1), n, rate, paced_ms, ..Row::default() }.with(&latencies))
}

/// `tenure work` with a command that does nothing, beside that command alone. The ratio is the milliseconds between them. At most as
/// many jobs as a request creates.
pub async fn work(url: &SecretUrl, n: usize) -> Result<Row, Error> {
    const NOTHING: &str = "/bin/true";
    let served = Served::start(url).await?;
    let mut wire = Wire::open(served.address).await?;
    // The first shows that the worker is there.
    let first = id(&wire.post("/v1/items", items(0, 1)).await?)?;
    let mut worker = Command::new(std::env::current_exe()?);
    let address = format!("http://{}", served.address);
    worker.args(["work", "job", "--url", &address, "--", NOTHING]).kill_on_drop(true);
    let worker = worker.stdout(std::process::Stdio::null()).spawn()?;
    ended(&mut wire, &first).await?;
    let alone = Stopwatch::start();
    for _ in 0..n {
        Command::new(NOTHING).status().await?;
    }
    let alone = rate(n, alone.elapsed());
    let watch = Stopwatch::start();
    wire.post("/v1/items", items(1, n - 1)).await?;
    let last = id(&wire.post("/v1/items", items(0, 1)).await?)?;
    ended(&mut wire, &last).await?;
    let worked = rate(n, watch.elapsed());
    drop(worker);
    served.end().await?;
    let added_ms = 1_000.0 / worked - 1_000.0 / alone;
    Ok(Row {
        callers: Some(1),
        batch: Some(1),
        n,
        rate: worked,
        limit_name: Some("fork_exec".to_string()),
        limit: Some(alone),
        ratio: Some(added_ms),
        ..Row::default()
    })
}

fn id(answer: &[u8]) -> Result<String, Error> {
    let item: Value = serde_json::from_slice(answer).map_err(|why| Error::Bench(why.to_string()))?;
    item["id"].as_str().map(str::to_string).ok_or_else(|| Error::Bench("an item without an id".to_string()))
}

async fn ended(wire: &mut Wire, id: &str) -> Result<(), Error> {
    loop {
        let answer = wire.get(&format!("/v1/items/{id}?wait_ms={WAIT_MS}")).await?;
        let item: Value = serde_json::from_slice(&answer).map_err(|why| Error::Bench(why.to_string()))?;
        if item["phase"] == "succeeded" {
            return Ok(());
        }
    }
}

pub async fn idle(url: &SecretUrl, settle: Duration) -> Result<Row, Error> {
    let served = Served::start(url).await?;
    pause(settle).await;
    let rss_mb = served.resident_mb();
    served.end().await?;
    // It has no rate: what it takes of memory stands there, beside what it may take.
    let row = Row { n: 1, rate: rss_mb.unwrap_or_default(), ..Row::default() };
    Ok(of_memory(row, rss_mb, IDLE_MB))
}

fn of_memory(row: Row, rss_mb: Option<f64>, most: f64) -> Row {
    let ratio = rss_mb.map(|mb| mb / most);
    Row { rss_mb, limit_name: Some("MB".to_string()), limit: Some(most), ratio, ..row }
}

/// Many wait for work that does not come, and somebody creates something else meanwhile.
pub async fn polls(url: &SecretUrl, n: usize, settle: Duration) -> Result<Row, Error> {
    let served = Served::start(url).await?;
    let mut waiting = JoinSet::new();
    for number in 0..n {
        let mut wire = Wire::open(served.address).await?;
        let worker = format!("bench-{number}");
        waiting.spawn(async move {
            let body = json!({ "kinds": ["claim"], "worker": worker, "wait_ms": WAIT_MS }).to_string();
            loop {
                wire.post("/v1/leases", body.clone()).await?;
            }
            #[expect(unreachable_code, reason = "it waits until it is dropped, or fails")]
            Ok::<(), Error>(())
        });
    }
    let mut wire = Wire::open(served.address).await?;
    let asked = format!("tenure_connections {}", n + 1);
    while !String::from_utf8_lossy(&wire.get("/metrics").await?).contains(&asked) {
        pause(LOOK_EVERY).await;
    }
    // They are connected; a moment later they have asked, too.
    pause(settle).await;
    let mut latencies = Latencies::default();
    let all = Stopwatch::start();
    for number in 0..BESIDE {
        let watch = Stopwatch::start();
        wire.post("/v1/items", items(number, 1)).await?;
        latencies.add(watch.elapsed());
    }
    let rate = rate(BESIDE, all.elapsed());
    let rss_mb = served.resident_mb();
    if let Some(ended) = waiting.try_join_next() {
        ended.expect("a caller does not panic")?;
    }
    drop(waiting);
    served.end().await?;
    Ok(of_memory(
        Row { callers: Some(n), n: BESIDE, rate, ..Row::default() }.with(&latencies),
        rss_mb,
        POLLS_MB,
    ))
}
