//! One batch, one transaction: load, decide, write.
//!
//! ```text
//! lock what all requests need ─▶ decide each in order of arrival, each seeing what the ones before it did ─▶ write
//!   the rows in waves ─▶ offer candidates to the acquires, write again ─▶ append the entries ─▶ COMMIT ─▶ answer
//! ```
//!
//! A refused request writes nothing and harms no other. When the transaction fails for a reason that is about one
//! request, the batch is halved until that one stands alone. When it loses a race it is run again, after a pause
//! (`patience.rs`). When COMMIT is not heard of, the batch is settled first.

mod beside;
pub mod inbox;
pub(crate) mod patience;
mod pool;

use std::collections::BTreeMap;

use tenure_core::answer::Answer;
use tenure_core::control::{Control, HeldBack, QueueKey};
use tenure_core::decide::{Decision, decide};
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::execution::Status;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::Phase;
use tenure_core::request::{Acquire, Command, Need, Request};
use tenure_core::world::{Change, LaneKey, NameKey, World};

use crate::id_map::IdMap;
use crate::segment::Pressed;
use crate::{BatchId, Commit, Database, Error, Settled, Tx};
use patience::Patience;
use pool::Pool;

pub use patience::PATIENCE;

/// A call of a thousand is one transaction. More only makes everyone wait longer for the same rate.
pub const BATCH_MAX: usize = 1_024;
/// A database that can not be asked what became of a commit is asked this often. One that is away stays away for longer than anybody
/// should wait for it here, so there is no pause.
const SETTLES_MAX: usize = 5;

/// What one request came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    pub answer: Answer,
    /// Something was written for it. A repeat that answers the same is not fresh.
    pub fresh: bool,
    /// An acquire got less than it asked for because of this.
    pub held_back: Option<Box<HeldBack>>,
    /// Attempts that this ended and whose item failed with them: a failure for good, or the last attempt.
    pub failed_for_good: usize,
    /// What a create made is held already: whoever waited for work has it by the same commit. Nobody needs to be told of it.
    pub leased_at_once: bool,
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
    let mut patience = Patience::new();
    let failure = loop {
        let batch = BatchId(u128::from(draw.number()) << 64 | u128::from(draw.number()));
        match attempt(database, batch, requests, seeds).await {
            Ok(replies) => return replies.into_iter().map(Ok).collect(),
            Err(Error::LostRace(_)) if patience.wait(database, draw).await => {}
            Err(Error::Statement(_)) if requests.len() > 1 => {
                let half = requests.len() / 2;
                let (left, right) = (&requests[..half], &requests[half..]);
                let mut replies = Box::pin(run_seeded(database, left, &seeds[..half], draw)).await;
                replies.extend(Box::pin(run_seeded(database, right, &seeds[half..], draw)).await);
                return replies;
            }
            Err(error) => break error,
        }
    };
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
    let mut decided = Decided::new(tx.lock(&need).await?, requests.len());
    if D::Tx::BLOCKS && requests.len() >= beside::REQUESTS_MIN {
        decided = beside::decide_and_write(&mut tx, decided, requests, seeds)?;
    } else {
        decided.decide(requests, seeds, 0);
    }
    // Acquires come last: they take what is left. What the others did is written first, because a claim sees what its
    // transaction has written; so a batch does what its requests would have done one by one, the acquires at the end.
    if decided.replies.iter().any(Option::is_none) {
        decided.plan.write(&mut tx).await?;
        let mut pool = Pool::new(requests);
        for (index, request) in requests.iter().enumerate() {
            let Command::Acquire(acquire) = &request.command else { continue };
            if D::Tx::BLOCKS && acquire.max >= beside::LEASES_MIN && acquire.terms.request.is_none() {
                decided = beside::lease_and_write(&mut tx, decided, &mut pool, index, request, acquire)?;
            } else {
                let decision = pool.decide(&mut tx, &mut decided.world, request, acquire).await?;
                decided.lease(index, request, acquire, decision);
            }
        }
    }
    let Decided { mut plan, replies, .. } = decided;
    let replies = replies.into_iter().map(|reply| reply.expect("every request was decided")).collect();
    if !plan.changed {
        if tx.has_set_aside() {
            // Nobody asked for it: what is not kept is met and set aside again.
            let _ = tx.commit().await;
        }
        return Ok(replies);
    }
    match plan.pressed.take() {
        None if D::Tx::BLOCKS && plan.entries.len() >= beside::ENTRIES_MIN => {
            beside::write_and_press(&mut tx, &mut plan)?;
        }
        pressed => {
            plan.write(&mut tx).await?;
            pressed.into_iter().for_each(|pressed| tx.pressed(pressed));
        }
    }
    finish(database, tx, batch, &plan.entries).await?;
    Ok(replies)
}

