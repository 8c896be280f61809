//! Claims: statements that are stored at once, and taken apart, validated and judged in the background.

mod validations;
mod verdicts;

use axum::Json as Shown;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tenure::core::id::ExecutionId;
use tenure::core::id::ItemId;
use tenure_systems::claims::{Claims, NewClaim};
use utoipa::{IntoParams, ToSchema};

use super::items::ListParams;
use super::surface::{Surface, routes};
use crate::caller::{Caller, With};
use crate::extract::{Id, Json};
use crate::once;
use crate::page::{Page, limit};
use crate::problem::Problem;
use crate::shape::claims::{ClaimCreated, ClaimView, DecomposedView, EnqueuedView, TruthBitView};

const KIND: &str = "claim";

pub fn routes() -> Surface {
    Surface::default()
        .routes(routes!(create, list))
        .routes(routes!(show))
        .routes(routes!(enqueue))
        .routes(routes!(decompose))
        .routes(routes!(truthbits))
        .routes(routes!(validations::add_evidence))
        .routes(routes!(validations::create))
        .routes(routes!(validations::create_of_claim, validations::list))
        .routes(routes!(validations::submit))
        .routes(routes!(validations::invalidate))
        .routes(routes!(verdicts::show))
        .routes(routes!(verdicts::compute))
}

/// The operations, for somebody who may know of this item: a claim, or what belongs to one.
async fn about(caller: &Caller, id: ItemId) -> Result<Claims, Problem> {
    caller.item(id).await?;
    Ok(Claims::of(&caller.tenure))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimBody {
    /// Repeated with the same key, it is the same claim. The header `Idempotency-Key` is the same; one of the two is needed.
    idempotency_key: Option<String>,
    /// Which decomposer takes it apart.
    domain: String,
    /// At most 65,536 bytes.
    text: String,
    /// Whom it comes from, as data. Who asks says the token.
    created_by: Option<String>,
}

/// Create a claim
///
/// It is stored, and taken apart in the background.
#[utoipa::path(post, path = "/v0.1/claims", tag = "claims", request_body = ClaimBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as the field"),
        ("traceparent" = Option<String>, Header, description = "handed on to whoever works on it; so is `tracestate`")),
    responses((status = 201, body = ClaimCreated), (status = 200, description = "repeated: the first answer", body = ClaimCreated)))]
pub async fn create(
    caller: Caller,
    headers: HeaderMap,
    Json(body): Json<ClaimBody>,
) -> Result<(StatusCode, Shown<ClaimCreated>), Problem> {
    caller.may_use(&KIND.parse()?)?;
    let missing =
        || Problem::wrong("idempotency_key", "a claim has one, here or in the header Idempotency-Key");
    let idempotency_key = once::key(body.idempotency_key, &headers)?.ok_or_else(missing)?;
    let ClaimBody { domain, text, created_by, .. } = body;
    let new = NewClaim { idempotency_key, domain, text, created_by, trace: caller.trace.clone() };
    let (claim, fresh) = Claims::of(&caller.tenure).create(new).await?;
    let created =
        ClaimCreated { claim_id: claim.claim_id.to_string(), created_at: claim.created_at.to_string() };
    Ok((once::status(fresh), Shown(created)))
}

/// List claims
///
/// Oldest first, without their texts.
#[utoipa::path(get, path = "/v0.1/claims", tag = "claims", params(ListParams),
    responses((status = 200, body = Page<ClaimView>)))]
pub async fn list(With(caller, params): With<ListParams>) -> Result<Shown<Page<ClaimView>>, Problem> {
    let query = params.of_kind(KIND)?.query(&caller)?;
    let limit = query.limit;
    let claims = Claims::of(&caller.tenure).list(query).await?;
    let next_cursor = claims.last().filter(|_| claims.len() == limit).map(|last| last.claim_id.to_string());
    Ok(Shown(Page { items: claims.into_iter().map(ClaimView::from).collect(), next_cursor }))
}

/// Show a claim
#[utoipa::path(get, path = "/v0.1/claims/{id}", tag = "claims", params(("id" = String, Path)),
    responses((status = 200, body = ClaimView), (status = 404)))]
