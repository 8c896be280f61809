//! How long a lease is surely ours. It counts from the moment it was *asked* for, by this process's own clock: no clock is
//! compared with another, and a tenth of it is left unused, so that the command is dead before somebody else may begin.

use std::time::Duration;

use tenure::{LEASE_MARGIN, LEASE_RENEWAL};

use crate::time::Stopwatch;

#[derive(Clone, Copy, Debug)]
pub struct Hold {
    asked: Stopwatch,
    length: Duration,
}

impl Hold {
    pub fn new(asked: Stopwatch, length: Duration) -> Hold {
        Hold { asked, length }
    }

    /// It was renewed, and this is when that was asked for.
    pub fn renewed(&mut self, asked: Stopwatch) {
        self.asked = asked;
    }

    pub fn until_renewal(&self) -> Duration {
        (self.length / LEASE_RENEWAL).saturating_sub(self.asked.elapsed())
    }

    pub fn until_end(&self) -> Duration {
        (self.length - self.length / LEASE_MARGIN).saturating_sub(self.asked.elapsed())
    }

    pub fn is_over(&self) -> bool {
        self.until_end().is_zero()
    }

    /// How long an answer to a renewal is waited for before it is asked again.
    pub fn patience(&self) -> Duration {
        self.length / 6
    }
}
