//! The known ways in which a queue goes wrong, first made to happen and then not.
//!
//! The protection is switched off by a store that exists only here: [`Blind`] lets a worker decide on what it saw when it got its
//! lease, and writes whatever it is given, row by row, without looking. That is how a queue without a commit boundary works.

use std::collections::BTreeMap;

use tenure_core::answer::Answer;
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::execution::Status;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::Item;
use tenure_core::replay::fold;
use tenure_core::request::Command;
use tenure_core::world::{Change, World};

use crate::kit::*;

/// A store with the boundary off: no fence, no compare-and-set, no transaction.
struct Blind {
    items: BTreeMap<ItemId, Item>,
    committed: Vec<ExecutionId>,
    /// Things that a commit has done to the world.
    effects: usize,
    log: Vec<(ItemId, String)>,
}

impl Blind {
    fn of(world: &World) -> Blind {
        let items = world.items.iter().map(|(id, item)| (*id, Item::clone(item))).collect();
        Blind { items, committed: Vec::new(), effects: 0, log: Vec::new() }
    }

    /// What a worker would write who believes that nothing has happened since this snapshot.
    fn written(snapshot: &Bench, actor: &str, command: Command) -> Vec<Change> {
        let request = snapshot.request(actor, command);
        let decision = decide(&snapshot.world, &request, &mut Draw::new(7));
        assert!(decision.answer.is_yes(), "it believes that it may: {:?}", decision.answer);
        decision.changes
    }

    fn write(&mut self, change: &Change) {
        match change {
            Change::Insert { item, .. } | Change::Update { item, .. } => {
                self.items.insert(item.id, Item::clone(item));
            }
            Change::Execution(execution) if execution.committed.is_some() => {
                self.committed.push(execution.id);
            }
            Change::Message(_) => self.effects += 1,
            Change::Entry(entry) => self.log.push((entry.item, entry.action.to_string())),
            _ => {}
        }
    }
}

fn snapshot(bench: &Bench) -> Bench {
    Bench { world: bench.world.clone(), draw: bench.draw.clone(), store: bench.store }
}

fn charge(execution: ExecutionId) -> Command {
    commit_with(execution, messaging("charge", r#"{"amount":100}"#))
}

/// A lease runs out while its worker goes on, another gets the job, both come to their end.
fn two_workers(bench: &mut Bench) -> (ItemId, [(&'static str, ExecutionId, Bench); 2]) {
    let job = bench.job();
    let first = bench.run("worker:a/1", job);
    let seen_by_first = snapshot(bench);
    bench.expire(job);
    bench.wait_until_due(job);
    let second = bench.run("worker:b/1", job);
    let seen_by_second = snapshot(bench);
    (job, [("worker:a/1", first, seen_by_first), ("worker:b/1", second, seen_by_second)])
}

// covers: J-04
#[test]
fn fm_001_without_the_boundary_both_workers_take_effect() {
    let mut bench = Bench::new();
    let (_, workers) = two_workers(&mut bench);
    let mut blind = Blind::of(&bench.world);
    for (worker, execution, seen) in &workers {
        Blind::written(seen, worker, charge(*execution)).iter().for_each(|change| blind.write(change));
    }
    assert_eq!((blind.committed.len(), blind.effects), (2, 2), "the customer is charged twice");
}

// covers: J-04, J-06
#[test]
fn fm_001_with_it_one_takes_effect_and_the_other_is_told_and_seen() {
    for order in [[0, 1], [1, 0]] {
        let mut bench = Bench::new();
        let (job, workers) = two_workers(&mut bench);
        let answers = order.map(|worker| {
            let (name, execution, _) = &workers[worker];
            bench.ask(name, charge(*execution))
        });
        let stale = &answers[order.iter().position(|worker| *worker == 0).unwrap()];
        // Before the other has committed the lease is lost; after it the answer is what was committed.
        match order {
            [0, 1] => assert!(matches!(stale, Answer::LeaseLost(_)), "{stale:?}"),
            _ => assert!(matches!(stale, Answer::AlreadyCommitted(_)), "{stale:?}"),
        }
        assert_eq!(bench.world.messages.len(), 1, "one charge");
        assert_eq!(bench.status(workers[0].1), Status::Aborted);
        assert_eq!(bench.item(job).committed, Some(workers[1].1.fence));
        // Whoever looks finds it: the first lease's end is an entry with its reason.
        assert_eq!(bench.story(job), "create lease start expire lease start commit");
        let ended = bench.execution(workers[0].1).ended.expect("it ended");
        assert_eq!(ended.reason.as_deref(), Some("its lease ended"));
    }
}

// covers: J-05
#[test]
fn fm_002_without_a_transaction_an_update_is_torn() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let changes = Blind::written(&bench, "worker:a/1", charge(execution));
    let mut torn = Vec::new();
    // The process dies before each of its writes in turn.
    for dies_before in 0..=changes.len() {
        let mut blind = Blind::of(&bench.world);
        changes[..dies_before].iter().for_each(|change| blind.write(change));
        let item_says = blind.items[&job].committed.is_some();
        let parts = [item_says, blind.committed.len() == 1, blind.effects == 1, blind.log.len() == 1];
        if parts.iter().any(|part| *part) && !parts.iter().all(|part| *part) {
            torn.push(dies_before);
        }
    }
    assert!(!torn.is_empty(), "some of it is there and some is not: {changes:#?}");
}

// covers: J-05
#[test]
fn fm_002_a_torn_update_is_seen_by_whoever_folds_the_log() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let changes = Blind::written(&bench, "worker:a/1", charge(execution));
    let agrees = |blind: &Blind, logged: &Bench| {
        let history = logged.history(job);
        let folded = fold(&history, &logged.world.tables).expect("the log replays");
        folded == blind.items[&job].as_logged()
    };
    // Whole: the row is what the log says.
    let mut whole = Blind::of(&bench.world);
    changes.iter().for_each(|change| whole.write(change));
    let mut after = snapshot(&bench);
    after.world.apply(changes.clone());
    assert!(agrees(&whole, &after));
    // The row without its entry, and the entry without its row.
    assert!(!agrees(&whole, &bench), "a state that no entry explains");
    assert!(!agrees(&Blind::of(&bench.world), &after), "an entry that no state shows");
}
