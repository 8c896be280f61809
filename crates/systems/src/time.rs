//! This process's own time: how long somebody is waited for. Leases are judged by the database's clock.

use std::time::{Duration, Instant};

use tokio::time::error::Elapsed;

/// Waits no longer than this.
pub(crate) async fn within<T>(limit: Duration, what: impl Future<Output = T>) -> Result<T, Elapsed> {
    tokio::time::timeout(limit, what).await
}

/// Waits no longer than until this moment.
pub(crate) async fn until<T>(moment: Instant, what: impl Future<Output = T>) -> Result<T, Elapsed> {
    tokio::time::timeout_at(moment.into(), what).await
}

#[expect(clippy::disallowed_methods, reason = "loops, and what may be better in a moment, wait here")]
pub(crate) async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}

/// How long something takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "what something took is measured here")]
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
