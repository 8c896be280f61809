//! A transaction on the one connection that writes.
//!
//! `BEGIN IMMEDIATE` is the lock: from then on no other process writes, so nothing else has to be locked. Everything that
//! is known about rows is known for this transaction only; another process may write between two.
//!
//! ```text
//!  begin ─▶ open ──commit──▶ done
//!             │        └───▶ unknown: the connection is closed, the next user opens another and settles
//!             └──drop──▶ rolled back
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::item::SharedItem;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::Need;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, LaneKey, World};
use tokio::sync::OwnedMutexGuard;

use super::ahead::Ahead;
use super::catalog::{Lifecycles, Queues};
use super::fault::{DAMAGED, Fault, error_of, is_damage};
use super::held::{Held, Touched};
use super::rows::Context;
use super::{Shared, claim, inbox, lanes, load, log, open, write};
use crate::id_map::IdMap;
use crate::outside::chance;
use crate::row::Memo;
use crate::segment::Pressed;
use crate::wait::block_for;
use crate::{BatchId, Commit, Error, Place, Posted, Tx};

/// Whether the file is broken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    None,
    /// SQLite said so once: that may have been the disk or the memory. All of it is looked at before anything is written.
    Suspected,
    /// It is: nothing is written any more.
    Found,
}

/// The connection that writes, and what may be remembered from one transaction to the next.
pub(super) struct Writer {
    pub connection: Connection,
    pub shared: Arc<Shared>,
    pub queues: Queues,
    pub memo: Memo,
    pub held: Held,
    pub ahead: Ahead,
    /// Nobody knows what this connection has written. It is replaced before anything else is done.
    pub poisoned: bool,
    pub damage: Damage,
    /// Batches whose commit was not heard of, and the segment that each would have.
    pub unheard: Vec<(BatchId, i64)>,
}

/// A file that others write to is looked at again after so long at least: a look takes a tenth of it.
const LOOK_MICROS_MIN: u64 = 50;
/// And after as much more as chance says: about what a small transaction takes.
const LOOK_MICROS_MORE: u64 = 1_000;

impl Writer {
    pub fn new(connection: Connection, shared: Arc<Shared>) -> Writer {
        let (queues, memo, held) = (Queues::default(), Memo::default(), Held::default());
        let ahead = Ahead::of(&shared.path, open::LOG_BYTES_MAX);
        Writer {
            connection,
            shared,
            queues,
            memo,
            held,
            ahead,
            poisoned: false,
            damage: Damage::None,
            unheard: Vec::new(),
        }
    }

    /// A connection that can be trusted.
    pub fn ready(&mut self) -> Result<(), Error> {
        match self.damage {
            Damage::None => {}
            Damage::Suspected => self.poisoned = true,
            Damage::Found => return Err(Error::Unavailable(DAMAGED.to_string())),
        }
        if self.poisoned {
            let nowhere = Connection::open_in_memory().map_err(|error| error_of(&error))?;
            // The old one is closed first: what it held is let go, and what it did not finish is rolled back.
            drop(std::mem::replace(&mut self.connection, nowhere));
            self.queues = Queues::default();
            self.held = Held::default();
            self.connection = open::writer(&self.shared.path, &self.shared.options)
                .map_err(|error| Error::Unavailable(error.to_string()))?;
            self.poisoned = false;
        }
        if self.damage == Damage::Suspected {
            let checked =
                self.connection.query_row("pragma quick_check(1)", [], |row| row.get::<_, String>(0));
            self.damage = if checked.as_deref() == Ok("ok") { Damage::None } else { Damage::Found };
            return self.ready();
        }
        Ok(())
    }

    pub fn begin(&mut self) -> Result<(), Error> {
        self.ready()?;
        self.begin_in_turn().map_err(|error| self.judge(Fault::Sql(error)))?;
        self.ahead.look();
        self.look().map_err(|error| {
            self.roll_back();
            self.judge(Fault::Sql(error))
        })
    }

