//! The database behind an engine: one of the three, opened by its URL. Reading goes through here, writing through the
//! gatherer of batches.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::control::{Control, QueueKey};
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::id::{ItemId, RecordId};
use tenure_core::item::Item;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::word::{Key, Kind, Store};
use tenure_core::world::{Message, Record};
use tenure_databases::backlog::{Backlog, Backlogs};
use tenure_databases::batch::inbox::{Turn, take_in};
use tenure_databases::follow::{Follow, MessageId};
use tenure_databases::gather::{Gather, Options, Writers};
use tenure_databases::look::Look;
use tenure_databases::memory::Memory;
use tenure_databases::outside::{chance, now};
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::url::Url;
use tenure_databases::{Database, Error, Found, Head, Order, Overdue, Query, Whole};

use crate::error::OpenError;
use crate::explain::Facts;

#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Memory(Arc<Memory>),
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

macro_rules! on {
    ($kept:expr, $database:ident => $work:expr) => {
        match $kept {
            Kept::Memory($database) => $work,
            Kept::Sqlite($database) => $work,
            Kept::Postgres($database) => $work,
        }
    };
}

impl Kept {
    pub async fn open(url: &Url, tables: Tables) -> Result<Kept, OpenError> {
        Ok(match url {
            Url::Memory => Kept::Memory(Arc::new(Memory::new(tables, Arc::new(now)))),
            Url::Sqlite(path) => {
                let options = sqlite::Options { tables, ..sqlite::Options::default() };
                Kept::Sqlite(Arc::new(Sqlite::open(path, options)?))
            }
            Url::Postgres(url) => {
                let options = postgres::Options { tables, ..postgres::Options::default() };
                Kept::Postgres(Arc::new(Postgres::connect(url, options).await?))
            }
        })
    }

    /// Starts what writes. SQLite has a thread of its own; the others run where this is called.
    pub fn gather(&self) -> Gather {
        let seed = chance();
        match self {
            Kept::Memory(database) => Gather::start(database.clone(), Options::new(Writers::Tasks(1), seed)),
            Kept::Sqlite(database) => Gather::start(database.clone(), Options::new(Writers::Thread, seed)),
            Kept::Postgres(database) => Gather::start(database.clone(), Options::new(Writers::TASKS, seed)),
        }
    }

    pub async fn item(&self, store: &Store, id: ItemId) -> Result<Option<Item>, Error> {
        on!(self, database => database.item(store, id).await)
    }

    pub async fn whole(&self, store: &Store, id: ItemId) -> Result<Option<Whole>, Error> {
        on!(self, database => database.whole(store, id).await)
    }

    pub async fn list(&self, query: &Query) -> Result<Vec<Item>, Error> {
        on!(self, database => database.list(query).await)
    }

    pub async fn history(&self, store: &Store, id: ItemId) -> Result<Vec<Sealed>, Error> {
        on!(self, database => database.history(store, id).await)
    }

    pub async fn log(&self, after: u64, limit: usize) -> Result<Vec<(u64, Sealed)>, Error> {
        on!(self, database => database.log(after, limit).await)
    }

    pub async fn head(&self) -> Result<Head, Error> {
        on!(self, database => database.head().await)
    }

    pub async fn sequence(&self, limit: usize) -> Result<usize, Error> {
        on!(self, database => database.sequence(limit).await)
    }

    pub async fn due(&self, what: Overdue, after: Option<ItemId>, limit: usize) -> Result<Vec<Found>, Error> {
        on!(self, database => database.due(what, after, limit).await)
    }

    pub async fn upcoming(&self, store: &Store, kinds: &[Kind]) -> Result<Vec<(Kind, Duration)>, Error> {
        on!(self, database => database.upcoming(store, kinds).await)
    }

    pub async fn control(&self, key: &QueueKey) -> Result<(Control, u32), Error> {
        on!(self, database => database.control(key).await)
    }

    pub async fn facts(&self, store: &Store, id: ItemId) -> Result<Option<Facts>, Error> {
        on!(self, database => Facts::read(&**database, store, id).await)
    }

    pub async fn backlog(&self, store: Option<&Store>) -> Result<Vec<Backlog>, Error> {
        on!(self, database => database.backlog(store).await)
    }

    pub async fn take_in(&self, limit: usize, draw: &mut Draw) -> Result<Turn, Error> {
        on!(self, database => take_in(&**database, limit, draw).await)
    }

    pub async fn standing(
        &self,
        store: &Store,
        kind: &Kind,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, ItemId)>, Error> {
        on!(self, database => database.standing(store, kind, after, limit).await)
    }

    pub async fn message(&self, store: &Store, message: MessageId) -> Result<Option<Message>, Error> {
        on!(self, database => database.message(store, message).await)
    }

    pub async fn linked(
        &self,
        to: ItemId,
        order: Order,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<Vec<ItemId>, Error> {
        on!(self, database => database.linked(to, order, after, limit).await)
    }

    pub async fn record(&self, id: RecordId) -> Result<Option<Record>, Error> {
        on!(self, database => database.record(id).await)
    }

    pub async fn secret(&self) -> Result<String, Error> {
        on!(self, database => database.secret().await)
    }

    pub async fn mark(&self, name: &Key) -> Result<Option<u64>, Error> {
        on!(self, database => database.mark(name).await)
    }

    pub async fn set_mark(&self, name: &Key, value: u64) -> Result<(), Error> {
        on!(self, database => database.set_mark(name, value).await)
    }

    pub fn tables(&self) -> Arc<Tables> {
        on!(self, database => database.tables())
    }

    pub async fn add_table(&self, source: &str) -> Result<(), Error> {
        on!(self, database => database.add_table(source).await)
    }
}
