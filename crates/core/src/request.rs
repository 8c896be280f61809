//! A request: who asks for what, in which store.
//!
//! Each command's struct stands with its decision in `decide/`, one file a verb.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::actor::Actor;
use crate::body::Body;
use crate::control::QueueKey;
use crate::id::{ExecutionId, ItemId, RecordId};
use crate::lifecycle::tables::Tables;
use crate::word::{EventName, Key, Kind, Label, Store};
use crate::world::{LaneKey, NameKey, NameScope};

pub use crate::decide::acquire::Acquire;
pub use crate::decide::cancel::Cancel;
pub use crate::decide::commit::Commit;
pub use crate::decide::control::{Order, What};
pub use crate::decide::create::Create;
pub use crate::decide::erase::Erase;
pub use crate::decide::fail::Fail;
pub use crate::decide::finish::Finish;
pub use crate::decide::link::Relink;
pub use crate::decide::note::Note;
pub use crate::decide::plain::Move;
pub use crate::decide::progress::Progress;
pub use crate::decide::prune::Prune;
pub use crate::decide::release::Release;
pub use crate::decide::renew::Renew;
pub use crate::decide::start::Start;
pub use crate::decide::sweep::{Due, Sweep};
pub use crate::decide::take::{Take, Terms};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    pub store: Store,
    pub actor: Actor,
    pub command: Command,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    Create(Create),
    /// Lease whatever is next.
    Acquire(Acquire),
    /// Lease this one.
    Take(Take),
    Start(Start),
    Renew(Renew),
    Progress(Progress),
    Commit(Commit),
    Finish(Finish),
    Fail(Fail),
    Release(Release),
    /// A plain event.
    Move(Move),
    Cancel(Cancel),
    Note(Note),
    Link(Relink),
    Erase(Erase),
    /// An operator's word about a kind.
    Control(Order),
    /// What time has made due; the engine's own.
    Sweep(Sweep),
    /// What has been kept for long enough; the engine's own.
    Prune(Prune),
}

/// A record to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewRecord {
    pub label: Label,
    /// Unique among the item's records of this label.
    pub name: Key,
    pub body: Body,
}

/// What a commit or a move writes beside itself: all of it, or nothing happens.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    pub records: Vec<NewRecord>,
    pub creates: Vec<Create>,
    pub moves: Vec<EffectMove>,
    pub messages: Vec<NewMessage>,
}

/// One commit touches at most so many rows: past that it is a batch of its own and should be one.
pub const EFFECTS_MAX: usize = 1_000;
/// A reason is for a person; a stack trace fits, a dump does not.
pub const REASON_BYTES_MAX: usize = 8 << 10;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectMove {
    pub item: ItemId,
    pub event: EventName,
    pub reason: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewMessage {
    pub label: Label,
    pub body: Body,
}

impl Effects {
    /// What makes two lists of effects the same, in parts that are hashed with the request that brings them.
    pub(crate) fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        for record in &self.records {
            parts.push(format!("record {} {} {}", record.label, record.body.hash(), record.name));
        }
        for create in &self.creates {
            parts.push(format!("create {create:?}"));
        }
        for step in &self.moves {
            parts.push(format!("move {} {} {:?}", step.item, step.event, step.reason));
        }
        for message in &self.messages {
            parts.push(format!("message {} {}", message.label, message.body.hash()));
        }
        parts
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> usize {
        self.records.len() + self.creates.len() + self.moves.len() + self.messages.len()
    }
}

/// What must be locked and loaded before a request can be decided. Sorted, because that is the lock order: names,
/// then controls, then lanes, then items. The database adds what only it can know: the items that names and lanes point to, the lanes
/// of the items (an item's kind and key never change), the committed execution, payload and linked items of each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Need {
    pub names: BTreeSet<NameKey>,
    /// Kinds of which something may be leased. Their control is needed where they have one or their lifecycle limits
    /// leases, and then with the number of their held items and the probe of their breaker.
    pub controls: BTreeSet<QueueKey>,
    /// Kinds of which an item is leased as it is created: their control is needed likewise.
    pub takes: BTreeSet<QueueKey>,
    /// Kinds whose control may be changed by hand: nobody leases anything of them meanwhile.
    pub orders: BTreeSet<QueueKey>,
    pub lanes: BTreeSet<LaneKey>,
    pub items: BTreeSet<ItemId>,
    pub executions: BTreeSet<ExecutionId>,
    pub records: BTreeSet<RecordId>,
    /// Items that may be leased: whoever gets one gets its payload. Of others it is needed where guards look into it. The
    /// control of their kind is needed as in `controls`.
    pub payloads: BTreeSet<ItemId>,
    /// Items whose execution may fail: the control of their kind is needed where its lifecycle counts failures.
    pub failing: BTreeSet<ItemId>,
    /// Items that may be removed: with their entries, the names that those gave, the messages, and whatever has a link to
    /// them. These items are among `items` too.
    pub removals: BTreeSet<ItemId>,
    /// Stores whose messages may go with these items: the marks of who follows the log are needed, the webhooks that stand
    /// there, and the places of `removals` in the log. They are read and never locked.
    pub followed: BTreeSet<Store>,
}

