//! The adversarial probes: what a hostile or unlucky worker tries, and must not get.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::execution::Status;

use crate::kit::*;

const PAST_THE_LEASE: Duration = Duration::from_secs(61);

// covers: J-06, K-12
#[test]
fn an_expired_worker_can_not_commit() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.wait(PAST_THE_LEASE);
    let answer = bench.ask("worker:a/1", commit(execution));
    assert!(matches!(answer, Answer::LeaseLost(_)), "{answer:?}");
    assert_eq!(bench.story(job), "create lease start");
}

// covers: J-06, K-20
#[test]
fn aborted_never_becomes_done() {
    for ending in ["fail", "release", "expire"] {
        let mut bench = Bench::new();
        let job = bench.job();
        let execution = bench.run("worker:a/1", job);
        match ending {
            "fail" => bench.ask("worker:a/1", fail(execution)),
            "release" => bench.ask("worker:a/1", release(execution)),
            _ => bench.expire(job),
        };
        for command in [commit(execution), finish(execution)] {
            assert_eq!(bench.refusal("worker:a/1", command), "LEASE_LOST", "{ending}");
        }
        bench.ask("worker:a/1", start(execution));
        bench.wait(PAST_THE_LEASE);
        bench.sweep(job);
        assert_eq!((bench.status(execution), bench.state(job)), (Status::Aborted, "PENDING"), "{ending}");
    }
}

// covers: J-06
#[test]
fn a_reconcile_never_sets_a_job_pending_while_another_execution_is_live() {
    let mut bench = Bench::new();
    let job = bench.job();
    let dead = bench.run("worker:a/1", job);
    bench.wait(PAST_THE_LEASE);
    let live = bench.run("worker:b/1", job);
    // The dead one comes back, and its end is reconciled late, in every way there is.
    for command in [fail(dead), release(dead), fail_for_good(dead)] {
        assert_eq!(bench.refusal("worker:a/1", command), "LEASE_LOST");
    }
    assert!(matches!(bench.sweep(job), Answer::Same(_)));
    assert_eq!((bench.state(job), bench.status(live)), ("RUNNING", Status::InProgress));
}

// covers: J-06, K-24, K-05
#[test]
fn succeeded_is_never_leased_again() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", commit(execution));
    bench.ask("worker:a/1", finish(execution));
    for worker in ["worker:a/1", "worker:b/1", "admin:root"] {
        assert_eq!(bench.refusal(worker, take(job)), "ALREADY_COMMITTED", "{worker}");
    }
    bench.wait(PAST_THE_LEASE);
    assert!(matches!(bench.sweep(job), Answer::Same(_)));
    assert_eq!((bench.state(job), bench.item(job).fence.0), ("SUCCEEDED", 1));
}

// covers: J-06, K-20
#[test]
fn done_is_never_reached_without_committed() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    assert_eq!(bench.refusal("worker:a/1", finish(execution)), "TRANSITION_REFUSED");
    assert_eq!(bench.refusal("system:engine", finish(execution)), "LEASE_LOST", "not even by the engine");
    bench.ask("worker:a/1", commit(execution));
    bench.ask("worker:a/1", finish(execution));
    let story = bench.story(job);
    assert!(story.find("commit") < story.find("finish"), "{story}");
    assert!(bench.execution(execution).committed.is_some());
}
