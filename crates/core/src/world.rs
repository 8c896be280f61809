//! The world a decision is made in: what was loaded and locked for it, or, in the memory database, everything.
//!
//! A world holds rows and no opinions. `decide` reads one and answers with [`Change`]s; [`World::apply`] puts them in.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::actor::Owner;
use crate::body::Body;
use crate::control::{Allowance, Control, QueueKey};
use crate::decide::Draft;
use crate::entry::{Entry, Sealed};
use crate::execution::{Execution, SharedExecution};
use crate::hash::Hash;
use crate::id::{ExecutionId, Fence, ItemId, RecordId};
use crate::item::{Item, SharedItem};
use crate::lifecycle::Phase;
use crate::lifecycle::tables::Tables;
use crate::time::Time;
use crate::word::{Key, Kind, Label, Store};

pub use crate::lane::{Lane, LaneKey};

#[derive(Clone, Debug, Default)]
pub struct World {
    /// The database's clock, read after the locks.
    pub now: Time,
    pub tables: Arc<Tables>,
    pub items: BTreeMap<ItemId, SharedItem>,
    pub payloads: BTreeMap<ItemId, Body>,
    pub outputs: BTreeMap<ItemId, Body>,
    /// Executions that committed or ended.
    pub executions: BTreeMap<ExecutionId, SharedExecution>,
    pub names: BTreeMap<NameKey, Named>,
    pub lanes: BTreeMap<LaneKey, Lane>,
    /// What holds kinds back. A kind that nothing was said of has none.
    pub controls: BTreeMap<QueueKey, Control>,
    /// How many items of a kind are held, where a database has counted them; otherwise all items are here to be counted.
    pub active: BTreeMap<QueueKey, u32>,
    /// Which item (second) has or had a link to which (first). Whether it still has says the item.
    pub linked: BTreeSet<(ItemId, ItemId)>,
    pub records: BTreeMap<RecordId, Record>,
    pub messages: Vec<Message>,
    /// How far who follows the log has come, by the name of their mark. Not in the log.
    pub marks: BTreeMap<Key, u64>,
    /// Where in the log the last entry of an item is, of items whose messages may go: at this place or before it. One whose
    /// entry has no place yet is not here.
    pub places: BTreeMap<ItemId, u64>,
    pub entries: BTreeMap<(ItemId, u64), Sealed>,
    /// Items that the database offers to the acquire being decided: ready, due, locked, in rank order.
    pub offers: Vec<ItemId>,
}

/// Where an idempotency key or a request id counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NameKey {
    pub store: Store,
    pub scope: NameScope,
    pub name: Key,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameScope {
    Create(Kind),
    Acquire(Owner),
}

/// What a name stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Named {
    /// The item it created; `head` is the hash of its first entry.
    Created { item: ItemId, digest: Hash, head: Hash },
    /// The item that answered a create on its key.
    Folded { item: ItemId, digest: Hash },
    /// The leases that one acquire got.
    Leased(Vec<ExecutionId>),
}

/// A stored output with a stable id. Append-only: the same id is never written with other content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub id: RecordId,
    pub item: ItemId,
    /// The execution that wrote it, if one did.
    pub fence: Option<Fence>,
    pub label: Label,
    pub name: Key,
    pub hash: Hash,
    /// None once erased, or when only the log was replayed.
    pub body: Option<Body>,
    /// The entry that wrote it.
    pub version: u64,
    pub at: Time,
}

/// Something to be delivered outside, after the commit that wrote it, at least once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    pub item: ItemId,
    pub version: u64,
    /// Its place among the messages of that entry; (item, version, ordinal) is the stable key of every delivery.
    pub ordinal: u32,
    pub label: Label,
    pub body: Body,
}

/// One row to be written. A refused or repeated request has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    Insert {
        item: SharedItem,
        payload: Option<Body>,
    },
    /// One step of one item: `was` is the version that it must still have.
    Update {
        was: u64,
        item: SharedItem,
        output: Option<Body>,
    },
    /// Heartbeat and expiry only: no version, no entry.
    Renew {
        execution: ExecutionId,
        heartbeat: Time,
        expires: Time,
    },
    /// An execution that committed or ended; the row may be there from its commit.
    Execution(SharedExecution),
    Name(NameKey, Named),
    /// The name stands for nothing any more.
    Unname(NameKey),
    Lane(LaneKey, Lane),
    /// What holds a kind back from now on. Not in the log.
    Control(QueueKey, Box<Control>),
    Linked {
        to: ItemId,
        from: ItemId,
    },
    Record(Record),
    Message(Message),
    /// Payload, output and record bodies of the item are deleted.
    Erase(ItemId),
    /// The item and everything that hangs on it goes, all but its entries. `was` is the version that it must still have;
    /// `item` is what its last entry made of it.
    Remove {
        was: u64,
        item: SharedItem,
    },
    Entry(Sealed),
}

impl World {
    pub fn new(tables: Arc<Tables>) -> World {
        World { tables, ..World::default() }
    }

