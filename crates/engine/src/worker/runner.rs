//! The runner: one task that leases and hands out, until it is told to stop.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tenure_core::actor::{Actor, Role};
use tenure_core::answer::{Answer, Granted};
use tenure_core::control::{Bound, HeldBack};
use tenure_core::id::ExecutionId;
use tenure_core::request::{Acquire, Command, Due, Effects, Request, Sweep, Terms};
use tenure_core::word::{Kind, Store};
use tenure_databases::batch::Reply;
use tenure_databases::gather::Gather;
use tenure_databases::outside;
use tenure_databases::wait::caught;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Unanswered;
use super::handler::{Handler, Job};
use super::held::{Held, Lease};
use super::lines::Said;
use super::outcome::Failure;
use super::pulse;
use super::settle::{Ended, Settler, release};
use crate::lease::{Waited, wait_for_work};
use crate::loops::{Counters, Parts};
use crate::time::{now, pause};

/// Leases that one call asks for at most.
const ACQUIRE_MAX: usize = 500;
/// Acquires that are under way at once at most: while one is written the next is on its way.
const CALLS_MAX: usize = 2;
/// Leases that wait for a handler at most; so many are done in a few milliseconds where it pays to have them.
pub(super) const AHEAD_MAX: usize = 3_000;
/// Work is fetched ahead for so long: longer than it takes from a lease to its settled end, or the rate would never grow. More would
/// only be kept from other workers.
const AHEAD: f64 = 0.2;
/// A worker that found nothing looks again by itself, sooner at first.
const POLL_MIN: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(1);
/// A limit that is over by now is asked again so soon.
const HELD_BACK_MIN: Duration = Duration::from_millis(5);
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
    pub unanswered: Unanswered,
    pub stop: CancellationToken,
    pub drain: CancellationToken,
    pub outside: Handle,
    pub parts: Parts,
}

/// What an acquire got, and what kept it from more.
type Acquired = (Vec<Granted>, Option<Box<HeldBack>>);
type Acquiring = Pin<Box<dyn Future<Output = Result<Acquired, String>> + Send>>;

/// An acquire that was asked for at this time.
#[derive(Clone, Copy)]
struct Call {
    at: Instant,
    max: usize,
}

/// Acquires that are not answered yet.
#[derive(Default)]
struct Asked {
    calls: VecDeque<(Call, Acquiring)>,
    /// As many as they may bring.
    leases: usize,
}

impl Asked {
    fn ask(&mut self, (call, acquiring): (Call, Acquiring)) {
        self.leases += call.max;
        self.calls.push_back((call, acquiring));
    }

    /// The next answer, whichever it is; for ever where nothing was asked.
    async fn answered(&mut self) -> (Call, Result<Acquired, String>) {
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
        let stopped = {
            let (held, ended, store) = (held.clone(), ended.clone(), self.parts.store.clone());
            move |execution: ExecutionId| {
                // It was told and did not stop: it is stopped, and given back as what it is, cancelled.
                let handler = held.with(execution, |lease| {
                    lease.stop_by = None;
                    lease.handler.take()
                });
                if let Some(Some(handler)) = handler {
                    handler.abort();
                    let result = Ok(Err(Failure::snooze(Duration::ZERO, "cancelled")));
                    let _ = ended.send(Ended { execution, store: store.clone(), result });
                }
            }
        };
        beside.spawn(pulse::run(held.clone(), asker.clone(), self.lease, stopped));
        let settler = Settler {
            asker: asker.clone(),
            bells: self.parts.bells.clone(),
            held: held.clone(),
            kept: self.parts.kept.clone(),
            offers: self.parts.offers.clone(),
            outside: self.outside.clone(),
        };
        beside.spawn(settler.run(results));
        let slots = Arc::new(Semaphore::new(self.concurrency));
        self.lease_until_stopped(&asker, &held, &ended, &slots).await;
        self.wind_up(&asker, &held, &slots).await;
        beside.shutdown().await;
    }

