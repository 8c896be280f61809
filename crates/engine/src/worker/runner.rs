//! The runner: one task that leases and hands out, until it is told to stop.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use tenure_core::actor::Actor;
use tenure_core::answer::{Answer, Granted};
use tenure_core::control::{Bound, HeldBack};
use tenure_core::id::ExecutionId;
use tenure_core::item::Item;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::{SharedTable, StateId};
use tenure_core::request::{Acquire, Command, Request, Terms};
use tenure_core::time::Time;
use tenure_core::word::Kind;
use tenure_databases::batch::Reply;
use tenure_databases::gather::Gather;
use tenure_databases::outside;
use tenure_databases::wait::caught;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Unanswered;
use super::ahead::Ahead;
use super::drain::emptied;
use super::handler::{Handler, Job};
use super::held::{Held, Lease, Stage};
use super::lines::Said;
use super::outcome::Failure;
use super::pulse;
use super::settle::{Ended, Settler};
use super::term::LeaseTerm;
use crate::closing::GIVE_BACK;
use crate::lease::{Waited, wait_for_work};
use crate::loops::{Counters, Parts};
use crate::time::{now, pause};

/// Leases that one call asks for at most.
const ACQUIRE_MAX: usize = 500;
/// Acquires that are under way at once at most: while one is written the next is on its way.
const CALLS_MAX: usize = 2;
/// A worker that found nothing looks again by itself, sooner at first.
pub(super) const POLL_MIN: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(1);
/// A limit that is over by now is asked again so soon, and every time it is not after twice as long, up to a few times a second: it
/// is the database's clock that says when it is over, and this machine's may be ahead of it.
const HELD_BACK_MIN: Duration = Duration::from_millis(5);
const HELD_BACK_MAX: Duration = Duration::from_millis(320);
/// The database is away.
pub(super) const AWAY: Duration = Duration::from_millis(200);

/// What everything of a worker asks with.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    pub gather: Gather,
    pub actor: Actor,
    pub counters: Arc<Counters>,
}

pub(super) struct Runner {
    pub handlers: HashMap<Kind, Arc<dyn Handler>>,
    pub kinds: Vec<Kind>,
    pub actor: Actor,
    pub concurrency: usize,
    pub lease: Option<Duration>,
    pub grace: Duration,
    pub ahead_max: usize,
    /// How soon it looks again by itself, where it found nothing.
    pub poll_min: Duration,
    pub unanswered: Unanswered,
    pub stop: CancellationToken,
    pub drain: CancellationToken,
    pub outside: Handle,
    pub parts: Parts,
}

/// What an acquire got, and what kept it from more.
pub(super) type Acquired = (Vec<Granted>, Option<Box<HeldBack>>);
type Acquiring = Pin<Box<dyn Future<Output = Result<Acquired, String>> + Send>>;

/// An acquire that was asked for at this time.
#[derive(Clone, Copy)]
pub(super) struct Call {
    at: Instant,
    max: usize,
}

/// Acquires that are not answered yet.
#[derive(Default)]
pub(super) struct Asked {
    calls: VecDeque<(Call, Acquiring)>,
    /// As many as they may bring.
    leases: usize,
}

