//! The items of a database, each held against its entries: K-08 at rest.
//!
//! Others may go on writing. An item is read at one moment, and its history is read afterwards, so the history has
//! everything that the item was made of, and perhaps more, which is left out. One item is in memory at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::body::Body;
use tenure_core::entry::Sealed;
use tenure_core::execution::Execution;
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::replay::replay;
use tenure_core::world::{LaneKey, Named, Record, World};

use super::{At, Pass};
use crate::export::{page, sequence};
use crate::look::Look;
use crate::{Database, Error, PAGE_MAX, Query, Whole};

/// Answers the lanes that the items belong to.
pub async fn compare<D: Database + Look>(
    database: &D,
    pass: &mut Pass,
    read_to: u64,
    mut progress: impl FnMut(u64),
) -> Result<BTreeSet<LaneKey>, Error> {
    let mut missing: BTreeSet<ItemId> = pass.items();
    let mut lanes = BTreeSet::new();
    let mut after = None;
    let mut seen = 0;
    loop {
        let page = database.list(&Query { after, limit: PAGE_MAX, ..Query::default() }).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for listed in &page {
            missing.remove(&listed.id);
            lanes.extend(lane_of(listed));
            match item(database, listed, |item, history| in_log(pass, item, history)).await? {
                Some(faults) => {
                    faults.into_iter().for_each(|what| pass.fault(At::Item, Some((listed.id, None)), what));
                }
                None => {
                    missing.insert(listed.id);
                }
            }
        }
        seen += page.len() as u64;
        progress(seen);
    }
    if !missing.is_empty() {
        let removed = removed_after(database, read_to).await?;
        missing.retain(|item| !removed.contains(item));
    }
    for item in missing {
        pass.fault(
            At::Item,
            Some((item, None)),
            "is in the log, but not among the items: its row was deleted",
        );
    }
    Ok(lanes)
}

fn lane_of(item: &Item) -> Option<LaneKey> {
    let key = item.key.clone().filter(|_| item.table.uses_lanes())?;
    Some(LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key })
}

/// Items that were removed while the others were looked at: the log says so by now.
async fn removed_after<D: Database>(database: &D, mut position: u64) -> Result<BTreeSet<ItemId>, Error> {
    sequence(database).await?;
    let to = database.head().await?.position;
    let mut removed = BTreeSet::new();
    while position < to {
        let entries = page(database, position, to).await?;
        let Some((last, _)) = entries.last() else { break };
        position = *last;
        let prunes = entries.iter().filter(|(_, entry)| entry.action == Event::Prune);
        removed.extend(prunes.map(|(_, entry)| entry.item));
    }
    Ok(removed)
}

/// What is wrong with an item, and with its history as the log has it. None: it is not there any more.
pub async fn item<D: Database + Look>(
    database: &D,
    listed: &Item,
    in_log: impl FnOnce(&Item, &[Sealed]) -> Option<String>,
) -> Result<Option<Vec<String>>, Error> {
    let Some(whole) = database.whole(&listed.store, listed.id).await? else { return Ok(None) };
    let mut history = database.history(&listed.store, listed.id).await?;
    if history.is_empty() && database.item(&listed.store, listed.id).await?.is_none() {
        return Ok(None);
    }
    let found = history.len();
    history.truncate(usize::try_from(whole.item.version).unwrap_or(usize::MAX));
    let mut faults = Vec::new();
    if let Some(what) = in_log(&whole.item, &history) {
        faults.push(what);
    }
    let world = match world(&history, &database.tables()) {
        Ok(world) => world,
        Err(why) => {
            faults.push(format!("its history can not be replayed: {why}"));
            return Ok(Some(faults));
        }
    };
    match world.items.get(&listed.id) {
        None => faults.push("has no history".to_string()),
        Some(folded) if folded.version != whole.item.version => {
            faults.push(format!("is at version {}, but its history has {found} entries", whole.item.version));
        }
        Some(folded) => {
            let kept = whole.item.as_logged();
            // Rows from before migration 9 do not say how long they may wait.
            let kept = Item { wait_max: kept.wait_max.or(folded.wait_max), ..kept };
            let differing = differences(folded, &kept);
            if !differing.is_empty() {
                faults.push(format!("is not what its entries say: {}", differing.join("; ")));
            }
        }
    }
    faults.extend(executions(&world, &whole));
    faults.extend(records(&world, &whole, &history));
    faults.extend(bodies(&whole, &history));
    let lost = names(database, &world).await?;
    if !lost.is_empty() && database.item(&listed.store, listed.id).await?.is_none() {
        return Ok(None);
    }
    faults.extend(lost);
    Ok(Some(faults))
}

/// The idempotency keys that stand for an item, which are there for as long as it is. The name of an acquire is its worker's to use again.
async fn names<D: Look>(database: &D, world: &World) -> Result<Vec<String>, Error> {
    let mut faults = Vec::new();
    for (key, logged) in &world.names {
        match logged {
            Named::Created { .. } | Named::Folded { .. } => {}
            Named::Leased(_) => continue,
        }
        let what = match database.named(key).await {
            Ok(Some(kept)) if kept == *logged => continue,
            Ok(Some(_)) => "stands for another request",
            Ok(None) => "is missing: the same request would be carried out again",
            Err(Error::Statement(_)) => "can not be read",
            Err(error) => return Err(error),
        };
        faults.push(format!("its idempotency key `{}` {what}", key.name));
    }
    Ok(faults)
}

