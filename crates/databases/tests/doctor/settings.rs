//! Settings and neighbours that endanger a database, as far as a test can make them so.

use std::time::Duration;

use tenure_databases::doctor::{self, Examined, Limits, Verdict};
use tenure_databases::postgres::Postgres;
use tenure_databases::sqlite::{Sqlite, side};

use crate::schema;
use crate::ward::*;

fn find<'a>(all: &'a [Examined], name: &str) -> &'a Examined {
    all.iter().find(|one| one.check.name == name).unwrap_or_else(|| panic!("there is no check {name}"))
}

fn names(all: &[Examined]) -> Vec<&str> {
    unwell(all).iter().map(|one| one.check.name).collect()
}

// covers: K-03, K-55
#[test]
fn what_endangers_a_file_is_told() {
    with(async |ward: &File| {
        filled(ward.database()).await;
        let gone = side::Server::here("127.0.0.1:7171");
        let note = format!("{}.server", ward.path.display());
        std::fs::write(note, serde_json::to_vec(&gone).unwrap()).unwrap();
        let all = examine(ward).await;
        assert_eq!(names(&all), ["a note of a server that is gone"]);
        let limits = Limits { wal_bytes: 1, free_bytes: u64::MAX, quick_check_bytes: 0, ..Limits::default() };
        let all = doctor::examine(ward.look(), &limits).await.unwrap();
        let told = [
            "the write-ahead log is put in its place",
            "the disk has room",
            "a note of a server that is gone",
        ];
        assert_eq!(names(&all), told);
        let skipped = find(&all, "the file is not damaged");
        assert!(
            skipped.only.as_deref().is_some_and(|only| only.starts_with("nothing: the file has ")),
            "{skipped:?}"
        );
    });
}

// covers: K-03
#[test]
fn another_journal_is_told_and_stays_as_it_is() {
    with(async |_: &File| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tenure.db");
        tenure_databases::sqlite::migrate::apply(&path).unwrap();
        let mode = |change: &str| {
            let stranger = rusqlite::Connection::open(&path).unwrap();
            stranger
                .query_row(&format!("pragma journal_mode{change}"), [], |row| row.get::<_, String>(0))
                .unwrap()
        };
        assert_eq!(mode(""), "wal", "a file that is made is made so");
        assert_eq!(mode(" = delete"), "delete");
        let all = doctor::examine(&Sqlite::look(&path).unwrap(), &Limits::default()).await.unwrap();
        assert_eq!(names(&all), ["the journal is a write-ahead log"]);
        assert_eq!(mode(""), "delete", "who looks changes nothing");
    });
}

// covers: K-53
#[test]
fn a_damaged_file_is_told() {
    with(async |ward: &File| {
        filled(ward.database()).await;
        let copy = ward.path.with_file_name("copy.db");
        ward.database().backup(&copy).await.unwrap();
        let stranger = rusqlite::Connection::open(&copy).unwrap();
        let root: i64 = stranger
            .query_row("select rootpage from sqlite_schema where name = 'items_ready'", [], |row| row.get(0))
            .unwrap();
        let page: i64 = stranger.query_row("pragma page_size", [], |row| row.get(0)).unwrap();
        drop(stranger);
        let mut bytes = std::fs::read(&copy).unwrap();
        let at = usize::try_from((root - 1) * page).unwrap();
        bytes[at..at + 64].fill(0xa5);
        std::fs::write(&copy, bytes).unwrap();
        let all = doctor::examine(&Sqlite::look(&copy).unwrap(), &Limits::default()).await.unwrap();
        let told = find(&all, "the file is not damaged");
        assert_eq!(told.verdict, Verdict::Wrong, "{told:?}");
    });
}

// covers: K-03, K-45, K-55
#[test]
fn what_endangers_a_server_is_told() {
    with(async |ward: &Server| {
        filled(ward.database()).await;
        ward.execute("alter table items set (autovacuum_enabled = false)").await;
        let all = examine(ward).await;
        assert_eq!(names(&all), ["dead rows are removed"]);
        assert_eq!(find(&all, "dead rows are removed").found[0].id, "table items");
        ward.execute("alter table items reset (autovacuum_enabled)").await;

        // As a role or a database has it, our own connections have it.
        let relaxed = format!(
            "{}&options=-c%20synchronous_commit%3Doff%20-c%20default_transaction_isolation%3Dserializable",
            ward.url()
        );
        let all =
            doctor::examine(&Postgres::look(&relaxed).await.unwrap(), &Limits::default()).await.unwrap();
        let told = ["a commit is answered when it is durable", "transactions are isolated as Tenure expects"];
        assert_eq!(names(&all), told);

        ward.unwall().await;
        ward.execute("update segments set pos = null, chain = null, at = 1 where pos = (select max(pos) from segments)")
            .await;
        let all = examine(ward).await;
        let told = &find(&all, "the log is given its order").found;
        assert!(told[0].what.starts_with("1 segments have no place, the oldest since 1970-"), "{told:?}");
    });
}

// covers: K-55
#[test]
fn who_keeps_dead_rows_is_named() {
    with(async |ward: &Server| {
        let idler = schema::raw().await;
        idler.batch_execute("begin isolation level repeatable read; select 1").await.unwrap();
        let pid: i32 = idler.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
        let preparer = schema::raw().await;
        let gid = format!("doctor {}", ward.schema);
        preparer.batch_execute("begin; select pg_current_xact_id()").await.unwrap();
        preparer.batch_execute(&format!("prepare transaction '{gid}'")).await.unwrap();
        let limits = Limits { pinned: Duration::ZERO, ..Limits::default() };
        let all = doctor::examine(ward.look(), &limits).await.unwrap();
        preparer.batch_execute(&format!("rollback prepared '{gid}'")).await.unwrap();
        let told = find(&all, "nobody keeps dead rows");
        // Other tests use this server too.
        for id in [format!("process {pid}"), format!("prepared transaction {gid}")] {
            assert!(told.found.iter().any(|found| found.id == id), "{id}: {told:?}");
        }
        assert_eq!(told.verdict, Verdict::Wrong);
        let again = examine(ward).await;
        assert_eq!(find(&again, "nobody keeps dead rows").verdict, Verdict::Well, "ten minutes are no harm");
    });
}