    fn look(&mut self) -> Result<(), rusqlite::Error> {
        if self.held.look(&self.connection)? {
            self.shared.foreign.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Between two transactions: whether others have written since the last one. A connection that is to be replaced is left for who
    /// writes next.
    pub fn look_for_others(&mut self) -> Result<(), Error> {
        if self.poisoned || self.damage != Damage::None {
            return Ok(());
        }
        self.look().map_err(|error| error_of(&error))
    }

    /// Waits for other processes that write to the file. SQLite's own waiting looks again after as much as a tenth of a second, and
    /// beside processes that write all the time the file is hardly ever free just then: one of four that claimed from one queue
    /// got nothing for seconds. Looking often, and at moments that hold chance, each comes to its turn.
    fn begin_in_turn(&self) -> Result<(), rusqlite::Error> {
        let mut left = self.shared.options.busy;
        let mut draw = None;
        loop {
            let begun =
                self.connection.prepare_cached("begin immediate").and_then(|mut begin| begin.execute([]));
            let Err(error) = begun else { return Ok(()) };
            if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || left.is_zero() {
                return Err(error);
            }
            let draw = draw.get_or_insert_with(|| Draw::new(chance()));
            let span = Duration::from_micros(LOOK_MICROS_MIN + draw.number() % LOOK_MICROS_MORE);
            block_for(span);
            left = left.saturating_sub(span);
        }
    }

    fn suspect(&mut self, error: &rusqlite::Error) {
        if is_damage(error) {
            self.damage = Damage::Suspected;
        }
    }

    /// What a caller is told; a file that may be damaged is remembered.
    pub fn judge(&mut self, fault: Fault) -> Error {
        if let Fault::Sql(error) = &fault {
            self.suspect(error);
        }
        fault.into()
    }

    /// Ends the transaction without a trace. SQLite may have done so itself.
    pub fn roll_back(&mut self) {
        if !self.connection.is_autocommit() && self.connection.execute_batch("rollback").is_err() {
            self.poisoned = true;
        }
    }

    pub fn commit(&mut self) -> Commit {
        if self.connection.is_autocommit() {
            return Commit::Not(Error::Statement("the transaction was rolled back".to_string()));
        }
        let committed = self.connection.prepare_cached("commit").and_then(|mut commit| commit.execute([]));
        let Err(error) = committed else { return Commit::Done };
        if !left_no_mark(&error) {
            self.suspect(&error);
            self.poisoned = true;
            return Commit::Unknown;
        }
        self.roll_back();
        if self.poisoned { Commit::Unknown } else { Commit::Not(error_of(&error)) }
    }
}

/// Whether a COMMIT that failed has certainly left no commit mark in the log behind. Everything else may have come after the mark was
/// written: a disk that fails may have it or get it later, and memory may run out, or a lock or the index of the log be lost, when
/// SQLite enters into that index what the log has already.
fn left_no_mark(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        // It waits for another to begin with, and the transaction is as open as before.
        Some(ErrorCode::DatabaseBusy) => true,
        // A rule that is looked at before anything is written.
        Some(ErrorCode::ConstraintViolation) => true,
        // The write of a frame was cut short, and the mark is in the last of them, whose sum then is not right.
        Some(ErrorCode::DiskFull) => true,
        _ => false,
    }
}

/// Where the log ended when the transaction began.
#[derive(Clone, Copy)]
pub(super) struct Last {
    /// Entries so far.
    pub position: i64,
    pub chain: Hash,
    pub at: Time,
}

impl Last {
    pub const NONE: Last = Last { position: 0, chain: Hash::ZERO, at: Time::from_micros(0) };

    /// The next segment, which is named by the position of its first entry.
    pub fn next(&self) -> i64 {
        self.position + 1
    }
}

/// What is known about an item's row.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub rowid: i64,
    /// As it was found.
    pub version: u64,
    /// The segment that has the entry of that version.
    pub segment: i64,
}

