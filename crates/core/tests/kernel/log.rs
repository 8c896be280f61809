//! The log: canonical lines, an unbroken chain, hashes instead of bytes, and a world that replays from it.

use std::path::Path;
use std::sync::Arc;

use tenure_core::answer::Answer;
use tenure_core::entry::Entry;
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;
use tenure_core::replay::{fold, replay};
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_core::world::World;

use crate::kit::*;

/// The lifecycles as they were when the golden files were written: items keep theirs, whatever ships today.
fn golden() -> Bench {
    let mut bench = Bench::new();
    let mut tables = shipped::tables();
    for source in [include_str!("golden/job.md"), include_str!("golden/todo.md")] {
        tables.add(parse(source).unwrap());
    }
    bench.world.tables = Arc::new(tables);
    bench
}

/// A job that is tried in every way, called off while it runs, and then erased.
fn job_history() -> (Bench, ItemId) {
    let mut bench = golden();
    let create = Create {
        key: Some("Grüße 1".parse().unwrap()),
        priority: Some(-3),
        attempts: Some(9),
        ..named("job", r#"{"secret":"s3cr3t"}"#, "once")
    };
    let job = bench.created("api:test", create).id;
    let released = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", release(released));
    bench.wait(seconds(2));
    let failed = bench.run("worker:a/1", job);
    bench.ask(
        "worker:a/1",
        progress(failed, record("step", "read/1", r#"{"secret":"s3cr3t"}"#), &["read"], &[]),
    );
    bench.ask("worker:a/1", fail_for(failed, "line 1\nline \"2\" \u{1f} é \u{1F600}"));
    bench.wait_until_due(job);
    bench.ask("worker:b/1", take_under(job, "r1"));
    bench.expire(job);
    let cancelled = bench.run("worker:c/1", job);
    bench.ask("human:eva", cancel(job));
    bench.ask("api:test", note(job, record("remark", "1", "{}")));
    bench.ask("worker:c/1", release(cancelled));
    bench.ask("api:test", Command::Erase(Erase { item: job, reason: Some("asked for".to_string()) }));
    (bench, job)
}

/// A todo that depends on another, is claimed in two sessions, given back, and verified.
fn todo_history() -> (Bench, ItemId) {
    let mut bench = golden();
    let other = bench.create("human:eva", "todo", r#"{"title":"other"}"#);
    let todo = bench.create("human:eva", "todo", r#"{"title":"this"}"#);
    let link = || vec![tenure_core::item::Link { label: "depends".parse().unwrap(), to: other }];
    bench.ask("human:eva", Command::Link(Relink { item: todo, add: link(), remove: vec![] }));
    bench.ask("human:eva", Command::Link(Relink { item: todo, add: vec![], remove: link() }));
    let session = bench.session("worker:agent/s1");
    bench.claim("worker:agent/s1", todo, session);
    bench.wait(seconds(60));
    let newer = bench.session("worker:agent/s2");
    bench.claim("worker:agent/s2", todo, newer);
    bench.expire(todo);
    let newest = bench.session("worker:agent/s3");
    let execution = bench.claim("worker:agent/s3", todo, newest);
    assert!(bench.ask("worker:agent/s3", done(execution, newest, "proof")).is_yes());
    (bench, todo)
}

fn lines(bench: &Bench, item: ItemId) -> String {
    bench.history(item).iter().map(|entry| String::from_utf8(entry.canonical()).unwrap() + "\n").collect()
}

/// The whole log in an order in which it could have been written.
fn log(bench: &Bench) -> Vec<Entry> {
    let mut entries: Vec<Entry> = bench.world.entries.values().map(|entry| Entry::clone(entry)).collect();
    entries.sort_by_key(|entry| (entry.at, entry.item, entry.version));
    entries
}

fn replayed(bench: &Bench, entries: &[Entry]) -> World {
    let mut world = World::new(bench.world.tables.clone());
    world.now = bench.world.now;
    for entry in entries {
        let changes = replay(&world, entry).expect("what was written replays");
        world.apply(changes);
    }
    world
}

// covers: K-40, T-12
#[test]
fn old_histories_stay_readable_byte_for_byte() {
    for (name, (bench, item)) in [("job", job_history()), ("todo", todo_history())] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kernel/golden/{name}.jsonl"));
        let written = lines(&bench, item);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &written).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        // Data written by old releases: what is in the file is read, and means what it meant.
        let entries: Vec<Entry> = kept.lines().map(|line| Entry::read(line.as_bytes()).unwrap()).collect();
        let folded = fold(&entries, &bench.world.tables).unwrap();
        assert_eq!(folded, bench.item(item).as_logged(), "{name}");
        assert_eq!(written, kept, "{name}: set UPDATE_GOLDEN=1 only if the format was never released");
    }
}

// covers: K-40, K-06
#[test]
fn every_entry_is_what_a_canonicalizer_makes_of_it() {
    for (bench, _) in [job_history(), todo_history()] {
        for entry in bench.world.entries.values() {
            let line = entry.canonical();
            let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
            let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
            assert_eq!(String::from_utf8(line.clone()).unwrap(), String::from_utf8(canonical).unwrap());
            assert_eq!(Entry::read(&line).as_ref(), Ok(&**entry), "and is read back");
            for field in ["event_id", "store", "item", "version", "action", "actor", "occurred_at", "payload"]
            {
                assert!(!value[field].is_null(), "{field}");
            }
        }
    }
}

// covers: K-40, K-43
#[test]
fn each_entry_names_the_hash_of_the_one_before_it() {
    let (bench, job) = job_history();
    let history = bench.history(job);
    let mut previous = None;
    for (entry, version) in history.iter().zip(1..) {
        assert_eq!((entry.previous, entry.version), (previous, version));
        assert_eq!(entry.hash(), Hash::of(&entry.canonical()), "anyone can compute it with sha256sum");
        previous = Some(entry.hash());
    }
    assert_eq!(Some(bench.item(job).head), previous);
}

// covers: K-40, K-42
#[test]
fn an_event_id_follows_from_item_version_and_time() {
    let (bench, job) = job_history();
    let history = bench.history(job);
    let mut ids: Vec<ItemId> = history.iter().map(Entry::event_id).collect();
    ids.dedup();
    assert_eq!(ids.len(), history.len());
    for entry in &history {
        assert_eq!(entry.event_id().0 >> 80, u128::from(entry.at.ulid_millis()), "a ULID of its moment");
    }
    let line = String::from_utf8(history[0].canonical()).unwrap();
    let forged = line.replace(&history[0].event_id().to_string(), &history[1].event_id().to_string());
    assert!(Entry::read(forged.as_bytes()).unwrap_err().contains("event_id"));
}

// covers: K-40
#[test]
fn the_log_holds_hashes_and_never_bytes_and_verifies_after_an_erase() {
    let (bench, job) = job_history();
    let text = lines(&bench, job);
    assert!(!text.contains("s3cr3t"), "{text}");
    assert!(text.contains(&body(r#"{"secret":"s3cr3t"}"#).hash().to_string()));
    assert!(bench.story(job).ends_with("erase"), "a line says that the bodies are gone");
    assert!(!bench.world.payloads.contains_key(&job));
    assert!(bench.world.records.values().all(|record| record.body.is_none()));
    assert!(bench.item(job).erased && bench.folded(job).erased);
}

// covers: K-40
#[test]
fn only_what_has_ended_is_erased_and_only_once() {
    let mut bench = Bench::new();
    let job = bench.job();
    let erase = || Command::Erase(Erase { item: job, reason: None });
    assert_eq!(bench.refusal("api:t", erase()), "TRANSITION_REFUSED");
    bench.ask("api:t", cancel(job));
    assert_eq!(bench.refusal("worker:a/1", erase()), "FORBIDDEN");
    assert!(matches!(bench.ask("api:t", erase()), Answer::Done(_)));
    assert!(matches!(bench.ask("api:t", erase()), Answer::Same(_)));
    assert_eq!((bench.story(job).as_str(), bench.state(job)), ("create cancel erase", "CANCELLED"));
}

// covers: K-42, T-12, K-08
#[test]
fn a_replayed_world_has_the_same_states_versions_fences_records_and_hashes() {
    for (bench, _) in [job_history(), todo_history()] {
        let entries = log(&bench);
        let world = replayed(&bench, &entries);
        assert_eq!(world.items.len(), bench.world.items.len());
        for (id, item) in &bench.world.items {
            assert_eq!(*world.items[id], item.as_logged(), "state, version, fence, head and all");
        }
        assert_eq!(world.lanes, bench.world.lanes);
        assert_eq!(world.names, bench.world.names, "idempotency survives");
        assert_eq!(world.entries, bench.world.entries);
        assert!(world.records.keys().eq(bench.world.records.keys()));
        for (id, record) in &bench.world.records {
            let again = &world.records[id];
            assert_eq!((again.hash, again.version, again.fence), (record.hash, record.version, record.fence));
        }
        let ends = |world: &World| -> Vec<_> {
            world.executions.values().map(|e| (e.id, e.status(), e.ended.clone())).collect()
        };
        assert_eq!(ends(&world), ends(&bench.world));
    }
}

// covers: K-42
#[test]
fn a_lease_held_at_export_comes_back_with_owner_and_version_and_counts_as_expired() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.world = replayed(&bench, &log(&bench));
    let item = bench.item(job);
    let lease = item.lease.as_ref().unwrap();
    assert_eq!(
        (lease.owner.to_string().as_str(), item.fence, lease.status().as_str()),
        ("a/1", execution.fence, "IN_PROGRESS")
    );
    assert!(!lease.is_live(bench.world.now));
    assert_eq!(bench.refusal("worker:a/1", commit(execution)), "LEASE_LOST");
    assert_eq!(bench.take("worker:b/1", job).fence, execution.fence.next());
}

// covers: K-44
#[test]
fn the_same_event_again_is_a_no_op_and_other_content_is_an_error() {
    let (bench, job) = job_history();
    for entry in bench.history(job) {
        assert_eq!(replay(&bench.world, &entry), Ok(vec![]));
        let other = Entry { actor: actor("api:somebody-else"), ..entry.clone() };
        let broken = replay(&bench.world, &other).unwrap_err();
        assert_eq!((broken.item, broken.version), (job, entry.version));
        assert!(broken.why.contains(&entry.event_id().to_string()), "{broken}");
    }
}

// covers: K-43, K-44, K-01
#[test]
fn a_changed_removed_or_reordered_entry_does_not_replay() {
    let (bench, job) = job_history();
    let history = bench.history(job);
    let tables = &bench.world.tables;
    let broken_at = |entries: &[Entry]| fold(entries, tables).map_err(|broken| broken.version);
    assert!(fold(&history, tables).is_ok());
    for place in 0..history.len() - 1 {
        let mut changed = history.clone();
        changed[place].store = "elsewhere".parse().unwrap();
        assert!(broken_at(&changed).is_err(), "changed {place}");
        let mut forged = history.clone();
        forged[place].actor.id = "somebody".parse().unwrap();
        assert_eq!(broken_at(&forged), Err(place as u64 + 2), "forged {place}");
        let mut removed = history.clone();
        removed.remove(place);
        assert_eq!(broken_at(&removed), Err(place as u64 + 2), "removed {place}");
        let mut swapped = history.clone();
        swapped.swap(place, place + 1);
        assert!(broken_at(&swapped).is_err(), "swapped {place}");
    }
}

// covers: K-44
#[test]
fn an_event_that_the_lifecycle_does_not_know_stops_the_replay() {
    let mut bench = Bench::new();
    let job = bench.job();
    let [created] = &bench.history(job)[..] else { panic!() };
    let text = String::from_utf8(created.canonical()).unwrap();
    let unknown = Entry {
        action: "teleport".parse().unwrap(),
        facts: tenure_core::entry::Facts::Move(Default::default()),
        previous: Some(created.hash()),
        version: 2,
        ..created.clone()
    };
    let broken = replay(&bench.world, &unknown).unwrap_err();
    assert!(broken.version == 2 && broken.why.contains("teleport"), "{broken}");
    for (what, line) in [
        ("an unknown field", text.replacen('{', r#"{"aaa":1,"#, 1)),
        ("white space", text.replacen(':', ": ", 1)),
        ("another spelling of the time", text.replace(".000000Z", "Z")),
        ("a renewal", text.replace(r#""action":"create""#, r#""action":"renew""#)),
    ] {
        assert!(Entry::read(line.as_bytes()).is_err(), "{what}");
    }
}

// covers: K-42
#[test]
fn a_moment_without_end_is_read_back_too() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let Command::Fail(plain) = fail(execution) else { panic!() };
    let for_ever = Some(std::time::Duration::MAX);
    assert!(bench.ask("worker:a/1", Command::Fail(Fail { retry_after: for_ever, ..plain })).is_yes());
    let never = Some(Time::from_micros(i64::MAX));
    let other = bench.created("api:t", Create { run_at: never, ..new("job", "{}") }).id;
    for item in [job, other] {
        let entry = bench.history(item).pop().unwrap();
        assert_eq!(Entry::read(&entry.canonical()), Ok(entry));
    }
}

// covers: K-42
#[test]
fn time_never_decreases_within_an_item() {
    let mut bench = Bench::new();
    let job = bench.job();
    bench.run("worker:a/1", job);
    bench.world.now = START.before(seconds(20));
    bench.ask("human:eva", cancel(job));
    assert!(bench.history(job).iter().all(|entry| entry.at == START), "held back, not set back");
    let mut history = bench.history(job);
    history[1].at = START.before(MICROSECOND);
    assert!(fold(&history, &bench.world.tables).unwrap_err().why.contains("older"));
}
