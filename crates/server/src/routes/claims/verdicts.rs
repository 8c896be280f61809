//! Verdicts: read, and asked for.

use axum::Json as Shown;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::about;
use crate::caller::{Caller, With};
use crate::extract::Id;
use crate::page::{after, limit};
use crate::problem::Problem;
use crate::shape::claims::{AskedView, VerdictAnswer, VerdictView};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct VerdictParams {
    /// With every verdict that there was, newest first, a page at a time.
    include_history: Option<bool>,
    limit: Option<usize>,
    cursor: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// Show the verdict on a claim
///
/// The newest snapshot, as it was computed. Reading computes nothing.
#[utoipa::path(get, path = "/v0.1/claims/{id}/verdict", tag = "claims", params(("id" = String, Path), VerdictParams),
    responses((status = 200, body = VerdictAnswer), (status = 404)))]
pub async fn show(
    With(caller, params): With<VerdictParams>,
    Id(id): Id,
) -> Result<Shown<VerdictAnswer>, Problem> {
    let (limit, before) = (limit(params.limit)?, after(params.cursor.as_deref())?);
    let claims = about(&caller, id).await?;
    let newest = claims.verdict(id).await?;
    let (mut history, mut next_cursor) = (None, None);
    if params.include_history == Some(true) {
        let page = claims.verdict_history(id, before, limit).await?;
        next_cursor =
            page.last().filter(|_| page.len() == limit).map(|(computation, _)| computation.to_string());
        let verdicts = page.into_iter().filter_map(|(_, judgements)| judgements.claim);
        history = Some(verdicts.map(VerdictView::from).collect());
    }
    Ok(Shown(VerdictAnswer {
        claim_id: id.to_string(),
        verdict: newest.claim.map(VerdictView::from),
        truthbits: newest.truthbits.into_iter().map(VerdictView::from).collect(),
        history,
        next_cursor,
    }))
}

/// Ask for a verdict to be computed anew
///
/// Answers at once. A computation that waits already stands for it.
#[utoipa::path(post, path = "/v0.1/claims/{id}/compute-verdict", tag = "claims", params(("id" = String, Path)),
    responses((status = 202, body = AskedView), (status = 404), (status = 409)))]
pub async fn compute(caller: Caller, Id(id): Id) -> Result<(StatusCode, Shown<AskedView>), Problem> {
    let asked = about(&caller, id).await?.compute_verdict(id).await?;
    Ok((StatusCode::ACCEPTED, Shown(asked.into())))
}
