//! Cancelling: at once where nobody holds the item, by asking where somebody does.

use tenure_core::answer::Answer;
use tenure_core::execution::Status;
use tenure_core::request::*;

use crate::kit::*;

// covers: K-35, J-09, K-27
#[test]
fn a_pending_job_is_cancelled_at_once_through_an_execution_that_never_ran() {
    let mut bench = Bench::new();
    let job = bench.job();
    bench.ask("human:eva", cancel(job));
    assert_eq!((bench.state(job), bench.item(job).reason.as_deref()), ("CANCELLED", Some("not needed")));
    let executions: Vec<_> = bench.world.executions_of(job).collect();
    let [execution] = executions[..] else { panic!("one, so that the state stays derived") };
    let ended = execution.ended.as_ref().unwrap();
    assert_eq!((execution.status(), ended.cause.as_str()), (Status::Aborted, "cancel"));
    assert_eq!((execution.id.fence.0, bench.item(job).fence.0), (1, 1), "its number is never used again");
}

// covers: K-35
#[test]
fn a_cancel_needs_a_reason_and_the_right_role() {
    let mut bench = Bench::new();
    let job = bench.job();
    for reason in [None, Some("  ".to_string())] {
        let cancel = Cancel { item: job, reason, expected_version: None, offers: Effects::default() };
        assert_eq!(bench.refusal("api:t", Command::Cancel(cancel)), "INVALID_REQUEST");
    }
    assert_eq!(bench.refusal("worker:a/1", cancel(job)), "FORBIDDEN");
}

// covers: K-35
#[test]
fn a_held_item_is_asked_to_stop_and_its_worker_learns_it_at_its_next_heartbeat() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("human:eva", cancel(job));
    assert_eq!((bench.state(job), bench.status(execution)), ("RUNNING", Status::InProgress));
    let answer = bench.ask("worker:a/1", renew(execution));
    assert!(matches!(answer, Answer::Renewed { cancel_requested: true, .. }), "{answer:?}");
}

// covers: K-35, J-09
#[test]
fn the_cancel_row_is_taken_whichever_way_the_worker_stops() {
    for ending in ["release", "fail", "fail for good", "expire"] {
        let mut bench = Bench::new();
        let job = bench.job();
        let execution = bench.run("worker:a/1", job);
        bench.ask("human:eva", cancel(job));
        match ending {
            "release" => bench.ask("worker:a/1", release(execution)),
            "fail" => bench.ask("worker:a/1", fail(execution)),
            "fail for good" => bench.ask("worker:a/1", fail_for_good(execution)),
            _ => bench.expire(job),
        };
        assert_eq!(bench.state(job), "CANCELLED", "{ending}");
        let entry = bench.history(job).pop().unwrap();
        assert_eq!(
            (entry.actor.to_string().as_str(), entry.action.as_str()),
            ("human:eva", "cancel"),
            "{ending}"
        );
        assert_eq!(bench.item(job).reason.as_deref(), Some("not needed"), "{ending}");
        let ended = bench.execution(execution).ended.unwrap();
        let on = ending.split(' ').next();
        assert_eq!((ended.cause.as_str(), ended.on.as_ref().map(|on| on.as_str())), ("cancel", on));
    }
}

// covers: K-35, K-39
#[test]
fn whoever_let_go_of_a_cancelled_item_may_say_so_again() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("human:eva", cancel(job));
    let first = bench.ask("worker:a/1", release(execution));
    assert_eq!(bench.ask("worker:a/1", release(execution)), first);
    assert_eq!(bench.refusal("worker:a/1", fail(execution)), "LEASE_LOST", "it did not fail");
}

// covers: K-35, K-25
#[test]
fn a_commit_that_comes_before_the_stop_wins() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("human:eva", cancel(job));
    bench.ask("worker:a/1", commit(execution));
    assert!(matches!(bench.ask("human:eva", cancel(job)), Answer::Same(_)), "asked already");
    bench.wait(seconds(3600));
    bench.sweep(job);
    assert_eq!((bench.state(job), bench.item(job).cancel.is_some()), ("SUCCEEDED", false));
}

