//! Deciding beside writing: while one part of a batch is written, the next is decided in another thread.
//!
//! For a database whose steps keep the thread that calls them busy. What comes out is what comes out of deciding first and
//! writing then: the parts are written in their order, and nobody but this batch looks at the rows meanwhile.

use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;

use tenure_core::draw::Draw;
use tenure_core::request::Request;

use super::{Decided, Plan, write_waves};
use crate::segment::Pressed;
use crate::wait::block_on;
use crate::{Error, Tx};

/// Fewer are decided before a thread has begun.
pub(super) const REQUESTS_MIN: usize = 128;
/// Large enough that handing it over costs nothing, small enough that the writing begins soon.
const PART: usize = 32;
/// Parts that are decided and not written yet, at most.
const AHEAD_MAX: usize = 8;

/// Fewer are pressed before a thread has begun.
pub(super) const ENTRIES_MIN: usize = 128;

/// Writes what is left of a batch that is decided, and presses its entries meanwhile.
pub(super) fn write_and_press<T: Tx>(tx: &mut T, plan: &mut Plan) -> Result<(), Error> {
    let waves = plan.waves();
    let entries = &plan.entries[..];
    let (written, pressed) = thread::scope(|scope| {
        let presser = scope.spawn(|| Pressed::of(entries));
        let written = block_on(write_waves(tx, waves));
        (written, presser.join())
    });
    match pressed {
        Ok(pressed) => tx.pressed(pressed),
        Err(panic) => resume_unwind(panic),
    }
    written
}

pub(super) fn decide_and_write<T: Tx>(
    tx: &mut T,
    mut decided: Decided,
    requests: &[Request],
    seeds: &[Draw],
) -> Result<Decided, Error> {
    thread::scope(|scope| {
        let (send, parts) = sync_channel(AHEAD_MAX);
        let decider = scope.spawn(move || {
            for (number, part) in requests.chunks(PART).enumerate() {
                let first = number * PART;
                decided.decide(part, &seeds[first..first + part.len()], first);
                if send.send(decided.plan.waves()).is_err() {
                    return decided;
                }
            }
            // What is decided last is still being written.
            if decided.replies.iter().all(Option::is_some) {
                decided.plan.pressed = Some(Pressed::of(&decided.plan.entries));
            }
            decided
        });
        // Who stops here stops the decider too: what it sends nobody takes any more.
        let written = parts.into_iter().try_for_each(|waves| block_on(write_waves(tx, waves)));
        match decider.join() {
            Ok(decided) => written.map(|()| decided),
            Err(panic) => resume_unwind(panic),
        }
    })
}
