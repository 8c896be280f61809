//! How much is leased ahead: what a worker does in a short while, so that a short command does not wait for the way to the service
//! and back. Of long commands nothing: an item that waits here is kept from others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// As long as an item that was leased ahead waits for its turn, about.
const AHEAD: Duration = Duration::from_millis(50);
const AHEAD_MAX: usize = 100;

/// How long the commands of a worker take. Nothing is known at first.
#[derive(Debug, Default)]
pub struct Pace {
    /// In microseconds, the last counting as much as all before it. 0: none has ended.
    mean: AtomicU64,
}

impl Pace {
    pub fn took(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let mean = self.mean.load(Ordering::Relaxed);
        self.mean.store(if mean == 0 { took } else { mean / 2 + took / 2 }.max(1), Ordering::Relaxed);
    }

    /// So many more than run at a time.
    pub fn ahead(&self, at_a_time: usize) -> usize {
        match self.mean.load(Ordering::Relaxed) {
            0 => 0,
            mean => (AHEAD.as_micros() as usize * at_a_time / mean as usize).min(AHEAD_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_of_short_commands_some_are_leased_ahead() {
        let pace = Pace::default();
        assert_eq!(pace.ahead(8), 0, "nothing is known yet");
        pace.took(Duration::from_millis(1));
        assert_eq!((pace.ahead(1), pace.ahead(8)), (50, AHEAD_MAX));
        pace.took(Duration::from_secs(60));
        assert_eq!(pace.ahead(8), 0, "one long one is enough");
        (0..30).for_each(|_| pace.took(Duration::from_millis(5)));
        assert_eq!(pace.ahead(2), 20);
    }
}
