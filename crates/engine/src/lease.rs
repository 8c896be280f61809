//! Leases for workers elsewhere: asked for by a server, waited for as long as the worker likes.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::request::{Acquire, Command};
use tenure_databases::batch::Reply;
use tokio::time::timeout;

use crate::bell::any;
use crate::error::Error;
use crate::tenure::Tenure;
use crate::time::now;

/// How soon somebody who waits for work looks again by itself, and how late at most. A bell rings sooner where it can.
const LOOK_MIN: Duration = Duration::from_millis(50);
const LOOK_MAX: Duration = Duration::from_secs(1);

impl Tenure {
    /// Leases what is next of these kinds. Where there is nothing it waits for work, at most so long; then the answer is empty.
    pub async fn lease(&self, acquire: Acquire, patience: Duration) -> Result<Reply, Error> {
        let began = now();
        let mut bells: Vec<_> = acquire.kinds.iter().map(|kind| self.inner.bells.listen(kind)).collect();
        let mut look = LOOK_MIN;
        loop {
            bells.iter_mut().for_each(|bell| bell.mark_unchanged());
            let reply = self.ask(Command::Acquire(acquire.clone())).await?;
            self.inner.counters.one_acquire();
            if let Answer::Leased(leases) = &reply.answer {
                self.inner.counters.leases(leases.len());
            }
            let left = patience.saturating_sub(now().duration_since(began));
            let is_empty = matches!(&reply.answer, Answer::Leased(leases) if leases.is_empty());
            if !is_empty || left.is_zero() {
                return Ok(reply);
            }
            match timeout(look.min(left), any(&mut bells)).await {
                Ok(()) => look = LOOK_MIN,
                Err(_) => look = (look * 2).min(LOOK_MAX),
            }
        }
    }

    /// What only this database knows. It signs what servers hand out.
    pub async fn secret(&self) -> Result<String, Error> {
        let kept = self.inner.kept.clone();
        self.beside(async move { kept.secret().await }).await
    }
}
