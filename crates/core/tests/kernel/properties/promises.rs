//! What must hold after every step, and of the log at the end.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::answer::Answer;
use tenure_core::decide::{Decision, decide};
use tenure_core::draw::Draw;
use tenure_core::entry::{Ended, Entry, Facts};
use tenure_core::execution::Execution;
use tenure_core::id::{ExecutionId, ItemId, RecordId};
use tenure_core::item::Item;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::settings::Coalesce;
use tenure_core::lifecycle::{Phase, Row, Table};
use tenure_core::replay::{fold, replay};
use tenure_core::request::{Command, Request};
use tenure_core::time::Time;
use tenure_core::world::{Change, Lane, LaneKey, Named, Record, World};

use crate::kit::entries;

pub fn of_a_step(before: &World, request: &Request, decision: &Decision, after: &World) {
    assert!(decision.answer.is_yes() || decision.changes.is_empty(), "a no writes nothing: {decision:#?}");
    let mut written: BTreeMap<ItemId, u64> = BTreeMap::new();
    for entry in entries(decision) {
        *written.entry(entry.item).or_default() += 1;
        assert_eq!(Entry::read(&entry.canonical()).as_ref(), Ok(entry), "a line is read as it is written");
    }
    interruptions_are_bounded(before, decision);
    for (id, item) in &after.items {
        let new = written.get(id).copied().unwrap_or(0);
        let Some(was) = before.items.get(id) else {
            assert_eq!(item.version, new, "a new item has as many versions as entries");
            continue;
        };
        assert_eq!(item.version, was.version + new, "a version is an entry: {request:#?}");
        assert!(item.fence >= was.fence, "a fence never falls");
        assert!(item.updated >= was.updated, "time within an item never goes back");
        assert!(was.committed.is_none() || item.committed == was.committed, "one commit, for ever");
        if was.table.is_final(was.state) {
            assert_eq!(item.state, was.state, "a final state never moves: {request:#?}");
        }
        if was.committed.is_some() {
            assert_eq!(item.fence, was.fence, "what has committed is never leased again");
        }
    }
    for lost in before.items.keys().filter(|id| !after.items.contains_key(id)) {
        let last = entries(decision).into_iter().rfind(|entry| entry.item == *lost);
        let is_pruned = last.is_some_and(|entry| entry.action == Event::Prune);
        assert!(is_pruned, "no item is ever lost but to a prune");
        removed_is_needed_by_nobody(&before.items[lost], before, after);
    }
}

/// Giving back costs nothing within its bound, and past it is a failure wherever the item can simply fail.
fn interruptions_are_bounded(before: &World, decision: &Decision) {
    for entry in entries(decision) {
        let Some(was) = before.items.get(&entry.item) else { continue };
        let spent = was.table.settings.interruptions.is_some_and(|most| was.interruptions >= most);
        let fails_simply =
            |row: &Row| row.guards.is_empty() && row.effects.is_empty() && row.actors.allow(entry.actor.role);
        let can_fail = was.table.rows_from(Some(was.state), &Event::Fail).any(fails_simply);
        match &entry.facts {
            Facts::End(Ended { on: Some(on), .. }) => {
                assert!(spent && *on == Event::Release && entry.action == Event::Fail, "{entry:#?}");
            }
            Facts::End(_) if entry.action == Event::Release => {
                assert!(!spent || !can_fail, "it was given back too often: {was:#?}");
            }
            _ => {}
        }
    }
}

/// What was removed was final and old, no unfinished item was linked to it, and nothing of it is left.
fn removed_is_needed_by_nobody(item: &Item, before: &World, after: &World) {
    let retention = before.tables.current(&item.table.kind).and_then(|table| table.settings.retention);
    let retention = retention.expect("a kind that is kept for ever is never removed");
    assert!(item.table.is_final(item.state) && item.updated.after(retention) <= before.now);
    let needs_it = |other: &&Item| {
        !other.table.is_final(other.state) && other.links.iter().any(|link| link.to == item.id)
    };
    assert_eq!(before.items.values().map(|other| &**other).find(needs_it), None);
    assert!(after.executions_of(item.id).next().is_none(), "its executions go with it");
    assert!(after.records.values().all(|record| record.item != item.id), "its records go with it");
    assert!(after.messages.iter().all(|message| message.item != item.id), "its messages go with it");
    assert!(!after.payloads.contains_key(&item.id) && !after.outputs.contains_key(&item.id));
    for named in after.names.values() {
        match named {
            Named::Created { item: named, .. } | Named::Folded { item: named, .. } => {
                assert_ne!(*named, item.id, "its names go with it");
            }
            Named::Leased(leases) => assert!(leases.iter().all(|lease| lease.item != item.id)),
        }
    }
}

/// The same request again, right away. What names neither itself nor an execution is a new request.
pub fn of_a_repeat(request: &Request, decision: &Decision, after: &World, draw: &Draw) {
    let named = match &request.command {
        Command::Create(create) => create.name.is_some(),
        Command::Take(take) => take.terms.request.is_some(),
        Command::Acquire(acquire) => acquire.terms.request.is_some(),
        _ => true,
    };
    if !named {
        return;
    }
    let again = decide(after, request, &mut draw.clone());
    assert!(
        entries(&again).is_empty(),
        "repeated, it happens twice: {request:#?}\n{decision:#?}\n{again:#?}"
    );
    let same = match (&again.answer, &decision.answer) {
        (Answer::Same(now), Answer::Done(then)) => now == then,
        // What was removed is not there any more.
        (Answer::NotFound(_), Answer::Done(_)) => matches!(request.command, Command::Prune(_)),
        // A refused create-and-lease names the item that it would have made: another id each time.
        (now, then) => now == then || (then.code().is_some() && now.code() == then.code()),
    };
    assert!(same, "repeated, it is answered otherwise: {request:#?}\n{decision:#?}\n{again:#?}");
}

