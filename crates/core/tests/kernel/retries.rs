//! Retrying: what counts as an attempt, how long to wait for the next, and where the last one ends.

use std::time::Duration;

use tenure_core::id::ItemId;
use tenure_core::request::*;

use crate::kit::*;

/// How long the item waits before it may be leased again.
fn wait(bench: &Bench, item: ItemId) -> Duration {
    bench.item(item).run_at.since(bench.world.now)
}

fn assert_jittered(wait: Duration, base: Duration) {
    assert!(base <= wait && wait <= base + base / 5, "{wait:?} is not {base:?} and up to a fifth more");
}

// covers: K-33, J-03
#[test]
fn every_failure_doubles_the_wait_up_to_its_bound() {
    let mut bench = Bench::new();
    let job = bench.created("api:t", Create { attempts: Some(20), ..new("job", "{}") }).id;
    for base in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600] {
        let execution = bench.run("worker:a/1", job);
        bench.wait(seconds(3));
        bench.ask("worker:a/1", fail(execution));
        assert_eq!(bench.state(job), "PENDING", "at once");
        assert_jittered(wait(&bench, job), seconds(base));
        assert_eq!(bench.refusal("worker:a/1", take(job)), "TRANSITION_REFUSED", "not before its time");
        bench.wait_until_due(job);
    }
}

// covers: K-33
#[test]
fn what_failed_together_does_not_come_back_together() {
    let mut bench = Bench::new();
    let mut waits: Vec<Duration> = Vec::new();
    for _ in 0..20 {
        let job = bench.job();
        let execution = bench.run("worker:a/1", job);
        bench.ask("worker:a/1", fail(execution));
        waits.push(wait(&bench, job));
    }
    waits.iter().for_each(|wait| assert_jittered(*wait, seconds(1)));
    waits.sort();
    waits.dedup();
    assert!(waits.len() > 10, "{waits:?}");
}

// covers: K-33
#[test]
fn a_worker_may_ask_for_a_longer_wait_not_a_shorter_one() {
    for (asked, at_least) in [(seconds(30), seconds(30)), (Duration::ZERO, seconds(1))] {
        let mut bench = Bench::new();
        let job = bench.job();
        let execution = bench.run("worker:a/1", job);
        let Command::Fail(plain) = fail(execution) else { panic!() };
        bench.ask("worker:a/1", Command::Fail(Fail { retry_after: Some(asked), ..plain }));
        assert!(wait(&bench, job) >= at_least && wait(&bench, job) <= at_least * 6 / 5);
    }
}

// covers: K-33, J-03
#[test]
fn a_permanent_failure_ends_the_job_on_its_first_attempt() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", fail_for_good(execution));
    assert_eq!((bench.state(job), bench.item(job).reason.as_deref()), ("FAILED", Some("it can not work")));
}

// covers: K-33, J-03
#[test]
fn five_attempts_are_five_failures_or_expiries_and_no_more() {
    for expiring in [false, true] {
        let mut bench = Bench::new();
        let job = bench.job();
        for attempt in 1..=5 {
            bench.wait_until_due(job);
            let execution = bench.run("worker:a/1", job);
            match expiring {
                true => bench.expire(job),
                false => bench.ask("worker:a/1", fail_for(execution, &format!("failure {attempt}"))),
            };
            let expected = if attempt < 5 { "PENDING" } else { "FAILED" };
            assert_eq!(bench.state(job), expected, "attempt {attempt}");
        }
        let reason = if expiring { "its lease ended" } else { "failure 5" };
        assert_eq!(bench.item(job).reason.as_deref(), Some(reason), "the last reason is kept");
        let causes: Vec<String> =
            bench.world.executions_of(job).map(|e| e.ended.as_ref().unwrap().cause.to_string()).collect();
        assert_eq!(causes, [if expiring { "expire" } else { "fail" }; 5], "every attempt is kept");
    }
}

