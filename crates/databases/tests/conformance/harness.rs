//! A bench to put a database on: a fresh, empty one with every shipped lifecycle, and a clock that is moved by hand.
//!
//! Whatever a check does, in the end every item must be what its entries say, and the log must hold those entries and no
//! others. A check therefore only says what is special about it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::answer::{Answer, Granted};
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::Item;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::shipped;
use tenure_core::replay::fold;
use tenure_core::request::{Command, Create, Request, Take, Terms};
use tenure_core::time::Time;
use tenure_core::word::Store;
use tenure_databases::backlog::Backlogs;
use tenure_databases::batch::{self, Reply};
use tenure_databases::follow::Follow;
use tenure_databases::look::Look;
use tenure_databases::{Database, Overdue, PAGE_MAX, Query, Whole, memory, postgres, sqlite};
use tokio::task::JoinSet;

use crate::requests::*;
use crate::schema;

/// One sort of database.
pub trait Harness: Sized + Send + Sync + 'static {
    type Database: Database + Follow + Look + Backlogs;

    /// A fresh, empty database that goes by this clock.
    fn open(clock: Clock) -> impl Future<Output = Self>;

    fn database(&self) -> &Self::Database;

    fn close(self) -> impl Future<Output = ()>;
}

pub struct Memory(memory::Memory);

impl Harness for Memory {
    type Database = memory::Memory;

    async fn open(clock: Clock) -> Memory {
        Memory(memory::Memory::new(shipped::tables(), Arc::new(move || clock.now())))
    }

    fn database(&self) -> &memory::Memory {
        &self.0
    }

    async fn close(self) {}
}

/// In a folder of its own that goes with it.
pub struct Sqlite {
    database: sqlite::Sqlite,
    _folder: tempfile::TempDir,
}

impl Harness for Sqlite {
    type Database = sqlite::Sqlite;

    async fn open(clock: Clock) -> Sqlite {
        let folder = tempfile::tempdir().expect("a folder");
        let clock: memory::Clock = Arc::new(move || clock.now());
        // Nobody cuts the power of a test.
        let options = sqlite::Options {
            tables: shipped::tables(),
            clock: Some(clock),
            relaxed: true,
            ..sqlite::Options::default()
        };
        let database = sqlite::Sqlite::open(&folder.path().join("tenure.db"), options).expect("it opens");
        Sqlite { database, _folder: folder }
    }

    fn database(&self) -> &sqlite::Sqlite {
        &self.database
    }

    async fn close(self) {}
}

/// A schema of its own on the server that `TENURE_TEST_POSTGRES` names, dropped in the end.
pub struct Postgres(postgres::Postgres, String);

impl Harness for Postgres {
    type Database = postgres::Postgres;

    async fn open(clock: Clock) -> Postgres {
        let schema = schema::fresh();
        Postgres(Postgres::connect(&schema, clock).await, schema)
    }

    fn database(&self) -> &postgres::Postgres {
        &self.0
    }

    async fn close(self) {
        drop(self.0);
        schema::drop(&self.1).await;
    }
}

impl Postgres {
    async fn connect(schema: &str, clock: Clock) -> postgres::Postgres {
        let options =
            postgres::Options { tables: shipped::tables(), clock: Some(Arc::new(move || clock.now())) };
        postgres::Postgres::connect(&schema::url(schema), options).await.expect("the database opens")
    }
}

impl Bench<Postgres> {
    /// The same database as another process would have it: with connections and memories of its own.
    pub async fn another(&self) -> postgres::Postgres {
        Postgres::connect(&self.harness.1, self.clock.clone()).await
    }
}

/// A clock that stands still until it is moved. Its clones move with it.
#[derive(Clone, Debug)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    pub fn new() -> Clock {
        Clock(Arc::new(AtomicI64::new(START.micros())))
    }

    pub fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }

    pub fn set(&self, time: Time) {
        self.0.store(time.micros(), Ordering::SeqCst);
    }
}

/// Runs one check on a fresh database.
pub fn check<H: Harness>(test: impl AsyncFnOnce(&Bench<H>)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let bench = Bench::<H>::open(Clock::new()).await;
        test(&bench).await;
        bench.verify().await;
        bench.close().await;
    });
}

pub struct Bench<H: Harness> {
    harness: Arc<H>,
    pub clock: Clock,
    draw: Arc<Mutex<Draw>>,
}

impl<H: Harness> Clone for Bench<H> {
    fn clone(&self) -> Bench<H> {
        Bench { harness: self.harness.clone(), clock: self.clock.clone(), draw: self.draw.clone() }
    }
}

impl<H: Harness> Bench<H> {
    pub async fn open(clock: Clock) -> Bench<H> {
        let harness = Arc::new(H::open(clock.clone()).await);
        Bench { harness, clock, draw: Arc::new(Mutex::new(Draw::new(42))) }
    }

    pub async fn close(self) {
        Arc::into_inner(self.harness).expect("no caller is left").close().await;
    }

    pub fn database(&self) -> &H::Database {
        self.harness.database()
    }

    pub fn wait(&self, span: Duration) {
        self.clock.set(self.clock.now().after(span));
    }

    /// Moves the clock by so many seconds, ahead or back.
    pub fn step(&self, seconds: i64) {
        self.clock.set(Time::from_micros(self.clock.now().micros() + seconds * 1_000_000));
    }

    /// Lets a moment pass, so that what comes next is newer: what is created at one moment has no order.
    pub fn tick(&self) {
        self.wait(Duration::from_millis(1));
    }

    /// Chance that nobody else on this bench was given: two transactions never have one name.
    pub fn draw(&self) -> Draw {
        Draw::new(self.draw.lock().expect("nobody panics while drawing").number())
    }

