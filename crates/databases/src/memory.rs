//! The memory database: it *is* a world. For tests, simulation and `memory:`; it loses everything with the process.
//!
//! One transaction at a time, so nothing ever waits for a row. It loads exactly what [`Tx::lock`] promises and no more,
//! which makes it the reference for what the others must load.

mod backlog;
mod follow;
mod look;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tenure_core::control::{Control, QueueKey};
use tenure_core::entry::Sealed;
use tenure_core::follower::is_standing_webhook;
use tenure_core::hash::Hash;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::{Item, SharedItem, Slot};
use tenure_core::lifecycle::Phase;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::replay::names as names_in;
use tenure_core::request::{Due, Need};
use tenure_core::time::Time;
use tenure_core::word::{Key, Kind, Store};
use tenure_core::world::{Change, Lane, LaneKey, NameKey, Named, World};
use tokio::sync::{Mutex, OwnedMutexGuard};

pub use crate::outside::Clock;
use crate::outside::chance;
use crate::{
    BatchId, Commit, Database, Error, Found, Head, Order, Overdue, PAGE_MAX, Place, Posted, Query, Settled,
    Tx, Whole,
};

pub struct Memory {
    kept: Arc<Mutex<Kept>>,
    tables: RwLock<Arc<Tables>>,
    clock: Clock,
    secret: String,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Kept {
    world: World,
    /// The log in append order; an entry's position is its place here, from 1.
    order: Vec<(ItemId, u64)>,
    batches: BTreeSet<BatchId>,
    /// The latest time in the log.
    latest: Time,
}

impl Kept {
    /// Where the last entry of an item is.
    fn place(&self, id: ItemId) -> Option<u64> {
        Some(self.order.iter().rposition(|(item, _)| *item == id)? as u64 + 1)
    }
}

impl Memory {
    pub fn new(tables: Tables, clock: Clock) -> Memory {
        let tables = Arc::new(tables);
        let world = World::new(tables.clone());
        let kept = Arc::new(Mutex::new(Kept { world, ..Kept::default() }));
        let secret = format!("{:016x}{:016x}{:016x}{:016x}", chance(), chance(), chance(), chance());
        Memory { kept, tables: RwLock::new(tables), clock, secret }
    }
}

impl Database for Memory {
    type Tx<'a> = MemoryTx;

    async fn begin(&self, batch: BatchId) -> Result<MemoryTx, Error> {
        let kept = self.kept.clone().lock_owned().await;
        let now = (self.clock)();
        let tables = self.tables();
        Ok(MemoryTx {
            kept,
            batch,
            now,
            tables,
            staged: Vec::new(),
            items: BTreeMap::new(),
            lanes: BTreeMap::new(),
            entries: Vec::new(),
        })
    }

    async fn settle(&self, batch: BatchId) -> Result<Settled, Error> {
        let kept = self.kept.lock().await;
        Ok(if kept.batches.contains(&batch) { Settled::Committed } else { Settled::NeverWill })
    }

    fn tables(&self) -> Arc<Tables> {
        self.tables.read().expect("nobody panics while holding the tables").clone()
    }

    async fn add_table(&self, source: &str) -> Result<(), Error> {
        let table = parse(source).map_err(|faults| {
            let faults: Vec<String> =
                faults.iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect();
            Error::Statement(faults.join("\n"))
        })?;
        let mut kept = self.kept.lock().await;
        let mut tables = self.tables.write().expect("nobody panics while holding the tables");
        let mut next = Tables::clone(&tables);
        next.add(table);
        *tables = Arc::new(next);
        kept.world.tables = tables.clone();
        Ok(())
    }

    async fn item(&self, store: &Store, id: ItemId) -> Result<Option<Item>, Error> {
        let kept = self.kept.lock().await;
        Ok(kept.world.items.get(&id).filter(|item| item.store == *store).map(|item| Item::clone(item)))
    }

