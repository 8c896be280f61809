//! Situations, each on a fresh database, told the same by every one. The pages are `around.txt` and `alone.txt`.

use std::future::Future;
use std::time::Duration;

use tenure::core::answer::Answer;
use tenure::core::id::{ExecutionId, ItemId};
use tenure::core::item::Link;
use tenure::core::request::*;
use tenure::databases::Database;
use tenure::{Explanation, Facts, explain};

use crate::harness::{Bench, Clock, Harness, Memory, Postgres, Sqlite};
use crate::limited::limited;
use crate::requests::*;
use crate::told::{compare, tell};

async fn explained<H: Harness>(bench: &Bench<H>, id: ItemId) -> Explanation {
    let facts = Facts::read(bench.database(), &store(), id).await.unwrap();
    explain(&facts.expect("it is there"))
}

macro_rules! situations {
    ($page:ident: $($name:ident)*) => {
        async fn $page<H: Harness>() -> String {
            let mut page = String::new();
            // In a box each: together they are too large for a stack.
            $(Box::pin(async {
                let bench = Bench::<H>::open(Clock::new()).await;
                let told = explained(&bench, $name(&bench).await).await;
                page.push_str(&tell(&stringify!($name).replace('_', " "), &told, START));
                bench.verify().await;
                bench.close().await;
            })
            .await;)*
            page
        }
    };
}

// What is told of more than the item and its history: here databases could differ.
situations! {
    around:
    next_in_line
    some_come_before_it
    another_of_its_key_runs
    older_ones_of_its_key_wait
    as_many_run_as_may
    as_many_started_as_may
    as_many_of_its_key_run_as_may
    as_many_of_its_key_started_as_may
    its_kind_is_paused
    its_breaker_is_open
    its_breaker_tries_one
    a_dependency_is_not_done
    it_was_tried_again
}

situations! {
    alone:
    its_creator_wants_it_later
    it_failed_and_waits
    its_lease_was_lost
    it_was_put_off
    its_kind_is_paused_and_it_is_not_due
    it_waits_for_approval
    it_waits_for_the_scheduler
    it_is_blocked
    its_blocker_is_closed
    nobody_has_enqueued_it
    it_is_held
    it_is_held_and_not_started
    it_is_held_under_a_window
    it_is_asked_to_stop
    its_lease_has_ended
    its_window_has_ended
    it_has_committed_and_is_not_finished
    it_succeeded_and_made_others
    it_was_made_by_another
    it_failed_for_good
    it_failed_too_often
    it_was_cancelled
    it_tries_another_again
    it_rests_until_it_is_enqueued
    it_is_removed_soon
    it_was_erased
}

fn on(page: impl Future<Output = String>) -> String {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(page)
}

#[test]
fn what_is_around_an_item_is_told_the_same_by_memory() {
    compare("around.txt", &on(around::<Memory>()));
}

#[test]
fn what_is_around_an_item_is_told_the_same_by_sqlite() {
    compare("around.txt", &on(around::<Sqlite>()));
}

#[test]
fn what_is_around_an_item_is_told_the_same_by_postgres() {
    compare("around.txt", &on(around::<Postgres>()));
}

#[test]
fn every_other_situation_is_told_by_memory() {
    compare("alone.txt", &on(alone::<Memory>()));
}

#[test]
fn every_other_situation_is_told_by_sqlite() {
    compare("alone.txt", &on(alone::<Sqlite>()));
}

async fn next_in_line<H: Harness>(bench: &Bench<H>) -> ItemId {
    bench.job().await
}

async fn some_come_before_it<H: Harness>(bench: &Bench<H>) -> ItemId {
    let mut job = bench.job().await;
    bench.run("worker:a/1", job).await;
    for _ in 0..4 {
        bench.tick();
        job = bench.job().await;
    }
    job
}

fn later(seconds: u64) -> Create {
    Create { run_at: Some(START.after(Duration::from_secs(seconds))), ..new("job", "{}") }
}

async fn its_creator_wants_it_later<H: Harness>(bench: &Bench<H>) -> ItemId {
    bench.create(later(3600)).await
}

async fn failed<H: Harness>(bench: &Bench<H>, job: ItemId) {
    let execution = bench.run("worker:a/1", job).await;
    assert!(bench.ask("worker:a/1", fail(execution)).await.is_yes());
}

async fn it_failed_and_waits<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    failed(bench, job).await;
    bench.wait(Duration::from_secs(10));
    failed(bench, job).await;
    job
}

async fn its_lease_was_lost<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    bench.wait(Duration::from_secs(61));
    assert!(bench.reply(sweep(execution)).await.fresh);
    job
}

async fn it_was_put_off<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    let (reason, delay) = (Some("the file is not there yet".to_string()), Some(Duration::from_secs(300)));
    let release = Command::Release(Release { execution, reason, delay, attests: Vec::new() });
    assert!(bench.ask("worker:a/1", release).await.is_yes());
    job
}

