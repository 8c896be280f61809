//! The pulse: renews what is held, and gives up what can not be renewed.
//!
//! A worker counts a lease from the moment it *asked* for it. It stops a tenth of the lease before the database lets another
//! have it, also when the database is silent: no clock is compared with another.

use std::time::{Duration, Instant};

use tenure_core::answer::Answer;
use tenure_core::id::ExecutionId;
use tenure_core::request::{Command, Renew, Request};
use tenure_core::word::Store;

use super::held::Held;
use super::runner::Asker;
use crate::time::{now, pause};

/// How long a handler may go on after its item was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// A renewal that failed is not repeated at once.
const SOON: Duration = Duration::from_millis(50);

/// Runs as long as its worker. `ended` gets what was taken from its handler and must be given back.
pub(super) async fn run(held: Held, asker: Asker, lease: Option<Duration>, ended: impl Fn(ExecutionId)) {
    loop {
        let mut changed = std::pin::pin!(held.changed().notified());
        changed.as_mut().enable();
        let look = held.look(now());
        for execution in look.lost {
            lose(&held, &asker, execution);
        }
        for execution in look.stopped {
            ended(execution);
        }
        if !look.renew.is_empty() {
            renew(&held, &asker, lease, look.renew).await;
            pause(SOON).await;
            continue;
        }
        match look.next {
            Some(next) => {
                let _ = tokio::time::timeout(next.saturating_duration_since(now()), changed).await;
            }
            None => changed.await,
        }
    }
}

async fn renew(held: &Held, asker: &Asker, lease: Option<Duration>, leases: Vec<(ExecutionId, Store)>) {
    let request = |(execution, store): &(ExecutionId, Store)| Request {
        store: store.clone(),
        actor: asker.actor.clone(),
        command: Command::Renew(Renew { execution: *execution, lease }),
    };
    let asked = now();
    let replies = asker.gather.ask_all(leases.iter().map(request).collect()).await;
    for ((execution, _), reply) in leases.into_iter().zip(replies) {
        match reply.map(|reply| reply.answer) {
            Ok(Answer::Renewed { cancel_requested, .. }) => {
                held.with(execution, |lease| {
                    lease.asked = asked;
                    if cancel_requested && lease.stop_by.is_none() {
                        lease.stop_by = Some(asked + CANCEL_GRACE);
                        lease.token.cancel();
                    }
                });
            }
            Ok(_) => lose(held, asker, execution),
            // The database is away: it is tried again until the lease's own end.
            Err(_) => {}
        }
    }
}

/// The handler is stopped and nothing more is written for it.
fn lose(held: &Held, asker: &Asker, execution: ExecutionId) {
    if let Some(lease) = held.take(execution) {
        lease.token.cancel();
        if let Some(handler) = lease.handler {
            handler.abort();
        }
        asker.counters.one_lost();
    }
}

/// For who looks at it before a handler begins.
pub(super) fn is_over(deadline: Instant) -> bool {
    deadline <= now()
}