impl Asked {
    fn ask(&mut self, (call, acquiring): (Call, Acquiring)) {
        self.leases += call.max;
        self.calls.push_back((call, acquiring));
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The next answer, whichever it is; for ever where nothing was asked.
    pub async fn answered(&mut self) -> (Call, Result<Acquired, String>) {
        poll_fn(|context| {
            for index in 0..self.calls.len() {
                if let Poll::Ready(answer) = self.calls[index].1.as_mut().poll(context) {
                    let (call, _) = self.calls.remove(index).expect("it was polled");
                    self.leases -= call.max;
                    return Poll::Ready((call, answer));
                }
            }
            Poll::Pending
        })
        .await
    }
}

fn ask(asker: &Asker, acquire: Request, max: usize) -> (Call, Acquiring) {
    let gather = asker.gather.clone();
    (Call { at: now(), max }, Box::pin(async move { acquired(gather.ask(acquire).await) }))
}

fn acquired(reply: Result<Reply, tenure_databases::Error>) -> Result<Acquired, String> {
    match reply {
        Ok(Reply { answer: Answer::Leased(leases), held_back, .. }) => Ok((leases, held_back)),
        Ok(Reply { answer, .. }) => Err(format!("leases were refused: {answer:?}")),
        Err(error) => Err(error.to_string()),
    }
}

impl Runner {
    pub async fn run(self) {
        let asker = Asker {
            gather: self.parts.gather.clone(),
            actor: self.actor.clone(),
            counters: self.parts.counters.clone(),
        };
        let held = Held::default();
        let (ended, results) = mpsc::unbounded_channel();
        let mut beside = JoinSet::new();
        let taken = {
            let (held, ended, store) = (held.clone(), ended.clone(), self.parts.store.clone());
            let outside = self.outside.clone();
            move |execution: ExecutionId, why: Failure| {
                if let Some(Some(handler)) = held.with(execution, |lease| lease.handler.take()) {
                    handler.abort();
                    let _ = ended.send(Ended { execution, store: store.clone(), result: Ok(Err(why)) });
                }
                // A handler that blocks its thread keeps others from beginning. This is heard of when it does no more.
                if held.is_stuck() {
                    let held = held.clone();
                    outside.spawn(async move { held.goes_on() });
                }
            }
        };
        beside.spawn(pulse::run(held.clone(), asker.clone(), self.lease, taken));
        let settler = Settler {
            asker: asker.clone(),
            bells: self.parts.bells.clone(),
            held: held.clone(),
            kept: self.parts.kept.clone(),
            offers: self.parts.offers.clone(),
            outside: self.outside.clone(),
        };
        beside.spawn(settler.run(results));
        // All that a drain waits for has one end, also where the database says nothing.
        let stopped: OnceLock<Instant> = OnceLock::new();
        let over = async |least: Duration| {
            self.drain.cancelled().await;
            let grace = self.parts.closing.grace(self.grace).max(least);
            let since = *stopped.get_or_init(now);
            pause(grace.saturating_sub(now().duration_since(since))).await;
        };
        let slots = Arc::new(Semaphore::new(self.concurrency));
        let mut asked = Asked::default();
        tokio::select! {
            () = self.lease_until_stopped(&asker, &held, &ended, &slots, &mut asked) => {}
            () = over(GIVE_BACK) => {}
        }
        tokio::select! {
            biased;
            () = self.drain.cancelled() => {
                // Nobody who waits for a place gets one any more.
                slots.close();
                self.wind_up(&asker, &held, asked, over(Duration::ZERO)).await;
            }
            () = self.finish(&asker, &held, &ended, &slots, &mut asked) => {}
        }
        beside.shutdown().await;
    }

