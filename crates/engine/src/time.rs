//! This process's own time: pauses between turns, and the moment a lease must be given up. Leases themselves are judged by the
//! database's clock.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "the engine's clock for its own pauses")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the engine's loops wait here")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