    async fn lease_until_stopped(
        &self,
        asker: &Asker,
        held: &Held,
        ended: &mpsc::UnboundedSender<Ended>,
        slots: &Arc<Semaphore>,
    ) {
        let mut bells: Vec<_> = self.kinds.iter().map(|kind| self.parts.bells.listen(kind)).collect();
        let mut ahead = Ahead::new();
        let mut asked = Asked::default();
        let mut turn = 0;
        let mut poll = POLL_MIN;
        // More is asked for before an answer has come only while there was as much as was asked for.
        let mut plenty = false;
        while !self.stop.is_cancelled() && !self.kinds.is_empty() {
            let mut freed = std::pin::pin!(held.changed().notified());
            freed.as_mut().enable();
            let most = self.concurrency + ahead.count(held).min(self.ahead_max);
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
                    poll = POLL_MIN;
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
            let wait = held_back.as_ref().map_or(poll, |held| self.held_back(held, poll));
            let ahead = ahead.count(held).min(self.ahead_max);
            let room = (self.concurrency + ahead).saturating_sub(held.len()).min(ACQUIRE_MAX);
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
                        poll = POLL_MIN;
                    }
                    Err(why) => self.failed(&why).await,
                },
                Waited::Rung => poll = POLL_MIN,
                Waited::Over => poll = (poll * 2).min(POLL_MAX),
            }
        }
        if self.drain.is_cancelled() {
            // Nobody who waits for a place gets one any more.
            slots.close();
        }
        // What was asked for before the stop is held when the answer comes: it goes the way of the rest.
        while !asked.calls.is_empty() {
            if let (call, Ok((leases, _))) = asked.answered().await {
                self.hand_out(asker, held, ended, slots, leases, call.at);
            }
        }
    }

    /// How long to wait where a limit is in the way: until it is said to be over, or until something ends.
    fn held_back(&self, held: &HeldBack, poll: Duration) -> Duration {
        self.parts.counters.one_held_back();
        if let Bound::Concurrency(_) = held.by {
            self.parts.bells.is_hungry(&held.kind);
        }
        // It is the database's clock that says when; this one's need not be right, so the wait is bounded both ways.
        held.until.map_or(poll, |until| until.since(outside::now()).clamp(HELD_BACK_MIN, POLL_MAX))
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
        let lease_of = |granted: &Granted| Lease {
            store: granted.item.store.clone(),
            length: self.lease.unwrap_or(granted.item.table.settings.lease),
            asked,
            tried: None,
            token: CancellationToken::new(),
            said: Said::default(),
            begun: false,
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
                    let begins = held.with(execution, |lease| {
                        lease.begun = !pulse::is_over(lease.deadline());
                        lease.begun
                    });
                    if begins != Some(true) {
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

    /// No new leases. Handlers go on until they are done; once it drains for the grace, then they are stopped and their items given back.
    async fn wind_up(&self, asker: &Asker, held: &Held, slots: &Semaphore) {
        let emptied = || async {
            loop {
                let mut changed = std::pin::pin!(held.changed().notified());
                changed.as_mut().enable();
                if held.len() == 0 {
                    return;
                }
                changed.await;
            }
        };
        tokio::select! {
            () = emptied() => return,
            () = self.drain.cancelled() => slots.close(),
        }
        let grace = self.parts.closing.grace(self.grace);
        let over = async {
            // What has not begun need not wait for what has: somebody else may have it now.
            self.give_back(asker, held.take_waiting()).await;
            emptied().await;
        };
        if tokio::time::timeout(grace, over).await.is_ok() {
            return;
        }
        let left = held.all().into_iter().filter_map(|execution| Some((execution, held.take(execution)?)));
        self.give_back(asker, left.collect()).await;
    }

    /// Gives back what is held no more, told or not.
    async fn give_back(&self, asker: &Asker, leases: Vec<(ExecutionId, Lease)>) {
        let mut left = Vec::new();
        for (execution, lease) in leases {
            lease.token.cancel();
            lease.handler.iter().for_each(|handler| handler.abort());
            left.extend(lease.said.request(execution, &lease.store, &self.actor));
            left.push(release(execution, &lease.store, &self.actor, "its worker shut down", None));
        }
        if left.is_empty() {
            return;
        }
        let unreleased = self.let_go(asker, left).await;
        if !unreleased.is_empty() {
            self.let_go(asker, unreleased).await;
        }
    }

    /// Gives items back. What can not be given back because its table has no `release` is to be ended by its recovery row.
    async fn let_go(&self, asker: &Asker, left: Vec<Request>) -> Vec<Request> {
        let mut unreleased = Vec::new();
        let replies = asker.gather.ask_all(left.clone()).await;
        for (request, reply) in left.iter().zip(replies) {
            // What can not be given back now is taken back when its lease ends.
            let Ok(reply) = reply else { continue };
            self.parts.bells.heard(request, &reply);
            asker.counters.refused().heard(request, &reply.answer);
            match (&request.command, &reply.answer) {
                (Command::Release(_), _) if reply.fresh => asker.counters.one_released(),
                (Command::Release(release), Answer::Refused(_) | Answer::Forbidden { .. }) => {
                    unreleased.push(self.give_up(release.execution, &request.store));
                }
                (Command::Sweep(_), _) if reply.fresh => asker.counters.one_given_up(),
                _ => {}
            }
        }
        unreleased
    }

    fn give_up(&self, execution: ExecutionId, store: &Store) -> Request {
        let ExecutionId { item, fence } = execution;
        let sweep = Sweep { item, fence, due: Due::GivenUp, offers: Effects::default() };
        let node = self.actor.incarnation.clone().unwrap_or_else(|| self.actor.id.clone());
        let actor = Actor::new(Role::System, node);
        Request { store: store.clone(), actor, command: Command::Sweep(sweep) }
    }
}

/// How much is fetched ahead: what this worker does in a short while, at its rate of the last moments. Others may be far faster.
struct Ahead {
    since: Instant,
    done: u64,
    rate: f64,
}

impl Ahead {
    fn new() -> Ahead {
        Ahead { since: now(), done: 0, rate: 0.0 }
    }

    fn count(&mut self, held: &Held) -> usize {
        let (at, done) = (now(), held.settled());
        let passed = at.duration_since(self.since).as_secs_f64();
        if passed >= 0.01 {
            let rate = done.saturating_sub(self.done) as f64 / passed;
            self.rate = if self.rate == 0.0 { rate } else { self.rate * 0.5 + rate * 0.5 };
            (self.since, self.done) = (at, done);
        }
        ((self.rate * AHEAD) as usize).min(AHEAD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::id::{Fence, ItemId};

    use super::*;

    #[test]
    fn what_another_worker_does_lets_nobody_fetch_more() {
        let (mine, others) = (Held::default(), Held::default());
        let settled: Vec<ExecutionId> =
            (0..1_000).map(|number| ExecutionId { item: ItemId(number), fence: Fence(1) }).collect();
        let long_ago =
            |held: &Held| Ahead { since: now() - Duration::from_secs(1), done: held.settled(), rate: 0.0 };
        let (mut ahead, mut far_ahead) = (long_ago(&mine), long_ago(&others));
        others.take_all(&settled);
        assert_eq!(ahead.count(&mine), 0);
        assert!(far_ahead.count(&others) > 0, "who is fast fetches ahead");
    }
}
