//! The pulse: renews what is held, and gives up what can not be renewed.
//!
//! A worker counts a lease from the moment it *asked* for it. It stops a tenth of the lease before the database lets another
//! have it, also when the database is silent: no clock is compared with another.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::id::ExecutionId;
use tenure_core::request::{Command, Renew, Request};
use tenure_core::word::Store;
use tokio::task::JoinSet;

use super::held::Held;
use super::outcome::Failure;
use super::runner::Asker;
use crate::time::{now, pause};

/// How long a handler may go on after its item was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(5);
/// A renewal that failed is not repeated at once.
const SOON: Duration = Duration::from_millis(50);

/// Runs as long as its worker. `ended` gets what is taken from its handler and must be given back, and why.
pub(super) async fn run(
    held: Held,
    asker: Asker,
    lease: Option<Duration>,
    ended: impl Fn(ExecutionId, Failure),
) {
    // Nobody waits for an answer here: a database that is silent must not keep the leases' own ends from being seen.
    let mut renewals = JoinSet::new();
    loop {
        let mut changed = std::pin::pin!(held.changed().notified());
        changed.as_mut().enable();
        let look = held.look(now());
        for execution in look.lost {
            lose(&held, &asker, execution);
        }
        for execution in look.stopped {
            // It was told and did not stop: it is stopped, and given back as what it is, cancelled.
            held.with(execution, |lease| lease.stop_by = None);
            ended(execution, Failure::snooze(Duration::ZERO, "cancelled"));
        }
        for execution in look.returned {
            ended(execution, Failure::returned("its worker had no place for it"));
        }
        if !look.renew.is_empty() {
            renewals.spawn(renew(held.clone(), asker.clone(), lease, look.renew));
        }
        while renewals.try_join_next().is_some() {}
        match look.next {
            Some(next) => {
                let _ = tokio::time::timeout(next.saturating_duration_since(now()), changed).await;
            }
            None => changed.await,
        }
    }
}

async fn renew(held: Held, asker: Asker, lease: Option<Duration>, leases: Vec<(ExecutionId, Store)>) {
    let request = |(execution, store): &(ExecutionId, Store)| Request {
        store: store.clone(),
        actor: asker.actor.clone(),
        command: Command::Renew(Renew { execution: *execution, lease }),
    };
    let asked = now();
    let replies = asker.gather.ask_all(leases.iter().map(request).collect()).await;
    let (mut unanswered, mut cancelled) = (Vec::new(), false);
    for (one, reply) in leases.iter().zip(replies) {
        let execution = one.0;
        match reply.map(|reply| reply.answer) {
            Ok(Answer::Renewed { cancel_requested, .. }) => {
                held.with(execution, |lease| {
                    lease.term.renewed(asked);
                    lease.tried = None;
                    if cancel_requested && lease.stop_by.is_none() {
                        lease.stop_by = Some(asked + CANCEL_GRACE);
                        lease.token.cancel();
                        cancelled = true;
                    }
                });
            }
            Ok(no) => {
                asker.counters.refused().heard(&request(one), &no);
                lose(&held, &asker, execution);
            }
            // The database is away: it is tried again until the lease's own end.
            Err(_) => unanswered.push(execution),
        }
    }
    if cancelled {
        // There is a new moment to look at them.
        held.changed().notify_waiters();
    }
    if !unanswered.is_empty() {
        pause(SOON).await;
        held.try_again(&unanswered);
    }
}

/// The handler is stopped and nothing more is written for it.
fn lose(held: &Held, asker: &Asker, execution: ExecutionId) {
    if let Some(lease) = held.take(execution) {
        // Before the handler ends and makes room for another: whoever sees what comes next sees this, too.
        asker.counters.one_lost();
        lease.token.cancel();
        if let Some(handler) = lease.handler {
            handler.abort();
        }
    }
}

#[cfg(test)]
#[path = "../../../databases/tests/faults/faulty.rs"]
#[allow(unused, reason = "the databases' tests need all of it")]
mod faulty;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use tenure_core::request::{Acquire, Terms};
    use tenure_databases::gather::{Gather, Options, Writers};

    use super::faulty::{Faulty, create, request};
    use super::*;
    use crate::worker::held::tests::lease;

    const LENGTH: Duration = Duration::from_secs(60);

    /// A lease that was asked for now and is held.
    async fn leased(asker: &Asker, held: &Held) -> (ExecutionId, Store, Instant) {
        asker.gather.ask(create("n")).await.unwrap();
        let terms = Terms { lease: Some(LENGTH), ..Terms::default() };
        let acquire = Acquire { kinds: vec!["job".parse().unwrap()], max: 1, terms };
        let asked = now();
        let reply = asker.gather.ask(request("worker:a/1", Command::Acquire(acquire))).await.unwrap();
        let Answer::Leased(leases) = reply.answer else { panic!("a ready job is leased") };
        let (execution, store) = (leases[0].execution, leases[0].item.store.clone());
        held.put([(execution, lease(asked))]);
        (execution, store, asked)
    }

    // The database has renewed the lease when it was asked to, and its answer comes much later.
    // covers: K-13, K-17
    // fault: F17
    #[test]
    fn a_lease_whose_renewal_is_answered_late_counts_from_the_question() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let database = Arc::new(Faulty::new([]));
            let gather = Gather::start(database.clone(), Options::new(Writers::Thread, 7));
            let actor = "worker:a/1".parse().unwrap();
            let asker = Asker { gather, actor, counters: Arc::default() };
            let held = Held::default();
            let (execution, store, asked) = leased(&asker, &held).await;
            let mut hold = database.hold();
            let renewing = renew(held.clone(), asker, Some(LENGTH), vec![(execution, store)]);
            let answering = async {
                hold.reached().await;
                let unanswered = now();
                hold.release();
                unanswered
            };
            let ((), unanswered) = tokio::join!(renewing, answering);
            let deadline = held.with(execution, |lease| lease.term.deadline()).expect("it is held");
            assert!(deadline > asked + LENGTH * 9 / 10, "it was renewed");
            assert!(deadline <= unanswered + LENGTH * 9 / 10, "not from when the answer came");
        });
    }
}