/// The history must be the entries of the log. It is chained, so it is enough to compare where the log ends. An item that
/// was created after the log was read is in no log yet.
fn in_log(pass: &Pass, item: &Item, history: &[Sealed]) -> Option<String> {
    let (version, heads) = pass.logged(item.id)?;
    let index = usize::try_from(version).ok()?.checked_sub(1)?;
    match history.get(index) {
        None => Some(format!("is at version {}, but the log has version {version} of it", item.version)),
        Some(entry) if heads.contains(&entry.hash()) || heads.is_empty() => None,
        Some(_) => Some(format!("has another version {version} in its history than in the log")),
    }
}

fn world(history: &[Sealed], tables: &Arc<Tables>) -> Result<World, String> {
    let mut world = World::new(tables.clone());
    for entry in history {
        let changes = replay(&world, entry.clone())
            .map_err(|broken| format!("version {}: {}", broken.version, broken.why))?;
        world.apply(changes);
    }
    Ok(world)
}

/// The fields that differ, each with what it is and what it should be.
fn differences(logged: &Item, kept: &Item) -> Vec<String> {
    let mut differing = Vec::new();
    let mut compare = |field: &str, is: String, should: String| {
        if is != should {
            differing.push(format!("{field} is {is} and should be {should}"));
        }
    };
    compare("state", kept.state_name().to_string(), logged.state_name().to_string());
    compare("claim_version", kept.fence.to_string(), logged.fence.to_string());
    compare("head", kept.head.to_string(), logged.head.to_string());
    compare("failures", kept.failures.to_string(), logged.failures.to_string());
    compare("run_at", kept.run_at.to_string(), logged.run_at.to_string());
    compare("lease", format!("{:?}", kept.lease), format!("{:?}", logged.lease));
    compare("output", format!("{:?}", kept.output), format!("{:?}", logged.output));
    compare("payload", kept.payload.to_string(), logged.payload.to_string());
    if differing.is_empty() && kept != logged {
        differing.push(format!("it is {kept:?} and should be {logged:?}"));
    }
    differing
}

/// Renewals are not in the log, so neither is when a lease would have ended.
fn as_logged(execution: &Execution) -> Execution {
    Execution { lease_expires_at: execution.leased_at, ..execution.clone() }
}

fn executions(world: &World, whole: &Whole) -> Option<String> {
    let kept: Vec<Execution> = whole.executions.iter().map(as_logged).collect();
    let logged: Vec<Execution> = world.executions_of(whole.item.id).map(as_logged).collect();
    if kept.len() != logged.len() {
        return Some(format!("has {} ended executions and should have {}", kept.len(), logged.len()));
    }
    let differing = kept.iter().zip(&logged).find(|(kept, logged)| kept != logged);
    differing.map(|(kept, logged)| format!("execution {} is {kept:?} and should be {logged:?}", logged.id))
}

fn records(world: &World, whole: &Whole, history: &[Sealed]) -> Vec<String> {
    let mut faults = Vec::new();
    let bare = |record: &Record| Record { body: None, ..record.clone() };
    let kept: Vec<Record> = whole.records.iter().map(bare).collect();
    let logged: Vec<Record> = world.records.values().map(bare).collect();
    for record in logged.iter().filter(|record| !kept.contains(record)) {
        faults.push(format!("record {} `{}` is missing or was changed", record.label, record.name));
    }
    for record in kept.iter().filter(|record| !logged.iter().any(|logged| logged.id == record.id)) {
        faults.push(format!("record {} `{}` is not in the log", record.label, record.name));
    }
    let erased_at =
        history.iter().rev().find(|entry| entry.action == Event::Erase).map(|entry| entry.version);
    for record in &whole.records {
        let Some(body) = &record.body else { continue };
        if body.hash() != record.hash {
            faults.push(format!("the body of record {} `{}` was changed", record.label, record.name));
        }
        if erased_at.is_some_and(|version| record.version < version) {
            faults
                .push(format!("record {} `{}` was erased, but its body is there", record.label, record.name));
        }
    }
    faults
}

/// A body that is there is the one that was hashed. One that is not may have been erased, or only the log was replayed.
fn bodies(whole: &Whole, history: &[Sealed]) -> Vec<String> {
    let mut faults = Vec::new();
    let last =
        |action: Event| history.iter().rev().find(|entry| entry.action == action).map(|entry| entry.version);
    let (erased, committed) = (last(Event::Erase), last(Event::Commit));
    let mut check = |name: &str, body: Option<Hash>, logged: Option<Hash>, written: Option<u64>| {
        let Some(body) = body else { return };
        if erased > written {
            faults.push(format!("was erased, but its {name} is there"));
        } else if Some(body) != logged {
            faults.push(format!("its {name} was changed: the SHA-256 is {body}, and not what the log says"));
        }
    };
    let hash = |body: &Option<Body>| body.as_ref().map(Body::hash);
    check("payload", hash(&whole.payload), Some(whole.item.payload), Some(1));
    check("output", hash(&whole.output), whole.item.output, committed);
    faults
}
