//! What the writers of a gatherer have done: a few additions a batch, none a request.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Replies;
use crate::Error;
use crate::batch::TORN;
use crate::measure::{Histogram, Since};

/// A batch has at most a thousand requests.
const SIZES: &[u64] = &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
/// Microseconds. A commit on a good disk takes a fraction of a millisecond, on a bad one tens of them.
const TIMES: &[u64] = &[500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];

#[derive(Debug)]
pub struct Measures {
    /// Requests that shared a transaction.
    pub sizes: Histogram,
    /// Microseconds from a batch's begin to its durable commit.
    pub times: Histogram,
    failed: AtomicU64,
    torn: AtomicU64,
}

impl Default for Measures {
    fn default() -> Measures {
        let (sizes, times) = (Histogram::new(SIZES), Histogram::new(TIMES));
        Measures { sizes, times, failed: AtomicU64::new(0), torn: AtomicU64::new(0) }
    }
}

impl Measures {
    pub(super) fn batch(&self, replies: &Replies, began: Since) {
        self.sizes.add(replies.len() as u64);
        self.times.add(began.micros());
        let failed = replies.iter().filter(|reply| reply.is_err()).count();
        if failed > 0 {
            self.failed.fetch_add(failed as u64, Ordering::Relaxed);
            let is_torn = |reply: &&Result<_, Error>| matches!(reply, Err(Error::Statement(why)) if why.ends_with(TORN));
            let torn = replies.iter().filter(is_torn).count();
            self.torn.fetch_add(torn as u64, Ordering::Relaxed);
        }
    }

    /// Of these, requests whose transaction was taken back as a whole because a row was not as it had been decided on.
    pub fn torn(&self) -> u64 {
        self.torn.load(Ordering::Relaxed)
    }

    /// Requests that got no answer because the database failed.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }
}
