//! How long a worker may count on a lease: until the lease ends without a renewal, or until its window ends, whichever is first.
//!
//! The term counts from the moment the worker *asked*, on its own monotonic clock, so it is over before the database gives the item
//! to another worker, also if the answer came late or never. No clock is compared with another (K-17).

use std::time::{Duration, Instant};

use tenure_core::execution::Remaining;

/// A tenth of every lease is left unused: the handler has stopped by then, whatever the database answers later.
const LEASE_MARGIN: u32 = 10;
/// A lease is renewed after a third of its length: two renewals may fail before it is lost.
const LEASE_RENEWAL: u32 = 3;

/// How long a worker may count on a lease.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTerm {
    length: Duration,
    /// When the lease ends without another renewal.
    ends: Instant,
    /// No renewal moves it. `None`: the kind has no window.
    window_ends: Option<Instant>,
}

impl LeaseTerm {
    /// A lease that was asked for at this moment, and what its answer said is left of it. Renewals ask for `length`.
    pub fn new(asked: Instant, remaining: Remaining, length: Duration) -> LeaseTerm {
        let window_ends = remaining.window.map(|window| asked + window);
        LeaseTerm { length, ends: asked + remaining.lease, window_ends }
    }

    /// A renewal was asked for at this moment and was granted. One that was overtaken by a later one changes nothing.
    pub fn renewed(&mut self, asked: Instant) {
        self.ends = self.ends.max(asked + self.length);
    }

    /// When the next renewal is due.
    pub fn renew_at(&self) -> Instant {
        let unrenewed = self.length - self.length / LEASE_RENEWAL;
        self.ends.checked_sub(unrenewed).unwrap_or(self.ends)
    }

    /// After this the worker does nothing more: another may hold the item.
    pub fn deadline(&self) -> Instant {
        let lease = self.ends.checked_sub(self.length / LEASE_MARGIN).unwrap_or(self.ends);
        self.window_ends.map_or(lease, |ends| ends.min(lease))
    }

    /// Whether the window ends the term, and no renewal helps.
    pub fn is_window_over(&self, now: Instant) -> bool {
        self.window_ends.is_some_and(|ends| ends <= now)
    }

    /// How long an answer to a renewal is waited for before it is asked again.
    pub fn retry_after(&self) -> Duration {
        self.length / 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::now;

    const SECOND: Duration = Duration::from_secs(1);

    fn term(asked: Instant, lease: u32, window: Option<u32>) -> LeaseTerm {
        let remaining = Remaining { lease: SECOND * lease, window: window.map(|window| SECOND * window) };
        LeaseTerm::new(asked, remaining, SECOND * 60)
    }

    // covers: K-13
    #[test]
    fn a_lease_is_renewed_after_a_third_and_left_after_nine_tenths() {
        let asked = now();
        let mut term = term(asked, 60, None);
        assert_eq!((term.renew_at(), term.deadline()), (asked + SECOND * 20, asked + SECOND * 54));
        term.renewed(asked + SECOND * 20);
        assert_eq!((term.renew_at(), term.deadline()), (asked + SECOND * 40, asked + SECOND * 74));
        term.renewed(asked + SECOND * 10);
        assert_eq!(term.deadline(), asked + SECOND * 74, "an overtaken answer shortens nothing");
    }

    // A request that is repeated after 45 s gets the lease that is left.
    // covers: K-17
    // fault: F15
    #[test]
    fn a_lease_that_is_answered_again_counts_from_its_first_grant() {
        let asked = now();
        let term = term(asked, 15, None);
        assert_eq!(
            (term.renew_at(), term.deadline()),
            (asked.checked_sub(SECOND * 25).unwrap(), asked + SECOND * 9)
        );
    }

    // covers: K-34
    #[test]
    fn a_window_ends_however_often_its_lease_is_renewed() {
        let asked = now();
        let mut term = term(asked, 60, Some(70));
        assert_eq!(term.deadline(), asked + SECOND * 54);
        term.renewed(asked + SECOND * 60);
        assert_eq!(term.deadline(), asked + SECOND * 70);
        assert!(!term.is_window_over(asked + SECOND * 69) && term.is_window_over(asked + SECOND * 70));
    }

    // covers: K-34
    #[test]
    fn a_window_that_is_shorter_than_its_lease_ends_first() {
        let asked = now();
        assert_eq!(term(asked, 60, Some(1)).deadline(), asked + SECOND);
    }
}
