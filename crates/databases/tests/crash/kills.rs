//! D1, D2: the process that writes is killed, again and again, on one database.

use std::path::Path;

use tenure_core::draw::Draw;
use tenure_databases::look::Look;
use tenure_databases::postgres::Postgres;
use tenure_databases::sqlite::Sqlite;
use tenure_databases::{Database, postgres, sqlite};

use crate::child::{postgres_options, sqlite_options};
use crate::oracle::{Acks, Ahead, check, nothing_is_stuck};
use crate::program::Program;
use crate::{on_two_threads, rounds, schema};

/// Lines after which a child is killed, at most. It goes on while they are read, so the instant is anybody's guess.
const LINES_MAX: u64 = 300;

/// Starts a writer, kills it somewhere, and answers what it had been answered.
fn killed(url: &str, seed: u64, workers: usize) -> Acks {
    let mut child = Program::start(&format!("writer {url} {seed} {workers}"));
    let lines = 1 + Draw::new(seed).number() % LINES_MAX;
    let mut acks = Acks::default();
    for _ in 0..lines {
        acks.hear(&child.line().expect("it works until it is killed"));
    }
    acks.hear_all(&child.kill());
    assert_eq!(acks.errors, [""; 0], "nothing failed but the process");
    acks
}

/// The file is sound by SQLite's own judgement, and the turns of the keys are those of the items.
pub fn file_is_sound(path: &Path) {
    let connection = rusqlite::Connection::open(path).expect("it opens");
    let said: String = connection.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok");
    let wrong = "select count(*) from (
        select key from items where slot = 3 and laned = 1 except
        select l.key from lanes l join items i on i.id = l.running and i.slot = 3
        union all
        select key from lanes where running <> x'' except
        select key from items where slot = 3 and laned = 1)";
    assert_eq!(connection.query_row(wrong, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "lanes and items");
}

// I4: no crash comes between an effect and the record of its key, because they are one write: every name that was
// answered answers again, and what was not answered is there whole or not at all.
// covers: K-02, K-03, K-04, K-08, K-24, K-30, K-50
#[test]
fn d1_a_killed_writer_loses_nothing_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    let seed = rounds::seed();
    let mut all = Acks::default();
    on_two_threads(async {
        for round in 0..rounds::sqlite_kills() {
            let acks = killed(&format!("sqlite:{}", path.display()), seed + round as u64, 1);
            file_is_sound(&path);
            check(&Sqlite::open(&path, sqlite_options()).expect("it opens"), &acks).await;
            all.merge(acks);
        }
        let ahead = Ahead::default();
        let options = sqlite::Options { clock: Some(ahead.clock()), ..sqlite_options() };
        let database = Sqlite::open(&path, options).unwrap();
        at_the_end(&database, &ahead, &all).await;
        file_is_sound(&path);
    });
}

// covers: K-02, K-03, K-04, K-08, K-24, K-30, K-50
#[test]
fn d2_killed_writers_lose_nothing_on_postgres() {
    let schema = schema::fresh();
    let url = schema::url(&schema);
    let seed = rounds::seed();
    let mut all = Acks::default();
    on_two_threads(async {
        for round in 0..rounds::postgres_kills() {
            let acks = killed(&url, seed + round as u64, 3);
            check(&Postgres::connect(&url, postgres_options()).await.expect("it opens"), &acks).await;
            all.merge(acks);
        }
        let ahead = Ahead::default();
        let options = postgres::Options { clock: Some(ahead.clock()), ..postgres_options() };
        let database = Postgres::connect(&url, options).await.unwrap();
        at_the_end(&database, &ahead, &all).await;
        drop(database);
        schema::drop(&schema).await;
    });
}

/// What was answered in any round is still so, and all of it comes to its end.
pub async fn at_the_end<D: Database + Look>(database: &D, ahead: &Ahead, all: &Acks) {
    eprintln!("{} answers", all.lines);
    check(database, all).await;
    nothing_is_stuck(database, ahead).await;
    check(database, &Acks::default()).await;
}
