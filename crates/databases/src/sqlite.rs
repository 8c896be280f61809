//! The SQLite database: one file, durable with every commit.
//!
//! One connection writes, a few read beside it. Any number of processes may use the file at the same time: the write lock
//! is the file's, and nothing that another process can change is remembered from one transaction to the next.
//!
//! All of it runs in the thread of the caller; the futures are ready at once, but for the wait for the connection.
//!
//! | file | what it does |
//! |---|---|
//! | `open`, `mounts`, `migrate` | what is refused, the settings, the schema |
//! | `tx` | a transaction: begin, commit, roll back, a commit that was not heard of |
//! | `load`, `claim`, `write`, `remove`, `log` | its steps |
//! | `catalog`, `rows`, `held` | the numbers of lifecycles and queues; items from rows; items that were leased just now |
//! | `read`, `look` | everything outside transactions |
//! | `inbox`, `backup`, `side` | rows from others' transactions, copies, where the server is |
//! | `watch` | whether somebody wrote |
//! | `doctor` | what the doctor asks of the file, its settings and its disk |

mod ahead;
mod backlog;
mod backup;
mod catalog;
mod doctor;
mod fault;
mod follow;
mod held;
#[macro_use]
mod rows;
mod claim;
mod inbox;
mod insert;
mod lanes;
mod load;
mod log;
mod look;
pub mod migrate;
pub mod mounts;
mod open;
mod read;
mod remove;
pub mod side;
mod tx;
mod watch;
mod write;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tenure_core::control::{Control, QueueKey};
use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::word::{Kind, Store};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::outside::{Clock, now};
use crate::wait::block_for;
use crate::{BatchId, Commit, Database, Error, Foreign, Found, Head, Overdue, Query, Settled, Whole};
use catalog::Lifecycles;
use fault::Fault;
use read::Readers;
use tx::Writer;

pub use crate::durability::Durability;
pub use open::{OpenError, check_version};
pub use tx::SqliteTx;
pub use watch::Watch;

/// How a database is opened.
#[derive(Clone)]
pub struct Options {
    /// Lifecycles to put in force, as far as the file does not have them. One that it has stays as it is, also where
    /// another version of its kind is in force by now.
    pub tables: Tables,
    /// Where the time comes from: the machine's clock, unless a test brings its own.
    pub clock: Option<Clock>,
    /// A commit is answered before it is on the disk: a power cut may take the last ones back. Never on by itself.
    pub relaxed: bool,
    /// How long a transaction waits for another process that is writing.
    pub busy: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { tables: Tables::default(), clock: None, relaxed: false, busy: Duration::from_secs(5) }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("relaxed", &self.relaxed)
            .field("busy", &self.busy)
            .finish_non_exhaustive()
    }
}

/// What the connections of one database have in common.
struct Shared {
    path: PathBuf,
    options: Options,
    clock: Clock,
    lifecycles: RwLock<Arc<Lifecycles>>,
    /// How often it was noticed that others had written to the file.
    foreign: AtomicU64,
}

impl Shared {
    fn lifecycles(&self) -> Arc<Lifecycles> {
        self.lifecycles.read().expect("nobody panics while holding them").clone()
    }

    fn set_lifecycles(&self, lifecycles: Arc<Lifecycles>) {
        *self.lifecycles.write().expect("nobody panics while holding them") = lifecycles;
    }
}

/// The readers are closed first: who closes the file last puts the write-ahead log in its place, and they can not.
pub struct Sqlite {
    shared: Arc<Shared>,
    readers: Readers,
    writer: Arc<Mutex<Writer>>,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Opens a database, makes it where there is none, and brings an older schema up to date.
    pub fn open(path: &Path, options: Options) -> Result<Sqlite, OpenError> {
        let path = open::check_place(path)?;
        let connection = open::writer(&path, &options)?;
        let shared = Arc::new(Shared {
            path,
            clock: options.clock.clone().unwrap_or_else(|| Arc::new(now)),
            lifecycles: RwLock::new(Arc::new(Lifecycles::expected(&options.tables))),
            foreign: AtomicU64::new(0),
            options,
        });
        let mut writer = Writer::new(connection, shared.clone());
        ship(&mut writer)?;
        let readers = Readers::new(shared.clone());
        Ok(Sqlite { shared, writer: Arc::new(Mutex::new(writer)), readers })
    }

