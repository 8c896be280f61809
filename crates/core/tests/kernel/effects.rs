//! Effects: all or nothing, only what the row lists or the committer could do directly, and never across stores.

use tenure_core::answer::Answer;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::request::*;

use crate::kit::*;

/// One lifecycle whose commit lists one effect of each sort, and another that it moves and creates.
const WORK: &str = "# work

Work whose commit does one thing of each sort.

## States

| State | Phase     | Meaning |
|-------|-----------|---------|
| Open  | ready     |         |
| Held  | active    |         |
| Done  | succeeded |         |

## Transitions

| From | Event   | To   | Actor      | Guard | Effect                                                             |
|------|---------|------|------------|-------|--------------------------------------------------------------------|
| —    | create  | Open | api/worker |       |                                                                    |
| Open | lease   | Held | worker     |       |                                                                    |
| Held | commit  | Done | worker     |       | record report; create work_order; move ticket schedule; message sent |
| Held | expire  | Open | system     |       |                                                                    |
";

struct Scene {
    bench: Bench,
    ticket: ItemId,
    execution: ExecutionId,
}

/// A ticket in TODO, and work that is about to commit.
fn scene() -> Scene {
    let mut bench = Bench::with(WORK);
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    bench.ask("human:eva", step(ticket, "approve"));
    let work = bench.create("api:t", "work", "{}");
    let execution = bench.run("worker:a/1", work);
    Scene { bench, ticket, execution }
}

