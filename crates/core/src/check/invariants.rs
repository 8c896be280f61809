//! The promises that hold in every state, and over every step.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::actions::Action;
use crate::decide::{Decision, decide};
use crate::derive::derive;
use crate::draw::Draw;
use crate::execution::{Execution, Status};
use crate::id::{ExecutionId, ItemId};
use crate::item::{Item, SharedItem};
use crate::lifecycle::Phase;
use crate::project::project;
use crate::request::{Command, Request};
use crate::world::{Change, LaneKey, World};

/// What every state must satisfy.
pub fn state(world: &World) -> Result<(), String> {
    for item in world.items.values() {
        held_is_active(item)?;
        committed_once(world, item)?;
        derived_state(world, item)?;
        alone_in_its_lane(world, item)?;
    }
    Ok(())
}

fn held_is_active(item: &Item) -> Result<(), String> {
    if (item.phase() == Phase::Active) != item.lease.is_some() {
        return Err(format!(
            "an item is active exactly while it is held, but {} is not so",
            item.state_name()
        ));
    }
    Ok(())
}

fn committed_once(world: &World, item: &Item) -> Result<(), String> {
    let commits = world.executions_of(item.id).filter(|execution| execution.committed.is_some()).count();
    if commits > 1 {
        return Err("two executions have committed".into());
    }
    if (commits == 1) != item.committed.is_some() {
        return Err("an item knows whether it has committed".into());
    }
    if item.committed.is_some() && item.phase() == Phase::Ready {
        return Err(format!(
            "a committed item is ready again in `{}`: it would be leased and would commit a second time",
            item.state_name()
        ));
    }
    Ok(())
}

fn derived_state(world: &World, item: &Item) -> Result<(), String> {
    if !item.table.settings.derived {
        return Ok(());
    }
    let live = item.live_execution();
    let ended = world.executions_of(item.id).filter(|execution| execution.ended.is_some());
    let executions: Vec<&Execution> = ended.chain(live.as_ref()).collect();
    let derived = derive(&item.table, item.attempts, executions);
    if derived != Some(item.state) {
        let name = derived.map_or("nothing", |state| item.table.name(state));
        return Err(format!("its executions make it {name}, but it is {}", item.state_name()));
    }
    Ok(())
}

fn alone_in_its_lane(world: &World, item: &Item) -> Result<(), String> {
    let Some(key) = item.exclusive_key().cloned() else { return Ok(()) };
    let same = |other: &&SharedItem| {
        other.store == item.store && other.table.kind == item.table.kind && other.key == item.key
    };
    let held: Vec<ItemId> =
        world.items.values().filter(same).filter(|o| o.lease.is_some()).map(|o| o.id).collect();
    if held.len() > 1 {
        return Err("two items of one key are held at once".into());
    }
    let lane = LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key };
    let running = world.lanes.get(&lane).and_then(|lane| lane.running.first().copied());
    if running != held.first().copied() {
        return Err("a lane knows which of its items is held".into());
    }
    Ok(())
}

/// What every step must satisfy.
pub fn step(before: &World, action: &Action, decision: &Decision, after: &World) -> Result<(), String> {
    let Action::Ask(request) = action else { return Ok(()) };
    for (id, item) in &after.items {
        match before.items.get(id) {
            Some(was) => one_item(was, item)?,
            None => continue,
        }
    }
    if !decision.answer.is_yes() {
        return Err("a refused request wrote something".into());
    }
    by_its_holder(before, request, decision)?;
    told_by_its_log(before, decision, after)?;
    safe_to_repeat(after, request, decision)
}

fn one_item(was: &Item, item: &Item) -> Result<(), String> {
    if item.fence < was.fence {
        return Err("a fence was lowered".into());
    }
    if was.table.is_final(was.state) && item.state != was.state {
        return Err(format!("`{}` is final, and was left", was.state_name()));
    }
    if was.committed.is_some() && item.committed != was.committed {
        return Err("another execution took the place of the one that committed".into());
    }
    if item.updated < was.updated {
        return Err("an item's time went back".into());
    }
    Ok(())
}

/// Whoever writes under a lease holds it: present fence, right owner, not expired. Once committed only `finish` is
/// left, and that can not be stale.
fn by_its_holder(before: &World, request: &Request, decision: &Decision) -> Result<(), String> {
    let Some(execution) = under_lease(&request.command).filter(|_| !decision.changes.is_empty()) else {
        return Ok(());
    };
    let item = before.items.get(&execution.item).ok_or("a write about an item that is not there")?;
    let lease = item.lease.as_ref().ok_or("a write under a lease that nobody holds")?;
    let finishing = matches!(request.command, Command::Finish(_)) && lease.status() == Status::Committed;
    let current = item.fence == execution.fence && lease.owner == request.actor.owner();
    // Spelled out, not asked of the lease: what is checked must not judge itself.
    let expired = lease.expires <= before.now || lease.window_ends.is_some_and(|ends| ends <= before.now);
    if !current || (expired && !finishing) {
        return Err(format!(
            "a stale write was accepted: {}",
            Action::Ask(Box::new(request.clone())).describe()
        ));
    }
    Ok(())
}

fn under_lease(command: &Command) -> Option<ExecutionId> {
    match command {
        Command::Start(start) => Some(start.execution),
        Command::Renew(renew) => Some(renew.execution),
        Command::Progress(progress) => Some(progress.execution),
        Command::Commit(commit) => Some(commit.execution),
        Command::Finish(finish) => Some(finish.execution),
        Command::Fail(fail) => Some(fail.execution),
        Command::Release(release) => Some(release.execution),
        Command::Create(_)
        | Command::Acquire(_)
        | Command::Take(_)
        | Command::Move(_)
        | Command::Cancel(_) => None,
        Command::Note(_) | Command::Link(_) | Command::Erase(_) => None,
        Command::Control(_) | Command::Sweep(_) | Command::Prune(_) => None,
    }
}

/// An item is what its entries say. What came before this step was so, and a fold goes entry by entry, so it is enough
/// to fold the entries of this step onto that.
fn told_by_its_log(before: &World, decision: &Decision, after: &World) -> Result<(), String> {
    let mut folded: BTreeMap<ItemId, Item> = BTreeMap::new();
    for change in &decision.changes {
        let Change::Entry(entry) = change else { continue };
        let was =
            folded.remove(&entry.item).or_else(|| before.items.get(&entry.item).map(|item| item.as_logged()));
        let next = project(was.as_ref(), entry, &after.tables)
            .map_err(|broken| format!("its log does not replay: {broken}"))?;
        folded.insert(entry.item, next.item);
    }
    for (id, item) in &folded {
        if after.items.get(id).map(|item| item.as_logged()).as_ref() != Some(item) {
            return Err("an item is not what its log says".into());
        }
    }
    Ok(())
}

/// The same request again writes no entry and gets the same answer.
fn safe_to_repeat(after: &World, request: &Request, decision: &Decision) -> Result<(), String> {
    if decision.changes.is_empty() {
        return Ok(());
    }
    let again = decide(after, request, &mut Draw::new(1));
    if again.changes.iter().any(|change| matches!(change, Change::Entry(_))) {
        return Err(format!(
            "repeated, it happens twice: {}",
            Action::Ask(Box::new(request.clone())).describe()
        ));
    }
    let same = match (&again.answer, &decision.answer) {
        (crate::answer::Answer::Same(now), crate::answer::Answer::Done(then)) => now == then,
        (now, then) => now == then,
    };
    if !same {
        return Err(format!(
            "repeated, it is answered otherwise: {}",
            Action::Ask(Box::new(request.clone())).describe()
        ));
    }
    Ok(())
}
