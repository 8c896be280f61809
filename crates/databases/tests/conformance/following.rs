//! What somebody who follows the log needs: marks that only grow, single messages, and the items that stand for their keys.

use tenure_core::answer::Answer;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::request::*;
use tenure_core::word::Key;
use tenure_databases::follow::{Follow, MessageId};
use tenure_databases::{Database, PAGE_MAX};

use crate::harness::{Bench, Harness};
use crate::requests::*;

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

pub async fn a_mark_only_grows<H: Harness>(bench: &Bench<H>) {
    let database = bench.database();
    let mark = async |name: &str| database.mark(&key(name)).await.unwrap();
    assert_eq!(mark("a").await, None);
    for (value, then) in [(0, 0), (7, 7), (3, 7), (7, 7), (8, 8)] {
        database.set_mark(&key("a"), value).await.unwrap();
        assert_eq!(mark("a").await, Some(then));
    }
    assert_eq!(mark("b").await, None, "another's is its own");
    database.set_mark(&key("b"), u64::MAX >> 1).await.unwrap();
    assert_eq!((mark("a").await, mark("b").await), (Some(8), Some(u64::MAX >> 1)));
}

pub async fn a_message_is_read_by_what_names_it<H: Harness>(bench: &Bench<H>) {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    let label = |text: &str| text.parse().unwrap();
    let message = |text: &str, json: &str| NewMessage { label: label(text), body: body(json) };
    let messages = vec![message("paid", r#"{"sum": 1.50}"#), message("sent", "null")];
    let effects = Effects { messages, ..Effects::default() };
    assert!(bench.reply(request("worker:a/1", commit_with(execution, effects))).await.fresh);
    let version = bench.item(job).await.version;
    let database = bench.database();
    let read = async |store: &str, item: ItemId, version: u64, ordinal: u32| {
        database.message(&store.parse().unwrap(), MessageId { item, version, ordinal }).await.unwrap()
    };
    let paid = read("default", job, version, 0).await.unwrap();
    assert_eq!((&*paid.label, paid.body.bytes()), ("paid", &br#"{"sum": 1.50}"#[..]));
    assert_eq!((paid.item, paid.version, paid.ordinal), (job, version, 0));
    assert_eq!(&*read("default", job, version, 1).await.unwrap().label, "sent");
    assert_eq!(read("default", job, version, 2).await, None);
    assert_eq!(read("default", job, version + 1, 0).await, None);
    assert_eq!(read("other", job, version, 0).await, None, "it is of another store");
    assert_eq!(database.whole(&store(), job).await.unwrap().unwrap().messages[0], paid);
}

pub async fn those_that_stand_for_their_keys_are_listed<H: Harness>(bench: &Bench<H>) {
    let event = |ticket: &str| new("ticket_ready", &format!(r#"{{"ticket_id":"{ticket}"}}"#));
    let mut events = Vec::new();
    for ticket in ["b", "a", "ä", "c"] {
        let created = bench.ask("worker:r", Command::Create(event(ticket))).await;
        let Answer::Created(item) = created else { panic!("{created:?}") };
        events.push(item.id);
    }
    bench.pass("a").await;
    let database = bench.database();
    let kind = "ticket_ready".parse().unwrap();
    let standing = async |after: Option<&str>, limit: usize| {
        let after = after.map(key);
        let found = database.standing(&store(), &kind, after.as_ref(), limit).await.unwrap();
        found.into_iter().map(|(key, item)| (key.to_string(), item)).collect::<Vec<_>>()
    };
    let of = |ticket: &str, at: usize| (ticket.to_string(), events[at]);
    assert_eq!(standing(None, PAGE_MAX).await, [of("a", 1), of("b", 0), of("c", 3), of("ä", 2)]);
    assert_eq!(standing(None, 2).await, [of("a", 1), of("b", 0)]);
    assert_eq!(standing(Some("b"), 2).await, [of("c", 3), of("ä", 2)]);
    // What is held still stands for its key; what has ended does not.
    let held = bench.run("worker:a/1", events[1]).await;
    assert_eq!(standing(None, 1).await, [of("a", 1)]);
    let Command::Commit(commit) = commit(held) else { panic!("it is one") };
    let processed = Command::Commit(Commit { attests: vec![Guard::TerminalReason], ..commit });
    assert!(bench.reply(request("worker:a/1", processed)).await.fresh);
    assert_eq!(standing(None, 1).await, [of("b", 0)]);
    let other = "other".parse().unwrap();
    assert_eq!(database.standing(&other, &kind, None, PAGE_MAX).await.unwrap(), []);
}
