//! Looking around an item of the memory database.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use tenure_core::id::{ItemId, RecordId};
use tenure_core::item::{Item, SharedItem, Slot};
use tenure_core::lifecycle::Phase;
use tenure_core::time::Time;
use tenure_core::word::{Key, Store};
use tenure_core::world::{Lane, LaneKey, NameKey, Named, Record};

use super::{Memory, is_of};
use crate::look::{Ahead, Look, Outline, SetAside};
use crate::{Error, Order, PAGE_MAX, Place, Query};

impl Look for Memory {
    async fn now(&self) -> Result<Time, Error> {
        Ok((self.clock)())
    }

    async fn latest(&self) -> Result<Time, Error> {
        Ok(self.kept.lock().await.latest)
    }

    async fn ahead(&self, item: &Item, most: usize) -> Result<Ahead, Error> {
        let kept = self.kept.lock().await;
        let (world, now) = (&kept.world, (self.clock)());
        let is_ready = |other: &&SharedItem| {
            other.store == item.store && other.table.kind == item.table.kind && other.slot(now) == Slot::Ready
        };
        let mut first_of_keys: BTreeMap<&Key, &SharedItem> = BTreeMap::new();
        let mut ahead = Ahead::default();
        for other in world.items.values().filter(is_ready) {
            let Some(key) = other.lane_key() else {
                ahead.of_kind += usize::from(Place::of(other) < Place::of(item));
                continue;
            };
            let is_older = (other.created, other.id) < (item.created, item.id);
            ahead.of_key += usize::from(item.lane_key() == Some(key) && is_older);
            let first = first_of_keys.entry(key).or_insert(other);
            if (other.created, other.id) < (first.created, first.id) {
                *first = other;
            }
        }
        let table = world.tables.laned(&item.table.kind);
        for (key, first) in first_of_keys {
            let lane = LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key: key.clone() };
            let lane = world.lanes.get(&lane).cloned().unwrap_or_default();
            let has_room = table.is_some_and(|table| lane.room(table, now) > 0);
            ahead.of_kind += usize::from(has_room && Place::of(first) < Place::of(item));
        }
        Ok(Ahead { of_key: ahead.of_key.min(most), of_kind: ahead.of_kind.min(most) })
    }

    async fn outlines(&self, query: &Query) -> Result<Vec<Outline>, Error> {
        let kept = self.kept.lock().await;
        let world = &kept.world;
        let linked: BTreeSet<ItemId> = world.linked.iter().map(|(_, from)| *from).collect();
        let outline = |item: &SharedItem| Outline {
            id: item.id,
            rank: Some(item.rank()).filter(|_| !matches!(item.phase(), Phase::Failed | Phase::Stopped)),
            is_linked: linked.contains(&item.id),
        };
        Ok(world.items.values().filter(|item| is_of(item, query)).map(outline).collect())
    }

    async fn lane(&self, key: &LaneKey) -> Result<Lane, Error> {
        Ok(self.kept.lock().await.world.lanes.get(key).cloned().unwrap_or_default())
    }

    async fn named(&self, key: &NameKey) -> Result<Option<Named>, Error> {
        Ok(self.kept.lock().await.world.names.get(key).cloned())
    }

    async fn linked(
        &self,
        to: ItemId,
        order: Order,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<Vec<ItemId>, Error> {
        let (least, most) = (Bound::Included((to, ItemId(0))), Bound::Included((to, ItemId(u128::MAX))));
        let after = after.map(|after| Bound::Excluded((to, after)));
        let (kept, limit) = (self.kept.lock().await, limit.min(PAGE_MAX));
        let linked = &kept.world.linked;
        Ok(match order {
            Order::Oldest => {
                linked.range((after.unwrap_or(least), most)).map(|(_, from)| *from).take(limit).collect()
            }
            Order::Newest => {
                let found = linked.range((least, after.unwrap_or(most))).rev();
                found.map(|(_, from)| *from).take(limit).collect()
            }
        })
    }

    async fn record(&self, id: RecordId) -> Result<Option<Record>, Error> {
        Ok(self.kept.lock().await.world.records.get(&id).cloned())
    }

    /// There are no rows that could be damaged.
    async fn set_aside(&self, _store: &Store, _id: ItemId) -> Result<Option<SetAside>, Error> {
        Ok(None)
    }
}
