//! Numbers for whoever watches: counted up by many at once, never down, and read without stopping anybody.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How often a value was at most so large.
#[derive(Debug)]
pub struct Histogram {
    /// Growing; what is above the last has a place of its own.
    bounds: &'static [u64],
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

/// What a histogram has seen so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Up to each bound, and how many there were up to it, those of the bounds below included.
    pub up_to: Vec<(u64, u64)>,
    pub count: u64,
    pub sum: u64,
}

impl Histogram {
    pub fn new(bounds: &'static [u64]) -> Histogram {
        Histogram {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    pub fn add(&self, value: u64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub fn seen(&self) -> Seen {
        let mut count = 0;
        let mut counted = self.counts.iter().map(|one| {
            count += one.load(Ordering::Relaxed);
            count
        });
        let up_to: Vec<(u64, u64)> = self.bounds.iter().copied().zip(&mut counted).collect();
        let all = counted.next();
        Seen { count: all.unwrap_or(0), up_to, sum: self.sum.load(Ordering::Relaxed) }
    }
}

/// How long something takes on this machine's own clock, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Since(Instant);

impl Since {
    #[expect(clippy::disallowed_methods, reason = "what is measured is this machine's own time")]
    pub fn now() -> Since {
        Since(Instant::now())
    }

    pub fn at(self) -> Instant {
        self.0
    }

    pub fn micros(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_its_bound_and_every_one_above() {
        let histogram = Histogram::new(&[10, 100]);
        for value in [0, 10, 11, 100, 101, 5_000] {
            histogram.add(value);
        }
        assert_eq!(histogram.seen(), Seen { up_to: vec![(10, 2), (100, 4)], count: 6, sum: 5_222 });
    }
}
