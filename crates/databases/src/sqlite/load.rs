//! Loading what a request needs, and what hangs on it: exactly what the memory database loads.
//!
//! What is in the world already stays: nobody else writes meanwhile, so it is what was found or what this transaction
//! made of it.

use std::collections::BTreeSet;

use rusqlite::{CachedStatement, Connection, OptionalExtension};
use tenure_core::control::QueueKey;
use tenure_core::id::{ExecutionId, Fence, ItemId, RecordId};
use tenure_core::item::Item;
use tenure_core::request::Need;
use tenure_core::time::Time;
use tenure_core::word::Kind;
use tenure_core::world::{Lane, LaneKey, NameKey, Named, Record, World};

use super::fault::Fault;
use super::lanes::{count_active, read_control, read_lane};
use super::remove;
use super::rows::{FoundItem, Read, execution_of, id_bytes, id_from, payload_of, read_body, read_item};
use super::tx::{Known, Parts};
use crate::row::{Damaged, bytes::word, name, unsigned};

pub(super) fn load(parts: &mut Parts<'_>, need: &Need, world: &mut World) -> Result<(), Fault> {
    let mut items: BTreeSet<ItemId> = need.items.clone();
    let mut payloads: BTreeSet<ItemId> = need.payloads.clone();
    let mut names = need.names.clone();
    if !need.removals.is_empty() {
        names.extend(remove::load(parts, &need.removals, world)?);
    }
    for key in &names {
        let Some(named) = load_name(parts, key)? else { continue };
        match &named {
            Named::Created { item, .. } | Named::Folded { item, .. } => {
                items.insert(*item);
                payloads.insert(*item);
            }
            Named::Leased(leases) => {
                items.extend(leases.iter().map(|lease| lease.item));
                payloads.extend(leases.iter().map(|lease| lease.item));
            }
        }
        world.names.insert(key.clone(), named);
    }
    let mut hanging = Hanging { lanes: need.lanes.clone(), ..Hanging::default() };
    hanging.linked.extend(world.linked.iter().map(|(_, from)| *from));
    if !need.followed.is_empty() {
        hanging.linked.extend(remove::load_followers(parts, need, world)?);
    }
    load_items(parts, world, (&items, &payloads), Some(&mut hanging))?;
    hanging.executions.extend(&need.executions);
    hanging.linked.extend(load_controls(parts, need, world)?);
    load_hanging(parts, world, hanging)?;
    for id in &need.records {
        if let Some(record) = record(parts.context.connection, *id)? {
            world.records.insert(record.id, record);
        }
    }
    Ok(())
}

/// Loads what holds kinds back that something is leased of or fails, with the number of their held items. Answers the probes of
/// their breakers.
fn load_controls(parts: &mut Parts<'_>, need: &Need, world: &mut World) -> Result<Vec<ItemId>, Fault> {
    let mut queues: BTreeSet<QueueKey> = need.queues();
    for item in need.payloads.union(&need.failing).filter_map(|id| world.items.get(id)) {
        queues.insert(QueueKey { store: item.store.clone(), kind: item.table.kind.clone() });
    }
    let mut probes = Vec::new();
    for key in queues {
        let context = &mut parts.context;
        let Some(queue) = context.queues.number(context.connection, &key.store, &key.kind)? else { continue };
        let control = read_control(context.connection, queue)?;
        let governed = world.tables.current(&key.kind).is_some_and(|table| table.is_governed());
        // An order may limit it for the rest of its batch.
        if control.is_some() || governed || need.orders.contains(&key) {
            world.active.insert(key.clone(), count_active(context.connection, queue)?);
        }
        if let Some(control) = control {
            probes.extend(control.trip.and_then(|trip| trip.probe).map(|probe| probe.item));
            world.controls.insert(key, control);
        }
    }
    Ok(probes)
}

/// What hangs on items that are decided about.
#[derive(Default)]
pub(super) struct Hanging {
    lanes: BTreeSet<LaneKey>,
    linked: BTreeSet<ItemId>,
    executions: BTreeSet<ExecutionId>,
}

