//! Deciding beside writing: while one part of a batch is written, the next is decided in another thread.
//!
//! For a database whose steps keep the thread that calls them busy. What comes out is what comes out of deciding first and
//! writing then: the parts are written in their order, and nobody but this batch looks at the rows meanwhile.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::mpsc::{SyncSender, sync_channel};

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use tenure_core::answer::{Answer, Granted};
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::id::ItemId;
use tenure_core::request::{Acquire, Command, Request};
use tenure_core::world::Change;

use super::pool::{Pool, held_back, is_worth_more};
use super::{Decided, Plan, Reply, write_waves};
use crate::segment::Pressed;
use crate::wait::block_on;
use crate::{Error, Tx};

/// Fewer are decided before a thread is awake.
pub(super) const REQUESTS_MIN: usize = 128;
/// Large enough that handing it over costs nothing, small enough that the writing begins soon.
const PART: usize = 32;
/// Parts that are decided and not written yet, at most.
const AHEAD_MAX: usize = 8;

/// Fewer are pressed before a thread is awake.
pub(super) const ENTRIES_MIN: usize = 128;

/// Writes what is left of a batch that is decided, and presses its entries meanwhile.
pub(super) fn write_and_press<T: Tx>(tx: &mut T, plan: &mut Plan) -> Result<(), Error> {
    let waves = plan.waves();
    let entries = &plan.entries[..];
    let (pressed, written) = at_once(|| Pressed::of(entries), || block_on(write_waves(tx, waves)));
    tx.pressed(pressed);
    written
}

/// Fewer are leased before a thread is awake.
pub(super) const LEASES_MIN: usize = 128;

/// Leases to an acquire that has no name, part by part: each part is as an acquire of its own, so what comes out is what the whole
/// would have got. One with a name remembers all of its leases in one place and is decided at once.
pub(super) fn lease_and_write<T: Tx>(
    tx: &mut T,
    mut decided: Decided,
    pool: &mut Pool,
    index: usize,
    request: &Request,
    acquire: &Acquire,
) -> Result<Decided, Error> {
    decided.world.offers.clear();
    let first = decide(&decided.world, request, &mut Draw::new(0));
    if first.answer != Answer::Leased(Vec::new()) {
        decided.lease(index, request, acquire, first);
        return Ok(decided);
    }
    let (mut leases, mut refused) = (Vec::new(), BTreeSet::new());
    loop {
        let rest = Acquire { max: acquire.max - leases.len(), ..acquire.clone() };
        let offers = block_on(pool.offers(tx, &mut decided.world, &request.store, &rest, &refused))?;
        let more;
        (decided, more) = write_beside(tx, |send| {
            decided.plan.pressed = None;
            let more = lease(&mut decided, request, &rest, &offers, send);
            decided.replies[index].get_or_insert(Reply {
                answer: Answer::Leased(Vec::new()),
                fresh: false,
                held_back: None,
                failed_for_good: 0,
                leased_at_once: false,
            });
            decided.press();
            (decided, more)
        })?;
        leases.extend(more);
        if leases.len() == acquire.max || !is_worth_more(&mut refused, &offers, &leases) {
            break;
        }
    }
    let (fresh, answer) = (!leases.is_empty(), Answer::Leased(leases));
    let held_back = held_back(&decided.world, request, acquire, &answer);
    decided.replies[index] =
        Some(Reply { answer, fresh, held_back, failed_for_good: 0, leased_at_once: false });
    Ok(decided)
}

/// Leases of the offers, handing on what is to be written part by part.
fn lease(
    decided: &mut Decided,
    request: &Request,
    acquire: &Acquire,
    offers: &[ItemId],
    send: &SyncSender<Waves>,
) -> Vec<Granted> {
    let mut leases: Vec<Granted> = Vec::new();
    for part in offers.chunks(PART) {
        let max = part.len().min(acquire.max - leases.len());
        if max == 0 {
            break;
        }
        let command = Command::Acquire(Acquire { max, ..acquire.clone() });
        let request = Request { command, ..request.clone() };
        decided.world.offers = part.to_vec();
        let decision = decide(&decided.world, &request, &mut Draw::new(0));
        let Reply { answer: Answer::Leased(more), .. } = decided.plan.take(&mut decided.world, decision)
        else {
            break;
        };
        leases.extend(more);
        if send.send(decided.plan.waves()).is_err() {
            break;
        }
    }
    leases
}

pub(super) fn decide_and_write<T: Tx>(
    tx: &mut T,
    mut decided: Decided,
    requests: &[Request],
    seeds: &[Draw],
) -> Result<Decided, Error> {
    write_beside(tx, |send| {
        for (number, part) in requests.chunks(PART).enumerate() {
            let first = number * PART;
            decided.decide(part, &seeds[first..first + part.len()], first);
            if send.send(decided.plan.waves()).is_err() {
                return decided;
            }
        }
        decided.press();
        decided
    })
}

type Waves = Vec<Vec<Change>>;

/// Writes what another thread decides meanwhile and sends.
fn write_beside<T: Tx, R: Send>(
    tx: &mut T,
    decide: impl FnOnce(&SyncSender<Waves>) -> R + Send,
) -> Result<R, Error> {
    let (send, parts) = sync_channel(AHEAD_MAX);
    // Who stops writing stops the decider too: what it sends nobody takes any more.
    let write = || parts.into_iter().try_for_each(|waves| block_on(write_waves(tx, waves)));
    let (decided, written) = at_once(move || decide(&send), write);
    written.map(|()| decided)
}

/// They stay for as long as the process: a thread that is started for a batch costs a twentieth of it, most of it for memory that
/// comes fresh from the system. One is busy for each database that is being written to, so that few are enough.
static DECIDERS: LazyLock<ThreadPool> = LazyLock::new(|| {
    let pool = ThreadPoolBuilder::new().num_threads(DECIDERS_MAX).thread_name(|_| "decider".to_string());
    pool.build().expect("the system has room for a thread")
});
const DECIDERS_MAX: usize = 2;

/// Does one thing in a thread that decides and the other in this one. A panic of either comes out here.
fn at_once<A: Send, B>(there: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
    let mut made = None;
    let place = &mut made;
    let done = DECIDERS.in_place_scope(move |scope| {
        scope.spawn(move |_| *place = Some(there()));
        here()
    });
    (made.expect("a scope ends when all of it has ended"), done)
}

impl Decided {
    /// Presses the entries, if no more can come. What is decided last is still being written meanwhile.
    fn press(&mut self) {
        if self.replies.iter().all(Option::is_some) {
            self.plan.pressed = Some(Pressed::of(&self.plan.entries));
        }
    }
}
