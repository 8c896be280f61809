//! One batch, one transaction: load, decide, write.
//!
//! ```text
//! lock what all requests need ─▶ decide each in order of arrival, each seeing what the ones before it did ─▶ write
//!   the rows in waves ─▶ offer candidates to the acquires, write again ─▶ append the entries ─▶ COMMIT ─▶ answer
//! ```
//!
//! A refused request writes nothing and harms no other. When the transaction fails for a reason that is about one
//! request, the batch is halved until that one stands alone. When COMMIT is not heard of, the batch is settled first.

pub mod inbox;
mod pool;

use std::collections::BTreeMap;

use tenure_core::answer::Answer;
use tenure_core::decide::{Decision, decide};
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::id::{ExecutionId, ItemId, RecordId};
use tenure_core::request::{Command, Need, Request};
use tenure_core::world::{Change, LaneKey, NameKey, World};

use crate::{BatchId, Commit, Database, Error, Settled, Tx};
use pool::Pool;

/// More than this in one transaction only makes everyone wait longer for the same rate.
pub const BATCH_MAX: usize = 512;
/// A transaction that lost this many races is told so; its callers decide whether to go on.
const TRIES_MAX: usize = 5;

/// What one request came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    pub answer: Answer,
    /// Something was written for it. A repeat that answers the same is not fresh.
    pub fresh: bool,
}

/// Decides and writes a batch. Every request gets its own reply, once what it says is durable.
///
/// Whatever is drawn for a request is drawn from a seed of its own, taken in the order of arrival. So a request gets the
/// same ids when its batch is tried again or halved, whoever is in the batch with it.
pub async fn run<D: Database>(
    database: &D,
    requests: &[Request],
    draw: &mut Draw,
) -> Vec<Result<Reply, Error>> {
    let seeds: Vec<Draw> =
        (0..).zip(requests).map(|(ordinal, _)| Draw::numbered(draw.number(), ordinal)).collect();
    run_seeded(database, requests, &seeds, draw).await
}

/// As [`run`], with a seed for each request; `draw` names the transactions.
pub async fn run_seeded<D: Database>(
    database: &D,
    requests: &[Request],
    seeds: &[Draw],
    draw: &mut Draw,
) -> Vec<Result<Reply, Error>> {
    assert_eq!(requests.len(), seeds.len(), "every request has its seed");
    if requests.is_empty() {
        return Vec::new();
    }
    let mut failure = Error::LostRace("no try was made".to_string());
    for _ in 0..TRIES_MAX {
        let batch = BatchId(u128::from(draw.number()) << 64 | u128::from(draw.number()));
        match attempt(database, batch, requests, seeds).await {
            Ok(replies) => return replies.into_iter().map(Ok).collect(),
            Err(error @ Error::LostRace(_)) => failure = error,
            Err(Error::Statement(_)) if requests.len() > 1 => {
                let half = requests.len() / 2;
                let (left, right) = (&requests[..half], &requests[half..]);
                let mut replies = Box::pin(run_seeded(database, left, &seeds[..half], draw)).await;
                replies.extend(Box::pin(run_seeded(database, right, &seeds[half..], draw)).await);
                return replies;
            }
            Err(error @ (Error::Statement(_) | Error::Unavailable(_) | Error::Unknown(_))) => {
                failure = error;
                break;
            }
        }
    }
    requests.iter().map(|_| Err(failure.clone())).collect()
}

/// One try: a transaction that happens whole or not at all.
async fn attempt<D: Database>(
    database: &D,
    batch: BatchId,
    requests: &[Request],
    seeds: &[Draw],
) -> Result<Vec<Reply>, Error> {
    let mut tx = database.begin(batch).await?;
    let tables = tx.tables();
    let mut need = Need::default();
    for request in requests {
        request.needs(&tables, &mut need);
    }
    let mut world = tx.lock(&need).await?;
    let mut plan = Plan::default();
    let mut replies: Vec<Option<Reply>> = vec![None; requests.len()];
    let mut acquires = Vec::new();
    for (index, (request, seed)) in requests.iter().zip(seeds).enumerate() {
        match &request.command {
            Command::Acquire(acquire) => acquires.push((index, acquire)),
            _ => {
                let decision = decide(&world, request, &mut seed.clone());
                replies[index] = Some(plan.take(&mut world, decision));
            }
        }
    }
    // Acquires come last: they take what is left. What the others did is written first, because a claim sees what its
    // transaction has written; so a batch does what its requests would have done one by one, the acquires at the end.
    if !acquires.is_empty() {
        plan.write(&mut tx).await?;
        let mut pool = Pool::new(requests);
        for (index, acquire) in acquires {
            let decision = pool.decide(&mut tx, &mut world, &requests[index], acquire).await?;
            replies[index] = Some(plan.take(&mut world, decision));
        }
    }
    let replies = replies.into_iter().map(|reply| reply.expect("every request was decided")).collect();
    if !plan.changed {
        return Ok(replies);
    }
    plan.write(&mut tx).await?;
    finish(database, tx, batch, &plan.entries).await?;
    Ok(replies)
}

