//! Answers. A losing race is an answer, not an error: it says what was found.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::actor::{Owner, Roles};
use crate::body::Body;
use crate::code::{Code, Problem};
use crate::control::{Control, HeldBack};
use crate::execution::{Remaining, SharedExecution};
use crate::id::{ExecutionId, ItemId};
use crate::item::SharedItem;
use crate::lifecycle::event::Event;
use crate::time::Time;
use crate::word::{Key, Label};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The item as it was created, also when a repeat is answered.
    Created(SharedItem),
    /// A create on a key that an item already stands for: that item.
    Coalesced(SharedItem),
    /// What an acquire or take got; empty when there was nothing.
    Leased(Vec<Granted>),
    Renewed {
        expires: Time,
        window_ends: Option<Time>,
        remaining: Remaining,
        cancel_requested: bool,
    },
    /// `start`, `commit`, `finish`, `fail`, `release`: the execution as it was right after.
    Ran(SharedExecution),
    /// A move, a cancel, an append, a sweep: the item now.
    Done(SharedItem),
    /// It was so already; nothing was written.
    Same(SharedItem),
    /// What holds a kind back from now on.
    Controlled(Box<Control>),

    /// The version the caller expected is not the one found.
    Stale {
        event: Event,
        found: SharedItem,
    },
    /// The caller does not hold this lease (any more). Stop, write nothing more.
    LeaseLost(String),
    /// Another execution committed first; this is it.
    AlreadyCommitted(SharedExecution),
    /// Somebody else holds the item.
    Held {
        item: ItemId,
        owner: Owner,
        until: Time,
    },
    /// A limit allows no more leases now: what is full, and until when.
    Limited(Box<HeldBack>),
    NotFound(String),
    /// The event is not possible in this state, or a guard does not hold.
    Refused(Box<Refusal>),
    /// The caller's role is in no row of this event.
    Forbidden {
        event: Event,
        roles: Roles,
    },
    /// The idempotency key was used for another request.
    Conflict {
        name: Key,
        item: ItemId,
    },
    Invalid(Problem),
}

/// A lease as its new owner gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Granted {
    pub execution: ExecutionId,
    pub item: SharedItem,
    /// When a repeated request is answered, less than was granted.
    pub remaining: Remaining,
    /// None once erased.
    pub payload: Option<Body>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub item: ItemId,
    pub state: Label,
    pub event: Event,
    /// What is possible in that state.
    pub allowed: Vec<Event>,
    pub problem: Problem,
}

impl Answer {
    /// The code of a "no"; None for a "yes".
    pub fn code(&self) -> Option<Code> {
        match self {
            Answer::Created(_) | Answer::Coalesced(_) | Answer::Leased(_) | Answer::Renewed { .. } => None,
            Answer::Ran(_) | Answer::Done(_) | Answer::Same(_) | Answer::Controlled(_) => None,
            Answer::Stale { .. } => Some(Code::TransitionRefused),
            Answer::LeaseLost(_) => Some(Code::LeaseLost),
            Answer::AlreadyCommitted(_) => Some(Code::AlreadyCommitted),
            Answer::Held { .. } => Some(Code::ClaimConflict),
            Answer::Limited(_) => Some(Code::RateLimited),
            Answer::NotFound(_) => Some(Code::NotFound),
            Answer::Refused(refusal) => Some(refusal.problem.code.clone()),
            Answer::Forbidden { .. } => Some(Code::Forbidden),
            Answer::Conflict { .. } => Some(Code::IdempotencyConflict),
            Answer::Invalid(problem) => Some(problem.code.clone()),
        }
    }

    pub fn is_yes(&self) -> bool {
        self.code().is_none()
    }
}
