//! One attempt: the command runs, its lease is kept, and its end is told. Without the lease there is no command.

use std::sync::Arc;
use std::time::Duration;

use tenure::Lines;
use tenure_systems::process::Group;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::ahead::Pace;
use super::desk::{Desk, Lease, Lost};
use super::hold::Hold;
use super::keeper::{Keeper, KeptGroup};
use super::process::Process;
use super::told::{Ended, Stopped, Told};
use crate::time::{Stopwatch, pause};

/// What was told to end when the worker's grace was over has so long.
const LAST_GRACE: Duration = Duration::from_secs(2);
/// Whatever was leased ahead waits no longer than this for its turn: others may be free.
const TURN: Duration = Duration::from_secs(1);

/// What all attempts of a worker have in common.
#[derive(Debug)]
pub struct Shared {
    pub desk: Desk,
    pub keeper: Arc<Keeper>,
    pub command: Vec<String>,
    pub grace: Duration,
    pub later: Duration,
    /// So many commands run at a time.
    pub slots: Arc<Semaphore>,
    pub pace: Pace,
}

/// How far the end of a worker has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    NotYet,
    /// Nothing is begun any more.
    Draining,
    /// What runs is ended.
    Now,
}

pub struct Attempt {
    shared: Arc<Shared>,
    lease: Lease,
    hold: Hold,
    end: watch::Receiver<End>,
}

impl Attempt {
    pub fn new(shared: Arc<Shared>, lease: Lease, asked: Stopwatch, end: watch::Receiver<End>) -> Attempt {
        let hold = Hold::new(asked, &lease, shared.desk.lease);
        Attempt { shared, lease, hold, end }
    }

    /// Does it, and says in a line what came of it.
    pub async fn run(mut self) -> String {
        let Some(slot) = self.turn().await else { return self.give_back().await };
        if self.hold.is_over() {
            return self.lost(&Lost(self.hold.reason().to_string()));
        }
        let began = Stopwatch::start();
        let (kept, process) = match self.start() {
            Ok(started) => started,
            Err(why) => {
                let told = Told::Failed { reason: format!("the command could not be started: {why}") };
                return self.tell(&Lines::default(), told).await;
            }
        };
        let attended = self.attend(kept, process).await;
        // Others may begin while this one's end is told.
        drop(slot);
        self.shared.pace.took(began.elapsed());
        match attended {
            Ok((ended, stopped)) => {
                let told = Told::of(&ended, stopped, self.shared.later);
                self.tell(&ended.lines, told).await
            }
            Err(lost) => self.lost(&lost),
        }
    }

    /// Waits for its turn. None: it does not come soon, or nothing new shall begin.
    async fn turn(&mut self) -> Option<OwnedSemaphorePermit> {
        let slots = self.shared.slots.clone();
        tokio::select! {
            biased;
            _ = self.end.wait_for(|end| *end > End::NotYet) => None,
            slot = slots.acquire_owned() => slot.ok(),
            () = pause(TURN.min(self.hold.patience())) => None,
        }
    }

    async fn give_back(self) -> String {
        self.tell(&Lines::default(), Told::given_back()).await
    }

    fn start(&self) -> std::io::Result<(KeptGroup, Process)> {
        let lease = &self.lease;
        let attempt = lease.attempt.to_string();
        let trace = lease.traceparent.as_deref().unwrap_or_default();
        let variables = [
            ("TENURE_ITEM", lease.item.as_str()),
            ("TENURE_EXECUTION", lease.execution.as_str()),
            ("TENURE_ATTEMPT", attempt.as_str()),
            ("TENURE_KIND", lease.kind.as_str()),
            ("TENURE_KEY", lease.key.as_deref().unwrap_or_default()),
            ("TENURE_STORE", lease.store.as_str()),
            ("TENURE_LEASE_EXPIRES_AT", lease.lease_expires_at.as_str()),
            ("TENURE_TRACEPARENT", trace),
            // Where tracing libraries look. Empty is none: the worker's own is not the item's.
            ("TRACEPARENT", trace),
            ("TRACESTATE", lease.tracestate.as_deref().unwrap_or_default()),
        ];
        let payload = lease.payload.as_ref().map_or(Vec::new(), |payload| payload.get().as_bytes().to_vec());
        Process::start(&self.shared.command, &variables, payload, &lease.item, &self.shared.keeper, None)
    }