async fn another_of_its_key_runs<H: Harness>(bench: &Bench<H>) -> ItemId {
    let first = bench.pass("d1").await;
    bench.run("worker:a/1", first).await;
    bench.tick();
    bench.pass("d1").await
}

async fn older_ones_of_its_key_wait<H: Harness>(bench: &Bench<H>) -> ItemId {
    bench.pass("d1").await;
    bench.tick();
    bench.pass("d1").await;
    bench.tick();
    bench.pass("d1").await
}

/// Three tasks of a kind with these settings, of which the first was leased; the last.
async fn behind<H: Harness>(bench: &Bench<H>, settings: &[(&str, &str)]) -> ItemId {
    bench.database().add_table(&limited("task", settings)).await.unwrap();
    let task = || Create { key: Some("k".parse().unwrap()), ..new("task", "{}") };
    let first = bench.create(task()).await;
    bench.tick();
    let last = bench.create(task()).await;
    bench.run("worker:a/1", first).await;
    last
}

async fn as_many_run_as_may<H: Harness>(bench: &Bench<H>) -> ItemId {
    behind(bench, &[("concurrency", "1")]).await
}

async fn as_many_started_as_may<H: Harness>(bench: &Bench<H>) -> ItemId {
    behind(bench, &[("rate", "1 per 64 s")]).await
}

async fn as_many_of_its_key_run_as_may<H: Harness>(bench: &Bench<H>) -> ItemId {
    behind(bench, &[("concurrency", "1 per key")]).await
}

async fn as_many_of_its_key_started_as_may<H: Harness>(bench: &Bench<H>) -> ItemId {
    behind(bench, &[("rate", "1 per key per 64 s")]).await
}

async fn pause<H: Harness>(bench: &Bench<H>) {
    let reason = "the mail server is down".to_string();
    let order = Order { kind: "job".parse().unwrap(), what: What::Pause, reason };
    assert!(bench.reply(request("human:eva", Command::Control(order))).await.fresh);
}

async fn its_kind_is_paused<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    pause(bench).await;
    job
}

async fn its_kind_is_paused_and_it_is_not_due<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.create(later(60)).await;
    pause(bench).await;
    job
}

async fn tripped<H: Harness>(bench: &Bench<H>) -> ItemId {
    let settings = [("breaker", "1 failures in 1 min, pause 5 min"), ("backoff", "0 s")];
    bench.database().add_table(&limited("task", &settings)).await.unwrap();
    let first = bench.create(new("task", "{}")).await;
    bench.tick();
    let last = bench.create(new("task", "{}")).await;
    failed(bench, first).await;
    last
}

async fn its_breaker_is_open<H: Harness>(bench: &Bench<H>) -> ItemId {
    tripped(bench).await
}

async fn its_breaker_tries_one<H: Harness>(bench: &Bench<H>) -> ItemId {
    let last = tripped(bench).await;
    bench.wait(Duration::from_secs(301));
    assert_eq!(bench.acquire("worker:b/1", &["task"], 1).await.len(), 1);
    last
}

fn linked(label: &str, to: ItemId, create: Create) -> Create {
    Create { links: vec![Link { label: label.parse().unwrap(), to }], ..create }
}