/// What a transaction notes down.
pub(super) struct Scratch {
    pub now: Time,
    pub last: Last,
    pub known: IdMap<Known>,
    /// A lane is loaded once: after that the world is newer.
    pub lanes: BTreeSet<LaneKey>,
    /// Lanes whose next item has to be looked for again, as queue and key.
    pub stale_lanes: BTreeSet<(i64, String)>,
    pub touched: Vec<Touched>,
    /// Items that go with the segment that will be appended.
    pub leaving: Vec<SharedItem>,
    /// Queues that this transaction made. They are forgotten when it is rolled back.
    pub queues: Vec<(Store, Kind)>,
    /// Rows that can not be read and were taken out of the way.
    pub quarantined: Vec<(ItemId, String)>,
    /// Items that were found ready before their time went back to those that are scheduled.
    pub has_put_back: bool,
    /// What will be appended, if somebody has pressed it already.
    pub pressed: Option<Pressed>,
}

pub struct SqliteTx {
    writer: OwnedMutexGuard<Writer>,
    lifecycles: Arc<Lifecycles>,
    batch: BatchId,
    /// The segment that it will have.
    first: i64,
    scratch: Scratch,
    ended: bool,
}

impl std::fmt::Debug for SqliteTx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteTx").field("batch", &self.batch).finish_non_exhaustive()
    }
}

/// What a step works with.
pub(super) struct Parts<'a> {
    pub context: Context<'a>,
    pub held: &'a Held,
    pub scratch: &'a mut Scratch,
}

impl SqliteTx {
    pub(super) fn begin(mut writer: OwnedMutexGuard<Writer>, batch: BatchId) -> Result<SqliteTx, Error> {
        writer.begin()?;
        let lifecycles = writer.shared.lifecycles();
        let scratch = Scratch {
            now: Time::default(),
            last: Last::NONE,
            known: IdMap::default(),
            lanes: BTreeSet::new(),
            stale_lanes: BTreeSet::new(),
            touched: Vec::new(),
            leaving: Vec::new(),
            queues: Vec::new(),
            quarantined: Vec::new(),
            has_put_back: false,
            pressed: None,
        };
        // From here on the transaction is rolled back when it is dropped.
        let mut tx = SqliteTx { writer, lifecycles, batch, first: 0, scratch, ended: false };
        let connection = &tx.writer.connection;
        let found = Lifecycles::current(connection, &tx.lifecycles)
            .and_then(|lifecycles| Ok((lifecycles, log::last(connection)?)));
        let (lifecycles, last) = found.map_err(|fault| tx.writer.judge(fault))?;
        if !Arc::ptr_eq(&lifecycles, &tx.lifecycles) {
            tx.writer.shared.set_lifecycles(lifecycles.clone());
            tx.lifecycles = lifecycles;
        }
        tx.first = last.next();
        tx.scratch.last = last;
        tx.read_clock();
        Ok(tx)
    }

    /// Reads the machine's clock as it is. It is not held back by the log: then a clock that was ahead for a moment would stop every
    /// lease, retry and schedule until the right time has caught up.
    fn read_clock(&mut self) {
        self.scratch.now = (self.writer.shared.clock)();
    }

