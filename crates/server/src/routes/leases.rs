//! Leases: get work, keep it, see who has what.

use axum::Extension;
use axum::Json as Shown;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tenure::core::answer::{Answer, Granted};
use tenure::core::id::ItemId;
use tenure::core::request::{Acquire, Command, Release, Renew, Take, Terms};
use tenure::core::word::Kind;
use tenure::databases::Query;
use tenure::{Leasing, Tenure};
use utoipa::{IntoParams, ToSchema};

use super::executions::{Each, RenewedView, each, renewed, told};
use super::items::wait;
use crate::caller::{Caller, With};
use crate::extract::{Json, execution};
use crate::limits::{CALL_MAX, LEASES_MAX};
use crate::own::not_by_hand;
use crate::page::{Page, after, limit};
use crate::problem::Problem;
use crate::serve::{Serving, ended};
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
/// Whatever is next of these kinds, or the items that are named: as many of those as can be had. Nothing there is no error: the
/// list is empty.
#[utoipa::path(post, path = "/v1/leases", tag = "leases", request_body = LeaseBody, responses((status = 200, body = Leases)))]
pub async fn lease(
    caller: Caller,
    serving: Option<Extension<Serving>>,
    Json(body): Json<LeaseBody>,
) -> Result<Shown<Leases>, Problem> {
    let tenure = caller.worker(&body.worker)?;
    let terms = Terms {
        lease: body.lease_ms.map(Duration::from_millis),
        start: body.start,
        request: key("request_id", body.request_id.as_deref())?,
        ..Terms::default()
    };
    let patience = wait(body.wait_ms)?;
    let (granted, waited) = match &body.items {
        Some(items) => {
            let ids = named(items)?;
            for id in &ids {
                not_by_hand(&caller.item(*id).await?.table.kind)?;
            }
            if serving.is_some_and(|Extension(serving)| serving.is_ended()) {
                return Err(Problem::unavailable("the service ends and gives no more leases; ask again"));
            }
            (take(&tenure, &ids, &terms).await?, Duration::ZERO)
        }
        None => {
            let kinds = kinds(&caller, &body.kinds)?;
            if !(1..=LEASES_MAX).contains(&body.max) {
                return Err(Problem::wrong("max", format!("1 to {LEASES_MAX} leases a call")));
            }
            if serving.as_ref().is_some_and(|Extension(serving)| serving.is_ended()) {
                return Ok(Shown(Leases { leases: Vec::new() }));
            }
            let acquire = Acquire { kinds, max: body.max, terms };
            let asked = tenure.lease_until(acquire, caller.patience(patience), ended(serving));
            let Leasing { reply, waited } = asked.await?;
            let granted = match reply.answer {
                Answer::Leased(leases) => leases,
                no => return Err(no.into()),
            };
            if !patience.is_zero() {
                still_good(&caller, &tenure, &granted).await?;
            }
            (granted, waited)
        }
    };
    Ok(Shown(Leases {
        leases: granted.iter().filter_map(|granted| LeaseView::of(granted, waited, &caller)).collect(),
    }))
}

/// These items, as many of them as can be had. Only whoever gets none is told why: a lease that nobody hears of is kept from everybody.
async fn take(tenure: &Tenure, ids: &[ItemId], terms: &Terms) -> Result<Vec<Granted>, Problem> {
    let take = |item: &ItemId| Command::Take(Take { item: *item, terms: terms.clone() });
    let (mut granted, mut refused) = (Vec::new(), None);
    for reply in tenure.ask_each(ids.iter().map(take).collect()).await {
        let no = match reply.map(|reply| reply.answer) {
            Ok(Answer::Leased(leases)) => {
                granted.extend(leases);
                continue;
            }
            // Of several, others hold some: whoever names one is told who has it.
            Ok(Answer::Forbidden { event, roles }) => Answer::Forbidden { event, roles }.into(),
            Ok(Answer::Invalid(problem)) => problem.into(),
            Ok(no) if ids.len() == 1 => told(tenure, no).await,
            Ok(_) => continue,
            Err(error) => error.into(),
        };
        refused.get_or_insert(no);
    }
    match refused {
        Some(problem) if granted.is_empty() => Err(problem),
        _ => Ok(granted),
    }
}

/// Whether who has waited may still have what was leased for them. If not it is given back; what can not be ends by itself.
async fn still_good(caller: &Caller, tenure: &Tenure, granted: &[Granted]) -> Result<(), Problem> {
    let Err(no) = caller.must_be_good().await else { return Ok(()) };
    let release = |granted: &Granted| {
        let (execution, reason) = (granted.execution, Some("its token is no longer good".to_string()));
        Command::Release(Release { execution, reason, delay: None, attests: Vec::new() })
    };
    let _ = tenure.ask_each(granted.iter().map(release).collect()).await;
    Err(no)
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
        not_by_hand(&kind)?;
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
