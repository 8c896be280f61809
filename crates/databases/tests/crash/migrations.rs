//! D7: a migration is killed wherever it can be. The schema is the old one or the new one, and the next try succeeds.

use std::path::Path;

use tenure_core::draw::Draw;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::Sqlite;
use tenure_databases::sqlite::migrate::{self, MIGRATIONS, Migration};
use tokio_postgres::{Client, NoTls};

use crate::child::{postgres_options, sqlite_options};
use crate::files::left_behind;
use crate::oracle::{Acks, check};
use crate::program::Program;
use crate::shim::{Errno, Failing, How, Shim};
use crate::{on_two_threads, rounds, schema};

/// A second step, with everything that a step may do: it makes, changes and fills.
const SECOND: &str = "create table extra (item blob primary key, number integer) strict;
    alter table items add column extra integer;
    insert into extra (item, number) select id, version from items;
    update items set extra = 7;
    create index items_extra on items (extra);";

fn both() -> Vec<Migration> {
    let number = MIGRATIONS.last().map_or(0, |last| last.number) + 1;
    let mut both = MIGRATIONS.to_vec();
    both.push(Migration { number, name: "second", sql: SECOND });
    both
}

/// The child: brings a file up to the schema of the future.
pub fn bring_up(path: &Path) {
    let mut connection = rusqlite::Connection::open(path).expect("it opens");
    migrate::run(&mut connection, path, &both()).expect("it can be brought up");
}

fn version(path: &Path) -> i32 {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sound: String = connection.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let number = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let tables = "select count(*) from sqlite_schema where name = 'extra'";
    let extra: i32 = connection.query_row(tables, [], |row| row.get(0)).unwrap();
    let newest = both().last().unwrap().number;
    assert_eq!(extra == 1, number == newest, "the number says which schema it is");
    number
}

/// Kills the migration at every chosen call to the disk; between two calls nothing can be told from nothing.
fn killed_everywhere(old: Option<&[u8]>) {
    let folder = tempfile::tempdir().unwrap();
    let shim = Shim::build(folder.path());
    let path = folder.path().join("tenure.db");
    let newest = both().last().unwrap().number;
    let before = old.map_or(0, |_| newest - 1);
    let run = |at: usize| -> bool {
        for ending in ["", "-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(folder.path().join(format!("tenure.db{ending}")));
        }
        if let Some(old) = old {
            std::fs::write(&path, old).unwrap();
        }
        let failing =
            Failing { files: "tenure.db,-wal,-journal", call: "any", at, how: How::Kill, errno: Errno::Io };
        Program::start_with(&format!("migrate {}", path.display()), &shim.variables(failing)).ended_well()
    };
    assert!(run(0), "nobody kills it");
    assert_eq!(version(&path), newest);
    let all = shim.calls();
    for at in rounds::sample(all, rounds::migration_kills(), &mut Draw::new(rounds::seed())) {
        assert!(!run(at), "it was killed at call {at}");
        let found = version(&path);
        assert!(found == before || found == newest, "call {at}: {found}");
        if found == newest {
            let refused = Sqlite::open(&path, sqlite_options()).unwrap_err().to_string();
            assert!(refused.contains("use the newer Tenure"), "{refused}");
        } else {
            on_two_threads(async {
                check(&Sqlite::open(&path, sqlite_options()).unwrap(), &Acks::default()).await
            });
        }
        bring_up(&path);
        assert_eq!(version(&path), newest, "the next try succeeds");
    }
    eprintln!("{all} calls");
}

// covers: K-02, K-50
#[test]
fn d7_a_migration_that_is_killed_leaves_the_old_schema_or_the_new_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = left_behind(folder.path(), rounds::seed());
    // Opened and closed, all of it is in the one file.
    drop(Sqlite::open(&path, sqlite_options()).unwrap());
    killed_everywhere(Some(&std::fs::read(&path).unwrap()));
    killed_everywhere(None);
}

/// Any number that nobody else uses.
const LOCK: i32 = 77_001;

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is there");
    #[expect(clippy::disallowed_methods, reason = "it ends with its client")]
    tokio::spawn(connection);
    client
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.expect("it can be asked").get(0)
}

