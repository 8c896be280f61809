//! Creating: once for each idempotency key, in the state that the create row names, in its place in the queue.

use std::sync::Arc;

use tenure_core::answer::Answer;
use tenure_core::item::{Link, Slot};
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;
use tenure_core::request::*;
use tenure_core::world::Change;

use crate::kit::*;

const RUN: &str = r#"{"document_id":"d"}"#;

// covers: K-06, K-40
#[test]
fn a_create_says_who_made_what_and_when() {
    let mut bench = Bench::new();
    let job = bench.job();
    let [entry] = &bench.history(job)[..] else { panic!("a create is one entry") };
    assert_eq!((entry.actor.to_string().as_str(), entry.at, entry.item), ("api:test", START, job));
    assert_eq!((entry.version, entry.fence.0, entry.previous, &*entry.state), (1, 0, None, "PENDING"));
}

// covers: K-30, K-04
#[test]
fn the_same_name_gets_the_first_answer_exactly_even_after_the_item_has_moved_on() {
    let mut bench = Bench::new();
    let create = Create { priority: Some(3), attempts: Some(2), ..named("job", r#"{"n":1}"#, "once") };
    let first = bench.created("api:test", create.clone());
    let execution = bench.run("worker:a/1", first.id);
    for later in ["held", "committed", "finished"] {
        match later {
            "committed" => assert!(bench.ask("worker:a/1", commit(execution)).is_yes()),
            "finished" => assert!(bench.ask("worker:a/1", finish(execution)).is_yes()),
            _ => {}
        }
        bench.wait(seconds(7));
        let before = bench.everything();
        assert_eq!(bench.created("api:test", create.clone()), first, "{later}");
        assert_eq!(bench.created("api:another", create.clone()), first, "{later}");
        assert_eq!(bench.everything(), before, "a repeat writes nothing");
    }
}

// covers: K-30
#[test]
fn the_same_name_for_another_request_is_a_conflict() {
    let mut bench = Bench::new();
    let other = bench.job();
    let create = named("job", r#"{"n":1}"#, "once");
    let first = bench.created("api:test", create.clone());
    let link = Link { label: "depends".parse().unwrap(), to: other };
    let others = [
        Create { payload: body(r#"{"n":2}"#), ..create.clone() },
        Create { payload: body(r#"{"n": 1}"#), ..create.clone() },
        Create { key: Some("k".parse().unwrap()), ..create.clone() },
        Create { priority: Some(1), ..create.clone() },
        Create { run_at: Some(START), ..create.clone() },
        Create { attempts: Some(5), ..create.clone() },
        Create { links: vec![link], ..create.clone() },
        Create { origin: Some(other), ..create.clone() },
    ];
    for other in others {
        let answer = bench.ask("api:test", Command::Create(other));
        assert_eq!(code(&answer), "IDEMPOTENCY_CONFLICT");
        assert!(matches!(answer, Answer::Conflict { item, .. } if item == first.id));
    }
}

// covers: K-30
#[test]
fn a_name_counts_within_its_store_and_kind() {
    let mut bench = Bench::new();
    let job = bench.created("api:test", named("job", "{}", "once"));
    let claim = bench.created("api:test", named("claim", r#"{"domain":"d","text":"t"}"#, "once"));
    bench.store = "elsewhere";
    let there = bench.created("api:test", named("job", r#"{"other":true}"#, "once"));
    assert!(job.id != claim.id && job.id != there.id);
}

// covers: K-30, K-02
#[test]
fn the_name_is_written_with_the_item() {
    let mut bench = Bench::new();
    let decision = bench.decide("api:test", Command::Create(named("job", "{}", "once")));
    let has = |wanted: fn(&Change) -> bool| decision.changes.iter().filter(|change| wanted(change)).count();
    assert_eq!(has(|change| matches!(change, Change::Insert { .. })), 1);
    assert_eq!(has(|change| matches!(change, Change::Name(..))), 1);
    assert_eq!(has(|change| matches!(change, Change::Entry(_))), 1);
}

// covers: K-30
#[test]
fn a_changed_lifecycle_does_not_change_the_answer_to_a_repeat() {
    let source = shipped::SHIPPED.iter().find(|shipped| shipped.file == "run.md").unwrap().source;
    let changes = [
        ("| window   | 120 s        |", "| window   | 90 s         |"),
        (r#""required": ["document_id"]"#, r#""required": ["document_id", "title"]"#),
        ("| key      | /document_id |", "| key      | /folder      |"),
        ("| attempts | 1            |", "| attempts | 3            |"),
    ];
    for (old, new) in changes {
        let mut bench = Bench::new();
        let create = named("run", RUN, "once");
        let first = bench.created("api:test", create.clone());
        let mut tables = shipped::tables();
        assert!(source.contains(old));
        tables.add(parse(&source.replace(old, new)).unwrap());
        bench.world.tables = Arc::new(tables);
        assert_eq!(bench.created("api:test", create.clone()), first, "{new}");
        let other = Create { priority: Some(1), ..create };
        assert_eq!(bench.refusal("api:test", Command::Create(other)), "IDEMPOTENCY_CONFLICT");
    }
}

// covers: K-07
#[test]
fn a_role_that_is_not_in_the_create_row_creates_nothing() {
    let mut bench = Bench::new();
    for role in ["worker", "human", "orchestrator", "system"] {
        // The payload is wrong too: the role is judged first.
        let answer = bench.ask(&format!("{role}:x"), Command::Create(new("claim", "[]")));
        assert_eq!(code(&answer), "FORBIDDEN", "{role}");
    }
    assert_eq!(bench.refusal("api:x", Command::Create(new("claim", "[]"))), "SCHEMA_VIOLATION");
    assert_eq!(bench.refusal("api:x", Command::Create(new("nothing", "{}"))), "INVALID_REQUEST");
    bench.create("admin:x", "claim", r#"{"domain":"d","text":"t"}"#);
}

#[test]
fn what_a_create_may_ask_for_is_bounded() {
    let mut bench = Bench::new();
    let with = |priority, attempts| Create { priority, attempts, ..new("job", "{}") };
    for (priority, attempts, expected) in [
        (Some(100), None, "yes"),
        (Some(101), None, "INVALID_REQUEST"),
        (Some(-100), None, "yes"),
        (Some(-101), None, "INVALID_REQUEST"),
        (None, Some(1), "yes"),
        (None, Some(0), "INVALID_REQUEST"),
        (None, Some(1000), "yes"),
        (None, Some(1001), "INVALID_REQUEST"),
    ] {
        let create = Command::Create(with(priority, attempts));
        assert_eq!(bench.refusal("api:test", create), expected, "{priority:?} {attempts:?}");
    }
}

// covers: K-32
#[test]
fn rank_is_run_at_less_the_head_start_of_its_priority() {
    let mut bench = Bench::new();
    for (priority, minutes) in [(0, 0), (1, -1), (10, -10), (100, -100), (-1, 1), (-100, 100)] {
        for delay in [0, 3600] {
            let run_at = Some(START.after(seconds(delay)));
            let item =
                bench.created("api:test", Create { priority: Some(priority), run_at, ..new("job", "{}") });
            let expected = item.run_at.micros() + minutes * 60_000_000;
            assert_eq!(item.rank().micros(), expected, "priority {priority}, delay {delay}");
        }
    }
}

// covers: K-32
#[test]
fn a_run_at_in_the_past_is_no_head_start() {
    let mut bench = Bench::new();
    let past = Some(START.before(seconds(86_400)));
    let pushy = bench.created("api:test", Create { run_at: past, ..new("job", "{}") });
    assert_eq!((pushy.run_at, pushy.rank()), (START.before(seconds(86_400)), START));
}

// covers: K-32
#[test]
fn a_delayed_item_waits_and_does_not_hold_its_key() {
    let mut bench = Bench::new();
    let later = Some(START.after(seconds(10)));
    let delayed = bench.created("api:test", Create { run_at: later, ..new("run", RUN) }).id;
    let prompt = bench.create("api:test", "run", RUN);
    assert_eq!(bench.item(delayed).slot(START), Slot::Scheduled);
    assert_eq!(bench.refusal("worker:a/1", take(delayed)), "TRANSITION_REFUSED");
    bench.take("worker:a/1", prompt);
    bench.wait(seconds(10));
    assert_eq!(bench.item(delayed).slot(bench.world.now), Slot::Ready);
}

// covers: M-01
#[test]
fn a_ticket_has_one_unprocessed_event_at_a_time() {
    let mut bench = Bench::new();
    let event = || new("ticket_ready", r#"{"ticket_id":"t"}"#);
    let first = bench.created("worker:readiness", event()).id;
    let coalesced = |bench: &mut Bench| match bench.ask("worker:readiness", Command::Create(event())) {
        Answer::Coalesced(item) => Some(item.id),
        Answer::Created(_) => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(coalesced(&mut bench), Some(first));
    let execution = bench.run("worker:scheduler/1", first);
    assert_eq!(coalesced(&mut bench), Some(first), "claimed is not processed");
    assert!(bench.ask("worker:scheduler/1", commit(execution)).is_yes());
    assert_eq!(coalesced(&mut bench), None, "the next one is new");
    bench.store = "elsewhere";
    assert_eq!(coalesced(&mut bench), None, "another store has its own");
}

// covers: C-10
#[test]
fn requests_for_a_verdict_are_taken_together_while_it_is_queued() {
    let mut bench = Bench::new();
    let ask = |name: &str| Command::Create(named("verdict", r#"{"claim_id":"c"}"#, name));
    let first = bench.create("api:test", "verdict", r#"{"claim_id":"c"}"#);
    assert!(matches!(bench.ask("api:test", ask("a")), Answer::Coalesced(item) if item.id == first));
    // A folded name is a name: repeated it writes nothing, used for another request it is a conflict.
    let before = bench.everything();
    assert!(matches!(bench.ask("api:test", ask("a")), Answer::Coalesced(item) if item.id == first));
    assert_eq!(bench.everything(), before);
    let other = named("verdict", r#"{"claim_id":"d"}"#, "a");
    assert_eq!(bench.refusal("api:test", Command::Create(other)), "IDEMPOTENCY_CONFLICT");
    bench.take("worker:a/1", first);
    assert!(matches!(bench.ask("api:test", ask("b")), Answer::Created(_)), "it may have read too early");
    assert!(matches!(bench.ask("api:test", ask("a")), Answer::Coalesced(item) if item.id == first));
}

// covers: K-30
#[test]
fn a_folded_name_outlives_two_versions_of_its_lifecycle() {
    let source = shipped::SHIPPED.iter().find(|shipped| shipped.file == "verdict.md").unwrap().source;
    let mut bench = Bench::new();
    let create = |name: &str| Command::Create(named("verdict", r#"{"claim_id":"c"}"#, name));
    bench.ask("api:test", create("first"));
    let mut tables = (*bench.world.tables).clone();
    for lease in ["30 s", "90 s"] {
        tables.add(parse(&source.replace("60 s ", lease)).unwrap());
        bench.world.tables = Arc::new(tables.clone());
        assert!(matches!(bench.ask("api:test", create("second")), Answer::Coalesced(_)), "{lease}");
    }
}

// covers: R-02, R-03
#[test]
fn a_run_is_accepted_as_queued_while_another_runs() {
    let mut bench = Bench::new();
    let first = bench.create("api:test", "run", RUN);
    bench.take("worker:a/1", first);
    for _ in 0..3 {
        let more = bench.create("api:test", "run", RUN);
        assert_eq!(bench.state(more), "QUEUED");
    }
}

#[test]
fn the_key_of_a_request_is_the_one_in_its_payload() {
    let mut bench = Bench::new();
    let with = |key: &str| Command::Create(Create { key: Some(key.parse().unwrap()), ..new("run", RUN) });
    assert_eq!(bench.refusal("api:test", with("d")), "yes");
    assert_eq!(bench.refusal("api:test", with("e")), "INVALID_REQUEST");
    let number = bench.created("worker:w", new("ticket_ready", r#"{"ticket_id":"7"}"#));
    assert_eq!(number.key.as_deref(), Some("7"));
}

// covers: K-37
#[test]
fn links_and_origins_do_not_cross_stores() {
    let mut bench = Bench::new();
    let here = bench.job();
    bench.store = "elsewhere";
    let link = Link { label: "depends".parse().unwrap(), to: here };
    let linked = Create { links: vec![link], ..new("job", "{}") };
    let retry = Create { origin: Some(here), ..new("job", "{}") };
    for create in [linked, retry] {
        assert_eq!(bench.refusal("api:test", Command::Create(create)), "STORE_BOUNDARY_VIOLATION");
    }
}

// covers: J-09
#[test]
fn a_retried_job_is_a_new_one_that_names_the_old() {
    let mut bench = Bench::new();
    let old = bench.job();
    bench.ask("api:test", cancel(old));
    let retry = bench.created("api:test", Create { origin: Some(old), ..new("job", "{}") });
    assert_eq!((retry.origin, bench.state(old)), (Some(old), "CANCELLED"));
    assert_eq!(bench.folded(retry.id).origin, Some(old), "the log names it");
}

// covers: T-10
#[test]
fn a_session_is_made_and_held_in_one_decision() {
    let mut bench = Bench::new();
    let create = Create { take: Some(Terms::default()), ..named("session", "{}", "token") };
    let Answer::Leased(first) = bench.ask("worker:agent/s1", Command::Create(create.clone())) else {
        panic!()
    };
    let session = first[0].execution.item;
    assert_eq!((bench.state(session), bench.story(session).as_str()), ("Active", "create lease"));
    assert_eq!(bench.ask("worker:agent/s1", Command::Create(create.clone())), Answer::Leased(first));
    bench.ask("worker:agent/s1", release(bench.item(session).execution_id()));
    assert!(matches!(bench.ask("worker:agent/s1", Command::Create(create)), Answer::Same(_)), "it has ended");
}
