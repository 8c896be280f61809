//! One transaction: what it knows, how it begins and how it ends.
//!
//! READ COMMITTED with explicit row locks, names before controls before lanes before items. Nothing is sent before something is asked, and
//! where nothing is locked the clock is read outside of a transaction.
//!
//! BEGIN travels with the first statement; the segment of the log, and a last small wave of rows, with COMMIT. What goes
//! along with it is written whole or fails, so there is no count that COMMIT would have to wait for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::Need;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, Lane, LaneKey, NameKey, World};
use tokio_postgres::Error as Cause;
use tokio_postgres::error::SqlState;

use super::Postgres;
use super::catalog::Known;
use super::claim::Claimed;
use super::fault;
use super::moment::{MOMENT, Moment};
use super::pool::{Answer, Ask, Lent};
use super::value::{Uuid, id, int, long, owned_bytes};
use super::write::{APPEND, APPEND_IN_FORCE, Wave};
use crate::row::Memo;
use crate::{BatchId, Commit, Error, Place, Posted, Tx, segment};

#[derive(Debug)]
pub struct PostgresTx<'a> {
    pub(super) database: &'a Postgres,
    pub(super) lent: Lent<'a>,
    pub(super) known: Arc<Known>,
    /// Those in force when it began. What is known of the others may grow meanwhile.
    tables: Arc<Tables>,
    /// Which change of the lifecycles made them so.
    pub(super) in_force: i64,
    batch: BatchId,
    stage: Stage,
    pub(super) now: Time,
    /// The number of its segment of the log; the rows it writes refer to it.
    pub(super) segment: i64,
    /// The items that are locked, and the segment that had the last entry of each.
    pub(super) locked: HashMap<ItemId, i64>,
    /// The names that have a row.
    pub(super) names: HashSet<NameKey>,
    /// The lanes that have a row, as they are written. All of them are locked.
    pub(super) lanes: HashMap<LaneKey, Lane>,
    /// The queues whose control is locked, and those that have none and get none before this ends.
    pub(super) controls: HashSet<i32>,
    pub(super) shared: HashSet<i32>,
    pub(super) claimed: Claimed,
    /// How many items of a queue were offered.
    pub(super) offered: HashMap<i32, usize>,
    /// The lowest rank that was made ready in each queue.
    pub(super) readied: HashMap<i32, i64>,
    /// Rows that can not be read were taken out of the way.
    pub(super) has_set_aside: bool,
    pub(super) memo: Memo,
    entries: Vec<Sealed>,
    /// Its moment is not of its own: see [`super::moment`]. Whether its lifecycles are in force is then judged by what appends its
    /// segment.
    pub(super) spare: bool,
    /// Written with COMMIT, unless something else is asked before it.
    pub(super) kept: Vec<Change>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// There is no BEGIN yet.
    Unsent,
    Open,
    Ended,
}

