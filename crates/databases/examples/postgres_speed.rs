//! How fast the PostgreSQL database is, all durable, beside what the server itself can do.
//!
//! ```sh
//! TENURE_TEST_POSTGRES=postgres://… cargo run --release -p tenure-databases --example postgres_speed [PART…]
//! ```
//!
//! Parts: bulk, drain, single, many, claim, pinned. None named: all but the last two, which take minutes. It works in a
//! schema of its own, `speed`, and drops it first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::draw::Draw;
use tenure_core::id::ExecutionId;
use tenure_core::lifecycle::shipped;
use tenure_core::request::*;
use tenure_databases::batch;
use tenure_databases::postgres::{Options, Postgres};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let wants = |part: &str, usual: bool| {
        if parts.is_empty() { usual } else { parts.iter().any(|named| named == part) }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        if wants("bulk", true) {
            bulk().await;
        }
        if wants("drain", true) {
            drain().await;
        }
        if wants("single", true) {
            single().await;
        }
        if wants("many", true) {
            many().await;
        }
        if wants("claim", false) {
            claim().await;
        }
        if wants("pinned", false) {
            pinned().await;
        }
    });
}

fn server() -> String {
    std::env::var("TENURE_TEST_POSTGRES").expect("TENURE_TEST_POSTGRES names a server")
}

async fn raw() -> Client {
    let (client, connection) = tokio_postgres::connect(&server(), NoTls).await.expect("the server is there");
    #[expect(clippy::disallowed_methods, reason = "it ends with its client")]
    tokio::spawn(connection);
    client
}

/// An empty database.
async fn fresh() -> Arc<Postgres> {
    let raw = raw().await;
    raw.batch_execute("set client_min_messages = error; drop schema if exists speed cascade").await.unwrap();
    raw.batch_execute("checkpoint").await.unwrap();
    let url = format!("{}?schema=speed&connections=4", server());
    let options = Options { tables: shipped::tables(), clock: None };
    let database = Postgres::connect(&url, options).await.expect("the database opens");
    if let Ok(script) = std::env::var("SPEED_SCRIPT") {
        raw.batch_execute(&script).await.unwrap();
    }
    Arc::new(database)
}

#[expect(clippy::disallowed_methods, reason = "this program is a stopwatch")]
fn now() -> Instant {
    Instant::now()
}

fn show(what: &str, count: usize, took: Duration) -> f64 {
    let rate = count as f64 / took.as_secs_f64();
    println!("{what:46} {rate:>10.0} /s   ({count} in {:.2} s)", took.as_secs_f64());
    rate
}

fn request(actor: &str, command: Command) -> Request {
    Request { store: "default".parse().unwrap(), actor: actor.parse().unwrap(), command }
}

/// About a hundred bytes.
fn create(number: usize) -> Request {
    let payload = format!(
        r#"{{"to":"customer-{number}@example.org","template":"order-shipped","order":{number},"express":true}}"#
    );
    let payload = Body::json(payload).unwrap();
    request("api:shop", Command::Create(Create::new("job".parse().unwrap(), payload)))
}

fn acquire(worker: &str, max: usize) -> Request {
    let terms = Terms { start: true, ..Terms::default() };
    request(worker, Command::Acquire(Acquire { kinds: vec!["job".parse().unwrap()], max, terms }))
}

fn commit(worker: &str, execution: ExecutionId) -> Request {
    let effects = Effects::default();
    let commit =
        Commit { execution, output: None, effects, finish: true, session: None, attests: Vec::new() };
    request(worker, Command::Commit(commit))
}

async fn fill(database: &Postgres, count: usize, size: usize) {
    let mut draw = Draw::new(7);
    let mut made = 0;
    while made < count {
        let requests: Vec<Request> = (made..count.min(made + size)).map(create).collect();
        for reply in batch::run(database, &requests, &mut draw).await {
            assert!(reply.expect("the database works").fresh);
        }
        made += size;
    }
}

async fn bulk() {
    let database = fresh().await;
    fill(&database, 20_000, 1_000).await;
    let began = now();
    fill(&database, 100_000, 1_000).await;
    show("bulk create, 1,000 a batch", 100_000, began.elapsed());
}

/// Leases and commits until nothing is left. Answers how many it did.
async fn work(database: Arc<Postgres>, worker: String, size: usize) -> usize {
    let mut draw = Draw::new(worker.len() as u64 ^ now().elapsed().as_nanos() as u64);
    let mut done = 0;
    loop {
        let reply = batch::run(&*database, &[acquire(&worker, size)], &mut draw).await.remove(0);
        let Answer::Leased(leases) = reply.expect("the database works").answer else { return done };
        if leases.is_empty() {
            return done;
        }
        let commits: Vec<Request> = leases.iter().map(|lease| commit(&worker, lease.execution)).collect();
        for reply in batch::run(&*database, &commits, &mut draw).await {
            assert!(reply.expect("the database works").answer.is_yes());
        }
        done += leases.len();
    }
}

