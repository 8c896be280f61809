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
        let hold = format!(
            "create sequence public.commands;
             create table public.stop (command bigint);
             insert into public.stop values (0);
             create function public.hold() returns event_trigger language plpgsql as $$ begin
                 if nextval('public.commands') = (select command from public.stop) then
                     perform pg_advisory_xact_lock({LOCK});
                 end if;
             end $$;
             create event trigger hold on ddl_command_end execute function public.hold();"
        );
        client.batch_execute(&hold).await.unwrap();
        let told = format!("connect {url}");
        assert!(Program::start(&told).ended_well(), "nobody kills it");
        let all = number(&client, "select last_value from public.commands").await as usize;
        let gone = "set client_min_messages = error; drop schema if exists tenure cascade; \
                    drop view if exists public.tenure_inbox";
        client.batch_execute(gone).await.unwrap();
        let mut there = 0;
        for at in rounds::sample(all, rounds::migration_kills(), &mut Draw::new(rounds::seed())) {
            let arm = format!(
                "select setval('public.commands', 1, false); update public.stop set command = {at}; \
                 select pg_advisory_lock({LOCK})"
            );
            client.batch_execute(&arm).await.unwrap();
            let child = Program::start(&told);
            let waits = format!("select count(*) from pg_locks where objid = {LOCK} and not granted");
            while number(&client, &waits).await == 0 {}
            child.kill();
            client.batch_execute(&format!("select pg_advisory_unlock({LOCK})")).await.unwrap();
            let others = "select count(*) from pg_stat_activity where datname = current_database() \
                          and pid <> pg_backend_pid() and backend_type = 'client backend'";
            while number(&client, others).await > 0 {}
            // The last command is after the commit: a view for everybody, without which all is there.
            let left = number(&client, "select count(*) from pg_namespace where nspname = 'tenure'").await;
            there += left;
            client.batch_execute("update public.stop set command = 0").await.unwrap();
            let database = Postgres::connect(&url, postgres_options()).await.expect("the next try succeeds");
            check(&database, &Acks::default()).await;
            drop(database);
            client.batch_execute(gone).await.unwrap();
        }
        eprintln!("{all} commands, {there} times it was done already");
        assert!(there <= 1, "what was not committed is not there");
        newer_is_refused(&client, &url).await;
        drop(client);
        let script = format!("drop database {name} with (force)");
        schema::raw().await.batch_execute(&script).await.unwrap();
    });
}

async fn newer_is_refused(client: &Client, url: &str) {
    drop(Postgres::connect(url, postgres_options()).await.unwrap());
    let newer = "insert into tenure.migrations (number, name) values (99, '0099_future')";
    client.batch_execute(newer).await.unwrap();
    let refused = Postgres::connect(url, postgres_options()).await.unwrap_err();
    assert!(matches!(refused, postgres::OpenError::Newer(_)), "{refused:?}");
    assert!(refused.to_string().contains("newer Tenure (migration 0099_future"), "{refused}");
}
