//! Evidence, and what validators say of TruthBits.

use axum::Json as Shown;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use tenure::core::id::{ItemId, RecordId};
use tenure_systems::claims::{Claims, NewEvidence, NewValidation};
use utoipa::ToSchema;

use super::{PageParams, about};
use crate::caller::{Caller, With};
use crate::extract::{Id, Json, segment};
use crate::once;
use crate::page::{Page, after, limit};
use crate::problem::Problem;
use crate::shape::claims::{EvidenceKind, EvidenceView, JudgementBody, OutcomeKind, ValidationView};
use crate::shape::create::time;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceBody {
    /// Repeated with the same key, it is the same piece. The header `Idempotency-Key` is the same.
    idempotency_key: Option<String>,
    r#type: EvidenceKind,
    /// Where the source is. Nobody here fetches it.
    uri: String,
    /// When it was as it is told (RFC 3339).
    captured_at: String,
    /// What is known of its origin.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
}

/// Add a piece of evidence
#[utoipa::path(post, path = "/v0.1/evidence", tag = "claims", request_body = EvidenceBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as the field")),
    responses((status = 201, body = EvidenceView), (status = 200, description = "repeated: the first answer", body = EvidenceView)))]
pub async fn add_evidence(
    caller: Caller,
    headers: HeaderMap,
    Json(body): Json<EvidenceBody>,
) -> Result<(StatusCode, Shown<EvidenceView>), Problem> {
    caller.may_use(&"evidence".parse()?)?;
    let new = NewEvidence {
        idempotency_key: once::key(body.idempotency_key, &headers)?,
        kind: body.r#type.into(),
        uri: body.uri,
        captured_at: time("captured_at", &body.captured_at)?,
        metadata: body.metadata,
    };
    let (evidence, fresh) = Claims::of(&caller.tenure).add_evidence(new).await?;
    Ok((once::status(fresh), Shown(evidence.into())))
}

/// A validation. With an outcome and a confidence it is submitted at once.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationBody {
    /// Repeated with the same key, it is the same validation. The header `Idempotency-Key` is the same.
    idempotency_key: Option<String>,
    /// Needed where the path names the claim.
    truthbit_id: Option<String>,
    /// At most 100.
    #[serde(default)]
    evidence_ids: Vec<String>,
    outcome: Option<OutcomeKind>,
    /// From 0 to 1.
    confidence: Option<f64>,
    #[schema(value_type = Option<serde_json::Value>)]
    extracted_value: Option<Value>,
    notes: Option<String>,
}

impl ValidationBody {
    fn validation(
        self,
        headers: &HeaderMap,
        of: RecordId,
        claim_id: Option<ItemId>,
    ) -> Result<NewValidation, Problem> {
        let ValidationBody {
            idempotency_key, evidence_ids, outcome, confidence, extracted_value, notes, ..
        } = self;
        let judged = JudgementBody { evidence_ids, outcome, confidence, extracted_value, notes }.judged()?;
        let idempotency_key = once::key(idempotency_key, headers)?;
        Ok(NewValidation { idempotency_key, truthbit_id: of, claim_id, judged })
    }

    fn truthbit(&self) -> Result<Option<RecordId>, Problem> {
        let none = |id: &str| Problem::not_found(format!("there is no TruthBit {id:?} in this store"));
        self.truthbit_id.as_deref().map(|id| id.parse().map_err(|_| none(id))).transpose()
    }
}

/// A TruthBit's id. A text that is none names no TruthBit.
#[derive(Debug)]
pub struct Bit(RecordId);

impl<S: Send + Sync> FromRequestParts<S> for Bit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Bit, Problem> {
        let id = segment(parts, state, "id").await?;
        let none = |_| Problem::not_found(format!("there is no TruthBit {id:?} in this store"));
        id.parse().map(Bit).map_err(none)
    }
}

async fn created(
    caller: &Caller,
    new: NewValidation,
) -> Result<(StatusCode, Shown<ValidationView>), Problem> {
    caller.may_use(&"validation".parse()?)?;
    let (validation, fresh) = Claims::of(&caller.tenure).create_validation(new).await?;
    Ok((once::status(fresh), Shown(validation.into())))
}

