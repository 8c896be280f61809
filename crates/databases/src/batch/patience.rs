//! How long a transaction that loses its races goes on.
//!
//! Whoever lost goes again after a pause. Pauses grow, because what many want at once is not free sooner for being asked for more
//! often; and they hold chance, or those who met once would meet again. Their sum is bounded and not the time that has passed: no
//! clock is asked, and what is drawn says how often it is tried. A database knows how to wait ([`Database::pause`]).

use std::time::Duration;

use tenure_core::draw::Draw;

use crate::Database;

/// About what a transaction of one's rival takes on a quick disk.
const FIRST: Duration = Duration::from_millis(1);
/// Longer than any transaction here should take; more would only be idle.
const LONGEST: Duration = Duration::from_millis(250);
/// A caller who has waited for so long should hear of it. Races that are met by accident are over after some milliseconds.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What is left of it, for one transaction and its further tries.
#[derive(Debug)]
pub(crate) struct Patience {
    paused: Duration,
    next: Duration,
}

impl Patience {
    pub fn new() -> Patience {
        Patience { paused: Duration::ZERO, next: FIRST }
    }

    /// Waits for the next try. False: it has run out, and nobody waited.
    pub async fn wait<D: Database>(&mut self, database: &D, draw: &mut Draw) -> bool {
        let Some(span) = self.span(draw) else { return false };
        database.pause(span).await;
        true
    }

    /// Half of the span at least, so that it is a pause, and up to the whole of it.
    fn span(&mut self, draw: &mut Draw) -> Option<Duration> {
        let half = u64::try_from(self.next.as_micros() / 2).unwrap_or(u64::MAX);
        let span = Duration::from_micros(half.saturating_add(draw.number() % half.max(1)));
        self.next = LONGEST.min(self.next.saturating_mul(2));
        self.paused = self.paused.saturating_add(span);
        (self.paused <= PATIENCE).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(seed: u64) -> Vec<Duration> {
        let (mut patience, mut draw) = (Patience::new(), Draw::new(seed));
        std::iter::from_fn(|| patience.span(&mut draw)).collect()
    }

    #[test]
    fn pauses_grow_up_to_a_bound_and_so_does_their_sum() {
        for seed in 0..100 {
            let spans = spans(seed);
            let sum: Duration = spans.iter().sum();
            assert!(sum <= PATIENCE && sum + LONGEST > PATIENCE, "{sum:?}");
            assert!(spans.iter().all(|span| (FIRST / 2..=LONGEST).contains(span)), "{spans:?}");
            assert!(spans.len() < 60, "a database is not asked without end: {}", spans.len());
            for (place, pair) in spans.windows(2).enumerate() {
                assert!(pair[1] >= pair[0] || place >= 7, "they grow while they are short: {spans:?}");
            }
        }
    }

    #[test]
    fn two_who_met_once_do_not_wait_alike() {
        assert_ne!(spans(1), spans(2));
        assert_eq!(spans(1), spans(1), "the same dice, the same pauses");
    }
}
