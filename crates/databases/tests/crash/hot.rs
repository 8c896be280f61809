//! F12: processes that all want the runs of one key. One runs at a time, in the order of the queue, and each process gets its share.

use std::collections::BTreeMap;

use tenure_core::draw::Draw;
use tenure_core::lifecycle::event::Event;
use tenure_core::request::Terms;
use tenure_databases::batch;
use tenure_databases::look::Look;
use tenure_databases::postgres::Postgres;
use tenure_databases::sqlite::Sqlite;
use tenure_databases::{Database, PAGE_MAX};

use crate::child::{postgres_options, sqlite_options};
use crate::oracle::{Acks, check};
use crate::program::Program;
use crate::requests::*;
use crate::voice::Voice;
use crate::{on_two_threads, rounds, schema};

const PROCESSES: usize = 4;
/// Whoever gets less than so much of an equal share starves.
const SHARE_MIN: usize = 5;

/// The child: claims and commits one run after the other until it is told that there is none left. A claim that finds the key taken
/// is made again at once, so that all of them fight all the time.
pub async fn claim<D: Database>(database: &D, voice: &Voice, name: &str) {
    let worker = format!("worker:{name}/1");
    let mut draw = Draw::new(Draw::new(u64::from(std::process::id())).number());
    voice.say("open");
    voice.go_on().await;
    loop {
        let terms = Terms { start: true, ..Terms::default() };
        let wanted = [request(&worker, acquire_with(&["run"], 1, terms))];
        let replies = batch::run(database, &wanted, &mut draw).await;
        let leased = leases(replies.into_iter().next().expect("a reply").expect("the database works").answer);
        for lease in leased {
            let done = [request(&worker, commit(lease.execution))];
            let reply = batch::run(database, &done, &mut draw).await.remove(0).expect("the database works");
            assert!(reply.answer.is_yes(), "{reply:?}");
            voice.say(&format!("won {}", lease.execution.item));
        }
    }
}

/// Lets the processes fight until all runs are done; answers how many each of them did.
async fn fought<D: Database>(database: &D, url: &str) -> BTreeMap<usize, usize> {
    let count = rounds::hot();
    let runs: Vec<_> = (0..count).map(|_| create(pass("hot"))).collect();
    for some in runs.chunks(500) {
        for reply in batch::run(database, some, &mut Draw::new(rounds::seed())).await {
            assert!(reply.expect("the database works").answer.is_yes());
        }
    }
    let start = |number: usize| Program::start(&format!("claimer {url} p{number}"));
    let mut children: Vec<Program> = (0..PROCESSES).map(start).collect();
    for child in &mut children {
        assert_eq!(child.line().as_deref(), Some("open"));
    }
    children.iter_mut().for_each(Program::go_on);
    nothing_is_left(database).await;
    children.into_iter().enumerate().map(|(number, child)| (number, won(child))).collect()
}

/// Looks until no run waits or is held.
async fn nothing_is_left<D: Database>(database: &D) {
    use tenure_core::lifecycle::Phase;
    use tenure_databases::Query;
    loop {
        let mut open = 0;
        for phase in [Phase::Ready, Phase::Active] {
            let query = Query { phase: Some(phase), limit: 1, ..Query::default() };
            open += database.list(&query).await.expect("it can be read").len();
        }
        if open == 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// How many it did: all it had said when nothing was left.
fn won(child: Program) -> usize {
    child.kill().iter().filter(|line| line.starts_with("won ")).count()
}

/// In the log one lease of the key follows the end of the one before it, in the order in which the runs were made.
async fn one_at_a_time<D: Database>(database: &D) {
    while database.sequence(PAGE_MAX).await.unwrap() > 0 {}
    let (mut after, mut running, mut leased) = (0, None, Vec::new());
    loop {
        let page = database.log(after, PAGE_MAX).await.unwrap();
        let Some((last, _)) = page.last() else { break };
        after = *last;
        for (position, entry) in page {
            match entry.action {
                Event::Lease => {
                    assert_eq!(running.replace(entry.item), None, "two run at {position}");
                    leased.push(entry.item);
                }
                Event::Commit => assert_eq!(running.take(), Some(entry.item), "at {position}"),
                _ => {}
            }
        }
    }
    assert_eq!(leased.len(), rounds::hot());
    assert!(leased.is_sorted(), "the oldest is first");
}

async fn judged<D: Database + Look>(database: &D, url: &str) {
    let shares = fought(database, url).await;
    eprintln!("{shares:?}");
    one_at_a_time(database).await;
    check(database, &Acks::default()).await;
    let equal = rounds::hot() / PROCESSES;
    assert!(shares.values().all(|share| *share >= equal / SHARE_MIN), "somebody starves: {shares:?}");
}

// covers: K-31
#[test]
fn f12_processes_share_one_hot_key_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    on_two_threads(async {
        let database = Sqlite::open(&path, sqlite_options()).unwrap();
        judged(&database, &format!("sqlite:{}", path.display())).await;
    });
}

// covers: K-31
#[test]
fn f12_processes_share_one_hot_key_on_postgres() {
    let schema = schema::fresh();
    let url = schema::url(&schema);
    on_two_threads(async {
        let database = Postgres::connect(&url, postgres_options()).await.unwrap();
        judged(&database, &url).await;
        drop(database);
        schema::drop(&schema).await;
    });
}
