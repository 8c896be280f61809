//! Reading the log as it grows: a page at a time, waited for where there is none yet.

use std::time::Duration;

use tenure_core::entry::Sealed;
use tokio::time::timeout;

use crate::error::Error;
use crate::tenure::Tenure;
use crate::time::{now, pause};

/// Another process may write: nobody rings for that, so it is looked for this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What comes in quick succession is read together: a reader costs the writers no more than so many looks a second.
const GATHER: Duration = Duration::from_millis(20);

impl Tenure {
    /// As [`Tenure::log`]; where the log has not grown past the position it waits until it has, at most so long. Then it is
    /// empty.
    pub async fn log_or_wait(
        &self,
        after: u64,
        limit: usize,
        patience: Duration,
    ) -> Result<Vec<(u64, Sealed)>, Error> {
        let began = now();
        let mut bell = self.inner.bells.reading();
        loop {
            bell.mark_unchanged();
            let page = self.log(after, limit).await?;
            let left = patience.saturating_sub(now().duration_since(began));
            if !page.is_empty() || left.is_zero() {
                return Ok(page);
            }
            if timeout(LOOK_EVERY.min(left), bell.changed()).await.is_ok() {
                pause(GATHER.min(left)).await;
            }
        }
    }
}