impl Request {
    pub fn needs(&self, tables: &Tables, need: &mut Need) {
        match &self.command {
            Command::Create(create) => {
                create.needs(&self.store, tables, need);
                if let Some(terms) = &create.take {
                    need.takes.insert(self.queue(&create.kind));
                    self.needs_of_terms(terms, need);
                }
            }
            Command::Acquire(acquire) => {
                need.controls.extend(acquire.kinds.iter().map(|kind| self.queue(kind)));
                self.needs_of_terms(&acquire.terms, need);
            }
            Command::Take(take) => {
                need.items.insert(take.item);
                need.payloads.insert(take.item);
                need.failing.insert(take.item);
                self.needs_of_terms(&take.terms, need);
            }
            Command::Start(start) => need.execution(start.execution),
            Command::Renew(renew) => need.execution(renew.execution),
            Command::Progress(progress) => {
                need.execution(progress.execution);
                need.records(progress.execution.item, &progress.records);
            }
            Command::Commit(commit) => {
                need.execution(commit.execution);
                need.items.extend(commit.session);
                need.effects(&self.store, commit.execution.item, &commit.effects, tables);
            }
            Command::Finish(finish) => need.execution(finish.execution),
            Command::Fail(fail) => {
                need.execution(fail.execution);
                need.failing.insert(fail.execution.item);
                need.effects(&self.store, fail.execution.item, &fail.offers, tables);
            }
            Command::Release(release) => {
                // One release too many is a failure.
                need.failing.insert(release.execution.item);
                need.execution(release.execution);
            }
            Command::Move(step) => {
                need.items.insert(step.item);
                need.items.extend(step.session);
                need.effects(&self.store, step.item, &step.effects, tables);
            }
            Command::Cancel(cancel) => {
                need.items.insert(cancel.item);
                need.effects(&self.store, cancel.item, &cancel.offers, tables);
            }
            Command::Note(note) => {
                need.items.insert(note.item);
                need.records(note.item, &note.records);
            }
            Command::Link(link) => {
                need.items.insert(link.item);
                need.items.extend(link.add.iter().map(|link| link.to));
            }
            Command::Erase(erase) => {
                need.items.insert(erase.item);
            }
            Command::Control(order) => {
                need.orders.insert(order.queue(self));
            }
            Command::Sweep(sweep) => {
                need.failing.insert(sweep.item);
                need.execution(ExecutionId { item: sweep.item, fence: sweep.fence });
                if let Due::Lapsed { session } = sweep.due {
                    need.items.insert(session);
                }
                need.effects(&self.store, sweep.item, &sweep.offers, tables);
            }
            Command::Prune(prune) => {
                need.items.insert(prune.item);
                need.removals.insert(prune.item);
                need.followed.insert(self.store.clone());
            }
        }
    }

    fn queue(&self, kind: &Kind) -> QueueKey {
        QueueKey { store: self.store.clone(), kind: kind.clone() }
    }

    /// A lease is entered under the name of its request, beside those that the name has already.
    fn needs_of_terms(&self, terms: &Terms, need: &mut Need) {
        need.items.extend(terms.session);
        need.names.extend(terms.request.iter().map(|name| NameKey {
            store: self.store.clone(),
            scope: NameScope::Acquire(self.actor.owner()),
            name: name.clone(),
        }));
    }
}

impl Need {
    /// Every kind that is named whose control is needed.
    pub fn queues(&self) -> BTreeSet<QueueKey> {
        self.controls.iter().chain(&self.takes).chain(&self.orders).cloned().collect()
    }

    /// Whether nothing else is needed than to know which kinds something is leased of.
    pub fn is_only_controls(&self) -> bool {
        let items = self.items.is_empty() && self.payloads.is_empty() && self.failing.is_empty();
        let rest = self.lanes.is_empty() && self.executions.is_empty() && self.records.is_empty();
        items && rest && self.names.is_empty() && self.takes.is_empty() && self.orders.is_empty()
    }

    fn execution(&mut self, execution: ExecutionId) {
        self.items.insert(execution.item);
        self.executions.insert(execution);
    }

    fn records(&mut self, item: ItemId, records: &[NewRecord]) {
        self.records.extend(records.iter().map(|record| RecordId::of(item, &record.label, &record.name)));
    }

    fn effects(&mut self, store: &Store, item: ItemId, effects: &Effects, tables: &Tables) {
        self.records(item, &effects.records);
        self.items.extend(effects.moves.iter().map(|step| step.item));
        for create in &effects.creates {
            create.needs(store, tables, self);
        }
    }
}
