//! Marks, single messages and standing items of the memory database.

use std::ops::Bound;

use tenure_core::id::ItemId;
use tenure_core::word::{Key, Kind, Store};
use tenure_core::world::{LaneKey, Message};

use super::Memory;
use crate::follow::{Follow, MessageId};
use crate::{Error, PAGE_MAX};

impl Follow for Memory {
    async fn mark(&self, name: &Key) -> Result<Option<u64>, Error> {
        Ok(self.kept.lock().await.world.marks.get(name).copied())
    }

    async fn set_mark(&self, name: &Key, value: u64) -> Result<(), Error> {
        let mut kept = self.kept.lock().await;
        let mark = kept.world.marks.entry(name.clone()).or_default();
        *mark = value.max(*mark);
        Ok(())
    }

    async fn forget_mark(&self, name: &Key) -> Result<(), Error> {
        self.kept.lock().await.world.marks.remove(name);
        Ok(())
    }

    async fn secret(&self) -> Result<String, Error> {
        Ok(self.secret.clone())
    }

    async fn message(&self, store: &Store, id: MessageId) -> Result<Option<Message>, Error> {
        let kept = self.kept.lock().await;
        if kept.world.items.get(&id.item).is_none_or(|item| item.store != *store) {
            return Ok(None);
        }
        let is_it = |message: &&Message| {
            (message.item, message.version, message.ordinal) == (id.item, id.version, id.ordinal)
        };
        Ok(kept.world.messages.iter().find(is_it).cloned())
    }

    async fn standing(
        &self,
        store: &Store,
        kind: &Kind,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, ItemId)>, Error> {
        let kept = self.kept.lock().await;
        let of = |lane: &LaneKey| lane.store == *store && lane.kind == *kind;
        let lane = |key: &Key| LaneKey { store: store.clone(), kind: kind.clone(), key: key.clone() };
        // No key is before this one.
        let first: Key = " ".parse().expect("a valid key");
        let from = after.map_or(Bound::Included(lane(&first)), |after| Bound::Excluded(lane(after)));
        let lanes = kept.world.lanes.range((from, Bound::Unbounded)).take_while(|(key, _)| of(key));
        let open = lanes.filter_map(|(key, lane)| Some((key.key.clone(), lane.open?)));
        Ok(open.take(limit.min(PAGE_MAX)).collect())
    }
}