    async fn whole(&self, store: &Store, id: ItemId) -> Result<Option<Whole>, Error> {
        let kept = self.kept.lock().await;
        let world = &kept.world;
        Ok(world.items.get(&id).filter(|item| item.store == *store).map(|item| Whole {
            item: Item::clone(item),
            payload: world.payloads.get(&id).cloned(),
            output: world.outputs.get(&id).cloned(),
            executions: world.executions_of(id).cloned().collect(),
            records: world.records.values().filter(|record| record.item == id).cloned().collect(),
            messages: world.messages.iter().filter(|message| message.item == id).cloned().collect(),
        }))
    }

    async fn list(&self, query: &Query) -> Result<Vec<Item>, Error> {
        let kept = self.kept.lock().await;
        let matches = |item: &&SharedItem| {
            is_of(item, query)
                && query.after.is_none_or(|after| match query.order {
                    Order::Oldest => item.id > after,
                    Order::Newest => item.id < after,
                })
        };
        let limit = query.limit.min(PAGE_MAX);
        let items = kept.world.items.values();
        let found: Vec<&SharedItem> = match query.order {
            Order::Oldest => items.filter(matches).take(limit).collect(),
            Order::Newest => items.rev().filter(matches).take(limit).collect(),
        };
        Ok(found.into_iter().map(|item| Item::clone(item)).collect())
    }

    async fn history(&self, store: &Store, id: ItemId) -> Result<Vec<Sealed>, Error> {
        let kept = self.kept.lock().await;
        if !kept.world.items.contains_key(&id) {
            return Ok(Vec::new());
        }
        let entries = kept.world.entries.range((id, 0)..=(id, u64::MAX)).map(|(_, entry)| entry);
        Ok(entries.filter(|entry| entry.store == *store).cloned().collect())
    }

    async fn log(&self, after: u64, limit: usize) -> Result<Vec<(u64, Sealed)>, Error> {
        let kept = self.kept.lock().await;
        let positions = (1..).zip(&kept.order).skip(usize::try_from(after).unwrap_or(usize::MAX));
        let page = positions.take(limit.min(PAGE_MAX));
        Ok(page.map(|(position, key)| (position, kept.world.entries[key].clone())).collect())
    }

    async fn sequence(&self, _limit: usize) -> Result<usize, Error> {
        Ok(0)
    }

    async fn head(&self) -> Result<Head, Error> {
        let kept = self.kept.lock().await;
        let hashes = kept.order.iter().map(|key| kept.world.entries[key].hash());
        let chain = hashes.fold(Hash::ZERO, |chain, hash| chain.link(&hash));
        Ok(Head { position: kept.order.len() as u64, chain })
    }

    async fn due(&self, what: Overdue, after: Option<ItemId>, limit: usize) -> Result<Vec<Found>, Error> {
        let kept = self.kept.lock().await;
        let (world, now) = (&kept.world, (self.clock)());
        let due = |item: &Item| match what {
            Overdue::Time => item.due(now).map(|_| Due::Time),
            Overdue::Lapsed => {
                let session = item.lease.as_ref()?.session?;
                let ended = world.items.get(&session).is_none_or(|session| session.lease.is_none());
                ended.then_some(Due::Lapsed { session })
            }
        };
        let found = |item: &Item| {
            Some(Found { store: item.store.clone(), item: item.id, fence: item.fence, due: due(item)? })
        };
        let items = world.items.values().filter(|item| after.is_none_or(|after| item.id > after));
        Ok(items.filter_map(|item| found(item)).take(limit.min(PAGE_MAX)).collect())
    }

