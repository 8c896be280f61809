//! Limits: what is asked before a lease is given, and what a lease and a failure leave behind.
//!
//! The rules of a kind are those of its lifecycle in force, or an operator's; those of a key are the item's own table's.

use alloc::boxed::Box;

use super::draft::Draft;
use crate::answer::Answer;
use crate::control::{Allowance, Bound, Control, HeldBack, Probe, QueueKey, Rules};
use crate::id::ExecutionId;
use crate::item::Item;
use crate::time::Time;

impl Draft<'_> {
    pub(crate) fn allowance(&self, key: &QueueKey) -> Allowance {
        let control = self.control(key);
        let rules = self.rules(key, &control);
        control.allowance(&rules, || self.active(key), |id| self.probe(id), self.now())
    }

    fn rules(&self, key: &QueueKey, control: &Control) -> Rules {
        self.world().tables.current(&key.kind).map_or(Rules::default(), |table| Rules::of(table, control))
    }

    /// What has become of a probe. One that is not loaded is nobody's any more.
    fn probe(&self, id: ExecutionId) -> Probe {
        match self.item(id.item) {
            Some(item) if item.committed == Some(id.fence) => Probe::Committed,
            Some(item) if item.fence == id.fence && item.lease.is_some() => Probe::Running,
            Some(_) | None => Probe::Missing,
        }
    }

    /// Whether anything at all could hold this kind back: most are plain, and are asked nothing more.
    fn is_governed(&self, item: &Item) -> bool {
        let world = self.world();
        let current = world.tables.current(&item.table.kind);
        !world.controls.is_empty() || current.is_some_and(|table| table.is_governed())
    }
}

fn queue_of(item: &Item) -> QueueKey {
    QueueKey { store: item.store.clone(), kind: item.table.kind.clone() }
}

/// Whether an item may be leased now. One that is held already takes no place of another.
pub(super) fn admit(draft: &Draft, item: &Item) -> Result<(), Answer> {
    if item.lease.is_some() {
        return Ok(());
    }
    let held_back = |(by, until): (Bound, Option<Time>)| {
        Answer::Limited(Box::new(HeldBack { kind: item.table.kind.clone(), by, until }))
    };
    if let Some(bound) = key_bound(draft, item) {
        return Err(held_back(bound));
    }
    if draft.is_governed(item) {
        let allowance = draft.allowance(&queue_of(item));
        if let Some(bound) = allowance.bound.filter(|_| allowance.count == 0) {
            return Err(held_back(bound));
        }
    }
    Ok(())
}

fn key_bound(draft: &Draft, item: &Item) -> Option<(Bound, Option<Time>)> {
    let table = &item.table;
    if !table.limits_keys() {
        return None;
    }
    let (_, lane) = draft.lane_of(item)?;
    let now = draft.now();
    if let Some(limit) = table.settings.concurrency.key.filter(|_| lane.seats(table) == 0) {
        return Some((Bound::KeyConcurrency(limit), None));
    }
    let rate = table.settings.rate.key.filter(|rate| lane.starts.room(*rate, now) == 0)?;
    Some((Bound::KeyRate(rate), lane.starts.more_at(rate, now)))
}

/// An item was leased.
pub(super) fn started(draft: &mut Draft, item: &Item) {
    if draft.is_governed(item) {
        let key = queue_of(item);
        let mut control = draft.control(&key);
        let rules = draft.rules(&key, &control);
        control.started(&rules, item.execution_id(), |id| draft.probe(id), draft.now());
        draft.set_control(key, control);
    }
}

/// An execution failed.
pub(super) fn failed(draft: &mut Draft, item: &Item) {
    if draft.is_governed(item) {
        let key = queue_of(item);
        let mut control = draft.control(&key);
        let rules = draft.rules(&key, &control);
        control.failed(&rules, item.execution_id(), draft.now());
        draft.set_control(key, control);
    }
}

/// When a retry is due that wants to be at a time: not before the budget has room for it.
pub(super) fn retry_at(draft: &mut Draft, item: &Item, wanted: Time) -> Time {
    if !draft.is_governed(item) {
        return wanted;
    }
    let key = queue_of(item);
    let mut control = draft.control(&key);
    let rules = draft.rules(&key, &control);
    let at = control.retry_at(&rules, wanted, draft.now());
    draft.set_control(key, control);
    at
}
