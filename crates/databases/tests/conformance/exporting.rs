//! Export and replay: a log leaves one database as a file, and is the same log in another.

use std::io::Write;
use std::process::{Command as Program, Stdio};

use tenure_core::body::Body;
use tenure_core::hash::Hash;
use tenure_core::lifecycle::shipped::SHIPPED;
use tenure_core::request::{Command, Create};
use tenure_databases::export::export;
use tenure_databases::export::line::{self, Line};
use tenure_databases::replay::Stopped;
use tenure_databases::{Database, PAGE_MAX, verify};
use tokio::task::JoinSet;

use crate::files::*;
use crate::harness::{Bench, Harness};
use crate::lying::more_than_a_page;
use crate::requests::*;

pub async fn an_export_is_replayed_to_the_same_log<H: Harness>(bench: &Bench<H>) {
    for seed in 0..2 {
        live(bench, seed, 80).await;
        let file = exported(bench).await;
        is_sound(&file);
        database_is_sound(bench).await;
        let copy = replayed::<H>(&file, &bench.clock).await;
        assert_eq!(copy.log().await, bench.log().await);
        let items = bench.items().await;
        assert_eq!(copy.items().await.len(), items.len());
        for item in &items {
            assert_eq!(logged(&copy, item).await, logged(bench, item).await);
        }
        assert!(exported(&copy).await == file, "the same bytes");
        database_is_sound(&copy).await;
        copy.verify().await;
        copy.close().await;
    }
}

pub async fn a_log_of_more_than_a_page_is_exported_to_its_last_entry<H: Harness>(bench: &Bench<H>) {
    more_than_a_page(bench).await;
    let file = exported(bench).await;
    is_sound(&file);
    let copy = replayed::<H>(&file, &bench.clock).await;
    let log = copy.log().await;
    assert_eq!((log.len(), log), (PAGE_MAX + 3, bench.log().await));
    assert!(exported(&copy).await == file, "the same bytes");
    copy.close().await;
}

/// An item that did much leaves its key before the next one enters, also where all of it is written in one transaction.
pub async fn the_items_of_a_key_are_replayed_one_after_the_other<H: Harness>(bench: &Bench<H>) {
    let (first, second) = (bench.pass("d1").await, bench.pass("d1").await);
    let execution = bench.run("worker:a", first).await;
    for number in 0..5 {
        let progress = progress(execution, record("step", &number.to_string(), "{}"));
        assert_eq!(bench.ask("worker:a", progress).await.code(), None);
    }
    assert_eq!(bench.ask("worker:a", commit(execution)).await.code(), None);
    bench.run("worker:b", second).await;
    let file = exported(bench).await;
    let copy = replayed::<H>(&file, &bench.clock).await;
    assert!(exported(&copy).await == file, "the same bytes");
    database_is_sound(&copy).await;
    copy.close().await;
}

pub async fn an_empty_log_has_two_lines<H: Harness>(bench: &Bench<H>) {
    let file = exported(bench).await;
    assert_eq!(lines(&file).len(), 2);
    is_sound(&file);
    let copy = replayed::<H>(&file, &bench.clock).await;
    assert!(exported(&copy).await == file);
    copy.close().await;
}

/// Anyone can check a line: take the two members out, and hash what is left. The hash that comes out is the one in the
/// line, and the one that the item's next entry names.
pub async fn a_line_is_checked_by_hand<H: Harness>(bench: &Bench<H>) {
    let job = bench.create(named("a \"name\",\"event_id\":\"x", new("job", "{}"))).await;
    let execution = bench.run("worker:\"a\",\"item\":\"/1", job).await;
    bench.ask("worker:\"a\",\"item\":\"/1", commit(execution)).await;
    let file = exported(bench).await;
    let mut previous: Option<String> = None;
    for text in lines_of(&file, job) {
        let (before, rest) = text.split_once(",\"hash\":\"").unwrap();
        let (hash, rest) = rest.split_once('"').unwrap();
        let (middle, rest) = rest.rsplit_once(",\"position\":").unwrap();
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        assert_eq!(sha256sum(&[before, middle, rest].concat()), hash);
        let named = previous.map(|hash| format!("\"previous\":\"{hash}\""));
        assert!(named.is_none_or(|named| rest.contains(&named)), "{text}");
        previous = Some(hash.to_string());
    }
    assert!(previous.is_some());
}

fn sha256sum(text: &str) -> String {
    let mut program = Program::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sha256sum runs");
    program.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_string()
}