fn todo(title: &str) -> Create {
    new("todo", &format!(r#"{{"title":"{title}"}}"#))
}

async fn a_dependency_is_not_done<H: Harness>(bench: &Bench<H>) -> ItemId {
    let first = bench.create(todo("first")).await;
    bench.tick();
    bench.create(linked("depends", first, todo("then"))).await
}

async fn it_waits_for_approval<H: Harness>(bench: &Bench<H>) -> ItemId {
    bench.create(new("ticket", r#"{"title":"t"}"#)).await
}

async fn it_waits_for_the_scheduler<H: Harness>(bench: &Bench<H>) -> ItemId {
    let ticket = it_waits_for_approval(bench).await;
    bench.tick();
    assert!(bench.ask("human:eva", step(ticket, "approve")).await.is_yes());
    ticket
}

/// A ticket that a person has blocked, and what blocks it.
async fn blocked<H: Harness>(bench: &Bench<H>) -> (ItemId, ItemId) {
    let ticket = it_waits_for_the_scheduler(bench).await;
    let blocker = match bench.ask("human:eva", Command::Create(new("blocker", &about(ticket)))).await {
        Answer::Created(blocker) => blocker.id,
        other => panic!("{other:?}"),
    };
    let link = Link { label: "blocker".parse().unwrap(), to: blocker };
    let relink = Relink { item: ticket, add: vec![link], remove: Vec::new() };
    assert!(bench.ask("human:eva", Command::Link(relink)).await.is_yes());
    assert!(bench.ask("human:eva", step(ticket, "block")).await.is_yes());
    (ticket, blocker)
}

fn about(ticket: ItemId) -> String {
    format!(r#"{{"ticket_id":"{ticket}","reason":"no access"}}"#)
}

async fn it_is_blocked<H: Harness>(bench: &Bench<H>) -> ItemId {
    blocked(bench).await.0
}

async fn its_blocker_is_closed<H: Harness>(bench: &Bench<H>) -> ItemId {
    let (ticket, blocker) = blocked(bench).await;
    assert!(bench.ask("human:eva", step(blocker, "close")).await.is_yes());
    ticket
}

async fn nobody_has_enqueued_it<H: Harness>(bench: &Bench<H>) -> ItemId {
    bench.create(claim()).await
}

fn claim() -> Create {
    new("claim", r#"{"domain":"d","text":"t"}"#)
}

async fn it_is_held<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    bench.wait(Duration::from_secs(20));
    assert!(bench.ask("worker:a/1", renew(execution)).await.is_yes());
    bench.wait(Duration::from_secs(5));
    job
}

async fn it_is_held_and_not_started<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    bench.take("worker:a/1", job).await;
    job
}

async fn long_run<H: Harness>(bench: &Bench<H>) -> ItemId {
    let run = bench.pass("d1").await;
    let terms = Terms { start: true, lease: Some(Duration::from_secs(600)), ..Terms::default() };
    assert!(bench.ask("worker:a/1", Command::Take(Take { item: run, terms })).await.is_yes());
    run
}

async fn it_is_held_under_a_window<H: Harness>(bench: &Bench<H>) -> ItemId {
    long_run(bench).await
}

async fn it_is_asked_to_stop<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    bench.run("worker:a/1", job).await;
    assert!(bench.ask("human:eva", cancel(job)).await.is_yes());
    job
}

async fn its_lease_has_ended<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    bench.run("worker:a/1", job).await;
    bench.wait(Duration::from_secs(70));
    job
}

async fn its_window_has_ended<H: Harness>(bench: &Bench<H>) -> ItemId {
    let run = long_run(bench).await;
    bench.wait(Duration::from_secs(130));
    run
}

async fn it_has_committed_and_is_not_finished<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    assert!(bench.ask("worker:a/1", commit_only(execution)).await.is_yes());
    job
}

/// A job whose commit made two others, and the first of them.
async fn with_children<H: Harness>(bench: &Bench<H>) -> (ItemId, ItemId) {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    let creates = vec![named("x", new("job", "1")), named("y", new("job", "2"))];
    bench.tick();
    let done = commit_with(execution, Effects { creates, ..Effects::default() });
    assert!(bench.ask("worker:a/1", done).await.is_yes());
    let made = bench.items().await.into_iter().find(|item| item.id != job).expect("a child");
    (job, made.id)
}

async fn it_succeeded_and_made_others<H: Harness>(bench: &Bench<H>) -> ItemId {
    with_children(bench).await.0
}

async fn it_was_made_by_another<H: Harness>(bench: &Bench<H>) -> ItemId {
    let (_, child) = with_children(bench).await;
    bench.run("worker:b/1", child).await;
    child
}

async fn fail_for_good<H: Harness>(bench: &Bench<H>, execution: ExecutionId) {
    let (reason, offers) = ("there is no such address".to_string(), Effects::default());
    let fail = Command::Fail(Fail { execution, reason, permanent: true, retry_after: None, offers });
    assert!(bench.ask("worker:a/1", fail).await.is_yes());
}

async fn it_failed_for_good<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    fail_for_good(bench, execution).await;
    job
}

async fn it_failed_too_often<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.create(Create { attempts: Some(7), ..new("job", "{}") }).await;
    for _ in 0..7 {
        failed(bench, job).await;
        bench.wait(Duration::from_secs(600));
    }
    job
}

async fn it_was_cancelled<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = bench.job().await;
    assert!(bench.ask("human:eva", cancel(job)).await.is_yes());
    job
}

/// A job that failed, and the one that was made in its place.
async fn retried<H: Harness>(bench: &Bench<H>) -> (ItemId, ItemId) {
    let job = it_failed_for_good(bench).await;
    bench.tick();
    let again = named(&format!("retry/{job}"), new("job", "{}"));
    (job, bench.create(Create { origin: Some(job), ..again }).await)
}

async fn it_was_tried_again<H: Harness>(bench: &Bench<H>) -> ItemId {
    retried(bench).await.0
}

async fn it_tries_another_again<H: Harness>(bench: &Bench<H>) -> ItemId {
    retried(bench).await.1
}

async fn it_rests_until_it_is_enqueued<H: Harness>(bench: &Bench<H>) -> ItemId {
    let claim = bench.create(claim()).await;
    assert!(bench.ask("orchestrator:o", step(claim, "enqueue")).await.is_yes());
    failed(bench, claim).await;
    claim
}

async fn it_is_removed_soon<H: Harness>(bench: &Bench<H>) -> ItemId {
    bench.keep_a_minute().await;
    it_was_cancelled(bench).await
}

async fn it_was_erased<H: Harness>(bench: &Bench<H>) -> ItemId {
    let job = it_failed_for_good(bench).await;
    assert!(bench.ask("api:test", erase(job)).await.is_yes());
    job
}
