//! The judge: holds what the processes were answered against the log, the rows and the clock.
//!
//! 1. What was acknowledged is there.
//! 2. What was refused is not.
//! 3. What was unknown is there at most once.
//! 4. An item's entries are without gaps, its fence only grows, every write is by the holder of the lease in force, no lease
//!    begins before the one before it has ended, and none is ended before its time.
//! 5. There is at most one commit an item: by executions, by records, by messages and by children.
//! 6. Rows are what the log says, and
//! 7. chains are whole (`verify`).
//! 8. Nothing is left open.

mod life;

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::Tenure;
use tenure_core::execution::Status;
use tenure_core::id::ItemId;
use tenure_core::time::Time;
use tenure_databases::Whole;

use super::cast::{Struck, place_of};
use super::heard::Heard;
use super::task::{Act, EFFECT, Task};
use crate::outcome::Error;
use life::Life;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    pub entries: usize,
    pub items: usize,
    pub commits: usize,
    pub records: usize,
    pub messages: usize,
    pub expiries: usize,
    pub lost: Vec<String>,
    pub doubled: Vec<String>,
    pub stuck: Vec<String>,
    /// Leases that overlapped, and writes by others than the holder.
    pub overlaps: Vec<String>,
    /// Whatever else must not be.
    pub other: Vec<String>,
    pub takeovers: Vec<Takeover>,
}

/// Somebody was struck while it held an item: how long until another had it, or it was ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Takeover {
    pub took: Duration,
    pub lease: Duration,
}

impl Takeover {
    pub fn beyond_lease(&self) -> Duration {
        self.took.saturating_sub(self.lease)
    }
}

/// Who was struck when, and how long everyone's leases were.
#[derive(Clone, Debug)]
pub struct Facts {
    pub leases: Vec<Duration>,
    /// By name, in the order of time, by the database's clock.
    struck: BTreeMap<String, Vec<Time>>,
}

impl Facts {
    /// `ahead` is how far the database's clock is ahead of this machine's, in microseconds.
    pub fn new(leases: Vec<Duration>, struck: &[Struck], ahead: i64) -> Facts {
        let mut by_name: BTreeMap<String, Vec<Time>> = BTreeMap::new();
        for Struck { name, at } in struck {
            let at = Time::from_micros(at.micros() + ahead);
            by_name.entry(name.clone()).or_default().push(at);
        }
        Facts { leases, struck: by_name }
    }

    fn lease(&self, worker: &str) -> Option<Duration> {
        self.leases.get(place_of(worker)?).copied()
    }

    /// When a worker was struck between two moments.
    fn struck(&self, worker: &str, from: Time, to: Time) -> Option<Time> {
        let at = |at: &&Time| **at >= from && **at <= to;
        self.struck.get(worker)?.iter().rfind(at).copied()
    }
}

/// Entries that are read at once.
const PAGE: usize = 5_000;

pub async fn judge(tenure: &Tenure, facts: &Facts, heard: &Heard) -> Result<Judged, Error> {
    let mut judged = Judged::default();
    let lives = log(tenure, facts, &mut judged).await?;
    acknowledged(heard, &lives, &mut judged);
    for (id, life) in &lives {
        let whole = tenure.whole(*id).await.map_err(|error| Error::Part(error.to_string()))?;
        item(*id, life, &whole, &mut judged);
    }
    judged.items = lives.len();
    judged.other.extend(heard.wrong.iter().cloned());
    Ok(judged)
}

async fn log(tenure: &Tenure, facts: &Facts, judged: &mut Judged) -> Result<BTreeMap<ItemId, Life>, Error> {
    let mut lives: BTreeMap<ItemId, Life> = BTreeMap::new();
    let mut after = 0;
    loop {
        let page = tenure.log(after, PAGE).await.map_err(|error| Error::Part(error.to_string()))?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        judged.entries += page.len();
        for (_, entry) in &page {
            lives.entry(entry.item).or_default().read(entry, facts, judged);
        }
    }
    // What a commit created, counted where it was created.
    let parents: Vec<ItemId> = lives.values().filter_map(|life| life.parent).collect();
    for parent in parents {
        if let Some(life) = lives.get_mut(&parent) {
            life.children += 1;
        }
    }
    Ok(lives)
}

fn acknowledged(heard: &Heard, lives: &BTreeMap<ItemId, Life>, judged: &mut Judged) {
    let mut named: BTreeMap<&str, ItemId> = BTreeMap::new();
    for (id, life) in lives {
        if let Some(name) = life.name.as_deref()
            && let Some(other) = named.insert(name, *id)
        {
            judged.doubled.push(format!("key {name} made {other} and {id}"));
        }
    }
    for (key, item) in &heard.created {
        match named.get(&**key) {
            Some(found) if found == item => {}
            Some(found) => judged.lost.push(format!("key {key} was answered with {item} and made {found}")),
            None => judged.lost.push(format!("key {key} was answered with {item}, which is not there")),
        }
    }
}

fn item(id: ItemId, life: &Life, whole: &Whole, judged: &mut Judged) {
    let lasting = whole.executions.iter().filter(|one| one.status() != Status::Aborted).count();
    let records = whole.records.iter().filter(|record| &*record.label == EFFECT).count();
    let messages = whole.messages.iter().filter(|message| &*message.label == EFFECT).count();
    judged.commits += lasting;
    judged.records += records;
    judged.messages += messages;
    let task =
        whole.payload.as_ref().and_then(|payload| serde_json::from_slice::<Task>(payload.bytes()).ok());
    let Some(task) = task else {
        return judged.other.push(format!("{id}: its payload is not what was sent"));
    };
    let children = if task.act == Act::Child { life.children } else { lasting };
    let counts = [life.commits, lasting, records, messages, children];
    if counts.iter().any(|count| *count > 1) {
        judged.doubled.push(format!("{id}: commits, executions, records, messages, children: {counts:?}"));
    } else if counts.iter().any(|count| *count != lasting) {
        judged.other.push(format!("{id}: commits, executions, records, messages, children: {counts:?}"));
    }
    let state = &**whole.item.state_name();
    if !whole.item.phase().is_ended() {
        judged.stuck.push(format!("{id} is {state}"));
    } else if (state == "SUCCEEDED") != (lasting == 1) {
        judged.other.push(format!("{id} is {state} with {lasting} commits"));
    }
    let acts = match task.act {
        Act::Never => ["FAILED", "FAILED"],
        Act::Hang => ["CANCELLED", "FAILED"],
        Act::Work | Act::Slow | Act::FailOnce | Act::PanicOnce | Act::Child => ["SUCCEEDED", "FAILED"],
    };
    // Any may fail: those who held it were killed too often.
    if whole.item.phase().is_ended() && !acts.contains(&state) {
        judged.other.push(format!("{id} is {state} and was told to {:?}", task.act));
    }
}
