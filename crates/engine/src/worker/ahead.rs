//! How much a worker fetches ahead: what it does in a short while, at its rate of the last moments. Others may be far faster.

use std::time::{Duration, Instant};

use super::held::Held;
use crate::time::now;

/// Leases that wait for a handler at most; so many are done in a few milliseconds where it pays to have them.
pub(super) const AHEAD_MAX: usize = 3_000;
/// Work is fetched ahead for so long: longer than it takes from a lease to its settled end, or the rate would never grow. More would
/// only be kept from other workers.
const AHEAD: f64 = 0.2;
/// Whoever had to give back what it fetched ahead fetches nothing ahead for so long: each time counts as an interruption of the item,
/// and its hundred then last for more than an hour and a half beside any one worker.
const REST: Duration = Duration::from_secs(60);

pub(super) struct Ahead {
    since: Instant,
    done: u64,
    rate: f64,
    returns: u64,
    rests_until: Option<Instant>,
}

impl Ahead {
    pub fn new() -> Ahead {
        Ahead { since: now(), done: 0, rate: 0.0, returns: 0, rests_until: None }
    }

    pub fn count(&mut self, held: &Held) -> usize {
        let (at, done) = (now(), held.settled());
        let passed = at.duration_since(self.since).as_secs_f64();
        if passed >= 0.01 {
            let rate = done.saturating_sub(self.done) as f64 / passed;
            self.rate = if self.rate == 0.0 { rate } else { self.rate * 0.5 + rate * 0.5 };
            (self.since, self.done) = (at, done);
        }
        let returns = held.returns();
        if returns != self.returns {
            (self.returns, self.rests_until) = (returns, Some(at + REST));
        }
        if self.rests_until.is_some_and(|until| at < until) {
            return 0;
        }
        ((self.rate * AHEAD) as usize).min(AHEAD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::id::{ExecutionId, Fence, ItemId};

    use super::*;

    fn long_ago(held: &Held) -> Ahead {
        Ahead { since: now() - Duration::from_secs(1), done: held.settled(), ..Ahead::new() }
    }

    fn settled() -> Vec<ExecutionId> {
        (0..1_000).map(|number| ExecutionId { item: ItemId(number), fence: Fence(1) }).collect()
    }

    #[test]
    fn what_another_worker_does_lets_nobody_fetch_more() {
        let (mine, others) = (Held::default(), Held::default());
        let (mut ahead, mut far_ahead) = (long_ago(&mine), long_ago(&others));
        others.take_all(&settled());
        assert_eq!(ahead.count(&mine), 0);
        assert!(far_ahead.count(&others) > 0, "who is fast fetches ahead");
    }

    #[test]
    fn who_had_to_give_back_fetches_nothing_ahead_for_a_while() {
        let held = Held::default();
        let mut ahead = Ahead { returns: 1, ..long_ago(&held) };
        held.take_all(&settled());
        assert_eq!(ahead.count(&held), 0);
        ahead.rests_until = Some(now());
        assert!(ahead.count(&held) > 0);
    }
}
