//! The engine's loops: what nobody asks for and must happen all the same. All of them are started here.
//!
//! | loop | what it does in a turn |
//! |---|---|
//! | sweep | ends leases and windows that are over, finishes what committed and was left, lets go what a session held |
//! | inbox | makes items of rows that others' transactions left |
//! | due | wakes whoever waits when something that was put off becomes due |
//! | wire | tells other processes that there may be work, and hears it from them; runs without the others too |
//! | retention | removes what has been kept for as long as its kind is kept |
//! | sequence | gives committed entries their place in the log |
//! | schedules | fires ticks, and sees to it that a schedule has one |
//! | outbox | makes deliveries of messages and webhooks, and sends them |
//!
//! A turn is bounded. One that fails or panics is counted and told of, and the next comes at its time: no row, no lock and
//! no lost connection ends a loop. What runs for long (the wire, the workers of schedules and webhooks) begins again likewise. Any
//! number of processes may run them on one database. They end when the engine is closed.

mod counters;
mod due;
mod retention;
mod sweep;
pub(crate) mod wire;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::draw::Draw;
use tenure_core::word::{Kind, Store, Who};
use tenure_databases::Error;
use tenure_databases::gather::Gather;
use tenure_databases::outside::chance;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::bell::Bells;
use crate::closing::Closing;
use crate::kept::Kept;
use crate::offers::Offers;
use crate::outbox::{self, Secrets};
use crate::schedule;
use crate::time::pause;

pub use counters::Counters;

/// A lease that ended is noticed within this time, and a second of lateness is little beside a lease of a minute.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Looked at so often; how long it really rests the loop says itself.
const RETENTION_EVERY: Duration = Duration::from_secs(5);
/// Rows of the inbox wait so long at most. Looking costs one short transaction.
const INBOX_EVERY: Duration = Duration::from_millis(500);
/// Readers of the log see an entry so long after its commit.
const SEQUENCE_EVERY: Duration = Duration::from_millis(200);
/// After a failed look at what comes next.
const DUE_PAUSE: Duration = Duration::from_secs(1);
/// What runs for long and panicked begins again after this.
const AGAIN: Duration = Duration::from_secs(1);
/// What one turn takes at most before others have theirs.
const INBOX_MAX: usize = 512;
const SEQUENCE_MAX: usize = 10_000;

#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub kept: Kept,
    pub gather: Gather,
    pub bells: Arc<Bells>,
    pub counters: Arc<Counters>,
    /// What must be written with the ends of some kinds.
    pub offers: Offers,
    pub closing: Closing,
    /// The namespace whose schedules and messages are looked after. Sweeping knows none.
    pub store: Store,
    pub node: Who,
}

/// One turn of sweeping, for who runs no loops.
pub(crate) async fn sweep_once(parts: &Parts) -> Result<bool, Error> {
    sweep::turn(parts, &mut sweep::Pass::default()).await
}

/// Runs until the engine ends.
pub(crate) async fn run(parts: Parts, secrets: Secrets) {
    let mut loops = JoinSet::new();
    let swept = Arc::new(Mutex::new(sweep::Pass::default()));
    loops.spawn(every("sweep", SWEEP_EVERY, parts.clone(), move |parts| {
        let swept = swept.clone();
        async move { sweep::turn(&parts, &mut *swept.lock().await).await }
    }));
    loops.spawn(every("due", DUE_PAUSE, parts.clone(), |parts| async move { due::turn(&parts).await }));
    let pass = Arc::new(Mutex::new(retention::Pass::default()));
    loops.spawn(every("retention", RETENTION_EVERY, parts.clone(), move |parts| {
        let pass = pass.clone();
        async move { retention::turn(&parts, &mut *pass.lock().await).await }
    }));
    loops.spawn(lasting(parts.clone(), schedule::run));
    loops.spawn(lasting(parts.clone(), move |parts| outbox::run(parts, secrets.clone())));
    if !matches!(parts.kept, Kept::Memory(_)) {
        loops.spawn(every("inbox", INBOX_EVERY, parts.clone(), |parts| async move { inbox(&parts).await }));
    }
    if matches!(parts.kept, Kept::Postgres(_)) {
        loops.spawn(every("sequence", SEQUENCE_EVERY, parts, |parts| async move {
            Ok(parts.kept.sequence(SEQUENCE_MAX).await? >= SEQUENCE_MAX)
        }));
    }
    while loops.join_next().await.is_some() {}
}

