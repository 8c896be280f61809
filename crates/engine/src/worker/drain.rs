//! The end of a worker: handlers go on for the grace, the rest is given back, and no database is waited for longer than that.

use tenure_core::actor::{Actor, Role};
use tenure_core::answer::{Answer, Granted};
use tenure_core::id::ExecutionId;
use tenure_core::request::{Command, Due, Effects, Request, Sweep};
use tenure_core::word::Store;

use super::held::{Held, Lease};
use super::runner::{Asked, Asker, Runner};
use super::settle::release;
use crate::closing::GIVE_BACK;

/// What is said of what was held when a worker ended.
const WHY: &str = "its worker shut down";

/// Until nothing is held any more.
pub(super) async fn emptied(held: &Held) {
    loop {
        let mut changed = std::pin::pin!(held.changed().notified());
        changed.as_mut().enable();
        if held.len() == 0 {
            return;
        }
        changed.await;
    }
}

impl Runner {
    /// No new leases; handlers go on until the grace is over, then are stopped and their items given back.
    pub(super) async fn wind_up(
        &self,
        asker: &Asker,
        held: &Held,
        mut asked: Asked,
        over: impl Future<Output = ()>,
    ) {
        // What has not begun need not wait for what has: somebody else may have it now.
        let waiting = held.take_waiting();
        let mut early = std::pin::pin!(async {
            self.give_back(asker, waiting).await;
            // What was asked for before the stop is held when the answer comes.
            while !asked.is_empty() {
                if let (_, Ok((leases, _))) = asked.answered().await {
                    self.give_back_late(asker, leases).await;
                }
            }
        });
        let mut has_given_early = false;
        let ended = async {
            early.as_mut().await;
            has_given_early = true;
            emptied(held).await;
        };
        tokio::select! {
            () = ended => return,
            () = over => {}
        }
        let left = held.all().into_iter().filter_map(|execution| Some((execution, held.take(execution)?)));
        let last = async {
            let late = async {
                if !has_given_early {
                    early.await;
                }
            };
            tokio::join!(late, self.give_back(asker, left.collect()));
        };
        let _ = tokio::time::timeout(GIVE_BACK, last).await;
    }

    /// Gives back what is held no more, told or not.
    async fn give_back(&self, asker: &Asker, leases: Vec<(ExecutionId, Lease)>) {
        let mut left = Vec::new();
        for (execution, lease) in leases {
            lease.token.cancel();
            lease.handler.iter().for_each(|handler| handler.abort());
            left.extend(lease.said.request(execution, &lease.store, &self.actor));
            left.push(release(execution, &lease.store, &self.actor, WHY, None));
        }
        self.let_all_go(asker, left).await;
    }

    /// Gives back what nobody was handed.
    async fn give_back_late(&self, asker: &Asker, leases: Vec<Granted>) {
        self.parts.counters.leases(leases.len());
        let back = |granted: Granted| release(granted.execution, &granted.item.store, &self.actor, WHY, None);
        self.let_all_go(asker, leases.into_iter().map(back).collect()).await;
    }

    async fn let_all_go(&self, asker: &Asker, left: Vec<Request>) {
        if left.is_empty() {
            return;
        }
        let unreleased = self.let_go(asker, left).await;
        if !unreleased.is_empty() {
            self.let_go(asker, unreleased).await;
        }
    }

    /// Gives items back. What can not be given back because its table has no `release` is to be ended by its recovery row.
    async fn let_go(&self, asker: &Asker, left: Vec<Request>) -> Vec<Request> {
        let mut unreleased = Vec::new();
        let replies = asker.gather.ask_all(left.clone()).await;
        for (request, reply) in left.iter().zip(replies) {
            // What can not be given back now is taken back when its lease ends.
            let Ok(reply) = reply else { continue };
            self.parts.bells.heard(request, &reply);
            asker.counters.failures(request, &reply);
            asker.counters.refused().heard(request, &reply.answer);
            match (&request.command, &reply.answer) {
                (Command::Release(_), _) if reply.fresh => asker.counters.one_released(),
                (Command::Release(release), Answer::Refused(_) | Answer::Forbidden { .. }) => {
                    unreleased.push(self.give_up(release.execution, &request.store));
                }
                (Command::Sweep(_), _) if reply.fresh => asker.counters.one_given_up(),
                _ => {}
            }
        }
        unreleased
    }

    fn give_up(&self, execution: ExecutionId, store: &Store) -> Request {
        let ExecutionId { item, fence } = execution;
        let sweep = Sweep { item, fence, due: Due::GivenUp, offers: Effects::default() };
        let node = self.actor.incarnation.clone().unwrap_or_else(|| self.actor.id.clone());
        let actor = Actor::new(Role::System, node);
        Request { store: store.clone(), actor, command: Command::Sweep(sweep) }
    }
}
