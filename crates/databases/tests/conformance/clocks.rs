//! A clock that was ahead for a while, on every database: it stops nothing once it is right again, and makes nothing due early.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::request::{Command, Create, Fail};
use tenure_core::time::Time;
use tenure_databases::backlog::Backlogs;
use tenure_databases::look::Look;
use tenure_databases::{Database, Overdue};

use crate::harness::{Bench, Harness};
use crate::limited::limited;
use crate::requests::*;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// Every write that a holder can make.
fn writes(execution: ExecutionId) -> [Command; 5] {
    [renew(execution), commit(execution), commit_only(execution), fail(execution), release(execution)]
}

async fn later<H: Harness>(bench: &Bench<H>, run_at: Time) -> ItemId {
    bench.create(Create { run_at: Some(run_at), ..new("job", "{}") }).await
}

async fn leased<H: Harness>(bench: &Bench<H>) -> Vec<ItemId> {
    ids(&bench.acquire("worker:z/1", &["job"], 9).await)
}

/// The clock is corrected by some seconds, and by far more than a lease lasts, ahead and back. The second ends the lease: its holder
/// is refused and changes nothing, also while another holds the item in the same state.
pub async fn a_lease_ends_if_the_clock_is_corrected_by_more_than_its_length<H: Harness>(bench: &Bench<H>) {
    let item = bench.create(Create { attempts: Some(100), ..new("job", "{}") }).await;
    let mut holder = bench.run("worker:a/1", item).await;
    for (number, now) in (2..).zip([
        START.before(HOUR),
        START.after(HOUR),
        START,
        START.after(DAY * 400),
        START,
        START.before(DAY),
    ]) {
        let granted = bench.clock.now();
        bench.clock.set(granted.before(Duration::from_secs(30)));
        assert_eq!(bench.due(Overdue::Time).await, []);
        assert_eq!(bench.ask("worker:x/1", take(item)).await.code(), Some(Code::ClaimConflict), "{now}");
        assert!(bench.ask(&format!("worker:{}/1", owner(number - 1)), renew(holder)).await.is_yes(), "{now}");

        bench.clock.set(now);
        assert_eq!(bench.due(Overdue::Time).await, [item], "{now}");
        let before = bench.history(item).await;
        for command in writes(holder) {
            let lost = bench.ask(&format!("worker:{}/1", owner(number - 1)), command).await;
            assert!(matches!(lost, Answer::LeaseLost(_)), "{now}: {lost:?}");
        }
        assert_eq!(bench.history(item).await, before, "{now}");
        let next = bench.run(&format!("worker:{}/1", owner(number)), item).await;
        let held = bench.history(item).await;
        for command in writes(holder) {
            let lost = bench.ask(&format!("worker:{}/1", owner(number - 1)), command).await;
            assert!(matches!(lost, Answer::LeaseLost(_)), "{now}: {lost:?}");
        }
        assert_eq!(bench.history(item).await, held, "{now}");
        let lease = bench.item(item).await.lease.unwrap();
        assert_eq!((lease.since, lease.expires), (now, now.after(MINUTE)), "by the clock as it is");
        holder = next;
    }
    assert!(bench.ask(&format!("worker:{}/1", owner(7)), commit(holder)).await.is_yes());
    let history = bench.history(item).await;
    assert!(history.is_sorted_by_key(|entry| entry.at), "occurred_at never decreases within an item");
}

fn owner(number: usize) -> char {
    ('a'..='z').nth(number - 1).expect("a letter")
}