async fn drained(database: &Arc<Postgres>, workers: usize, size: usize) -> usize {
    let mut set = JoinSet::new();
    for worker in 0..workers {
        set.spawn(work(database.clone(), format!("worker:w{worker}/1"), size));
    }
    set.join_all().await.into_iter().sum()
}

async fn drain() {
    for (workers, size) in [(1, 500), (2, 500)] {
        let database = fresh().await;
        fill(&database, 100_000, 1_000).await;
        let began = now();
        let done = drained(&database, workers, size).await;
        assert_eq!(done, 100_000);
        show(&format!("drain 100,000, {size} × {workers}"), done, began.elapsed());
    }
}

async fn single() {
    let database = fresh().await;
    let raw = raw().await;
    raw.batch_execute("create table speed.bare (id bigserial primary key, payload text)").await.unwrap();
    let insert = raw.prepare("insert into speed.bare (payload) values ($1)").await.unwrap();
    let payload = "x".repeat(100);
    let mut draw = Draw::new(11);
    let (mut bare, mut ours) = (Duration::ZERO, Duration::ZERO);
    // In turns, so that both meet the same neighbours.
    for round in 0..10 {
        let began = now();
        for _ in 0..200 {
            raw.execute(&insert, &[&payload]).await.unwrap();
        }
        bare += began.elapsed();
        let began = now();
        for number in 0..200 {
            let reply = batch::run(&*database, &[create(round * 200 + number)], &mut draw).await.remove(0);
            assert!(reply.expect("the database works").fresh);
        }
        ours += began.elapsed();
    }
    let bare = show("bare insert and commit, one connection", 2_000, bare);
    let ours = show("single create", 2_000, ours);
    println!("{:46} {:>10.2}", "ratio", ours / bare);
}

/// 64 callers whose requests travel together: two batches of 32 at a time, as a group commit would make them.
async fn many() {
    let database = fresh().await;
    let began = now();
    let mut set = JoinSet::new();
    for half in 0..2 {
        let database = database.clone();
        set.spawn(async move {
            let mut draw = Draw::new(half);
            for round in 0..600 {
                let requests: Vec<Request> = (0..32).map(|number| create(round * 32 + number)).collect();
                for reply in batch::run(&*database, &requests, &mut draw).await {
                    assert!(reply.expect("the database works").fresh);
                }
            }
        });
    }
    set.join_all().await;
    show("creates of 64 callers, 32 × 2", 2 * 600 * 32, began.elapsed());
}

async fn claim() {
    let database = fresh().await;
    let raw = raw().await;
    raw.batch_execute("alter table speed.items set (autovacuum_enabled = off)").await.unwrap();
    fill(&database, 3_000, 1_000).await;
    let few = claims(&database).await;
    println!("{:46} {few:>10.1?}", "acquire 10 of about 1,000 ready");
    // Copies of what is there, with the statistics of a small table.
    raw.batch_execute(
        "insert into speed.items select gen_random_uuid(), queue, lifecycle, state, \
         case n % 3 when 0 then 2 when 1 then 1 else 0 end, \
         rank + n, version, fence, run_at + case n % 3 when 1 then 1000000000000 else n end, created, updated, key, \
         exclusive, owner, heartbeat, expires, window_ends, session, committed, segment, head, payload_hash, payload, \
         rest from (select * from speed.items where slot = 2 limit 1) i, generate_series(1, 3000000) n",
    )
    .await
    .unwrap();
    let lots = claims(&database).await;
    println!("{:46} {lots:>10.1?}", "with 1 M ready, 1 M scheduled, 1 M finished");
    println!("{:46} {:>10.2}", "ratio", lots.as_secs_f64() / few.as_secs_f64());
}

/// The median of acquires of ten.
async fn claims(database: &Postgres) -> Duration {
    let mut draw = Draw::new(5);
    let mut took = Vec::new();
    for _ in 0..100 {
        let began = now();
        let reply = batch::run(database, &[acquire("worker:w/1", 10)], &mut draw).await.remove(0);
        took.push(began.elapsed());
        assert!(reply.expect("the database works").fresh);
    }
    took.sort();
    took[took.len() / 2]
}

async fn pinned() {
    let mut rates = Vec::new();
    for pinned in [false, true] {
        let database = fresh().await;
        fill(&database, 400_000, 1_000).await;
        let snapshot = raw().await;
        if pinned {
            snapshot.batch_execute("begin isolation level repeatable read; select 1").await.unwrap();
        }
        let began = now();
        let done = drained(&database, 2, 500).await;
        let what = if pinned { "drain 400,000, horizon pinned" } else { "drain 400,000" };
        rates.push(show(what, done, began.elapsed()));
        drop(snapshot);
    }
    println!("{:46} {:>10.2}", "ratio", rates[1] / rates[0]);
}