pub async fn what_was_held_comes_back_expired<H: Harness>(bench: &Bench<H>) {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    let copy = replayed::<H>(&exported(bench).await, &bench.clock).await;
    let (item, kept) = (copy.item(job).await, bench.item(job).await);
    let (lease, held) = (item.lease.as_ref().unwrap(), kept.lease.as_ref().unwrap());
    assert_eq!((item.fence, &lease.owner, lease.started), (kept.fence, &held.owner, held.started));
    assert!(held.is_live(bench.clock.now()) && !lease.is_live(bench.clock.now()));
    // Its worker may no longer write, and a sweep gives the work to the next.
    let late = copy.ask("worker:a/1", commit(execution)).await;
    assert!(matches!(late, tenure_core::answer::Answer::LeaseLost { .. }), "{late:?}");
    copy.reply(sweep(execution)).await;
    assert_eq!(copy.item(job).await.lease, None);
    copy.verify().await;
    copy.close().await;
}

pub async fn a_replay_that_was_interrupted_is_carried_on<H: Harness>(bench: &Bench<H>) {
    live(bench, 5, 60).await;
    let first = exported(bench).await;
    let position = bench.database().head().await.unwrap().position;
    live(bench, 6, 60).await;
    let whole = exported(bench).await;
    assert_ne!(first, whole);
    let copy = replayed::<H>(&first, &bench.clock).await;
    assert_eq!(replay_into(&copy, &whole).await.unwrap().known, position);
    assert!(exported(&copy).await == whole);
    let again = replay_into(&copy, &whole).await.unwrap();
    assert_eq!(again.known, again.head.position, "what is there already is not written again");
    assert!(exported(&copy).await == whole);
    // The database is ahead of the shorter file, which is no beginning of anything then.
    assert!(matches!(replay_into(&copy, &first).await, Err(Stopped::NotEmpty { .. })));
    copy.verify().await;
    copy.close().await;
}

