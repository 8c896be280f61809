//! The end of an engine: whoever holds leases in this process is told, has so long to finish, and gives back what is left.
//!
//! Every worker is told by a token that is a child of this one, the engine's own (schedules, webhooks) and the program's. The
//! engine has come to its end when the last of them has.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Giving back takes one write. A database that does not answer in this time is not waited for: the leases end by themselves.
pub(crate) const GIVE_BACK: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default)]
pub(crate) struct Closing(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    told: CancellationToken,
    grace: OnceLock<Duration>,
    /// How many workers have not ended.
    workers: watch::Sender<usize>,
}

/// A worker that has not ended. Dropped, it has.
#[derive(Debug)]
pub(crate) struct Working(Closing);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.0.workers.send_modify(|count| *count -= 1);
    }
}

impl Closing {
    pub fn working(&self) -> Working {
        self.0.workers.send_modify(|count| *count += 1);
        Working(self.clone())
    }

    /// Tells somebody to stop; others go on when it is cancelled by hand.
    pub fn stop(&self) -> CancellationToken {
        self.0.told.child_token()
    }

    pub fn is_told(&self) -> bool {
        self.0.told.is_cancelled()
    }

    pub async fn told(&self) {
        self.0.told.cancelled().await;
    }

    /// How long handlers may go on that would have so long otherwise.
    pub fn grace(&self, own: Duration) -> Duration {
        self.0.grace.get().map_or(own, |grace| own.min(*grace))
    }

    /// Told once: a second call waits as long as the first said.
    pub async fn close(&self, grace: Duration) {
        let grace = *self.0.grace.get_or_init(|| grace);
        self.0.told.cancel();
        let mut workers = self.0.workers.subscribe();
        let ended = workers.wait_for(|count| *count == 0);
        let _ = tokio::time::timeout(grace.saturating_add(GIVE_BACK), ended).await;
    }
}
