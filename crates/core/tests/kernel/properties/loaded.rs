//! A database loads what a request says it needs, not everything. That must be enough: the decision is the same.

use std::collections::BTreeSet;

use tenure_core::control::QueueKey;
use tenure_core::decide::{Decision, decide};
use tenure_core::draw::Draw;
use tenure_core::follower::is_standing_webhook;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::Item;
use tenure_core::replay::names;
use tenure_core::request::{Command, Need, Request};
use tenure_core::world::{LaneKey, Named, World};

pub fn decides_the_same(world: &World, request: &Request, draw: &Draw, decision: &Decision) {
    let part = load(world, request);
    let decided = decide(&part, request, &mut draw.clone());
    assert_eq!(&decided, decision, "what was loaded is enough: {request:#?}");
}

/// What a database would lock and load: what the request needs, what names and lanes point to, the lanes of the items,
/// and of every item the committed execution, the payload and what it is linked to. Of what may be removed also its entries,
/// the names in them, its messages, what is linked to it and who follows the log.
fn load(world: &World, request: &Request) -> World {
    let mut need = Need::default();
    request.needs(&world.tables, &mut need);
    let mut part = World { now: world.now, tables: world.tables.clone(), ..World::default() };
    let mut items: BTreeSet<ItemId> = need.items.clone();
    if matches!(request.command, Command::Acquire(_)) {
        part.offers = world.offers.clone();
        items.extend(world.offers.iter().copied());
    }
    for id in &need.removals {
        part.entries.extend(
            world.entries.range((*id, 0)..=(*id, u64::MAX)).map(|(key, entry)| (*key, entry.clone())),
        );
        need.names.extend(names(world.history(*id)));
        part.messages.extend(world.messages.iter().filter(|message| message.item == *id).cloned());
        part.linked.extend(world.linked_to(*id).map(|from| (*id, from)));
    }
    for name in &need.names {
        let Some(named) = world.names.get(name) else { continue };
        part.names.insert(name.clone(), named.clone());
        match named {
            Named::Created { item, .. } | Named::Folded { item, .. } => items.extend([*item]),
            Named::Leased(leases) => items.extend(leases.iter().map(|lease| lease.item)),
        }
    }
    let mut lanes: BTreeSet<LaneKey> = need.lanes.clone();
    lanes.extend(items.iter().filter_map(|id| lane_of(world.items.get(id)?)));
    for key in lanes {
        let Some(lane) = world.lanes.get(&key) else { continue };
        items.extend(lane.items());
        part.lanes.insert(key, lane.clone());
    }
    let mut queues: BTreeSet<QueueKey> = need.queues();
    let of_items = need.payloads.union(&need.failing).filter_map(|id| world.items.get(id));
    queues.extend(of_items.map(|item| QueueKey { store: item.store.clone(), kind: item.table.kind.clone() }));
    for key in queues {
        part.active.insert(key.clone(), world.active(&key));
        let Some(control) = world.controls.get(&key) else { continue };
        let probe = control.trip.and_then(|trip| trip.probe).and_then(|probe| world.items.get(&probe.item));
        part.items.extend(probe.map(|item| (item.id, item.clone())));
        part.controls.insert(key, control.clone());
    }
    let linked: Vec<ItemId> = items
        .iter()
        .filter_map(|id| world.items.get(id))
        .flat_map(|item| item.links.iter().map(|link| link.to))
        .collect();
    items.extend(linked);
    items.extend(part.linked.iter().map(|(_, from)| *from));
    for store in &need.followed {
        let webhooks = world.items.values().filter(|item| is_standing_webhook(item, store));
        items.extend(webhooks.map(|item| item.id));
        part.marks.clone_from(&world.marks);
        part.places.extend(need.removals.iter().filter_map(|id| Some((*id, *world.places.get(id)?))));
    }
    let mut executions = need.executions.clone();
    for item in items.iter().filter_map(|id| world.items.get(id)) {
        executions.extend(item.committed.map(|fence| ExecutionId { item: item.id, fence }));
        part.payloads.extend(world.payloads.get(&item.id).map(|payload| (item.id, payload.clone())));
        part.items.insert(item.id, item.clone());
    }
    for id in executions {
        part.executions.extend(world.executions.get(&id).map(|execution| (id, execution.clone())));
    }
    for id in need.records {
        part.records.extend(world.records.get(&id).map(|record| (id, record.clone())));
    }
    part
}

fn lane_of(item: &Item) -> Option<LaneKey> {
    let key = item.key.clone().filter(|_| item.table.uses_lanes())?;
    Some(LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key })
}