    pub async fn batch(&self, requests: &[Request]) -> Vec<Reply> {
        let mut draw = self.draw();
        let replies = batch::run(self.database(), requests, &mut draw).await;
        assert_eq!(replies.len(), requests.len(), "every request gets a reply");
        replies.into_iter().map(|reply| reply.expect("the database works")).collect()
    }

    pub async fn reply(&self, request: Request) -> Reply {
        self.batch(&[request]).await.remove(0)
    }

    pub async fn ask(&self, actor: &str, command: Command) -> Answer {
        self.reply(request(actor, command)).await.answer
    }

    /// Each request in a batch of its own, all at the same time.
    pub async fn race(&self, requests: impl IntoIterator<Item = Request>) -> Vec<Reply> {
        let mut callers = JoinSet::new();
        for (index, request) in requests.into_iter().enumerate() {
            let bench = self.clone();
            callers.spawn(async move { (index, bench.reply(request).await) });
        }
        let replies: BTreeMap<usize, Reply> = callers.join_all().await.into_iter().collect();
        replies.into_values().collect()
    }

    pub async fn create(&self, create: Create) -> ItemId {
        let role = match &*create.kind {
            "session" => "worker:a/1",
            "work_order" | "gate" | "ticket_ready" => "system:engine",
            _ => "api:test",
        };
        match self.ask(role, Command::Create(create)).await {
            Answer::Created(item) => item.id,
            other => panic!("not created: {other:?}"),
        }
    }

    pub async fn job(&self) -> ItemId {
        self.create(new("job", "{}")).await
    }

    /// A run of a document.
    pub async fn pass(&self, document: &str) -> ItemId {
        self.create(pass(document)).await
    }

    pub async fn take(&self, actor: &str, item: ItemId) -> ExecutionId {
        match self.ask(actor, take(item)).await {
            Answer::Leased(leases) => leases[0].execution,
            other => panic!("not leased: {other:?}"),
        }
    }

    /// A lease on this item, started.
    pub async fn run(&self, actor: &str, item: ItemId) -> ExecutionId {
        let terms = Terms { start: true, ..Terms::default() };
        match self.ask(actor, Command::Take(Take { item, terms })).await {
            Answer::Leased(leases) => leases[0].execution,
            other => panic!("not leased: {other:?}"),
        }
    }

    pub async fn acquire(&self, actor: &str, kinds: &[&str], max: usize) -> Vec<Granted> {
        leases(self.ask(actor, acquire(kinds, max)).await)
    }

    /// From now on most items are kept for a minute.
    pub async fn keep_a_minute(&self) {
        for source in kept_a_minute() {
            self.database().add_table(&source).await.expect("the lifecycle parses");
        }
    }

    pub async fn item(&self, id: ItemId) -> Item {
        self.database().item(&store(), id).await.unwrap().expect("the item is there")
    }

    pub async fn state(&self, id: ItemId) -> String {
        self.item(id).await.state_name().to_string()
    }

    pub async fn whole(&self, id: ItemId) -> Whole {
        self.database().whole(&store(), id).await.unwrap().expect("the item is there")
    }

    pub async fn history(&self, id: ItemId) -> Vec<Sealed> {
        self.database().history(&store(), id).await.unwrap()
    }

    /// What was done to an item, one word an entry: `create lease start commit`.
    pub async fn story(&self, id: ItemId) -> String {
        let words: Vec<String> =
            self.history(id).await.iter().map(|entry| entry.action.to_string()).collect();
        words.join(" ")
    }

    pub async fn due(&self, what: Overdue) -> Vec<ItemId> {
        let found = self.database().due(what, None, PAGE_MAX).await.unwrap();
        found.into_iter().map(|found| found.item).collect()
    }

    /// Every item of every store.
    pub async fn items(&self) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        loop {
            let after = items.last().map(|item| item.id);
            let page = self.database().list(&Query { after, limit: 7, ..Query::default() }).await.unwrap();
            if page.is_empty() {
                return items;
            }
            items.extend(page);
        }
    }

    /// The whole log, with positions.
    pub async fn log(&self) -> Vec<(u64, Sealed)> {
        while self.database().sequence(PAGE_MAX).await.unwrap() > 0 {}
        let mut log: Vec<(u64, Sealed)> = Vec::new();
        loop {
            let after = log.last().map_or(0, |(position, _)| *position);
            let page = self.database().log(after, 100).await.unwrap();
            if page.is_empty() {
                return log;
            }
            log.extend(page);
        }
    }

    /// Every item is what its entries say, and the log holds those entries and no others, each item's by version.
    pub async fn verify(&self) {
        let mut logged: BTreeMap<(Store, ItemId), Vec<Sealed>> = BTreeMap::new();
        let log = self.log().await;
        assert!(log.is_sorted_by(|(one, _), (next, _)| one < next), "positions grow");
        for (_, entry) in log {
            logged.entry((entry.store.clone(), entry.item)).or_default().push(entry);
        }
        let tables = self.database().tables();
        for item in self.items().await {
            let history = self.database().history(&item.store, item.id).await.unwrap();
            assert_eq!(fold(&history, &tables), Ok(item.as_logged()), "an item is what its entries say");
            assert_eq!(logged.remove(&(item.store.clone(), item.id)), Some(history), "the log has them all");
        }
        // What was removed is in the log alone.
        let is_removed =
            |history: &Vec<Sealed>| history.last().is_some_and(|entry| entry.action == Event::Prune);
        logged.retain(|_, history| !is_removed(history));
        assert!(logged.is_empty(), "every entry is about an item: {logged:?}");
    }
}
