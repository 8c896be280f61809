//! Executions and the commit boundary: what happens once, what comes before it and what after.

use tenure_core::answer::Answer;
use tenure_core::derive::derive;
use tenure_core::execution::{Status, Step, next};
use tenure_core::request::*;
use tenure_core::world::Change;

use crate::kit::*;

fn with_output(execution: tenure_core::id::ExecutionId, output: &str) -> Command {
    let (output, effects) = (Some(body(output)), Effects::default());
    Command::Commit(Commit { execution, output, effects, finish: false, session: None, attests: vec![] })
}

// covers: K-20, J-06
#[test]
fn an_execution_makes_five_moves_and_no_other() {
    use Status::*;
    let moves = [
        (Leased, Step::Start, InProgress),
        (InProgress, Step::Commit, Committed),
        (Committed, Step::Finish, Done),
        (Leased, Step::Abort, Aborted),
        (InProgress, Step::Abort, Aborted),
    ];
    for from in Status::ALL {
        for step in Step::ALL {
            let expected = moves.iter().find(|(f, s, _)| (*f, *s) == (from, step)).map(|(_, _, to)| *to);
            assert_eq!(next(from, step), expected, "{from} {step:?}");
        }
    }
}

// covers: K-20, K-16, J-02
#[test]
fn a_job_goes_from_leased_to_done() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.take("worker:a/1", job);
    assert_eq!((bench.status(execution), bench.state(job)), (Status::Leased, "RUNNING"));
    bench.ask("worker:a/1", start(execution));
    assert_eq!((bench.status(execution), bench.state(job)), (Status::InProgress, "RUNNING"));
    bench.ask("worker:a/1", commit(execution));
    assert_eq!((bench.status(execution), bench.state(job)), (Status::Committed, "RUNNING"));
    bench.ask("worker:a/1", finish(execution));
    assert_eq!((bench.status(execution), bench.state(job)), (Status::Done, "SUCCEEDED"));
    assert!(bench.item(job).lease.is_none(), "the terminal write and the release are one");
}

// covers: K-20
#[test]
fn what_was_not_started_does_not_commit() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.take("worker:a/1", job);
    assert_eq!(bench.refusal("worker:a/1", commit(execution)), "TRANSITION_REFUSED");
    let early = progress(execution, record("step", "1", "{}"), &[], &[]);
    assert_eq!(bench.refusal("worker:a/1", early), "TRANSITION_REFUSED");
}

