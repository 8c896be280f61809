//! Removing what was kept for long enough, and what keeps an item from it.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::id::ItemId;
use tenure_core::item::Link;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::shipped;
use tenure_core::replay::{fold, replay};
use tenure_core::request::*;
use tenure_core::world::{Change, World};

use crate::kit::*;

/// The shipped lifecycle, kept for so long.
fn kept(kind: &str, span: &str) -> String {
    let tables = shipped::tables();
    let source = &tables.current(&kind.parse().unwrap()).unwrap().source;
    let settings = source.find("## Settings").unwrap();
    let first = settings + source[settings..].find("|--").unwrap();
    let end = first + source[first..].find('\n').unwrap();
    format!("{}\n| retention | {span} |{}", &source[..end], &source[end..])
}

fn prune(item: ItemId) -> Command {
    Command::Prune(Prune { item })
}

const HOUR: Duration = Duration::from_secs(3600);

/// A job that was done.
fn done(bench: &mut Bench, create: Create) -> ItemId {
    let job = bench.created("api:t", create).id;
    let terms = Terms { start: true, request: Some("r1".parse().unwrap()), ..Terms::default() };
    let Answer::Leased(leases) = bench.ask("worker:a/1", Command::Take(Take { item: job, terms })) else {
        panic!()
    };
    let execution = leases[0].execution;
    bench.ask(
        "worker:a/1",
        commit_with(execution, Effects { records: vec![record("r", "n", "1")], ..Effects::default() }),
    );
    bench.ask("worker:a/1", finish(execution));
    assert_eq!(bench.state(job), "SUCCEEDED");
    job
}

#[test]
fn what_was_kept_long_enough_goes_with_everything_but_its_history() {
    let mut bench = Bench::with(&kept("job", "1 h"));
    let name: tenure_core::word::Key = "n".parse().unwrap();
    let job = done(&mut bench, Create { name: Some(name.clone()), ..new("job", "{}") });
    let other = bench.job();
    assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED", "not yet");
    bench.wait(HOUR);
    assert_eq!(bench.refusal("admin:root", prune(job)), "FORBIDDEN");
    assert_eq!(bench.refusal("system:engine", prune(other)), "TRANSITION_REFUSED", "it has not ended");
    assert!(matches!(bench.ask("system:engine", prune(job)), Answer::Done(_)));
    let world = &bench.world;
    assert!(!world.items.contains_key(&job) && world.executions_of(job).next().is_none());
    assert!(world.records.is_empty() && world.names.is_empty() && !world.payloads.contains_key(&job));
    assert_eq!(bench.story(job), "create lease commit finish prune");
    assert_eq!(bench.refusal("system:engine", prune(job)), "NOT_FOUND", "it happens once");
    // The same key makes another item now.
    let again = bench.created("api:t", Create { name: Some(name), ..new("job", "{}") });
    assert_ne!(again.id, job);
}

#[test]
fn the_retention_in_force_counts_for_the_items_that_are_there() {
    let mut bench = Bench::new();
    let job = done(&mut bench, new("job", "{}"));
    bench.wait(2 * HOUR);
    assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED", "jobs are kept for ever");
    let mut tables = shipped::tables();
    tables.add(tenure_core::lifecycle::parse::parse(&kept("job", "1 h")).unwrap());
    bench.world.tables = std::sync::Arc::new(tables);
    assert!(bench.ask("system:engine", prune(job)).is_yes());
}