/// One write, one failure and one claim by a clock that is ahead by an hour, and by 400 days; then it is right again.
pub async fn a_clock_that_was_ahead_stops_nothing_and_makes_nothing_due_early<H: Harness>(bench: &Bench<H>) {
    for ahead in [HOUR, DAY * 400] {
        let start = bench.clock.now();
        let decoy = bench.job().await;
        let (held, failing) = (bench.job().await, bench.job().await);
        bench.run("worker:a/1", held).await;
        let run = bench.run("worker:b/1", failing).await;
        let patient = bench.job().await;
        let patiently = bench.run("worker:b/1", patient).await;
        let by_run_at = later(bench, start.after(MINUTE * 30)).await;

        bench.clock.set(start.after(ahead));
        let prompt = bench.job().await;
        let soon = later(bench, start.after(MINUTE * 20)).await;
        // It takes one, and finds all that are due by this clock.
        assert_eq!(ids(&bench.acquire("worker:c/1", &["job"], 1).await), [decoy]);
        for (execution, retry_after) in [(run, None), (patiently, Some(HOUR * 2))] {
            let again = bench.take("worker:b/1", execution.item).await;
            bench.ask("worker:b/1", crate::requests::start(again)).await;
            let Command::Fail(plain) = fail(again) else { panic!() };
            let failed = bench.ask("worker:b/1", Command::Fail(Fail { retry_after, ..plain })).await;
            assert!(failed.is_yes(), "{failed:?}");
        }

        bench.clock.set(start.after(Duration::from_secs(1)));
        let behind = bench.database().behind().await.unwrap();
        assert_eq!(behind, Some(ahead - Duration::from_secs(1)));
        assert_eq!(bench.due(Overdue::Time).await, [decoy], "the others are held by the clock as it is");
        // The backlog says so too: a process has workers only for stores with due work.
        let of_jobs = bench.database().backlog(None).await.unwrap().remove(0);
        assert!(of_jobs.first_at.is_some_and(|first| first <= bench.clock.now()), "{of_jobs:?}");
        let mut now = leased(bench).await;
        now.sort();
        let mut due = vec![prompt, failing, patient];
        due.sort();
        // A wait of two hours that is an hour too far ahead is less than twice as long.
        due.retain(|item| ahead > HOUR || *item != patient);
        assert_eq!(now, due, "ahead by {ahead:?}");
        assert_eq!(bench.database().behind().await.unwrap(), behind, "what is written now does not hide it");

        bench.clock.set(start.after(MINUTE));
        assert!(bench.due(Overdue::Time).await.contains(&held), "its lease ends at its time");
        bench.clock.set(start.after(MINUTE * 20).before(Duration::from_secs(1)));
        assert_eq!(leased(bench).await, []);
        bench.clock.set(start.after(MINUTE * 20));
        assert_eq!(leased(bench).await, [soon]);
        bench.clock.set(start.after(MINUTE * 30).before(Duration::from_secs(1)));
        assert_eq!(leased(bench).await, []);
        bench.clock.set(start.after(MINUTE * 30));
        assert_eq!(leased(bench).await, [by_run_at]);
        bench.clock.set(start.after(ahead + HOUR * 3));
        assert_eq!(bench.database().behind().await.unwrap(), None, "it has caught up");
        for item in bench.items().await.iter().filter(|item| item.lease.is_some()) {
            bench.reply(sweep(item.execution_id())).await;
        }
        while let [_, ..] = &*leased(bench).await {}
    }
}

/// A claim by a clock that is ahead moves what is due by it to what is ready, and leaves it there.
pub async fn items_that_were_promoted_too_early_wait_for_their_time<H: Harness>(bench: &Bench<H>) {
    let start = bench.clock.now();
    let first = bench.job().await;
    let mut waiting = Vec::new();
    for number in 1..=5 {
        waiting.push(later(bench, start.after(MINUTE * number)).await);
    }
    bench.clock.set(start.after(HOUR));
    assert_eq!(ids(&bench.acquire("worker:a/1", &["job"], 1).await), [first]);
    bench.clock.set(start);
    assert_eq!(leased(bench).await, []);
    for (number, item) in (1..).zip(waiting) {
        bench.clock.set(start.after(MINUTE * number));
        assert_eq!(leased(bench).await, [item]);
    }
}

/// A rate of a key, a spent budget and an open breaker, each used by a clock that was ahead.
pub async fn limits_that_were_used_ahead_hold_for_their_span_at_most<H: Harness>(bench: &Bench<H>) {
    for (settings, seconds) in [
        (("rate", "1 per key per 10 s"), 0),
        (("rate", "1 per 10 s"), 0),
        (("breaker", "1 failures in 10 s, pause 5 s"), 1),
        (("retry budget", "1 per 10 s"), 1),
    ] {
        bench.database().add_table(&limited("task", &[settings])).await.unwrap();
        let start = bench.clock.now();
        let task = || Create { key: Some("k".parse().unwrap()), attempts: Some(9), ..new("task", "{}") };
        let mut tasks = Vec::new();
        for _ in 0..3 {
            tasks.push(bench.create(task()).await);
            bench.tick();
        }
        bench.clock.set(start.after(DAY * 400));
        let terms = tenure_core::request::Terms { start: true, ..Default::default() };
        for lease in leases(bench.ask("worker:a/1", acquire_with(&["task"], 1, terms)).await) {
            bench.ask("worker:a/1", fail(lease.execution)).await;
        }
        bench.clock.set(start.after(Duration::from_secs(2 + seconds)));
        let next = bench.acquire("worker:b/1", &["task"], 1).await;
        assert_eq!(next.len(), 1, "{settings:?}");
        bench.clock.set(start.after(DAY * 401));
        for item in bench.items().await.iter().filter(|item| !item.phase().is_ended()) {
            bench.reply(sweep(item.execution_id())).await;
            bench.ask("human:eva", cancel(item.id)).await;
        }
    }
}
