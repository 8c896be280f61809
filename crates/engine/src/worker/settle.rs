//! Settling: what handlers came to becomes commits, failures and releases, many in one call, each with its own answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::actor::Actor;
use tenure_core::answer::Answer;
use tenure_core::id::ExecutionId;
use tenure_core::request::{Command, Commit, Effects, Fail, REASON_BYTES_MAX, Release, Request};
use tenure_core::word::Store;
use tenure_databases::wait::caught;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::held::{Held, Lease};
use super::outcome::{After, Done, Failure, How};
use super::runner::{AWAY, Asker};
use crate::bell::Bells;
use crate::kept::Kept;
use crate::offers::Offers;
use crate::time::pause;

/// Outcomes that are settled in one call.
const SETTLE_MAX: usize = 500;

/// What a handler came to.
pub(super) struct Ended {
    pub execution: ExecutionId,
    pub store: Store,
    pub result: Result<Result<Done, Failure>, String>,
}

pub(super) struct Settler {
    pub asker: Asker,
    pub bells: Arc<Bells>,
    pub held: Held,
    pub kept: Kept,
    pub offers: Offers,
    pub outside: Handle,
}

impl Settler {
    pub async fn run(self, mut results: mpsc::UnboundedReceiver<Ended>) {
        let shared = Arc::new(self);
        let mut batches = JoinSet::new();
        loop {
            let mut some = Vec::with_capacity(SETTLE_MAX);
            if results.recv_many(&mut some, SETTLE_MAX).await == 0 {
                return;
            }
            // The next ones are collected while these are written.
            let executions: Vec<ExecutionId> = some.iter().map(|ended| ended.execution).collect();
            let settler = shared.clone();
            batches.spawn(async move {
                if let Err(panic) = caught(settler.clone().settle(some)).await {
                    settler.abandon(&executions, &panic);
                }
            });
            while batches.try_join_next().is_some() {}
        }
    }

    /// What can not be written is held no more: the ends of these leases will do it, and their places are free.
    fn abandon(&self, executions: &[ExecutionId], why: &str) {
        self.asker.counters.failed_turn(&format!("an outcome can not be written: {why}"));
        executions.iter().for_each(|execution| drop(self.held.take(*execution)));
    }

    async fn settle(self: Arc<Settler>, mut some: Vec<Ended>) {
        // Of a lease that was lost nothing more is written, also when its handler came to an end just then.
        some.retain(|ended| self.held.has(ended.execution));
        let mut requests = Vec::with_capacity(some.len());
        let mut after: HashMap<ExecutionId, After> = HashMap::new();
        // What a handler said is written before the end, in the same transaction.
        let mut said: Vec<Request> = Vec::new();
        for ended in &mut some {
            let of = |lease: &mut Lease| lease.said.request(ended.execution, &ended.store, &self.asker.actor);
            said.extend(self.held.with(ended.execution, of).flatten());
            requests.push(self.request(ended, &mut after));
        }
        let mut waiting: Vec<(ExecutionId, Request)> =
            some.iter().map(|ended| ended.execution).zip(requests).collect();
        while !waiting.is_empty() {
            let ends = waiting.iter().map(|(_, request)| request.clone());
            let asked: Vec<Request> = said.iter().cloned().chain(ends).collect();
            let replies = self.asker.gather.ask_all(asked).await.split_off(said.len());
            let (mut again, mut ended) = (Vec::new(), Vec::new());
            for ((execution, request), reply) in waiting.into_iter().zip(replies) {
                match reply {
                    Ok(reply) => {
                        // Where that can not be read the lease's end will do it, with all that goes with it.
                        match self.offers.again(&self.kept, &request, &reply).await {
                            Ok(Some(more)) => {
                                again.push((execution, more));
                                continue;
                            }
                            Ok(None) => {}
                            Err(why) => self.asker.counters.failed_turn(&why.to_string()),
                        }
                        self.bells.heard(&request, &reply);
                        self.asker.counters.failures(&request, &reply);
                        match self.settled(execution, &request, &reply.answer, &mut after) {
                            Some(instead) => again.push((execution, instead)),
                            None => ended.push(execution),
                        }
                    }
                    Err(_) if !self.held.has(execution) => {}
                    // The lease's end decides how long that goes on: who has lost it is not held any more.
                    Err(error) if error.is_retryable() => again.push((execution, request)),
                    // Not even that it failed can be written. Renewed for ever it would be nobody's for ever.
                    Err(error) if !matches!(request.command, Command::Commit(_)) => {
                        self.abandon(&[execution], &error.to_string());
                    }
                    Err(error) => {
                        let failure = Failure::retry(error.to_string());
                        again.push((execution, fail(execution, &request.store, &self.asker.actor, failure)));
                    }
                }
            }
            self.held.take_all(&ended);
            waiting = again;
            if !waiting.is_empty() {
                pause(AWAY).await;
            }
        }
    }

