//! Plain moves, notes and links: rows of the table, by whom the table names, on the version the caller saw.

use tenure_core::answer::Answer;
use tenure_core::id::ItemId;
use tenure_core::item::Link;
use tenure_core::request::*;

use crate::kit::*;

fn claim(bench: &mut Bench) -> ItemId {
    bench.create("api:t", "claim", r#"{"domain":"d","text":"t"}"#)
}

// covers: K-01
#[test]
fn a_move_that_is_not_in_the_table_is_refused_with_what_is() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    bench.ask("human:eva", step(ticket, "approve"));
    for event in ["resolve", "fly"] {
        let Answer::Refused(refusal) = bench.ask("human:eva", step(ticket, event)) else { panic!() };
        assert_eq!((refusal.item, &*refusal.state, refusal.event.as_str()), (ticket, "TODO", event));
        let allowed: Vec<&str> = refusal.allowed.iter().map(|event| event.as_str()).collect();
        assert_eq!(allowed, ["schedule", "block"]);
        assert_eq!(refusal.problem.code.as_str(), "TRANSITION_REFUSED");
    }
    assert_eq!((bench.state(ticket), bench.story(ticket).as_str()), ("TODO", "create approve"));
}

// covers: K-07
#[test]
fn the_role_is_judged_before_the_state_and_before_the_version() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    let stale = |event: &str| {
        let expected_version = Some(77);
        Command::Move(Move { expected_version, ..Move::new(ticket, event.parse().unwrap()) })
    };
    // `schedule` is not possible in NEW, the version is wrong, and neither is told to who may not ask.
    for role in ["api", "worker", "orchestrator", "human", "admin"] {
        let answer = bench.ask(&format!("{role}:x"), stale("schedule"));
        assert!(
            matches!(&answer, Answer::Forbidden { roles, .. } if roles.to_string() == "system"),
            "{role}"
        );
    }
    assert_eq!(bench.refusal("system:engine", step(ticket, "schedule")), "TRANSITION_REFUSED");
    for role in ["api", "worker", "orchestrator", "system"] {
        assert_eq!(bench.refusal(&format!("{role}:x"), step(ticket, "approve")), "FORBIDDEN", "{role}");
    }
}

// covers: K-07
#[test]
fn an_administrator_may_take_any_row_but_the_engines() {
    let mut bench = Bench::new();
    let ticket = bench.create("admin:root", "ticket", r#"{"title":"t"}"#);
    assert_eq!(bench.refusal("admin:root", step(ticket, "approve")), "yes");
    bench.ask("human:eva", step(ticket, "approve"));
    assert_eq!(bench.refusal("admin:root", step(ticket, "schedule")), "FORBIDDEN");
    assert_eq!(bench.refusal("admin:root", step(ticket, "block")), "yes", "human/system");
}

// covers: K-02
#[test]
fn a_move_is_a_compare_and_set_on_the_version() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    let approve = |version| {
        Command::Move(Move {
            expected_version: Some(version),
            ..Move::new(ticket, "approve".parse().unwrap())
        })
    };
    for version in [0, 2] {
        let answer = bench.ask("human:eva", approve(version));
        assert!(matches!(answer, Answer::Stale { found, .. } if found.version == 1));
    }
    assert!(matches!(bench.ask("human:eva", approve(1)), Answer::Done(item) if item.version == 2));
    assert!(matches!(bench.ask("human:ben", approve(1)), Answer::Stale { .. }), "the second of two loses");
}

// covers: K-04
#[test]
fn a_move_that_took_effect_is_a_no_op_when_repeated() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    let approve =
        || Command::Move(Move { expected_version: Some(1), ..Move::new(ticket, "approve".parse().unwrap()) });
    let Answer::Done(first) = bench.ask("human:eva", approve()) else { panic!() };
    assert_eq!(bench.ask("human:eva", approve()), Answer::Same(first.clone()));
    assert_eq!(
        bench.refusal("human:ben", step(ticket, "approve")),
        "TRANSITION_REFUSED",
        "that is another's"
    );
    // Something is added to the ticket: it is still the same move.
    bench.ask("human:eva", note(ticket, record("remark", "1", "{}")));
    let Answer::Same(now) = bench.ask("human:eva", approve()) else { panic!("still a repeat") };
    assert_eq!((now.state, now.version), (first.state, 3));
    assert_eq!(bench.story(ticket), "create approve note");
}

