//! What waits in the memory database.

use std::collections::BTreeMap;

use tenure_core::item::{Item, Slot};
use tenure_core::lifecycle::Phase;
use tenure_core::time::Time;
use tenure_core::word::Store;

use super::Memory;
use crate::Error;
use crate::backlog::{Backlog, Backlogs, COUNT_MAX};

impl Backlogs for Memory {
    async fn backlog(&self, store: Option<&Store>) -> Result<Vec<Backlog>, Error> {
        let kept = self.kept.lock().await;
        let now = (self.clock)();
        let mut kinds = BTreeMap::new();
        for item in kept.world.items.values().filter(|item| store.is_none_or(|store| *store == item.store)) {
            let place = (item.store.clone(), item.table.kind.clone());
            add(kinds.entry(place).or_insert_with(|| none(item)), item, now);
        }
        Ok(kinds.into_values().collect())
    }
}

fn none(item: &Item) -> Backlog {
    let (store, kind) = (item.store.clone(), item.table.kind.clone());
    Backlog { store, kind, ready: 0, scheduled: 0, active: 0, failed: 0, stopped: 0, first_at: None }
}

fn add(backlog: &mut Backlog, item: &Item, now: Time) {
    let count = match item.phase() {
        Phase::Ready => {
            // As a row has it: true when it was last written.
            let is_scheduled = item.slot(item.updated) == Slot::Scheduled;
            let since = match item.run_at.max(item.updated) {
                // A retry that was put off by a clock that was ahead is due now.
                since if is_scheduled && since > now && !item.is_early(now) => now,
                since => since,
            };
            backlog.first_at = Some(backlog.first_at.map_or(since, |first| first.min(since)));
            if is_scheduled { &mut backlog.scheduled } else { &mut backlog.ready }
        }
        Phase::Active => &mut backlog.active,
        Phase::Failed => &mut backlog.failed,
        Phase::Stopped => &mut backlog.stopped,
        Phase::Waiting | Phase::Succeeded => return,
    };
    *count = (*count + 1).min(COUNT_MAX);
}