    fn step<T>(&mut self, step: impl FnOnce(&mut Parts<'_>) -> Result<T, Fault>) -> Result<T, Error> {
        let writer = &mut *self.writer;
        // A refused row rolls everything back; nothing may be written after that, and alone.
        if writer.connection.is_autocommit() {
            return Err(Error::Statement("the transaction was rolled back".to_string()));
        }
        let mut parts = Parts {
            context: Context {
                connection: &writer.connection,
                lifecycles: &self.lifecycles,
                queues: &mut writer.queues,
                memo: &mut writer.memo,
            },
            held: &writer.held,
            scratch: &mut self.scratch,
        };
        let done = step(&mut parts);
        done.map_err(|fault| writer.judge(fault))
    }

    /// Rows that can not be read are kept out of the way, also when nothing else came of the transaction that met them.
    fn keep_quarantine(&mut self) {
        let quarantined = std::mem::take(&mut self.scratch.quarantined);
        if quarantined.is_empty() || std::thread::panicking() || self.writer.begin().is_err() {
            return;
        }
        let now = self.scratch.now;
        let kept = self.step(|parts| {
            for (item, why) in &quarantined {
                claim::quarantine(parts, *item, why, now)?;
            }
            lanes::settle_lanes(parts)
        });
        if kept.is_err() || self.writer.commit() != Commit::Done {
            self.writer.roll_back();
        }
    }
}

impl Tx for SqliteTx {
    const BLOCKS: bool = true;

    fn tables(&self) -> Arc<Tables> {
        self.lifecycles.tables.clone()
    }

    async fn lock(&mut self, need: &Need) -> Result<World, Error> {
        self.read_clock();
        let mut world = World::new(self.lifecycles.tables.clone());
        world.now = self.scratch.now;
        self.step(|parts| load::load(parts, need, &mut world))?;
        Ok(world)
    }

    async fn claim(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<Place>, Error> {
        self.step(|parts| claim::claim(parts, world, (store, kind), after, limit))
    }

    async fn write(&mut self, wave: &[Change]) -> Result<usize, Error> {
        self.step(|parts| write::write(parts, wave))
    }

    async fn inbox(&mut self, limit: usize) -> Result<Vec<Posted>, Error> {
        self.step(|parts| Ok(inbox::waiting(parts.context.connection, limit)?))
    }

    async fn judged(&mut self, rows: &[(i64, Option<String>)]) -> Result<(), Error> {
        self.step(|parts| Ok(inbox::judged(parts.context.connection, rows)?))
    }

    fn has_set_aside(&self) -> bool {
        self.scratch.has_put_back
    }

    fn pressed(&mut self, pressed: Pressed) {
        self.scratch.pressed = Some(pressed);
    }

    async fn append(&mut self, entries: &[Sealed]) -> Result<(), Error> {
        let batch = self.batch;
        self.step(|parts| log::append(parts, batch, entries))
    }

    async fn commit(mut self) -> Commit {
        if let Err(error) = self.step(lanes::settle_lanes) {
            return Commit::Not(error);
        }
        let committed = self.writer.commit();
        self.ended = committed == Commit::Done;
        if self.ended {
            let touched = std::mem::take(&mut self.scratch.touched);
            self.writer.held.committed(touched);
        }
        if committed == Commit::Unknown {
            self.writer.unheard.push((self.batch, self.first));
        }
        committed
    }
}

impl Drop for SqliteTx {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.writer.roll_back();
        for queue in std::mem::take(&mut self.scratch.queues) {
            self.writer.queues.forget(&queue);
        }
        if !self.writer.poisoned {
            self.keep_quarantine();
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    // covers: K-02
    #[test]
    fn a_commit_that_failed_is_looked_for_unless_it_certainly_left_nothing() {
        let failed = |code: i32| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_CONSTRAINT_FOREIGNKEY, ffi::SQLITE_FULL] {
            assert!(left_no_mark(&failed(code)), "{code}");
        }
        for code in [
            ffi::SQLITE_NOMEM,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_SHMMAP,
            ffi::SQLITE_IOERR_NOMEM,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_PROTOCOL,
            ffi::SQLITE_INTERRUPT,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_NOTADB,
            ffi::SQLITE_INTERNAL,
            ffi::SQLITE_ERROR,
        ] {
            assert!(!left_no_mark(&failed(code)), "{code}");
        }
        assert!(!left_no_mark(&rusqlite::Error::InvalidQuery), "what no code says");
    }
}
