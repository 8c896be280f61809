//! An item: a unit of work, as its log says it is.
//!
//! Everything here but `lease.heartbeat`, `lease.expires` and `trace` is a function of the item's entries (`project`).

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::execution::{Execution, Lease, Status};
use crate::hash::Hash;
use crate::id::{ExecutionId, Fence, ItemId};
use crate::lifecycle::event::Event;
use crate::lifecycle::tables::Tables;
use crate::lifecycle::{Phase, SharedTable, StateId};
use crate::time::Time;
use crate::trace::Trace;
use crate::word::{Key, Label, Store};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    pub id: ItemId,
    pub store: Store,
    /// The lifecycle it was created under; a newer version of the kind does not change it.
    pub table: SharedTable,
    pub state: StateId,
    /// Counts its entries. Renewals write none.
    pub version: u64,
    /// `claim_version`. Also the number of its executions: an attempt's number is the fence it ran under.
    pub fence: Fence,
    /// Executions that failed, expired or timed out since it was last made ready by hand. Judged against `attempts`.
    pub failures: u32,
    /// Executions that were given back. They cost no attempt.
    pub interruptions: u32,
    /// None: unlimited.
    pub attempts: Option<u32>,
    pub key: Option<Key>,
    pub priority: i8,
    /// Not leased before this time; see [`Item::is_early`].
    pub run_at: Time,
    /// How long `run_at` may lie ahead: a retry waits for its longest backoff, and what was created without a time does not wait.
    /// None: as long as its caller asked for.
    pub wait_max: Option<Duration>,
    pub lease: Option<Lease>,
    /// The execution that committed. There is never a second.
    pub committed: Option<Fence>,
    /// Somebody asked for it to stop while it was held.
    pub cancel: Option<CancelAsked>,
    /// Steps that were opened under the live lease and not closed.
    pub open_steps: Vec<Label>,
    pub links: Vec<Link>,
    /// What it came from: the item it retries, or the one whose commit made it.
    pub origin: Option<ItemId>,
    /// The last reason given for an end or a move.
    pub reason: Option<Arc<str>>,
    pub payload: Hash,
    pub output: Option<Hash>,
    /// Its bodies are gone; the hashes stay.
    pub erased: bool,
    /// The trace that whoever works on it goes on with. Not in the log: it is erased with the bodies.
    pub trace: Option<Arc<Trace>>,
    /// The move or cancel that made it what it is: the same request again is a repeat.
    pub request: Option<Hash>,
    pub created_by: Actor,
    pub created: Time,
    pub updated: Time,
    /// The hash of its last entry.
    pub head: Hash,
}

/// An item is made once for each of its versions and shared from then on: by the world, the change that writes it and the
/// answer that shows it.
pub type SharedItem = Arc<Item>;

/// A cancel that waits for the holder to stop.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CancelAsked {
    pub actor: Actor,
    pub reason: Option<String>,
}

/// A named reference from one item to another of its store.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub label: Label,
    pub to: ItemId,
}

/// A reader who wants more links than this wants a table of their own.
pub const LINKS_MAX: usize = 256;
/// Steps run in order; more than a few open at once is a mistake.
pub const OPEN_STEPS_MAX: usize = 16;

/// Which partial index holds the row. Derived, neither logged nor hashed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Slot {
    None,
    Scheduled,
    Ready,
    Active,
}

impl Item {
    /// Its key, where its kind runs one of a key at a time.
    pub fn exclusive_key(&self) -> Option<&Key> {
        self.key.as_ref().filter(|_| self.table.is_exclusive())
    }

    /// Its key, where it waits behind the lane of that key.
    pub fn lane_key(&self) -> Option<&Key> {
        self.key.as_ref().filter(|_| self.table.is_laned())
    }

    pub fn phase(&self) -> Phase {
        self.table.phase(self.state)
    }

    pub fn state_name(&self) -> &Label {
        &self.table.state(self.state).name
    }

