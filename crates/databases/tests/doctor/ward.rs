//! A database to be looked at: filled by Tenure with work in every state, open to anybody with SQL.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use tenure_core::answer::Answer;
use tenure_core::draw::Draw;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::lifecycle::shipped;
use tenure_core::request::*;
use tenure_databases::doctor::{self, Examined, Limits, Patient, Verdict};
use tenure_databases::outside::now;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::{Database, batch};

use crate::requests::*;
use crate::schema;

/// One sort of database, with a way around Tenure.
pub trait Ward: Sized {
    type Database: Patient;

    async fn open() -> Self;

    fn database(&self) -> &Self::Database;

    /// As `tenure doctor` opens it.
    async fn look(&self) -> Self::Database;

    /// Runs statements as a stranger who took the wall away first.
    async fn break_with(&self, sql: &str);

    /// No bytes, as a value.
    const EMPTY: &'static str;

    async fn close(self);
}

pub struct File {
    database: Sqlite,
    pub path: PathBuf,
    _folder: TempDir,
}

impl Ward for File {
    type Database = Sqlite;

    async fn open() -> File {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tenure.db");
        let options = sqlite::Options { tables: shipped::tables(), ..sqlite::Options::default() };
        File { database: Sqlite::open(&path, options).expect("it opens"), path, _folder: folder }
    }

    fn database(&self) -> &Sqlite {
        &self.database
    }

    async fn look(&self) -> Sqlite {
        Sqlite::look(&self.path).expect("it opens")
    }

    async fn break_with(&self, sql: &str) {
        let stranger = rusqlite::Connection::open(&self.path).expect("it opens");
        stranger.pragma_update(None, "ignore_check_constraints", true).unwrap();
        let mut statement =
            stranger.prepare("select name from sqlite_schema where type = 'trigger'").unwrap();
        let triggers: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().flatten().collect();
        for trigger in triggers {
            stranger.execute_batch(&format!("drop trigger {trigger}")).unwrap();
        }
        stranger.execute_batch("drop index one_is_running_a_key").unwrap();
        stranger.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    const EMPTY: &'static str = "x''";

    async fn close(self) {}
}

pub struct Server {
    database: Postgres,
    pub schema: String,
}

impl Server {
    pub fn url(&self) -> String {
        schema::url(&self.schema)
    }

    /// As psql would.
    pub async fn execute(&self, sql: &str) {
        let stranger = schema::raw().await;
        let sql = format!("set search_path = {}; {sql}", self.schema);
        stranger.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

impl Ward for Server {
    type Database = Postgres;

    async fn open() -> Server {
        let schema = schema::fresh();
        let options = postgres::Options { tables: shipped::tables(), clock: None };
        let database = Postgres::connect(&schema::url(&schema), options).await.expect("it opens");
        Server { database, schema }
    }

    fn database(&self) -> &Postgres {
        &self.database
    }

    async fn look(&self) -> Postgres {
        Postgres::look(&self.url()).await.expect("it opens")
    }

    async fn break_with(&self, sql: &str) {
        self.execute(&format!(
            "do $$ declare wall record; begin \
                for wall in select c.oid::regclass as rel from pg_class c where c.relkind = 'r' \
                    and c.relnamespace = '{0}'::regnamespace loop \
                    execute format('alter table %s disable trigger user', wall.rel); end loop; \
                for wall in select conname, conrelid::regclass as rel from pg_constraint where contype = 'c' \
                    and connamespace = '{0}'::regnamespace loop \
                    execute format('alter table %s drop constraint %I', wall.rel, wall.conname); end loop; \
             end $$; drop index items_one_running_a_key; {sql}",
            self.schema
        ))
        .await;
    }

    const EMPTY: &'static str = "''::bytea";

    async fn close(self) {
        let Server { database, schema } = self;
        drop(database);
        schema::drop(&schema).await;
    }
}

/// Runs a test on a fresh database of its sort.
pub fn with<W: Ward>(test: impl AsyncFnOnce(&W)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let ward = W::open().await;
        test(&ward).await;
        ward.close().await;
    });
}

pub async fn examine<W: Ward>(ward: &W) -> Vec<Examined> {
    doctor::examine(&ward.look().await, &Limits::default()).await.expect("it can be looked at")
}

/// The checks that are not well.
pub fn unwell(all: &[Examined]) -> Vec<&Examined> {
    all.iter().filter(|examined| examined.verdict != Verdict::Well).collect()
}

/// Some of the items, by what became of them.
pub struct Filled {
    pub ready: ItemId,
    pub active: ItemId,
    pub done: ItemId,
    /// Both of one key, of which one runs at a time.
    pub running: ItemId,
    pub waiting: ItemId,
    pub named: ItemId,
}

pub async fn ask<D: Database>(database: &D, actor: &str, command: Command) -> Answer {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let mut draw = Draw::new(SEED.fetch_add(1, Ordering::SeqCst) << 20 | u64::from(std::process::id()));
    let replies = batch::run(database, &[request(actor, command)], &mut draw).await;
    replies.into_iter().next().expect("one reply").expect("the database works").answer
}

pub async fn created<D: Database>(database: &D, actor: &str, create: Create) -> ItemId {
    match ask(database, actor, Command::Create(create)).await {
        Answer::Created(item) => item.id,
        other => panic!("not created: {other:?}"),
    }
}

pub async fn held<D: Database>(database: &D, item: ItemId) -> ExecutionId {
    let terms = Terms { start: true, ..Terms::default() };
    match ask(database, "worker:a/1", Command::Take(Take { item, terms })).await {
        Answer::Leased(leases) => leases[0].execution,
        other => panic!("not leased: {other:?}"),
    }
}

/// Work in every state that Tenure makes.
pub async fn filled<D: Database>(database: &D) -> Filled {
    let api = "api:test";
    let worker = async |command: Command| {
        let answer = ask(database, "worker:a/1", command).await;
        assert!(answer.is_yes(), "{answer:?}");
    };
    let job = async || created(database, api, new("job", "{}")).await;
    let (ready, active, done, unfinished, failed, retried, cancelled) =
        (job().await, job().await, job().await, job().await, job().await, job().await, job().await);
    let named = created(database, api, named("n", new("job", "{}"))).await;
    let later =
        Create { run_at: Some(now().after(std::time::Duration::from_secs(3_600))), ..new("job", "{}") };
    created(database, api, later).await;
    held(database, active).await;
    worker(commit(held(database, done).await)).await;
    worker(commit_only(held(database, unfinished).await)).await;
    let permanent = Fail {
        execution: held(database, failed).await,
        reason: "no".to_string(),
        permanent: true,
        retry_after: None,
        offers: Effects::default(),
    };
    worker(Command::Fail(permanent)).await;
    worker(fail(held(database, retried).await)).await;
    assert!(ask(database, api, cancel(cancelled)).await.is_yes());
    let (running, waiting) =
        (created(database, api, pass("a")).await, created(database, api, pass("a")).await);
    created(database, api, pass("a")).await;
    created(database, api, pass("b")).await;
    let lease = held(database, running).await;
    worker(progress(lease, record("step", "page", "{}"))).await;
    created(database, api, verdict("c")).await;
    created(database, api, new("todo", r#"{"title":"look"}"#)).await;
    while database.sequence(1_000).await.unwrap() > 0 {}
    Filled { ready, active, done, running, waiting, named }
}
