//! What this worker holds now. Whoever takes a lease out of here is the one who ends it: the handler that came to its end, the
//! pulse that lost it, or the drain.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tenure_core::id::ExecutionId;
use tenure_core::word::Store;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::lines::Said;

/// Of every lease a tenth is left unused: by then the handler has been told, whatever the database says later.
pub const LEASE_MARGIN: u32 = 10;
/// A lease is renewed when a third of it is over: two renewals may fail before it is lost.
pub const LEASE_RENEWAL: u32 = 3;

#[derive(Debug)]
pub(super) struct Lease {
    pub store: Store,
    pub length: Duration,
    /// When the request was sent that its present end counts from.
    pub asked: Instant,
    /// When its renewal was last asked for, while no answer has come.
    pub tried: Option<Instant>,
    pub token: CancellationToken,
    pub said: Said,
    /// Its handler runs. Before that it waits for a place.
    pub begun: bool,
    /// None before it was handed out.
    pub handler: Option<AbortHandle>,
    /// Set when somebody asked for the item to be cancelled: its handler has this long to stop by itself.
    pub stop_by: Option<Instant>,
}

impl Lease {
    /// From then on somebody else may hold it.
    pub fn deadline(&self) -> Instant {
        self.asked + self.length - self.length / LEASE_MARGIN
    }

    pub fn renew_at(&self) -> Instant {
        self.asked + self.length / LEASE_RENEWAL
    }
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
        let waiting: Vec<_> = self.leases().extract_if(|_, lease| !lease.begun).collect();
        self.0.changed.notify_waiters();
        waiting
    }

    /// What is settled is let go of together: who waits for room is woken once, and finds all of it.
    pub fn take_all(&self, executions: &[ExecutionId]) {
        let mut leases = self.leases();
        executions.iter().for_each(|execution| drop(leases.remove(execution)));
        drop(leases);
        self.0.settled.fetch_add(executions.len() as u64, Ordering::Relaxed);
        self.0.changed.notify_waiters();
    }

    pub fn settled(&self) -> u64 {
        self.0.settled.load(Ordering::Relaxed)
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

    /// Those that something is to be done about, and when to look again. A renewal that is told here counts as asked for.
    pub fn look(&self, now: Instant) -> Look {
        let mut look = Look::default();
        for (execution, lease) in self.leases().iter_mut() {
            let stopped = lease.stop_by.is_some_and(|stop_by| stop_by <= now);
            let next = if lease.deadline() <= now {
                look.lost.push(*execution);
                continue;
            } else if stopped {
                look.stopped.push(*execution);
                continue;
            } else if lease.renew_at() <= now {
                // An answer that does not come is asked for again soon.
                let again = lease.length / 6;
                if lease.tried.is_none_or(|tried| tried + again <= now) {
                    lease.tried = Some(now);
                    look.renew.push((*execution, lease.store.clone()));
                }
                lease.deadline().min(lease.tried.unwrap_or(now) + again)
            } else {
                lease.renew_at()
            };
            let next = lease.stop_by.map_or(next, |stop_by| next.min(stop_by));
            look.next = Some(look.next.map_or(next, |before| before.min(next)));
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
    pub renew: Vec<(ExecutionId, Store)>,
    pub next: Option<Instant>,
}