pub async fn show(caller: Caller, Id(id): Id) -> Result<Shown<ClaimView>, Problem> {
    Ok(Shown(about(&caller, id).await?.get(id).await?.into()))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnqueueBody {
    /// For people: `initial`, `retry`.
    reason: Option<String>,
}

/// Enqueue a claim for decomposition
///
/// On one that is queued or in progress it changes nothing and answers with the enqueue in force; on one that is decomposed it is
/// refused with ALREADY_DECOMPOSED.
#[utoipa::path(post, path = "/v0.1/claims/{id}/enqueue-decomposition", tag = "claims", request_body = EnqueueBody,
    params(("id" = String, Path)), responses((status = 200, body = EnqueuedView), (status = 404), (status = 409)))]
pub async fn enqueue(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<EnqueueBody>,
) -> Result<Shown<EnqueuedView>, Problem> {
    Ok(Shown(about(&caller, id).await?.enqueue(id, body.reason).await?.into()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecomposeBody {
    /// Of a lease of this claim, from `/v1/leases` with the kind `claim`.
    // Whether the claim is there is said first, to whoever says nothing.
    #[schema(required = true, value_type = String)]
    lease_token: Option<String>,
    /// The attempt of that lease. Another one is refused.
    attempt: Option<u64>,
}

/// Decompose a claim under a lease
///
/// Runs the domain's decomposer and ends the lease: all TruthBits are written with the commit, or the claim fails with the reason.
/// Repeated it answers the same.
#[utoipa::path(post, path = "/v0.1/claims/{id}/decompose", tag = "claims", request_body = DecomposeBody,
    params(("id" = String, Path)), responses((status = 200, body = DecomposedView), (status = 404), (status = 409)))]
pub async fn decompose(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<DecomposeBody>,
) -> Result<Shown<DecomposedView>, Problem> {
    let claim = caller.item(id).await?;
    if claim.table.kind.as_str() != KIND {
        return Err(Problem::not_found(format!("there is no claim {id} in this store")));
    }
    // Its lease is the last that was given: whoever holds another has lost it.
    let execution = ExecutionId { item: id, fence: claim.fence };
    let lease_token = body
        .lease_token
        .ok_or_else(|| Problem::wrong("lease_token", "a claim is decomposed under a lease"))?;
    let holder = caller.holder(execution, &lease_token)?;
    if body.attempt.is_some_and(|attempt| attempt != claim.fence.0) {
        let detail = format!(
            "attempt {} is not that of the lease, which is {}",
            body.attempt.unwrap_or(0),
            claim.fence
        );
        return Err(tenure::core::answer::Answer::LeaseLost(detail).into());
    }
    let settings = &caller.app.claims;
    let decomposed =
        Claims::of(&holder).decompose(execution, &settings.guarded, &settings.policy.version).await?;
    Ok(Shown(decomposed.into()))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PageParams {
    pub limit: Option<usize>,
    pub cursor: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// List the TruthBits of a claim
///
/// In the order of its text. Before it is decomposed there are none.
#[utoipa::path(get, path = "/v0.1/claims/{id}/truthbits", tag = "claims", params(("id" = String, Path), PageParams),
    responses((status = 200, body = Page<TruthBitView>), (status = 404)))]
pub async fn truthbits(
    With(caller, params): With<PageParams>,
    Id(id): Id,
) -> Result<Shown<Page<TruthBitView>>, Problem> {
    let limit = limit(params.limit)?;
    let all = about(&caller, id).await?.truthbits(id).await?;
    let after = match &params.cursor {
        Some(cursor) => {
            let place = all.iter().position(|truthbit| truthbit.id.to_string() == *cursor);
            place.ok_or_else(|| Problem::wrong("cursor", "this is not one that a list gave"))? + 1
        }
        None => 0,
    };
    let more = all.len() > after + limit;
    let items: Vec<TruthBitView> = all.into_iter().skip(after).take(limit).map(TruthBitView::from).collect();
    let next_cursor = items.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Shown(Page { items, next_cursor }))
}
