//! What waits in the memory database.

use std::collections::BTreeMap;

use tenure_core::item::{Item, Slot};
use tenure_core::lifecycle::Phase;
use tenure_core::word::Store;

use super::Memory;
use crate::Error;
use crate::backlog::{Backlog, Backlogs, COUNT_MAX};

impl Backlogs for Memory {
    async fn backlog(&self, store: Option<&Store>) -> Result<Vec<Backlog>, Error> {
        let kept = self.kept.lock().await;
        let mut kinds = BTreeMap::new();
        for item in kept.world.items.values().filter(|item| store.is_none_or(|store| *store == item.store)) {
            let place = (item.store.clone(), item.table.kind.clone());
            add(kinds.entry(place).or_insert_with(|| none(item)), item);
        }
        Ok(kinds.into_values().collect())
    }
}

fn none(item: &Item) -> Backlog {
    let (store, kind) = (item.store.clone(), item.table.kind.clone());
    Backlog { store, kind, ready: 0, scheduled: 0, active: 0, failed: 0, stopped: 0, first_at: None }
}

fn add(backlog: &mut Backlog, item: &Item) {
    let count = match item.phase() {
        Phase::Ready => {
            let since = item.run_at.max(item.updated);
            backlog.first_at = Some(backlog.first_at.map_or(since, |first| first.min(since)));
            // As a row has it: true when it was last written.
            if item.slot(item.updated) == Slot::Scheduled {
                &mut backlog.scheduled
            } else {
                &mut backlog.ready
            }
        }
        Phase::Active => &mut backlog.active,
        Phase::Failed => &mut backlog.failed,
        Phase::Stopped => &mut backlog.stopped,
        Phase::Waiting | Phase::Succeeded => return,
    };
    *count = (*count + 1).min(COUNT_MAX);
}