pub fn of_a_world(world: &World, decision: &Decision) {
    for change in &decision.changes {
        if let Change::Insert { item, .. } | Change::Update { item, .. } = change {
            if !world.items.contains_key(&item.id) {
                continue;
            }
            let history: Vec<Entry> = world.history(item.id).cloned().collect();
            let folded = fold(&history, &world.tables).expect("the log replays");
            assert_eq!(folded, world.items[&item.id].as_logged(), "an item is what its entries say");
            assert!(history.is_sorted_by_key(|entry| entry.at), "time within an item never goes back");
        }
    }
    for item in world.items.values() {
        let commits = world.executions_of(item.id).filter(|execution| execution.committed.is_some()).count();
        assert!(commits <= 1, "two executions committed");
        assert_eq!(commits == 1, item.committed.is_some(), "an item knows whether it has committed");
        assert_eq!(item.phase() == Phase::Active, item.lease.is_some(), "active is held: {item:#?}");
    }
    assert_eq!(world.lanes, lanes(world), "lanes say what the items say");
}

/// The lanes, from the items alone. Which of several succeeded last, and which of several that wait stands for them all,
/// is history: there it is enough that the one in the lane is one of them. An item that comes back after another took its
/// place in the lane is not put in again.
fn lanes(world: &World) -> BTreeMap<LaneKey, Lane> {
    let mut members: BTreeMap<LaneKey, Vec<&Item>> = BTreeMap::new();
    for item in world.items.values().filter(|item| item.table.uses_lanes()) {
        let Some(key) = item.key.clone() else { continue };
        let key = LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key };
        members.entry(key).or_default().push(item);
    }
    // When something of a key was started counts also after it was removed: its rate holds in every span.
    let paced = world.lanes.iter().filter(|(key, _)| !members.contains_key(key));
    let paced =
        paced.map(|(key, lane)| (key.clone(), Lane { starts: lane.starts.clone(), ..Lane::default() }));
    let mut lanes: BTreeMap<LaneKey, Lane> = paced.filter(|(_, lane)| *lane != Lane::default()).collect();
    for (key, items) in members {
        let kept = world.lanes.get(&key).cloned().unwrap_or_default();
        let one_of = |kept: Option<ItemId>, fits: &dyn Fn(&Item) -> bool| {
            let ids: BTreeSet<ItemId> = items.iter().filter(|item| fits(item)).map(|item| item.id).collect();
            kept.filter(|id| ids.contains(id)).or(ids.first().copied())
        };
        let held: Vec<ItemId> =
            items.iter().filter(|item| item.lease.is_some()).map(|item| item.id).collect();
        let exclusive = items.iter().any(|item| item.table.is_exclusive());
        assert!(!exclusive || held.len() <= 1, "two items of one key are held at once");
        let open = |item: &Item| match item.table.settings.coalesce {
            Coalesce::No => false,
            Coalesce::Ready => item.phase() == Phase::Ready,
            Coalesce::Unfinished => !item.phase().is_ended(),
        };
        let forgets = items.iter().any(|item| comes_back(&item.table));
        let succeeded = |item: &Item| item.table.supersedes() && item.phase() == Phase::Succeeded;
        let lane = Lane {
            running: if exclusive { held } else { Vec::new() },
            open: one_of(kept.open, &open).filter(|_| !forgets || kept.open.is_some()),
            latest: one_of(kept.latest, &succeeded),
            starts: kept.starts.clone(),
        };
        if lane != Lane::default() {
            lanes.insert(key, lane);
        }
    }
    lanes
}

/// Whether an item can stop standing for its key, and start again.
fn comes_back(table: &Table) -> bool {
    let leaves_its_end = |id| table.phase(id).is_ended() && table.has_exit(id);
    match table.settings.coalesce {
        Coalesce::No => false,
        Coalesce::Ready => true,
        Coalesce::Unfinished => table.state_ids().any(leaves_its_end),
    }
}

/// The log alone, in the order in which it was written, makes the same world again.
pub fn of_a_log(log: &[Entry], world: &World) {
    let mut again = World::new(world.tables.clone());
    for entry in log {
        let changes = replay(&again, entry).expect("what was written can be read again");
        again.apply(changes);
        let twice = replay(&again, entry).expect("an entry that is there is known");
        assert!(twice.is_empty(), "the same entry again is a no-op");
    }
    let logged = |world: &World| -> Vec<Item> { world.items.values().map(|item| item.as_logged()).collect() };
    assert_eq!(logged(&again), logged(world));
    assert_eq!(executions(&again), executions(world));
    assert_eq!(records(&again), records(world));
    assert_eq!(again.names, world.names);
    assert_eq!(again.lanes, world.lanes);
    assert_eq!(again.linked, world.linked);
    assert_eq!(again.entries, world.entries);
}

fn executions(world: &World) -> BTreeMap<ExecutionId, Execution> {
    let without =
        |execution: &Execution| Execution { lease_expires_at: Time::default(), ..execution.clone() };
    world.executions.iter().map(|(id, execution)| (*id, without(execution))).collect()
}

fn records(world: &World) -> BTreeMap<RecordId, Record> {
    world.records.iter().map(|(id, record)| (*id, Record { body: None, ..record.clone() })).collect()
}
