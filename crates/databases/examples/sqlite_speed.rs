//! How fast the SQLite database is on this machine, and where the time goes.
//!
//! ```text
//! cargo run --release -p tenure-databases --example sqlite_speed [jobs] [crowd|unguarded] [crowd's size]
//! ```
//!
//! Creates jobs in batches of 1,000, then drains them: an acquire of 500, then 500 commits. Payloads are 100 bytes of JSON,
//! every commit is on the disk. `crowd` also measures an acquire of 10 among so many (a million) that are ready, as many
//! scheduled and as many finished; `unguarded` takes the triggers away first, to see what they cost.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::control::{Control, QueueKey};
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::Item;
use tenure_core::lifecycle::shipped;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::{self, Acquire, Command, Create, Effects, Need, Request, Terms};
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, World};
use tenure_databases::batch::{self, Reply};
use tenure_databases::segment::Pressed;
use tenure_databases::sqlite::{Options, Sqlite, SqliteTx};
use tenure_databases::{
    BatchId, Commit, Database, Error, Found, Head, Overdue, Place, Posted, Query, Settled, Tx, Whole,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[expect(clippy::disallowed_methods, reason = "this program is there to look at the clock")]
fn now() -> Instant {
    Instant::now()
}

/// How long this thread was really running, where the system says so: what the machine can do when nobody else uses it.
fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

const STEPS: [&str; 6] = ["begin", "load", "claim", "write", "append", "commit"];

/// Where the time of a run went, in nanoseconds.
#[derive(Default)]
struct Spent([AtomicU64; 6]);

impl Spent {
    fn add(&self, step: usize, since: Instant) {
        let spent = u64::try_from(now().duration_since(since).as_nanos()).unwrap_or(0);
        self.0[step].fetch_add(spent, Ordering::Relaxed);
    }

    fn show(&self, whole: Duration, count: usize) {
        let each = |nanos: f64| nanos / 1e3 / count as f64;
        let mut kernel = whole.as_nanos() as f64;
        for (name, spent) in STEPS.iter().zip(&self.0) {
            let nanos = spent.swap(0, Ordering::Relaxed) as f64;
            kernel -= nanos;
            print!("  {name} {:.2}", each(nanos));
        }
        println!("  kernel and batch {:.2}  (µs each)", each(kernel));
    }
}

/// A database that is watched.
struct Watched {
    database: Sqlite,
    spent: Arc<Spent>,
}

struct WatchedTx {
    tx: SqliteTx,
    spent: Arc<Spent>,
}

impl Database for Watched {
    type Tx<'a> = WatchedTx;

    async fn begin(&self, batch: BatchId) -> Result<WatchedTx, Error> {
        let since = now();
        let tx = self.database.begin(batch).await?;
        self.spent.add(0, since);
        Ok(WatchedTx { tx, spent: self.spent.clone() })
    }

    async fn settle(&self, batch: BatchId) -> Result<Settled, Error> {
        self.database.settle(batch).await
    }

    async fn pause(&self, span: Duration) {
        self.database.pause(span).await;
    }

    fn tables(&self) -> Arc<Tables> {
        self.database.tables()
    }

    async fn add_table(&self, source: &str) -> Result<(), Error> {
        self.database.add_table(source).await
    }

    async fn item(&self, store: &Store, id: ItemId) -> Result<Option<Item>, Error> {
        self.database.item(store, id).await
    }

    async fn whole(&self, store: &Store, id: ItemId) -> Result<Option<Whole>, Error> {
        self.database.whole(store, id).await
    }

    async fn list(&self, query: &Query) -> Result<Vec<Item>, Error> {
        self.database.list(query).await
    }

    async fn history(&self, store: &Store, id: ItemId) -> Result<Vec<Sealed>, Error> {
        self.database.history(store, id).await
    }

    async fn log(&self, after: u64, limit: usize) -> Result<Vec<(u64, Sealed)>, Error> {
        self.database.log(after, limit).await
    }

    async fn sequence(&self, limit: usize) -> Result<usize, Error> {
        self.database.sequence(limit).await
    }

    async fn head(&self) -> Result<Head, Error> {
        self.database.head().await
    }

    async fn due(&self, what: Overdue, after: Option<ItemId>, limit: usize) -> Result<Vec<Found>, Error> {
        self.database.due(what, after, limit).await
    }

    async fn upcoming(&self, store: &Store, kinds: &[Kind]) -> Result<Vec<(Kind, Duration)>, Error> {
        self.database.upcoming(store, kinds).await
    }

    async fn control(&self, key: &QueueKey) -> Result<(Control, u32), Error> {
        self.database.control(key).await
    }
}

impl Tx for WatchedTx {
    const BLOCKS: bool = SqliteTx::BLOCKS;

    fn tables(&self) -> Arc<Tables> {
        self.tx.tables()
    }

    async fn lock(&mut self, need: &Need) -> Result<World, Error> {
        let since = now();
        let world = self.tx.lock(need).await;
        self.spent.add(1, since);
        world
    }

    async fn claim(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<Place>, Error> {
        let since = now();
        let claimed = self.tx.claim(world, store, kind, after, limit).await;
        self.spent.add(2, since);
        claimed
    }

    async fn write(&mut self, wave: &[Change]) -> Result<usize, Error> {
        let since = now();
        let written = self.tx.write(wave).await;
        self.spent.add(3, since);
        written
    }

    async fn inbox(&mut self, limit: usize) -> Result<Vec<Posted>, Error> {
        self.tx.inbox(limit).await
    }

    async fn judged(&mut self, rows: &[(i64, Option<String>)]) -> Result<(), Error> {
        self.tx.judged(rows).await
    }

    fn pressed(&mut self, pressed: Pressed) {
        self.tx.pressed(pressed);
    }

    async fn append(&mut self, entries: &[Sealed]) -> Result<(), Error> {
        let since = now();
        let appended = self.tx.append(entries).await;
        self.spent.add(4, since);
        appended
    }

    async fn commit(self) -> Commit {
        let since = now();
        let committed = self.tx.commit().await;
        self.spent.add(5, since);
        committed
    }
}

struct Bench {
    watched: Watched,
    runtime: tokio::runtime::Runtime,
    draw: Draw,
    number: Cell<u64>,
}

impl Bench {
    fn open(path: &Path) -> Bench {
        let options = Options { tables: shipped::tables(), ..Options::default() };
        let database = Sqlite::open(path, options).expect("the database opens");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let watched = Watched { database, spent: Arc::default() };
        Bench { watched, runtime, draw: Draw::new(7), number: Cell::new(0) }
    }

    fn run(&mut self, requests: &[Request]) -> Vec<Reply> {
        let replies = self.runtime.block_on(batch::run(&self.watched, requests, &mut self.draw));
        replies.into_iter().map(|reply| reply.expect("the database works")).collect()
    }

    fn job(&self, run_at: Option<Time>) -> Request {
        let number = self.number.get() + 1;
        self.number.set(number);
        let payload = format!(
            r#"{{"to":"somebody@example.com","template":"welcome","number":"{number:010}","note":"a hundred bytes, say"}}"#
        );
        let payload = Body::json(payload).expect("JSON");
        let create = Create { run_at, ..Create::new("job".parse().expect("a kind"), payload) };
        request("api:bench", Command::Create(create))
    }

    fn create(&mut self, count: usize, run_at: Option<Time>) {
        let (mut spent, mut running) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..count / 1_000 {
            let requests: Vec<Request> = (0..1_000).map(|_| self.job(run_at)).collect();
            let (since, ran) = (now(), on_processor());
            self.run(&requests);
            spent += now().duration_since(since);
            running += on_processor().saturating_sub(ran);
        }
        show("create", count, spent, running);
        self.watched.spent.show(spent, count);
    }

    /// Leases up to `max` jobs, started.
    fn acquire(&mut self, max: usize) -> Vec<ExecutionId> {
        let terms = Terms { start: true, ..Terms::default() };
        let acquire = Acquire { kinds: vec!["job".parse().expect("a kind")], max, terms };
        let reply = self.run(&[request("worker:bench/1", Command::Acquire(acquire))]).remove(0);
        match reply.answer {
            Answer::Leased(leases) => leases.into_iter().map(|lease| lease.execution).collect(),
            other => panic!("not leased: {other:?}"),
        }
    }

    fn finish(&mut self, executions: Vec<ExecutionId>) {
        let commits: Vec<Request> = executions
            .into_iter()
            .map(|execution| {
                let (effects, attests) = (Effects::default(), Vec::new());
                let commit = request::Commit {
                    execution,
                    output: None,
                    effects,
                    finish: true,
                    session: None,
                    attests,
                };
                request("worker:bench/1", Command::Commit(commit))
            })
            .collect();
        self.run(&commits);
    }

    fn drain(&mut self, count: usize) {
        let (since, ran) = (now(), on_processor());
        let mut done = 0;
        while done < count {
            let leased = self.acquire(500);
            assert!(!leased.is_empty(), "there is something left");
            done += leased.len();
            self.finish(leased);
        }
        let spent = now().duration_since(since);
        show("drain", done, spent, on_processor().saturating_sub(ran));
        self.watched.spent.show(spent, done);
    }

    /// The cost of an acquire of ten, the middle one of many.
    fn acquire_ten(&mut self, what: &str) {
        let ran = on_processor();
        let mut times: Vec<Duration> = (0..41)
            .map(|_| {
                let since = now();
                assert_eq!(self.acquire(10).len(), 10);
                now().duration_since(since)
            })
            .collect();
        times.sort();
        let running = on_processor().saturating_sub(ran) / 41;
        println!("acquire of 10 with {what}: {:?} (processor {running:?})", times[times.len() / 2]);
        self.watched.spent.show(times.iter().sum(), times.len());
    }
}

fn unguard(path: &Path) {
    let connection = rusqlite::Connection::open(path).expect("the file opens");
    let mut statement =
        connection.prepare("select name from sqlite_schema where type = 'trigger'").expect("SQL");
    let names = statement.query_map([], |row| row.get::<_, String>(0)).expect("a list");
    for name in names.collect::<Result<Vec<_>, _>>().expect("names") {
        connection.execute_batch(&format!("drop trigger {name}")).expect("it goes");
    }
}

fn show(what: &str, count: usize, spent: Duration, running: Duration) {
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    println!("{what:8} {:>9.0}/s  ({:.0} a second of processor time)", rate(spent), rate(running));
}

fn request(actor: &str, command: Command) -> Request {
    let store = "default".parse().expect("a store");
    Request { store, actor: actor.parse().expect("an actor"), command }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let folder = tempfile::tempdir_in(".").expect("a folder on a disk");
    let path = folder.path().join("tenure.db");
    let mut bench = Bench::open(&path);
    let also = arguments.next().unwrap_or_default();
    if also == "unguarded" {
        unguard(&path);
    }
    if also == "ones" {
        let (since, ran) = (now(), on_processor());
        for _ in 0..count {
            let request = bench.job(None);
            bench.run(&[request]);
        }
        let spent = now().duration_since(since);
        show("ones", count, spent, on_processor().saturating_sub(ran));
        bench.watched.spent.show(spent, count);
        return;
    }
    for _ in 0..2 {
        bench.create(count, None);
        bench.drain(count);
    }
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    println!("file     {:>9.0} bytes a finished job", bytes as f64 / (2 * count) as f64);
    if also == "crowd" {
        let size = arguments.next().and_then(|size| size.parse().ok()).unwrap_or(1_000_000);
        bench.create(1_000, None);
        bench.acquire_ten("1,000 ready");
        bench.drain(590);
        bench.create(size, None);
        bench.drain(size);
        bench.create(size, Some(Time::from_micros(i64::MAX)));
        bench.create(size, None);
        bench.acquire_ten(&format!("{size} ready, {size} scheduled, {size} finished"));
    }
}