// covers: K-22, K-02, K-16
#[test]
fn a_commit_is_one_decision_with_its_effects_and_its_mark() {
    let mut bench = Bench::new();
    let claim = bench.create("api:t", "claim", r#"{"domain":"d","text":"t"}"#);
    bench.ask("orchestrator:o", step(claim, "enqueue"));
    let execution = bench.run("worker:a/1", claim);
    let effects = recording(record("truthbit", "date/1", r#"{"statement":"s"}"#));
    let decision = bench.decide("worker:a/1", commit_with(execution, effects));
    let count = |wanted: fn(&Change) -> bool| decision.changes.iter().filter(|change| wanted(change)).count();
    assert_eq!(count(|change| matches!(change, Change::Record(_))), 1);
    assert_eq!(count(|change| matches!(change, Change::Execution(e) if e.status() == Status::Done)), 1);
    assert_eq!(
        count(
            |change| matches!(change, Change::Update { item, .. } if item.state_name().as_str() == "decomposed" && item.lease.is_none())
        ),
        1
    );
    assert_eq!(count(|change| matches!(change, Change::Entry(_))), 1);
    assert_eq!(bench.state(claim), "in_progress", "deciding writes nothing");
}

// covers: K-21, K-23
#[test]
fn a_second_commit_learns_the_first_and_changes_nothing() {
    let mut bench = Bench::new();
    let job = bench.job();
    let late = bench.run("worker:a/1", job);
    bench.wait(seconds(61));
    let first = bench.run("worker:b/1", job);
    for finished in [false, true] {
        let command = if finished { finish(first) } else { with_output(first, r#"{"n":1}"#) };
        assert!(bench.ask("worker:b/1", command).is_yes());
        let before = bench.everything();
        let Answer::AlreadyCommitted(found) = bench.ask("worker:a/1", with_output(late, r#"{"n":2}"#)) else {
            panic!("a duplicate learns who committed");
        };
        assert_eq!((found.id, found.output), (first, Some(body(r#"{"n":1}"#).hash())));
        assert_eq!(bench.everything(), before);
    }
    assert_eq!(bench.world.outputs[&job], body(r#"{"n":1}"#));
    let commits = bench.world.executions_of(job).filter(|execution| execution.committed.is_some()).count();
    assert_eq!(commits, 1);
}

// covers: K-39, K-04
#[test]
fn an_execution_that_repeats_itself_gets_its_first_answer_lease_or_not() {
    type Then = fn(tenure_core::id::ExecutionId) -> Command;
    let verbs: [(&str, Then); 4] =
        [("commit", commit), ("fail", fail), ("release", release), ("start", start)];
    for (verb, command) in verbs {
        let mut bench = Bench::new();
        let job = bench.job();
        let execution = bench.take("worker:a/1", job);
        let mut first = bench.ask("worker:a/1", start(execution));
        if verb != "start" {
            first = bench.ask("worker:a/1", command(execution));
        }
        assert_eq!(bench.ask("worker:a/1", command(execution)), first, "{verb} at once");
        bench.wait(seconds(3600));
        bench.sweep(job);
        assert_eq!(bench.ask("worker:a/1", command(execution)), first, "{verb} after its lease");
        if verb != "commit" {
            bench.wait_until_due(job);
            let other = bench.run("worker:b/1", job);
            assert_eq!(bench.ask("worker:a/1", command(execution)), first, "{verb} while another holds it");
            bench.ask("worker:b/1", commit(other));
            bench.ask("worker:b/1", finish(other));
            assert_eq!(bench.ask("worker:a/1", command(execution)), first, "{verb} after another committed");
        }
    }
}

// covers: K-39
#[test]
fn repeats_are_answered_in_order() {
    let mut bench = Bench::new();
    let job = bench.job();
    let failed = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", fail(failed));
    bench.wait_until_due(job);
    let winner = bench.run("worker:b/1", job);
    assert_eq!(bench.refusal("worker:a/1", fail(failed)), "yes", "its own end, again");
    assert_eq!(bench.refusal("worker:a/1", release(failed)), "LEASE_LOST", "it was not released");
    bench.ask("worker:b/1", commit(winner));
    for command in [commit(failed), finish(failed), release(failed), renew(failed)] {
        assert_eq!(bench.refusal("worker:a/1", command), "ALREADY_COMMITTED");
    }
    assert_eq!(bench.refusal("worker:a/1", fail(failed)), "yes", "still its own end");
    assert_eq!(bench.refusal("worker:b/2", commit(winner)), "LEASE_LOST", "that is somebody else's commit");
}

// covers: K-39, K-04
#[test]
fn a_finish_is_repeated_by_its_own_worker() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", commit(execution));
    let committed = bench.ask("worker:a/1", commit(execution));
    let first = bench.ask("worker:a/1", finish(execution));
    assert_eq!(bench.ask("worker:a/1", finish(execution)), first);
    assert_eq!(bench.ask("worker:a/1", commit(execution)), committed, "not finished yet, as it was then");
    assert_eq!(bench.story(job), "create lease start commit finish");
}

// covers: K-25, J-06
#[test]
fn done_is_not_reached_without_committed() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.take("worker:a/1", job);
    assert_eq!(bench.refusal("worker:a/1", finish(execution)), "TRANSITION_REFUSED");
    bench.ask("worker:a/1", start(execution));
    assert_eq!(bench.refusal("worker:a/1", finish(execution)), "TRANSITION_REFUSED");
    assert_eq!(bench.refusal("worker:b/1", finish(execution)), "LEASE_LOST");
}

// covers: K-25
#[test]
fn once_committed_nothing_but_finishing_applies() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let effects = messaging("paid", "{}");
    bench.ask("worker:a/1", commit_with(execution, effects));
    assert_eq!(bench.refusal("worker:a/1", fail(execution)), "TRANSITION_REFUSED");
    assert_eq!(bench.refusal("worker:a/1", release(execution)), "TRANSITION_REFUSED");
    assert_eq!(bench.refusal("api:t", cancel(job)), "TRANSITION_REFUSED");
    let late = progress(execution, record("step", "1", "{}"), &[], &[]);
    assert_eq!(bench.refusal("worker:a/1", late), "TRANSITION_REFUSED");
    // Its worker is gone: the engine finishes for it and repeats no effect.
    bench.wait(seconds(3600));
    assert!(matches!(bench.sweep(job), Answer::Done(_)));
    assert_eq!(
        (bench.state(job), bench.story(job).as_str()),
        ("SUCCEEDED", "create lease start commit finish")
    );
    assert_eq!((bench.status(execution), bench.world.messages.len()), (Status::Done, 1));
}

// covers: K-25
#[test]
fn its_worker_finishes_also_when_the_lease_is_over() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", commit(execution));
    bench.wait(seconds(3600));
    assert!(bench.ask("worker:a/1", finish(execution)).is_yes());
    assert_eq!(bench.state(job), "SUCCEEDED");
}

// covers: K-22
#[test]
fn commit_and_finish_can_be_one_step() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let Command::Commit(plain) = commit(execution) else { panic!() };
    let first = bench.ask("worker:a/1", Command::Commit(Commit { finish: true, ..plain.clone() }));
    assert_eq!((bench.state(job), bench.story(job).as_str()), ("SUCCEEDED", "create lease start commit"));
    assert_eq!(bench.ask("worker:a/1", Command::Commit(plain)), first);
}

// covers: K-28, K-29, R-06
#[test]
fn progress_is_fenced_append_only_and_kept_when_the_execution_is_aborted() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let step = |text: &str| progress(execution, record("step", "1", text), &[], &[]);
    assert!(matches!(bench.ask("worker:a/1", step(r#"{"ok":1}"#)), Answer::Done(_)));
    assert!(matches!(bench.ask("worker:a/1", step(r#"{"ok":1}"#)), Answer::Same(_)), "the same again");
    assert_eq!(bench.refusal("worker:a/1", step(r#"{"ok":2}"#)), "INVALID_REQUEST", "never changed");
    assert_eq!(bench.refusal("worker:b/1", step(r#"{"ok":3}"#)), "LEASE_LOST");
    bench.ask("worker:a/1", fail(execution));
    let kept: Vec<_> = bench.world.records.values().collect();
    assert_eq!((kept.len(), kept[0].fence), (1, Some(execution.fence)));
    assert_eq!(kept[0].body, Some(body(r#"{"ok":1}"#)));
    assert_eq!(bench.item(job).output, None, "progress is never output");
}

// covers: K-27, J-02, K-08
#[test]
fn a_jobs_state_is_what_its_executions_make_it() {
    let mut bench = Bench::new();
    let job = bench.created("api:t", Create { attempts: Some(3), ..new("job", "{}") }).id;
    let table = bench.item(job).table.clone();
    let derived = |bench: &Bench| {
        let live = bench.item(job).live_execution();
        let ended = bench.world.executions_of(job).filter(|execution| execution.ended.is_some());
        let executions: Vec<_> = ended.chain(live.as_ref()).collect();
        table.name(derive(&table, Some(3), executions).unwrap()).to_string()
    };
    let expected = |bench: &Bench, state: &str| {
        assert_eq!((bench.state(job), derived(bench).as_str()), (state, state));
    };
    expected(&bench, "PENDING");
    let released = bench.run("worker:a/1", job);
    expected(&bench, "RUNNING");
    bench.ask("worker:a/1", release(released));
    expected(&bench, "PENDING");
    let failed = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", fail(failed));
    expected(&bench, "PENDING");
    bench.wait_until_due(job);
    bench.run("worker:a/1", job);
    bench.expire(job);
    expected(&bench, "PENDING");
    let last = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", commit(last));
    expected(&bench, "RUNNING");
    bench.ask("worker:a/1", finish(last));
    expected(&bench, "SUCCEEDED");
}

// covers: K-27, J-02, J-03, J-09
#[test]
fn however_a_job_ends_its_executions_say_so() {
    for (ending, state) in
        [("for good", "FAILED"), ("exhausted", "FAILED"), ("waiting", "CANCELLED"), ("running", "CANCELLED")]
    {
        let mut bench = Bench::new();
        let job = bench.created("api:t", Create { attempts: Some(2), ..new("job", "{}") }).id;
        let run = |bench: &mut Bench| {
            bench.wait_until_due(job);
            bench.run("worker:a/1", job)
        };
        let first = run(&mut bench);
        bench.ask("worker:a/1", if ending == "for good" { fail_for_good(first) } else { fail(first) });
        match ending {
            "exhausted" => {
                run(&mut bench);
                bench.expire(job);
            }
            "waiting" => drop(bench.ask("api:t", cancel(job))),
            "running" => {
                let second = run(&mut bench);
                bench.ask("api:t", cancel(job));
                bench.ask("worker:a/1", release(second));
            }
            _ => {}
        }
        let item = bench.item(job);
        let derived = derive(&item.table, Some(2), bench.world.executions_of(job)).unwrap();
        assert_eq!((bench.state(job), item.table.name(derived)), (state, state), "{ending}");
    }
}
