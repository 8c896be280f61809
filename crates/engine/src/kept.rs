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
use tenure_databases::durability::Durability;
use tenure_databases::follow::{Follow, MessageId};
use tenure_databases::gather::Gather;
use tenure_databases::look::{Look, Outline};
use tenure_databases::memory::Memory;
use tenure_databases::outside::{chance, now};
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::url::Url;
use tenure_databases::{Database, Error, Foreign, Found, Head, Order, Overdue, Query, Whole};

use crate::asked;
use crate::error::OpenError;
use crate::explain::Facts;

#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Memory(Arc<Memory>),
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

type Asked<'a, T> = asked::Asked<'a, Result<T, Error>>;

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
    pub async fn open(url: &Url, tables: Tables, durability: Durability) -> Result<Kept, OpenError> {
        Ok(match url {
            Url::Memory => Kept::Memory(Arc::new(Memory::new(tables, Arc::new(now)))),
            Url::Sqlite(path) => {
                let relaxed = durability == Durability::Relaxed;
                let options = sqlite::Options { tables, relaxed, ..sqlite::Options::default() };
                Kept::Sqlite(Arc::new(Sqlite::open(path, options)?))
            }
            Url::Postgres(url) => {
                let options = postgres::Options { tables, ..postgres::Options::default() };
                Kept::Postgres(Arc::new(Postgres::connect(url.reveal(), options).await?))
            }
        })
    }

    /// What an answer has survived.
    pub async fn durability(&self) -> Result<Durability, Error> {
        match self {
            Kept::Memory(_) => Ok(Durability::None),
            Kept::Sqlite(database) => Ok(database.durability()),
            Kept::Postgres(database) => database.durability().await,
        }
    }

    /// Starts what writes. SQLite has a thread of its own; the others run where this is called.
    pub fn gather(&self) -> Gather {
        let seed = chance();
        match self {
            Kept::Memory(database) => Gather::of_memory(database.clone(), seed),
            Kept::Sqlite(database) => Gather::of_sqlite(database.clone(), seed),
            Kept::Postgres(database) => Gather::of_postgres(database.clone(), seed),
        }
    }

    pub fn item<'a>(&'a self, store: &'a Store, id: ItemId) -> Asked<'a, Option<Item>> {
        on!(self, database => Box::pin(database.item(store, id)))
    }

    pub fn whole<'a>(&'a self, store: &'a Store, id: ItemId) -> Asked<'a, Option<Whole>> {
        on!(self, database => Box::pin(database.whole(store, id)))
    }

    pub fn list<'a>(&'a self, query: &'a Query) -> Asked<'a, Vec<Item>> {
        on!(self, database => Box::pin(database.list(query)))
    }

    pub fn history<'a>(&'a self, store: &'a Store, id: ItemId) -> Asked<'a, Vec<Sealed>> {
        on!(self, database => Box::pin(database.history(store, id)))
    }

    pub fn log<'a>(&'a self, after: u64, limit: usize) -> Asked<'a, Vec<(u64, Sealed)>> {
        on!(self, database => Box::pin(database.log(after, limit)))
    }

    pub fn head<'a>(&'a self) -> Asked<'a, Head> {
        on!(self, database => Box::pin(database.head()))
    }

    pub fn sequence<'a>(&'a self, limit: usize) -> Asked<'a, usize> {
        on!(self, database => Box::pin(database.sequence(limit)))
    }

    pub fn due<'a>(&'a self, what: Overdue, after: Option<ItemId>, limit: usize) -> Asked<'a, Vec<Found>> {
        on!(self, database => Box::pin(database.due(what, after, limit)))
    }

    pub fn upcoming<'a>(&'a self, store: &'a Store, kinds: &'a [Kind]) -> Asked<'a, Vec<(Kind, Duration)>> {
        on!(self, database => Box::pin(database.upcoming(store, kinds)))
    }

    pub fn control<'a>(&'a self, key: &'a QueueKey) -> Asked<'a, (Control, u32)> {
        on!(self, database => Box::pin(database.control(key)))
    }

    /// See [`Look::behind`].
    pub fn behind(&self) -> Asked<'_, Option<Duration>> {
        on!(self, database => Box::pin(database.behind()))
    }

    pub fn facts<'a>(&'a self, store: &'a Store, id: ItemId) -> Asked<'a, Option<Facts>> {
        on!(self, database => Box::pin(Facts::read(&**database, store, id)))
    }

    pub fn backlog<'a>(&'a self, store: Option<&'a Store>) -> Asked<'a, Vec<Backlog>> {
        on!(self, database => Box::pin(database.backlog(store)))
    }

    pub fn take_in<'a>(&'a self, limit: usize, draw: &'a mut Draw) -> Asked<'a, Turn> {
        on!(self, database => Box::pin(take_in(&**database, limit, draw)))
    }

    pub fn standing<'a>(
        &'a self,
        store: &'a Store,
        kind: &'a Kind,
        after: Option<&'a Key>,
        limit: usize,
    ) -> Asked<'a, Vec<(Key, ItemId)>> {
        on!(self, database => Box::pin(database.standing(store, kind, after, limit)))
    }

    pub fn message<'a>(&'a self, store: &'a Store, message: MessageId) -> Asked<'a, Option<Message>> {
        on!(self, database => Box::pin(database.message(store, message)))
    }

    pub fn linked<'a>(
        &'a self,
        to: ItemId,
        order: Order,
        after: Option<ItemId>,
        limit: usize,
    ) -> Asked<'a, Vec<ItemId>> {
        on!(self, database => Box::pin(database.linked(to, order, after, limit)))
    }

    pub fn outlines<'a>(&'a self, query: &'a Query) -> Asked<'a, Vec<Outline>> {
        on!(self, database => Box::pin(database.outlines(query)))
    }

    pub fn record<'a>(&'a self, id: RecordId) -> Asked<'a, Option<Record>> {
        on!(self, database => Box::pin(database.record(id)))
    }

    pub fn secret<'a>(&'a self) -> Asked<'a, String> {
        on!(self, database => Box::pin(database.secret()))
    }

    pub fn mark<'a>(&'a self, name: &'a Key) -> Asked<'a, Option<u64>> {
        on!(self, database => Box::pin(database.mark(name)))
    }

    pub fn set_mark<'a>(&'a self, name: &'a Key, value: u64) -> Asked<'a, ()> {
        on!(self, database => Box::pin(database.set_mark(name, value)))
    }

    pub fn forget_mark<'a>(&'a self, name: &'a Key) -> Asked<'a, ()> {
        on!(self, database => Box::pin(database.forget_mark(name)))
    }

    pub fn tables(&self) -> Arc<Tables> {
        on!(self, database => database.tables())
    }

    pub fn foreign(&self) -> Vec<Foreign> {
        on!(self, database => database.foreign())
    }

    pub fn add_table<'a>(&'a self, source: &'a str) -> Asked<'a, ()> {
        on!(self, database => Box::pin(database.add_table(source)))
    }
}