    pub fn slot(&self, now: Time) -> Slot {
        match self.phase() {
            Phase::Ready if self.is_early(now) => Slot::Scheduled,
            Phase::Ready => Slot::Ready,
            Phase::Active => Slot::Active,
            Phase::Waiting | Phase::Succeeded | Phase::Failed | Phase::Stopped => Slot::None,
        }
    }

    /// Whether `run_at` keeps it from being leased. A time that lies further ahead than it can have been set to wait comes from a
    /// clock that was ahead, and keeps nothing.
    pub fn is_early(&self, now: Time) -> bool {
        self.run_at > now && self.wait_max.is_none_or(|longest| self.run_at <= now.after(longest))
    }

    /// Its place in the queue: lower is sooner. Priority is a bounded head start, so nothing starves. A `run_at` before the creation
    /// gives no head start.
    pub fn rank(&self) -> Time {
        let step = self.table.settings.head_start;
        let head_start = step.saturating_mul(u32::from(self.priority.unsigned_abs()));
        let from = self.run_at.max(self.created);
        if self.priority >= 0 { from.before(head_start) } else { from.after(head_start) }
    }

    pub fn execution_id(&self) -> ExecutionId {
        ExecutionId { item: self.id, fence: self.fence }
    }

    /// Whether ending badly now would leave another attempt.
    pub fn attempts_left(&self) -> bool {
        self.attempts.is_none_or(|most| self.failures.saturating_add(1) < most)
    }

    /// Whether giving it back once more would be once too often.
    pub fn interruptions_spent(&self) -> bool {
        self.table.settings.interruptions.is_some_and(|most| self.interruptions >= most)
    }

    /// Until when it is kept, once nothing can move it any more. None: for ever, or it has not come that far. What counts is
    /// the retention that its kind has now: whoever changes it means the items that are there.
    pub fn kept_until(&self, tables: &Tables) -> Option<Time> {
        if !self.table.is_final(self.state) || self.lease.is_some() {
            return None;
        }
        let in_force = tables.current(&self.table.kind).unwrap_or(&self.table);
        Some(self.updated.after(in_force.settings.retention?))
    }

    /// The event that time has made due, if any: finishing what committed, the window's end, the lease's end.
    pub fn due(&self, now: Time) -> Option<Event> {
        let lease = self.lease.as_ref()?;
        if lease.status() == Status::Committed {
            return lease.has_expired(now).then_some(Event::Finish);
        }
        if lease.is_timed_out(now) {
            return Some(Event::TimeOut);
        }
        lease.has_expired(now).then(|| self.expiry())
    }

    /// What a lost lease does here: `expire`, or `orphan` where the table has only that.
    pub fn expiry(&self) -> Event {
        if self.table.has_row(self.state, &Event::Expire) { Event::Expire } else { Event::Orphan }
    }

    /// The live execution, in the form that ended ones are kept in.
    pub fn live_execution(&self) -> Option<Execution> {
        let lease = self.lease.as_ref()?;
        Some(Execution {
            id: self.execution_id(),
            owner: lease.owner.clone(),
            leased_at: lease.since,
            lease_expires_at: lease.expires,
            started_at: lease.started,
            committed: lease.committed,
            ended: None,
            output: lease.committed.and(self.output),
        })
    }

    pub fn linked<'a>(&'a self, label: &'a str) -> impl Iterator<Item = ItemId> + 'a {
        self.links.iter().filter(move |link| &*link.label == label).map(|link| link.to)
    }

    /// The wait before the next attempt, once one more has failed.
    pub fn backoff(&self) -> Duration {
        self.table.settings.backoff.after(self.failures.saturating_add(1))
    }

    /// The part that the log fixes: a held lease's heartbeat and expiry are set to the moment it was acquired, and there is no
    /// trace.
    pub fn as_logged(&self) -> Item {
        let mut logged = Item { trace: None, ..self.clone() };
        if let Some(lease) = &mut logged.lease {
            lease.heartbeat = lease.since;
            lease.expires = lease.since;
        }
        logged
    }
}
