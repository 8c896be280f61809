//! Who works for which stores: the workers of this process, for so many stores at once.
//!
//! Workers look for work now and then, so a process has some for a bounded number of stores. Where more have work, stores without any
//! make room; and if all have some, those that have had their place for the longest, once they had it for a while. The stores that wait
//! come in the order of their names, round and round, so each has its turn however much work the others have.
//!
//! Who makes room takes nothing more and finishes what it holds, so nothing is ended by it. The place is free once that is done: no
//! store has more workers at once than it may, and the process neither.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure::Worker;
use tenure::core::word::Store;

use crate::time::{Stopwatch, pause};

/// A store keeps its place for so long although others wait. Changing costs a few writes and looks.
const TURN: Duration = Duration::from_secs(10);
/// Where stores take turns: how often it is looked which of them have work. A look counts what waits in all of them.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Workers without work end within milliseconds. Afterwards the next look finds their place free.
const OUT_MAX: u32 = 50;
const OUT_EVERY: Duration = Duration::from_millis(20);

/// How many stores a process works for at once, and how they take turns where there are more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    pub stores_max: usize,
    /// How long a store keeps its place although others wait.
    pub turn: Duration,
    /// How often it is looked who has work, while somebody waits.
    pub look_every: Duration,
}

impl Places {
    pub fn new(stores_max: usize) -> Places {
        Places { stores_max, turn: TURN, look_every: LOOK_EVERY }
    }
}

/// The workers of this process, by their stores.
#[derive(Debug)]
pub(crate) struct Staff {
    places: Places,
    taken: BTreeMap<Store, Place>,
    /// Who got a place last; the next one comes after it.
    last: Option<Store>,
    /// Somebody waits. Then only a look gives out places, or those that ask the loudest would have them all.
    is_waited_for: bool,
}

#[derive(Debug)]
struct Place {
    workers: Vec<Worker>,
    since: Stopwatch,
    /// It was told to make room.
    leaves: bool,
}

impl Place {
    fn is_left(&mut self) -> bool {
        self.leaves && self.workers.iter_mut().all(Worker::has_ended)
    }
}

/// What a look came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Looked {
    /// They are to be employed now.
    pub next: Vec<Store>,
    /// How many have work and wait on.
    pub waiting: usize,
}

impl Staff {
    pub fn new(places: Places) -> Staff {
        Staff { places, taken: BTreeMap::new(), last: None, is_waited_for: false }
    }

    pub fn places(&self) -> Places {
        self.places
    }

    /// Workers for a store that has none yet. False: no place is free for it, and a [look](Staff::look) is needed.
    pub fn employ<E>(
        &mut self,
        store: &Store,
        hire: impl FnOnce() -> Result<Vec<Worker>, E>,
    ) -> Result<bool, E> {
        match self.taken.get(store) {
            Some(place) => Ok(!place.leaves),
            None if self.is_waited_for || self.free() == 0 => Ok(false),
            None => self.place(store, hire).map(|()| true),
        }
    }

    /// Workers for one of those that a look has named.
    pub fn place<E>(
        &mut self,
        store: &Store,
        hire: impl FnOnce() -> Result<Vec<Worker>, E>,
    ) -> Result<(), E> {
        // Also one that gets none had its turn.
        self.last = Some(store.clone());
        let place = Place { workers: hire()?, since: Stopwatch::start(), leaves: false };
        self.taken.insert(store.clone(), place);
        Ok(())
    }

    /// Makes room for stores that have work and no place.
    pub async fn look(&mut self, busy: &BTreeSet<Store>) -> Looked {
        self.let_out();
        let without = |store: &&Store| !self.taken.contains_key(*store);
        let mut next: Vec<Store> = busy.iter().filter(without).cloned().collect();
        let after = next.partition_point(|store| self.last.as_ref().is_some_and(|last| store <= last));
        next.rotate_left(after);
        let idle = self.make_room(busy, next.len().saturating_sub(self.free()));
        for _ in 0..OUT_MAX {
            self.let_out();
            if !idle.iter().any(|store| self.taken.contains_key(store)) {
                break;
            }
            pause(OUT_EVERY).await;
        }
        let waiting = next.split_off(self.free().min(next.len())).len();
        self.is_waited_for = waiting > 0;
        Looked { next, waiting }
    }

    /// Everybody, to be drained.
    pub fn into_workers(self) -> impl Iterator<Item = Worker> {
        self.taken.into_values().flat_map(|place| place.workers)
    }

    fn free(&self) -> usize {
        self.places.stores_max.max(1).saturating_sub(self.taken.len())
    }

    /// Those that have finished what they held have left their places.
    fn let_out(&mut self) {
        self.taken.retain(|_, place| !place.is_left());
    }

    /// Tells so many to leave, as far as they may; answers those of them that have no work. Who has some and was told before may take
    /// its time, and is waited for instead of sending away another.
    fn make_room(&mut self, busy: &BTreeSet<Store>, lacking: usize) -> Vec<Store> {
        let leaving = self.taken.values().filter(|place| place.leaves).count();
        let (mut with, without): (Vec<_>, Vec<_>) = self
            .taken
            .iter_mut()
            .filter(|(_, place)| !place.leaves)
            .partition(|(store, _)| busy.contains(*store));
        with.retain(|(_, place)| place.since.elapsed() >= self.places.turn);
        // Those that have had their place for the longest.
        with.sort_by_key(|(_, place)| std::cmp::Reverse(place.since.elapsed()));
        let idle: Vec<Store> = without.iter().take(lacking).map(|(store, _)| (*store).clone()).collect();
        let more = lacking.saturating_sub(idle.len() + leaving);
        for (_, place) in without.into_iter().take(lacking).chain(with.into_iter().take(more)) {
            place.leaves = true;
            place.workers.iter().for_each(Worker::retire);
        }
        idle
    }
}
