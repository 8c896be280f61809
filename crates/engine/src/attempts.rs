//! Every attempt at an item, ended and live, with its reason and its last lines; and who holds what.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::actor::Owner;
use tenure_core::execution::Execution;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::Item;
use tenure_core::lifecycle::Phase;
use tenure_core::time::Time;
use tenure_core::word::Kind;
use tenure_core::world::Record;
use tenure_databases::{PAGE_MAX, Query};

use crate::error::Error;
use crate::tenure::Tenure;
use crate::worker::Lines;

/// One attempt. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Attempt {
    pub exec_id: String,
    pub job_id: ItemId,
    /// Grows with every attempt and is never used twice.
    pub attempt: u64,
    pub lease_owner: String,
    pub lease_expires_at: Time,
    /// LEASED, IN_PROGRESS, COMMITTED, DONE or ABORTED.
    pub status: &'static str,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
    /// What ended it: `commit`, `finish`, `fail`, `release`, `expire`…
    pub ended_by: Option<String>,
    pub reason: Option<String>,
    /// The last lines that its handler left.
    #[serde(flatten)]
    pub log: Lines,
}

impl Attempt {
    /// Without the lines that its handler left.
    pub fn brief(execution: &Execution) -> Attempt {
        Attempt::of(execution, &[])
    }

    fn of(execution: &Execution, records: &[Record]) -> Attempt {
        let ExecutionId { item, fence } = execution.id;
        let is_log = |record: &&Record| &*record.label == Lines::LABEL && record.fence == Some(fence);
        let body = records.iter().find(is_log).and_then(|record| record.body.as_ref());
        let ended = execution.ended.as_ref();
        Attempt {
            exec_id: execution.id.to_string(),
            job_id: item,
            attempt: fence.0,
            lease_owner: execution.owner.to_string(),
            lease_expires_at: execution.lease_expires_at,
            status: execution.status().as_str(),
            started_at: execution.started_at,
            finished_at: ended.map(|end| end.mark.at),
            ended_by: ended.map(|end| end.cause.to_string()),
            reason: ended.and_then(|end| end.reason.clone()),
            // A record of this label may be somebody's own, in another form.
            log: body.and_then(|body| serde_json::from_slice(body.bytes()).ok()).unwrap_or_default(),
        }
    }
}

/// A lease, as claim records have it. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Holding {
    pub resource_type: String,
    pub resource_id: ItemId,
    pub owner_id: String,
    pub acquired_at: Time,
    pub lease_expires_at: Time,
    pub heartbeat_at: Time,
    pub claim_version: u64,
}

impl Holding {
    /// None: nobody holds it.
    pub fn of(item: &Item) -> Option<Holding> {
        let lease = item.lease.as_ref()?;
        let of_kind = || item.table.kind.to_ascii_uppercase();
        let resource_type = item.table.settings.resource_type.as_ref();
        Some(Holding {
            resource_type: resource_type.map_or_else(of_kind, ToString::to_string),
            resource_id: item.id,
            owner_id: lease.owner.to_string(),
            acquired_at: lease.since,
            lease_expires_at: lease.expires,
            heartbeat_at: lease.heartbeat,
            claim_version: item.fence.0,
        })
    }
}

/// What one owner holds, in short.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Holder {
    pub owner_id: String,
    pub holds: u64,
    /// Of what it holds for the longest.
    pub acquired_at: Time,
    /// The last sign of life.
    pub heartbeat_at: Time,
    /// When the first of its leases ends unless it is renewed.
    pub lease_expires_at: Time,
}

impl Tenure {
    /// Every attempt at an item, oldest first, the live one last.
    pub async fn executions(&self, id: ItemId) -> Result<Vec<Attempt>, Error> {
        let whole = self.whole(id).await?;
        // One that has committed and is not finished has a row, and its lease is held too.
        let live = whole.item.live_execution().filter(|live| live.committed.is_none());
        let all = whole.executions.iter().chain(&live);
        Ok(all.map(|execution| Attempt::of(execution, &whole.records)).collect())
    }

    /// Who holds what, since when and until when, a page in the order of ids.
    pub async fn owners(&self, query: Query) -> Result<Vec<Holding>, Error> {
        let held = self.list(Query { phase: Some(Phase::Active), state: None, ..query }).await?;
        Ok(held.iter().filter_map(Holding::of).collect())
    }

    /// Everybody who holds something, by name. Reads all that is held.
    pub async fn workers(&self) -> Result<Vec<Holder>, Error> {
        self.workers_of(None).await
    }

    /// As [`Tenure::workers`], of one kind.
    pub async fn workers_of(&self, kind: Option<Kind>) -> Result<Vec<Holder>, Error> {
        let mut holders: BTreeMap<Owner, Holder> = BTreeMap::new();
        let mut after = None;
        loop {
            let (phase, kind) = (Some(Phase::Active), kind.clone());
            let query = Query { kind, phase, after, limit: PAGE_MAX, ..Query::default() };
            let page = self.list(query).await?;
            for item in &page {
                let (Some(lease), Some(holding)) = (&item.lease, Holding::of(item)) else { continue };
                let holder = holders.entry(lease.owner.clone()).or_insert_with(|| Holder {
                    owner_id: holding.owner_id,
                    holds: 0,
                    acquired_at: lease.since,
                    heartbeat_at: lease.heartbeat,
                    lease_expires_at: lease.expires,
                });
                holder.holds += 1;
                holder.acquired_at = holder.acquired_at.min(lease.since);
                holder.heartbeat_at = holder.heartbeat_at.max(lease.heartbeat);
                holder.lease_expires_at = holder.lease_expires_at.min(lease.expires);
            }
            match page.last() {
                Some(last) if page.len() == PAGE_MAX => after = Some(last.id),
                _ => return Ok(holders.into_values().collect()),
            }
        }
    }
}