    /// Keeps the lease while the command runs, and ends the command when the lease is lost or somebody says so.
    async fn attend(&mut self, kept: KeptGroup, process: Process) -> Result<(Ended, Option<Stopped>), Lost> {
        let group = &kept.group;
        let mut ended = std::pin::pin!(process.end(&kept));
        let mut stop: Option<Stop> = None;
        let mut renewal = None;
        let lost = loop {
            if renewal.is_none() {
                renewal = Some(Box::pin(renew(&self.shared.desk, &self.lease, self.hold)));
            }
            tokio::select! {
                biased;
                ended = &mut ended => {
                    let ended = ended.map_err(|why| Lost(format!("its command was lost: {why}")))?;
                    return Ok((ended, stop.map(|stop| stop.why)));
                }
                // Somebody else may begin soon, and nobody has said that it is still ours.
                () = pause(self.hold.until_end()) => break Lost(self.hold.reason().to_string()),
                renewed = async { renewal.as_mut().expect("it was made above").await } => {
                    renewal = None;
                    match renewed {
                        Ok(Some((asked, renewed))) => {
                            self.hold.renewed(asked);
                            if renewed.cancel_requested && stop.is_none() {
                                stop = Some(Stop::now(Stopped::Cancelled, self.shared.grace, group));
                            }
                        }
                        Ok(None) => {}
                        Err(lost) => break lost,
                    }
                }
                _ = self.end.wait_for(|end| *end == End::Now), if stop.is_none() => {
                    stop = Some(Stop::now(Stopped::Drained, LAST_GRACE, group));
                }
                () = patience(&stop) => {
                    group.kill();
                    // It is dead; what is left is to hear of it.
                    stop = stop.map(|stop| Stop { grace: Duration::MAX, ..stop });
                }
            }
        };
        // It holds nothing any more: it must not do anything more, politely or not.
        group.kill();
        let _ = ended.await;
        Err(lost)
    }

    async fn tell(&self, lines: &Lines, told: Told) -> String {
        match self.shared.desk.tell(&self.lease, &self.hold, lines, told).await {
            Ok(told) => format!("{} attempt {} {}", self.lease.item, self.lease.attempt, told.in_words()),
            Err(lost) => self.lost(&lost),
        }
    }

    fn lost(&self, Lost(why): &Lost) -> String {
        format!("{} attempt {} lost its lease: {why}", self.lease.item, self.lease.attempt)
    }
}

/// Waits for the time, then renews.
async fn renew(
    desk: &Desk,
    lease: &Lease,
    hold: Hold,
) -> Result<Option<(Stopwatch, super::desk::Renewed)>, Lost> {
    pause(hold.until_renewal()).await;
    desk.renew(lease, hold.patience()).await
}

/// The command was told to end.
#[derive(Clone, Copy)]
struct Stop {
    why: Stopped,
    since: Stopwatch,
    grace: Duration,
}

impl Stop {
    fn now(why: Stopped, grace: Duration, group: &Group) -> Stop {
        group.terminate();
        Stop { why, since: Stopwatch::start(), grace }
    }
}

/// Done when the command has had its time to end. Never, if nobody told it to.
async fn patience(stop: &Option<Stop>) {
    match stop {
        Some(stop) if stop.grace < Duration::MAX => {
            pause(stop.grace.saturating_sub(stop.since.elapsed())).await
        }
        _ => std::future::pending().await,
    }
}
