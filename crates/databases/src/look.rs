//! What somebody who asks about one item needs beside it: the time, who comes before it, the lane of its key, what a name
//! stands for, what is linked to it, a record of it, and why a row was set aside.
//!
//! Plain reads that lock nothing, each over few rows, however many there are; but for outlines, which are a few columns of every row
//! that a list has.

use std::future::Future;
use std::time::Duration;

use tenure_core::id::{ItemId, RecordId};
use tenure_core::item::Item;
use tenure_core::time::{CLOCK_NOISE, Time};
use tenure_core::word::{Kind, Label, Store};
use tenure_core::world::{Lane, LaneKey, NameKey, Named, Record};

use crate::{Error, Order, Query};

/// How many ready items come before one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ahead {
    /// Older ones of its key, where its kind has a turn for each key.
    pub of_key: usize,
    /// Those of its kind that are offered before it: the keyless ones that rank lower, and the next of every other key.
    pub of_kind: usize,
}

/// A row that can not be read and is offered to nobody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetAside {
    pub kind: Kind,
    /// None: not even that can be told.
    pub state: Option<Label>,
    pub why: String,
    pub at: Time,
}

/// What a long list is sorted by, without the item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outline {
    pub id: ItemId,
    /// [`Item::rank`]. None: it failed or was stopped, and has left every queue.
    pub rank: Option<Time>,
    /// It has or had a link to another item.
    pub is_linked: bool,
}

/// Rows that have come due and that no claim has moved over yet: so many are looked at for who comes first, and no more.
pub(crate) const DUE_MAX: usize = 1_000;

pub trait Look: Send + Sync {
    /// The clock that judges leases.
    fn now(&self) -> impl Future<Output = Result<Time, Error>> + Send;

    /// The latest time in the log: later than [`Look::now`] if the clock was ahead once, or is behind.
    fn latest(&self) -> impl Future<Output = Result<Time, Error>> + Send;

    /// By how much the clock is behind the log. None: by less than [`CLOCK_NOISE`].
    fn behind(&self) -> impl Future<Output = Result<Option<Duration>, Error>> + Send {
        async {
            let (latest, now) = (self.latest().await?, self.now().await?);
            Ok(Some(latest.since(now)).filter(|behind| *behind >= CLOCK_NOISE))
        }
    }

    /// Who comes before an item that is ready, each counted up to `most`.
    fn ahead(&self, item: &Item, most: usize) -> impl Future<Output = Result<Ahead, Error>> + Send;

    /// All items of a query in outline, in no order: its order, its limit and what it begins after are not looked at. A long list is
    /// counted and sorted by this without its items being read.
    fn outlines(&self, query: &Query) -> impl Future<Output = Result<Vec<Outline>, Error>> + Send;

    fn lane(&self, key: &LaneKey) -> impl Future<Output = Result<Lane, Error>> + Send;

    /// What a name stands for. None: it was never used.
    fn named(&self, key: &NameKey) -> impl Future<Output = Result<Option<Named>, Error>> + Send;

    /// The items that have or had a link to one, by id, after one in that order.
    fn linked(
        &self,
        to: ItemId,
        order: Order,
        after: Option<ItemId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<ItemId>, Error>> + Send;

    /// A record by its id alone. Whether its item is the caller's to see is not looked at.
    fn record(&self, id: RecordId) -> impl Future<Output = Result<Option<Record>, Error>> + Send;

    /// None: the row is as good as any, or nobody has tried to read it.
    fn set_aside(
        &self,
        store: &Store,
        id: ItemId,
    ) -> impl Future<Output = Result<Option<SetAside>, Error>> + Send;
}
