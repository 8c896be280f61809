//! Names and lanes: what they name is in bytes that the kernel's own code reads, so it is looked up here.
//!
//! They are read at one moment and the items they name at another. Whatever is found is therefore looked at twice, and told if it
//! is so both times.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::id::ItemId;
use tenure_core::world::Named;

use super::{Check, Examined, Found, Patient, Row, thousands};
use crate::Error;
use crate::row::{lane, name};

/// Names and lanes that are looked at; the items of each are looked up.
const LOOKUPS_MAX: usize = 20_000;
/// Ids in one statement.
const CHUNK: usize = 500;

const NAMES: Check = Check::wrong(
    "a name stands for an item that is there",
    "K-30",
    "whoever repeats such a create gets an error: restore a backup that `tenure verify` finds sound",
);
const LANES: Check = Check::wrong(
    "a lane names its own items",
    "K-31",
    "its key is blocked or runs twice: restore a backup that `tenure verify` finds sound",
);

pub(super) async fn names<P: Patient>(patient: &P) -> Examined {
    Examined::of(NAMES, twice(NAMES, async || wrong_names(patient).await).await)
}

pub(super) async fn lanes<P: Patient>(patient: &P) -> Examined {
    Examined::of(LANES, twice(LANES, async || wrong_lanes(patient).await).await)
}

/// What was looked at, and what was found.
type Look = (usize, BTreeSet<Found>);

async fn twice(check: Check, look: impl AsyncFn() -> Result<Look, Error>) -> Result<Examined, Error> {
    let (looked_at, mut found) = look().await?;
    if !found.is_empty() {
        let (_, again) = look().await?;
        found.retain(|found| again.contains(found));
    }
    let only = (looked_at >= LOOKUPS_MAX).then(|| format!("the first {}", thousands(LOOKUPS_MAX)));
    Ok(Examined::new(check, looked_at as u64, found.into_iter().collect()).only(only))
}

async fn wrong_names<P: Patient>(patient: &P) -> Result<Look, Error> {
    let sql = format!(
        "select n.scope, n.name, n.value from @.names n order by n.store, n.scope, n.name limit {LOOKUPS_MAX}"
    );
    let rows = patient.ask(&sql).await?;
    let mut found = BTreeSet::new();
    let mut named: Vec<(String, ItemId)> = Vec::new();
    for row in &rows {
        let shown = format!("{} `{}`", row[0].text(), row[1].text());
        match name::read(row[2].bytes()) {
            Ok(Named::Created { item, .. } | Named::Folded { item, .. }) => named.push((shown, item)),
            // It answers a lost acquire while its leases are held, and outlives some of their items.
            Ok(Named::Leased(_)) => {}
            Err(damaged) => drop(found.insert(Found::new(shown, damaged.to_string()))),
        }
    }
    let there = places(patient, named.iter().map(|(_, item)| *item)).await?;
    let lost = named.into_iter().filter(|(_, item)| !there.contains_key(item));
    found.extend(
        lost.map(|(shown, item)| Found::new(shown, format!("stands for item {item}, which is not there"))),
    );
    Ok((rows.len(), found))
}

async fn wrong_lanes<P: Patient>(patient: &P) -> Result<Look, Error> {
    let sql = format!(
        "select l.queue, l.key, l.running, l.open, l.latest, l.starts from @.lanes l \
         order by l.queue, l.key limit {LOOKUPS_MAX}"
    );
    let rows = patient.ask(&sql).await?;
    let mut found = BTreeSet::new();
    let mut lanes = Vec::new();
    for row in &rows {
        let starts = Some(row[5].bytes()).filter(|bytes| !bytes.is_empty());
        match lane::read(row[2].bytes(), row[3].item(), row[4].item(), starts) {
            Ok(lane) => lanes.push((row, lane)),
            Err(damaged) => drop(found.insert(Found::new(key(row), damaged.to_string()))),
        }
    }
    let there = places(patient, lanes.iter().flat_map(|(_, lane)| lane.items())).await?;
    for (row, lane) in &lanes {
        for item in lane.items() {
            let what = match there.get(&item) {
                None => "which is not there",
                Some(place) if (place.queue, place.key.as_str()) != (row[0].number(), row[1].text()) => {
                    "which is of another key"
                }
                Some(place) if lane.running.contains(&item) && !place.is_active => "which does not run",
                Some(_) => continue,
            };
            found.insert(Found::new(key(row), format!("names item {item}, {what}")));
        }
    }
    Ok((rows.len(), found))
}

fn key(row: &Row) -> String {
    format!("key {}", row[1].text())
}

struct Place {
    queue: i64,
    key: String,
    is_active: bool,
}

/// Where these items are; those that are nowhere are left out.
async fn places<P: Patient>(
    patient: &P,
    ids: impl Iterator<Item = ItemId>,
) -> Result<BTreeMap<ItemId, Place>, Error> {
    let ids: Vec<ItemId> = ids.collect::<BTreeSet<_>>().into_iter().collect();
    let mut there = BTreeMap::new();
    for chunk in ids.chunks(CHUNK) {
        let ids: Vec<String> = chunk.iter().map(|id| P::literal(*id)).collect();
        let sql =
            format!("select i.id, i.queue, i.key, i.slot from @.items i where i.id in ({})", ids.join(", "));
        for row in patient.ask(&sql).await? {
            let Some(id) = row[0].item() else { continue };
            let place = Place {
                queue: row[1].number(),
                key: row[2].text().to_string(),
                is_active: row[3].number() == 3,
            };
            there.insert(id, place);
        }
    }
    Ok(there)
}