/// Waits until an item of a kind stands for its key: until then there is nothing to do for who looks after them. False: the
/// engine was closed first.
pub(crate) async fn wait_for_first(parts: &Parts, kind: &Kind, interval: Duration) -> bool {
    let mut bell = parts.bells.listen(kind);
    while !parts.closing.is_told() {
        bell.mark_unchanged();
        match parts.kept.standing(&parts.store, kind, None, 1).await {
            Ok(standing) if !standing.is_empty() => return true,
            Ok(_) => {}
            Err(error) => parts.counters.failed_turn(&error.to_string()),
        }
        tokio::select! {
            () = parts.closing.told() => {}
            // Another process may create it: nobody rings for that.
            _ = tokio::time::timeout(interval, bell.changed()) => {}
        }
    }
    false
}

/// Runs something that ends when the engine is closed, or never. Where it panics it is counted and begins again.
pub(crate) async fn lasting<F>(parts: Parts, run: impl Fn(Parts) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let mut running = JoinSet::new();
        running.spawn(run(parts.clone()));
        match running.join_next().await {
            Some(Err(panic)) => parts.counters.failed_turn(&panic.to_string()),
            Some(Ok(())) | None => return,
        }
        if parts.closing.is_told() {
            return;
        }
        pause(AGAIN).await;
    }
}

/// Takes a turn, and another at once while there is more to do.
pub(crate) async fn every<F>(name: &'static str, interval: Duration, parts: Parts, turn: impl Fn(Parts) -> F)
where
    F: Future<Output = Result<bool, Error>> + Send + 'static,
{
    while !parts.closing.is_told() {
        parts.counters.turn(name);
        // In a task of its own, so that a panic ends the turn and not the loop.
        let mut taken = JoinSet::new();
        taken.spawn(turn(parts.clone()));
        let more = match taken.join_next().await {
            Some(Ok(Ok(more))) => more,
            Some(Ok(Err(error))) => {
                parts.counters.failed_turn(&error.to_string());
                false
            }
            Some(Err(panic)) => {
                parts.counters.failed_turn(&panic.to_string());
                false
            }
            None => false,
        };
        if !more {
            tokio::select! {
                () = parts.closing.told() => {}
                () = pause(interval) => {}
            }
        }
    }
}

async fn inbox(parts: &Parts) -> Result<bool, Error> {
    let mut draw = Draw::new(chance());
    let turn = parts.kept.take_in(INBOX_MAX, &mut draw).await?;
    parts.counters.inbox(turn.taken, turn.refused);
    if turn.taken > 0 {
        parts.bells.work_of_any_kind();
    }
    Ok(turn.taken + turn.refused >= INBOX_MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::tenure::Tenure;

    // covers: K-51
    #[test]
    fn what_runs_for_long_begins_again_after_a_panic_and_is_counted() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            let begun = Arc::new(AtomicUsize::new(0));
            let run = {
                let begun = begun.clone();
                move |parts: Parts| {
                    let first = begun.fetch_add(1, Ordering::SeqCst) == 0;
                    async move {
                        assert!(!first, "it panics once");
                        parts.closing.close(Duration::ZERO).await;
                    }
                }
            };
            lasting(tenure.parts(), run).await;
            assert_eq!((begun.load(Ordering::SeqCst), tenure.counters().failed_turns()), (2, 1));
            assert!(tenure.counters().last_failure().is_some_and(|why| why.contains("panicked")));
        });
    }
}