impl Hanging {
    pub fn note(&mut self, item: &Item) {
        if item.table.uses_lanes()
            && let Some(key) = item.key.clone()
        {
            let (store, kind) = (item.store.clone(), item.table.kind.clone());
            self.lanes.insert(LaneKey { store, kind, key });
        }
        self.linked.extend(item.links.iter().map(|link| link.to));
        self.executions.extend(item.committed.map(|fence| ExecutionId { item: item.id, fence }));
    }
}

pub(super) fn load_hanging(
    parts: &mut Parts<'_>,
    world: &mut World,
    mut hanging: Hanging,
) -> Result<(), Fault> {
    let mut in_lanes = BTreeSet::new();
    for key in std::mem::take(&mut hanging.lanes) {
        if parts.scratch.lanes.contains(&key) {
            continue;
        }
        if let Some(lane) = load_lane(parts, &key)? {
            in_lanes.extend(lane.items());
            if lane != Lane::default() {
                world.lanes.insert(key.clone(), lane);
            }
        }
        parts.scratch.lanes.insert(key);
    }
    if !in_lanes.is_empty() {
        // They share the lane they were found in; only what is linked to them is still missing. A create may take the open one.
        load_items(parts, world, (&in_lanes, &in_lanes), Some(&mut hanging))?;
    }
    // Linked items are read for guards and never written, so nothing that hangs on them is needed.
    let linked = std::mem::take(&mut hanging.linked);
    if !linked.is_empty() {
        load_items(parts, world, (&linked, &BTreeSet::new()), None)?;
        let committed = linked.iter().filter_map(|id| world.items.get(id));
        let committed = committed.filter_map(|item| Some((item.id, item.committed?)));
        hanging.executions.extend(committed.map(|(item, fence)| ExecutionId { item, fence }));
    }
    for id in hanging.executions {
        if world.executions.contains_key(&id) || !may_have_row(world, id) {
            continue;
        }
        if let Some(execution) = execution_of(parts.context.connection, id, parts.context.memo)? {
            world.executions.insert(id, execution.into());
        }
    }
    Ok(())
}

/// An execution has a row once it commits or ends. The live one of an item stands in the item, and there is none beyond.
fn may_have_row(world: &World, id: ExecutionId) -> bool {
    let Some(item) = world.items.get(&id.item) else { return false };
    let is_live = item.lease.as_ref().is_some_and(|lease| lease.committed.is_none());
    id.fence < item.fence || (id.fence == item.fence && !is_live)
}

/// Loads items that are not in the world yet, in the order of their ids, some of them with their payloads.
fn load_items(
    parts: &mut Parts<'_>,
    world: &mut World,
    (ids, payloads): (&BTreeSet<ItemId>, &BTreeSet<ItemId>),
    mut hanging: Option<&mut Hanging>,
) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut by_id = parts.context.connection.prepare_cached(items_where!("i.id = ?1"))?;
    for id in ids {
        let read = if payloads.contains(id) { Read::Payload } else { Read::PayloadForGuards };
        if !is_loaded(world, *id, read) && !remember(parts, world, *id, read) {
            let Some(found) = find(parts, &mut by_id, *id, read)? else { continue };
            enter(parts, world, found)?;
        }
        if let (Some(hanging), Some(item)) = (&mut hanging, world.items.get(id)) {
            hanging.note(item);
        }
    }
    Ok(())
}

/// An item may have been loaded for a request that did not need its payload.
fn is_loaded(world: &World, id: ItemId, read: Read) -> bool {
    let Some(item) = world.items.get(&id) else { return false };
    read != Read::Payload || item.erased || world.payloads.contains_key(&id)
}

/// Puts an item into the world that need not be read.
fn remember(parts: &mut Parts<'_>, world: &mut World, id: ItemId, read: Read) -> bool {
    let held = parts.held.get(id).filter(|_| read != Read::Payload);
    let Some((item, known)) = held else { return false };
    parts.scratch.known.entry(id).or_insert(*known);
    world.items.insert(id, item.clone());
    true
}

fn find(
    parts: &mut Parts<'_>,
    by_id: &mut CachedStatement<'_>,
    id: ItemId,
    read: Read,
) -> Result<Option<FoundItem>, Fault> {
    by_id.raw_bind_parameter(1, id_bytes(id))?;
    let mut rows = by_id.raw_query();
    let Some(row) = rows.next()? else { return Ok(None) };
    read_item(row, &mut parts.context, read).map(Some)
}

