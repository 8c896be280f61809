//! A lane: the items that share a key. It is the lock and the truth of that key.
//!
//! Derived from the items and their log, never the other way round: a replay makes the same lanes.

use alloc::vec::Vec;

use crate::id::ItemId;
use crate::item::Item;
use crate::lifecycle::settings::Coalesce;
use crate::lifecycle::{Phase, Table};
use crate::pace::Pace;
use crate::time::Time;
use crate::word::{Key, Kind, Store};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LaneKey {
    pub store: Store,
    pub kind: Kind,
    pub key: Key,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lane {
    /// Those that are held, in the order in which they were leased. Kept where the kind limits them.
    pub running: Vec<ItemId>,
    /// The one that a create on this key is answered with.
    pub open: Option<ItemId>,
    /// The one that succeeded last, as long as it stays so.
    pub latest: Option<ItemId>,
    /// When items of it were leased lately. Kept where the kind has a rate per key.
    pub starts: Pace,
}

/// Of one key at most so many are offered at once: as many as an acquire can take.
pub const ROOM_MAX: u32 = 1_000;

impl Lane {
    /// The lane after one of its items changed.
    pub fn after(mut self, before: Option<&Item>, after: &Item) -> Lane {
        let was = before.map(Item::phase);
        let now = after.phase();
        let (table, settings) = (&after.table, &after.table.settings);
        let limited = table.is_exclusive() || settings.concurrency.key.is_some();
        match self.running.iter().position(|id| *id == after.id) {
            None if limited && now == Phase::Active => self.running.push(after.id),
            Some(place) if now != Phase::Active => {
                self.running.remove(place);
            }
            _ => {}
        }
        // Counted by the clock and not by the item's own time, which may be ahead of it.
        if let (Some(rate), Some(lease)) = (settings.rate.key, &after.lease)
            && was != Some(Phase::Active)
        {
            self.starts.forget(lease.since);
            self.starts.take(rate.per, lease.since);
        }
        let open = match settings.coalesce {
            Coalesce::No => false,
            Coalesce::Ready => now == Phase::Ready,
            Coalesce::Unfinished => !now.is_ended(),
        };
        keep(&mut self.open, after.id, open);
        let succeeded = table.supersedes() && now == Phase::Succeeded;
        if succeeded && was != Some(Phase::Succeeded) {
            self.latest = Some(after.id);
        } else if !succeeded && self.latest == Some(after.id) {
            self.latest = None;
        }
        self
    }

    /// The lane after one of its items was removed, which nobody held.
    pub fn without(mut self, id: ItemId) -> Lane {
        self.running.retain(|running| *running != id);
        keep(&mut self.open, id, false);
        keep(&mut self.latest, id, false);
        self
    }

    /// How many more of the key may be leased now.
    pub fn room(&self, table: &Table, now: Time) -> u32 {
        let by_rate = table.settings.rate.key.map_or(ROOM_MAX, |rate| self.starts.room(rate, now));
        self.seats(table).min(by_rate)
    }

    /// When time alone makes more room. None: it does not.
    pub fn more_at(&self, table: &Table, now: Time) -> Option<Time> {
        let rate = table.settings.rate.key?;
        let held_back = self.starts.room(rate, now) < self.seats(table);
        held_back.then(|| self.starts.more_at(rate, now)).flatten()
    }

    /// How many more of the key could be held at the same time.
    pub fn seats(&self, table: &Table) -> u32 {
        let held = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        let limit = if table.is_exclusive() { Some(1) } else { table.settings.concurrency.key };
        limit.map_or(ROOM_MAX, |limit| limit.saturating_sub(held)).min(ROOM_MAX)
    }

    /// The items that it names.
    pub fn items(&self) -> impl Iterator<Item = ItemId> {
        self.open.into_iter().chain(self.latest).chain(self.running.iter().copied())
    }

    /// Nothing to say but, maybe, what was started lately.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.open.is_none() && self.latest.is_none()
    }
}

/// Puts the id into the place or takes it out. A place that another item has stays that item's.
fn keep(place: &mut Option<ItemId>, id: ItemId, belongs: bool) {
    match *place {
        None if belongs => *place = Some(id),
        Some(found) if found == id && !belongs => *place = None,
        _ => {}
    }
}