/// A migration waits at the command it is told to, for a lock that the test holds, and is killed while it waits.
// covers: K-02, K-50
#[test]
fn d7_a_migration_that_is_killed_leaves_the_old_schema_or_the_new_on_postgres() {
    let name = schema::fresh();
    let server = schema::server();
    let url = format!("{}/{name}", server.rsplit_once('/').expect("a URL").0);
    on_two_threads(async {
        schema::raw().await.batch_execute(&format!("create database {name}")).await.unwrap();
        let client = connect(&url).await;
        client.batch_execute(&hold()).await.unwrap();
        let told = format!("connect {url}");
        assert!(Program::start(&told).ended_well(), "nobody kills it");
        let all = number(&client, "select last_value from public.commands").await as usize;
        let gone = "set client_min_messages = error; drop schema if exists tenure cascade; \
                    drop view if exists public.tenure_inbox";
        client.batch_execute(gone).await.unwrap();
        let mut there = 0;
        // The last of them is the view for everybody.
        let mut kills = rounds::sample(all, rounds::migration_kills(), &mut Draw::new(rounds::seed()));
        kills.push(all);
        for at in kills {
            killed_at(&client, &told, at).await;
            there += number(&client, "select count(*) from pg_namespace where nspname = 'tenure'").await;
            let database = Postgres::connect(&url, postgres_options()).await.expect("the next try succeeds");
            check(&database, &Acks::default()).await;
            drop(database);
            let view = "select count(*) from pg_class where oid = to_regclass('public.tenure_inbox')";
            assert_eq!(number(&client, view).await, 1, "command {at}: the inbox is where everybody looks");
            client.batch_execute(gone).await.unwrap();
        }
        eprintln!("{all} commands");
        assert_eq!(there, 0, "what was not committed is not there");
        newer_is_refused(&client, &url).await;
        drop(client);
        let script = format!("drop database {name} with (force)");
        schema::raw().await.batch_execute(&script).await.unwrap();
    });
}

/// Counts the commands of a migration, and holds it at one of them.
fn hold() -> String {
    format!(
        "create sequence public.commands;
         create table public.stop (command bigint);
         insert into public.stop values (0);
         create function public.hold() returns event_trigger language plpgsql as $$ begin
             if nextval('public.commands') = (select command from public.stop) then
                 perform pg_advisory_xact_lock({LOCK});
             end if;
         end $$;
         create event trigger hold on ddl_command_end execute function public.hold();"
    )
}

/// Starts a child that brings the schema up, and kills it at this command. From then on nothing is held.
async fn killed_at(client: &Client, told: &str, at: usize) {
    let arm = format!(
        "select setval('public.commands', 1, false); update public.stop set command = {at}; \
         select pg_advisory_lock({LOCK})"
    );
    client.batch_execute(&arm).await.unwrap();
    let child = Program::start(told);
    let waits = format!(
        "select count(*) from pg_locks where objid = {LOCK} and not granted \
         and database = (select oid from pg_database where datname = current_database())"
    );
    while number(client, &waits).await == 0 {}
    child.kill();
    client.batch_execute(&format!("select pg_advisory_unlock({LOCK})")).await.unwrap();
    let others = "select count(*) from pg_stat_activity where datname = current_database() \
                  and pid <> pg_backend_pid() and backend_type = 'client backend'";
    while number(client, others).await > 0 {}
    client.batch_execute("update public.stop set command = 0").await.unwrap();
}

async fn newer_is_refused(client: &Client, url: &str) {
    drop(Postgres::connect(url, postgres_options()).await.unwrap());
    let newer = "insert into tenure.migrations (number, name) values (99, '0099_future')";
    client.batch_execute(newer).await.unwrap();
    let refused = Postgres::connect(url, postgres_options()).await.unwrap_err();
    assert!(matches!(refused, postgres::OpenError::Newer(_)), "{refused:?}");
    assert!(refused.to_string().contains("newer Tenure (migration 0099_future"), "{refused}");
}

/// The last step that an older program knew: all that follow are an upgrade of what it left.
const OLDER: usize = 3;

