//! The end of the log, recomputed; and a sample of items, each held against its entries.

use std::collections::BTreeMap;

use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::Phase;

use super::{Check, Examined, FOUND_MAX, Found, Patient, Row};
use crate::{Error, Order, Query, segment, verify};

/// Segments that are read back from the end.
const SEGMENTS_MAX: usize = 200;
/// Segments that are held in memory at once.
const PAGE: usize = 10;
/// Items of each sort that are held against their entries.
const SAMPLE: usize = 100;

const CHAIN: Check = Check::wrong(
    "the chain of the log recomputes",
    "K-40, K-43",
    "the log was changed: `tenure verify` says which entries; restore a backup that it finds sound",
);
const ITEMS: Check = Check::wrong(
    "an item is what its entries say",
    "K-08, K-40",
    "a row or its history was changed: `tenure verify` finds all; restore a backup that it finds sound",
);

pub(super) async fn chain<P: Patient>(patient: &P) -> Examined {
    Examined::of(CHAIN, chained(patient).await)
}

/// Backwards: a segment is judged once the chain before it is known. The chain before the last one read is taken as it is.
async fn chained<P: Patient>(patient: &P) -> Result<Examined, Error> {
    let mut found = Vec::new();
    let mut newer: Option<Row> = None;
    let mut read = 0;
    let mut before = i64::MAX;
    while read < SEGMENTS_MAX && found.len() <= FOUND_MAX {
        let sql = format!(
            "select pos, entries, lines, chain from {{log}} l where pos < {before} order by pos desc limit {PAGE}"
        );
        let page = patient.ask(&sql).await?;
        let is_last = page.len() < PAGE;
        read += page.len();
        for row in page {
            before = row[0].number();
            let chain = Hash(row[3].bytes().try_into().unwrap_or_default());
            found.extend(newer.replace(row).and_then(|newer| broken(&newer, chain)));
        }
        if is_last {
            found.extend(newer.take().filter(|_| before == 1).and_then(|first| broken(&first, Hash::ZERO)));
            break;
        }
    }
    let only = (before > 1 && read > 0).then(|| format!("the newest {read} segments"));
    Ok(Examined::new(CHAIN, read as u64, found).only(only))
}

/// What is wrong with a segment that follows this chain.
fn broken(row: &Row, before: Hash) -> Option<Found> {
    let name = format!("entry {}", row[0].number());
    let entries = match segment::read(row[2].bytes()) {
        Ok(entries) => entries,
        Err(damaged) => return Some(Found::new(name, damaged.to_string())),
    };
    if entries.len() as i64 != row[1].number() {
        let what = format!("its segment has {} entries and counts {}", entries.len(), row[1].number());
        return Some(Found::new(name, what));
    }
    let chain = entries.iter().fold(before, |chain, kept| chain.link(&Hash::of(&kept.line)));
    (chain.0 != *row[3].bytes()).then(|| Found::new(name, "its segment was changed, or the one before it"))
}

pub(super) async fn sample<P: Patient>(patient: &P) -> Examined {
    Examined::of(ITEMS, sampled(patient).await)
}

async fn sampled<P: Patient>(patient: &P) -> Result<Examined, Error> {
    let of = |order: Order, phase: Option<Phase>| Query { order, phase, limit: SAMPLE, ..Query::default() };
    let mut found = Vec::new();
    let mut items: BTreeMap<ItemId, Item> = BTreeMap::new();
    for query in [of(Order::Newest, None), of(Order::Oldest, None), of(Order::Oldest, Some(Phase::Active))] {
        match patient.list(&query).await {
            Ok(page) => items.extend(page.into_iter().map(|item| (item.id, item))),
            Err(Error::Statement(why)) => found.push(Found::new("a row", why)),
            Err(error) => return Err(error),
        }
    }
    for item in items.values() {
        match verify::item(patient, item).await {
            Ok(faults) => found.extend(faults.into_iter().map(|what| Found::new(item.id, what))),
            Err(Error::Statement(why)) => found.push(Found::new(item.id, why)),
            Err(error) => return Err(error),
        }
    }
    let is_all = items.len() < SAMPLE;
    let only = (!is_all).then(|| format!("the newest and the oldest {SAMPLE}, and {SAMPLE} active ones"));
    Ok(Examined::new(ITEMS, items.len() as u64, found).only(only))
}
