//! How long a lease is surely ours, as this process's own clock has it: a `LeaseTerm` and the time left of it.

use std::time::{Duration, Instant};

use tenure::LeaseTerm;
use tenure::core::execution::Remaining;

use super::desk::Lease;
use crate::time::Stopwatch;

#[derive(Clone, Copy, Debug)]
pub struct Hold(LeaseTerm);

impl Hold {
    /// A lease that was asked for at this moment. Its renewals ask for `length`.
    pub fn new(asked: Stopwatch, lease: &Lease, length: Duration) -> Hold {
        let remaining = Remaining {
            lease: Duration::from_millis(lease.lease_left_ms),
            window: lease.window_left_ms.map(Duration::from_millis),
        };
        Hold(LeaseTerm::new(asked.at(), remaining, length))
    }

    /// It was renewed, and this is when that was asked for.
    pub fn renewed(&mut self, asked: Stopwatch) {
        self.0.renewed(asked.at());
    }

    pub fn until_renewal(&self) -> Duration {
        until(self.0.renew_at())
    }

    pub fn until_end(&self) -> Duration {
        until(self.0.deadline())
    }

    pub fn is_over(&self) -> bool {
        self.until_end().is_zero()
    }

    /// Why it is over.
    pub fn reason(&self) -> &'static str {
        match self.0.is_window_over(Stopwatch::start().at()) {
            true => "its window has ended",
            false => "it could not be renewed in time",
        }
    }

    /// How long an answer to a renewal is waited for before it is asked again.
    pub fn patience(&self) -> Duration {
        self.0.retry_after()
    }
}

fn until(moment: Instant) -> Duration {
    moment.saturating_duration_since(Stopwatch::start().at())
}