    async fn lease_until_stopped(
        &self,
        asker: &Asker,
        held: &Held,
        ended: &mpsc::UnboundedSender<Ended>,
        slots: &Arc<Semaphore>,
        asked: &mut Asked,
    ) {
        let mut bells: Vec<_> = self.kinds.iter().map(|kind| self.parts.bells.listen(kind)).collect();
        bells.push(held.lanes());
        let mut ahead = Ahead::new();
        let mut turn = 0;
        let mut poll = self.poll_min;
        let mut held_back_for = HELD_BACK_MIN;
        // More is asked for before an answer has come only while there was as much as was asked for.
        let mut plenty = false;
        while !self.stop.is_cancelled() && !self.kinds.is_empty() {
            let mut freed = std::pin::pin!(held.changed().notified());
            freed.as_mut().enable();
            let most = self.most(held, &mut ahead);
            let has = held.len() + asked.leases;
            let room = most.saturating_sub(has);
            // Few at a time are as dear as many: it waits until a call is worth while, or nothing is left to do.
            let is_worth_it = room > 0 && (room >= most / 4 || has <= self.concurrency);
            if is_worth_it && (asked.calls.is_empty() || (plenty && asked.calls.len() < CALLS_MAX)) {
                if asked.calls.is_empty() {
                    bells.iter_mut().for_each(|bell| bell.mark_unchanged());
                }
                self.parts.counters.one_acquire();
                asked.ask(ask(asker, self.acquire(room.min(ACQUIRE_MAX), turn), room.min(ACQUIRE_MAX)));
                continue;
            }
            let (call, answer) = tokio::select! {
                () = self.stop.cancelled() => break,
                () = freed => continue,
                answered = asked.answered() => answered,
            };
            let held_back = match answer {
                Ok((leases, _)) if !leases.is_empty() => {
                    plenty = leases.len() == call.max;
                    self.hand_out(asker, held, ended, slots, leases, call.at);
                    (poll, held_back_for) = (self.poll_min, HELD_BACK_MIN);
                    continue;
                }
                Ok((_, held_back)) => held_back,
                Err(why) => {
                    plenty = false;
                    self.failed(&why).await;
                    continue;
                }
            };
            turn += 1;
            plenty = false;
            if !asked.calls.is_empty() {
                continue;
            }
            let wait = match &held_back {
                Some(held) => {
                    self.held_back(held);
                    let wait =
                        held.until.map_or(poll, |until| until_over(until, outside::now(), held_back_for));
                    held_back_for = (held_back_for * 2).min(HELD_BACK_MAX);
                    wait
                }
                None => {
                    held_back_for = HELD_BACK_MIN;
                    poll
                }
            };
            let room = self.most(held, &mut ahead).saturating_sub(held.len()).min(ACQUIRE_MAX);
            let standing = match held_back {
                None if room > 0 => asker.gather.stand(self.acquire(room, turn)).ok(),
                _ => None,
            };
            let over = async {
                tokio::select! {
                    () = self.stop.cancelled() => {}
                    () = pause(wait) => {}
                }
            };
            match wait_for_work(standing, &mut bells, over).await {
                Waited::Answered(reply, began) => match acquired(reply) {
                    Ok((leases, _)) => {
                        plenty = leases.len() == room;
                        self.hand_out(asker, held, ended, slots, leases, began.at());
                        poll = self.poll_min;
                    }
                    Err(why) => self.failed(&why).await,
                },
                Waited::Rung => poll = self.poll_min,
                Waited::Over => poll = (poll * 2).min(POLL_MAX.max(self.poll_min)),
            }
        }
    }

    /// Retired: what it holds, and what it asked for before, goes on for as long as it takes.
    async fn finish(
        &self,
        asker: &Asker,
        held: &Held,
        ended: &mpsc::UnboundedSender<Ended>,
        slots: &Arc<Semaphore>,
        asked: &mut Asked,
    ) {
        while !asked.is_empty() {
            if let (call, Ok((leases, _))) = asked.answered().await {
                self.hand_out(asker, held, ended, slots, leases, call.at);
            }
        }
        emptied(held).await;
    }

    /// How many leases it may have: a place each, and what it fetches ahead. None more while no handler's thread goes on.
    fn most(&self, held: &Held, ahead: &mut Ahead) -> usize {
        match held.is_stuck() {
            true => 0,
            false => self.concurrency + ahead.count(held).min(self.ahead_max),
        }
    }

    /// A limit is in the way: it is waited for until it is said to be over, or until something ends.
    fn held_back(&self, held: &HeldBack) {
        self.parts.counters.one_held_back();
        if let Bound::Concurrency(_) = held.by {
            self.parts.bells.is_hungry(&held.kind);
        }
    }

    /// The database is away, or says no: in a while it may not.
    async fn failed(&self, why: &str) {
        self.parts.counters.failed_acquire(why);
        (self.unanswered)(why);
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = pause(AWAY) => {}
        }
    }

