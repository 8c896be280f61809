//! Retention: what was kept long enough goes, all of it but its entries, and nothing else does.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::id::ItemId;
use tenure_core::item::Link;
use tenure_core::request::{Command, Create, Effects, Move, NewMessage, Relink, Terms};
use tenure_databases::follow::Follow;
use tenure_databases::{Database, verify};

use crate::files::*;
use crate::harness::{Bench, Harness};
use crate::requests::*;

const MINUTE: Duration = Duration::from_secs(60);

/// A job that is done, with everything that can hang on one but messages.
async fn done<H: Harness>(bench: &Bench<H>, name: &str) -> ItemId {
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(2_000));
    let job = bench.create(named(name, new("job", &long))).await;
    let terms = Terms { start: true, ..asked_as(name) };
    let failed = leases(bench.ask("worker:a/1", acquire_with(&["job"], 1, terms)).await);
    bench.ask("worker:a/1", fail(failed[0].execution)).await;
    bench.wait(Duration::from_secs(5));
    let execution = bench.run("worker:a/2", job).await;
    bench.ask("worker:a/2", progress(execution, record("step", "half", "1"))).await;
    let effects = Effects { records: vec![record("result", "all", "2")], ..Effects::default() };
    assert!(bench.ask("worker:a/2", commit_with(execution, effects)).await.is_yes());
    job
}

pub async fn what_was_kept_long_enough_goes_and_its_log_stays<H: Harness>(bench: &Bench<H>) {
    bench.keep_a_minute().await;
    let job = done(bench, "n1").await;
    let stays = bench.job().await;
    let before = bench.history(job).await;
    bench.wait(MINUTE - Duration::from_secs(1));
    assert!(!bench.reply(prune(job)).await.answer.is_yes(), "not yet");
    bench.wait(Duration::from_secs(1));
    assert!(!bench.ask("admin:root", prune(job).command).await.is_yes(), "only the engine does that");
    let reply = bench.reply(prune(job)).await;
    assert!(matches!(reply.answer, Answer::Done(_)) && reply.fresh, "{reply:?}");
    assert_eq!(bench.database().item(&store(), job).await, Ok(None));
    assert_eq!(bench.database().whole(&store(), job).await, Ok(None));
    assert!(bench.history(job).await.is_empty(), "nobody knows where its entries are");
    assert!(bench.items().await.iter().all(|item| item.id == stays));
    let log: Vec<_> = bench.log().await.into_iter().map(|(_, entry)| entry).collect();
    let logged: Vec<_> = log.iter().filter(|entry| entry.item == job).cloned().collect();
    assert_eq!(logged[..before.len()], before, "the log has all of them");
    assert_eq!(logged.last().unwrap().action.as_str(), "prune");
    assert!(matches!(bench.reply(prune(job)).await.answer, Answer::NotFound(_)));
    database_is_sound(bench).await;
}

pub async fn a_key_of_what_was_removed_makes_a_new_item<H: Harness>(bench: &Bench<H>) {
    bench.keep_a_minute().await;
    let job = done(bench, "n1").await;
    let again = || create(named("n1", new("job", "{}")));
    assert!(matches!(bench.reply(again()).await.answer, Answer::Conflict { .. }));
    bench.wait(MINUTE);
    // In one batch: what is removed first does not stand in the way of what comes after it.
    let replies = bench.batch(&[prune(job), again(), again()]).await;
    let [_, first, second] = &replies[..] else { panic!("{replies:?}") };
    let (Answer::Created(one), Answer::Created(other)) = (&first.answer, &second.answer) else {
        panic!("{replies:?}")
    };
    assert_eq!(one, other);
    assert_ne!(one.id, job);
    assert_eq!(bench.reply(again()).await.answer, first.answer);
}

