//! Sweeps: what time has made due, judged now, however late, twice or stale the sweep arrives.

use tenure_core::answer::Answer;
use tenure_core::execution::Status;
use tenure_core::id::{Fence, ItemId};
use tenure_core::request::*;

use crate::kit::*;

fn run(bench: &mut Bench) -> ItemId {
    bench.create("api:t", "run", r#"{"document_id":"d"}"#)
}

// covers: K-25, J-02
#[test]
fn a_crash_before_the_commit_is_aborted_with_its_reason_at_expiry() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.expire(job);
    let ended = bench.execution(execution).ended.unwrap();
    assert_eq!((bench.status(execution), ended.cause.as_str()), (Status::Aborted, "expire"));
    assert_eq!(ended.reason.as_deref(), Some("its lease ended"));
    let entry = bench.history(job).pop().unwrap();
    assert_eq!((bench.state(job), entry.actor.to_string().as_str()), ("PENDING", "system:engine"));
}

// covers: J-06, K-12
#[test]
fn a_sweep_with_a_stale_fence_leaves_the_new_holder_alone() {
    let mut bench = Bench::new();
    let job = bench.job();
    let old = bench.run("worker:a/1", job);
    bench.wait(seconds(60));
    let new = bench.run("worker:b/1", job);
    let sweep =
        |fence: Fence, due: Due| Command::Sweep(Sweep { item: job, fence, due, offers: Effects::default() });
    let heartbeat = bench.item(job).lease.as_ref().unwrap().heartbeat;
    for due in [Due::Time, Due::Orphan { heartbeat }] {
        assert!(matches!(bench.ask("system:engine", sweep(old.fence, due)), Answer::Same(_)));
    }
    // Also when the new lease has run out by then: the sweeper must look again.
    bench.wait(seconds(60));
    assert!(matches!(bench.ask("system:engine", sweep(old.fence, Due::Time)), Answer::Same(_)));
    assert_eq!((bench.state(job), bench.status(new)), ("RUNNING", Status::InProgress));
}

// covers: K-04, K-25
#[test]
fn a_sweep_that_comes_twice_or_too_early_does_nothing() {
    let mut bench = Bench::new();
    let job = bench.job();
    assert!(matches!(bench.sweep(job), Answer::Same(_)), "held by nobody");
    bench.run("worker:a/1", job);
    assert!(matches!(bench.sweep(job), Answer::Same(_)), "held");
    bench.expire(job);
    let before = bench.everything();
    assert!(matches!(bench.sweep(job), Answer::Same(_)), "done already");
    assert_eq!(bench.everything(), before);
}

// covers: K-07
#[test]
fn only_the_engine_sweeps() {
    let mut bench = Bench::new();
    let job = bench.job();
    bench.run("worker:a/1", job);
    bench.wait(seconds(60));
    let fence = bench.item(job).fence;
    for role in ["api", "orchestrator", "worker", "human", "admin"] {
        let sweep = Sweep { item: job, fence, due: Due::Time, offers: Effects::default() };
        assert_eq!(bench.refusal(&format!("{role}:x"), Command::Sweep(sweep)), "FORBIDDEN", "{role}");
    }
    // Not even where the row would let them: a worker may finish, but its own.
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", commit(execution));
    bench.wait(seconds(60));
    let sweep = Sweep { item: job, fence: execution.fence, due: Due::Time, offers: Effects::default() };
    assert_eq!(bench.refusal("worker:b/1", Command::Sweep(sweep)), "FORBIDDEN");
}

// covers: K-34, R-07
#[test]
fn a_window_ends_at_its_very_moment_whatever_the_heartbeats_say() {
    for (early, state) in [(MICROSECOND, "RUNNING"), (seconds(0), "TIMED_OUT")] {
        let mut bench = Bench::new();
        let run = run(&mut bench);
        let execution = bench.run("worker:a/1", run);
        for _ in 0..2 {
            bench.wait(seconds(50));
            assert!(bench.ask("worker:a/1", renew(execution)).is_yes());
        }
        bench.wait(seconds(20) - early);
        bench.sweep(run);
        assert_eq!(bench.state(run), state, "{early:?} early");
    }
}