/// What a batch has come to so far.
struct Decided {
    world: World,
    plan: Plan,
    /// None for what is not decided yet.
    replies: Vec<Option<Reply>>,
}

impl Decided {
    fn new(world: World, requests: usize) -> Decided {
        Decided { world, plan: Plan::default(), replies: vec![None; requests] }
    }

    /// Decides requests in their order, all but the acquires. The first of them has this number in its batch.
    fn decide(&mut self, requests: &[Request], seeds: &[Draw], first: usize) {
        for (index, (request, seed)) in (first..).zip(requests.iter().zip(seeds)) {
            if !matches!(request.command, Command::Acquire(_)) {
                let decision = decide(&self.world, request, &mut seed.clone());
                self.replies[index] = Some(self.plan.take(&mut self.world, decision));
            }
        }
    }

    fn lease(&mut self, index: usize, request: &Request, acquire: &Acquire, decision: Decision) {
        let mut reply = self.plan.take(&mut self.world, decision);
        reply.held_back = pool::held_back(&self.world, request, acquire, &reply.answer);
        self.replies[index] = Some(reply);
    }
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
    for _ in 0..SETTLES_MAX {
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
    last: Last,
    /// Written once, however often they change: what a control was meanwhile nobody asks.
    controls: BTreeMap<QueueKey, Box<Control>>,
    pub(crate) entries: Vec<Sealed>,
    /// The entries, once no more can come.
    pressed: Option<Pressed>,
    changed: bool,
}

/// The wave of the last change of a row. What hangs on an item (executions, records, messages) changes with a step of it
/// and goes with that step's wave.
#[derive(Debug, Default)]
struct Last {
    items: IdMap<usize>,
    names: BTreeMap<NameKey, usize>,
    lanes: BTreeMap<LaneKey, usize>,
    /// Lanes of which several run at once: the wave they are in and the place in it. They too are written once.
    shared: BTreeMap<LaneKey, (usize, usize)>,
}

impl Last {
    /// The wave for a change that must not come before `floor`.
    fn wave(&mut self, change: &Change, floor: usize) -> usize {
        let next = |before: Option<usize>| before.map_or(floor, |before| floor.max(before + 1));
        match change {
            Change::Insert { item, .. } | Change::Update { item, .. } => self.step(item.id, floor),
            Change::Renew { execution, .. } => self.step(execution.item, floor),
            Change::Erase(item) => self.step(*item, floor),
            Change::Remove { item, .. } => self.step(item.id, floor),
            Change::Linked { from, .. } => self.with(*from, floor),
            Change::Execution(execution) => self.with(execution.id.item, floor),
            Change::Record(record) => self.with(record.item, floor),
            Change::Message(message) => self.with(message.item, floor),
            Change::Name(key, _) | Change::Unname(key) => {
                let wave = next(self.names.get(key).copied());
                self.names.insert(key.clone(), wave);
                wave
            }
            Change::Lane(key, _) => {
                let wave = next(self.lanes.get(key).copied());
                self.lanes.insert(key.clone(), wave);
                wave
            }
            Change::Control(..) => unreachable!("a control is written once, at the end"),
            Change::Entry(_) => unreachable!("an entry is no row: it is appended"),
        }
    }

    fn step(&mut self, item: ItemId, floor: usize) -> usize {
        let last = self.items.entry(item);
        *last.and_modify(|wave| *wave = floor.max(*wave + 1)).or_insert(floor)
    }

