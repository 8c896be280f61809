//! One batch, one transaction: load, decide, write.
//!
//! ```text
//! lock what all requests need ─▶ decide each in order of arrival, each seeing what the ones before it did
//!   ─▶ offer candidates to the acquires ─▶ write the rows in waves ─▶ append the entries ─▶ COMMIT ─▶ answer
//! ```
//!
//! A refused request writes nothing and harms no other. When the transaction fails for a reason that is about one
//! request, the batch is halved until that one stands alone. When COMMIT is not heard of, the batch is settled first.

use std::collections::BTreeMap;

use tenure_core::answer::Answer;
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::entry::Entry;
use tenure_core::id::{ExecutionId, ItemId, RecordId};
use tenure_core::request::{Acquire, Command, Need, Request};
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, LaneKey, NameKey, World};

use crate::{BatchId, Commit, Database, Error, Settled, Tx};

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
pub async fn run<D: Database>(
    database: &D,
    requests: &[Request],
    draw: &mut Draw,
) -> Vec<Result<Reply, Error>> {
    let mut failure = Error::LostRace("no try was made".to_string());
    for _ in 0..TRIES_MAX {
        let batch = BatchId(u128::from(draw.number()) << 64 | u128::from(draw.number()));
        match attempt(database, batch, requests, draw).await {
            Ok(replies) => return replies.into_iter().map(Ok).collect(),
            Err(error @ Error::LostRace(_)) => failure = error,
            Err(Error::Statement(_)) if requests.len() > 1 => {
                let (left, right) = requests.split_at(requests.len() / 2);
                let mut replies = Box::pin(run(database, left, draw)).await;
                replies.extend(Box::pin(run(database, right, draw)).await);
                return replies;
            }
            Err(error) => {
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
    draw: &mut Draw,
) -> Result<Vec<Reply>, Error> {
    let tables = database.tables();
    let mut tx = database.begin(batch).await?;
    let mut need = Need::default();
    for request in requests {
        request.needs(&tables, &mut need);
    }
    let mut world = tx.lock(&need).await?;
    let mut plan = Plan::default();
    let mut replies: Vec<Option<Reply>> = vec![None; requests.len()];
    for (request, reply) in requests.iter().zip(&mut replies) {
        if !matches!(request.command, Command::Acquire(_)) {
            *reply = Some(plan.decide(&mut world, request, draw));
        }
    }
    // Acquires come last: they take what is left, and offering candidates is the one thing only a database can do.
    let mut offers = offers(&mut tx, &mut world, requests).await?;
    for (request, reply) in requests.iter().zip(&mut replies) {
        if let Command::Acquire(acquire) = &request.command {
            world.offers = rotated(acquire, &request.store, &mut offers);
            *reply = Some(plan.decide(&mut world, request, draw));
        }
    }
    let replies = replies.into_iter().map(|reply| reply.expect("every request was decided")).collect();
    if plan.entries.is_empty() && plan.waves.is_empty() {
        return Ok(replies);
    }
    for wave in &plan.waves {
        let written = tx.write(wave).await?;
        assert_eq!(
            written,
            wave.len(),
            "every row of a wave is written: what was locked can not have changed"
        );
    }
    tx.append(&plan.entries).await?;
    match tx.commit().await {
        Commit::Done => Ok(replies),
        Commit::Not(error) => Err(error),
        Commit::Unknown => match database.settle(batch).await? {
            Settled::Committed => Ok(replies),
            Settled::NeverWill => Err(Error::LostRace("the commit never happened".to_string())),
        },
    }
}

/// Candidates by store and kind, as many as all acquires together ask for.
type Offers = BTreeMap<(Store, Kind), Vec<ItemId>>;

async fn offers<T: Tx>(tx: &mut T, world: &mut World, requests: &[Request]) -> Result<Offers, Error> {
    let mut wanted: BTreeMap<(Store, Kind), usize> = BTreeMap::new();
    for request in requests {
        if let Command::Acquire(acquire) = &request.command {
            for kind in acquire.kinds.iter().filter(|kind| world.tables.current(kind).is_some()) {
                *wanted.entry((request.store.clone(), kind.clone())).or_default() += acquire.max;
            }
        }
    }
    let mut offers = Offers::new();
    for ((store, kind), limit) in wanted {
        let found = tx.claim(world, &store, &kind, limit).await?;
        assert!(found.len() <= limit, "a claim never returns more than it was asked for");
        offers.insert((store, kind), found);
    }
    Ok(offers)
}

/// The candidates of one acquire, one kind after the other in the order it names them.
fn rotated(acquire: &Acquire, store: &Store, offers: &mut Offers) -> Vec<ItemId> {
    let of = |kind: &Kind| offers.get(&(store.clone(), kind.clone())).cloned().unwrap_or_default();
    acquire.kinds.iter().flat_map(of).collect()
}

/// What a batch will write.
#[derive(Debug, Default)]
struct Plan {
    /// The k-th change of a row is in a later wave than the one before it, so that a database sees every single step.
    waves: Vec<Vec<Change>>,
    entries: Vec<Entry>,
    last: BTreeMap<RowKey, usize>,
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

impl Plan {
    fn decide(&mut self, world: &mut World, request: &Request, draw: &mut Draw) -> Reply {
        let decision = decide(world, request, draw);
        let fresh = !decision.changes.is_empty();
        self.add(&decision.changes);
        world.apply(decision.changes);
        Reply { answer: decision.answer, fresh }
    }

    fn add(&mut self, changes: &[Change]) {
        // Items of one lane exclude each other: the one that leaves it is written before the one that enters.
        let lanes = changes.iter().filter_map(|change| match change {
            Change::Lane(key, _) => self.last.get(&RowKey::Lane(key.clone())),
            _ => None,
        });
        let floor = lanes.max().map_or(0, |wave| wave + 1);
        for change in changes {
            let row = match change {
                Change::Insert { item, .. } | Change::Update { item, .. } => RowKey::Item(item.id),
                Change::Renew { execution, .. } => RowKey::Item(execution.item),
                Change::Erase(item) => RowKey::Item(*item),
                Change::Execution(execution) => RowKey::Execution(execution.id),
                Change::Name(key, _) => RowKey::Name(key.clone()),
                Change::Lane(key, _) => RowKey::Lane(key.clone()),
                Change::Record(record) => RowKey::Record(record.id),
                Change::Message(message) => RowKey::Message(message.item, message.version, message.ordinal),
                Change::Entry(entry) => {
                    self.entries.push(entry.clone());
                    continue;
                }
            };
            let wave = self.last.get(&row).map_or(0, |wave| wave + 1).max(floor);
            self.last.insert(row, wave);
            if self.waves.len() <= wave {
                self.waves.resize_with(wave + 1, Vec::new);
            }
            self.waves[wave].push(change.clone());
        }
    }
}
