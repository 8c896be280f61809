//! Retention with the engine's own loop: items that were done long ago go by themselves.

use std::time::Duration;

use tenure::core::answer::Answer;
use tenure::core::draw::Draw;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::shipped;
use tenure::core::lifecycle::tables::Tables;
use tenure::core::request::{Cancel, Command, Commit, Create, Effects, NewMessage, Request, Take, Terms};
use tenure::databases::batch::run;
use tenure::databases::follow::Follow;
use tenure::databases::outside::now;
use tenure::databases::postgres::{self, Postgres};
use tenure::databases::sqlite::{self, Sqlite};
use tenure::databases::{Database, PAGE_MAX, Query, verify};
use tenure::{New, Tenure};

use crate::{PATIENCE, on_each};

/// The shipped lifecycles, and jobs that are kept for an hour.
fn tables() -> Tables {
    let mut tables = shipped::tables();
    let source = tables.current(&"job".parse().unwrap()).unwrap().source.to_string();
    let source =
        source.replace("| derived  | yes                    |", "| derived | yes |\n| retention | 1 h |");
    tables.add(tenure::core::lifecycle::parse::parse(&source).unwrap());
    tables
}

/// Jobs that were created under these names and called off, as of the clock of this database.
async fn cancelled<D: Database>(database: &D, names: std::ops::Range<usize>) -> Vec<ItemId> {
    let request = |command| {
        let (store, actor) = ("default".parse().unwrap(), "api:t".parse().unwrap());
        Request { store, actor, command }
    };
    let mut draw = Draw::new(names.start as u64);
    let mut items = Vec::new();
    for part in names.collect::<Vec<_>>().chunks(500) {
        let create = |name: &usize| {
            let payload = tenure::core::body::Body::json("{}").unwrap();
            let name = Some(format!("n{name}").parse().unwrap());
            request(Command::Create(Create { name, ..Create::new("job".parse().unwrap(), payload) }))
        };
        let creates: Vec<Request> = part.iter().map(create).collect();
        let created = run(database, &creates, &mut draw).await.into_iter().map(|reply| {
            let Answer::Created(item) = reply.unwrap().answer else { panic!("a job is created") };
            item.id
        });
        let created: Vec<ItemId> = created.collect();
        let cancel = |item: &ItemId| {
            let (reason, offers) = (Some("old".to_string()), Effects::default());
            request(Command::Cancel(Cancel { item: *item, reason, expected_version: None, offers }))
        };
        let cancels: Vec<Request> = created.iter().map(cancel).collect();
        let cancelled = run(database, &cancels, &mut draw).await;
        assert!(cancelled.iter().all(|reply| reply.as_ref().is_ok_and(|reply| reply.fresh)));
        items.extend(created);
    }
    items
}

/// A job that was done and sent a message, as of the clock of this database.
async fn sent<D: Database + Follow>(database: &D) -> ItemId {
    let request = |actor: &str, command| {
        let (store, actor) = ("default".parse().unwrap(), actor.parse().unwrap());
        Request { store, actor, command }
    };
    let body = || tenure::core::body::Body::json("1").unwrap();
    let mut draw = Draw::new(1);
    let mut ask = async |actor: &str, command| {
        run(database, &[request(actor, command)], &mut draw).await.remove(0).unwrap().answer
    };
    let terms = Terms { start: true, ..Terms::default() };
    let create = Create::new("job".parse().unwrap(), body());
    let Answer::Created(job) = ask("api:t", Command::Create(create)).await else { panic!() };
    let take = Take { item: job.id, terms };
    let Answer::Leased(leases) = ask("worker:w/1", Command::Take(take)).await else { panic!() };
    let messages = vec![NewMessage { label: "news".parse().unwrap(), body: body() }];
    let effects = Effects { messages, ..Effects::default() };
    let execution = leases[0].execution;
    let commit =
        Commit { execution, output: None, effects, finish: true, session: None, attests: Vec::new() };
    assert!(ask("worker:w/1", Command::Commit(commit)).await.is_yes());
    // Somebody subscribed before, and has heard nothing since.
    database.set_mark(&"subscriber late of default".parse().unwrap(), 0).await.unwrap();
    leases[0].item.id
}