    async fn upcoming(&self, store: &Store, kinds: &[Kind]) -> Result<Vec<(Kind, Duration)>, Error> {
        let kept = self.kept.lock().await;
        let now = (self.clock)();
        let first = |kind: &Kind| {
            let items =
                kept.world.items.values().filter(|item| item.store == *store && item.table.kind == *kind);
            let ready: Vec<&SharedItem> = items.filter(|item| item.phase() == Phase::Ready).collect();
            let due_at = |item: &&SharedItem| if item.is_early(now) { item.run_at } else { now };
            let scheduled = ready.iter().filter(|item| item.run_at > item.updated).map(due_at);
            let rated = ready.iter().filter(|item| item.slot(now) == Slot::Ready).filter_map(|item| {
                let (store, key) = (store.clone(), item.lane_key()?.clone());
                let lane = kept.world.lanes.get(&LaneKey { store, kind: kind.clone(), key })?;
                lane.more_at(&item.table, now)
            });
            Some((kind.clone(), scheduled.chain(rated).map(|at| at.since(now)).min()?))
        };
        Ok(kinds.iter().filter_map(first).collect())
    }

    async fn control(&self, key: &QueueKey) -> Result<(Control, u32), Error> {
        let kept = self.kept.lock().await;
        let control = kept.world.controls.get(key).cloned().unwrap_or_default();
        Ok((control, kept.world.active(key)))
    }
}

#[derive(Debug)]
pub struct MemoryTx {
    kept: OwnedMutexGuard<Kept>,
    batch: BatchId,
    now: Time,
    tables: Arc<Tables>,
    /// What was written and is not committed. Only a claim looks at it before that, and only at items and lanes.
    staged: Vec<Change>,
    items: BTreeMap<ItemId, SharedItem>,
    lanes: BTreeMap<LaneKey, Lane>,
    entries: Vec<Sealed>,
}

impl Tx for MemoryTx {
    fn tables(&self) -> Arc<Tables> {
        self.tables.clone()
    }

    async fn lock(&mut self, need: &Need) -> Result<World, Error> {
        let mut world = World::new(self.tables.clone());
        world.now = self.now;
        load(&self.kept.world, need, &mut world);
        if !need.followed.is_empty() {
            let place = |id: &ItemId| Some((*id, self.kept.place(*id)?));
            world.places.extend(need.removals.iter().filter_map(place));
        }
        Ok(world)
    }

    async fn claim(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<Place>, Error> {
        let ready = |item: &&SharedItem| {
            item.store == *store && item.table.kind == *kind && item.slot(self.now) == Slot::Ready
        };
        let mut places: Vec<Place> = Vec::new();
        let mut behind: BTreeMap<&Key, Vec<&SharedItem>> = BTreeMap::new();
        for item in self.written().filter(ready) {
            match item.lane_key() {
                Some(key) => behind.entry(key).or_default().push(item),
                None => places.push(Place::of(item)),
            }
        }
        // Of a key the oldest are next, as many as it has room for, none before an older one.
        for (key, mut items) in behind {
            items.sort_by_key(|item| (item.created, item.id));
            let mut rank = Time::from_micros(i64::MIN);
            for item in items.into_iter().take(self.room(store, kind, key)) {
                rank = rank.max(item.rank());
                places.push(Place { rank, id: item.id });
            }
        }
        places.retain(|place| after.is_none_or(|after| *place > after));
        places.sort();
        places.truncate(limit);
        let need = Need { items: places.iter().map(|place| place.id).collect(), ..Need::default() };
        load(&self.kept.world, &need, world);
        // A lane that this transaction emptied is not in the world, and must not come back from what is kept.
        world.apply(self.lanes.iter().map(|(key, lane)| Change::Lane(key.clone(), lane.clone())).collect());
        Ok(places)
    }

    async fn write(&mut self, wave: &[Change]) -> Result<usize, Error> {
        let mut written = 0;
        for change in wave.iter().filter(|change| !matches!(change, Change::Entry(_))) {
            if self.fits(change) {
                self.stage(change.clone());
                written += 1;
            }
        }
        Ok(written)
    }

    /// Nobody but this process writes to memory, and it has better ways to ask for an item.
    async fn inbox(&mut self, _limit: usize) -> Result<Vec<Posted>, Error> {
        Ok(Vec::new())
    }

    async fn judged(&mut self, _rows: &[(i64, Option<String>)]) -> Result<(), Error> {
        Ok(())
    }

    async fn append(&mut self, entries: &[Sealed]) -> Result<(), Error> {
        self.entries.extend(entries.iter().cloned());
        Ok(())
    }

    async fn commit(mut self) -> Commit {
        let (staged, entries, batch) = (self.staged, self.entries, self.batch);
        let kept = &mut *self.kept;
        kept.world.now = self.now;
        kept.world.apply(staged);
        kept.latest = entries.iter().map(|entry| entry.at).fold(kept.latest, Time::max);
        kept.order.extend(entries.iter().map(|entry| (entry.item, entry.version)));
        kept.world.apply(entries.into_iter().map(Change::Entry).collect());
        kept.batches.insert(batch);
        Commit::Done
    }
}

impl MemoryTx {
    /// All items as this transaction sees them.
    fn written(&self) -> impl Iterator<Item = &SharedItem> {
        let untouched = self.kept.world.items.values().filter(|item| !self.items.contains_key(&item.id));
        untouched.chain(self.items.values())
    }

