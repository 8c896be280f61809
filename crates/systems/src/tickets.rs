//! Tickets: a request for work that a person approves and four workers carry out, each with one duty and one commit.
//!
//! ```text
//! ticket:  NEW ─approve─▶ TODO ─schedule─▶ IN_PROGRESS ─pass─▶ DONE
//!          (a person)      ▲ │                 │  │
//!                          │ └──── block ──────┼──┴─▶ BLOCKED ─resolve─▶ TODO      (a person)
//!                          └────── retry ──────┘
//!
//! readiness: whatever is TODO has its ticket_ready      scheduler: ticket_ready ─▶ context_snapshot, work_order
//! runner:    work_order ─▶ output_bundle, gate          gate:      output_bundle ─▶ run_record, pause_state
//! ```
//!
//! | artifact | where it is kept |
//! |---|---|
//! | ticket, blocker, event, workorder | an item of the kind `ticket`, `blocker`, `ticket_ready`, `work_order` |
//! | context_snapshot | a record of its event |
//! | output_bundle | a record of its work order |
//! | run_record | a record of the gate that judged |
//! | pause_state | a record of whatever made the ticket pause |
//! | claim_record | the lease of an event, a work order or a gate |
//!
//! Everything that belongs to a ticket has a link to it, so a run is read back from its artifacts ([`Tickets::explain`]).

mod artifact;
mod copy;
mod executor;
mod explain;
mod family;
mod gate;
mod git;
mod inbox;
mod judge;
mod kept;
mod operations;
mod orders;
mod patch;
mod process;
mod readiness;
mod runner;
mod running;
mod scheduler;
mod worktree;

use tenure::core::answer::Answer;
use tenure::core::code::{Code, Problem};
use tenure::core::id::ItemId;
use tenure::{Builder, Error, Tenure, WorkerBuilder};

pub use artifact::{SCHEMAS, fits};
pub use executor::{Errand, Executing, Executor, Http, Made, NotExecuted, Program};
pub use explain::{Explanation, Run};
pub use judge::Judged;
pub use kept::{
    Attestation, BUDGET, Blocker, Bundle, Checked, NewTicket, Outcome, Patch, PauseState, RunRecord, Said,
    Snapshot, Ticket, WORK_ORDERS_MAX, WorkOrder,
};
pub use orders::{Order, Stored};
pub use patch::check;
pub use running::{Part, Running, Settings, start};
pub use worktree::Worktree;

/// The kind that tickets are items of, and that of what judges an output.
pub(crate) const KIND: &str = kept::TICKET;
pub(crate) const GATE_KIND: &str = kept::GATE;

/// The operations on tickets, for whoever a handle acts for, in its store.
#[derive(Clone, Debug)]
pub struct Tickets {
    tenure: Tenure,
}

impl Tickets {
    pub fn of(tenure: &Tenure) -> Tickets {
        Tickets { tenure: tenure.clone() }
    }
}

/// What an engine needs to know of tickets: a work order that is out of attempts blocks its ticket in the same transaction, also
/// when nobody is left to say so.
pub fn known(builder: Builder) -> Builder {
    builder.offering(kept::ORDER, orders::given_up)
}

/// A runner with this executor. It works once it is started, one order at a time unless it is told otherwise.
pub fn runner(tenure: &Tenure, name: &str, executor: impl Executor) -> WorkerBuilder {
    running::runner_of(tenure, name, executor)
}

fn no(code: Code, detail: impl Into<String>) -> Error {
    Error::Refused(Box::new(Answer::Invalid(Problem::new(code, detail))))
}

fn none(kind: &str, id: ItemId) -> Error {
    no(Code::NotFound, format!("there is no {} {id} in this store", kind.replace('_', " ")))
}
