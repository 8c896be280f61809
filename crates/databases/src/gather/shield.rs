//! A database whose commits do not panic.
//!
//! What panics before a commit has written nothing and can be run again. A commit that panics may have happened: here it
//! becomes a commit that was not heard of, which a batch settles. So whatever still panics did so before any commit.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::control::{Control, QueueKey};
use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::Need;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, World};

use crate::segment::Pressed;
use crate::wait::caught;
use crate::{
    BatchId, Commit, Database, Error, Found, Head, Overdue, Place, Posted, Query, Settled, Tx, Whole,
};

#[derive(Debug)]
pub(super) struct Shield<D>(pub Arc<D>);

#[derive(Debug)]
pub(super) struct ShieldTx<T>(T);

impl<D: Database> Database for Shield<D> {
    type Tx<'a>
        = ShieldTx<D::Tx<'a>>
    where
        Self: 'a;

    async fn begin(&self, batch: BatchId) -> Result<Self::Tx<'_>, Error> {
        self.0.begin(batch).await.map(ShieldTx)
    }

    async fn settle(&self, batch: BatchId) -> Result<Settled, Error> {
        caught(self.0.settle(batch)).await.unwrap_or_else(|panic| Err(Error::Unknown(panic)))
    }

    fn pause(&self, span: Duration) -> impl Future<Output = ()> + Send {
        self.0.pause(span)
    }

    fn tables(&self) -> Arc<Tables> {
        self.0.tables()
    }

    fn add_table(&self, source: &str) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.add_table(source)
    }

    fn item(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Option<Item>, Error>> + Send {
        self.0.item(store, id)
    }

    fn whole(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Option<Whole>, Error>> + Send {
        self.0.whole(store, id)
    }

    fn list(&self, query: &Query) -> impl Future<Output = Result<Vec<Item>, Error>> + Send {
        self.0.list(query)
    }

    fn history(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Vec<Sealed>, Error>> + Send {
        self.0.history(store, id)
    }

    fn log(
        &self,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, Sealed)>, Error>> + Send {
        self.0.log(after, limit)
    }

    fn sequence(&self, limit: usize) -> impl Future<Output = Result<usize, Error>> + Send {
        self.0.sequence(limit)
    }

    fn head(&self) -> impl Future<Output = Result<Head, Error>> + Send {
        self.0.head()
    }

    fn due(
        &self,
        what: Overdue,
        after: Option<ItemId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Found>, Error>> + Send {
        self.0.due(what, after, limit)
    }

    fn upcoming(
        &self,
        store: &Store,
        kinds: &[Kind],
    ) -> impl Future<Output = Result<Vec<(Kind, Duration)>, Error>> + Send {
        self.0.upcoming(store, kinds)
    }

    fn control(&self, key: &QueueKey) -> impl Future<Output = Result<(Control, u32), Error>> + Send {
        self.0.control(key)
    }
}

impl<T: Tx> Tx for ShieldTx<T> {
    const BLOCKS: bool = T::BLOCKS;

    fn tables(&self) -> Arc<Tables> {
        self.0.tables()
    }

    fn lock(&mut self, need: &Need) -> impl Future<Output = Result<World, Error>> + Send {
        self.0.lock(need)
    }

    fn claim(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        after: Option<Place>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Place>, Error>> + Send {
        self.0.claim(world, store, kind, after, limit)
    }

    fn write(&mut self, wave: &[Change]) -> impl Future<Output = Result<usize, Error>> + Send {
        self.0.write(wave)
    }

    fn inbox(&mut self, limit: usize) -> impl Future<Output = Result<Vec<Posted>, Error>> + Send {
        self.0.inbox(limit)
    }

    fn judged(&mut self, rows: &[(i64, Option<String>)]) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.judged(rows)
    }

    fn has_set_aside(&self) -> bool {
        self.0.has_set_aside()
    }

    fn pressed(&mut self, pressed: Pressed) {
        self.0.pressed(pressed);
    }

    fn append(&mut self, entries: &[Sealed]) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.append(entries)
    }

    async fn commit(self) -> Commit {
        caught(self.0.commit()).await.unwrap_or(Commit::Unknown)
    }
}
