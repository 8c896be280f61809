//! A database in a schema of its own, with raw connections beside it, and the few requests that are made of it here.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::answer::{Answer, Granted};
use tenure_core::body::Body;
use tenure_core::draw::Draw;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::lifecycle::shipped;
use tenure_core::request::*;
use tenure_core::word::Store;
use tenure_databases::batch::{self, Reply};
use tenure_databases::postgres::{Options, Postgres};
use tenure_databases::{Database, Error};
use tokio_postgres::Client;

use crate::schema;

pub struct Kit {
    pub schema: String,
    pub database: Arc<Postgres>,
    /// Any program with a connection.
    pub raw: Client,
}

/// Runs a test with a fresh database.
pub fn with<T: Future<Output = ()>>(test: impl FnOnce(Arc<Kit>) -> T) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let schema = schema::fresh();
        let kit = Kit {
            database: Arc::new(open(&schema::url(&schema)).await),
            raw: schema::raw().await,
            schema: schema.clone(),
        };
        let search = format!("set search_path = {schema}");
        kit.raw.batch_execute(&search).await.expect("a schema can be named");
        test(Arc::new(kit)).await;
        schema::drop(&schema).await;
    });
}

pub async fn open(url: &str) -> Postgres {
    let options = Options { tables: shipped::tables(), clock: None };
    Postgres::connect(url, options).await.expect("the database opens")
}

/// Every caller draws from its own seed: two that draw the same would make the same ids.
pub fn draw() -> Draw {
    static SEED: AtomicU64 = AtomicU64::new(1);
    Draw::new(SEED.fetch_add(1, Ordering::SeqCst) << 20 | u64::from(std::process::id()))
}

pub fn store() -> Store {
    "default".parse().unwrap()
}

pub fn request(actor: &str, command: Command) -> Request {
    Request { store: store(), actor: actor.parse().unwrap(), command }
}

pub fn new(kind: &str, payload: &str) -> Create {
    Create::new(kind.parse().unwrap(), Body::json(payload).unwrap())
}

pub fn create(create: Create) -> Request {
    request("api:test", Command::Create(create))
}

/// A run of a document: an exclusive kind, whose key is the document.
pub fn pass(document: &str) -> Create {
    new("run", &format!(r#"{{"document_id":"{document}"}}"#))
}

pub fn acquire(worker: &str, kind: &str, max: usize) -> Request {
    let terms = Terms { start: true, ..Terms::default() };
    request(worker, Command::Acquire(Acquire { kinds: vec![kind.parse().unwrap()], max, terms }))
}

pub fn commit(worker: &str, execution: ExecutionId) -> Request {
    let effects = Effects::default();
    let commit =
        Commit { execution, output: None, effects, finish: true, session: None, attests: Vec::new() };
    request(worker, Command::Commit(commit))
}

pub async fn tried(database: &Postgres, requests: &[Request]) -> Vec<Result<Reply, Error>> {
    batch::run(database, requests, &mut draw()).await
}

pub async fn ask(database: &Postgres, request: Request) -> Answer {
    tried(database, &[request]).await.remove(0).expect("the database works").answer
}

pub async fn lease(database: &Postgres, worker: &str, kind: &str, max: usize) -> Vec<Granted> {
    match ask(database, acquire(worker, kind, max)).await {
        Answer::Leased(leases) => leases,
        other => panic!("not leased: {other:?}"),
    }
}

pub async fn created(database: &Postgres, what: Create) -> ItemId {
    match ask(database, create(what)).await {
        Answer::Created(item) => item.id,
        other => panic!("not created: {other:?}"),
    }
}

/// The whole log, placed.
pub async fn log(database: &Postgres) -> Vec<(u64, tenure_core::entry::Sealed)> {
    while database.sequence(1_000).await.unwrap() > 0 {}
    let mut log: Vec<(u64, tenure_core::entry::Sealed)> = Vec::new();
    loop {
        let after = log.last().map_or(0, |(position, _)| *position);
        let page = database.log(after, 1_000).await.unwrap();
        if page.is_empty() {
            return log;
        }
        log.extend(page);
    }
}

/// Waits until a statement of this schema waits for a row that somebody else has.
pub async fn somebody_waits(kit: &Kit) {
    let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like $1 \
                 and wait_event <> 'advisory'";
    let (watch, mine) = (schema::raw().await, format!("%{}%", kit.schema));
    while watch.query_one(waits, &[&mine]).await.unwrap().get::<_, i64>(0) == 0 {}
}
