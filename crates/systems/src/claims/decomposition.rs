//! DecomposeClaim: all TruthBits of a claim and the move to `decomposed` in one commit, or `failed` with the reason.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure::LeaseTerm;
use tenure::core::answer::Answer;
use tenure::core::execution::Execution;
use tenure::core::id::{ExecutionId, ItemId, RecordId};
use tenure::core::lifecycle::event::Event;
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Command, Commit, Effects, Fail, NewRecord, REASON_BYTES_MAX, Renew, Start};
use tenure::core::word::Key;
use tenure::databases::Whole;

use super::decompose::{NotDecomposed, Part, Statement};
use super::guarded::Guarded;
use super::kept::{self, CLAIM, ClaimPayload, Decomposed, TRUTHBIT, TruthBitBody};
use super::{Claims, Error};
use crate::time::{Stopwatch, until};

/// Who says more in one claim says several. The kernel writes twice as much in one commit.
pub const TRUTHBITS_MAX: usize = 500;

impl Claims {
    /// Runs the domain's decomposer under a lease that whoever asks here holds, and ends it. Repeated it answers the same.
    pub async fn decompose(
        &self,
        execution: ExecutionId,
        guarded: &Guarded,
        policy: &str,
    ) -> Result<Decomposed, Error> {
        self.item(CLAIM, execution.item).await?;
        let claim = self.tenure.whole(execution.item).await?;
        if let Some(ended) = claim.executions.iter().find(|one| one.id == execution) {
            return self.repeated(&claim, ended);
        }
        ran(self.tenure.ask(Command::Start(Start { execution })).await?.answer)?;
        let parts = match statement(kept::read(claim.payload.as_ref())) {
            Ok(statement) => self.decompose_held(execution, &claim, guarded, statement).await?,
            Err(reason) => Err(reason),
        };
        let records = parts.and_then(|parts| records(parts, policy));
        let command = match &records {
            Ok(records) => Command::Commit(commit(execution, records.clone())),
            Err(reason) => {
                let (reason, offers) = (shortened(reason), Effects::default());
                Command::Fail(Fail { execution, reason, permanent: true, retry_after: None, offers })
            }
        };
        let ended = ran(self.tenure.ask(command).await?.answer)?;
        let outcome = records.map(|records| {
            records.iter().map(|record| kept::truthbit_id(execution.item, &record.name)).collect()
        });
        answered(execution.item, &ended, outcome.map_err(|reason| shortened(&reason)))
    }

    /// The decomposer's answer, with the lease renewed for as long as it takes.
    async fn decompose_held(
        &self,
        execution: ExecutionId,
        claim: &Whole,
        guarded: &Guarded,
        statement: Statement,
    ) -> Result<Result<Vec<Part>, String>, Error> {
        let lease = claim.item.lease.as_ref();
        // As long as it was granted, or renewed, for the last time.
        let length = lease.map_or(Duration::ZERO, |lease| lease.expires.since(lease.heartbeat));
        let over =
            || Error::lease_lost(format!("the lease or the window of execution {execution} has ended"));
        let mut decomposing = std::pin::pin!(guarded.decompose(statement));
        // A quick decomposer answers before the first renewal. That one says how long the window is.
        let mut renew_at = Stopwatch::start().at();
        let mut deadline = None;
        loop {
            if let Ok(parts) = until(renew_at, &mut decomposing).await {
                return Ok(parts.map_err(|NotDecomposed(reason)| reason));
            }
            let renewing = self.renew(execution, length);
            let term = match deadline {
                None => renewing.await?,
                Some(deadline) if deadline <= Stopwatch::start().at() => return Err(over()),
                Some(deadline) => until(deadline, renewing).await.map_err(|_| over())??,
            };
            (renew_at, deadline) = (term.renew_at().min(term.deadline()), Some(term.deadline()));
        }
    }