pub async fn what_somebody_needs_is_not_removed<H: Harness>(bench: &Bench<H>) {
    bench.keep_a_minute().await;
    let (linked, sent) = (done(bench, "n1").await, bench.job().await);
    let link = Link { label: "depends".parse().unwrap(), to: linked };
    let other = bench.create(Create { links: vec![link.clone()], ..new("job", "{}") }).await;
    let execution = bench.run("worker:a/1", sent).await;
    let message = NewMessage { label: "news".parse().unwrap(), body: body("3") };
    let effects = Effects { messages: vec![message], ..Effects::default() };
    assert!(bench.ask("worker:a/1", commit_with(execution, effects)).await.is_yes());
    let subscriber = "subscriber s of default".parse().unwrap();
    bench.database().set_mark(&subscriber, 1).await.unwrap();
    bench.wait(MINUTE);
    for needed in [linked, sent] {
        assert!(matches!(bench.reply(prune(needed)).await.answer, Answer::Refused(_)));
    }
    bench.database().sequence(usize::MAX).await.unwrap();
    let head = bench.database().head().await.unwrap().position;
    bench.database().set_mark(&subscriber, head).await.unwrap();
    assert!(bench.reply(prune(sent)).await.answer.is_yes(), "everybody has heard of it");
    // Linked and removed in one batch: whoever comes first wins, and the other is told.
    let free = done(bench, "n2").await;
    bench.wait(MINUTE);
    let to_free = Link { label: "depends".parse().unwrap(), to: free };
    let relink = Command::Link(Relink { item: other, add: vec![to_free.clone()], remove: vec![link] });
    let replies = bench.batch(&[request("api:test", relink), prune(free), prune(linked)]).await;
    let yes: Vec<bool> = replies.iter().map(|reply| reply.answer.is_yes()).collect();
    assert_eq!(yes, [true, false, true], "{replies:?}");
    assert!(bench.ask("api:test", cancel(other)).await.is_yes());
    assert!(bench.reply(prune(free)).await.answer.is_yes(), "what has ended for good needs nothing");
    let late = create(Create { links: vec![to_free], ..new("job", "{}") });
    assert!(!bench.reply(late).await.answer.is_yes(), "there is nothing to link to");
}

pub async fn what_has_ended_and_can_still_move_needs_what_it_is_linked_to<H: Harness>(bench: &Bench<H>) {
    bench.keep_a_minute().await;
    let linked = done(bench, "n1").await;
    let payload = r#"{"claim_id":"c","truthbit_id":"t","validator_key":"k"}"#;
    let links = vec![Link { label: "about".parse().unwrap(), to: linked }];
    let judged = bench.create(Create { links, ..new("validation", payload) }).await;
    assert!(bench.ask("api:test", submit(judged)).await.is_yes());
    bench.wait(MINUTE);
    // It has ended, and a newer judgement may still take its place.
    assert_eq!(bench.state(judged).await, "submitted");
    assert!(matches!(bench.reply(prune(linked)).await.answer, Answer::Refused(_)));
    let newer = bench.create(new("validation", payload)).await;
    assert!(bench.ask("api:test", submit(newer)).await.is_yes());
    assert_eq!(bench.state(judged).await, "superseded");
    assert!(bench.reply(prune(linked)).await.answer.is_yes(), "what is final needs nothing");
}

pub async fn messages_are_kept_for_who_has_yet_to_hear_of_them<H: Harness>(bench: &Bench<H>) {
    bench.keep_a_minute().await;
    let database = bench.database();
    let hook = r#"{"name":"hook","url":"https://example.com","secrets":["env:A"]}"#;
    let hook = bench.create(new("webhook", hook)).await;
    let mut sent = Vec::new();
    for _ in 0..3 {
        let job = bench.job().await;
        let execution = bench.run("worker:a/1", job).await;
        let message = NewMessage { label: "news".parse().unwrap(), body: body("3") };
        let effects = Effects { messages: vec![message], ..Effects::default() };
        assert!(bench.ask("worker:a/1", commit_with(execution, effects)).await.is_yes());
        database.sequence(usize::MAX).await.unwrap();
        sent.push((job, database.head().await.unwrap().position));
    }
    bench.wait(MINUTE);
    let is_refused = async |item| matches!(bench.reply(prune(item)).await.answer, Answer::Refused(_));
    let [(first, passed), (second, _), (third, _)] = sent[..] else { panic!("{sent:?}") };
    assert!(is_refused(first).await, "the webhook was not told of it");
    database.set_mark(&"webhooks of default".parse().unwrap(), passed).await.unwrap();
    assert!(is_refused(second).await);
    assert!(bench.reply(prune(first)).await.answer.is_yes());
    let subscriber = "subscriber s of default".parse().unwrap();
    database.set_mark(&subscriber, 0).await.unwrap();
    let remove = Command::Move(Move::new(hook, "remove".parse().unwrap()));
    assert!(bench.ask("api:test", remove).await.is_yes());
    assert!(is_refused(second).await, "nor has the subscriber heard of it");
    database.forget_mark(&subscriber).await.unwrap();
    assert_eq!(database.mark(&subscriber).await, Ok(None));
    let replies = bench.batch(&[prune(second), prune(third)]).await;
    assert!(replies.iter().all(|reply| reply.answer.is_yes()), "nobody follows any more: {replies:?}");
    database_is_sound(bench).await;
}

