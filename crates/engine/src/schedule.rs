//! Schedules: items created at their times, each time once, on any number of nodes and without a leader.
//!
//! ```text
//!  schedule (ACTIVE · PAUSED · ENDED · REMOVED)        what to create, and when
//!      │
//!      └─ tick (WAITING ─▶ FIRING ─▶ FIRED)             its next time; there is one unfinished tick a schedule
//!              │ commit, all or nothing:
//!              ├─ the items of the times that are due, each under the name <schedule>@<time>
//!              ├─ the next tick
//!              └─ `fire` of the schedule: refused unless it is ACTIVE
//! ```
//!
//! All of it is items of shipped lifecycles, so nothing here is stored in a way of its own: a tick is leased, fenced, logged
//! and verified like a job. A node that sleeps between reading and writing has lost its lease; a commit happens once; and a
//! time that was created before is known by its name. The database's clock says when a tick is due.
//!
//! A schedule is never changed. To change one, remove it and create another under its name; what it has created stays.

mod api;
mod due;
#[cfg(test)]
mod golden;
mod mend;
mod plan;
mod tick;
mod times;

use std::sync::Arc;
use std::time::Duration;

use tenure_core::actor::{Actor, Role};
use tenure_core::word::Kind;
use tokio::runtime::Handle;

use crate::loops::{Parts, every, wait_for_first};
use crate::worker::{Within, run_within};

pub use api::Scheduled;
pub use due::{CatchUp, GRACE};
pub use plan::Schedule;

/// A schedule without its tick is found within this time. Mostly there is none, and looking costs two short reads.
const MEND_EVERY: Duration = Duration::from_secs(2);
/// Ticks that are worked out at the same time.
const CONCURRENCY: usize = 8;

pub(crate) fn kind() -> Kind {
    "schedule".parse().expect("a valid kind")
}

fn tick_kind() -> Kind {
    "tick".parse().expect("a valid kind")
}

/// Who fires: a schedule is the standing order of somebody who may create.
fn actor(parts: &Parts) -> Actor {
    let id = "cron".parse().expect("a valid id");
    Actor { incarnation: Some(parts.node.clone()), ..Actor::new(Role::Api, id) }
}

/// Runs as long as the engine. Nothing is looked for but a first schedule until there is one.
pub(crate) async fn run(parts: Parts) {
    if !wait_for_first(&parts, &kind(), MEND_EVERY).await {
        return;
    }
    let handler = tick::Fire { parts: parts.clone() };
    let worker = Within {
        actor: actor(&parts),
        handlers: vec![(tick_kind(), Arc::new(handler))],
        concurrency: CONCURRENCY,
        outside: Handle::current(),
    };
    let mending =
        every("schedules", MEND_EVERY, parts.clone(), |parts| async move { mend::turn(&parts).await });
    tokio::join!(run_within(&parts, worker), mending);
}