// covers: K-04
#[test]
fn the_same_words_in_a_later_round_are_a_new_request() {
    let mut bench = Bench::new();
    let claim = claim(&mut bench);
    for round in 1..=3 {
        assert!(
            matches!(bench.ask("orchestrator:o", step(claim, "enqueue")), Answer::Done(_)),
            "round {round}"
        );
        let execution = bench.run("worker:a/1", claim);
        bench.ask("worker:a/1", fail(execution));
        assert_eq!(bench.state(claim), "failed");
    }
}

// covers: K-04, C-04
#[test]
fn a_row_that_stays_answers_the_state_and_writes_nothing() {
    let mut bench = Bench::new();
    let claim = claim(&mut bench);
    bench.ask("orchestrator:o", step(claim, "enqueue"));
    for state in ["queued", "in_progress"] {
        if state == "in_progress" {
            bench.run("worker:a/1", claim);
        }
        let before = bench.everything();
        let answer = bench.ask("orchestrator:another", step_for(claim, "enqueue", "again"));
        assert!(matches!(answer, Answer::Same(item) if item.state_name().as_str() == state));
        assert_eq!(bench.everything(), before);
    }
}

// covers: K-05, K-01
#[test]
fn nothing_leaves_a_final_state() {
    let mut bench = Bench::new();
    let todo = bench.create("human:eva", "todo", r#"{"title":"t"}"#);
    bench.ask("admin:root", step_for(todo, "abandon", "no"));
    let blocker = bench.create("human:eva", "blocker", r#"{"ticket_id":"t","reason":"r"}"#);
    bench.ask("human:eva", step(blocker, "close"));
    for (item, state) in [(todo, "Abandoned"), (blocker, "CLOSED")] {
        let table = bench.item(item).table.clone();
        for row in &table.rows {
            let tenure_core::lifecycle::event::Event::Plain(event) = &row.event else { continue };
            for role in ["api", "orchestrator", "worker", "human", "system", "admin"] {
                bench.ask(&format!("{role}:x"), step_for(item, event, "try"));
            }
        }
        bench.ask("admin:root", take(item));
        bench.ask("admin:root", cancel(item));
        bench.sweep(item);
        assert_eq!(bench.state(item), state);
    }
}

// covers: K-06
#[test]
fn a_move_says_who_when_and_why() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    bench.wait(seconds(9));
    bench.ask("human:eva/laptop", step_for(ticket, "approve", "looks right"));
    let entry = bench.history(ticket).pop().unwrap();
    assert_eq!((entry.actor.to_string().as_str(), entry.at), ("human:eva/laptop", START.after(seconds(9))));
    assert!(String::from_utf8(entry.canonical()).unwrap().contains(r#""reason":"looks right""#));
    assert_eq!(bench.item(ticket).reason.as_deref(), Some("looks right"));
    let long = "x".repeat((8 << 10) + 1);
    assert_eq!(bench.refusal("human:eva", step_for(ticket, "block", &long)), "INVALID_REQUEST", "bounded");
}

// covers: K-20, K-12
#[test]
fn a_move_out_of_an_active_state_aborts_its_execution() {
    let mut bench = Bench::new();
    let todo = bench.create("human:eva", "todo", r#"{"title":"t"}"#);
    let session = bench.session("worker:a/1");
    let execution = bench.claim("worker:a/1", todo, session);
    bench.ask("admin:root", step_for(todo, "abandon", "obsolete"));
    let ended = bench.execution(execution).ended.unwrap();
    assert_eq!((ended.cause.as_str(), ended.reason.as_deref()), ("abandon", Some("obsolete")));
    assert_eq!(bench.refusal("worker:a/1", done(execution, session, "r")), "LEASE_LOST");
}

// covers: T-17, K-29
#[test]
fn a_note_adds_to_a_final_item_and_moves_nothing() {
    let mut bench = Bench::new();
    let todo = bench.create("human:eva", "todo", r#"{"title":"t"}"#);
    let session = bench.session("worker:a/1");
    let execution = bench.claim("worker:a/1", todo, session);
    bench.ask("worker:a/1", done(execution, session, "first"));
    let before = bench.item(todo).clone();
    let newer = || note(todo, record("receipt", "second", "{}"));
    assert!(matches!(bench.ask("worker:b/1", newer()), Answer::Done(_)));
    assert!(matches!(bench.ask("worker:b/1", newer()), Answer::Same(_)), "the same again");
    assert_eq!(bench.refusal("worker:b/1", note(todo, record("receipt", "first", "[]"))), "INVALID_REQUEST");
    let after = bench.item(todo);
    assert_eq!(
        (after.state, after.version, after.committed),
        (before.state, before.version + 1, before.committed)
    );
    let fence = |name: &str| bench.world.records.values().find(|record| &*record.name == name).unwrap().fence;
    assert_eq!(
        (fence("first"), fence("second")),
        (Some(execution.fence), None),
        "no execution wrote the second"
    );
    assert_eq!(bench.refusal("orchestrator:o", newer()), "FORBIDDEN");
    assert_eq!(
        bench.refusal("human:x", Command::Note(Note { item: todo, records: vec![] })),
        "INVALID_REQUEST"
    );
}

// covers: K-29
#[test]
fn a_note_on_a_held_item_is_not_its_holders() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let lease = bench.item(job).lease.clone();
    bench.ask("api:t", note(job, record("remark", "1", "{}")));
    assert_eq!(bench.world.records.values().next().unwrap().fence, None);
    assert_eq!(bench.item(job).lease, lease, "the lease and its expiry stay as they are");
    assert!(bench.ask("worker:a/1", commit(execution)).is_yes(), "and its holder goes on");
}

// covers: T-13, T-17
#[test]
fn links_come_and_go_while_the_item_is_open() {
    let mut bench = Bench::new();
    let (todo, other) = (
        bench.create("human:e", "todo", r#"{"title":"a"}"#),
        bench.create("human:e", "todo", r#"{"title":"b"}"#),
    );
    let link = |to| Link { label: "depends".parse().unwrap(), to };
    let add = |to| Command::Link(Relink { item: todo, add: vec![link(to)], remove: vec![] });
    let remove = |to| Command::Link(Relink { item: todo, add: vec![], remove: vec![link(to)] });
    assert!(matches!(bench.ask("human:e", add(other)), Answer::Done(_)));
    assert!(matches!(bench.ask("human:e", add(other)), Answer::Same(_)));
    assert_eq!(bench.refusal("human:e", add(todo)), "INVALID_REQUEST", "not to itself");
    assert_eq!(bench.refusal("orchestrator:o", add(other)), "FORBIDDEN");
    bench.store = "elsewhere";
    let there = bench.create("human:e", "todo", r#"{"title":"c"}"#);
    bench.store = "default";
    assert_eq!(bench.refusal("human:e", add(there)), "STORE_BOUNDARY_VIOLATION");
    let session = bench.session("worker:a/1");
    let claim = || Command::Take(Take { item: todo, terms: in_session(session) });
    assert_eq!(bench.refusal("worker:a/1", claim()), "TRANSITION_REFUSED", "it depends on an open one");
    bench.ask("admin:root", step_for(other, "abandon", "no"));
    let answer = bench.ask("worker:a/1", claim());
    assert!(format!("{answer:?}").contains(&other.to_string()), "an abandoned one is named: {answer:?}");
    assert!(matches!(bench.ask("human:e", remove(other)), Answer::Done(_)), "and can be removed");
    assert_eq!(bench.refusal("worker:a/1", claim()), "yes");
    bench.ask("admin:root", step_for(todo, "abandon", "no"));
    assert_eq!(bench.refusal("human:e", add(other)), "TRANSITION_REFUSED", "it has ended");
}

const ERRAND: &str = "# errand

Work that a person may call back while it is held.

## States

| State | Phase     | Meaning |
|-------|-----------|---------|
| Open  | ready     |         |
| Held  | active    |         |
| Done  | succeeded |         |
| Off   | stopped   |         |

## Transitions

| From | Event     | To   | Actor         | Guard | Effect |
|------|-----------|------|---------------|-------|--------|
| —    | create    | Open | api           |       |        |
| Open | lease     | Held | worker        |       |        |
| Held | finish    | Done | worker/system |       |        |
| Held | expire    | Open | system        |       |        |
| Held | call-back | Off  | human         |       |        |
";

// covers: K-25
#[test]
fn what_has_committed_is_not_called_back() {
    for committed in [false, true] {
        let mut bench = Bench::with(ERRAND);
        let errand = bench.create("api:t", "errand", "{}");
        let execution = bench.run("worker:a/1", errand);
        if committed {
            bench.ask("worker:a/1", commit(execution));
        }
        let expected = if committed { "TRANSITION_REFUSED" } else { "yes" };
        assert_eq!(bench.refusal("human:eva", step(errand, "call-back")), expected);
    }
}
