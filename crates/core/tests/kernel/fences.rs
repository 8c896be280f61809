//! The fence: a stale write is refused, also when the item looks exactly as its writer left it.

use tenure_core::answer::Answer;
use tenure_core::execution::Status;
use tenure_core::id::ExecutionId;
use tenure_core::request::*;

use crate::kit::*;

/// Every write that is made under a lease.
fn writes(execution: ExecutionId) -> Vec<(&'static str, Command)> {
    vec![
        ("start", start(execution)),
        ("renew", renew(execution)),
        ("progress", progress(execution, record("step", "late", "{}"), &[], &[])),
        ("commit", commit(execution)),
        ("finish", finish(execution)),
        ("fail", fail(execution)),
        ("release", release(execution)),
    ]
}

/// A start repeated by the execution that made it gets its first answer, lease or not; everything else is lost.
fn assert_stale(bench: &mut Bench, actor: &str, execution: ExecutionId, own: bool) {
    for (name, command) in writes(execution) {
        let before = bench.everything();
        let answer = bench.ask(actor, command);
        match (name, own) {
            ("start", true) => assert!(matches!(answer, Answer::Ran(_)), "{actor} start: {answer:?}"),
            _ => assert!(matches!(answer, Answer::LeaseLost(_)), "{actor} {name}: {answer:?}"),
        }
        assert_eq!(bench.everything(), before, "{actor} {name} wrote something");
    }
}

// covers: K-12, K-39
#[test]
fn a_stale_write_is_refused_while_the_new_holder_is_in_the_same_state() {
    for cycles in 1..=5 {
        let mut bench = Bench::new();
        let job = bench.created("api:t", Create { attempts: Some(9), ..new("job", "{}") }).id;
        let stale = bench.run("worker:a/1", job);
        let mut holder = stale;
        for cycle in 0..cycles {
            bench.wait(seconds(61));
            holder = bench.run(&format!("worker:b/{cycle}"), job);
        }
        // Same kind, same state, both IN_PROGRESS: only the fence tells them apart.
        assert_eq!((bench.state(job), bench.status(holder)), ("RUNNING", Status::InProgress));
        assert_eq!(holder.fence.0, 1 + cycles);
        assert_stale(&mut bench, "worker:a/1", stale, true);
        assert!(
            bench.ask(&format!("worker:b/{}", cycles - 1), commit(holder)).is_yes(),
            "the holder goes on"
        );
    }
}

// covers: K-12
#[test]
fn a_stale_write_is_refused_when_the_same_owner_holds_it_again() {
    for cycles in 1..=5 {
        let mut bench = Bench::new();
        let job = bench.created("api:t", Create { attempts: Some(9), ..new("job", "{}") }).id;
        let stale = bench.run("worker:a/1", job);
        for _ in 0..cycles {
            bench.wait(seconds(61));
            bench.run("worker:a/1", job);
        }
        assert_stale(&mut bench, "worker:a/1", stale, true);
    }
}

// covers: K-12, K-11
#[test]
fn another_incarnation_of_the_owner_is_somebody_else() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    for other in ["worker:a/2", "worker:a", "worker:b/1", "admin:a/2"] {
        assert_stale(&mut bench, other, execution, false);
    }
    // The role is not part of who one is.
    assert!(bench.decide("admin:a/1", commit(execution)).answer.is_yes());
}

// covers: K-12
#[test]
fn a_fence_that_was_never_given_is_refused() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let ahead = ExecutionId { fence: execution.fence.next(), ..execution };
    assert_stale(&mut bench, "worker:a/1", ahead, false);
}

// covers: K-12
#[test]
fn nothing_is_written_under_a_lease_that_was_given_back() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", release(execution));
    for (name, command) in writes(execution) {
        let expected = if matches!(name, "start" | "release") { "yes" } else { "LEASE_LOST" };
        assert_eq!(bench.refusal("worker:a/1", command), expected, "{name}");
    }
    assert_eq!(bench.story(job), "create lease start release");
}

// covers: K-12, K-34
#[test]
fn an_execution_past_its_window_can_write_nothing() {
    let mut bench = Bench::new();
    let run = bench.create("api:t", "run", r#"{"document_id":"d"}"#);
    let execution = bench.run("worker:a/1", run);
    bench.wait(seconds(59));
    bench.ask("worker:a/1", renew(execution));
    bench.wait(seconds(59));
    bench.ask("worker:a/1", renew(execution));
    bench.wait(seconds(2) - MICROSECOND);
    assert_eq!(bench.refusal("worker:a/1", commit(execution)), "yes");
    bench.wait(MICROSECOND);
    assert!(bench.item(run).lease.as_ref().unwrap().expires > bench.world.now, "its lease was renewed");
    assert_stale(&mut bench, "worker:a/1", execution, true);
}
