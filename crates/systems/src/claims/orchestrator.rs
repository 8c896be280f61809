//! The orchestrator: it follows the log, enqueues claims that are new and, as its policy has it, those that failed.
//!
//! ```text
//! log ─▶ created: enqueue (`initial`)          ─▶ queued
//!     └▶ failed:  enqueue (`retry`), put off   ─▶ queued, not before the backoff has passed
//! ```
//!
//! How far it has read is kept in the database now and then, after what it read was acted upon. So whatever is lost in between is done again,
//! and enqueueing again changes nothing: two orchestrators, or one that was killed, do no harm. A retry is put off by the kernel
//! and not by a timer of this process.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::core::actor::{Actor, Role};
use tenure::core::answer::Answer;
use tenure::core::entry::{Facts, Sealed};
use tenure::core::id::ItemId;
use tenure::core::request::{Command, Move};
use tenure::core::word::Store;
use tenure::databases::outside;
use tenure::{Error, Tenure};

use super::claim::{enqueue, is_enqueue};
use super::kept::{CLAIM, FAILED, RECHECK, VERDICT};
use super::running::Retries;
use crate::time::Stopwatch;

/// How far it has read is kept under this name.
const READER: &str = "claims/orchestrator";
/// Entries that are read, and claims that are enqueued, in one turn.
const PAGE: usize = 1_000;
/// It looks at least this often whether it is to stop.
const WAIT: Duration = Duration::from_secs(5);
/// Somebody else moved the claim while its history was read: it is read again, so often.
const READS_MAX: usize = 5;
/// The state that a claim is created in.
const PENDING: &str = "pending";
const INITIAL: &str = "initial";
const RETRY: &str = "retry";

#[derive(Debug)]
pub(super) struct Orchestrator {
    pub tenure: Tenure,
    retries: Retries,
    mark_every: Duration,
    marked: Marked,
}

/// How far what it has read is kept, and since when.
#[derive(Clone, Copy, Debug)]
struct Marked {
    position: u64,
    since: Stopwatch,
}

/// What a turn came to.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub read_to: u64,
    pub enqueued: usize,
    pub retried: usize,
    /// Where there is work for the workers of this system.
    pub stores: BTreeSet<Store>,
}

impl Orchestrator {
    pub fn new(tenure: Tenure, retries: Retries, mark_every: Duration) -> Orchestrator {
        let marked = Marked { position: 0, since: Stopwatch::start() };
        Orchestrator { tenure, retries, mark_every, marked }
    }

    /// Where it goes on.
    pub async fn begins(&self) -> Result<u64, Error> {
        Ok(self.tenure.mark(READER).await?.unwrap_or(0))
    }

    /// Reads on, and acts upon what it read.
    pub async fn turn(&mut self, after: u64) -> Result<Turn, Error> {
        let page = self.tenure.log_or_wait(after, PAGE, WAIT).await?;
        let Some((last, _)) = page.last() else {
            self.mark(after, Duration::ZERO).await?;
            return Ok(Turn { read_to: after, ..Turn::default() });
        };
        let mut turn = Turn { read_to: *last, ..Turn::default() };
        let (mut created, mut failed) = (Vec::new(), Vec::new());
        for (_, entry) in &page {
            match seen(entry) {
                Seen::Claim => created.push((entry.store.clone(), entry.item, entry.version)),
                Seen::Failure => failed.push((entry.store.clone(), entry.item)),
                Seen::OfAVerdict => {}
                Seen::Nothing => continue,
            }
            turn.stores.insert(entry.store.clone());
        }
        turn.enqueued = self.enqueue(created).await?;
        for (store, claim) in failed {
            turn.retried += usize::from(self.retry(store, claim).await?);
        }
        self.mark(turn.read_to, self.mark_every).await?;
        Ok(turn)
    }

    /// Reads on and leaves what it reads to the orchestrator of another process. Answers where there is work.
    pub async fn look(&self, after: u64) -> Result<Turn, Error> {
        let page = self.tenure.log_or_wait(after, PAGE, WAIT).await?;
        let read_to = page.last().map_or(after, |(last, _)| *last);
        let of_claims = page.iter().filter(|(_, entry)| !matches!(seen(entry), Seen::Nothing));
        let stores = of_claims.map(|(_, entry)| entry.store.clone()).collect();
        Ok(Turn { read_to, stores, ..Turn::default() })
    }