/// Appends the entries and commits. Ok: it is durable.
async fn finish<D: Database>(
    database: &D,
    mut tx: D::Tx<'_>,
    batch: BatchId,
    entries: &[Sealed],
) -> Result<(), Error> {
    tx.append(entries).await?;
    match tx.commit().await {
        Commit::Done => Ok(()),
        Commit::Not(error) => Err(error),
        Commit::Unknown => match settle(database, batch).await? {
            Settled::Committed => Ok(()),
            Settled::NeverWill => Err(Error::LostRace("the commit never happened".to_string())),
        },
    }
}

/// Finds out what became of a commit. As long as that is not known the batch is not tried again, whatever the reason:
/// it could happen twice.
pub(crate) async fn settle<D: Database>(database: &D, batch: BatchId) -> Result<Settled, Error> {
    let mut failure = String::new();
    for _ in 0..TRIES_MAX {
        match database.settle(batch).await {
            Ok(settled) => return Ok(settled),
            Err(error) => failure = error.to_string(),
        }
    }
    Err(Error::Unknown(failure))
}

/// What a batch will write.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The k-th change of a row is in a later wave than the one before it, so that a database sees every single step.
    waves: Vec<Vec<Change>>,
    last: BTreeMap<RowKey, usize>,
    pub(crate) entries: Vec<Sealed>,
    changed: bool,
}

/// What a change changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RowKey {
    Item(ItemId),
    Execution(ExecutionId),
    Name(NameKey),
    Lane(LaneKey),
    Record(RecordId),
    Message(ItemId, u64, u32),
}

impl RowKey {
    /// The row of a change, and the item it hangs on. An entry is no row: it is appended.
    fn of(change: &Change) -> Option<(RowKey, Option<ItemId>)> {
        Some(match change {
            Change::Insert { item, .. } | Change::Update { item, .. } => (RowKey::Item(item.id), None),
            Change::Renew { execution, .. } => (RowKey::Item(execution.item), None),
            Change::Erase(item) => (RowKey::Item(*item), None),
            Change::Execution(execution) => (RowKey::Execution(execution.id), Some(execution.id.item)),
            Change::Name(key, _) => (RowKey::Name(key.clone()), None),
            Change::Lane(key, _) => (RowKey::Lane(key.clone()), None),
            Change::Record(record) => (RowKey::Record(record.id), Some(record.item)),
            Change::Message(message) => {
                (RowKey::Message(message.item, message.version, message.ordinal), Some(message.item))
            }
            Change::Entry(_) => return None,
        })
    }
}

impl Plan {
    /// Takes a decision: the batch will write it, and whoever is decided next sees it.
    fn take(&mut self, world: &mut World, decision: Decision) -> Reply {
        let fresh = !decision.changes.is_empty();
        self.changed |= fresh;
        self.add(&decision.changes);
        world.apply(decision.changes);
        Reply { answer: decision.answer, fresh }
    }

    pub(crate) fn add(&mut self, changes: &[Change]) {
        // Items of one lane exclude each other: the one that leaves it is written before the one that enters.
        let lanes = changes.iter().filter_map(|change| match change {
            Change::Lane(key, _) => self.last.get(&RowKey::Lane(key.clone())),
            _ => None,
        });
        let floor = lanes.max().map_or(0, |wave| wave + 1);
        for change in changes {
            let Some((row, item)) = RowKey::of(change) else {
                if let Change::Entry(entry) = change {
                    self.entries.push(entry.clone());
                }
                continue;
            };
            // What hangs on an item is not written before the step that made it: an erase in between would take it.
            let after_item = item.and_then(|item| self.last.get(&RowKey::Item(item)).copied());
            let after_itself = self.last.get(&row).map(|wave| wave + 1);
            let wave = floor.max(after_item.unwrap_or(0)).max(after_itself.unwrap_or(0));
            self.last.insert(row, wave);
            if self.waves.len() <= wave {
                self.waves.resize_with(wave + 1, Vec::new);
            }
            self.waves[wave].push(change.clone());
        }
    }

    /// Writes what was taken so far. A row that is not there as it was locked means that somebody wrote around the
    /// locks: the batch is rolled back and halved, so that it costs one request and not all of them.
    pub(crate) async fn write<T: Tx>(&mut self, tx: &mut T) -> Result<(), Error> {
        self.last.clear();
        for wave in std::mem::take(&mut self.waves) {
            let written = tx.write(&wave).await?;
            if written != wave.len() {
                let planned = wave.len();
                let why = format!("{written} of {planned} rows were written: a row is not as it was locked");
                return Err(Error::Statement(why));
            }
        }
        Ok(())
    }
}