pub async fn a_database_with_another_log_is_left_alone<H: Harness>(bench: &Bench<H>) {
    bench.job().await;
    let file = exported(bench).await;
    let other = Bench::<H>::open(bench.clock.clone()).await;
    other.create(new("todo", r#"{"title":"t"}"#)).await;
    let before = exported(&other).await;
    let stopped = replay_into(&other, &file).await.unwrap_err();
    assert!(stopped.to_string().contains("the database is not empty: it has 1 entries"), "{stopped}");
    assert!(exported(&other).await == before);
    other.close().await;
}

/// Forges an event that the lifecycle does not know, with every hash as it should be.
pub async fn an_unknown_event_stops_a_replay_before_anything_is_written<H: Harness>(bench: &Bench<H>) {
    bench.job().await;
    let other = bench.create(new("job", "1")).await;
    bench.ask("api:test", cancel(other)).await;
    let mut lines = lines(&exported(bench).await);
    let at = lines.iter().position(|line| line.starts_with(br#"{"action":"cancel""#)).unwrap();
    let Ok(Line::Entry(placed)) = line::read(&lines[at]) else { panic!("an entry") };
    let text = String::from_utf8(placed.entry.text().to_vec()).unwrap();
    let text = text.replace(r#""action":"cancel""#, r#""action":"teleport""#);
    let forged = tenure_core::entry::Sealed::read(text.as_bytes()).unwrap();
    lines[at] = line::entry(placed.position, &forged);
    let copy = Bench::<H>::open(bench.clock.clone()).await;
    let stopped = replay_into(&copy, &joined(&lines)).await.unwrap_err();
    let expected = format!("the file is not sound: line {}: item {other}, version 2: ", at + 1);
    assert!(stopped.to_string().starts_with(&expected), "{stopped}");
    assert!(stopped.to_string().contains("teleport"), "{stopped}");
    assert_eq!(copy.database().head().await.unwrap().position, 0);
    assert!(copy.items().await.is_empty());
    copy.close().await;
}

pub async fn an_erased_body_leaves_a_line_that_says_so<H: Harness>(bench: &Bench<H>) {
    let job = bench.create(new("job", r#"{"secret":"x"}"#)).await;
    bench.ask("api:test", cancel(job)).await;
    bench.ask("api:test", erase(job)).await;
    assert_eq!(bench.whole(job).await.payload, None);
    let file = exported(bench).await;
    is_sound(&file);
    let lines = lines_of(&file, job);
    assert!(lines.last().unwrap().starts_with(r#"{"action":"erase""#), "{lines:?}");
    let hash = Hash::of(br#"{"secret":"x"}"#);
    assert!(lines[0].contains(&hash.to_string()) && !lines.concat().contains("secret"));
    database_is_sound(bench).await;
    let copy = replayed::<H>(&file, &bench.clock).await;
    assert!(copy.item(job).await.erased);
    assert!(exported(&copy).await == file);
    copy.close().await;
}

/// What JSON tools change silently: here it is kept to the byte, or refused.
pub async fn odd_json_is_kept_exactly_or_refused<H: Harness>(bench: &Bench<H>) {
    let kept = [
        "9007199254740993",
        "-0",
        "1e400",
        "0.1000000000000000055511151231257827",
        r#"{"b":1,"a":2}"#,
        r#"{"a":1,"a":2}"#,
        r#""\ud800""#,
        "\"\u{e9}\"",
        "\"e\u{301}\"",
        r#""\u00e9""#,
        " [1 , 2]\n",
    ];
    for payload in kept {
        let job = bench.create(new("job", payload)).await;
        let whole = bench.whole(job).await;
        assert_eq!(whole.payload.unwrap().bytes(), payload.as_bytes());
        assert_eq!(whole.item.payload, Hash::of(payload.as_bytes()));
    }
    for payload in [&b"\"\xff\""[..], b"NaN", b"01", b"{\"a\":1,}", b"", b"\"\n\""] {
        assert!(Body::json(payload.to_vec()).is_err(), "{payload:?}");
    }
    // One word in two forms of Unicode is two keys.
    let composed = bench.create(named("caf\u{e9}", new("job", "{}"))).await;
    let decomposed = bench.create(named("cafe\u{301}", new("job", "{}"))).await;
    assert_ne!(composed, decomposed);
    let file = exported(bench).await;
    is_sound(&file);
    assert!(lines_of(&file, composed)[0].contains("\"name\":\"caf\u{e9}\""));
    assert!(lines_of(&file, decomposed)[0].contains("\"name\":\"cafe\u{301}\""));
    let copy = replayed::<H>(&file, &bench.clock).await;
    assert!(exported(&copy).await == file);
    copy.close().await;
}

pub async fn an_export_is_one_moment_while_others_write<H: Harness>(bench: &Bench<H>) {
    live(bench, 7, 60).await;
    let creates = (0..40).map(|number| create(new("job", &number.to_string())));
    let mut writers = JoinSet::new();
    let writer = bench.clone();
    writers.spawn(async move { writer.race(creates).await });
    let mut files = Vec::new();
    while files.len() < 10 {
        let mut file = Vec::new();
        export(bench.database(), &mut file, |_| {}).await.unwrap();
        files.push(file);
    }
    writers.join_all().await;
    let last = lines(&exported(bench).await);
    for file in &files {
        is_sound(file);
        let lines = lines(file);
        assert!(last.starts_with(&lines[..lines.len() - 1]), "an earlier export is how a later one begins");
    }
}

/// Prose is not part of a lifecycle's identity, but it is part of the file.
pub async fn a_lifecycle_comes_with_its_source<H: Harness>(bench: &Bench<H>) {
    let job = SHIPPED.iter().find(|shipped| shipped.file == "job.md").unwrap().source;
    let prose = job.replacen("\n\n", "\n\nWhat we call a job here.\n\n", 1);
    let stricter = job.replacen("60 s", "61 s", 1);
    assert_ne!(stricter, job);
    bench.database().add_table(&prose).await.unwrap();
    bench.job().await;
    bench.database().add_table(&stricter).await.unwrap();
    bench.job().await;
    bench.database().add_table(&prose).await.unwrap();
    bench.job().await;
    let file = exported(bench).await;
    is_sound(&file);
    let copy = replayed::<H>(&file, &bench.clock).await;
    assert!(exported(&copy).await == file);
    let kind = "job".parse().unwrap();
    let (tables, copied) = (bench.database().tables(), copy.database().tables());
    assert_eq!(&*copied.current(&kind).unwrap().source, prose, "what was in force last is in force");
    assert_eq!(copied.current(&kind), tables.current(&kind));
    copy.close().await;
}

pub async fn a_head_that_was_kept_proves_what_came_before_it<H: Harness>(bench: &Bench<H>) {
    bench.job().await;
    bench.database().sequence(PAGE_MAX).await.unwrap();
    let kept = bench.database().head().await.unwrap();
    bench.ask("api:test", Command::Create(Create { ..new("job", "2") })).await;
    let file = exported(bench).await;
    for (head, at) in [(kept.chain, Some(1)), (Hash::ZERO, Some(0)), (Hash::of(b"else"), None)] {
        let report = verify::file(&file[..], Some(head), |_| {}).unwrap();
        assert_eq!((report.head_at, report.is_sound()), (at, at.is_some()), "{report:?}");
        let report = verify::database(bench.database(), Some(head), |_| {}).await.unwrap();
        assert_eq!((report.head_at, report.is_sound()), (at, at.is_some()), "{report:?}");
    }
}

/// A file that was written when the format was new. It is never written again: what it holds must stay readable.
pub async fn a_log_of_this_format_stays_readable<H: Harness>(bench: &Bench<H>) {
    let file = include_bytes!("golden/format-1.jsonl");
    let done = replay_into(bench, file).await.unwrap();
    assert_eq!(
        done.head.chain.to_string(),
        "c6c12055c63227cf9d68abfa7a1b4d75c6861a8e760eb930b0c28eda9ee1c41b"
    );
    assert!(exported(bench).await == file);
    database_is_sound(bench).await;
}
