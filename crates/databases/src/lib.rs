//! Where Tenure keeps its items.
//!
//! A database locks, loads and writes; it decides nothing. Its interface is narrow and knows no business verb: a
//! transaction locks what a request needs, offers candidates to an acquire, writes the rows a decision made, appends
//! the entries and commits. [`batch::run`] is the one algorithm above it: load, decide, write, for many requests at
//! once, each with its own answer.
//!
//! The log leaves a database as a file ([`export`]), becomes a database again ([`replay`]), and is held against itself in
//! either form ([`verify`]). What should hold in a database at any time is asked by the [`doctor`].
//!
//! Who follows the log keeps how far they have come with [`follow`]; who asks about one item looks around it with [`look`].
//!
//! Three databases implement it: [`memory`] (tests, simulation), [`sqlite`] (one file) and [`postgres`]. They pass one
//! conformance suite.

pub mod backlog;
pub mod batch;
pub mod doctor;
pub mod durability;
pub mod export;
pub mod follow;
pub mod gather;
mod id_map;
pub mod look;
pub mod measure;
pub mod memory;
pub mod outside;
pub mod postgres;
pub mod regular_file;
pub mod replay;
pub mod row;
pub mod segment;
pub mod sqlite;
pub mod url;
pub mod verify;
pub mod wait;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::actor::Owner;
use tenure_core::body::Body;
use tenure_core::code::Problem;
use tenure_core::control::{Control, QueueKey};
use tenure_core::entry::Sealed;
use tenure_core::execution::Execution;
use tenure_core::hash::Hash;
use tenure_core::id::{Fence, ItemId};
use tenure_core::item::Item;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::lifecycle::{Phase, State};
use tenure_core::request::{Due, Need};
use tenure_core::time::Time;
use tenure_core::word::{Key, Kind, Label, Store};
use tenure_core::world::{Change, Message, Record, World};

use row::item::{FAILED, STOPPED};
use segment::Pressed;

/// Names one batch, so that a commit whose outcome was not heard can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BatchId(pub u128);

/// The world failed, not the request. Nothing is ever half-written: a transaction is all or nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// Another transaction won, and trying again will see what it did. A unique index that is hit by a row of this very
    /// batch is no race but a [`Error::Statement`]: trying again would hit it again.
    LostRace(String),
    /// The database can not be reached or can not write. Nothing was written; callers may retry later.
    Unavailable(String),
    /// Another process holds a lock on the database and did not release it in time. Nothing was written.
    Locked(String),
    /// The database answered a statement with an error that is about the statement, or wrote other rows than it was
    /// told to. Nothing was written.
    Statement(String),
    /// It may have been written or not, and the database can not be asked. Repeating is safe for what has a name, a
    /// fence or a version, which is everything but a create without an idempotency key.
    Unknown(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::LostRace(why) => write!(f, "lost a race: {why}"),
            Error::Unavailable(why) | Error::Locked(why) => write!(f, "the database is unavailable: {why}"),
            Error::Statement(why) => write!(f, "the database refused a statement: {why}"),
            Error::Unknown(why) => write!(f, "whether it was written is unknown: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::LostRace(_) | Error::Unavailable(_) | Error::Locked(_) | Error::Unknown(_) => true,
            Error::Statement(_) => false,
        }
    }
}

/// How a COMMIT ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Commit {
    /// Durable, by the database's settings.
    Done,
    /// It certainly did not happen.
    Not(Error),
    /// The answer was lost. Never guessed: [`Database::settle`] finds out.
    Unknown,
}

/// What became of a batch whose commit was not heard of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settled {
    Committed,
    /// It has not been committed and never will be.
    NeverWill,
}

/// What a sweeper looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overdue {
    /// Leases and windows that have ended, and commits that were not finished.
    Time,
    /// Leases whose session has ended.
    Lapsed,
}

/// A row that a sweeper found; what is really due is decided when its sweep is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub store: Store,
    pub item: ItemId,
    pub fence: Fence,
    pub due: Due,
}

/// Where an item stands in the queue of its kind: candidates are offered in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    pub rank: Time,
    pub id: ItemId,
}

impl Place {
    pub fn of(item: &Item) -> Place {
        Place { rank: item.rank(), id: item.id }
    }
}

/// An item with everything that hangs on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Whole {
    pub item: Item,
    /// None once erased; so are the output's and the records' bodies.
    pub payload: Option<Body>,
    pub output: Option<Body>,
    /// Those that committed or ended, oldest first; the live one is in the item's lease.
    pub executions: Vec<Execution>,
    /// Sorted by id.
    pub records: Vec<Record>,
    /// In the order they were sent.
    pub messages: Vec<Message>,
}

