//! Deciding beside writing: while one part of a batch is written, the next is decided in another thread.
//!
//! For a database whose steps keep the thread that calls them busy. What comes out is what comes out of deciding first and
//! writing then: the parts are written in their order, and nobody but this batch looks at the rows meanwhile.

use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;

use tenure_core::draw::Draw;
use tenure_core::request::Request;

use super::{Decided, write_waves};
use crate::wait::block_on;
use crate::{Error, Tx};

/// Fewer are decided before a thread has begun.
pub(super) const REQUESTS_MIN: usize = 128;
/// Large enough that handing it over costs nothing, small enough that the writing begins soon.
const PART: usize = 32;
/// Parts that are decided and not written yet, at most.
const AHEAD_MAX: usize = 8;

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
                    break;
                }
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