// covers: K-26
#[test]
fn what_has_sent_messages_is_removed_when_they_were_heard() {
    on_each(async |url| {
        let long_ago = || -> tenure::databases::outside::Clock {
            std::sync::Arc::new(|| now().before(Duration::from_secs(7_200)))
        };
        let old = if let Some(path) = url.strip_prefix("sqlite:") {
            let options =
                sqlite::Options { tables: tables(), clock: Some(long_ago()), ..sqlite::Options::default() };
            sent(&Sqlite::open(path.as_ref(), options).unwrap()).await
        } else if url.starts_with("postgres") {
            let options = postgres::Options { tables: tables(), clock: Some(long_ago()) };
            sent(&Postgres::connect(&url, options).await.unwrap()).await
        } else {
            // What is in memory is as old as its engine.
            return;
        };
        let tenure = Tenure::builder(url.clone()).lifecycles(tables()).open().await.unwrap();
        let (heard, hears) = tokio::sync::mpsc::unbounded_channel();
        let hear = move |message: tenure::Message| {
            heard.send(message.item).unwrap();
            std::future::ready(Ok(()))
        };
        let mut hears = hears;
        let subscription = tenure.subscribe("late", &[], hear).await.unwrap();
        assert_eq!(hears.recv().await, Some(old), "it was kept for who had not heard of it");
        let gone = async {
            while tenure.counters().pruned() < 1 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, gone).await.unwrap();
        assert!(tenure.whole(old).await.is_err());
        drop(subscription);
    });
}

/// More than a page of them: the last page is short.
const OLD: usize = PAGE_MAX + 3;

// fault: W5
#[test]
fn what_is_older_than_its_retention_is_removed_by_itself() {
    on_each(async |url| {
        let long_ago = || -> tenure::databases::outside::Clock {
            std::sync::Arc::new(|| now().before(Duration::from_secs(7_200)))
        };
        let old = if let Some(path) = url.strip_prefix("sqlite:") {
            let options =
                sqlite::Options { tables: tables(), clock: Some(long_ago()), ..sqlite::Options::default() };
            cancelled(&Sqlite::open(path.as_ref(), options).unwrap(), 0..OLD).await
        } else if url.starts_with("postgres") {
            let options = postgres::Options { tables: tables(), clock: Some(long_ago()) };
            cancelled(&Postgres::connect(&url, options).await.unwrap(), 0..OLD).await
        } else {
            // What is in memory is as old as its engine.
            return;
        };
        let tenure = Tenure::builder(url.clone()).lifecycles(tables()).open().await.unwrap();
        let young = tenure.create(New::job(&1)).await.unwrap();
        tenure.cancel(young.id, "just now").await.unwrap();
        let gone = async {
            while tenure.counters().pruned() < OLD as u64 {
                tokio::task::yield_now().await;
                assert!(tenure.item(young.id).await.is_ok());
            }
        };
        tokio::time::timeout(PATIENCE, gone).await.unwrap();
        let left = tenure.list(Query { limit: 1_000, ..Query::default() }).await.unwrap();
        assert_eq!(left.iter().map(|item| item.id).collect::<Vec<_>>(), [young.id]);
        assert!(tenure.whole(old[0]).await.is_err() && tenure.history(old[0]).await.unwrap().is_empty());
        // The key is free again, and the log is sound.
        let again = tenure.create(New::job(&1).idempotency_key("n0")).await.unwrap();
        assert!(!old.contains(&again.id));
        drop(tenure);
        let report = if let Some(path) = url.strip_prefix("sqlite:") {
            let database = Sqlite::open(path.as_ref(), sqlite::Options::default()).unwrap();
            verify::database(&database, None, |_| {}).await.unwrap()
        } else {
            let database = Postgres::connect(&url, postgres::Options::default()).await.unwrap();
            verify::database(&database, None, |_| {}).await.unwrap()
        };
        assert!(report.is_sound(), "{report:?}");
        assert_eq!(report.items, OLD as u64 + 2);
    });
}