    fn item(&self, id: ItemId) -> Option<&SharedItem> {
        self.items.get(&id).or_else(|| self.kept.world.items.get(&id))
    }

    fn room(&self, store: &Store, kind: &Kind, key: &Key) -> usize {
        let lane = LaneKey { store: store.clone(), kind: kind.clone(), key: key.clone() };
        let lane = self.lanes.get(&lane).or_else(|| self.kept.world.lanes.get(&lane)).cloned();
        let table = self.tables.laned(kind);
        table.map_or(0, |table| lane.unwrap_or_default().room(table, self.now) as usize)
    }

    /// Whether a change finds its row as it expects it.
    fn fits(&self, change: &Change) -> bool {
        match change {
            Change::Insert { item, .. } => self.item(item.id).is_none(),
            Change::Update { was, item, .. } => self.item(item.id).is_some_and(|found| found.version == *was),
            Change::Renew { execution, .. } => self
                .item(execution.item)
                .is_some_and(|found| found.fence == execution.fence && found.lease.is_some()),
            Change::Erase(item) => self.item(*item).is_some(),
            Change::Remove { was, item } => self.item(item.id).is_some_and(|found| found.version == *was),

            Change::Record(record) => !self.kept.world.records.contains_key(&record.id),
            Change::Execution(_) | Change::Name(..) | Change::Lane(..) | Change::Control(..) => true,
            Change::Unname(_) | Change::Linked { .. } => true,
            Change::Message(_) | Change::Entry(_) => true,
        }
    }

