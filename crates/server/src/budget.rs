//! Bytes that are buffered for peers: shares of a budget, given back when they are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of bytes that may be buffered at once.
#[derive(Debug)]
pub struct Budget {
    bytes_max: usize,
    used: AtomicUsize,
}

/// Bytes of a budget that are in use.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub fn new(bytes_max: usize) -> Arc<Budget> {
        Arc::new(Budget { bytes_max, used: AtomicUsize::new(0) })
    }

    /// Returns `None` if fewer bytes are free.
    pub fn take(self: &Arc<Budget>, bytes: usize) -> Option<Share> {
        self.take_where(bytes, |used| used + bytes <= self.bytes_max)
    }

    /// As [`Budget::take`], but an unused budget gives one share of any size.
    pub fn take_one(self: &Arc<Budget>, bytes: usize) -> Option<Share> {
        self.take_where(bytes, |used| used == 0 || used + bytes <= self.bytes_max)
    }

    fn take_where(self: &Arc<Budget>, bytes: usize, fits: impl Fn(usize) -> bool) -> Option<Share> {
        let taken = self
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| fits(used).then_some(used + bytes));
        taken.ok().map(|_| Share { budget: self.clone(), bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_exceed_the_budget_unless_there_is_one_alone() {
        let budget = Budget::new(10);
        let six = budget.take(6).unwrap();
        assert!(budget.take(5).is_none() && budget.take_one(5).is_none());
        let four = budget.take_one(4).unwrap();
        drop(six);
        assert!(budget.take(7).is_none());
        drop(four);
        assert!(budget.take(11).is_none());
        let eleven = budget.take_one(11).unwrap();
        assert!(budget.take(0).is_none());
        drop(eleven);
        assert!(budget.take(10).is_some());
    }
}