// covers: K-34, R-05
#[test]
fn the_window_counts_before_the_lease_and_the_lease_within_it() {
    for (after, state, action) in [(seconds(60), "FAILED", "orphan"), (seconds(120), "TIMED_OUT", "time-out")]
    {
        let mut bench = Bench::new();
        let run = run(&mut bench);
        bench.run("worker:a/1", run);
        bench.wait(after);
        bench.sweep(run);
        assert_eq!(bench.state(run), state, "{after:?}");
        assert_eq!(bench.history(run).pop().unwrap().action.as_str(), action);
    }
}

// covers: K-34
#[test]
fn the_window_counts_for_each_execution_by_itself() {
    let source = tenure_core::lifecycle::shipped::SHIPPED.iter().find(|s| s.file == "job.md").unwrap().source;
    let mut bench = Bench::with(
        &source.replace("| window   | none                   |", "| window   | 30 s                   |"),
    );
    let job = bench.job();
    for attempt in 1..=5 {
        bench.wait_until_due(job);
        let execution = bench.run("worker:a/1", job);
        bench.wait(seconds(30) - MICROSECOND);
        assert!(matches!(bench.sweep(job), Answer::Same(_)));
        bench.wait(MICROSECOND);
        bench.sweep(job);
        let ended = bench.execution(execution).ended.unwrap();
        assert_eq!((ended.cause.as_str(), ended.reason.as_deref()), ("time-out", Some("its window passed")));
        assert_eq!(bench.item(job).failures, attempt, "it counts as an attempt");
        if attempt < 5 {
            let wait = bench.item(job).run_at.since(bench.world.now);
            assert!(wait >= seconds(1 << (attempt - 1)), "it waits like a failure: {wait:?}");
        }
    }
    assert_eq!(bench.state(job), "FAILED");
}

// covers: R-07, R-06
#[test]
fn a_run_that_times_out_closes_its_open_steps_as_failed() {
    let mut bench = Bench::new();
    let run = run(&mut bench);
    let execution = bench.run("worker:a/1", run);
    let step = |name: &str, opens: &[&str], closes: &[&str]| {
        progress(execution, record("step", name, "{}"), opens, closes)
    };
    for command in [
        step("read/1/begun", &["read"], &[]),
        step("read/1/ended", &[], &["read"]),
        step("parse/1/begun", &["parse"], &[]),
        // A careless worker opens it twice.
        step("parse/2/begun", &["parse"], &[]),
        step("store/1/begun", &["store"], &[]),
    ] {
        assert!(bench.ask("worker:a/1", command).is_yes());
    }
    // A closing record that it wrote itself would be in the way of the kernel's.
    assert_eq!(bench.refusal("worker:a/1", step("parse/1/closed", &[], &[])), "INVALID_REQUEST");
    assert_eq!(bench.refusal("api:t", note(run, record("step", "parse/1/closed", "{}"))), "INVALID_REQUEST");
    let given = recording(record("step", "parse/1/closed", "{}"));
    assert_eq!(bench.refusal("worker:a/1", commit_with(execution, given)), "FORBIDDEN");
    bench.wait(seconds(120));
    assert!(matches!(bench.sweep(run), Answer::Done(_)));
    assert_eq!((bench.state(run), bench.item(run).open_steps.len()), ("TIMED_OUT", 0));
    let closed: Vec<_> =
        bench.world.records.values().filter(|record| record.name.ends_with("/closed")).collect();
    let names: Vec<&str> = closed.iter().map(|record| &*record.name).collect();
    assert!(
        names.contains(&"parse/1/closed") && names.contains(&"store/1/closed") && names.len() == 2,
        "{names:?}"
    );
    let parse = closed.iter().find(|record| &*record.name == "parse/1/closed").unwrap();
    let expected = r#"{"error_code":"time-out","status":"failed","step":"parse"}"#;
    assert_eq!(parse.body, Some(body(expected)));
}

