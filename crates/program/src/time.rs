//! The program's own time: a stopwatch for what is measured, and pauses for what is paced. No decision depends on it: leases
//! are judged by the database's clock.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "measuring time is what it is for")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub fn at(self) -> Instant {
        self.0
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// For a process that has nothing else to do meanwhile.
#[expect(clippy::disallowed_methods, reason = "a process without a runtime waits here")]
pub fn block(duration: Duration) {
    std::thread::sleep(duration);
}

#[expect(clippy::disallowed_methods, reason = "load is paced, and faults come at their time")]
pub async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
