//! An execution: one attempt at an item, under one lease.
//!
//! ```text
//!   LEASED ──start──▶ IN_PROGRESS ──commit──▶ COMMITTED ──finish──▶ DONE
//!      │                   │
//!      └──────abort────────┴────────────────▶ ABORTED
//! ```
//!
//! No other move exists. COMMITTED is the one point where effects become real; DONE and ABORTED are final.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use crate::actor::Owner;
use crate::hash::Hash;
use crate::id::{ExecutionId, ItemId};
use crate::lifecycle::StateId;
use crate::lifecycle::event::Event;
use crate::time::Time;
use crate::word::Key;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
    Leased,
    InProgress,
    Committed,
    Done,
    Aborted,
}

impl Status {
    pub const ALL: [Status; 5] =
        [Status::Leased, Status::InProgress, Status::Committed, Status::Done, Status::Aborted];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Leased => "LEASED",
            Status::InProgress => "IN_PROGRESS",
            Status::Committed => "COMMITTED",
            Status::Done => "DONE",
            Status::Aborted => "ABORTED",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What moves an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Start,
    Commit,
    Finish,
    Abort,
}

impl Step {
    pub const ALL: [Step; 4] = [Step::Start, Step::Commit, Step::Finish, Step::Abort];
}

/// The whole machine. None: there is no such move.
pub fn next(status: Status, step: Step) -> Option<Status> {
    match (status, step) {
        (Status::Leased, Step::Start) => Some(Status::InProgress),
        (Status::InProgress, Step::Commit) => Some(Status::Committed),
        (Status::Committed, Step::Finish) => Some(Status::Done),
        (Status::Leased | Status::InProgress, Step::Abort) => Some(Status::Aborted),
        (Status::Leased, Step::Commit | Step::Finish) => None,
        (Status::InProgress, Step::Start | Step::Finish) => None,
        (Status::Committed, Step::Start | Step::Commit | Step::Abort) => None,
        (Status::Done | Status::Aborted, Step::Start | Step::Commit | Step::Finish | Step::Abort) => None,
    }
}

/// Exclusive, bounded ownership of an item, and its live execution in one: kept with the item while it is held.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lease {
    pub owner: Owner,
    /// `acquired_at`, by the clock. The entry of the lease may have a later time, if the item's history is ahead of the clock.
    pub since: Time,
    pub started: Option<Time>,
    pub committed: Option<Mark>,
    /// Renewals move these two and write no entry; a replayed lease therefore counts as expired. Their distance is the length that
    /// was granted last.
    pub heartbeat: Time,
    pub expires: Time,
    /// When this execution times out, whatever its heartbeats say.
    pub window_ends: Option<Time>,
    /// The session this lease was taken under; it ends with it.
    pub session: Option<ItemId>,
    /// The id of the acquire that made it, so that a lost answer can be asked for again.
    pub request: Option<Key>,
}

impl Lease {
    pub fn status(&self) -> Status {
        match (&self.started, &self.committed) {
            (_, Some(_)) => Status::Committed,
            (Some(_), None) => Status::InProgress,
            (None, None) => Status::Leased,
        }
    }

    /// The time that is left of the lease and of its window.
    pub fn remaining(&self, now: Time) -> Remaining {
        Remaining { lease: self.expires.since(now), window: self.window_ends.map(|ends| ends.since(now)) }
    }

    /// A window that has passed takes the lease with it.
    pub fn is_live(&self, now: Time) -> bool {
        !self.has_expired(now) && !self.is_timed_out(now)
    }

    /// Expired means `lease_expires_at <= now`, or later than now plus twice the length granted.
    pub fn has_expired(&self, now: Time) -> bool {
        Time::is_over(self.heartbeat, self.expires, now)
    }

    /// Whether the execution window has passed, by the same rule.
    pub fn is_timed_out(&self, now: Time) -> bool {
        self.window_ends.is_some_and(|ends| Time::is_over(self.since, ends, now))
    }

    /// When it ends unless it is renewed.
    pub fn ends(&self) -> Time {
        self.window_ends.map_or(self.expires, |ends| ends.min(self.expires))
    }

    /// When a renewal by this length ends. It never shortens the lease, because two renewals may arrive in the other order; but
    /// what was granted by a clock that was ahead is cut to its length.
    pub fn renewed(&self, length: core::time::Duration, now: Time) -> Time {
        let granted = self.expires.since(self.heartbeat);
        now.after(length).max(self.expires.min(now.after(granted)))
    }
}

/// How long a lease lasts from its answer on, by the database's clock. A worker that counts this from its own request is never later
/// than the database, whatever its clock says (K-17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remaining {
    /// Until the lease expires, unless it is renewed.
    pub lease: Duration,
    /// Until the execution times out, renewed or not. `None`: its kind has no window.
    pub window: Option<Duration>,
}

/// A point in an item's history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mark {
    pub at: Time,
    pub version: u64,
    /// The item's state from then on.
    pub state: StateId,
}

/// An attempt as it is kept: a row once it commits or ends, computed from the lease until then.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Execution {
    pub id: ExecutionId,
    pub owner: Owner,
    pub leased_at: Time,
    pub lease_expires_at: Time,
    pub started_at: Option<Time>,
    pub committed: Option<Mark>,
    pub ended: Option<End>,
    pub output: Option<Hash>,
}

/// Shared as items are, and for the same reason.
pub type SharedExecution = Arc<Execution>;

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct End {
    pub mark: Mark,
    /// `commit` or `finish` for DONE; for ABORTED what aborted it: `fail`, `expire`, `cancel`…
    pub cause: Event,
    /// What a cancel that had been asked for came true on; `release` for a failure that was one interruption too many.
    pub on: Option<Event>,
    pub permanent: bool,
    pub reason: Option<String>,
}

impl Execution {
    pub fn status(&self) -> Status {
        match (&self.ended, &self.committed, &self.started_at) {
            (Some(_), Some(_), _) => Status::Done,
            (Some(_), None, _) => Status::Aborted,
            (None, Some(_), _) => Status::Committed,
            (None, None, Some(_)) => Status::InProgress,
            (None, None, None) => Status::Leased,
        }
    }

    /// As it was right after it started, for answering a repeated start.
    pub fn as_started(&self) -> Execution {
        Execution { committed: None, ended: None, output: None, ..self.clone() }
    }

    /// As it was right after its commit: finished only if that was one step.
    pub fn as_committed(&self) -> Execution {
        let at_once = |end: &&End| self.committed.is_some_and(|commit| commit.version == end.mark.version);
        let ended = self.ended.as_ref().filter(at_once).cloned();
        Execution { ended, ..self.clone() }
    }
}