    fn request(&self, ended: &mut Ended, after: &mut HashMap<ExecutionId, After>) -> Request {
        let (execution, store, actor) = (ended.execution, &ended.store, &self.asker.actor);
        let result = std::mem::replace(&mut ended.result, Ok(Err(Failure::retry(""))));
        match result {
            Ok(Ok(done)) => {
                after.extend(done.after.map(|after| (execution, after)));
                let commit = Commit {
                    execution,
                    output: done.output,
                    effects: done.effects,
                    finish: true,
                    session: None,
                    attests: done.attests,
                };
                Request { store: store.clone(), actor: actor.clone(), command: Command::Commit(commit) }
            }
            Ok(Err(failure)) => match failure.how {
                How::Snooze(delay) => release(execution, store, actor, &failure.reason, Some(delay)),
                How::Return => release(execution, store, actor, &failure.reason, None),
                How::Retry(_) | How::Permanent => fail(execution, store, actor, failure),
            },
            Err(panic) => {
                self.asker.counters.one_panicked();
                fail(execution, store, actor, Failure::retry(format!("the handler panicked: {panic}")))
            }
        }
    }

    /// Some: this is to be asked instead.
    fn settled(
        &self,
        execution: ExecutionId,
        request: &Request,
        answer: &Answer,
        after: &mut HashMap<ExecutionId, After>,
    ) -> Option<Request> {
        let counters = &self.asker.counters;
        counters.refused().heard(request, answer);
        match (&request.command, answer) {
            (Command::Commit(_), Answer::Ran(_)) => {
                counters.one_committed();
                if let Some(after) = after.remove(&execution) {
                    // Called there, too: a panic of the program's own is not one of ours.
                    self.outside.spawn(async move { after().await });
                }
            }
            (Command::Release(_), Answer::Ran(_)) => counters.one_released(),
            (_, Answer::Ran(_)) => {}
            // Somebody else was faster: this one's lease was lost to them, and what it did is thrown away.
            (Command::Commit(_), Answer::AlreadyCommitted(_)) => counters.one_stale_write(),
            (_, Answer::AlreadyCommitted(_)) => {}
            (_, Answer::LeaseLost(_)) => counters.one_stale_write(),
            // What it wants to commit can not be: that is the handler's mistake, and the next attempt makes it again.
            (Command::Commit(_), no) => {
                let failure = Failure::permanent(format!("the commit was refused: {no:?}"));
                return Some(fail(execution, &request.store, &self.asker.actor, failure));
            }
            // Where the lifecycle knows no such thing the lease's end will do it.
            _ => {}
        }
        None
    }
}

fn fail(execution: ExecutionId, store: &Store, actor: &Actor, failure: Failure) -> Request {
    let mut reason = failure.reason;
    if reason.len() > REASON_BYTES_MAX {
        let cut = (0..=REASON_BYTES_MAX).rev().find(|end| reason.is_char_boundary(*end)).unwrap_or(0);
        reason.truncate(cut);
    }
    let (permanent, retry_after) = match failure.how {
        How::Retry(after) => (false, after),
        How::Return => (false, None),
        How::Permanent => (true, None),
        How::Snooze(delay) => (false, Some(delay)),
    };
    let fail = Fail { execution, reason, permanent, retry_after, offers: Effects::default() };
    Request { store: store.clone(), actor: actor.clone(), command: Command::Fail(fail) }
}

pub(super) fn release(
    execution: ExecutionId,
    store: &Store,
    actor: &Actor,
    reason: &str,
    delay: Option<Duration>,
) -> Request {
    let release = Release { execution, reason: Some(reason.to_string()), delay, attests: Vec::new() };
    Request { store: store.clone(), actor: actor.clone(), command: Command::Release(release) }
}