    /// Not before the step that made it: an erase in between would take it.
    fn with(&self, item: ItemId, floor: usize) -> usize {
        self.items.get(&item).map_or(floor, |wave| floor.max(*wave))
    }
}

/// How many items came into a failed state together with the end of their attempt.
fn failed_for_good(changes: &[Change]) -> usize {
    let ended = |id: ItemId| {
        changes.iter().any(|change| match change {
            Change::Execution(execution) => execution.id.item == id && execution.status() == Status::Aborted,
            _ => false,
        })
    };
    let failed = changes.iter().filter(|change| match change {
        Change::Update { item, .. } => item.phase() == Phase::Failed && ended(item.id),
        _ => false,
    });
    failed.count()
}

impl Plan {
    /// Takes a decision: the batch will write it, and whoever is decided next sees it.
    fn take(&mut self, world: &mut World, decision: Decision) -> Reply {
        let fresh = !decision.changes.is_empty();
        let failed_for_good = failed_for_good(&decision.changes);
        self.changed |= fresh;
        self.add(world, decision.changes);
        Reply { answer: decision.answer, fresh, held_back: None, failed_for_good, leased_at_once: false }
    }

    /// Takes changes. Entries are only appended: no decision reads them.
    pub(crate) fn add(&mut self, world: &mut World, changes: Vec<Change>) {
        // Items of one lane exclude each other: the one that leaves it is written before the one that enters.
        let lanes = changes.iter().filter_map(|change| match change {
            Change::Lane(key, _) => self.last.lanes.get(key),
            _ => None,
        });
        let floor = lanes.max().map_or(0, |wave| wave + 1);
        let mut last = floor;
        for change in &changes {
            match change {
                Change::Entry(_) | Change::Lane(..) => {}
                Change::Control(key, control) => drop(self.controls.insert(key.clone(), control.clone())),
                _ => {
                    let wave = self.last.wave(change, floor);
                    last = last.max(wave);
                    self.wave(wave).push(change.clone());
                }
            }
        }
        // Not before the item that leaves it: whoever enters next comes after the lane.
        for change in &changes {
            match change {
                Change::Lane(key, _) if is_shared(world, key) => self.share(key, change),
                Change::Lane(..) => {
                    let wave = self.last.wave(change, last);
                    self.wave(wave).push(change.clone());
                }
                _ => {}
            }
        }
        for change in changes {
            match change {
                Change::Entry(entry) => self.entries.push(entry),
                row => world.apply_one(row),
            }
        }
    }

    fn wave(&mut self, wave: usize) -> &mut Vec<Change> {
        if self.waves.len() <= wave {
            self.waves.resize_with(wave + 1, Vec::new);
        }
        &mut self.waves[wave]
    }

    /// A lane whose items do not exclude each other: its last word takes the place of those before it.
    fn share(&mut self, key: &LaneKey, change: &Change) {
        match self.last.shared.get(key).copied() {
            Some((wave, place)) => self.waves[wave][place] = change.clone(),
            None => {
                let wave = self.wave(0);
                wave.push(change.clone());
                let place = wave.len() - 1;
                self.last.shared.insert(key.clone(), (0, place));
            }
        }
    }

    /// Writes what was taken so far. A row that is not there as it was locked means that somebody wrote around the
    /// locks: the batch is rolled back and halved, so that it costs one request and not all of them.
    pub(crate) async fn write<T: Tx>(&mut self, tx: &mut T) -> Result<(), Error> {
        write_waves(tx, self.waves()).await
    }

    /// What was taken so far and is not written.
    fn waves(&mut self) -> Vec<Vec<Change>> {
        self.last = Last::default();
        let controls = std::mem::take(&mut self.controls).into_iter();
        let controls: Vec<Change> = controls.map(|(key, control)| Change::Control(key, control)).collect();
        if !controls.is_empty() {
            self.wave(0).extend(controls);
        }
        std::mem::take(&mut self.waves)
    }
}

fn is_shared(world: &World, key: &LaneKey) -> bool {
    world.tables.laned(&key.kind).is_some_and(|table| !table.is_exclusive())
}

/// The end of every error that says so: what would have been torn was taken back, and is counted.
pub(crate) const TORN: &str = "a row is not as it was locked";

async fn write_waves<T: Tx>(tx: &mut T, waves: Vec<Vec<Change>>) -> Result<(), Error> {
    for wave in waves {
        let written = tx.write(&wave).await?;
        if written != wave.len() {
            let planned = wave.len();
            return Err(Error::Statement(format!("{written} of {planned} rows were written: {TORN}")));
        }
    }
    Ok(())
}