/// Makes the schema of an older program and gives it the rows that a writer of ours left, as far as it has columns for them.
async fn make_older(client: &Client) {
    client
        .batch_execute("alter schema tenure rename to newer; drop view if exists public.tenure_inbox")
        .await
        .unwrap();
    let made = "create schema tenure; create table tenure.migrations (number integer primary key, name text not null, \
                applied_at timestamptz not null default now())";
    client.batch_execute(made).await.unwrap();
    for step in &postgres::migrate::MIGRATIONS[..OLDER] {
        client.batch_execute(&step.sql.replace('@', "tenure")).await.unwrap();
        let note = "insert into tenure.migrations (number, name) values ($1, $2)";
        client.execute(note, &[&step.number, &step.name]).await.unwrap();
    }
    // The wall would not have them as they are: it judges steps, and these are where steps have led.
    let filled = "do $$ declare part record; begin
        set local session_replication_role = replica;
        -- Of a step that is yet to come.
        delete from newer.meta n where not exists (select from tenure.meta o where o.name = n.name);
        for part in select o.table_name, string_agg(format('%I', o.column_name), ', ') as columns
            from information_schema.columns o join information_schema.columns n using (table_name, column_name)
            join information_schema.tables t using (table_name)
            where o.table_schema = 'tenure' and n.table_schema = 'newer' and t.table_schema = 'tenure'
            and t.table_type = 'BASE TABLE' and o.table_name <> 'migrations' and o.is_generated = 'NEVER'
            group by o.table_name
        loop
            execute format('delete from tenure.%I', part.table_name);
            execute format('insert into tenure.%I (%s) overriding system value select %s from newer.%I',
                part.table_name, part.columns, part.columns, part.table_name);
        end loop;
        for part in select o.sequencename as name, n.last_value as at from pg_sequences o join pg_sequences n
            using (sequencename) where o.schemaname = 'tenure' and n.schemaname = 'newer' and n.last_value is not null
        loop
            perform setval(format('tenure.%I', part.name), part.at);
        end loop;
    end $$; set client_min_messages = error; drop schema newer cascade";
    client.batch_execute(filled).await.unwrap();
}

/// The schema of an older program, with rows in it, is brought up and killed at any command: it is the old one with all its rows, or
/// the new one with all of them, and the next try leads there.
// covers: K-02, K-50
#[test]
fn d7_an_upgrade_that_is_killed_keeps_every_row_on_postgres() {
    let (older, work) = (schema::fresh(), schema::fresh());
    let server = schema::server().rsplit_once('/').expect("a URL").0.to_string();
    on_two_threads(async {
        let raw = schema::raw().await;
        raw.batch_execute(&format!("create database {older}")).await.unwrap();
        let acks = {
            let url = format!("{server}/{older}");
            let mut child = Program::start(&format!("writer {url} {} 2", rounds::seed()));
            let mut acks = Acks::default();
            for _ in 0..150 {
                acks.hear(&child.line().expect("it works until it is killed"));
            }
            acks.hear_all(&child.kill());
            let database = Postgres::connect(&url, postgres_options()).await.unwrap();
            check(&database, &acks).await;
            drop(database);
            let client = connect(&url).await;
            make_older(&client).await;
            client.batch_execute(&hold()).await.unwrap();
            acks
        };
        let fresh = format!("drop database if exists {work} with (force)");
        let copy = format!("create database {work} template {older}");
        let free = format!("select count(*) from pg_stat_activity where datname = '{older}'");
        let url = format!("{server}/{work}");
        let told = format!("connect {url}");
        let newest = postgres::migrate::MIGRATIONS.len() as i64;
        let (mut all, mut done, mut kills) = (0, 0, vec![0]);
        while let Some(at) = kills.pop() {
            raw.batch_execute(&fresh).await.unwrap();
            while number(&raw, &free).await > 0 {}
            raw.batch_execute(&copy).await.unwrap();
            let client = connect(&url).await;
            let count = "select count(*) from tenure.items";
            let before = number(&client, count).await;
            assert!(before > 10, "an older program left {before} items");
            if at == 0 {
                assert!(Program::start(&told).ended_well(), "nobody kills it");
                all = number(&client, "select last_value from public.commands").await as usize;
                kills = rounds::sample(all, rounds::migration_kills(), &mut Draw::new(rounds::seed()));
            } else {
                killed_at(&client, &told, at).await;
                let found = number(&client, "select count(*) from tenure.migrations").await;
                assert!(found == OLDER as i64 || found == newest, "command {at}: {found} steps");
                assert_eq!(number(&client, count).await, before, "command {at}: every row is there");
                done += usize::from(found == newest);
            }
            let database = Postgres::connect(&url, postgres_options()).await.expect("the next try succeeds");
            assert_eq!(number(&client, "select count(*) from tenure.migrations").await, newest);
            check(&database, &acks).await;
        }
        eprintln!("{all} commands, {done} times it was done already");
        raw.batch_execute(&fresh).await.unwrap();
        raw.batch_execute(&format!("drop database {older} with (force)")).await.unwrap();
    });
}
