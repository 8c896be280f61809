//! The inbox under faults: rows of others' transactions become items in order, once, whoever is killed meanwhile.

use tenure_core::draw::Draw;
use tenure_databases::look::Look;
use tenure_databases::postgres::Postgres;
use tenure_databases::sqlite::Sqlite;
use tenure_databases::{Database, batch};
use tokio_postgres::Client;

use crate::child::{postgres_options, sqlite_options};
use crate::oracle::{Acks, check, items};
use crate::program::Program;
use crate::requests::store;
use crate::voice::Voice;
use crate::writer::fast_clock;
use crate::{on_two_threads, rounds, schema};

/// Rows in one turn: few, so that there are many turns to be killed in.
const TURN: usize = 3;
/// Transactions of somebody else's.
const TRANSACTIONS: usize = 40;

/// The child: takes in until nothing is left, then waits.
pub async fn take<D: Database>(database: &D, voice: &Voice) {
    let mut draw = Draw::new(fast_clock().micros().unsigned_abs());
    loop {
        let turn = batch::inbox::take_in(database, TURN, &mut draw).await.expect("it works");
        if turn == batch::inbox::Turn::default() {
            voice.say("idle");
            voice.go_on().await;
        }
        voice.say(&format!("took {} {}", turn.taken, turn.refused));
    }
}

/// Somebody's own transactions: most are committed, some are rolled back, some have rows that make no item. Answers the
/// numbers that must become items, in their order, and how many rows must be kept.
fn transactions() -> (Vec<String>, Vec<usize>, usize) {
    let mut scripts = Vec::new();
    let (mut good, mut bad) = (Vec::new(), 0);
    for number in 0..TRANSACTIONS {
        let insert = |kind: &str, payload: &str, rest: &str| {
            format!(
                "insert into tenure_inbox (kind, payload, priority, idempotency_key) values ({kind}, {payload}, {rest});"
            )
        };
        let job = |number: usize, rest: &str| insert("'job'", &format!("'{{\"number\":{number}}}'"), rest);
        let (rows, end) = match number % 8 {
            2 => (job(number, "null, null"), "rollback"),
            3 => (insert("null", "'{}'", "null, null"), "commit"),
            4 => (insert("'job'", "'no json'", "null, null"), "commit"),
            5 => (insert("'nonsense'", "'{}'", "null, null"), "commit"),
            6 => (job(number, "1000, null"), "commit"),
            // One name twice makes one item.
            7 => {
                let rest = format!("null, 'n{number}'");
                (format!("{} {}", job(number, &rest), job(number, &rest)), "commit")
            }
            _ => (job(number, "null, null"), "commit"),
        };
        match number % 8 {
            0 | 1 | 7 => good.push(number),
            2 => {}
            _ => bad += 1,
        }
        scripts.push(format!("begin; {rows} {end};"));
    }
    (scripts, good, bad)
}

/// Takes everything in with children that are killed, all but the last.
fn take_in_with_kills(url: &str) {
    let mut dice = Draw::new(rounds::seed());
    for _ in 0..rounds::inbox_kills() {
        let mut child = Program::start(&format!("inbox {url}"));
        for _ in 0..1 + dice.number() % 3 {
            let line = child.line().expect("it works until it is killed");
            if line == "idle" {
                break;
            }
        }
        child.kill();
    }
    let mut last = Program::start(&format!("inbox {url}"));
    assert_eq!(last.until("idle").last().map(String::as_str), Some("idle"));
}

/// Every good row is an item, once, in the order of the rows.
async fn are_items<D: Database + Look>(database: &D, good: &[usize]) {
    check(database, &Acks::default()).await;
    let mut numbers = Vec::new();
    for item in items(database).await {
        let payload = database.whole(&store(), item.id).await.unwrap().unwrap().payload.unwrap();
        let payload: serde_json::Value = serde_json::from_slice(payload.bytes()).unwrap();
        numbers.push(payload["number"].as_u64().unwrap() as usize);
    }
    assert_eq!(numbers, good);
}

// covers: K-02, K-04, K-50
#[test]
fn rows_of_the_inbox_become_items_once_and_in_order_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    let (scripts, good, bad) = transactions();
    on_two_threads(async {
        let database = Sqlite::open(&path, sqlite_options()).unwrap();
        let raw = rusqlite::Connection::open(&path).unwrap();
        scripts.iter().for_each(|script| raw.execute_batch(script).unwrap());
        take_in_with_kills(&format!("sqlite:{}", path.display()));
        are_items(&database, &good).await;
        let kept = "select count(*), count(error) from tenure_inbox";
        let kept: (i64, i64) = raw.query_row(kept, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(kept, (bad as i64, bad as i64), "what is bad is kept with its error");
    });
}

// covers: K-02, K-04, K-50
#[test]
fn rows_of_the_inbox_become_items_once_and_in_order_on_postgres() {
    let schema = schema::fresh();
    let url = schema::url(&schema);
    let (scripts, good, bad) = transactions();
    on_two_threads(async {
        let database = Postgres::connect(&url, postgres_options()).await.unwrap();
        let raw: Client = schema::raw().await;
        raw.batch_execute(&format!("set search_path = {schema}")).await.unwrap();
        for script in &scripts {
            raw.batch_execute(script).await.unwrap();
        }
        take_in_with_kills(&url);
        are_items(&database, &good).await;
        let kept = raw.query_one("select count(*), count(error) from tenure_inbox", &[]).await.unwrap();
        let kept: (i64, i64) = (kept.get(0), kept.get(1));
        assert_eq!(kept, (bad as i64, bad as i64), "what is bad is kept with its error");
        drop(database);
        schema::drop(&schema).await;
    });
}
