//! Leases: get work, keep it, see who has what.

use axum::Json as Shown;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::request::{Acquire, Command, Renew, Take, Terms};
use tenure::core::word::Kind;
use tenure::databases::Query;
use utoipa::{IntoParams, ToSchema};

use super::executions::{Each, RenewedView, each, renewed};
use super::items::wait;
use crate::caller::{Caller, With};
use crate::extract::{Json, execution};
use crate::limits::{CALL_MAX, LEASES_MAX};
use crate::page::{Page, after, limit};
use crate::problem::Problem;
use crate::shape::create::key;
use crate::shape::lease::{Claim, LeaseView};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseBody {
    /// Looked at in this order.
    #[serde(default)]
    kinds: Vec<String>,
    /// Names this incarnation of the worker: a process, and no other before or after it.
    worker: String,
    /// How many, at most 1,000.
    #[serde(default = "one")]
    max: usize,
    /// These items and no others.
    items: Option<Vec<String>>,
    /// Start them in the same transaction.
    #[serde(default)]
    start: bool,
    lease_ms: Option<u64>,
    /// Waits so long for work, at most 30,000.
    wait_ms: Option<u64>,
    /// Names this request: repeated by the same worker it gets the same leases back while they are held.
    request_id: Option<String>,
}

fn one() -> usize {
    1
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Leases {
    pub leases: Vec<LeaseView>,
}

/// Lease work
///
/// Whatever is next of these kinds, or the items that are named. Nothing there is no error: the list is empty.
#[utoipa::path(post, path = "/v1/leases", tag = "leases", request_body = LeaseBody, responses((status = 200, body = Leases)))]
pub async fn lease(caller: Caller, Json(body): Json<LeaseBody>) -> Result<Shown<Leases>, Problem> {
    let tenure = caller.worker(&body.worker)?;
    let terms = Terms {
        lease: body.lease_ms.map(Duration::from_millis),
        start: body.start,
        request: key("request_id", body.request_id.as_deref())?,
        ..Terms::default()
    };
    let granted = match &body.items {
        Some(items) => {
            let ids = named(items)?;
            for id in &ids {
                caller.item(*id).await?;
            }
            let take = |item: &ItemId| Command::Take(Take { item: *item, terms: terms.clone() });
            let mut granted = Vec::new();
            for reply in tenure.ask_each(ids.iter().map(take).collect()).await {
                match reply?.answer {
                    Answer::Leased(leases) => granted.extend(leases),
                    // Of several the others are held: whoever names one is told who has it.
                    no if ids.len() == 1 => return Err(no.into()),
                    _ => {}
                }
            }
            granted
        }
        None => {
            let kinds = kinds(&caller, &body.kinds)?;
            if !(1..=LEASES_MAX).contains(&body.max) {
                return Err(Problem::wrong("max", format!("1 to {LEASES_MAX} leases a call")));
            }
            let acquire = Acquire { kinds, max: body.max, terms };
            match tenure.lease(acquire, wait(body.wait_ms)?).await?.answer {
                Answer::Leased(leases) => leases,
                no => return Err(no.into()),
            }
        }
    };
    Ok(Shown(Leases {
        leases: granted.iter().filter_map(|granted| LeaseView::of(granted, &caller)).collect(),
    }))
}

fn named(items: &[String]) -> Result<Vec<ItemId>, Problem> {
    if items.is_empty() || items.len() > CALL_MAX {
        return Err(Problem::wrong("items", format!("1 to {CALL_MAX} ids")));
    }
    let none = |id: &String| Problem::not_found(format!("there is no item {id:?}"));
    items.iter().map(|id| id.parse().map_err(|_| none(id))).collect()
}

fn kinds(caller: &Caller, names: &[String]) -> Result<Vec<Kind>, Problem> {
    if names.is_empty() {
        return Err(Problem::wrong("kinds", "name at least one, or name the items"));
    }
    let known = caller.tenure.lifecycles();
    let mut kinds = Vec::with_capacity(names.len());
    for name in names {
        let kind: Kind = name.parse().map_err(|not| Problem::wrong("kinds", not))?;
        if known.current(&kind).is_none() {
            return Err(caller.unknown_kind("kinds", &kind));
        }
        caller.may_use(&kind)?;
        kinds.push(kind);
    }
    Ok(kinds)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ClaimParams {
    kind: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// List who holds what
#[utoipa::path(get, path = "/v1/leases", tag = "leases", params(ClaimParams), responses((status = 200, body = Page<Claim>)))]
pub async fn list(With(caller, params): With<ClaimParams>) -> Result<Shown<Page<Claim>>, Problem> {
    let kind = params.kind.map(|kind| kind.parse()).transpose()?;
    let limit = limit(params.limit)?;
    let (kind, after) = (caller.kind_of_list(kind)?, after(params.cursor.as_deref())?);
    let held = caller.tenure.owners(Query { kind, after, limit, ..Query::default() }).await?;
    let next_cursor = held.last().filter(|_| held.len() == limit).map(|last| last.resource_id.to_string());
    Ok(Shown(Page { items: held.into_iter().map(Claim::from).collect(), next_cursor }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewMany {
    leases: Vec<RenewOne>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewOne {
    execution: String,
    lease_token: String,
    lease_ms: Option<u64>,
}

/// Renew many leases, each with its own outcome
#[utoipa::path(post, path = "/v1/leases/renew", tag = "leases", request_body = RenewMany,
    responses((status = 200, body = Page<Each<RenewedView>>)))]
pub async fn renew_many(
    caller: Caller,
    Json(body): Json<RenewMany>,
) -> Result<Shown<Page<Each<RenewedView>>>, Problem> {
    let asked = body.leases.iter().map(|one| {
        let execution = execution(&one.execution)?;
        let tenure = caller.holder(execution, &one.lease_token)?;
        let lease = one.lease_ms.map(Duration::from_millis);
        Ok((tenure, Command::Renew(Renew { execution, lease })))
    });
    each(&caller, "leases", asked.collect(), renewed).await
}
