//! For whoever watches: workers, how much waits, the proof of an item, and the numbers for a monitor.

use std::collections::BTreeMap;

use axum::Extension;
use axum::Json as Shown;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tenure::Holder;
use tenure::databases::backlog::{Backlog, COUNT_MAX};
use tenure::databases::outside;
use utoipa::{IntoParams, ToSchema};

use crate::caller::{Caller, With};
use crate::extract::Id;
use crate::hidden;
use crate::metrics;
use crate::page::Page;
use crate::problem::{Problem, internal};
use crate::serve::Serving;

#[derive(Debug, Serialize, ToSchema)]
pub struct WorkerView {
    pub owner_id: String,
    /// How many items it holds.
    pub holds: u64,
    /// Of what it holds for the longest.
    pub acquired_at: String,
    /// The last sign of life.
    pub heartbeat_at: String,
    /// When the first of its leases ends unless it is renewed.
    pub lease_expires_at: String,
}

impl From<Holder> for WorkerView {
    fn from(holder: Holder) -> WorkerView {
        WorkerView {
            owner_id: holder.owner_id,
            holds: holder.holds,
            acquired_at: holder.acquired_at.to_string(),
            heartbeat_at: holder.heartbeat_at.to_string(),
            lease_expires_at: holder.lease_expires_at.to_string(),
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WorkerParams {
    /// Only those who hold something of this kind.
    kind: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// List who holds something
///
/// Reads all that is held in the store.
#[utoipa::path(get, path = "/v1/workers", tag = "leases", params(WorkerParams), responses((status = 200, body = Page<WorkerView>)))]
pub async fn workers(With(caller, params): With<WorkerParams>) -> Result<Shown<Page<WorkerView>>, Problem> {
    let kind = params.kind.map(|kind| kind.parse()).transpose()?;
    let holders = caller.tenure.workers_of(caller.kind_of_list(kind)?).await?;
    Ok(Shown(Page { items: holders.into_iter().map(WorkerView::from).collect(), next_cursor: None }))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StatsView {
    /// Every kind of the store that ever had an item.
    pub kinds: Vec<KindStats>,
    /// No count goes beyond this: it is that many or more.
    pub counted_to: u64,
    /// Entries in the log of the database.
    pub log_position: u64,
    /// What an answer has survived: `full`, `relaxed` or `none`, as `/health/ready` says it.
    pub durability: String,
    /// What this server has done and met since it was started, by name.
    pub counters: BTreeMap<String, u64>,
}

/// What waits for somebody's move and what succeeded is not counted.
#[derive(Debug, Serialize, ToSchema)]
pub struct KindStats {
    pub kind: String,
    pub ready: u64,
    /// Ready at a later time.
    pub scheduled: u64,
    pub active: u64,
    pub failed: u64,
    pub stopped: u64,
    /// For how long the first one could have been leased. Null: nothing is due.
    pub oldest_ready_ms: Option<u64>,
}

impl From<&Backlog> for KindStats {
    fn from(backlog: &Backlog) -> KindStats {
        KindStats {
            kind: backlog.kind.to_string(),
            ready: backlog.ready,
            scheduled: backlog.scheduled,
            active: backlog.active,
            failed: backlog.failed,
            stopped: backlog.stopped,
            oldest_ready_ms: oldest_ready(backlog)
                .map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

pub fn oldest_ready(backlog: &Backlog) -> Option<std::time::Duration> {
    let now = outside::now();
    backlog.first_at.filter(|first| *first <= now).map(|first| now.since(first))
}

/// Show how much waits
#[utoipa::path(get, path = "/v1/stats", tag = "service", responses((status = 200, body = StatsView)))]
pub async fn stats(caller: Caller) -> Result<Shown<StatsView>, Problem> {
    let backlog = caller.tenure.backlog().await?;
    let mine = backlog.iter().filter(|backlog| caller.may_use(&backlog.kind).is_ok());
    let counters = caller.tenure.counters().all().into_iter();
    Ok(Shown(StatsView {
        kinds: mine.map(KindStats::from).collect(),
        counted_to: COUNT_MAX,
        log_position: caller.tenure.head().await?.position,
        durability: caller.tenure.durability().to_string(),
        counters: counters.map(|(name, count)| (name.to_string(), count)).collect(),
    }))
}

/// Show the proof of an item
///
/// Its lifecycle and its whole history as lines of JSON, which `tenure verify FILE` checks without a server: nothing in it was
/// changed, taken out or put in. Positions count within the receipt.
#[utoipa::path(get, path = "/v1/items/{id}/receipt", tag = "items", params(("id" = String, Path)),
    responses((status = 200, content_type = "application/x-ndjson", body = String), (status = 404)))]
pub async fn receipt(caller: Caller, Id(id): Id) -> Result<Response, Problem> {
    caller.item(id).await?;
    let file = caller.tenure.receipt(id).await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], file).into_response())
}

/// Explain an item
///
/// Why it is where it is: for whom it waits, who holds it, how it ended; what happens by itself, and how somebody moves it.
#[utoipa::path(get, path = "/v1/items/{id}/explain", tag = "items", params(("id" = String, Path)),
    responses((status = 200, body = serde_json::Value), (status = 404)))]
pub async fn explain(caller: Caller, Id(id): Id) -> Result<Response, Problem> {
    // An item whose row can not be read is explained too.
    let told = caller.tenure.explain(id).await?;
    if caller.may_use(&told.kind).is_err() {
        return Err(Problem::not_found(format!("there is no item {id} in this store")));
    }
    if !caller.is_limited_to_kinds() {
        return Ok(Shown(told).into_response());
    }
    let mut shown = serde_json::to_value(told).map_err(|why| internal(why.to_string()))?;
    hidden::hide(&caller, id, &mut shown).await?;
    Ok(Shown(shown).into_response())
}

/// Numbers for a monitor
///
/// In the text format of Prometheus; docs/metrics.md lists them.
#[utoipa::path(get, path = "/metrics", tag = "service", responses((status = 200, content_type = "text/plain", body = String)))]
pub async fn metrics(caller: Caller, serving: Option<Extension<Serving>>) -> Result<Response, Problem> {
    let all = caller.tenure.backlog_of_all().await?;
    let mine =
        all.into_iter().filter(|one| caller.may_follow(&one.store) && caller.may_use(&one.kind).is_ok());
    let connections = serving.map(|Extension(serving)| serving.connections());
    let behind = caller.tenure.clock_behind().await?.unwrap_or_default();
    let text = metrics::text(&caller.app, &mine.collect::<Vec<_>>(), behind, connections);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