/// Which items to list. Unset fields match everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    pub store: Option<Store>,
    pub kind: Option<Kind>,
    pub state: Option<Label>,
    pub phase: Option<Phase>,
    pub key: Option<Key>,
    /// Only those that are held, by this owner.
    pub owner: Option<Owner>,
    pub order: Order,
    /// Only items after this one in that order.
    pub after: Option<ItemId>,
    pub limit: usize,
}

/// By id, which is by creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    #[default]
    Oldest,
    Newest,
}

impl Query {
    /// Whether a state is asked for, or all are.
    fn wants(&self, state: &State) -> bool {
        self.state.as_ref().is_none_or(|name| state.name == *name)
            && self.phase.is_none_or(|phase| state.phase == phase)
    }

    /// The phases that the states asked for have; None where all states are. An owner has what is active.
    fn phases(&self, tables: &Tables) -> Option<BTreeSet<Phase>> {
        if self.owner.is_some() {
            return Some(BTreeSet::from([Phase::Active]));
        }
        let is_asked = self.state.is_some() || self.phase.is_some();
        let states = tables.versions().flat_map(|table| &table.states);
        is_asked.then(|| states.filter(|state| self.wants(state)).map(|state| state.phase).collect())
    }

    /// Where the rows that are asked for are found without reading others.
    fn shelf(&self, tables: &Tables) -> Shelf {
        let phases: Vec<Phase> = self.phases(tables).into_iter().flatten().collect();
        match phases[..] {
            [Phase::Active] => Shelf::Active,
            [Phase::Failed] => Shelf::EndedBadly { rank: FAILED },
            [Phase::Stopped] => Shelf::EndedBadly { rank: STOPPED },
            _ => Shelf::All,
        }
    }
}

/// Which index a list goes over. Rows of other phases are many, and found soon by id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shelf {
    All,
    Active,
    EndedBadly { rank: i64 },
}

/// One page of a list; more would be held in memory for a reader who looks at the first screen.
pub const PAGE_MAX: usize = 1_000;

/// A lifecycle that this program can not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Foreign {
    pub kind: Kind,
    /// Its number in the database.
    pub number: i64,
}

/// Where the log ends: how many entries have their place, and the chain over their hashes ([`Hash::link`], from
/// [`Hash::ZERO`]). Kept elsewhere it proves later that nothing before it was changed, removed or put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    pub position: u64,
    pub chain: Hash,
}

/// A row of the inbox, as somebody's own transaction left it. Nothing in it has been looked at but what keeps it from being read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Posted {
    pub id: i64,
    pub store: Option<String>,
    pub kind: Option<String>,
    pub payload: Option<String>,
    pub idempotency_key: Option<String>,
    pub key: Option<String>,
    pub priority: Option<i64>,
    /// Microseconds since 1970.
    pub run_at: Option<i64>,
    /// A column holds what can not be read, or is not worth reading: the row makes no item. What is missing of it then says nothing.
    pub wrong: Option<Problem>,
}

pub trait Database: Send + Sync {
    type Tx<'a>: Tx
    where
        Self: 'a;

    fn begin(&self, batch: BatchId) -> impl Future<Output = Result<Self::Tx<'_>, Error>> + Send;

    /// Finds out what became of a batch. Waits for a transaction that may still be committing.
    fn settle(&self, batch: BatchId) -> impl Future<Output = Result<Settled, Error>> + Send;

    /// Waits before something is tried again, in the way in which this database is waited for; no connection and no lock is held
    /// meanwhile. One that loses no race waits for nobody.
    fn pause(&self, _span: Duration) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// The lifecycles in force now. A batch is decided under those it began with: [`Tx::tables`].
    fn tables(&self) -> Arc<Tables>;

    /// Lifecycles that are kept here and that this program can not read: those of a newer one, or damaged. Items under them are
    /// neither offered nor swept by this program, and of their kinds it offers nothing at all: who is next is not to be told
    /// where some can not be read. Whatever else there is goes on.
    fn foreign(&self) -> Vec<Foreign> {
        Vec::new()
    }

    /// Adds a lifecycle, or a new version of one; items keep the version they were created under.
    fn add_table(&self, source: &str) -> impl Future<Output = Result<(), Error>> + Send;

