//! How much waits, for whoever watches: of each kind how many items are ready, put off, held, failed and stopped, and since when
//! the first could have run.
//!
//! Counted over the indexes that hold just these rows, and no further than a bound, so a look costs the same however many items
//! there are. What waits for somebody's move and what succeeded is in no such index, and is not counted.

use std::future::Future;

use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};

use crate::Error;
use crate::row::bytes::word;
use crate::row::{Damaged, unsigned};

/// Nothing is counted beyond this. Whoever has more of a sort needs no exact number to know what to do.
pub const COUNT_MAX: u64 = 10_000;

/// The one that waits for the longest is looked for among so many that are leased first: one that became ready a moment ago may be
/// in front of it.
pub(crate) const FIRSTS: u64 = 100;

/// The items of one kind in one store. A count of [`COUNT_MAX`] is that many or more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backlog {
    pub store: Store,
    pub kind: Kind,
    /// Ready, of which some may wait behind their key.
    pub ready: u64,
    /// Ready at a later time. One whose time has come may still be among these until somebody looks for work.
    pub scheduled: u64,
    pub active: u64,
    pub failed: u64,
    pub stopped: u64,
    /// Since when, or from when on, the first of what is ready or scheduled may be leased. One that became ready again, as after a
    /// lost lease, may since then.
    pub first_at: Option<Time>,
}

/// A row of what a database answers: ready, ready behind a key, scheduled, active, failed, stopped; then the times of what could
/// be first.
pub(crate) struct Counted {
    pub counts: [i64; 6],
    pub firsts: [Option<i64>; 3],
}

impl Counted {
    pub fn of(self, store: &str, kind: &str) -> Result<Backlog, Damaged> {
        let [ready, laned, scheduled, active, failed, stopped] = self.counts;
        Ok(Backlog {
            store: word(store)?,
            kind: word(kind)?,
            ready: (unsigned(ready)? + unsigned(laned)?).min(COUNT_MAX),
            scheduled: unsigned(scheduled)?,
            active: unsigned(active)?,
            failed: unsigned(failed)?,
            stopped: unsigned(stopped)?,
            first_at: self.firsts.into_iter().flatten().min().map(Time::from_micros),
        })
    }
}

pub trait Backlogs: Send + Sync {
    /// Every kind that ever had an item, by store and kind; of one store, or of all.
    fn backlog(&self, store: Option<&Store>) -> impl Future<Output = Result<Vec<Backlog>, Error>> + Send;
}
