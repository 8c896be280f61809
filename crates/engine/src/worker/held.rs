//! What this worker holds now. Whoever takes a lease out of here is the one who ends it: the handler that came to its end, the
//! pulse that lost it, or the drain.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use tenure_core::id::ExecutionId;
use tenure_core::word::Store;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::lines::Said;
use super::term::LeaseTerm;

/// How far the handler of a lease is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// It waits for a place.
    Waits,
    Runs,
    /// It had no place for too long: the lease is on its way back, and its handler never runs.
    Returns,
}

#[derive(Debug)]
pub(super) struct Lease {
    pub store: Store,
    pub term: LeaseTerm,
    /// When its renewal was last asked for, while no answer has come.
    pub tried: Option<Instant>,
    pub token: CancellationToken,
    pub said: Said,
    pub stage: Stage,
    /// Its table has a row by which it is given back. Without one it is kept for as long as it waits for a place.
    pub may_return: bool,
    /// Others of its key wait until it is settled.
    pub laned: bool,
    /// None before it was handed out.
    pub handler: Option<AbortHandle>,
    /// Set when somebody asked for the item to be cancelled: its handler has this long to stop by itself.
    pub stop_by: Option<Instant>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Held(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    leases: Mutex<HashMap<ExecutionId, Lease>>,
    /// Something was taken out or put in.
    changed: Notify,
    /// How many this worker has settled.
    settled: AtomicU64,
    /// How often leases were given back because no place became free for them.
    returns: AtomicU64,
    /// Some were, and no handler's thread has been heard of since.
    stuck: AtomicBool,
    /// The key of something that was settled is free for another.
    lanes: watch::Sender<u64>,
}

impl Held {
    fn leases(&self) -> MutexGuard<'_, HashMap<ExecutionId, Lease>> {
        self.0.leases.lock().expect("nobody panics while holding it")
    }

    pub fn put(&self, leases: impl IntoIterator<Item = (ExecutionId, Lease)>) {
        self.leases().extend(leases);
        self.0.changed.notify_waiters();
    }

    /// Some: it is the caller's to end.
    pub fn take(&self, execution: ExecutionId) -> Option<Lease> {
        let taken = self.leases().remove(&execution);
        if taken.is_some() {
            self.0.changed.notify_waiters();
        }
        taken
    }

    /// Those whose handlers have not begun are the caller's to end, all of them at once: none can begin any more.
    pub fn take_waiting(&self) -> Vec<(ExecutionId, Lease)> {
        let waiting: Vec<_> = self.leases().extract_if(|_, lease| lease.stage == Stage::Waits).collect();
        self.0.changed.notify_waiters();
        waiting
    }

    /// What is settled is let go of together: who waits for room is woken once, and finds all of it.
    pub fn take_all(&self, executions: &[ExecutionId]) {
        let mut leases = self.leases();
        let mut freed = false;
        for execution in executions {
            freed |= leases.remove(execution).is_some_and(|lease| lease.laned);
        }
        drop(leases);
        if freed {
            self.0.lanes.send_modify(|count| *count = count.wrapping_add(1));
        }
        self.0.settled.fetch_add(executions.len() as u64, Ordering::Relaxed);
        self.0.changed.notify_waiters();
    }

    pub fn settled(&self) -> u64 {
        self.0.settled.load(Ordering::Relaxed)
    }

    /// How often leases were given back because no place became free for them.
    pub fn returns(&self) -> u64 {
        self.0.returns.load(Ordering::Relaxed)
    }

    /// Whether leases were given back and no handler's thread has been heard of since: what is leased now would wait, too.
    pub fn is_stuck(&self) -> bool {
        self.0.stuck.load(Ordering::Relaxed)
    }

    /// A handler's thread was heard of.
    pub fn goes_on(&self) {
        self.0.stuck.store(false, Ordering::Relaxed);
        self.0.changed.notify_waiters();
    }

    /// Rings when the key of something that was settled is free for another.
    pub fn lanes(&self) -> watch::Receiver<u64> {
        self.0.lanes.subscribe()
    }

    /// Its place is there. False: it may not begin any more.
    pub fn begin(&self, execution: ExecutionId, now: Instant) -> bool {
        let begun = self.with(execution, |lease| {
            let may_begin = lease.stage == Stage::Waits && now < lease.term.deadline();
            if may_begin {
                lease.stage = Stage::Runs;
            }
            may_begin
        });
        begun == Some(true)
    }

    pub fn has(&self, execution: ExecutionId) -> bool {
        self.leases().contains_key(&execution)
    }

    pub fn with<T>(&self, execution: ExecutionId, work: impl FnOnce(&mut Lease) -> T) -> Option<T> {
        self.leases().get_mut(&execution).map(work)
    }

    /// Their renewal failed: it may be tried again now.
    pub fn try_again(&self, executions: &[ExecutionId]) {
        let mut leases = self.leases();
        for execution in executions {
            if let Some(lease) = leases.get_mut(execution) {
                lease.tried = None;
            }
        }
        drop(leases);
        self.0.changed.notify_waiters();
    }

    pub fn all(&self) -> Vec<ExecutionId> {
        self.leases().keys().copied().collect()
    }

