//! Where the ready items of a queue begin, as far as this process knows.
//!
//! A claim that starts at the head of the index walks over the entries of everything that was leased before it, as long
//! as some old snapshot keeps the server from removing them. So it starts where the last one ended.
//!
//! A hint is never trusted for long: whoever finds fewer than it asked for looks again from the beginning, everyone does
//! so once a second, and whatever this process itself makes ready moves the hint back.

use std::collections::HashMap;
use std::sync::Mutex;

use tenure_core::time::Time;

use super::pool::held;

/// How long other processes' earlier items can stay unseen.
const TRUSTED_MICROS: i64 = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Hints(Mutex<HashMap<i32, Hint>>);

#[derive(Debug)]
struct Hint {
    /// No ready item of a lower rank is known.
    from: i64,
    /// When a claim last started at the beginning.
    checked: i64,
    /// Counts the times it was moved back: a claim that began before such a move may not move it forward again.
    moved_back: u64,
    /// The highest rank that a claim has seen. What becomes ready behind it needs no move.
    seen: i64,
}

/// Where a claim starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub rank: i64,
    moved_back: u64,
}

impl Start {
    pub fn is_beginning(self) -> bool {
        self.rank == i64::MIN
    }
}

impl Hints {
    pub fn start(&self, queue: i32, now: Time) -> Start {
        let mut hints = held(&self.0);
        let now = now.micros();
        let hint = hints.entry(queue).or_insert(Hint {
            from: i64::MIN,
            checked: i64::MIN,
            moved_back: 0,
            seen: i64::MIN,
        });
        let trusted = now >= hint.checked && now.saturating_sub(hint.checked) < TRUSTED_MICROS;
        if !trusted {
            hint.checked = now;
        }
        Start { rank: if trusted { hint.from } else { i64::MIN }, moved_back: hint.moved_back }
    }

    pub fn saw(&self, queue: i32, rank: i64) {
        if let Some(hint) = held(&self.0).get_mut(&queue) {
            hint.seen = hint.seen.max(rank);
        }
    }

    /// Everything below this rank was leased by a claim that started there.
    pub fn forward(&self, queue: i32, start: Start, rank: i64) {
        if let Some(hint) = held(&self.0).get_mut(&queue)
            && hint.moved_back == start.moved_back
        {
            hint.from = hint.from.max(rank);
        }
    }

    /// An item of this rank is ready, or may be again.
    pub fn back(&self, queue: i32, rank: i64) {
        if let Some(hint) = held(&self.0).get_mut(&queue)
            && rank <= hint.seen
        {
            hint.from = hint.from.min(rank);
            hint.moved_back += 1;
        }
    }
}
