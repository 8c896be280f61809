//! F1, F4, F12: 32 claimers at the same instant, round after round, on one database.

use std::sync::Arc;

use tenure_core::answer::Answer;
use tenure_core::draw::Draw;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::shipped;
use tenure_core::request::Request;
use tenure_databases::Database;
use tenure_databases::batch::{self, Reply};
use tenure_databases::look::Look;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tokio::task::JoinSet;

use crate::oracle::{Acks, check};
use crate::requests::*;
use crate::{on_two_threads, rounds, schema};

const CLAIMERS: usize = 32;
const KEYS: usize = 4;

/// Each in a batch of its own, all at once.
async fn race<D: Database + 'static>(
    database: &Arc<D>,
    requests: Vec<Request>,
    dice: &mut Draw,
) -> Vec<Reply> {
    let mut callers = JoinSet::new();
    for request in requests {
        let (database, mut draw) = (database.clone(), Draw::new(dice.number()));
        callers.spawn(async move {
            let reply = batch::run(&*database, std::slice::from_ref(&request), &mut draw).await.remove(0);
            reply.expect("no race that was lost reaches a caller")
        });
    }
    callers.join_all().await
}

async fn one<D: Database + 'static>(database: &Arc<D>, request: Request, dice: &mut Draw) -> Answer {
    race(database, vec![request], dice).await.remove(0).answer
}

async fn made<D: Database + 'static>(database: &Arc<D>, request: Request, dice: &mut Draw) -> ItemId {
    match one(database, request, dice).await {
        Answer::Created(item) => item.id,
        other => panic!("not created: {other:?}"),
    }
}

fn claimer(number: usize) -> String {
    format!("worker:w{number}/1")
}

/// F1: of all that claim one item one gets it, by name or by turn.
async fn one_wins<D: Database + 'static>(database: &Arc<D>, dice: &mut Draw) {
    for round in 0..rounds::claims() {
        let item = made(database, create(new("job", "{}")), dice).await;
        let claim = |number| match round % 2 {
            0 => request(&claimer(number), take(item)),
            _ => request(&claimer(number), acquire(&["job"], 1)),
        };
        let replies = race(database, (0..CLAIMERS).map(claim).collect(), dice).await;
        let won =
            replies.iter().filter(|reply| matches!(&reply.answer, Answer::Leased(all) if !all.is_empty()));
        assert_eq!(won.count(), 1, "round {round}: {replies:#?}");
    }
}

/// F4: a commit races a cancel, a failure and a release of the same lease. It ends once.
async fn it_ends_once<D: Database + 'static>(database: &Arc<D>, dice: &mut Draw) {
    for round in 0..rounds::ends() {
        let item = made(database, create(new("job", "{}")), dice).await;
        let terms = tenure_core::request::Terms { start: true, ..Default::default() };
        let lease = request(&claimer(0), acquire_with(&["job"], 1, terms));
        let leased = leases(one(database, lease, dice).await);
        assert_eq!(ids(&leased), [item], "nothing else is ready");
        let execution = leased[0].execution;
        let holder = |command| request(&claimer(0), command);
        let mut requests = Vec::new();
        for _ in 0..CLAIMERS / 4 {
            requests.extend([holder(commit(execution)), holder(fail(execution)), holder(release(execution))]);
            requests.push(request("api:test", cancel(item)));
        }
        race(database, requests, dice).await;
        let history = database.history(&store(), item).await.unwrap();
        let ends = [Event::Commit, Event::Fail, Event::Release];
        let ended = history.iter().filter(|entry| ends.contains(&entry.action)).count();
        let cancelled = history.iter().filter(|entry| entry.action == Event::Cancel).count();
        assert!(ended <= 1 && ended + cancelled >= 1, "round {round}: {history:#?}");
        // What was given back would be the next round's.
        let _ = one(database, request("api:test", cancel(item)), dice).await;
    }
}

/// F12: of each key one is running, whoever claims.
async fn one_a_key<D: Database + 'static>(database: &Arc<D>, dice: &mut Draw) {
    let documents = |number: usize| create(pass(&format!("d{}", number % KEYS)));
    race(database, (0..CLAIMERS).map(documents).collect(), dice).await;
    for round in 0..CLAIMERS / KEYS {
        let claim = |number| request(&claimer(number), acquire(&["run"], 2));
        let replies = race(database, (0..CLAIMERS).map(claim).collect(), dice).await;
        let leased: Vec<_> = replies.into_iter().flat_map(|reply| leases(reply.answer)).collect();
        let mut keys: Vec<_> = leased.iter().map(|lease| lease.item.key.clone()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!((leased.len(), keys.len()), (KEYS, KEYS), "round {round}");
        for lease in &leased {
            let owner = lease.item.lease.as_ref().expect("it was leased").owner.to_string();
            let run = request(&format!("worker:{owner}"), fail(lease.execution));
            assert!(one(database, run, dice).await.is_yes());
        }
    }
}

/// F1, F4, F12.
async fn all<D: Database + Look + 'static>(database: D, queues: usize) {
    let database = Arc::new(database);
    let mut dice = Draw::new(rounds::seed());
    one_wins(&database, &mut dice).await;
    it_ends_once(&database, &mut dice).await;
    for _ in 0..queues {
        one_a_key(&database, &mut dice).await;
    }
    check(&*database, &Acks::default()).await;
}

// covers: K-05, K-10, K-15, K-31
#[test]
fn f1_f4_f12_many_claimers_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let options = sqlite::Options { tables: shipped::tables(), relaxed: true, ..sqlite::Options::default() };
    on_two_threads(async {
        let database = Sqlite::open(&folder.path().join("tenure.db"), options).unwrap();
        all(database, rounds::sqlite_queues()).await;
    });
}

// covers: K-05, K-10, K-15, K-31
#[test]
fn f1_f4_f12_many_claimers_on_postgres() {
    let schema = schema::fresh();
    let url = format!("{}?schema={schema}&connections=8", schema::server());
    on_two_threads(async {
        let options = postgres::Options { tables: shipped::tables(), clock: None };
        all(Postgres::connect(&url, options).await.unwrap(), rounds::postgres_queues()).await;
        schema::drop(&schema).await;
    });
}
