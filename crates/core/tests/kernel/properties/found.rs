//! What the dice have found, each as a short story that stays.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::item::Link;
use tenure_core::request::*;

use crate::kit::*;

fn open_step(execution: tenure_core::id::ExecutionId, name: &str) -> Command {
    let (records, opens) = (vec![record("step", name, "{}")], vec!["extract".parse().unwrap()]);
    Command::Progress(Progress { execution, records, opens, closes: Vec::new() })
}

fn run(bench: &mut Bench) -> tenure_core::id::ExecutionId {
    let run = bench.create("api:x", "run", r#"{"document_id":"d"}"#);
    bench.run("worker:a/1", run)
}

// covers: K-34
#[test]
fn a_step_that_was_opened_twice_does_not_keep_its_run_from_ending() {
    let mut bench = Bench::new();
    let execution = run(&mut bench);
    assert!(bench.ask("worker:a/1", open_step(execution, "one")).is_yes());
    assert!(bench.ask("worker:a/1", open_step(execution, "two")).is_yes());
    bench.wait(Duration::from_secs(200));
    let answer = bench.sweep(execution.item);
    assert!(answer.is_yes(), "{answer:?}");
    assert_eq!(bench.state(execution.item), "TIMED_OUT");
}

// covers: K-34
#[test]
fn nobody_writes_the_record_that_closes_a_step_and_so_keeps_its_run_from_ending() {
    let mut bench = Bench::new();
    let execution = run(&mut bench);
    assert!(bench.ask("worker:a/1", open_step(execution, "one")).is_yes());
    let answer = bench.ask("worker:a/1", open_step(execution, "extract/1/closed"));
    assert!(matches!(answer, Answer::Invalid(_)), "{answer:?}");
    bench.wait(Duration::from_secs(200));
    let answer = bench.sweep(execution.item);
    assert!(answer.is_yes(), "{answer:?}");
    assert_eq!(bench.state(execution.item), "TIMED_OUT");
    assert!(bench.world.records.values().any(|record| &*record.name == "extract/1/closed"));
}

#[test]
fn a_create_and_lease_on_a_key_whose_lease_has_run_out_takes_that_item_over() {
    let mut bench = Bench::with(include_str!("desk.md"));
    let desk = bench.create("worker:a/1", "desk", r#"{"room":"r1"}"#);
    bench.take("worker:a/1", desk);
    bench.wait(Duration::from_secs(31));
    let mut create = Create::new("desk".parse().unwrap(), body(r#"{"room":"r1"}"#));
    create.take = Some(Terms::default());
    let answer = bench.ask("worker:a/1", Command::Create(create));
    assert!(matches!(answer, Answer::Leased(_)), "{answer:?}");
    assert_eq!(bench.story(desk), "create lease expire lease");
}

#[test]
fn what_has_left_its_succeeded_state_is_not_superseded_again() {
    let mut bench = Bench::new();
    let payload = r#"{"claim_id":"c","truthbit_id":"b","validator_key":"v1"}"#;
    let [first, second] = [(); 2].map(|()| bench.create("api:x", "validation", payload));
    assert!(bench.ask("api:x", submit_with(first, Effects::default())).is_yes());
    assert!(bench.ask("system:engine", step(first, "supersede")).is_yes());
    let answer = bench.ask("api:x", submit_with(second, Effects::default()));
    assert!(answer.is_yes(), "{answer:?}");
    assert_eq!((bench.state(first), bench.state(second)), ("superseded", "submitted"));
}

// covers: K-04
#[test]
fn a_link_that_is_to_come_and_to_go_is_refused_because_its_repeat_would_undo_it() {
    let mut bench = Bench::new();
    let [job, other] = [(); 2].map(|()| bench.job());
    let link = Link { label: "related".parse().unwrap(), to: other };
    let relink = |add: Vec<Link>, remove: Vec<Link>| Command::Link(Relink { item: job, add, remove });
    assert!(bench.ask("api:x", relink(vec![link.clone()], Vec::new())).is_yes());
    let answer = bench.ask("api:x", relink(vec![link.clone()], vec![link.clone()]));
    assert!(matches!(answer, Answer::Invalid(_)), "{answer:?}");
    assert_eq!(bench.item(job).links, [link]);
}

#[test]
fn whoever_adds_a_lease_under_a_name_needs_the_leases_that_have_it() {
    let mut bench = Bench::new();
    let job = bench.job();
    let terms = || Terms { request: Some("r1".parse().unwrap()), ..Terms::default() };
    let create = Create { take: Some(terms()), ..Create::new("job".parse().unwrap(), body("{}")) };
    for command in [Command::Take(Take { item: job, terms: terms() }), Command::Create(create)] {
        let mut need = Need::default();
        bench.request("worker:a/1", command).needs(&bench.world.tables, &mut need);
        assert_eq!(need.names.len(), 1);
    }
}