    /// Keeps how far it has read, unless that was done so shortly before.
    async fn mark(&mut self, position: u64, every: Duration) -> Result<(), Error> {
        if self.marked.position >= position || self.marked.since.elapsed() < every {
            return Ok(());
        }
        self.tenure.set_mark(READER, position).await?;
        self.marked = Marked { position, since: Stopwatch::start() };
        Ok(())
    }

    /// Enqueues new claims, all in one call, each at the version that it is known at. A creation that is read again after a crash may be
    /// of a claim that has failed meanwhile: it was enqueued before, and its retry is for `retry` to decide.
    async fn enqueue(&self, mut claims: Vec<(Store, ItemId, u64)>) -> Result<usize, Error> {
        let mut enqueued = 0;
        for _ in 0..READS_MAX {
            let asked = claims.iter().map(|(store, claim, version)| {
                let (reason, expected_version) = (Some(INITIAL.to_string()), Some(*version));
                let step = Move { reason, expected_version, ..enqueue(*claim) };
                (self.acting(store.clone()), Command::Move(step))
            });
            let mut changed = Vec::new();
            for reply in Tenure::ask_as(asked.collect()).await {
                match reply {
                    Ok(reply) => {
                        enqueued += usize::from(reply.fresh);
                        changed.extend(still_pending(reply.answer));
                    }
                    Err(error) if error.is_retryable() => return Err(error),
                    // One that can not be moved at all keeps no other from its turn.
                    Err(_) => {}
                }
            }
            claims = changed;
            if claims.is_empty() {
                break;
            }
        }
        Ok(enqueued)
    }

    /// Enqueues a claim that failed, unless it has had its retries.
    async fn retry(&self, store: Store, claim: ItemId) -> Result<bool, Error> {
        let tenure = self.acting(store);
        for _ in 0..READS_MAX {
            let item = match tenure.item(claim).await {
                Ok(item) => item,
                Err(error) if error.is_retryable() => return Err(error),
                Err(_) => return Ok(false),
            };
            if item.table.kind.as_str() != CLAIM || item.state_name().as_str() != FAILED {
                return Ok(false);
            }
            let history = tenure.history(claim).await?;
            let Some(pause) = self.retries.pause(retries_in(&history)) else { return Ok(false) };
            let step = Move {
                reason: Some(RETRY.to_string()),
                expected_version: Some(item.version),
                run_at: Some(outside::now().after(pause)),
                ..enqueue(claim)
            };
            match tenure.ask(Command::Move(step)).await?.answer {
                Answer::Stale { .. } => {}
                answer => return Ok(matches!(answer, Answer::Done(_))),
            }
        }
        Ok(false)
    }

    fn acting(&self, store: Store) -> Tenure {
        let id = "claims".parse().expect("an actor's id");
        self.tenure.acting(store, Actor::new(Role::Orchestrator, id))
    }
}

enum Seen {
    Claim,
    /// Maybe of a claim: what an entry is about says only its first.
    Failure,
    OfAVerdict,
    Nothing,
}

/// A claim that something was added to before it was enqueued, at the version that was found.
fn still_pending(answer: Answer) -> Option<(Store, ItemId, u64)> {
    match answer {
        Answer::Stale { found, .. } if found.state_name().as_str() == PENDING => {
            Some((found.store.clone(), found.id, found.version))
        }
        _ => None,
    }
}

fn seen(entry: &Sealed) -> Seen {
    match &entry.facts {
        Facts::Create(birth) => match birth.kind.as_str() {
            CLAIM => Seen::Claim,
            VERDICT | RECHECK => Seen::OfAVerdict,
            _ => Seen::Nothing,
        },
        Facts::End(_) if entry.state.as_str() == FAILED => Seen::Failure,
        _ => Seen::Nothing,
    }
}

fn retries_in(history: &[Sealed]) -> usize {
    let is_retry = |entry: &&Sealed| match &entry.facts {
        Facts::Move(moved) => is_enqueue(&entry.action) && moved.reason.as_deref() == Some(RETRY),
        _ => false,
    };
    history.iter().filter(is_retry).count()
}