pub async fn of_two_prunes_one_removes<H: Harness>(bench: &Bench<H>) {
    bench.keep_a_minute().await;
    let mut jobs = Vec::new();
    for number in 0..10 {
        jobs.push(done(bench, &format!("n{number}")).await);
    }
    bench.wait(MINUTE);
    let replies = bench.race(jobs.iter().chain(&jobs).map(|job| prune(*job))).await;
    assert_eq!(replies.iter().filter(|reply| reply.fresh).count(), jobs.len());
    assert!(bench.items().await.is_empty());
    database_is_sound(bench).await;
}

/// A log whose item is gone is sound if its last entry says so, and only then.
pub async fn an_item_that_is_missing_without_a_prune_is_found<H: Harness>(bench: &Bench<H>) {
    bench.keep_a_minute().await;
    let (removed, stays) = (done(bench, "n1").await, done(bench, "n2").await);
    bench.wait(MINUTE);
    assert!(bench.reply(prune(removed)).await.answer.is_yes());
    let file = exported(bench).await;
    is_sound(&file);
    // The removal taken out of the file, and put in where there was none.
    let all = lines(&file);
    let without: Vec<Vec<u8>> =
        all.iter().filter(|line| !String::from_utf8_lossy(line).contains("\"prune\"")).cloned().collect();
    assert_eq!(all.len(), without.len() + 1);
    assert!(!verified(&joined(&without)).is_sound());
    let mut twice = all.clone();
    let at = twice.iter().position(|line| String::from_utf8_lossy(line).contains("\"prune\"")).unwrap();
    twice.insert(at, twice[at].clone());
    assert!(!verified(&joined(&twice)).is_sound());
    // An item that comes again after its removal.
    let first = lines_of(&file, removed).remove(0).into_bytes();
    let mut returned = all.clone();
    returned.insert(all.len() - 1, first);
    assert!(!verified(&joined(&returned)).is_sound());
    // In the database: the rows of the one that stays are compared, the other one is not missed.
    let report = verify::database(bench.database(), None, |_| {}).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.items, 2);
    assert!(bench.database().item(&store(), stays).await.unwrap().is_some());
}

pub async fn a_log_with_removed_items_is_replayed_to_the_same_rows<H: Harness>(bench: &Bench<H>) {
    bench.keep_a_minute().await;
    let mut jobs = Vec::new();
    for number in 0..6 {
        jobs.push(done(bench, &format!("n{number}")).await);
    }
    bench.wait(MINUTE);
    for job in &jobs[..4] {
        assert!(bench.reply(prune(*job)).await.answer.is_yes());
    }
    let again = bench.create(named("n0", new("job", "{}"))).await;
    let file = exported(bench).await;
    let copy = replayed::<H>(&file, &bench.clock).await;
    assert!(exported(&copy).await == file, "the same bytes");
    let items = bench.items().await;
    assert_eq!(items.iter().map(|item| item.id).collect::<Vec<_>>(), [jobs[4], jobs[5], again]);
    assert_eq!(copy.items().await.len(), items.len());
    for item in &items {
        assert_eq!(logged(&copy, item).await, logged(bench, item).await);
    }
    // The names are the same too: one is free, one is taken.
    for (name, is_new) in [("n0", false), ("n1", true), ("n5", false)] {
        let reply = copy.reply(create(named(name, new("job", "{}")))).await;
        assert_eq!(reply.fresh, is_new, "{name}: {reply:?}");
    }
    database_is_sound(&copy).await;
    copy.close().await;
}