    /// Opens a database for looking only: nothing is made, brought up to date or set, and every write is refused.
    pub fn look(path: &Path) -> Result<Sqlite, OpenError> {
        Sqlite::look_at(open::check_place(path)?)
    }

    /// The same for a copy that nobody has opened before, wherever it is: what makes a network file system dangerous is that two
    /// write, and readers beside them.
    pub fn look_at_copy(path: &Path) -> Result<Sqlite, OpenError> {
        Sqlite::look_at(path.into())
    }

    fn look_at(path: PathBuf) -> Result<Sqlite, OpenError> {
        let connection = open::looker(&path)?;
        let options = Options::default();
        let shared = Arc::new(Shared {
            path,
            clock: Arc::new(now),
            options,
            lifecycles: RwLock::default(),
            foreign: AtomicU64::new(0),
        });
        let writer = Writer::new(connection, shared.clone());
        Ok(Sqlite { readers: Readers::new(shared.clone()), shared, writer: Arc::new(Mutex::new(writer)) })
    }

    pub fn durability(&self) -> Durability {
        if self.shared.options.relaxed { Durability::Relaxed } else { Durability::Full }
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Whether a file is where no database may be opened. The refusal says why.
    pub fn may_be_at(path: &Path) -> Result<(), OpenError> {
        open::check_place(path).map(drop)
    }

    /// Writes a copy while the database is in use. The copy is of one moment and opens like the original.
    pub async fn backup(&self, to: &Path) -> Result<(), Error> {
        self.readers.outside(|connection| backup::backup(connection, to)).await
    }

    async fn writer(&self) -> OwnedMutexGuard<Writer> {
        self.writer.clone().lock_owned().await
    }
}

/// Adds the lifecycles that the file has never had.
fn ship(writer: &mut Writer) -> Result<(), OpenError> {
    let shared = writer.shared.clone();
    let read = || {
        Lifecycles::current(&writer.connection, &shared.lifecycles()).map_err(|fault| match fault {
            Fault::Sql(error) => OpenError::Sqlite(error),
            Fault::Row(damaged) | Fault::Item(_, damaged) => OpenError::Lifecycle(damaged.0),
        })
    };
    let mut lifecycles = read()?;
    // Mostly there is nothing to do, and then nobody is kept waiting.
    if !shared.options.tables.iter().all(|table| lifecycles.has(table)) {
        let behavior = rusqlite::TransactionBehavior::Immediate;
        let transaction = rusqlite::Transaction::new_unchecked(&writer.connection, behavior)?;
        // Another process may have been first.
        let found = read()?;
        for table in shared.options.tables.iter().filter(|table| !found.has(table)) {
            catalog::add_table(&transaction, table)?;
        }
        lifecycles = read()?;
        transaction.commit()?;
    }
    shared.set_lifecycles(lifecycles);
    Ok(())
}

impl Database for Sqlite {
    type Tx<'a> = SqliteTx;

    async fn begin(&self, batch: BatchId) -> Result<SqliteTx, Error> {
        SqliteTx::begin(self.writer().await, batch)
    }

    async fn pause(&self, span: Duration) {
        block_for(span);
    }