#[test]
fn what_an_unfinished_item_is_linked_to_stays() {
    let mut bench = Bench::with(&kept("job", "1 h"));
    let job = done(&mut bench, new("job", "{}"));
    let link = Link { label: "depends".parse().unwrap(), to: job };
    let todo =
        bench.created("human:h", Create { links: vec![link.clone()], ..new("todo", r#"{"title":"t"}"#) }).id;
    let late = bench.job();
    bench.wait(HOUR);
    assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED");
    // Linked later it counts as well, and removed it counts no more.
    let relink = |add: Vec<Link>, remove: Vec<Link>, item| Command::Link(Relink { item, add, remove });
    assert!(bench.ask("api:t", relink(vec![link.clone()], Vec::new(), late)).is_yes());
    assert!(bench.ask("human:h", relink(Vec::new(), vec![link.clone()], todo)).is_yes());
    assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED");
    // What has ended for good never looks there again.
    assert!(bench.ask("api:t", cancel(late)).is_yes());
    assert!(bench.ask("system:engine", prune(job)).is_yes());
}

/// A job that was done and sent a message; it was kept long enough. Its last entry is the fourth of the log.
fn sent(bench: &mut Bench) -> ItemId {
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let message = NewMessage { label: "news".parse().unwrap(), body: body("1") };
    bench
        .ask("worker:a/1", commit_with(execution, Effects { messages: vec![message], ..Effects::default() }));
    bench.ask("worker:a/1", finish(execution));
    bench.wait(HOUR);
    bench.world.places.insert(job, 4);
    job
}

fn webhook(bench: &mut Bench) -> ItemId {
    bench.create("api:t", "webhook", r#"{"name":"hook","url":"https://example.com","secrets":["env:A"]}"#)
}

// covers: K-26
#[test]
fn a_message_that_nobody_follows_keeps_nothing() {
    let mut bench = Bench::with(&kept("job", "1 h"));
    let job = sent(&mut bench);
    // Whoever follows another store, or reads the log for something else, waits for no message of this one.
    for other in ["subscriber a of other", "todos/validated/default"] {
        bench.world.marks.insert(other.parse().unwrap(), 0);
    }
    assert!(bench.ask("system:engine", prune(job)).is_yes());
    assert!(bench.world.messages.is_empty());
}

// covers: K-26
#[test]
fn a_message_that_a_subscriber_has_not_heard_keeps_its_item() {
    let mut bench = Bench::with(&kept("job", "1 h"));
    let job = sent(&mut bench);
    let marks: [tenure_core::word::Key; 2] =
        ["subscriber a of default", "subscriber b of default"].map(|mark| mark.parse().unwrap());
    for (first, second) in [(0, 4), (3, 9), (4, 3)] {
        bench.world.marks = [(marks[0].clone(), first), (marks[1].clone(), second)].into();
        assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED", "{first} {second}");
    }
    bench.world.marks = marks.map(|mark| (mark, 4)).into();
    bench.world.places.clear();
    assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED", "it has no place yet");
    bench.world.places.insert(job, 4);
    assert!(bench.ask("system:engine", prune(job)).is_yes());
}

// covers: K-26
#[test]
fn a_message_that_a_webhook_is_owed_keeps_its_item() {
    let mut bench = Bench::with(&kept("job", "1 h"));
    let early = sent(&mut bench);
    let hook = webhook(&mut bench);
    assert!(bench.ask("system:engine", prune(early)).is_yes(), "it was sent before the webhook was there");
    let job = sent(&mut bench);
    assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED");
    let mark: tenure_core::word::Key = "webhooks of default".parse().unwrap();
    bench.world.marks.insert(mark.clone(), 3);
    assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED");
    bench.world.marks.insert(mark.clone(), 4);
    assert!(bench.decide("system:engine", prune(job)).answer.is_yes());
    // With the webhook goes what it was owed.
    bench.world.marks.insert(mark, 0);
    let remove = Command::Move(Move::new(hook, "remove".parse().unwrap()));
    assert!(bench.ask("human:h", remove).is_yes());
    assert!(bench.ask("system:engine", prune(job)).is_yes());
}

// covers: K-26
#[test]
fn a_message_is_kept_while_it_is_on_its_way() {
    let mut bench = Bench::with(&kept("job", "1 h"));
    let job = sent(&mut bench);
    let payload = format!(r#"{{"webhook":"w","item":"{job}","version":3,"ordinal":0,"at":"now"}}"#);
    let link = Link { label: "message".parse().unwrap(), to: job };
    let delivery = Create { links: vec![link], ..new("delivery", &payload) };
    let deliveries = [(); 2].map(|()| bench.created("system:engine", delivery.clone()).id);
    assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED");
    for (delivery, ends) in deliveries.into_iter().zip(["commit", "fail"]) {
        let execution = bench.run("worker:a/1", delivery);
        assert_eq!(bench.refusal("system:engine", prune(job)), "TRANSITION_REFUSED", "{ends}");
        let end = match ends {
            "commit" => commit(execution),
            _ => fail_for_good(execution),
        };
        assert!(bench.ask("worker:a/1", end).is_yes());
        bench.ask("worker:a/1", finish(execution));
    }
    assert_eq!(bench.state(deliveries[1]), "FAILED");
    assert!(bench.ask("system:engine", prune(job)).is_yes(), "one arrived, one was given up");
}

#[test]
fn a_name_that_stands_for_several_leases_keeps_the_others() {
    let mut bench = Bench::with(&kept("job", "1 h"));
    let [first, second] = [(); 2].map(|()| done(&mut bench, new("job", "{}")));
    bench.wait(HOUR);
    assert!(bench.ask("system:engine", prune(first)).is_yes());
    let left: Vec<_> = bench.world.names.values().cloned().collect();
    let tenure_core::world::Named::Leased(leases) = &left[0] else { panic!("{left:?}") };
    assert_eq!(leases.iter().map(|lease| lease.item).collect::<Vec<_>>(), [second]);
    assert!(bench.ask("system:engine", prune(second)).is_yes());
    assert!(bench.world.names.is_empty());
}

// covers: K-42
#[test]
fn a_log_with_a_removed_item_replays_and_nothing_follows_the_removal() {
    let mut bench = Bench::with(&kept("job", "1 h"));
    let job = done(&mut bench, Create { name: Some("n".parse().unwrap()), ..new("job", "{}") });
    bench.wait(HOUR);
    bench.ask("system:engine", prune(job));
    let history = bench.history(job);
    let mut again = World::new(bench.world.tables.clone());
    for entry in &history {
        let changes = replay(&again, entry).unwrap();
        again.apply(changes);
    }
    assert!(again.items.is_empty() && again.names.is_empty() && again.executions.is_empty());
    assert!(fold(&history, &bench.world.tables).is_err(), "there is no such item");
    // Without the entries before it a prune says no less; but it needs the item to be at its end.
    let mut early = World::new(bench.world.tables.clone());
    for entry in &history[..2] {
        let changes = replay(&early, entry).unwrap();
        early.apply(changes);
    }
    let mut forged = history.last().unwrap().clone();
    (forged.version, forged.previous, forged.state) =
        (3, Some(history[1].hash()), "RUNNING".parse().unwrap());
    assert!(replay(&early, &forged).is_err(), "only what is final is removed");
    forged.actor = actor("api:x");
    assert!(replay(&early, &forged).is_err(), "only the engine removes");
}

// covers: K-33
#[test]
fn what_is_given_back_too_often_fails() {
    let source = kept("job", "1 h").replace("| retention | 1 h |", "| interruptions | 2 |");
    let mut bench = Bench::with(&source);
    let job = bench.created("api:t", Create { attempts: Some(2), ..new("job", "{}") }).id;
    for _ in 0..2 {
        let execution = bench.run("worker:a/1", job);
        bench.ask("worker:a/1", release(execution));
    }
    assert_eq!((bench.item(job).failures, bench.item(job).interruptions), (0, 2));
    for (failures, state) in [(1, "PENDING"), (2, "FAILED")] {
        bench.wait_until_due(job);
        let execution = bench.run("worker:a/1", job);
        let first = bench.ask("worker:a/1", release(execution));
        let Answer::Ran(ended) = &first else { panic!("{first:?}") };
        let end = ended.ended.as_ref().unwrap();
        assert_eq!((end.cause.as_str(), end.reason.as_deref()), ("fail", Some("interrupted too often")));
        assert_eq!(bench.ask("worker:a/1", release(execution)), first, "repeated it is the same");
        assert_eq!((bench.item(job).failures, bench.state(job)), (failures, state));
    }
}

// A webhook may be paused for a week: what waits for it is given back all the time, and is not given up.
// covers: K-26
#[test]
fn a_delivery_is_held_back_for_as_long_as_its_webhook_is_paused() {
    let mut bench = Bench::new();
    let payload = r#"{"webhook":"w","item":"i","version":3,"ordinal":0,"at":"now"}"#;
    let delivery = bench.created("system:engine", new("delivery", payload)).id;
    for _ in 0..2_000 {
        let execution = bench.run("worker:a/1", delivery);
        assert!(bench.ask("worker:a/1", release(execution)).is_yes());
        assert_eq!((bench.state(delivery), bench.item(delivery).failures), ("PENDING", 0));
    }
}

// covers: K-33
#[test]
fn where_nothing_can_fail_it_is_given_back_for_ever() {
    let mut bench = Bench::new();
    let session = bench.session("worker:a/1");
    let todo = bench.create("human:h", "todo", r#"{"title":"t"}"#);
    for _ in 0..120 {
        let execution = bench.claim("worker:a/1", todo, session);
        let Command::Release(plain) = release(execution) else { panic!() };
        let attests = vec![Guard::Workspace];
        assert!(bench.ask("worker:a/1", Command::Release(Release { attests, ..plain })).is_yes());
        assert_eq!(bench.state(todo), "Draft");
    }
    assert_eq!((bench.item(todo).interruptions, bench.item(todo).failures), (120, 0));
}

// covers: K-54
#[test]
fn what_has_no_release_is_ended_by_its_recovery_row_when_its_worker_shuts_down() {
    let mut bench = Bench::new();
    let run = bench.create("api:t", "run", r#"{"document_id":"d1"}"#);
    let execution = bench.run("worker:a/1", run);
    assert_eq!(bench.refusal("worker:a/1", release(execution)), "TRANSITION_REFUSED");
    let given_up = |fence| Sweep { item: run, fence, due: Due::GivenUp, offers: Effects::default() };
    let stale = Command::Sweep(given_up(tenure_core::id::Fence(7)));
    assert!(matches!(bench.ask("system:engine", stale), Answer::Same(_)), "another lease than this");
    let sweep = || Command::Sweep(given_up(execution.fence));
    assert_eq!(bench.refusal("worker:a/1", sweep()), "FORBIDDEN");
    assert!(bench.ask("system:engine", sweep()).is_yes());
    assert_eq!(bench.state(run), "FAILED");
    assert!(bench.item(run).reason.as_deref().is_some_and(|why| why.contains("shut down")));
    assert!(matches!(bench.ask("system:engine", sweep()), Answer::Same(_)));
    let changes: Vec<Change> = bench.decide("system:engine", sweep()).changes;
    assert!(changes.is_empty());
}
