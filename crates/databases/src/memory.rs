//! The memory database: it *is* a world. For tests, simulation and `memory:`; it loses everything with the process.
//!
//! One transaction at a time, so nothing ever waits for a row. It loads exactly what [`Tx::lock`] promises and no more,
//! which makes it the reference for what the others must load.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use tenure_core::entry::Entry;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::{Item, Slot};
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::{Due, Need};
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, LaneKey, Named, World};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{BatchId, Commit, Database, Error, Found, Overdue, PAGE_MAX, Query, Settled, Tx};

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Time + Send + Sync>;

pub struct Memory {
    kept: Arc<Mutex<Kept>>,
    tables: RwLock<Arc<Tables>>,
    clock: Clock,
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
}

impl Memory {
    pub fn new(tables: Tables, clock: Clock) -> Memory {
        let tables = Arc::new(tables);
        let world = World::new(tables.clone());
        let kept = Arc::new(Mutex::new(Kept { world, ..Kept::default() }));
        Memory { kept, tables: RwLock::new(tables), clock }
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
            entries: Vec::new(),
            versions: BTreeMap::new(),
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
        Ok(kept.world.items.get(&id).filter(|item| item.store == *store).cloned())
    }

    async fn list(&self, query: &Query) -> Result<Vec<Item>, Error> {
        let kept = self.kept.lock().await;
        let matches = |item: &&Item| {
            query.store.as_ref().is_none_or(|store| item.store == *store)
                && query.kind.as_ref().is_none_or(|kind| item.table.kind == *kind)
                && query.state.as_ref().is_none_or(|state| item.state_name() == state)
                && (query.key.is_none() || item.key == query.key)
                && query.after.is_none_or(|after| item.id > after)
        };
        Ok(kept.world.items.values().filter(matches).take(query.limit.min(PAGE_MAX)).cloned().collect())
    }

    async fn history(&self, store: &Store, id: ItemId) -> Result<Vec<Entry>, Error> {
        let kept = self.kept.lock().await;
        Ok(kept.world.history(id).filter(|entry| entry.store == *store).cloned().collect())
    }

    async fn log(&self, after: u64, limit: usize) -> Result<Vec<(u64, Entry)>, Error> {
        let kept = self.kept.lock().await;
        let positions = (1..).zip(&kept.order).skip(usize::try_from(after).unwrap_or(usize::MAX));
        let page = positions.take(limit.min(PAGE_MAX));
        Ok(page.map(|(position, key)| (position, kept.world.entries[key].clone())).collect())
    }
}

#[derive(Debug)]
pub struct MemoryTx {
    kept: OwnedMutexGuard<Kept>,
    batch: BatchId,
    now: Time,
    tables: Arc<Tables>,
    staged: Vec<Change>,
    entries: Vec<Entry>,
    /// The versions of items that staged changes have moved.
    versions: BTreeMap<ItemId, u64>,
}

impl Tx for MemoryTx {
    async fn lock(&mut self, need: &Need) -> Result<World, Error> {
        let mut world = World::new(self.tables.clone());
        world.now = self.now;
        load(&self.kept.world, need, &mut world);
        Ok(world)
    }

    async fn claim(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        limit: usize,
    ) -> Result<Vec<ItemId>, Error> {
        let kept = &self.kept.world;
        let ready = |item: &&Item| {
            item.store == *store && item.table.kind == *kind && item.slot(self.now) == Slot::Ready
        };
        let mut candidates: Vec<&Item> =
            kept.items.values().filter(ready).filter(|item| is_next(kept, item, self.now)).collect();
        candidates.sort_by_key(|item| (item.rank(), item.id));
        let offered: Vec<ItemId> = candidates.into_iter().take(limit).map(|item| item.id).collect();
        let need = Need { items: offered.iter().copied().collect(), ..Need::default() };
        load(kept, &need, world);
        Ok(offered)
    }

    async fn due(&mut self, what: Overdue, limit: usize) -> Result<Vec<Found>, Error> {
        let kept = &self.kept.world;
        let due = |item: &Item| match what {
            Overdue::Time => item.due(self.now).map(|_| Due::Time),
            Overdue::Lapsed => {
                let session = item.lease.as_ref()?.session?;
                let ended = kept.items.get(&session).is_none_or(|session| session.lease.is_none());
                ended.then_some(Due::Lapsed { session })
            }
        };
        let found = |item: &Item| {
            Some(Found { store: item.store.clone(), item: item.id, fence: item.fence, due: due(item)? })
        };
        Ok(kept.items.values().filter_map(found).take(limit).collect())
    }

    async fn write(&mut self, wave: &[Change]) -> Result<usize, Error> {
        let mut written = 0;
        for change in wave {
            let current = |id: &ItemId| {
                self.versions
                    .get(id)
                    .copied()
                    .or_else(|| self.kept.world.items.get(id).map(|item| item.version))
            };
            let fits = match change {
                Change::Insert { item, .. } => current(&item.id).is_none(),
                Change::Update { was, item, .. } => current(&item.id) == Some(*was),
                _ => true,
            };
            if let (true, Change::Insert { item, .. } | Change::Update { item, .. }) = (fits, change) {
                self.versions.insert(item.id, item.version);
            }
            written += usize::from(fits);
        }
        self.staged.extend(wave.iter().cloned());
        Ok(written)
    }

    async fn append(&mut self, entries: &[Entry]) -> Result<(), Error> {
        self.entries.extend(entries.iter().cloned());
        Ok(())
    }

    async fn commit(mut self) -> Commit {
        let (staged, entries, batch) = (self.staged, self.entries, self.batch);
        let kept = &mut *self.kept;
        kept.world.now = self.now;
        kept.world.apply(staged);
        kept.order.extend(entries.iter().map(|entry| (entry.item, entry.version)));
        kept.world.apply(entries.into_iter().map(Change::Entry).collect());
        kept.batches.insert(batch);
        Commit::Done
    }

    fn now(&self) -> Time {
        self.now
    }
}

/// Within a lane the oldest due item is next, and only while none of the lane is held.
fn is_next(kept: &World, item: &Item, now: Time) -> bool {
    let Some(key) = item.key.as_ref().filter(|_| item.table.is_exclusive()) else { return true };
    let lane = LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key: key.clone() };
    if kept.lanes.get(&lane).is_some_and(|lane| lane.running.is_some()) {
        return false;
    }
    !kept.items.values().any(|other| {
        other.store == item.store
            && other.key == item.key
            && other.table.kind == item.table.kind
            && other.slot(now) == Slot::Ready
            && (other.created, other.id) < (item.created, item.id)
    })
}

/// Loads what a need names and what hangs on it. What is in the world already stays as it is: it may be newer.
fn load(kept: &World, need: &Need, world: &mut World) {
    let mut items: BTreeSet<ItemId> = need.items.clone();
    let mut executions: BTreeSet<ExecutionId> = need.executions.clone();
    let mut lanes: BTreeSet<LaneKey> = need.lanes.clone();
    for key in &need.names {
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
        items.extend(lane.open.into_iter().chain(lane.latest).chain(lane.running));
        world.lanes.entry(key).or_insert(*lane);
    }
    // Linked items are read for guards and never written, so they need no lock and nothing that hangs on them.
    let linked = items
        .iter()
        .filter_map(|id| kept.items.get(id))
        .flat_map(|item| item.links.iter().map(|link| link.to));
    let read_only: BTreeSet<ItemId> = linked.collect();
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