/// Validate a TruthBit
///
/// Who judges says the token. With an outcome and a confidence it is submitted at once, and takes the place of an older one of the same
/// validator.
#[utoipa::path(post, path = "/v0.1/truthbits/{id}/validations", tag = "claims", request_body = ValidationBody,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "the same as the field")),
    responses((status = 201, body = ValidationView), (status = 200, description = "repeated", body = ValidationView),
        (status = 404), (status = 409)))]
pub async fn create(
    caller: Caller,
    Bit(id): Bit,
    headers: HeaderMap,
    Json(body): Json<ValidationBody>,
) -> Result<(StatusCode, Shown<ValidationView>), Problem> {
    if body.truthbit()?.is_some_and(|named| named != id) {
        return Err(Problem::wrong("truthbit_id", "the path names another"));
    }
    // Whoever may not know of the claim knows of none of its TruthBits.
    let claim = Claims::of(&caller.tenure).claim_of(id, None).await?;
    caller.item(claim.id).await?;
    created(&caller, body.validation(&headers, id, None)?).await
}

/// Validate a TruthBit of a claim
///
/// Refused with NOT_DECOMPOSED as long as the claim has none.
#[utoipa::path(post, path = "/v0.1/claims/{id}/validations", tag = "claims", request_body = ValidationBody,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "the same as the field")),
    responses((status = 201, body = ValidationView), (status = 200, description = "repeated", body = ValidationView),
        (status = 404), (status = 409)))]
pub async fn create_of_claim(
    caller: Caller,
    Id(id): Id,
    headers: HeaderMap,
    Json(body): Json<ValidationBody>,
) -> Result<(StatusCode, Shown<ValidationView>), Problem> {
    about(&caller, id).await?.is_decomposed(id).await?;
    let missing = || Problem::wrong("truthbit_id", "say which");
    let truthbit = body.truthbit()?.ok_or_else(missing)?;
    created(&caller, body.validation(&headers, truthbit, Some(id))?).await
}

/// List the validations of a claim
///
/// Oldest first, in whatever state.
#[utoipa::path(get, path = "/v0.1/claims/{id}/validations", tag = "claims", params(("id" = String, Path), PageParams),
    responses((status = 200, body = Page<ValidationView>), (status = 404)))]
pub async fn list(
    With(caller, params): With<PageParams>,
    Id(id): Id,
) -> Result<Shown<Page<ValidationView>>, Problem> {
    let (limit, after) = (limit(params.limit)?, after(params.cursor.as_deref())?);
    let found = about(&caller, id).await?.validations(id, after, limit).await?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|last| last.id.to_string());
    Ok(Shown(Page { items: found.into_iter().map(ValidationView::from).collect(), next_cursor }))
}

/// Submit a validation
///
/// One that was created without its judgement brings it here. On one that was submitted, superseded or invalidated it changes
/// nothing.
#[utoipa::path(post, path = "/v0.1/validations/{id}/submit", tag = "claims", request_body = JudgementBody,
    params(("id" = String, Path)), responses((status = 200, body = ValidationView), (status = 404), (status = 409)))]
pub async fn submit(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<JudgementBody>,
) -> Result<Shown<ValidationView>, Problem> {
    let claims = about(&caller, id).await?;
    Ok(Shown(claims.submit_validation(id, body.judged()?).await?.into()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InvalidateBody {
    // Whether there is such a validation is said first.
    #[schema(required = true, value_type = String)]
    reason: Option<String>,
}

/// Withdraw a validation that was not submitted
#[utoipa::path(post, path = "/v0.1/validations/{id}/invalidate", tag = "claims", request_body = InvalidateBody,
    params(("id" = String, Path)), responses((status = 200, body = ValidationView), (status = 404), (status = 409)))]
pub async fn invalidate(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<InvalidateBody>,
) -> Result<Shown<ValidationView>, Problem> {
    let claims = about(&caller, id).await?;
    claims.is_validation(id).await?;
    let reason = body.reason.ok_or_else(|| Problem::wrong("reason", "say why"))?;
    Ok(Shown(claims.invalidate_validation(id, reason).await?.into()))
}
