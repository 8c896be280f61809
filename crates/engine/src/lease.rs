//! Leases for workers elsewhere: asked for by a server, waited for as long as the worker likes.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::request::{Acquire, Command};
use tenure_databases::batch::Reply;
use tenure_databases::gather::Standing;
use tenure_databases::measure::Since;
use tokio::sync::watch;

use crate::asked::Asked;
use crate::bell::any;
use crate::error::Error;
use crate::tenure::Tenure;
use crate::time::{now, pause};

/// How soon somebody who waits for work looks again by itself, and how late at most. A bell rings sooner where it can.
const LOOK_MIN: Duration = Duration::from_millis(50);
const LOOK_MAX: Duration = Duration::from_secs(1);
/// When more than so many wait for the same, each looks more seldom: there is always one who looks soon.
const LOOKERS: usize = 20;

/// The answer to a request for leases that may have waited.
#[derive(Debug)]
pub struct Leasing {
    pub reply: Reply,
    /// How long the wait had lasted when the leases were granted, or a little less: what remains of them begins only then.
    pub waited: Duration,
}

/// How a wait for work ended.
pub(crate) enum Waited {
    /// A batch that made work has taken it along. It began then.
    Answered(Result<Reply, tenure_databases::Error>, Since),
    /// There may be work.
    Rung,
    Over,
}

/// Waits where work is made, if a limit does not forbid it anyway, and for a bell, until the wait is over. What a batch has
/// taken in by then is waited for: a lease that nobody heard of would be kept from everybody.
pub(crate) async fn wait_for_work(
    mut standing: Option<Standing>,
    bells: &mut [watch::Receiver<u64>],
    over: impl Future<Output = ()>,
) -> Waited {
    let answered = async {
        match &mut standing {
            Some(standing) => standing.answered().await,
            None => std::future::pending().await,
        }
    };
    let waited = tokio::select! {
        (reply, began) = answered => return Waited::Answered(reply, began),
        () = any(bells) => Waited::Rung,
        () = over => Waited::Over,
    };
    match standing.as_mut().filter(|standing| !standing.withdraw()) {
        Some(taken) => {
            let (reply, began) = taken.answered().await;
            Waited::Answered(reply, began)
        }
        None => waited,
    }
}

impl Tenure {
    /// Leases what is next of these kinds. Where there is nothing it waits for work, at most so long; then the answer is empty.
    pub fn lease(&self, acquire: Acquire, patience: Duration) -> Asked<'_, Result<Reply, Error>> {
        Box::pin(async move { Ok(self.lease_until(acquire, patience, std::future::pending()).await?.reply) })
    }

    /// The same, waiting no longer than until something has happened. To drop it while it waits is no way to end it: a lease that was
    /// given at that moment nobody would hear of.
    pub fn lease_until<'a>(
        &'a self,
        acquire: Acquire,
        patience: Duration,
        ended: impl Future<Output = ()> + Send + 'a,
    ) -> Asked<'a, Result<Leasing, Error>> {
        Box::pin(async move {
            let (mut ended, mut is_over) = (std::pin::pin!(ended), false);
            let began = now();
            let mut bells: Vec<_> = acquire.kinds.iter().map(|kind| self.inner.bells.listen(kind)).collect();
            let share = || {
                let lookers = self.inner.bells.listeners(&acquire.kinds).div_ceil(LOOKERS).max(1);
                u32::try_from(lookers).unwrap_or(u32::MAX)
            };
            let mut look = LOOK_MIN * share();
            loop {
                bells.iter_mut().for_each(|bell| bell.mark_unchanged());
                self.inner.counters.one_acquire();
                let waited = now().duration_since(began);
                let reply = self.ask(Command::Acquire(acquire.clone())).await?;
                let left = patience.saturating_sub(now().duration_since(began));
                if is_answer(&reply) || left.is_zero() {
                    return Ok(Leasing { reply, waited });
                }
                let again = self.request(Command::Acquire(acquire.clone()));
                let standing = match reply.held_back {
                    None => Some(self.inner.gather.stand(again.clone())?),
                    Some(_) => None,
                };
                let over = async {
                    tokio::select! {
                        () = pause(look.min(left)) => {}
                        () = &mut ended => is_over = true,
                    }
                };
                match wait_for_work(standing, &mut bells, over).await {
                    Waited::Answered(reply, batch) => {
                        let reply = reply?;
                        self.inner.counters.heard(&again, &reply);
                        if is_answer(&reply) || is_over {
                            let waited = batch.at().saturating_duration_since(began);
                            return Ok(Leasing { reply, waited });
                        }
                    }
                    Waited::Rung => look = LOOK_MIN * share(),
                    Waited::Over if is_over => return Ok(Leasing { reply, waited }),
                    Waited::Over => look = (look * 2).min(LOOK_MAX * share()),
                }
            }
        })
    }

    /// What only this database knows. It signs what servers hand out.
    pub async fn secret(&self) -> Result<String, Error> {
        let kept = self.inner.kept.clone();
        self.beside(async move { kept.secret().await }).await
    }
}

/// Whether an acquire got anything, or a no: both are an answer.
fn is_answer(reply: &Reply) -> bool {
    !matches!(&reply.answer, Answer::Leased(leases) if leases.is_empty())
}
