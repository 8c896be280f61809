//! PostgreSQL: many processes on one database, each batch a transaction of its own.
//!
//! ```text
//! postgres://user@host/database?schema=tenure&connections=4&pooler=1&sslmode=verify-full
//! ```
//!
//! READ COMMITTED with explicit row locks; a transaction waits for names, then controls, then lanes, then items, each in order, and for
//! nothing else but the first row of a name or a key. Everything is set-based and goes by primary key. The schema repeats
//! what the kernel promises, for whoever comes with psql. Nothing here decides anything.
//!
//! | part | what it does |
//! |---|---|
//! | `url`, `tls`, `pool`, `fault`, `value` | addresses, encryption, connections, errors, binary values |
//! | `migrate`, `catalog` | the schema; queues and lifecycles, which rows name by number |
//! | `tx` | how a transaction begins and ends |
//! | `load`, `controls`, `claim`, `write`, `remove`, `lanes`, `inbox` | what happens in between |
//! | `hints`, `laneless` | what this process remembers, and could forget |
//! | `read`, `look`, `log`, `follow` | reading outside a transaction; around one item; the log's order; how far its readers are |
//! | `wire` | telling other processes that there may be work |
//! | `doctor` | what the doctor asks of the server and its settings |

mod backlog;
mod backup;
mod catalog;
mod claim;
mod controls;
mod doctor;
mod fault;
mod follow;
mod hints;
mod inbox;
mod laneless;
mod lanes;
mod load;
mod log;
mod look;
pub mod migrate;
mod moment;
mod pool;
mod read;
mod remove;
mod tls;
mod tx;
mod url;
mod value;
mod wire;
mod write;

use std::sync::Arc;
use std::time::Duration;

use tenure_core::control::{Control, QueueKey};
use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::word::{Kind, Store};
use tokio_postgres::Client;

use crate::durability::Durability;
use crate::outside::Clock;
use crate::{BatchId, Database, Error, Foreign, Found, Head, Overdue, Query, Settled, Whole};
pub use backup::backup;
use catalog::{Adding, Catalog};
pub use claim::claim_statements;
use controls::Governed;
use hints::Hints;
use laneless::Laneless;
use moment::Spare;
use pool::{Ask, Pool};
pub use tx::PostgresTx;
use url::Address;
pub use url::SETTINGS;
use wire::Wire;
pub use wire::{Listener, WORDS_BYTES_MAX};

/// What a database is opened with.
#[derive(Clone, Default)]
pub struct Options {
    /// Lifecycles to put in force, as far as the database does not have them. One that it has stays as it is, also where
    /// another version of its kind is in force by now.
    pub tables: Tables,
    /// Tests bring their own time. Otherwise it is the server's.
    pub clock: Option<Clock>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("tables", &self.tables).finish_non_exhaustive()
    }
}

/// Why a database could not be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpenError {
    /// The URL is no address.
    Address(String),
    /// There are no certificates to judge the server's by.
    Roots(String),
    /// The schema has something that this program does not know.
    Newer(String),
    /// The schema lacks something that this program needs, and was not to be changed.
    Older(String),
    Database(Error),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::Address(why) => write!(f, "not an address of a PostgreSQL database: {why}"),
            OpenError::Roots(why) => f.write_str(why),
            OpenError::Newer(what) => {
                write!(
                    f,
                    "the schema was made by a newer Tenure ({what} is not known here); upgrade this one"
                )
            }
            OpenError::Older(what) => {
                write!(
                    f,
                    "the schema was made by an older Tenure ({what} is missing); run `tenure migrate` first"
                )
            }
            OpenError::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

/// A connection for SQL of one's own, with the server's settings, and what moves its bytes.
pub async fn plain(url: &str) -> Result<(Client, impl Future<Output = ()> + Send + use<>), OpenError> {
    let (client, driver) = Address::bare(url)?.connect().await?;
    // Whoever uses the client is told what went wrong.
    Ok((client, async { driver.await.unwrap_or_default() }))
}