    /// Those that something is to be done about, and when to look again. A renewal that is told here counts as asked for. What waits
    /// for a place when it would have to be renewed is not: others may have a place for it.
    pub fn look(&self, now: Instant) -> Look {
        let mut look = Look::default();
        for (execution, lease) in self.leases().iter_mut() {
            let stopped = lease.stop_by.is_some_and(|stop_by| stop_by <= now);
            let deadline = lease.term.deadline();
            let next = if deadline <= now {
                look.lost.push(*execution);
                continue;
            } else if stopped {
                look.stopped.push(*execution);
                continue;
            } else if lease.stage == Stage::Returns {
                deadline
            } else if lease.term.renew_at() > now {
                lease.term.renew_at().min(deadline)
            } else if lease.stage == Stage::Waits && lease.may_return {
                lease.stage = Stage::Returns;
                look.returned.push(*execution);
                deadline
            } else {
                // An answer that does not come is asked for again soon.
                let again = lease.term.retry_after();
                if lease.tried.is_none_or(|tried| tried + again <= now) {
                    lease.tried = Some(now);
                    look.renew.push((*execution, lease.store.clone()));
                }
                deadline.min(lease.tried.unwrap_or(now) + again)
            };
            let next = lease.stop_by.map_or(next, |stop_by| next.min(stop_by));
            look.next = Some(look.next.map_or(next, |before| before.min(next)));
        }
        if !look.returned.is_empty() {
            self.0.returns.fetch_add(1, Ordering::Relaxed);
            self.0.stuck.store(true, Ordering::Relaxed);
        }
        look
    }

    pub fn len(&self) -> usize {
        self.leases().len()
    }

    pub fn changed(&self) -> &Notify {
        &self.0.changed
    }
}

#[derive(Debug, Default)]
pub(super) struct Look {
    /// Their time has run out.
    pub lost: Vec<ExecutionId>,
    /// They were cancelled and did not stop by themselves.
    pub stopped: Vec<ExecutionId>,
    /// No place became free for them in time.
    pub returned: Vec<ExecutionId>,
    pub renew: Vec<(ExecutionId, Store)>,
    pub next: Option<Instant>,
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use tenure_core::execution::Remaining;
    use tenure_core::id::{Fence, ItemId};

    use super::*;
    use crate::time::now;

    const SECOND: Duration = Duration::from_secs(1);

    /// One that was asked for at this time, for 60 s.
    pub(in crate::worker) fn lease(asked: Instant) -> Lease {
        windowed(asked, None)
    }

    fn windowed(asked: Instant, window: Option<Duration>) -> Lease {
        let length = SECOND * 60;
        Lease {
            store: "default".parse().unwrap(),
            term: LeaseTerm::new(asked, Remaining { lease: length, window }, length),
            tried: None,
            token: CancellationToken::new(),
            said: Said::default(),
            stage: Stage::Runs,
            may_return: true,
            laned: false,
            handler: None,
            stop_by: None,
        }
    }

    fn one(number: u128) -> ExecutionId {
        ExecutionId { item: ItemId(number), fence: Fence(1) }
    }

    // covers: K-34
    #[test]
    fn what_has_outlived_its_window_is_lost_and_never_begins() {
        let (held, asked) = (Held::default(), now());
        let window = |stage| Lease { stage, ..windowed(asked, Some(SECOND * 10)) };
        held.put([(one(1), window(Stage::Runs)), (one(2), window(Stage::Waits)), (one(3), lease(asked))]);
        assert_eq!(
            held.look(asked).next,
            Some(asked + SECOND * 10),
            "it is looked at again when that is over"
        );
        assert!(!held.begin(one(2), asked + SECOND * 10));
        let mut lost = held.look(asked + SECOND * 10).lost;
        lost.sort();
        assert_eq!(lost, [one(1), one(2)]);
    }

    #[test]
    fn what_waits_for_a_place_is_given_back_and_not_renewed() {
        let (held, asked) = (Held::default(), now());
        let waits = || Lease { stage: Stage::Waits, ..lease(asked) };
        let bound = Lease { may_return: false, ..waits() };
        held.put([(one(1), waits()), (one(2), bound), (one(3), lease(asked))]);
        let look = held.look(asked + SECOND * 19);
        assert!(look.returned.is_empty() && look.renew.is_empty());
        let look = held.look(asked + SECOND * 20);
        assert_eq!(look.returned, [one(1)]);
        let mut renewed: Vec<ExecutionId> = look.renew.into_iter().map(|(execution, _)| execution).collect();
        renewed.sort();
        assert_eq!(renewed, [one(2), one(3)], "what its table does not let go is kept");
        assert!(!held.begin(one(1), asked + SECOND * 20), "whoever gets it next is the only one who runs it");
        assert!(held.look(asked + SECOND * 20).returned.is_empty(), "it is told once");
        // Nothing more is leased until the handlers' threads are known to go on.
        assert!(held.is_stuck());
        held.goes_on();
        assert_eq!((held.is_stuck(), held.returns()), (false, 1));
    }

    #[test]
    fn only_what_shares_a_key_with_others_rings_for_them() {
        let (held, asked) = (Held::default(), now());
        held.put([(one(1), lease(asked)), (one(2), Lease { laned: true, ..lease(asked) })]);
        let mut lanes = held.lanes();
        held.take_all(&[one(1)]);
        assert!(!lanes.has_changed().unwrap());
        held.take_all(&[one(2)]);
        assert!(lanes.borrow_and_update().eq(&1));
    }
}