/// Puts a row that was found into the world, unless the world is newer.
pub(super) fn enter(parts: &mut Parts<'_>, world: &mut World, found: FoundItem) -> Result<(), Fault> {
    let id = found.item.id;
    let payload = payload_of(parts.context.connection, &found)?;
    let FoundItem { item, rowid, segment, .. } = found;
    // What was known first is what stood there before this transaction.
    parts.scratch.known.entry(id).or_insert(Known { rowid, segment, version: item.version });
    world.items.entry(id).or_insert_with(|| item.into());
    if let Some(payload) = payload {
        world.payloads.entry(id).or_insert(payload);
    }
    Ok(())
}

fn load_name(parts: &mut Parts<'_>, key: &NameKey) -> Result<Option<Named>, Fault> {
    let sql = "select value from names where store = ?1 and scope = ?2 and name = ?3";
    let mut statement = parts.context.connection.prepare_cached(sql)?;
    let scope = name::scope(key);
    let value: Option<Vec<u8>> =
        statement.query_row((key.store.as_str(), scope, key.name.as_str()), |row| row.get(0)).optional()?;
    Ok(value.map(|value| name::read(&value)).transpose()?)
}

fn load_lane(parts: &mut Parts<'_>, key: &LaneKey) -> Result<Option<Lane>, Fault> {
    let context = &mut parts.context;
    let Some(queue) = queue_of(context, key)? else { return Ok(None) };
    let sql = "select running, open, latest, starts from lanes where queue = ?1 and key = ?2";
    let mut statement = context.connection.prepare_cached(sql)?;
    let mut rows = statement.query((queue, key.key.as_str()))?;
    rows.next()?.map(|row| read_lane(row, 0)).transpose()
}

fn queue_of(context: &mut super::rows::Context<'_>, key: &LaneKey) -> Result<Option<i64>, Fault> {
    let (store, kind): (_, &Kind) = (&key.store, &key.kind);
    Ok(context.queues.number(context.connection, store, kind)?)
}

pub(super) fn record(connection: &Connection, id: RecordId) -> Result<Option<Record>, Fault> {
    let sql = "select id, item, fence, label, name, hash, version, at, body from records where id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id.0.to_be_bytes()])?;
    rows.next()?.map(read_record).transpose()
}

/// A record from its row.
pub(super) fn read_record(row: &rusqlite::Row<'_>) -> Result<Record, Fault> {
    let item = id_from(row.get(1)?);
    let read = || -> Result<Record, Fault> {
        let hash = tenure_core::hash::Hash(row.get(5)?);
        let body: Option<Vec<u8>> = row.get(8)?;
        let fence: Option<i64> = row.get(2)?;
        Ok(Record {
            id: RecordId(u128::from_be_bytes(row.get(0)?)),
            item,
            fence: fence.map(unsigned).transpose()?.map(Fence),
            label: word(&row.get::<_, String>(3)?)?,
            name: word(&row.get::<_, String>(4)?)?,
            hash,
            body: body.map(|bytes| read_body(&bytes, &hash)).transpose()?,
            version: unsigned(row.get(6)?)?,
            at: Time::from_micros(row.get(7)?),
        })
    };
    read().map_err(|fault| match fault {
        Fault::Row(Damaged(why)) => Fault::Item(item, Damaged(format!("a record: {why}"))),
        Fault::Sql(_) | Fault::Item(..) => fault,
    })
}

/// The row that an update goes to. Whatever is decided about was loaded, so it is nearly always known.
pub(super) fn known(parts: &mut Parts<'_>, id: ItemId) -> Result<Option<Known>, Fault> {
    if let Some(known) = parts.scratch.known.get(&id) {
        return Ok(Some(*known));
    }
    let sql = "select rowid, version, segment from items where id = ?1";
    let mut statement = parts.context.connection.prepare_cached(sql)?;
    let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Option<(i64, i64, i64)> = statement.query_row([id_bytes(id)], columns).optional()?;
    let Some((rowid, version, segment)) = found else { return Ok(None) };
    let known = Known { rowid, version: unsigned(version)?, segment };
    parts.scratch.known.insert(id, known);
    Ok(Some(known))
}