    /// Renews the lease. The answer says what is left of it and of its window.
    async fn renew(&self, execution: ExecutionId, length: Duration) -> Result<LeaseTerm, Error> {
        let asked = Stopwatch::start();
        let renew = Renew { execution, lease: Some(length) };
        match self.tenure.ask(Command::Renew(renew)).await?.answer {
            Answer::Renewed { remaining, .. } => Ok(LeaseTerm::new(asked.at(), remaining, length)),
            refused => Err(Error::refused(refused)),
        }
    }

    /// What this execution came to before.
    fn repeated(&self, claim: &Whole, ended: &Execution) -> Result<Decomposed, Error> {
        if !self.tenure.actor().is(&ended.owner) {
            return Err(Error::lease_lost(format!("execution {} was another's", ended.id)));
        }
        let outcome = match &ended.ended {
            _ if ended.committed.is_some() => {
                Ok(kept::truthbits(claim).into_iter().map(|truthbit| truthbit.id).collect())
            }
            Some(end) if end.cause == Event::Fail => Err(end.reason.clone().unwrap_or_default()),
            _ => return Err(Error::lease_lost(format!("execution {} has ended", ended.id))),
        };
        answered(claim.item.id, ended, outcome)
    }
}

fn answered(
    claim_id: ItemId,
    ended: &Execution,
    outcome: Result<Vec<RecordId>, String>,
) -> Result<Decomposed, Error> {
    match &ended.ended {
        Some(end) => Ok(Decomposed { claim_id, completed_at: end.mark.at, outcome }),
        None => Err(Error::lease_lost(format!("execution {} has not ended", ended.id))),
    }
}

fn ran(answer: Answer) -> Result<Arc<Execution>, Error> {
    match answer {
        Answer::Ran(execution) => Ok(execution),
        no => Err(Error::refused(no)),
    }
}

fn commit(execution: ExecutionId, records: Vec<NewRecord>) -> Commit {
    let effects = Effects { records, ..Effects::default() };
    Commit {
        execution,
        output: None,
        effects,
        finish: true,
        session: None,
        attests: vec![Guard::Decomposition],
    }
}

/// What is to be taken apart.
pub(super) fn statement(payload: Option<ClaimPayload>) -> Result<Statement, String> {
    let ClaimPayload { domain, text, .. } = payload.ok_or("the claim's text was erased")?;
    Ok(Statement { domain, text })
}

/// The parts as they are kept, all of them or none. They are somebody's answer: every one is looked at.
pub(super) fn bodies(parts: Vec<Part>, policy: &str) -> Result<Vec<(String, TruthBitBody)>, String> {
    if parts.is_empty() {
        return Err("the decomposer found nothing that can be checked".to_string());
    }
    if parts.len() > TRUTHBITS_MAX {
        return Err(format!("{} TruthBits, and a claim has at most {TRUTHBITS_MAX}", parts.len()));
    }
    let mut keys = BTreeSet::new();
    let mut made = Vec::with_capacity(parts.len());
    for (place, part) in parts.into_iter().enumerate() {
        let Part { key, statement, expected_type } = part;
        key.parse::<Key>().map_err(|not| format!("the key {key:?} is {not}"))?;
        if !keys.insert(key.clone()) {
            return Err(format!("the key {key:?} is there twice"));
        }
        if statement.trim().is_empty() || expected_type.trim().is_empty() {
            return Err(format!("the TruthBit {key:?} says nothing, or not what is expected"));
        }
        made.push((key, TruthBitBody { place, statement, expected_type, policy: policy.to_string() }));
    }
    Ok(made)
}

fn records(parts: Vec<Part>, policy: &str) -> Result<Vec<NewRecord>, String> {
    let record = |(key, body): (String, TruthBitBody)| {
        let name: Key = key.parse().map_err(|not| format!("the key {key:?} is {not}"))?;
        let body = kept::body(&body).map_err(|why| why.to_string())?;
        Ok(NewRecord { label: kept::label(TRUTHBIT), name, body })
    };
    bodies(parts, policy)?.into_iter().map(record).collect()
}

/// As much of a reason as is kept.
pub(super) fn shortened(reason: &str) -> String {
    let end = (0..=REASON_BYTES_MAX.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    reason[..end.unwrap_or(0)].to_string()
}
