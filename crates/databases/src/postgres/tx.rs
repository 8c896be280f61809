//! One transaction: what it knows, how it begins and how it ends.
//!
//! READ COMMITTED with explicit row locks, names before lanes before items. Nothing is sent before something is asked:
//! BEGIN travels with the first statement, and the segment of the log with COMMIT. A segment is one row that is inserted
//! or refused, so there is no count of it that COMMIT would have to wait for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::Need;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, Lane, LaneKey, NameKey, World};

use super::Postgres;
use super::catalog::Known;
use super::claim::Claimed;
use super::fault;
use super::pool::{Answer, Ask, Lent};
use super::value::{Uuid, id, int, long, owned_bytes};
use crate::row::Memo;
use crate::{BatchId, Commit, Error, Place, Posted, Tx, segment};

#[derive(Debug)]
pub struct PostgresTx<'a> {
    pub(super) database: &'a Postgres,
    pub(super) lent: Lent<'a>,
    pub(super) known: Arc<Known>,
    /// Those in force when it began. What is known of the others may grow meanwhile.
    tables: Arc<Tables>,
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
    pub(super) claimed: Claimed,
    /// The lowest rank that was made ready in each queue.
    pub(super) readied: HashMap<i32, i64>,
    pub(super) memo: Memo,
    entries: Vec<Sealed>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The server has not heard of it.
    Unsent,
    Open,
    Ended,
}

impl<'a> PostgresTx<'a> {
    pub(super) fn new(database: &'a Postgres, lent: Lent<'a>, batch: BatchId) -> PostgresTx<'a> {
        let known = database.catalog.known();
        PostgresTx {
            database,
            lent,
            tables: known.tables.clone(),
            known,
            batch,
            stage: Stage::Unsent,
            now: Time::default(),
            segment: 0,
            locked: HashMap::new(),
            names: HashSet::new(),
            lanes: HashMap::new(),
            claimed: Claimed::default(),
            readied: HashMap::new(),
            memo: Memo::default(),
            entries: Vec::new(),
        }
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
        segment::write(&self.entries, |entry| match entry.version {
            0 | 1 => None,
            version if first.get(&entry.item) == Some(&version) => {
                self.locked.get(&entry.item).copied().and_then(number)
            }
            _ => number(self.segment),
        })
    }

    async fn send_commit(&mut self) -> Commit {
        const APPEND: &str = "insert into @.segments (segment, batch, seq, entries, at, lines) \
                              values ($1, $2, nextval('@.segment_order'), $3, $4, $5)";
        let mut asks: Vec<Ask<'_>> = Vec::new();
        if !self.entries.is_empty() {
            let count = i32::try_from(self.entries.len()).unwrap_or(i32::MAX);
            asks.push(Ask::count(
                APPEND,
                [
                    long(self.segment),
                    id(Uuid(self.batch.0)),
                    int(count),
                    long(self.now.micros()),
                    owned_bytes(self.pressed()),
                ],
            ));
        }
        asks.push(Ask::plain("commit"));
        let answers = match self.lent.answers(&asks).await {
            Ok(answers) => answers,
            // A statement could not be prepared: COMMIT was not sent.
            Err(cause) => return Commit::Not(fault::of(&cause)),
        };
        self.stage = Stage::Ended;
        let mut outcomes = answers.into_iter().rev();
        let committed = outcomes.next();
        if let Some(Err(cause)) = outcomes.next() {
            // A segment that was refused has aborted the transaction, and its COMMIT was a ROLLBACK. One that was not
            // heard of may have been followed by a COMMIT that was not heard of.
            return if cause.as_db_error().is_some() {
                Commit::Not(fault::of(&cause))
            } else {
                Commit::Unknown
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
    ) -> Result<Vec<ItemId>, Error> {
        self.offer(world, store, kind, after, limit).await
    }

    async fn write(&mut self, wave: &[Change]) -> Result<usize, Error> {
        self.write_wave(wave).await
    }

    async fn inbox(&mut self, limit: usize) -> Result<Vec<Posted>, Error> {
        self.read_inbox(limit).await
    }

    async fn judged(&mut self, rows: &[(i64, Option<String>)]) -> Result<(), Error> {
        self.judge_inbox(rows).await
    }

    async fn append(&mut self, entries: &[Sealed]) -> Result<(), Error> {
        self.entries.extend(entries.iter().cloned());
        Ok(())
    }

    async fn commit(mut self) -> Commit {
        if self.stage == Stage::Unsent {
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