    /// Looks for the batch in the log. If it is not there something else is written in its place: until then a commit
    /// mark that did not get there in time could still be found after a crash.
    async fn settle(&self, batch: BatchId) -> Result<Settled, Error> {
        let mut writer = self.writer().await;
        writer.begin()?;
        // One that this connection does not know of is looked for in all of the log.
        let from = writer.unheard.iter().find(|(unheard, _)| *unheard == batch).map_or(0, |(_, from)| *from);
        let found = log::has_batch(&writer.connection, batch, from);
        if !matches!(found, Ok(false)) {
            writer.roll_back();
            found.map_err(|error| writer.judge(Fault::Sql(error)))?;
            writer.unheard.retain(|(unheard, _)| *unheard != batch);
            return Ok(Settled::Committed);
        }
        let sql = "insert into meta (name, value) values ('settled', ?1) on conflict do update set value = excluded.value";
        if let Err(error) = writer.connection.execute(sql, [batch.0.to_be_bytes()]) {
            writer.roll_back();
            return Err(writer.judge(Fault::Sql(error)));
        }
        match writer.commit() {
            Commit::Done => {
                writer.unheard.retain(|(unheard, _)| *unheard != batch);
                Ok(Settled::NeverWill)
            }
            Commit::Not(error) => Err(error),
            Commit::Unknown => Err(Error::Unavailable("the database file can not be written".to_string())),
        }
    }

    fn tables(&self) -> Arc<Tables> {
        self.shared.lifecycles().tables.clone()
    }

    fn foreign(&self) -> Vec<Foreign> {
        let lifecycles = self.shared.lifecycles();
        let foreign = lifecycles.foreign.iter();
        foreign.map(|(number, kind)| Foreign { kind: kind.clone(), number: *number }).collect()
    }

    async fn add_table(&self, source: &str) -> Result<(), Error> {
        let table = parse(source).map_err(|faults| {
            let faults: Vec<String> =
                faults.iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect();
            Error::Statement(faults.join("\n"))
        })?;
        let mut writer = self.writer().await;
        writer.begin()?;
        let known = self.shared.lifecycles();
        let added = catalog::add_table(&writer.connection, &table).map_err(Fault::Sql);
        match added.and_then(|()| Lifecycles::current(&writer.connection, &known)) {
            Err(fault) => {
                writer.roll_back();
                Err(writer.judge(fault))
            }
            Ok(lifecycles) => match writer.commit() {
                Commit::Done => {
                    self.shared.set_lifecycles(lifecycles);
                    Ok(())
                }
                Commit::Not(error) => Err(error),
                // Adding it once more does no harm.
                Commit::Unknown => {
                    Err(Error::Unknown("the lifecycle may have been added or not".to_string()))
                }
            },
        }
    }

    async fn item(&self, store: &Store, id: ItemId) -> Result<Option<Item>, Error> {
        self.readers.read(|context| read::item(context, store, id)).await
    }

    async fn whole(&self, store: &Store, id: ItemId) -> Result<Option<Whole>, Error> {
        self.readers.read(|context| read::whole(context, store, id)).await
    }

    async fn list(&self, query: &Query) -> Result<Vec<Item>, Error> {
        self.readers.read(|context| read::list(context, query)).await
    }

    async fn history(&self, store: &Store, id: ItemId) -> Result<Vec<Sealed>, Error> {
        self.readers.read(|context| log::history(context, store, id)).await
    }

    async fn log(&self, after: u64, limit: usize) -> Result<Vec<(u64, Sealed)>, Error> {
        self.readers.read(|context| log::log(context.connection, after, limit)).await
    }

    /// Commits come one after another, and each has its place at once.
    async fn sequence(&self, _limit: usize) -> Result<usize, Error> {
        Ok(0)
    }

    async fn head(&self) -> Result<Head, Error> {
        self.readers.read(|context| log::head(context.connection)).await
    }

    async fn due(&self, what: Overdue, after: Option<ItemId>, limit: usize) -> Result<Vec<Found>, Error> {
        let clock = (self.shared.clock)();
        self.readers.read(|context| read::due(context, clock, what, after, limit)).await
    }

    async fn upcoming(&self, store: &Store, kinds: &[Kind]) -> Result<Vec<(Kind, Duration)>, Error> {
        let clock = (self.shared.clock)();
        self.readers.read(|context| read::upcoming(context, clock, store, kinds)).await
    }

    async fn control(&self, key: &QueueKey) -> Result<(Control, u32), Error> {
        self.readers.read(|context| read::control(context, key)).await
    }
}