    /// The kinds take turns at being the first that is looked at.
    fn acquire(&self, max: usize, turn: usize) -> Request {
        let mut kinds = self.kinds.clone();
        kinds.rotate_left(turn % self.kinds.len());
        let terms = Terms { lease: self.lease, start: true, ..Terms::default() };
        let command = Command::Acquire(Acquire { kinds, max, terms });
        Request { store: self.parts.store.clone(), actor: self.actor.clone(), command }
    }

    fn hand_out(
        &self,
        asker: &Asker,
        held: &Held,
        ended: &mpsc::UnboundedSender<Ended>,
        slots: &Arc<Semaphore>,
        leases: Vec<Granted>,
        asked: Instant,
    ) {
        self.parts.counters.leases(leases.len());
        // Most are of one table, which is asked once.
        let mut asked_last: Option<(SharedTable, StateId, bool)> = None;
        let mut may_return = |item: &Item| match &asked_last {
            Some((table, state, may)) if Arc::ptr_eq(table, &item.table) && *state == item.state => *may,
            Some(_) | None => {
                let may = self.may_return(item);
                asked_last = Some((item.table.clone(), item.state, may));
                may
            }
        };
        let mut lease_of = |granted: &Granted| Lease {
            store: granted.item.store.clone(),
            term: LeaseTerm::new(
                asked,
                granted.remaining,
                self.lease.unwrap_or(granted.item.table.settings.lease),
            ),
            tried: None,
            token: CancellationToken::new(),
            said: Said::default(),
            stage: Stage::Waits,
            may_return: may_return(&granted.item),
            laned: granted.item.table.is_laned() && granted.item.lane_key().is_some(),
            handler: None,
            stop_by: None,
        };
        held.put(leases.iter().map(|granted| (granted.execution, lease_of(granted))));
        for granted in leases {
            let execution = granted.execution;
            let handler = self.handlers.get(&granted.item.table.kind).cloned();
            let handler = handler.expect("only kinds that have a handler are asked for");
            let shared = held.with(execution, |lease| (lease.token.clone(), lease.said.clone()));
            let Some((token, said)) = shared else { continue };
            let (held, ended, slots) = (held.clone(), ended.clone(), slots.clone());
            let store = granted.item.store.clone();
            let (item, payload) = (granted.item, granted.payload);
            let job = Job { item, execution, payload, token, said, asker: asker.clone() };
            let work = {
                let held = held.clone();
                async move {
                    let Ok(slot) = slots.acquire_owned().await else { return };
                    // It may have waited too long for a slot.
                    if !held.begin(execution, now()) {
                        return;
                    }
                    let result = caught(async { handler.run(job).await }).await;
                    drop(slot);
                    let _ = ended.send(Ended { execution, store, result });
                }
            };
            let running = self.outside.spawn(work);
            held.with(execution, |lease| lease.handler = Some(running.abort_handle()));
        }
    }

    /// Whether its table lets this worker give it back.
    fn may_return(&self, item: &Item) -> bool {
        let mut rows = item.table.rows_from(Some(item.state), &Event::Release);
        rows.any(|row| row.actors.names(self.actor.role))
    }
}

/// How long a limit is waited for that the database says is over at a time of its own clock.
fn until_over(until: Time, now: Time, least: Duration) -> Duration {
    until.since(now).clamp(least, POLL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_asks_ever_more_seldom() {
        let now: Time = "2026-01-01T00:00:00Z".parse().unwrap();
        let soon = now.after(Duration::from_millis(40));
        let day = Duration::from_secs(24 * 3600);
        assert_eq!(until_over(soon, now, HELD_BACK_MIN), Duration::from_millis(40));
        assert_eq!(
            until_over(soon, now.before(day), HELD_BACK_MIN),
            POLL_MAX,
            "and one that is behind soon enough"
        );
        assert_eq!(until_over(soon, now.after(day), HELD_BACK_MIN), HELD_BACK_MIN);
        assert_eq!(until_over(soon, now.after(day), HELD_BACK_MAX), HELD_BACK_MAX);
    }
}