/// What is sent last.
enum Flight<'w> {
    /// New items and their segment in one statement, and the moment for whoever comes next.
    Create([Ask<'w>; 2]),
    /// Whatever is left, and COMMIT.
    Commit(Vec<Ask<'w>>),
}

impl<'w> Flight<'w> {
    fn asks(&self) -> &[Ask<'w>] {
        match self {
            Flight::Create(asks) => asks,
            Flight::Commit(asks) => asks,
        }
    }
}

impl<'a> PostgresTx<'a> {
    pub(super) fn new(database: &'a Postgres, lent: Lent<'a>, batch: BatchId) -> PostgresTx<'a> {
        let known = database.catalog.known();
        PostgresTx {
            database,
            lent,
            tables: known.tables.clone(),
            in_force: known.version,
            known,
            batch,
            stage: Stage::Unsent,
            now: Time::default(),
            segment: 0,
            locked: HashMap::new(),
            names: HashSet::new(),
            lanes: HashMap::new(),
            controls: HashSet::new(),
            shared: HashSet::new(),
            claimed: Claimed::default(),
            offered: HashMap::new(),
            readied: HashMap::new(),
            has_set_aside: false,
            memo: Memo::default(),
            entries: Vec::new(),
            spare: false,
            kept: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// Asks within the transaction.
    pub(super) async fn ask(&mut self, mut asks: Vec<Ask<'_>>) -> Result<Vec<Answer>, Error> {
        if asks.is_empty() {
            return Ok(Vec::new());
        }
        if self.stage == Stage::Open {
            return self.lent.ask(asks).await;
        }
        asks.insert(0, Ask::plain("begin"));
        self.stage = Stage::Open;
        let mut answers = self.lent.ask(asks).await?;
        answers.remove(0);
        Ok(answers)
    }

    pub(super) async fn one(&mut self, ask: Ask<'_>) -> Result<Answer, Error> {
        Ok(self.ask(vec![ask]).await?.pop().unwrap_or_default())
    }

    /// Learns of queues and lifecycles that others have added.
    pub(super) async fn refresh(&mut self) -> Result<(), Error> {
        self.known = self.database.catalog.refresh().await?;
        Ok(())
    }

    /// The entries as one segment. An entry's predecessor is in the segment that its item came with, or in this one.
    fn pressed(&self) -> Vec<u8> {
        let mut first: HashMap<ItemId, u64> = HashMap::new();
        for entry in &self.entries {
            first.entry(entry.item).or_insert(entry.version);
        }
        let number = |segment: i64| u64::try_from(segment).ok().filter(|segment| *segment > 0);
        segment::write(&self.entries, &segment::Pressed::of(&self.entries), |entry| match entry.version {
            0 | 1 => None,
            version if first.get(&entry.item) == Some(&version) => {
                self.locked.get(&entry.item).copied().and_then(number)
            }
            _ => number(self.segment),
        })
    }

    /// Everything that is still to be sent, COMMIT included. New items that nothing was locked for need no BEGIN and no
    /// COMMIT: they are one statement.
    fn last_flight<'w>(&self, wave: &'w Wave<'w>, kept: usize) -> Result<Flight<'w>, Error> {
        let segment = || {
            [
                long(self.segment),
                id(Uuid(self.batch.0)),
                long(self.entries.iter().map(|entry| entry.at).fold(self.now, Time::max).micros()),
                owned_bytes(self.pressed()),
                int(i32::try_from(self.entries.len()).unwrap_or(i32::MAX)),
            ]
        };
        let mut asks: Vec<Ask<'w>> = Vec::new();
        if self.stage == Stage::Unsent {
            if let Some(create) = self.create_ask(wave, kept, segment)? {
                return Ok(Flight::Create([create, Ask::rows(MOMENT, [])]));
            }
            asks.push(Ask::plain("begin"));
        }
        asks.extend(self.last_asks(wave)?);
        if !self.entries.is_empty() && self.spare {
            let mut columns = Vec::from(segment());
            columns.push(long(self.in_force));
            asks.push(Ask::count(APPEND_IN_FORCE, columns));
        } else if !self.entries.is_empty() {
            asks.push(Ask::count(APPEND, segment()));
        }
        asks.push(Ask::plain("commit"));
        Ok(Flight::Commit(asks))
    }

    /// New items were one statement; what came behind it is for the next.
    async fn created(&mut self, mut outcomes: Vec<Result<Answer, Cause>>) -> Commit {
        if let Some(Ok(answer)) = outcomes.pop()
            && let Some(row) = answer.rows.first()
        {
            self.database.spare.put(Moment::of(row));
        }
        match outcomes.pop() {
            Some(Ok(_)) => Commit::Done,
            Some(Err(cause)) if cause.code() == Some(&SqlState::DIVISION_BY_ZERO) => self.withdrawn().await,
            Some(Err(cause)) => fault::of_commit(&cause),
            None => Commit::Unknown,
        }
    }

    /// The lifecycles that this went by are in force no more. The next try goes by those that are.
    async fn withdrawn(&mut self) -> Commit {
        let other = || Error::LostRace("another lifecycle came into force".to_string());
        Commit::Not(self.refresh().await.err().unwrap_or_else(other))
    }

    async fn send_commit(&mut self) -> Commit {
        let kept = std::mem::take(&mut self.kept);
        let wave = self.sort(&kept);
        let flight = match self.last_flight(&wave, kept.len()) {
            Ok(flight) => flight,
            Err(error) => return Commit::Not(error),
        };
        let answers = match self.lent.answers(flight.asks()).await {
            Ok(answers) => answers,
            // A statement could not be prepared: COMMIT was not sent.
            Err(cause) => return Commit::Not(fault::of(&cause)),
        };
        let mut outcomes = answers;
        self.stage = Stage::Ended;
        if matches!(flight, Flight::Create(_)) {
            return self.created(outcomes).await;
        }
        let committed = outcomes.pop();
        let appended = outcomes.len().saturating_sub(1);
        let failed = outcomes.into_iter().enumerate().find_map(|(at, outcome)| Some((at, outcome.err()?)));
        if let Some((at, cause)) = failed {
            // What was refused has aborted the transaction, and its COMMIT was a ROLLBACK. What was not heard of may have
            // been followed by a COMMIT that was not heard of.
            let is_division = cause.code() == Some(&SqlState::DIVISION_BY_ZERO);
            return match cause.as_db_error() {
                // The segment goes last. Before it the same error means a count that was short.
                Some(_) if is_division && self.spare && at == appended => self.withdrawn().await,
                Some(_) => Commit::Not(fault::of(&cause)),
                None => Commit::Unknown,
            };
        }
        match committed {
            Some(Ok(_)) => Commit::Done,
            Some(Err(cause)) => fault::of_commit(&cause),
            None => Commit::Unknown,
        }
    }
}

impl Tx for PostgresTx<'_> {
    fn tables(&self) -> Arc<Tables> {
        self.tables.clone()
    }

    async fn lock(&mut self, need: &Need) -> Result<World, Error> {
        self.lock_and_load(need).await
    }

    async fn claim(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<Place>, Error> {
        self.write_kept().await?;
        self.look_at_clock(world).await?;
        self.offer(world, store, kind, after, limit).await
    }

    async fn write(&mut self, wave: &[Change]) -> Result<usize, Error> {
        self.write_wave(wave).await
    }

    async fn inbox(&mut self, limit: usize) -> Result<Vec<Posted>, Error> {
        self.write_kept().await?;
        self.read_inbox(limit).await
    }

    async fn judged(&mut self, rows: &[(i64, Option<String>)]) -> Result<(), Error> {
        self.write_kept().await?;
        self.judge_inbox(rows).await
    }

    async fn append(&mut self, entries: &[Sealed]) -> Result<(), Error> {
        self.entries.extend(entries.iter().cloned());
        Ok(())
    }

    fn has_set_aside(&self) -> bool {
        self.has_set_aside
    }

    async fn commit(mut self) -> Commit {
        if self.stage == Stage::Unsent && self.kept.is_empty() && self.entries.is_empty() {
            return Commit::Done;
        }
        if !self.entries.is_empty() && self.segment == 0 {
            let missing = "entries were appended before anything was locked".to_string();
            return Commit::Not(Error::Statement(missing));
        }
        let outcome = self.send_commit().await;
        if outcome == Commit::Done {
            self.claimed.leased_for_good(&self.database.hints);
        }
        outcome
    }
}

impl Drop for PostgresTx<'_> {
    fn drop(&mut self) {
        if self.stage == Stage::Open {
            self.lent.roll_back();
        }
        for (queue, rank) in &self.readied {
            self.database.hints.back(*queue, *rank);
        }
        self.claimed.give_back(&self.database.hints);
    }
}