fn all(ticket: ItemId) -> Effects {
    Effects {
        records: vec![record("report", "1", "{}")],
        creates: vec![named("work_order", r#"{"event_id":"e","ticket_id":"t"}"#, "e")],
        moves: moving(ticket, "schedule").moves,
        messages: messaging("sent", "{}").messages,
    }
}

// covers: K-37, K-22, K-06
#[test]
fn a_commit_writes_a_record_an_item_a_move_and_a_message_together() {
    let Scene { mut bench, ticket, execution } = scene();
    assert!(bench.ask("worker:a/1", commit_with(execution, all(ticket))).is_yes());
    let work = bench.item(execution.item).clone();
    let record = bench.world.records.values().next().unwrap().clone();
    assert_eq!((record.item, record.fence, record.version), (work.id, Some(execution.fence), work.version));
    let message = &bench.world.messages[0];
    assert_eq!((message.item, message.version, message.ordinal), (work.id, work.version, 0), "a stable key");
    let order = bench.world.items.values().find(|item| &*item.table.kind == "work_order").unwrap().clone();
    assert_eq!((order.state_name().as_str(), order.origin), ("CREATED", Some(work.id)));
    assert_eq!(bench.state(ticket), "IN_PROGRESS");
    // Both act as the engine, and their entries name the committer.
    for item in [order.id, ticket] {
        let entry = bench.history(item).pop().unwrap();
        let cause = entry.cause.unwrap();
        assert_eq!((entry.actor.to_string().as_str(), entry.at), ("system:engine", bench.world.now));
        assert_eq!((cause.actor.to_string().as_str(), cause.item), ("worker:a/1", work.id));
    }
    // The commit names all it wrote.
    let line = String::from_utf8(bench.history(work.id).pop().unwrap().canonical()).unwrap();
    for part in
        [ticket.to_string(), order.id.to_string(), record.hash.to_string(), message.body.hash().to_string()]
    {
        assert!(line.contains(&part), "{part} in {line}");
    }
}

// covers: K-37, K-02
#[test]
fn one_refused_effect_refuses_them_all() {
    let Scene { mut bench, ticket, execution } = scene();
    let kept = record("report", "kept", "{}");
    // What a commit lists by name is not written before it: not as progress.
    let early = progress(execution, kept.clone(), &[], &[]);
    assert_eq!(bench.refusal("worker:a/1", early), "INVALID_REQUEST");
    assert!(bench.ask("api:t", note(execution.item, kept)).is_yes());
    type Spoil = fn(&mut Effects, ItemId);
    let spoilers: [(&str, Spoil, &str); 9] = [
        ("a record twice", |e, _| e.records.push(record("report", "1", "[]")), "INVALID_REQUEST"),
        ("a record changed", |e, _| e.records.push(record("report", "kept", "[]")), "INVALID_REQUEST"),
        ("a record of another sort", |e, _| e.records.push(record("secret", "1", "{}")), "FORBIDDEN"),
        ("a message of another sort", |e, _| e.messages[0].label = "spam".parse().unwrap(), "FORBIDDEN"),
        (
            "an item of another kind",
            |e, _| e.creates.push(new("blocker", r#"{"ticket_id":"t","reason":"r"}"#)),
            "FORBIDDEN",
        ),
        ("a payload that does not fit", |e, _| e.creates[0].payload = body("{}"), "SCHEMA_VIOLATION"),
        ("a move that is not listed", |e, t| e.moves.extend(moving(t, "pass").moves), "FORBIDDEN"),
        (
            "a move that is not possible",
            |e, t| e.moves.extend(moving(t, "schedule").moves),
            "TRANSITION_REFUSED",
        ),
        ("an item that is not there", |e, _| e.moves[0].item = ItemId(7), "NOT_FOUND"),
    ];
    for (name, spoil, expected) in spoilers {
        let mut effects = all(ticket);
        spoil(&mut effects, ticket);
        let before = bench.everything();
        let answer = bench.ask("worker:a/1", commit_with(execution, effects));
        assert_eq!(code(&answer), expected, "{name}: {answer:?}");
        assert_eq!(bench.everything(), before, "{name}");
    }
    assert!(bench.ask("worker:a/1", commit_with(execution, all(ticket))).is_yes(), "and nothing is spoilt");
}

// covers: K-37, T-08
#[test]
fn an_effect_does_not_cross_stores() {
    let Scene { mut bench, ticket, execution } = scene();
    bench.store = "elsewhere";
    let there = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    bench.ask("human:eva", step(there, "approve"));
    bench.store = "default";
    let answer = bench.ask("worker:a/1", commit_with(execution, moving(there, "schedule")));
    assert_eq!(code(&answer), "STORE_BOUNDARY_VIOLATION");
    let effects = creating(Create { origin: Some(there), ..all(ticket).creates.remove(0) });
    assert_eq!(bench.refusal("worker:a/1", commit_with(execution, effects)), "STORE_BOUNDARY_VIOLATION");
    assert_eq!(bench.refusal("worker:a/1", step(there, "schedule")), "NOT_FOUND", "it is not even there");
}

// covers: K-37, K-07
#[test]
fn what_the_committer_could_do_directly_it_may_do_as_itself() {
    let Scene { mut bench, execution, .. } = scene();
    // A worker may add evidence, and is not the engine when it does.
    let evidence = new("evidence", r#"{"type":"primary_artifact","uri":"u","captured_at":"now"}"#);
    bench.ask("worker:a/1", commit_with(execution, creating(evidence)));
    let made = bench.world.items.values().find(|item| &*item.table.kind == "evidence").unwrap();
    assert_eq!(made.created_by.to_string(), "worker:a/1");
}

// covers: K-37
#[test]
fn a_direct_move_is_judged_like_any_other() {
    let mut bench = Bench::new();
    let (ticket, todo) = (
        bench.create("human:eva", "ticket", r#"{"title":"t"}"#),
        bench.create("human:eva", "todo", r#"{"title":"t"}"#),
    );
    // A person may abandon a todo in a workspace; an effect can not attest to one.
    let answer = bench.ask("human:eva", step_with(ticket, "approve", moving(todo, "abandon")));
    assert_eq!(code(&answer), "WORKSPACE_REQUIRED");
    assert_eq!(bench.state(ticket), "NEW");
}

// covers: K-37, M-04, M-11
#[test]
fn what_a_moved_row_lists_may_be_written_with_it() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    let event = || new("ticket_ready", &format!(r#"{{"ticket_id":"{ticket}"}}"#));
    bench.ask("human:eva", step_with(ticket, "approve", creating(event())));
    let events =
        |bench: &Bench| bench.world.items.values().filter(|i| &*i.table.kind == "ticket_ready").count();
    assert_eq!(events(&bench), 1);
    // `block` lists a blocker and a pause state; a person who blocks may write them.
    let mut effects = creating(new("blocker", r#"{"ticket_id":"t","reason":"r"}"#));
    effects.records.push(record("pause_state", "1", "{}"));
    assert!(bench.ask("human:eva", step_with(ticket, "block", effects)).is_yes());
    assert_eq!(bench.state(ticket), "BLOCKED");
}

// covers: K-37
#[test]
fn a_commit_that_moves_a_ticket_may_write_what_the_tickets_row_lists_and_only_then() {
    let lists_all = "record report; create work_order; move ticket schedule; message sent";
    let mut bench = Bench::with(&WORK.replace(lists_all, "move ticket block"));
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    bench.ask("human:eva", step(ticket, "approve"));
    let work = bench.create("api:t", "work", "{}");
    let execution = bench.run("worker:a/1", work);
    let mut effects = creating(new("blocker", r#"{"ticket_id":"t","reason":"r"}"#));
    effects.records.push(record("pause_state", "1", "{}"));
    assert_eq!(bench.refusal("worker:a/1", commit_with(execution, effects.clone())), "FORBIDDEN");
    effects.moves = moving(ticket, "block").moves;
    assert!(bench.ask("worker:a/1", commit_with(execution, effects)).is_yes());
    assert_eq!(bench.state(ticket), "BLOCKED");
}

// covers: K-37, K-30
#[test]
fn a_named_create_is_made_once_whoever_commits_it() {
    let Scene { mut bench, ticket, execution } = scene();
    let order = all(ticket).creates.remove(0);
    bench.ask("worker:a/1", commit_with(execution, creating(order.clone())));
    let orders =
        |bench: &Bench| bench.world.items.values().filter(|i| &*i.table.kind == "work_order").count();
    assert_eq!(orders(&bench), 1);
    let more = bench.create("api:t", "work", "{}");
    let again = bench.run("worker:b/1", more);
    assert!(bench.ask("worker:b/1", commit_with(again, creating(order.clone()))).is_yes());
    assert_eq!(orders(&bench), 1, "the name was taken by the same request");
    let third = bench.create("api:t", "work", "{}");
    let third = bench.run("worker:c/1", third);
    let other = Create { priority: Some(1), ..order.clone() };
    assert_eq!(bench.refusal("worker:c/1", commit_with(third, creating(other))), "IDEMPOTENCY_CONFLICT");
    let twice = Effects { creates: vec![order.clone(), order], ..Effects::default() };
    assert_eq!(bench.refusal("worker:c/1", commit_with(third, twice)), "INVALID_REQUEST");
}

// covers: M-01, K-36, K-37
#[test]
fn an_effect_is_not_folded_into_what_the_same_commit_ends() {
    let mut bench = Bench::new();
    let event = || new("ticket_ready", r#"{"ticket_id":"t"}"#);
    let ready = bench.created("worker:r", event()).id;
    let execution = bench.run("worker:a/1", ready);
    let twice = || Effects { creates: vec![event(), event()], ..Effects::default() };
    assert_eq!(bench.refusal("worker:a/1", commit_with(execution, twice())), "INVALID_REQUEST");
    // The next event of the ticket is not the one that is being processed: that one ends with this commit.
    assert!(bench.ask("worker:a/1", commit_with(execution, creating(event()))).is_yes());
    let open: Vec<ItemId> =
        bench.world.items.values().filter(|item| !item.phase().is_ended()).map(|item| item.id).collect();
    assert_eq!((open.len(), open.contains(&ready)), (1, false));
    let next = bench.ask("worker:r", Command::Create(event()));
    assert!(
        matches!(&next, Answer::Coalesced(item) if item.id == open[0]),
        "it stands for the key: {next:?}"
    );
    let ticket = bench.create("human:eva", "ticket", r#"{"title":"t"}"#);
    let next = bench.run("worker:a/1", open[0]);
    bench.ask("worker:a/1", commit(next));
    assert_eq!(bench.refusal("human:eva", step_with(ticket, "approve", twice())), "INVALID_REQUEST");
}

// covers: C-09, K-37
#[test]
fn submitting_supersedes_the_older_judgement_of_the_same_key() {
    for by_effect in [false, true] {
        // A ticket may move a validation only where nobody has to attest whose judgement it is.
        let shipped = include_str!("../../../../lifecycles/validation.md");
        let unguarded = shipped.replace("| judgement |", "|           |");
        assert_ne!(unguarded, shipped);
        let mut bench = if by_effect { Bench::with(&unguarded) } else { Bench::new() };
        let payload = |v: &str| format!(r#"{{"claim_id":"c","truthbit_id":"b","validator_key":"{v}"}}"#);
        let [first, second, other] =
            ["b/v", "b/v", "b/w"].map(|v| bench.create("human:v", "validation", &payload(v)));
        let verdict = || creating(new("verdict", r#"{"claim_id":"c"}"#));
        bench.ask("human:v", submit_with(first, verdict()));
        bench.ask("human:w", submit_with(other, verdict()));
        match by_effect {
            false => assert!(bench.ask("human:v", submit_with(second, verdict())).is_yes()),
            true => {
                let ticket = bench.create("human:v", "ticket", r#"{"title":"t"}"#);
                assert!(
                    bench.ask("human:v", step_with(ticket, "approve", moving(second, "submit"))).is_yes()
                );
            }
        }
        let states = [first, second, other].map(|item| bench.state(item).to_string());
        assert_eq!(states, ["superseded", "submitted", "submitted"], "by effect: {by_effect}");
        let entry = bench.history(first).pop().unwrap();
        assert_eq!(entry.actor.to_string(), "system:engine");
        assert_eq!(bench.item(first).reason.as_deref(), Some(&*format!("superseded by {second}")));
        let verdicts = bench.world.items.values().filter(|item| &*item.table.kind == "verdict").count();
        assert_eq!(verdicts, 1, "two changes, one recomputation");
        // A late submit answers the state it found.
        assert!(matches!(bench.ask("human:v", submit_with(first, verdict())), Answer::Same(_)));
    }
}

// covers: C-09, C-14
#[test]
fn a_judgement_is_handed_in_by_its_system_and_by_no_move_of_ones_own() {
    let mut bench = Bench::new();
    let payload = r#"{"claim_id":"c","truthbit_id":"b","validator_key":"b/v"}"#;
    let [first, forged] = ["human:v", "api:x"].map(|creator| bench.create(creator, "validation", payload));
    assert!(bench.ask("human:v", submit_with(first, Effects::default())).is_yes());
    for actor in ["api:x", "human:v", "admin:a"] {
        assert_eq!(bench.refusal(actor, step(forged, "submit")), "TRANSITION_REFUSED");
    }
    let ticket = bench.create("human:v", "ticket", r#"{"title":"t"}"#);
    let by_effect = step_with(ticket, "approve", moving(forged, "submit"));
    assert_eq!(bench.refusal("human:v", by_effect), "TRANSITION_REFUSED");
    assert_eq!((bench.state(first), bench.state(forged)), ("submitted", "pending"));
}

// covers: K-37
#[test]
fn a_failure_writes_what_its_row_lists_and_leaves_out_the_rest() {
    let mut bench = Bench::new();
    let ticket = bench.create("api:t", "ticket", r#"{"title":"t"}"#);
    bench.ask("human:eva", step(ticket, "approve"));
    let payload = format!(r#"{{"event_id":"e","ticket_id":"{ticket}"}}"#);
    let order = bench.create("system:engine", "work_order", &payload);
    bench.world.now = START.after(seconds(1));
    let offers = Effects {
        moves: moving(ticket, "block").moves,
        creates: vec![new("blocker", r#"{"ticket_id":"t","reason":"r"}"#)],
        records: vec![record("pause_state", "1", "{}"), record("unlisted", "1", "{}")],
        ..Effects::default()
    };
    let failing = |execution, permanent| {
        let (reason, offers) = ("no runner".to_string(), offers.clone());
        Command::Fail(Fail { execution, reason, permanent, retry_after: None, offers })
    };
    let first = bench.run("worker:a/1", order);
    bench.ask("worker:a/1", failing(first, false));
    assert_eq!((bench.state(order), bench.state(ticket)), ("CREATED", "TODO"), "not yet");
    assert_eq!(bench.world.records.len(), 0);
    bench.wait_until_due(order);
    let second = bench.run("worker:a/1", order);
    bench.ask("worker:a/1", failing(second, true));
    assert_eq!((bench.state(order), bench.state(ticket)), ("FAILED", "BLOCKED"));
    let labels: Vec<String> = bench.world.records.values().map(|record| record.label.to_string()).collect();
    assert_eq!(labels, ["pause_state"]);
}

// covers: K-37
#[test]
fn an_effect_neither_leases_nor_is_without_bound() {
    let Scene { mut bench, ticket, execution } = scene();
    let leasing = Create { take: Some(Terms::default()), ..all(ticket).creates.remove(0) };
    assert_eq!(bench.refusal("worker:a/1", commit_with(execution, creating(leasing))), "INVALID_REQUEST");
    let many = |count: usize| Effects {
        records: (0..count).map(|n| record("report", &n.to_string(), "{}")).collect(),
        ..Effects::default()
    };
    assert_eq!(bench.refusal("worker:a/1", commit_with(execution, many(1001))), "INVALID_REQUEST");
    assert_eq!(bench.refusal("worker:a/1", commit_with(execution, many(1000))), "yes");
}
