//! Every order of events that two workers, two items, a clock, a sweeper and everyone else can produce, over the real
//! `decide`.
//!
//! Workers send every command for every execution that ever existed, their own or not, at any moment and any number of
//! times; leases run out, windows pass, sweeps come late with an old list, and whoever crashed is silent. After every
//! step the explorer asks: no second commit, no stale write accepted, nobody stuck, a final state stays, a fence never
//! falls, the item is what its entries say, the derived state is what its executions say, one held item a key, and the
//! same request again writes nothing and is answered the same.
//!
//! The counts are floors: an exploration that silently lost half of its states would be found here.

mod bites;

use tenure_core::check::check;
use tenure_core::check::explore::{Explored, Setup, explore};
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;
use tenure_core::lifecycle::{SharedTable, Table};

use crate::kit::{actor, body};

fn shipped_table(kind: &str) -> SharedTable {
    shipped::tables().current(&kind.parse().unwrap()).expect("it ships").clone()
}

fn parcel() -> Table {
    parse(include_str!("explored/parcel.md")).expect("the lifecycle parses")
}

/// So many items with this payload, and two workers.
fn setup(table: &Table, payload: &str, items: usize, fences_max: u64) -> Setup {
    Setup::new(table, &body(payload), items, fences_max).expect("it can be created")
}

/// The two workers are one agent that was restarted.
fn with_incarnations(mut setup: Setup) -> Setup {
    let session = setup.workers.iter().find_map(|worker| worker.session);
    for (worker, incarnation) in setup.workers.iter_mut().zip(["worker:a/1", "worker:a/2"]) {
        worker.actor = actor(incarnation);
        worker.session = session;
    }
    setup
}

struct AtLeast {
    states: usize,
    steps: usize,
}

fn explored(what: &str, setup: &Setup, floor: AtLeast) -> Explored {
    let explored = explore(setup);
    println!("{what}: {} states, {} steps", explored.states, explored.steps);
    assert_eq!(explored.finding, None, "{what}");
    assert!(
        explored.states >= floor.states && explored.steps >= floor.steps,
        "{what}: only {} states and {} steps were explored",
        explored.states,
        explored.steps
    );
    explored
}

/// Every state of the table was reached by the first item.
fn assert_complete(table: &Table, explored: &Explored) {
    let missed: Vec<&str> = table
        .state_ids()
        .filter(|id| !explored.witnesses.contains_key(id))
        .map(|id| table.name(id))
        .collect();
    assert!(missed.is_empty(), "{missed:?} of {} was never reached", table.kind);
}

// covers: K-10, K-12, K-20, K-21, K-24, K-25, K-27, J-06
#[test]
fn two_workers_and_two_jobs_keep_every_promise() {
    let job = shipped_table("job");
    let floor = AtLeast { states: 78_985, steps: 5_470_030 };
    assert_complete(&job, &explored("two jobs", &setup(&job, "{}", 2, 2), floor));
}

// covers: K-12, K-21, K-24, K-25, K-31
#[test]
fn two_runs_of_one_document_are_never_held_at_once() {
    let run = shipped_table("run");
    let setup = setup(&run, r#"{"document_id":"d"}"#, 2, 3);
    let floor = AtLeast { states: 180, steps: 6_468 };
    assert_complete(&run, &explored("two runs of one document", &setup, floor));
}

// covers: K-31
#[test]
fn two_expenses_of_one_employee_are_never_paid_at_once() {
    let expense = parse(include_str!("../expense.md")).expect("the lifecycle parses");
    let payload = r#"{"employee":"e","amount":7}"#;
    let floor = AtLeast { states: 13_249, steps: 932_295 };
    assert_complete(&expense, &explored("two expenses", &setup(&expense, payload, 2, 2), floor));
}

// covers: K-12, K-20, K-21, K-24, K-25
#[test]
fn everything_that_can_end_an_attempt_ends_it_once() {
    let parcel = parcel();
    let floor = AtLeast { states: 9_076, steps: 408_735 };
    assert_complete(&parcel, &explored("two parcels", &setup(&parcel, "{}", 2, 1), floor));
    let floor = AtLeast { states: 17_442, steps: 1_236_210 };
    explored("one parcel, four leases", &setup(&parcel, "{}", 1, 4), floor);
}

// covers: K-10, K-12
#[test]
fn a_restarted_worker_is_somebody_else() {
    let job = shipped_table("job");
    let restarted = with_incarnations(setup(&job, "{}", 1, 4));
    explored("one job, a restarted worker", &restarted, AtLeast { states: 759, steps: 44_022 });
    let parcel = parcel();
    let restarted = with_incarnations(setup(&parcel, "{}", 2, 1));
    let floor = AtLeast { states: 9_076, steps: 408_735 };
    explored("two parcels, a restarted worker", &restarted, floor);
}

// covers: K-12, K-21, K-24
#[test]
fn a_restarted_agent_goes_on_with_its_todo_under_a_new_fence() {
    let todo = shipped_table("todo");
    let restarted = with_incarnations(setup(&todo, "{}", 2, 2));
    assert_complete(
        &todo,
        &explored("two todos, a restarted agent", &restarted, AtLeast { states: 12_981, steps: 901_392 }),
    );
}

#[test]
fn every_shipped_lifecycle_is_sound() {
    let known = shipped::tables();
    for table in known.iter() {
        let report = check(table, &known);
        println!("{}: {} states, {} steps", table.kind, report.states, report.steps);
        assert!(report.is_sound(), "{}: {:#?}", table.kind, report.findings);
    }
}