    fn item(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Option<Item>, Error>> + Send;

    /// As [`Database::item`], with its bodies, executions, records and messages, all of one moment.
    fn whole(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Option<Whole>, Error>> + Send;

    fn list(&self, query: &Query) -> impl Future<Output = Result<Vec<Item>, Error>> + Send;

    /// An item's entries, oldest first. They are found from its row: of an item that was removed there are none here, and the
    /// log has them.
    fn history(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Vec<Sealed>, Error>> + Send;

    /// The log after a position, oldest first, with the position of each entry. What was read once never changes.
    fn log(&self, after: u64, limit: usize)
    -> impl Future<Output = Result<Vec<(u64, Sealed)>, Error>> + Send;

    /// Gives committed entries their place in the log, in an order that never changes once read. Where commits come one
    /// after another they have it already. Answers how many got one; fewer than asked for means that none is left.
    fn sequence(&self, limit: usize) -> impl Future<Output = Result<usize, Error>> + Send;

    fn head(&self) -> impl Future<Output = Result<Head, Error>> + Send;

    /// Items that time may have something to do with, in the order of ids. A plain read that locks nothing: what is
    /// really due is decided when the sweep is. `after` is where the last page ended, so that rows which can not be
    /// swept do not hide the rest.
    fn due(
        &self,
        what: Overdue,
        after: Option<ItemId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Found>, Error>> + Send;

    /// How long until there may be more to lease of each of these kinds without anybody doing anything, by the database's clock:
    /// until its first scheduled item is due, or a key that waits for its rate has room. Zero: that is so already. Kinds that
    /// wait for neither are left out.
    fn upcoming(
        &self,
        store: &Store,
        kinds: &[Kind],
    ) -> impl Future<Output = Result<Vec<(Kind, Duration)>, Error>> + Send;

    /// What holds a kind back, and how many of its items are held. A plain read.
    fn control(&self, key: &QueueKey) -> impl Future<Output = Result<(Control, u32), Error>> + Send;
}

/// One transaction, in this order: lock, write, claim, write, append, commit. Dropped before its commit it is rolled
/// back, also when the drop comes from a panic or from a caller who stopped waiting.
pub trait Tx: Send {
    /// Its futures are ready at once: the steps are done in the thread that calls them. So it pays to decide in another.
    const BLOCKS: bool = false;

    /// The lifecycles that were in force when the transaction began: what a request needs and what it comes to are
    /// judged by the same ones.
    fn tables(&self) -> Arc<Tables>;

    /// Locks names, controls, lanes and items, each in order, loads them, then reads the clock. The only step that waits. A name or
    /// a lane that does not exist yet is locked too, or two creates could both find it missing.
    fn lock(&mut self, need: &Need) -> impl Future<Output = Result<World, Error>> + Send;

    /// Locks up to `limit` ready, due items of a kind after a place, in rank order, skipping what others have locked,
    /// and puts them into the world with what a decision about them needs. Of the items behind a lane the oldest are
    /// offered, as many as it has room for, none before an older one: where such a one ranks lower its place is that of the
    /// older one's rank. Never waits.
    ///
    /// It sees what this transaction has written, so an acquire can lease what the same batch created. What it loads
    /// replaces what the world has: that is as new or newer, since an item may have been loaded before, unlocked, because
    /// another one is linked to it.
    fn claim(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        after: Option<Place>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Place>, Error>> + Send;

    /// Writes rows. No row occurs twice in one wave. Answers how many were written; the caller compares. A wave may be kept
    /// until something else is asked for or the commit: it then counts as written, and what it does not find fails that
    /// step. An insert that
    /// finds its row, and an update or a renewal that does not find the version or the fence it was decided on, writes
    /// none. Never waits: whatever it touches was locked.
    fn write(&mut self, wave: &[Change]) -> impl Future<Output = Result<usize, Error>> + Send;

    /// Locks the oldest rows of the inbox that were not judged yet. While one transaction has them no other gets any, so
    /// that they become items in the order in which they came.
    fn inbox(&mut self, limit: usize) -> impl Future<Output = Result<Vec<Posted>, Error>> + Send;

    /// Takes rows out of the inbox; one with a reason stays and is kept with it.
    fn judged(&mut self, rows: &[(i64, Option<String>)]) -> impl Future<Output = Result<(), Error>> + Send;

    /// Whether rows that can not be read, or are not due, were taken out of the way: that is worth a commit, also where nothing else is.
    fn has_set_aside(&self) -> bool {
        false
    }

    /// What the coming append will write, made beside. Whoever has no use for it lets it go.
    fn pressed(&mut self, _pressed: Pressed) {}

    /// Appends entries to the log: last before the commit.
    fn append(&mut self, entries: &[Sealed]) -> impl Future<Output = Result<(), Error>> + Send;

    fn commit(self) -> impl Future<Output = Commit> + Send;
}