pub struct Postgres {
    pool: Pool,
    catalog: Catalog,
    hints: Hints,
    laneless: Laneless,
    governed: Governed,
    spare: Spare,
    wire: Wire,
    clock: Option<Clock>,
    schema: Arc<str>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Postgres {
    /// Opens a database and brings its schema up to date.
    pub async fn connect(url: &str, options: Options) -> Result<Postgres, OpenError> {
        let address = Address::parse(url)?;
        let pool = Pool::new(&address, address.connections);
        let lent = pool.lend().await?;
        migrate::bring_up(&lent, &address).await?;
        drop(lent);
        let catalog = Catalog::new(Pool::new(&address, 1), &options.tables);
        catalog.refresh().await?;
        for table in options.tables.iter() {
            if catalog.known().tables.version(&table.hash()).is_none() {
                catalog.add(table, Adding::IfUnknown).await?;
            }
        }
        catalog.refresh().await?;
        Ok(Postgres::with(address, pool, catalog, options.clock))
    }

    /// Opens a database for looking only: nothing is brought up to date, and the server refuses to write.
    pub async fn look(url: &str) -> Result<Postgres, OpenError> {
        let address = Address::parse(url)?.looking();
        let pool = Pool::new(&address, 1);
        if let Some(missing) = migrate::missing(&*pool.lend().await?, &address).await?.first() {
            return Err(OpenError::Older(format!("migration {}", missing.name)));
        }
        let catalog = Catalog::new(Pool::new(&address, 1), &Tables::default());
        match catalog.refresh().await {
            // A lifecycle that can not be read is for the doctor to tell.
            Ok(_) | Err(Error::Statement(_)) => Ok(Postgres::with(address, pool, catalog, None)),
            Err(error) => Err(error.into()),
        }
    }

    fn with(address: Address, pool: Pool, catalog: Catalog, clock: Option<Clock>) -> Postgres {
        Postgres {
            pool,
            catalog,
            hints: Hints::default(),
            laneless: Laneless::default(),
            governed: Governed::default(),
            spare: Spare::default(),
            wire: Wire::new(&address),
            clock,
            schema: address.schema.into(),
        }
    }
}

impl Postgres {
    /// What an answer of this server has survived, by the settings that its connections have.
    pub async fn durability(&self) -> Result<Durability, Error> {
        let asked = "select current_setting('synchronous_commit'), current_setting('fsync')";
        let found = self.pool.lend().await?.one(Ask::rows(asked, [])).await?;
        let is_off = |row: &tokio_postgres::Row| (0..2).any(|column| row.get::<_, &str>(column) == "off");
        Ok(if found.rows.iter().any(is_off) { Durability::Relaxed } else { Durability::Full })
    }
}

impl Database for Postgres {
    type Tx<'a> = PostgresTx<'a>;

    async fn begin(&self, batch: BatchId) -> Result<PostgresTx<'_>, Error> {
        Ok(PostgresTx::new(self, self.pool.lend().await?, batch))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "here a transaction that lost a race waits for its next try"
    )]
    async fn pause(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    async fn settle(&self, batch: BatchId) -> Result<Settled, Error> {
        self.settle_batch(batch).await
    }

    fn tables(&self) -> Arc<Tables> {
        self.catalog.known().tables.clone()
    }

    fn foreign(&self) -> Vec<Foreign> {
        let known = self.catalog.known();
        let foreign = known.foreign.iter();
        foreign.map(|(number, kind)| Foreign { kind: kind.clone(), number: i64::from(*number) }).collect()
    }

    async fn add_table(&self, source: &str) -> Result<(), Error> {
        let table = parse(source).map_err(|faults| {
            let faults: Vec<String> =
                faults.iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect();
            Error::Statement(faults.join("\n"))
        })?;
        self.catalog.add(&table, Adding::InForce).await?;
        self.catalog.refresh().await.map(drop)
    }

    async fn item(&self, store: &Store, id: ItemId) -> Result<Option<Item>, Error> {
        self.read_item(store, id).await
    }

    async fn whole(&self, store: &Store, id: ItemId) -> Result<Option<Whole>, Error> {
        self.read_whole(store, id).await
    }

    async fn list(&self, query: &Query) -> Result<Vec<Item>, Error> {
        self.read_list(query).await
    }

    async fn history(&self, store: &Store, id: ItemId) -> Result<Vec<Sealed>, Error> {
        self.read_history(store, id).await
    }

    async fn log(&self, after: u64, limit: usize) -> Result<Vec<(u64, Sealed)>, Error> {
        self.read_log(after, limit).await
    }

    async fn sequence(&self, limit: usize) -> Result<usize, Error> {
        self.place_segments(limit).await
    }

    async fn head(&self) -> Result<Head, Error> {
        self.read_head().await
    }

    async fn due(&self, what: Overdue, after: Option<ItemId>, limit: usize) -> Result<Vec<Found>, Error> {
        self.read_due(what, after, limit).await
    }

    async fn upcoming(&self, store: &Store, kinds: &[Kind]) -> Result<Vec<(Kind, Duration)>, Error> {
        self.read_upcoming(store, kinds).await
    }

    async fn control(&self, key: &QueueKey) -> Result<(Control, u32), Error> {
        self.read_control(key).await
    }
}