// covers: K-33
#[test]
fn a_release_costs_no_attempt_and_no_wait() {
    let mut bench = Bench::new();
    let job = bench.created("api:t", Create { attempts: Some(2), ..new("job", "{}") }).id;
    let place = bench.item(job).rank();
    for _ in 0..10 {
        let execution = bench.run("worker:a/1", job);
        bench.wait(seconds(1));
        bench.ask("worker:a/1", release(execution));
        assert_eq!((bench.item(job).failures, bench.item(job).rank()), (0, place), "it keeps its place");
    }
    assert_eq!(bench.item(job).interruptions, 10);
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", fail(execution));
    assert_eq!(bench.state(job), "PENDING", "the first of two");
}

// covers: K-33
#[test]
fn an_expired_item_is_ready_at_once() {
    let mut bench = Bench::new();
    let job = bench.job();
    bench.run("worker:a/1", job);
    bench.expire(job);
    assert_eq!(wait(&bench, job), Duration::ZERO, "it has waited for its lease to end already");
    bench.take("worker:b/1", job);
}

// covers: C-03, C-15, K-33
#[test]
fn enqueueing_a_failed_claim_grants_it_a_new_budget() {
    let mut bench = Bench::new();
    let claim = bench.create("api:t", "claim", r#"{"domain":"d","text":"t"}"#);
    bench.ask("orchestrator:o", step(claim, "enqueue"));
    for attempt in 1..=5 {
        bench.run("worker:a/1", claim);
        bench.expire(claim);
        assert_eq!(bench.item(claim).failures, attempt);
    }
    assert_eq!(bench.state(claim), "failed");
    assert_eq!(
        bench.refusal("worker:a/1", step(claim, "enqueue")),
        "FORBIDDEN",
        "never the worker's decision"
    );
    bench.ask("orchestrator:o", step_for(claim, "enqueue", "retry"));
    assert_eq!((bench.state(claim), bench.item(claim).failures, bench.item(claim).fence.0), ("queued", 0, 5));
    let execution = bench.run("worker:a/1", claim);
    bench.expire(claim);
    assert_eq!((bench.state(claim), execution.fence.0), ("queued", 6));
}

// covers: K-17, K-33
// fault: T7
#[test]
fn what_a_clock_that_was_ahead_has_put_off_is_due_and_what_was_asked_for_waits() {
    for ahead in [3_600, 400 * 86_400] {
        let mut bench = Bench::new();
        let far =
            bench.created("api:t", Create { run_at: Some(START.after(seconds(86_400))), ..new("job", "{}") });
        let job = bench.job();
        bench.world.now = START.after(seconds(ahead));
        let execution = bench.run("worker:a/1", job);
        bench.ask("worker:a/1", fail(execution));
        let prompt = bench.job();
        // By that clock its time has passed.
        let soon =
            bench.created("api:t", Create { run_at: Some(START.after(seconds(60))), ..new("job", "{}") });
        bench.world.now = START.after(seconds(1));
        assert_eq!(bench.refusal("worker:a/1", take(far.id)), "TRANSITION_REFUSED");
        assert_eq!(bench.refusal("worker:a/1", take(soon.id)), "TRANSITION_REFUSED");
        bench.run("worker:a/1", job);
        bench.run("worker:a/1", prompt);
        bench.world.now = START.after(seconds(60));
        bench.run("worker:a/1", soon.id);
        assert_eq!(bench.item(job).lease.as_ref().unwrap().expires, START.after(seconds(61)));
        for item in [far.id, job, prompt, soon.id] {
            assert_eq!(bench.folded(item), bench.item(item).as_logged());
        }
    }
}

// covers: K-17, K-33
#[test]
fn a_retry_waits_as_long_as_it_should_while_the_clock_moves_a_little() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let Command::Fail(plain) = fail(execution) else { panic!() };
    let day = Some(seconds(86_400));
    assert!(bench.ask("worker:a/1", Command::Fail(Fail { retry_after: day, ..plain })).is_yes());
    // Behind by an hour, it is a wait of a day still.
    for second in [-3_600, -1, 0, 1, 86_399] {
        bench.world.now = tenure_core::time::Time::from_micros(START.micros() + second * 1_000_000);
        assert_eq!(bench.refusal("worker:a/1", take(job)), "TRANSITION_REFUSED", "at {second} s");
    }
    bench.world.now = START.after(seconds(86_400));
    bench.take("worker:a/1", job);
}