    /// Puts the changes in. They came from a decision about this world, so every one fits; one that does not is a bug.
    pub fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.apply_one(change);
        }
    }

    /// As [`World::apply`], for one.
    pub fn apply_one(&mut self, change: Change) {
        match change {
            Change::Insert { item, payload } => {
                if let Some(payload) = payload {
                    self.payloads.insert(item.id, payload);
                }
                self.count(None, &item);
                let before = self.items.insert(item.id, item);
                assert!(before.is_none(), "an item is inserted once");
            }
            Change::Update { was, item, output } => {
                if let Some(output) = output {
                    self.outputs.insert(item.id, output);
                }
                let before = self.items.get(&item.id).cloned();
                self.count(before.as_ref(), &item);
                self.items.insert(item.id, item);
                assert_eq!(
                    before.map(|item| item.version),
                    Some(was),
                    "an update is a compare-and-set on the version"
                );
            }
            Change::Renew { execution, heartbeat, expires } => {
                let item = self.items.get_mut(&execution.item).filter(|item| item.fence == execution.fence);
                let lease = item
                    .and_then(|item| Arc::make_mut(item).lease.as_mut())
                    .expect("a renewed lease is held");
                lease.heartbeat = heartbeat;
                lease.expires = expires;
            }
            Change::Execution(execution) => {
                let second = execution.committed.is_some()
                    && self
                        .executions_of(execution.id.item)
                        .any(|e| e.id != execution.id && e.committed.is_some());
                assert!(!second, "at most one execution of an item commits");
                self.executions.insert(execution.id, execution);
            }
            Change::Name(key, named) => {
                self.names.insert(key, named);
            }
            Change::Unname(key) => {
                let before = self.names.remove(&key);
                assert!(before.is_some(), "a name that is taken away was there");
            }
            Change::Linked { to, from } => {
                self.linked.insert((to, from));
            }
            Change::Lane(key, lane) if lane == Lane::default() => {
                self.lanes.remove(&key);
            }
            Change::Lane(key, lane) => {
                self.lanes.insert(key, lane);
            }
            Change::Control(key, control) if *control == Control::default() => {
                self.controls.remove(&key);
            }
            Change::Control(key, control) => {
                self.controls.insert(key, *control);
            }
            Change::Record(record) => {
                let before = self.records.insert(record.id, record);
                assert!(before.is_none(), "a record is written once");
            }
            Change::Message(message) => self.messages.push(message),
            Change::Erase(item) => {
                self.payloads.remove(&item);
                self.outputs.remove(&item);
                for record in self.records.values_mut().filter(|record| record.item == item) {
                    record.body = None;
                }
            }
            Change::Remove { was, item } => self.remove(was, &item),
            Change::Entry(entry) => {
                let before = self.entries.insert((entry.item, entry.version), entry);
                assert!(before.is_none(), "the log is append-only");
            }
        }
    }

    /// Keeps the number of held items true where it was counted.
    fn count(&mut self, before: Option<&SharedItem>, after: &SharedItem) {
        if self.active.is_empty() {
            return;
        }
        let was = before.is_some_and(|item| item.phase() == Phase::Active);
        let key = QueueKey { store: after.store.clone(), kind: after.table.kind.clone() };
        if let Some(active) = self.active.get_mut(&key) {
            *active = recount(*active, was, after.phase() == Phase::Active);
        }
    }

    /// How many items of a kind may be leased now.
    pub fn allowance(&self, key: &QueueKey) -> Allowance {
        Draft::new(self).allowance(key)
    }

    /// How many items of a kind are held.
    pub fn active(&self, key: &QueueKey) -> u32 {
        let is_one = |item: &&SharedItem| {
            item.phase() == Phase::Active && item.table.kind == key.kind && item.store == key.store
        };
        let counted = || u32::try_from(self.items.values().filter(is_one).count()).unwrap_or(u32::MAX);
        self.active.get(key).copied().unwrap_or_else(counted)
    }

    fn remove(&mut self, was: u64, item: &Item) {
        let id = item.id;
        let before = self.items.remove(&id);
        assert_eq!(before.map(|item| item.version), Some(was), "what is removed is as it was found");
        self.payloads.remove(&id);
        self.outputs.remove(&id);
        let executions: Vec<ExecutionId> = self.executions_of(id).map(|execution| execution.id).collect();
        executions.iter().for_each(|execution| drop(self.executions.remove(execution)));
        self.records.retain(|_, record| record.item != id);
        self.messages.retain(|message| message.item != id);
        for from in self.linked_to(id).collect::<Vec<_>>() {
            self.linked.remove(&(id, from));
        }
        for link in &item.links {
            self.linked.remove(&(link.to, id));
        }
    }

    /// Items that have or had a link to this one.
    pub fn linked_to(&self, item: ItemId) -> impl Iterator<Item = ItemId> {
        self.linked.range((item, ItemId(0))..=(item, ItemId(u128::MAX))).map(|(_, from)| *from)
    }

    /// The ended and committed executions of an item, oldest first.
    pub fn executions_of(&self, item: ItemId) -> impl Iterator<Item = &Execution> {
        let from = ExecutionId { item, fence: Fence(0) };
        let to = ExecutionId { item, fence: Fence(u64::MAX) };
        self.executions.range(from..=to).map(|(_, execution)| &**execution)
    }

    /// An item's entries, oldest first.
    pub fn history(&self, item: ItemId) -> impl Iterator<Item = &Entry> {
        self.entries.range((item, 0)..=(item, u64::MAX)).map(|(_, entry)| &**entry)
    }
}

/// A number of held items after one of them changed.
pub(crate) fn recount(active: u32, was: bool, is: bool) -> u32 {
    match (was, is) {
        (false, true) => active.saturating_add(1),
        (true, false) => active.saturating_sub(1),
        (false, false) | (true, true) => active,
    }
}
