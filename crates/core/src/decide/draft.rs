//! A draft: the world as it would be after what was decided so far.
//!
//! Reads fall through to the world, writes stay here until the decision stands. Every row comes from an entry through
//! `project`; what the log does not hold (a lease's expiry, a trace, the bytes of bodies) is handed in beside it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::actor::Actor;
use crate::answer::Answer;
use crate::body::Body;
use crate::control::{Control, QueueKey};
use crate::entry::{Birth, Cause, Entry, Facts, RecordMark, Sealed};
use crate::execution::SharedExecution;
use crate::id::{ExecutionId, Fence, ItemId, RecordId};
use crate::item::{Item, Link, SharedItem};
use crate::lifecycle::event::Event;
use crate::lifecycle::{Phase, StateId};
use crate::project::{Broken, project};
use crate::replay::names;
use crate::request::NewMessage;
use crate::time::Time;
use crate::trace::Trace;
use crate::word::{Label, Store};
use crate::world::{Change, Lane, LaneKey, Message, NameKey, NameScope, Named, Record, World, recount};

#[derive(Debug)]
pub struct Draft<'w> {
    world: &'w World,
    items: BTreeMap<ItemId, SharedItem>,
    executions: BTreeMap<ExecutionId, SharedExecution>,
    names: BTreeMap<NameKey, Named>,
    lanes: BTreeMap<LaneKey, Lane>,
    controls: BTreeMap<QueueKey, Control>,
    records: BTreeMap<RecordId, Record>,
    changes: Vec<Change>,
    /// Set while effects are written: what caused them.
    pub cause: Option<Cause>,
}

/// What a verb says of an entry; the draft adds the chain.
#[derive(Debug)]
pub struct Line<'a> {
    pub action: Event,
    pub shown: Option<Label>,
    pub actor: &'a Actor,
    pub fence: Fence,
    pub state: StateId,
    pub facts: Facts,
}

/// What the log does not hold.
#[derive(Debug, Default)]
pub struct Unlogged {
    pub expires: Option<Time>,
    /// Of an item that is new.
    pub trace: Option<Arc<Trace>>,
    /// The item's own body: its payload, or its output.
    pub body: Option<Body>,
    /// Those of its records.
    pub bodies: Vec<Body>,
}

impl<'w> Draft<'w> {
    pub fn new(world: &'w World) -> Draft<'w> {
        Draft {
            world,
            items: BTreeMap::new(),
            executions: BTreeMap::new(),
            names: BTreeMap::new(),
            lanes: BTreeMap::new(),
            controls: BTreeMap::new(),
            records: BTreeMap::new(),
            changes: Vec::new(),
            cause: None,
        }
    }

    pub fn world(&self) -> &'w World {
        self.world
    }

    pub fn now(&self) -> Time {
        self.world.now
    }

    pub fn item(&self, id: ItemId) -> Option<&Item> {
        self.shared(id).map(|item| &**item)
    }

    pub fn shared(&self, id: ItemId) -> Option<&SharedItem> {
        self.items.get(&id).or_else(|| self.world.items.get(&id))
    }