    fn stage(&mut self, change: Change) {
        match &change {
            Change::Insert { item, .. } | Change::Update { item, .. } => {
                self.items.insert(item.id, item.clone());
            }
            Change::Lane(key, lane) => {
                self.lanes.insert(key.clone(), lane.clone());
            }
            // A renewal moves no item in or out of what a claim looks for.
            Change::Renew { .. } | Change::Erase(_) | Change::Record(_) | Change::Execution(_) => {}
            Change::Name(..) | Change::Control(..) | Change::Message(_) | Change::Entry(_) => {}
            // What is removed was in no queue.
            Change::Remove { .. } | Change::Unname(_) | Change::Linked { .. } => {}
        }
        self.staged.push(change);
    }
}

/// Loads what a need names and what hangs on it. What is in the world already stays: here, where nobody else writes
/// meanwhile, it is what was kept or what this transaction made of it.
fn load(kept: &World, need: &Need, world: &mut World) {
    let mut items: BTreeSet<ItemId> = need.items.clone();
    let mut executions: BTreeSet<ExecutionId> = need.executions.clone();
    let mut lanes: BTreeSet<LaneKey> = need.lanes.clone();
    let mut names: BTreeSet<NameKey> = need.names.clone();
    for id in &need.removals {
        let history = kept.entries.range((*id, 0)..=(*id, u64::MAX));
        world.entries.extend(history.map(|(place, entry)| (*place, entry.clone())));
        names.extend(names_in(kept.history(*id)));
        world.messages.extend(kept.messages.iter().filter(|message| message.item == *id).cloned());
        world.linked.extend(kept.linked_to(*id).map(|from| (*id, from)));
    }
    for key in &names {
        let Some(named) = kept.names.get(key) else { continue };
        world.names.entry(key.clone()).or_insert_with(|| named.clone());
        match named {
            Named::Created { item, .. } | Named::Folded { item, .. } => {
                items.insert(*item);
            }
            Named::Leased(leases) => items.extend(leases.iter().map(|lease| lease.item)),
        }
    }
    for item in items.iter().filter_map(|id| kept.items.get(id)).filter(|item| item.table.uses_lanes()) {
        let (store, kind) = (item.store.clone(), item.table.kind.clone());
        lanes.extend(item.key.clone().map(|key| LaneKey { store, kind, key }));
    }
    for key in lanes {
        let Some(lane) = kept.lanes.get(&key) else { continue };
        items.extend(lane.items());
        world.lanes.entry(key).or_insert_with(|| lane.clone());
    }
    let probes = load_controls(kept, need, world);
    // Linked items are read for guards and never written, so they need no lock and nothing that hangs on them.
    let linked = items
        .iter()
        .filter_map(|id| kept.items.get(id))
        .flat_map(|item| item.links.iter().map(|link| link.to));
    let links_here = world.linked.iter().map(|(_, from)| *from);
    let webhooks =
        kept.items.values().filter(|item| need.followed.iter().any(|store| is_standing_webhook(item, store)));
    let webhooks = webhooks.map(|item| item.id);
    let read_only: BTreeSet<ItemId> = linked.chain(probes).chain(links_here).chain(webhooks).collect();
    if !need.followed.is_empty() {
        world.marks.clone_from(&kept.marks);
    }
    for item in items.iter().chain(&read_only).filter_map(|id| kept.items.get(id)) {
        executions.extend(item.committed.map(|fence| ExecutionId { item: item.id, fence }));
        world.items.entry(item.id).or_insert_with(|| item.clone());
        if let Some(payload) = kept.payloads.get(&item.id) {
            world.payloads.entry(item.id).or_insert_with(|| payload.clone());
        }
    }
    for execution in executions.iter().filter_map(|id| kept.executions.get(id)) {
        world.executions.entry(execution.id).or_insert_with(|| execution.clone());
    }
    for record in need.records.iter().filter_map(|id| kept.records.get(id)) {
        world.records.entry(record.id).or_insert_with(|| record.clone());
    }
}

/// What a query asks of an item, beside its place in a list.
fn is_of(item: &Item, query: &Query) -> bool {
    query.store.as_ref().is_none_or(|store| item.store == *store)
        && query.kind.as_ref().is_none_or(|kind| item.table.kind == *kind)
        && query.wants(item.table.state(item.state))
        && (query.owner.is_none() || item.lease.as_ref().map(|lease| &lease.owner) == query.owner.as_ref())
        && (query.key.is_none() || item.key == query.key)
}

/// Loads the controls of kinds that something is leased of or fails, with the number of their held items. Answers the
/// probes of their breakers.
fn load_controls(kept: &World, need: &Need, world: &mut World) -> Vec<ItemId> {
    let mut queues: BTreeSet<QueueKey> = need.queues();
    for item in need.payloads.union(&need.failing).filter_map(|id| kept.items.get(id)) {
        queues.insert(QueueKey { store: item.store.clone(), kind: item.table.kind.clone() });
    }
    let mut probes = Vec::new();
    for key in queues {
        let control = kept.controls.get(&key).cloned();
        let governed = world.tables.current(&key.kind).is_some_and(|table| table.is_governed());
        // An order may limit it for the rest of its batch.
        if control.is_none() && !governed && !need.orders.contains(&key) {
            continue;
        }
        world.active.insert(key.clone(), kept.active(&key));
        if let Some(control) = control {
            probes.extend(control.trip.and_then(|trip| trip.probe).map(|probe| probe.item));
            world.controls.insert(key, control);
        }
    }
    probes
}
