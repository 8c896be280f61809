//! What waits for a person, and what they say to it.

use axum::Json as Shown;
use serde::Deserialize;
use tenure::core::id::ItemId;
use tenure_systems::tickets::{Tickets, Word};
use utoipa::IntoParams;

use super::TicketNoteBody;
use super::shape::WaitingView;
use crate::caller::Caller;
use crate::extract::{Id, Json, Params};
use crate::page::{Page, after, limit};
use crate::problem::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct InboxParams {
    #[serde(rename = "store")]
    _store: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// List what waits for a person
///
/// Tickets to be approved, tickets that are blocked, outputs to be looked at; oldest first.
#[utoipa::path(get, path = "/v1/inbox", tag = "tickets", params(InboxParams),
    responses((status = 200, body = Page<WaitingView>)))]
pub async fn list(
    caller: Caller,
    Params(params): Params<InboxParams>,
) -> Result<Shown<Page<WaitingView>>, Problem> {
    caller.may_use(&super::KIND.parse()?)?;
    let (after, limit) = (after(params.cursor.as_deref())?, limit(params.limit)?);
    let found = Tickets::of(&caller.tenure).inbox(after, limit).await?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|last| last.id.to_string());
    Ok(Shown(Page { items: found.into_iter().map(WaitingView::from).collect(), next_cursor }))
}

/// Say yes
///
/// A ticket that is NEW is approved, one that is BLOCKED is resolved, an output passes its `human:` gates.
#[utoipa::path(post, path = "/v1/inbox/{id}/approve", tag = "tickets", request_body = TicketNoteBody,
    params(("id" = String, Path)), responses((status = 200, body = WaitingView), (status = 404), (status = 409)))]
pub async fn approve(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<TicketNoteBody>,
) -> Result<Shown<WaitingView>, Problem> {
    answer(&caller, id, Word::Approve, body).await
}

/// Say no
///
/// An output fails its `human:` gates; a ticket that is NEW gets a blocker.
#[utoipa::path(post, path = "/v1/inbox/{id}/reject", tag = "tickets", request_body = TicketNoteBody,
    params(("id" = String, Path)), responses((status = 200, body = WaitingView), (status = 404), (status = 409)))]
pub async fn reject(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<TicketNoteBody>,
) -> Result<Shown<WaitingView>, Problem> {
    answer(&caller, id, Word::Reject, body).await
}

async fn answer(
    caller: &Caller,
    id: ItemId,
    word: Word,
    body: TicketNoteBody,
) -> Result<Shown<WaitingView>, Problem> {
    caller.item(id).await?;
    let answered = Tickets::of(&caller.tenure).answer(id, word, caller.actor(), body.note).await?;
    Ok(Shown(answered.into()))
}