    /// The payload of an item that was loaded with it, or is created here.
    pub fn payload(&self, id: ItemId) -> Option<&Body> {
        let created = |change: &'_ Change| match change {
            Change::Insert { item, .. } => item.id == id,
            _ => false,
        };
        self.world.payloads.get(&id).or_else(|| match self.changes.iter().find(|change| created(change))? {
            Change::Insert { payload, .. } => payload.as_ref(),
            _ => None,
        })
    }

    /// An execution by id, live or ended.
    pub fn execution(&self, id: ExecutionId) -> Option<SharedExecution> {
        let live = self.item(id.item).filter(|item| item.fence == id.fence).and_then(Item::live_execution);
        live.map(Arc::new)
            .or_else(|| self.executions.get(&id).or_else(|| self.world.executions.get(&id)).cloned())
    }

    pub fn named(&self, key: &NameKey) -> Option<&Named> {
        self.names.get(key).or_else(|| self.world.names.get(key))
    }

    pub fn lane(&self, key: &LaneKey) -> Lane {
        self.lanes.get(key).or_else(|| self.world.lanes.get(key)).cloned().unwrap_or_default()
    }

    pub fn lane_of(&self, item: &Item) -> Option<(LaneKey, Lane)> {
        let key = item.key.clone().filter(|_| item.table.uses_lanes())?;
        let key = LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key };
        let lane = self.lane(&key);
        Some((key, lane))
    }

    pub fn record(&self, id: RecordId) -> Option<&Record> {
        self.records.get(&id).or_else(|| self.world.records.get(&id))
    }

    /// A control is written once, however often it changed.
    pub fn into_changes(mut self) -> Vec<Change> {
        let controls = self.controls.into_iter();
        self.changes.extend(controls.map(|(key, control)| Change::Control(key, Box::new(control))));
        self.changes
    }

    pub fn control(&self, key: &QueueKey) -> Control {
        self.controls.get(key).or_else(|| self.world.controls.get(key)).cloned().unwrap_or_default()
    }

    pub fn set_control(&mut self, key: QueueKey, control: Control) {
        if control != self.control(&key) {
            self.controls.insert(key, control);
        }
    }

    /// How many items of a kind are held.
    pub fn active(&self, key: &QueueKey) -> u32 {
        let changed =
            self.items.values().filter(|item| item.table.kind == key.kind && item.store == key.store);
        let is_active = |item: &SharedItem| item.phase() == Phase::Active;
        changed.fold(self.world.active(key), |active, item| {
            recount(active, self.world.items.get(&item.id).is_some_and(is_active), is_active(item))
        })
    }

    /// Writes the first entry of a new item.
    pub fn create(
        &mut self,
        id: ItemId,
        store: &Store,
        actor: &Actor,
        row: (Option<Label>, Label),
        birth: Birth,
        unlogged: Unlogged,
    ) {
        let (shown, state) = row;
        let entry = Entry {
            action: Event::Create,
            actor: actor.clone(),
            shown,
            cause: self.cause.clone(),
            fence: Fence(0),
            item: id,
            at: self.now(),
            facts: Facts::Create(birth),
            previous: None,
            state,
            store: store.clone(),
            version: 1,
        };
        self.expect(None, entry, unlogged);
    }

    /// Writes the next entry of an item.
    pub fn write(&mut self, id: ItemId, line: Line<'_>, unlogged: Unlogged) {
        let item = self.shared(id).expect("an entry is written about an item that was found").clone();
        let entry = Entry {
            action: line.action,
            actor: line.actor.clone(),
            shown: line.shown,
            cause: self.cause.clone(),
            fence: line.fence,
            item: id,
            // Locks are taken before the clock is read, so this holds back a clock that was set back, nothing else.
            at: self.now().max(item.updated),
            facts: line.facts,
            previous: Some(item.head),
            state: item.table.state(line.state).name.clone(),
            store: item.store.clone(),
            version: item.version.saturating_add(1),
        };
        self.expect(Some(item), entry, unlogged);
    }

    /// Writes an entry that moves nothing: the state, the lease and its expiry stay as they are.
    pub fn annotate(&mut self, id: ItemId, actor: &Actor, action: Event, facts: Facts, bodies: Vec<Body>) {
        let item = self.item(id).expect("an entry is written about an item that was found");
        let (fence, state) = (item.fence, item.state);
        let line = Line { action, shown: None, actor, fence, state, facts };
        self.write(id, line, Unlogged { bodies, ..Unlogged::default() });
    }

    fn expect(&mut self, before: Option<SharedItem>, entry: Entry, unlogged: Unlogged) {
        if let Err(broken) = self.append_after(before, Sealed::new(entry), unlogged) {
            panic!("decide wrote an entry that its own projection refuses: {broken}");
        }
    }

    /// Puts an entry in: what it makes of its item, its execution, its name, its lane and its records.
    pub fn append(&mut self, entry: Sealed, unlogged: Unlogged) -> Result<(), Broken> {
        self.append_after(self.shared(entry.item).cloned(), entry, unlogged)
    }

    fn append_after(
        &mut self,
        before: Option<SharedItem>,
        entry: Sealed,
        unlogged: Unlogged,
    ) -> Result<(), Broken> {
        let mut projection = project(before.as_deref(), &entry, &self.world.tables)?;
        if let (Some(expires), Some(lease)) = (unlogged.expires, &mut projection.item.lease) {
            lease.expires = expires;
        }
        if before.is_none() {
            projection.item.trace = unlogged.trace;
        }
        let item = Arc::new(projection.item);
        let body =
            |hash| unlogged.body.iter().chain(&unlogged.bodies).find(|body| body.hash() == hash).cloned();
        self.changes.push(match &before {
            None => Change::Insert { item: item.clone(), payload: body(item.payload) },
            Some(before) if entry.action == Event::Prune => {
                Change::Remove { was: before.version, item: item.clone() }
            }
            Some(before) => {
                let output = item.output.filter(|_| before.output.is_none()).and_then(body);
                Change::Update { was: before.version, item: item.clone(), output }
            }
        });
        if let Some(execution) = projection.execution.map(Arc::new) {
            self.changes.push(Change::Execution(execution.clone()));
            self.executions.insert(execution.id, execution);
        }
        if let Some((key, lane)) = self.lane_of(&item) {
            let after = match entry.action {
                Event::Prune => lane.clone().without(item.id),
                _ => lane.clone().after(before.as_deref(), &item),
            };
            if after != lane {
                self.changes.push(Change::Lane(key.clone(), after.clone()));
                self.lanes.insert(key, after);
            }
        }
        if let Some((key, named)) = self.name_in(&entry, &item) {
            self.changes.push(Change::Name(key.clone(), named.clone()));
            self.names.insert(key, named);
        }
        for mark in record_marks(&entry.facts) {
            let id = RecordId::of(entry.item, &mark.label, &mark.name);
            let record = Record {
                id,
                item: entry.item,
                fence: by_execution(&entry.facts).then_some(entry.fence),
                label: mark.label.clone(),
                name: mark.name.clone(),
                hash: mark.sha256,
                body: body(mark.sha256),
                version: entry.version,
                at: entry.at,
            };
            if self.record(id).is_some() {
                let why = alloc::format!("record {} {} was written before", mark.label, mark.name);
                return Err(Broken { item: entry.item, version: entry.version, why });
            }
            self.changes.push(Change::Record(record.clone()));
            self.records.insert(id, record);
        }
        match &entry.facts {
            Facts::Create(birth) => self.link(item.id, &birth.links),
            Facts::Link(linked) => self.link(item.id, &linked.add),
            Facts::Bare(_) if entry.action == Event::Erase => self.changes.push(Change::Erase(entry.item)),
            Facts::Bare(_) if entry.action == Event::Prune => self.unname(item.id),
            _ => {}
        }
        self.items.insert(item.id, item);
        self.changes.push(Change::Entry(entry));
        Ok(())
    }

    /// Notes which items are linked to, so that nobody removes them.
    fn link(&mut self, from: ItemId, links: &[Link]) {
        let targets: BTreeSet<ItemId> = links.iter().map(|link| link.to).collect();
        self.changes.extend(targets.into_iter().map(|to| Change::Linked { to, from }));
    }

    /// Names go with the item that they stand for.
    fn unname(&mut self, item: ItemId) {
        for key in names(self.world.history(item)) {
            let change = match self.named(&key) {
                Some(Named::Created { item: named, .. } | Named::Folded { item: named, .. }) => {
                    (*named == item).then(|| Change::Unname(key))
                }
                Some(Named::Leased(leases)) => {
                    let left: Vec<ExecutionId> =
                        leases.iter().filter(|lease| lease.item != item).copied().collect();
                    match left.len() {
                        0 => Some(Change::Unname(key)),
                        count if count < leases.len() => Some(Change::Name(key, Named::Leased(left))),
                        _ => None,
                    }
                }
                None => None,
            };
            self.changes.extend(change);
        }
    }

    /// The name that an entry gives to its item or its lease.
    fn name_in(&self, entry: &Entry, item: &Item) -> Option<(NameKey, Named)> {
        let key = |scope, name: &crate::word::Key| NameKey {
            store: entry.store.clone(),
            scope,
            name: name.clone(),
        };
        match &entry.facts {
            Facts::Create(birth) => {
                let key = key(NameScope::Create(birth.kind.clone()), birth.name.as_ref()?);
                Some((key, Named::Created { item: item.id, digest: birth.digest(), head: item.head }))
            }
            Facts::Note(noted) => {
                let folded = noted.folded.as_ref()?;
                let key = key(NameScope::Create(item.table.kind.clone()), &folded.name);
                Some((key, Named::Folded { item: item.id, digest: folded.digest }))
            }
            Facts::Lease(grant) => {
                let key = key(NameScope::Acquire(entry.actor.owner()), grant.request.as_ref()?);
                let mut leases = match self.named(&key) {
                    Some(Named::Leased(leases)) => leases.clone(),
                    _ => Vec::new(),
                };
                leases.push(item.execution_id());
                Some((key, Named::Leased(leases)))
            }
            _ => None,
        }
    }

    /// The answer to whatever has just been written about an item.
    pub fn done(&self, id: ItemId) -> Answer {
        Answer::Done(self.shared(id).expect("it was just written").clone())
    }

    /// The answer to whatever has just happened to an execution.
    pub fn ran(&self, id: ExecutionId) -> Answer {
        Answer::Ran(self.execution(id).expect("an execution is kept, live or ended"))
    }

    /// Moves a lease's heartbeat and expiry: the one write without an entry.
    pub fn renew(&mut self, execution: ExecutionId, expires: Time) {
        self.changes.push(Change::Renew { execution, heartbeat: self.now(), expires });
    }

    pub fn send(&mut self, item: ItemId, messages: &[NewMessage]) {
        let version = self.item(item).map_or(0, |item| item.version);
        for (ordinal, message) in (0..).zip(messages) {
            let (label, body) = (message.label.clone(), message.body.clone());
            self.changes.push(Change::Message(Message { item, version, ordinal, label, body }));
        }
    }
}

pub(crate) fn record_marks(facts: &Facts) -> &[RecordMark] {
    match facts {
        Facts::Progress(progress) => &progress.records,
        Facts::Commit(commit) => &commit.written.records,
        Facts::End(ended) => &ended.written.records,
        Facts::Cancel(cancelled) => &cancelled.written.records,
        Facts::Move(moved) => &moved.written.records,
        Facts::Note(noted) => &noted.records,
        Facts::Create(_) | Facts::Lease(_) | Facts::Link(_) | Facts::Bare(_) => &[],
    }
}

/// Whether what an entry writes is an execution's work. A note and a plain move are somebody else's.
fn by_execution(facts: &Facts) -> bool {
    match facts {
        Facts::Progress(_) | Facts::Commit(_) | Facts::End(_) => true,
        // A cancel that came true when an execution ended is that execution's last word.
        Facts::Cancel(cancelled) => cancelled.on.is_some(),
        Facts::Create(_) | Facts::Lease(_) | Facts::Move(_) | Facts::Note(_) => false,
        Facts::Link(_) | Facts::Bare(_) => false,
    }
}