// covers: K-04, K-35
#[test]
fn a_cancel_is_repeated_without_a_second_entry() {
    let mut bench = Bench::new();
    let (waiting, held) = (bench.job(), bench.job());
    let execution = bench.run("worker:a/1", held);
    for job in [waiting, held] {
        bench.ask("human:eva", cancel(job));
        let before = bench.everything();
        assert!(matches!(bench.ask("human:eva", cancel(job)), Answer::Same(_)));
        assert_eq!(bench.everything(), before);
    }
    // Also after something was added to the item, and after its worker has stopped.
    bench.ask("api:t", note(waiting, record("remark", "1", "{}")));
    bench.ask("worker:a/1", progress(execution, record("step", "1", "{}"), &[], &[]));
    bench.ask("worker:a/1", release(execution));
    for job in [waiting, held] {
        let before = bench.everything();
        assert!(matches!(bench.ask("human:eva", cancel(job)), Answer::Same(_)));
        assert_eq!(bench.everything(), before);
        assert_eq!(
            bench.refusal("human:ben", cancel(job)),
            "TRANSITION_REFUSED",
            "somebody else's is too late"
        );
    }
}

// covers: K-05, J-09
#[test]
fn a_final_state_is_not_cancelled() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", commit(execution));
    bench.ask("worker:a/1", finish(execution));
    for actor in ["api:t", "human:eva", "admin:root"] {
        assert_eq!(bench.refusal(actor, cancel(job)), "TRANSITION_REFUSED", "{actor}");
    }
    let run = bench.create("api:t", "run", r#"{"document_id":"d"}"#);
    assert_eq!(bench.refusal("api:t", cancel(run)), "TRANSITION_REFUSED", "a run has no such row");
}

// covers: K-02
#[test]
fn a_cancel_of_a_version_that_has_passed_is_stale() {
    let mut bench = Bench::new();
    let job = bench.job();
    let of = |version| {
        let (reason, offers) = (Some("not needed".to_string()), Effects::default());
        Command::Cancel(Cancel { item: job, reason, expected_version: Some(version), offers })
    };
    bench.take("worker:a/1", job);
    let answer = bench.ask("api:t", of(1));
    assert!(matches!(answer, Answer::Stale { found, .. } if found.version == 2));
    assert!(matches!(bench.ask("api:t", of(2)), Answer::Done(_)));
}

const CALLED_OFF: &str = "# errand

A thing that its own owner may go on with in another incarnation.

## States

| State | Phase     | Meaning |
|-------|-----------|---------|
| Open  | ready     |         |
| Held  | active    |         |
| Done  | succeeded |         |
| Off   | stopped   |         |

## Transitions

| From | Event   | To   | Actor  | Guard  | Effect |
|------|---------|------|--------|--------|--------|
| —    | create  | Open | api    |        |        |
| Open | lease   | Held | worker |        |        |
| Held | lease   | Held | worker | owner  |        |
| Held | commit  | Done | worker |        |        |
| Held | release | Open | worker |        |        |
| Held | expire  | Open | system |        |        |
| Held | cancel  | Off  | api    | reason |        |
";

// covers: K-35
#[test]
fn an_owner_that_comes_back_in_another_incarnation_is_still_asked_to_stop() {
    let mut bench = Bench::with(CALLED_OFF);
    let errand = bench.create("api:t", "errand", "{}");
    bench.run("worker:a/1", errand);
    bench.ask("api:t", cancel(errand));
    let again = bench.run("worker:a/2", errand);
    let answer = bench.ask("worker:a/2", renew(again));
    assert!(matches!(answer, Answer::Renewed { cancel_requested: true, .. }), "{answer:?}");
    bench.ask("worker:a/2", release(again));
    assert_eq!(bench.state(errand), "Off");
}