// covers: R-05, R-01
#[test]
fn a_run_whose_process_died_is_recovered_as_failed() {
    let mut bench = Bench::new();
    let run = run(&mut bench);
    let execution = bench.run("worker:a/1", run);
    let heartbeat = bench.item(run).lease.as_ref().unwrap().heartbeat;
    bench.wait(seconds(5));
    // It renews after the list of dead processes was read: it is left alone.
    bench.ask("worker:a/1", renew(execution));
    let orphan = Due::Orphan { heartbeat };
    assert!(matches!(bench.sweep_with(run, orphan, Effects::default()), Answer::Same(_)));
    let orphan = Due::Orphan { heartbeat: bench.world.now };
    assert!(matches!(bench.sweep_with(run, orphan, Effects::default()), Answer::Done(_)));
    let entry = bench.history(run).pop().unwrap();
    assert_eq!((bench.state(run), entry.shown()), ("FAILED", "RUN_RECOVERED_AS_FAILED"));
    assert_eq!(bench.item(run).reason.as_deref(), Some("its process died"));
}

// covers: K-25
#[test]
fn what_committed_is_finished_whatever_the_sweep_came_for() {
    let dues: [fn(&Bench, ItemId) -> Due; 2] = [
        |_, _| Due::Time,
        |bench, job| Due::Orphan { heartbeat: bench.item(job).lease.as_ref().unwrap().heartbeat },
    ];
    for due in dues {
        let mut bench = Bench::new();
        let job = bench.job();
        let execution = bench.run("worker:a/1", job);
        bench.ask("worker:a/1", commit(execution));
        bench.wait(seconds(60));
        let due = due(&bench, job);
        bench.sweep_with(job, due, Effects::default());
        assert_eq!((bench.state(job), bench.status(execution)), ("SUCCEEDED", Status::Done));
    }
}

// covers: K-37, M-12
#[test]
fn a_system_row_must_be_given_its_effects() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    bench.ask("human:eva", step(ticket, "approve"));
    let payload = format!(r#"{{"event_id":"e","ticket_id":"{ticket}"}}"#);
    let order = bench.create("system:engine", "work_order", &payload);
    let offers = || Effects {
        moves: moving(ticket, "block").moves,
        creates: vec![new("blocker", r#"{"ticket_id":"t","reason":"r"}"#)],
        records: vec![record("pause_state", "1", "{}")],
        ..Effects::default()
    };
    for attempt in 1..=3 {
        bench.run("worker:a/1", order);
        bench.wait(seconds(60));
        if attempt < 3 {
            // Not the last: what the row does not list is left out.
            bench.sweep_with(order, Due::Time, offers());
            assert_eq!((bench.state(order), bench.state(ticket)), ("CREATED", "TODO"));
        }
    }
    type Forget = fn(&mut Effects);
    let forgets: [Forget; 3] = [|e| e.moves.clear(), |e| e.creates.clear(), |e| e.records.clear()];
    for forget in forgets {
        let mut offers = offers();
        forget(&mut offers);
        let answer = bench.sweep_with(order, Due::Time, offers);
        assert_eq!(code(&answer), "TRANSITION_REFUSED", "{answer:?}");
    }
    bench.sweep_with(order, Due::Time, offers());
    assert_eq!((bench.state(order), bench.state(ticket)), ("FAILED", "BLOCKED"));
    let kinds: Vec<&str> = bench.world.items.values().map(|item| &*item.table.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "blocker").count(), 1);
    assert_eq!(bench.refusal("worker:b/1", take(order)), "TRANSITION_REFUSED", "FAILED is final");
}

// covers: K-10, K-37
#[test]
fn a_take_over_that_lacks_the_effects_of_the_expiry_finds_the_item_held() {
    let mut bench = Bench::new();
    let payload = r#"{"event_id":"e","ticket_id":"t"}"#;
    let order = bench.created("system:engine", Create { attempts: Some(1), ..new("work_order", payload) }).id;
    bench.run("worker:a/1", order);
    bench.wait(seconds(60));
    assert_eq!(bench.refusal("worker:b/1", take(order)), "CLAIM_CONFLICT", "the engine comes first");
}
