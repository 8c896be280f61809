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
use tokio_postgres::Client;

use crate::requests::*;
use crate::schema;

/// One sort of database, with a way around Tenure.
pub trait Ward: Sized {
    type Database: Patient;

    async fn open() -> Self;

    fn database(&self) -> &Self::Database;

    /// As `tenure doctor` opens it.
    fn look(&self) -> &Self::Database;

    /// Takes the wall away, as a stranger would who means harm.
    async fn unwall(&self);

    /// Runs statements as that stranger.
    async fn execute(&self, sql: &str);

    /// Keeps every row, and puts them back.
    async fn save(&self);
    async fn mend(&self);

    /// No bytes, as a value.
    const EMPTY: &'static str;

    async fn close(self);
}

pub struct File {
    database: Sqlite,
    looker: Sqlite,
    pub path: PathBuf,
    _folder: TempDir,
}

impl File {
    fn saved(&self) -> PathBuf {
        self.path.with_extension("saved")
    }

    /// A connection that knows nothing of Tenure, nor of checks.
    fn stranger(&self) -> rusqlite::Connection {
        let stranger = rusqlite::Connection::open(&self.path).expect("it opens");
        stranger.pragma_update(None, "ignore_check_constraints", true).unwrap();
        stranger
    }
}

fn names(connection: &rusqlite::Connection, schema: &str, sort: &str) -> Vec<String> {
    let sql =
        format!("select name from {schema}.sqlite_schema where type = '{sort}' and name not like 'sqlite%'");
    let mut statement = connection.prepare(&sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().flatten().collect()
}

impl Ward for File {
    type Database = Sqlite;

    async fn open() -> File {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tenure.db");
        let options = sqlite::Options { tables: shipped::tables(), ..sqlite::Options::default() };
        let database = Sqlite::open(&path, options).expect("it opens");
        let looker = Sqlite::look(&path).expect("it opens");
        File { database, looker, path, _folder: folder }
    }

    fn database(&self) -> &Sqlite {
        &self.database
    }

    fn look(&self) -> &Sqlite {
        &self.looker
    }

    async fn unwall(&self) {
        let triggers = names(&self.stranger(), "main", "trigger");
        for trigger in triggers {
            self.execute(&format!("drop trigger {trigger}")).await;
        }
        self.execute("drop index one_is_running_a_key").await;
    }

    async fn execute(&self, sql: &str) {
        self.stranger().execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    async fn save(&self) {
        self.database.backup(&self.saved()).await.unwrap();
    }

    async fn mend(&self) {
        let stranger = self.stranger();
        stranger.execute("attach ?1 as saved", [self.saved().to_str()]).unwrap();
        stranger.execute_batch("pragma foreign_keys = off; begin").unwrap();
        for table in names(&stranger, "saved", "table") {
            let sql =
                format!("delete from main.{table}; insert into main.{table} select * from saved.{table}");
            stranger.execute_batch(&sql).unwrap();
        }
        stranger.execute_batch("commit").unwrap();
    }

    const EMPTY: &'static str = "x''";

    async fn close(self) {}
}

pub struct Server {
    database: Postgres,
    looker: Postgres,
    stranger: Client,
    pub schema: String,
}

impl Server {
    pub fn url(&self) -> String {
        schema::url(&self.schema)
    }

    fn saved(&self) -> String {
        format!("{}_saved", self.schema)
    }

    /// Does something for `it`, each table in turn.
    async fn each_table(&self, what: &str) {
        let sql = format!(
            "do $$ declare it text; wall record; begin for it in select c.relname from pg_class c \
             where c.relkind = 'r' and c.relnamespace = '{}'::regnamespace loop {what} end loop; end $$",
            self.schema
        );
        self.execute(&sql).await;
    }
}

impl Ward for Server {
    type Database = Postgres;

    async fn open() -> Server {
        let schema = schema::fresh();
        let options = postgres::Options { tables: shipped::tables(), clock: None };
        let database = Postgres::connect(&schema::url(&schema), options).await.expect("it opens");
        let looker = Postgres::look(&schema::url(&schema)).await.expect("it opens");
        let stranger = schema::raw().await;
        stranger.batch_execute(&format!("set search_path = {schema}")).await.expect("a schema can be named");
        Server { database, looker, stranger, schema }
    }

    fn database(&self) -> &Postgres {
        &self.database
    }

    fn look(&self) -> &Postgres {
        &self.looker
    }

    async fn unwall(&self) {
        self.each_table(
            "execute format('alter table %I disable trigger user', it); \
             for wall in select conname from pg_constraint where contype = 'c' and conrelid = it::regclass loop \
                execute format('alter table %I drop constraint %I', it, wall.conname); end loop;",
        )
        .await;
        self.execute("drop index items_one_running_a_key").await;
    }

    async fn execute(&self, sql: &str) {
        self.stranger.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    async fn save(&self) {
        let saved = self.saved();
        self.execute(&format!("create schema {saved}")).await;
        self.each_table(&format!("execute format('create table {saved}.%I as table %1$I', it);")).await;
    }

    async fn mend(&self) {
        let saved = self.saved();
        self.each_table(&format!(
            "execute format('delete from %I', it); \
             execute format('insert into %I overriding system value select * from {saved}.%1$I', it);"
        ))
        .await;
    }

    const EMPTY: &'static str = "''::bytea";

    async fn close(self) {
        schema::drop(&self.saved()).await;
        schema::drop(&self.schema).await;
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
    doctor::examine(ward.look(), &Limits::default()).await.expect("it can be looked at")
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
