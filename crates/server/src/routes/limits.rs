//! Limits: what holds a kind back, and what an operator says about it.

use axum::Json as Shown;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tenure::Standing;
use tenure::core::control::Said;
use tenure::core::lifecycle::settings::Rate;
use tenure::core::word::Kind;
use utoipa::ToSchema;

use super::lifecycles::{KindName, in_force};
use crate::caller::{Admin, Caller};
use crate::extract::Json;
use crate::page::Page;
use crate::problem::Problem;

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RateView {
    pub count: u32,
    pub per_ms: u64,
}

impl From<Rate> for RateView {
    fn from(rate: Rate) -> RateView {
        RateView { count: rate.count, per_ms: milliseconds(rate.per) }
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LimitView {
    pub kind: String,
    /// How many run now.
    pub active: u32,
    /// What is in force: an operator's, or the lifecycle's. Null: no limit.
    pub concurrency: Option<u32>,
    pub rate: Option<RateView>,
    pub retry_budget: Option<RateView>,
    /// Who paused it. Null: it is not paused.
    pub paused: Option<SaidView>,
    /// Who gave it other limits than its lifecycle. Null: nobody.
    pub limited: Option<SaidView>,
    /// Null: the breaker is closed, or there is none.
    pub breaker_open_until: Option<String>,
    /// How often the breaker has opened.
    pub breaker_trips: u64,
    /// Retries that were put off because their budget was spent.
    pub retries_deferred: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SaidView {
    pub by: String,
    pub at: String,
    pub reason: String,
}

impl From<&Said> for SaidView {
    fn from(said: &Said) -> SaidView {
        SaidView { by: said.by.to_string(), at: said.at.to_string(), reason: said.why.clone() }
    }
}

impl From<Standing> for LimitView {
    fn from(standing: Standing) -> LimitView {
        let Standing { kind, rules, active, control } = standing;
        LimitView {
            kind: kind.to_string(),
            active,
            concurrency: rules.concurrency,
            rate: rules.rate.map(RateView::from),
            retry_budget: rules.retry_budget.map(RateView::from),
            paused: control.pause.as_ref().map(SaidView::from),
            limited: control.limits.as_ref().map(|limits| SaidView::from(&limits.said)),
            breaker_open_until: control.trip.map(|trip| trip.until.to_string()),
            breaker_trips: control.trips,
            retries_deferred: control.deferred,
        }
    }
}

/// List what holds kinds back
///
/// Every kind that has a limit, or that an operator said something about.
#[utoipa::path(get, path = "/v1/limits", tag = "limits", extensions(("x-access" = json!("admin"))),
    responses((status = 200, body = Page<LimitView>), (status = 403)))]
pub async fn list(Admin(caller): Admin) -> Result<Shown<Page<LimitView>>, Problem> {
    let standings = caller.tenure.controls().await?.into_iter();
    let mine = standings.filter(|standing| caller.may_use(&standing.kind).is_ok());
    Ok(Shown(Page { items: mine.map(LimitView::from).collect(), next_cursor: None }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitBody {
    kind: String,
    /// How many run at once. Of concurrency and rate, the one that is left out is as the lifecycle says.
    concurrency: Option<u32>,
    rate: Option<RateView>,
    /// True: no more leases of this kind, on any node; what is held goes on. False: go on.
    paused: Option<bool>,
    reason: String,
}

/// Limit, pause or resume a kind
#[utoipa::path(post, path = "/v1/limits", tag = "limits", request_body = LimitBody, extensions(("x-access" = json!("admin"))),
    responses((status = 200, body = LimitView), (status = 403), (status = 404)))]
pub async fn set(Admin(caller): Admin, Json(body): Json<LimitBody>) -> Result<Shown<LimitView>, Problem> {
    let kind: Kind = body.kind.parse().map_err(|not| Problem::wrong("kind", not))?;
    in_force(&caller, &kind)?;
    let LimitBody { concurrency, rate, paused, reason, .. } = body;
    if concurrency.is_none() && rate.is_none() && paused.is_none() {
        return Err(Problem::invalid("say at least one of concurrency, rate and paused"));
    }
    if concurrency.is_some() || rate.is_some() {
        let rate = rate.map(|rate| Rate { count: rate.count, per: Duration::from_millis(rate.per_ms) });
        caller.tenure.limit(&kind, concurrency, rate, reason.as_str()).await?;
    }
    match paused {
        Some(true) => drop(caller.tenure.pause(&kind, reason.as_str()).await?),
        Some(false) => drop(caller.tenure.resume(&kind, reason.as_str()).await?),
        None => {}
    }
    standing(&caller, &kind).await.map(Shown)
}

/// Give a kind its lifecycle's own limits back
///
/// A pause stays.
#[utoipa::path(delete, path = "/v1/limits/{kind}", tag = "limits", params(("kind" = String, Path)),
    extensions(("x-access" = json!("admin"))), responses((status = 204), (status = 403), (status = 404)))]
pub async fn reset(Admin(caller): Admin, KindName(kind): KindName) -> Result<StatusCode, Problem> {
    in_force(&caller, &kind)?;
    caller.tenure.limit(&kind, None, None, "back to the lifecycle's own").await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn standing(caller: &Caller, kind: &Kind) -> Result<LimitView, Problem> {
    Ok(LimitView::from(caller.tenure.standing_of(kind).await?))
}
