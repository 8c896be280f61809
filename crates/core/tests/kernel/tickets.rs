//! What the shipped lifecycles of tickets fix by themselves: one commit a step, and no ticket left behind.

use tenure_core::answer::Answer;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::Link;
use tenure_core::request::*;

use crate::kit::*;

struct Scene {
    bench: Bench,
    ticket: ItemId,
    event: ItemId,
}

fn ready(ticket: ItemId) -> Create {
    new("ticket_ready", &format!(r#"{{"ticket_id":"{ticket}"}}"#))
}

/// An approved ticket and its event.
fn scene() -> Scene {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    bench.ask("human:eva", step_with(ticket, "approve", creating(ready(ticket))));
    let event = of_kind(&bench, "ticket_ready")[0];
    Scene { bench, ticket, event }
}

fn of_kind(bench: &Bench, kind: &str) -> Vec<ItemId> {
    bench.world.items.values().filter(|item| &*item.table.kind == kind).map(|item| item.id).collect()
}

/// The scheduler's one commit.
fn scheduling(ticket: ItemId, event: ItemId) -> Effects {
    let order = format!(r#"{{"event_id":"{event}","ticket_id":"{ticket}"}}"#);
    Effects {
        records: vec![record("context_snapshot", "1", "{}")],
        creates: vec![named("work_order", &order, &event.to_string())],
        moves: moving(ticket, "schedule").moves,
        ..Effects::default()
    }
}

/// Everything up to the gate that judges the work order.
fn judged(bench: &mut Bench, ticket: ItemId, event: ItemId) -> (ItemId, ExecutionId) {
    let scheduler = bench.run("worker:scheduler/1", event);
    assert!(bench.ask("worker:scheduler/1", commit_with(scheduler, scheduling(ticket, event))).is_yes());
    let order = *of_kind(bench, "work_order").last().unwrap();
    let runner = bench.run("worker:runner/1", order);
    let gate = format!(r#"{{"work_order_id":"{order}","ticket_id":"{ticket}"}}"#);
    let mut effects = creating(named("gate", &gate, &order.to_string()));
    effects.records.push(record("output_bundle", "1", "{}"));
    assert!(bench.ask("worker:runner/1", commit_with(runner, effects)).is_yes());
    let gate = *of_kind(bench, "gate").last().unwrap();
    (order, bench.run("worker:gate/1", gate))
}

// covers: M-03
#[test]
fn a_work_order_is_not_executed_by_a_commit_of_ones_own() {
    let mut bench = Bench::new();
    let order = bench.create("system:engine", "work_order", r#"{"event_id":"e","ticket_id":"t"}"#);
    let runner = bench.run("worker:runner/1", order);
    for records in [vec![], vec![record("output_bundle", "1", "{}")]] {
        let effects = Effects { records, ..Effects::default() };
        let (output, finish, session, attests) = (None, true, None, Vec::new());
        let commit = Commit { execution: runner, output, effects, finish, session, attests };
        assert_eq!(bench.refusal("worker:runner/1", Command::Commit(commit)), "TRANSITION_REFUSED");
    }
    assert_eq!(bench.state(order), "EXECUTING", "it is held as before");
}

// covers: M-02, M-04, M-12
#[test]
fn an_event_is_not_processed_and_an_output_not_judged_by_a_commit_of_ones_own() {
    let Scene { mut bench, ticket, event } = scene();
    let own = |execution: ExecutionId, effects: Effects| {
        let (output, finish, session, attests) = (None, true, None, Vec::new());
        Command::Commit(Commit { execution, output, effects, finish, session, attests })
    };
    let scheduler = bench.run("worker:careless/1", event);
    for effects in [Effects::default(), scheduling(ticket, event)] {
        assert_eq!(bench.refusal("worker:careless/1", own(scheduler, effects)), "TRANSITION_REFUSED");
    }
    assert!(bench.ask("worker:careless/1", release(scheduler)).is_yes());
    let (_, gate) = judged(&mut bench, ticket, event);
    for effects in [Effects::default(), judgement(ticket, "pass")] {
        assert_eq!(bench.refusal("worker:gate/1", own(gate, effects)), "TRANSITION_REFUSED");
    }
    assert_eq!((bench.state(gate.item), bench.state(ticket)), ("JUDGING", "IN_PROGRESS"), "as before");
}

fn judgement(ticket: ItemId, event: &str) -> Effects {
    Effects {
        records: vec![record("run_record", "1", "{}"), record("pause_state", "1", "{}")],
        ..moving(ticket, event)
    }
}

// covers: M-01, M-11
#[test]
fn only_a_person_makes_a_ticket_executable() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    assert_eq!(bench.state(ticket), "NEW");
    for role in ["api", "worker", "orchestrator", "system"] {
        assert_eq!(bench.refusal(&format!("{role}:x"), step(ticket, "approve")), "FORBIDDEN", "{role}");
    }
    bench.ask("human:eva", step_for(ticket, "approve", "looks right"));
    let entry = bench.history(ticket).pop().unwrap();
    assert_eq!((bench.state(ticket), entry.actor.to_string().as_str()), ("TODO", "human:eva"));
}

// covers: M-02, K-22
#[test]
fn scheduling_is_one_commit() {
    let Scene { mut bench, ticket, event } = scene();
    let execution = bench.run("worker:scheduler/1", event);
    let command = commit_with(execution, scheduling(ticket, event));
    let decision = bench.decide("worker:scheduler/1", command.clone());
    let mut touched: Vec<String> = entries(&decision).iter().map(|entry| entry.action.to_string()).collect();
    touched.sort();
    assert_eq!(touched, ["commit", "create", "schedule"]);
    let first = bench.ask("worker:scheduler/1", command.clone());
    assert_eq!((bench.state(event), bench.state(ticket)), ("PROCESSED", "IN_PROGRESS"));
    assert_eq!((of_kind(&bench, "work_order").len(), bench.world.records.len()), (1, 1));
    // Running it again creates nothing, whoever does.
    assert_eq!(bench.ask("worker:scheduler/1", command), first);
    assert_eq!(bench.refusal("worker:scheduler/2", take(event)), "ALREADY_COMMITTED");
    assert_eq!(of_kind(&bench, "work_order").len(), 1);
}

// covers: M-02
#[test]
fn a_ticket_that_can_not_be_scheduled_leaves_its_event_for_another_look() {
    let Scene { mut bench, ticket, event } = scene();
    let execution = bench.run("worker:scheduler/1", event);
    bench.ask("human:eva", step_for(ticket, "block", "wait"));
    let answer = bench.ask("worker:scheduler/1", commit_with(execution, scheduling(ticket, event)));
    assert_eq!(code(&answer), "TRANSITION_REFUSED");
    assert_eq!((bench.state(event), of_kind(&bench, "work_order").len()), ("CLAIMED", 0));
    // It learns that, and says so: the event is processed with its terminal reason.
    let Command::Commit(plain) = commit(execution) else { panic!() };
    let output = Some(body(r#""BLOCKED""#));
    assert!(bench.ask("worker:scheduler/1", Command::Commit(Commit { output, ..plain })).is_yes());
    assert_eq!(bench.world.outputs[&event], body(r#""BLOCKED""#));
}

// covers: M-04, M-11
#[test]
fn the_gates_one_commit_decides_what_becomes_of_the_ticket() {
    for (verdict, state) in [("pass", "DONE"), ("retry", "TODO"), ("block", "BLOCKED")] {
        let Scene { mut bench, ticket, event } = scene();
        let (_, gate) = judged(&mut bench, ticket, event);
        let mut effects = judgement(ticket, verdict);
        match verdict {
            "retry" => effects.creates.push(ready(ticket)),
            "block" => effects.creates.push(new("blocker", r#"{"ticket_id":"t","reason":"r"}"#)),
            _ => {}
        }
        let first = bench.ask("worker:gate/1", commit_with(gate, effects.clone()));
        assert!(first.is_yes(), "{first:?}");
        assert_eq!((bench.state(gate.item), bench.state(ticket)), ("JUDGED", state));
        let records = |bench: &Bench| {
            bench.world.records.values().filter(|record| &*record.label == "run_record").count()
        };
        assert_eq!(records(&bench), 1);
        assert_eq!(
            bench.ask("worker:gate/1", commit_with(gate, effects)),
            first,
            "writing it again changes nothing"
        );
        assert_eq!(
            (records(&bench), bench.refusal("worker:gate/2", take(gate.item)).as_str()),
            (1, "ALREADY_COMMITTED")
        );
        let open =
            of_kind(&bench, "ticket_ready").iter().filter(|id| bench.state(**id) == "UNPROCESSED").count();
        assert_eq!(open, usize::from(verdict == "retry"), "the next round's event comes with the retry");
    }
}

// covers: M-11, K-07
#[test]
fn nobody_moves_a_ticket_past_its_workers() {
    let Scene { mut bench, ticket, event } = scene();
    judged(&mut bench, ticket, event);
    for event in ["pass", "retry", "block"] {
        for role in ["api", "worker", "orchestrator", "human", "admin"] {
            assert_eq!(
                bench.refusal(&format!("{role}:x"), step(ticket, event)),
                "FORBIDDEN",
                "{role} {event}"
            );
        }
    }
    let gate = of_kind(&bench, "gate")[0];
    let execution = bench.item(gate).execution_id();
    let effects = moving(ticket, "schedule");
    assert_eq!(
        bench.refusal("worker:gate/1", commit_with(execution, effects)),
        "FORBIDDEN",
        "not this row's"
    );
}

// covers: M-08, M-11
#[test]
fn a_blocked_ticket_returns_when_its_blockers_are_closed() {
    let Scene { mut bench, ticket, .. } = scene();
    let [one, two] =
        [1, 2].map(|_| bench.create("human:eva", "blocker", r#"{"ticket_id":"t","reason":"r"}"#));
    let add = [one, two].map(|to| Link { label: "blocker".parse().unwrap(), to }).to_vec();
    bench.ask("human:eva", Command::Link(Relink { item: ticket, add, remove: vec![] }));
    bench.ask("human:eva", step_for(ticket, "block", "wait"));
    let answer = bench.ask("human:eva", step(ticket, "resolve"));
    assert_eq!(code(&answer), "TRANSITION_REFUSED");
    assert!(format!("{answer:?}").contains(&one.to_string()), "it says which is open: {answer:?}");
    assert_eq!(
        bench.refusal("human:eva", step_with(ticket, "resolve", moving(one, "close"))),
        "TRANSITION_REFUSED"
    );
    // Which items name it the kernel does not see: whoever does says so, and nobody else.
    let both = Effects {
        moves: [moving(one, "close").moves, moving(two, "close").moves].concat(),
        ..creating(ready(ticket))
    };
    let own = Move { effects: both.clone(), ..Move::new(ticket, "resolve".parse().unwrap()) };
    assert_eq!(bench.refusal("human:eva", Command::Move(own)), "TRANSITION_REFUSED");
    assert!(bench.ask("human:eva", step_with(ticket, "resolve", both)).is_yes());
    assert_eq!([ticket, one, two].map(|item| bench.state(item).to_string()), ["TODO", "CLOSED", "CLOSED"]);
    let entry = bench.history(one).pop().unwrap();
    assert_eq!(
        (entry.actor.to_string(), entry.cause.unwrap().actor.to_string()),
        ("system:engine".into(), "human:eva".into())
    );
}

// covers: M-12, K-33
#[test]
fn a_work_order_out_of_attempts_blocks_its_ticket_in_the_same_decision() {
    let Scene { mut bench, ticket, event } = scene();
    let scheduler = bench.run("worker:scheduler/1", event);
    bench.ask("worker:scheduler/1", commit_with(scheduler, scheduling(ticket, event)));
    let order = of_kind(&bench, "work_order")[0];
    let offers = Effects {
        creates: vec![new("blocker", r#"{"ticket_id":"t","reason":"r"}"#)],
        records: vec![record("pause_state", "1", "{}")],
        ..moving(ticket, "block")
    };
    for attempt in 1..=3 {
        bench.run("worker:runner/1", order);
        bench.wait(seconds(60));
        assert!(matches!(bench.sweep_with(order, Due::Time, offers.clone()), Answer::Done(_)));
        let expected = if attempt < 3 { ("CREATED", "IN_PROGRESS") } else { ("FAILED", "BLOCKED") };
        assert_eq!((bench.state(order), bench.state(ticket)), expected, "attempt {attempt}");
    }
    assert_eq!(of_kind(&bench, "blocker").len(), 1);
}

// covers: M-05, K-11
#[test]
fn claim_records_name_their_own_resource_type() {
    let bench = Bench::new();
    let kinds = [
        ("ticket_ready", Some("EVENT")),
        ("work_order", Some("WORKORDER")),
        ("gate", Some("GATE")),
        ("job", None),
    ];
    for (kind, expected) in kinds {
        let table = bench.world.tables.current(&kind.parse().unwrap()).unwrap();
        assert_eq!(table.settings.resource_type.as_deref(), expected, "{kind}");
        assert_eq!(table.settings.lease, seconds(60));
        assert_eq!(table.settings.lease_max, if kind == "job" { seconds(3600) } else { seconds(120) });
    }
}

// covers: M-12
#[test]
fn a_work_order_does_not_fail_for_good_without_blocking_its_ticket() {
    let mut bench = Bench::new();
    let payload = r#"{"ticket_id":"t","event_id":"e"}"#;
    let order = bench.create("system:engine", "work_order", payload);
    for _ in 1..3 {
        let execution = bench.run("worker:a/1", order);
        assert!(bench.ask("worker:a/1", fail(execution)).is_yes());
        bench.wait(std::time::Duration::from_secs(3600));
    }
    let execution = bench.run("worker:a/1", order);
    let answer = bench.ask("worker:a/1", fail(execution));
    assert_eq!(answer.code().unwrap().as_str(), "TRANSITION_REFUSED", "{answer:?}");
    assert_eq!(bench.state(order), "EXECUTING", "it is swept with its effects when its lease ends");
}
