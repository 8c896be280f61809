//! Tickets, over HTTP: what people do with them, the work orders that come of them, and what waits for a person.

mod orders;
mod shape;

use axum::Json as Shown;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tenure::core::id::ItemId;
use tenure_systems::tickets::{NewTicket, Tickets};
use utoipa::ToSchema;

use super::items::ListParams;
use super::surface::{Surface, routes};
use crate::caller::{Caller, With};
use crate::extract::{Id, Json};
use crate::once;
use crate::page::Page;
use crate::problem::Problem;
use shape::{ExplanationView, PauseStateView, RunRecordView, TicketView};

const KIND: &str = "ticket";

pub fn routes() -> Surface {
    Surface::default()
        .routes(routes!(create, list))
        .routes(routes!(show))
        .routes(routes!(approve))
        .routes(routes!(block))
        .routes(routes!(resolve))
        .routes(routes!(explain))
        .routes(routes!(run_records))
        .routes(routes!(pause_state))
        .routes(routes!(orders::list))
        .routes(routes!(orders::show))
        .routes(routes!(orders::output, orders::deliver))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TicketBody {
    title: String,
    description: Option<String>,
    /// How long a work order may take.
    budget_ms: Option<u64>,
    /// What must hold of the result: `cmd:COMMAND`, `test:COMMAND`, `human:WHAT TO LOOK AT`.
    #[serde(default)]
    gates: Vec<String>,
    /// Repeated with the same key, it is the same ticket. The header `Idempotency-Key` is the same.
    idempotency_key: Option<String>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TicketNoteBody {
    /// Kept with who said it, and when.
    note: Option<String>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockBody {
    /// Needed.
    reason: Option<String>,
}

fn tickets(caller: &Caller) -> Tickets {
    Tickets::of(&caller.tenure)
}

/// A ticket that the caller may know of.
async fn known(caller: &Caller, id: ItemId) -> Result<Tickets, Problem> {
    let item = caller.item(id).await?;
    match item.table.kind.as_str() == KIND {
        true => Ok(tickets(caller)),
        false => Err(Problem::not_found(format!("there is no ticket {id} in this store"))),
    }
}

/// Create a ticket
///
/// It waits for a person's approval.
#[utoipa::path(post, path = "/v1/tickets", tag = "tickets", request_body = TicketBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as the field")),
    responses((status = 201, body = TicketView), (status = 200, description = "repeated: the first answer", body = TicketView), (status = 409),
        (status = 422)))]
pub async fn create(
    caller: Caller,
    headers: HeaderMap,
    Json(body): Json<TicketBody>,
) -> Result<(StatusCode, Shown<TicketView>), Problem> {
    caller.may_use(&KIND.parse()?)?;
    let TicketBody { title, description, budget_ms, gates, idempotency_key } = body;
    let key = once::key(idempotency_key, &headers)?;
    let new = NewTicket { title, description, budget_ms, gates };
    let (ticket, fresh) = tickets(&caller).create_once(&new, key.as_deref()).await?;
    Ok((once::status(fresh), Shown(ticket.into())))
}

/// List tickets
///
/// Oldest first, without who approved them and what blocks them.
#[utoipa::path(get, path = "/v1/tickets", tag = "tickets", params(ListParams),
    responses((status = 200, body = Page<TicketView>)))]
pub async fn list(With(caller, params): With<ListParams>) -> Result<Shown<Page<TicketView>>, Problem> {
    let query = params.of_kind(KIND)?.query(&caller)?;
    let limit = query.limit;
    let found = tickets(&caller).list(query).await?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|last| last.ticket_id.to_string());
    Ok(Shown(Page { items: found.into_iter().map(TicketView::from).collect(), next_cursor }))
}

/// Show a ticket
#[utoipa::path(get, path = "/v1/tickets/{id}", tag = "tickets", params(("id" = String, Path)),
    responses((status = 200, body = TicketView), (status = 404)))]
pub async fn show(caller: Caller, Id(id): Id) -> Result<Shown<TicketView>, Problem> {
    Ok(Shown(known(&caller, id).await?.show(id).await?.into()))
}

/// Approve a ticket
///
/// From now on machines may work on it. Who, when and the note are kept.
#[utoipa::path(post, path = "/v1/tickets/{id}/approve", tag = "tickets", request_body = TicketNoteBody,
    params(("id" = String, Path)), responses((status = 200, body = TicketView), (status = 404), (status = 409)))]
pub async fn approve(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<TicketNoteBody>,
) -> Result<Shown<TicketView>, Problem> {
    Ok(Shown(known(&caller, id).await?.approve(id, body.note).await?.into()))
}

/// Block a ticket that is TODO
#[utoipa::path(post, path = "/v1/tickets/{id}/block", tag = "tickets", request_body = BlockBody,
    params(("id" = String, Path)), responses((status = 200, body = TicketView), (status = 404), (status = 409)))]
pub async fn block(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<BlockBody>,
) -> Result<Shown<TicketView>, Problem> {
    let tickets = known(&caller, id).await?;
    match body.reason.as_deref().map(str::trim) {
        Some(reason) if !reason.is_empty() => Ok(Shown(tickets.block(id, reason).await?.into())),
        _ => Err(Problem::wrong("reason", "say why it is blocked")),
    }
}

/// Resolve what blocks a ticket
///
/// Its blockers are closed and it returns to TODO, in one transaction.
#[utoipa::path(post, path = "/v1/tickets/{id}/resolve", tag = "tickets", request_body = TicketNoteBody,
    params(("id" = String, Path)), responses((status = 200, body = TicketView), (status = 404), (status = 409)))]
pub async fn resolve(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<TicketNoteBody>,
) -> Result<Shown<TicketView>, Problem> {
    Ok(Shown(known(&caller, id).await?.resolve(id, body.note).await?.into()))
}

/// Explain a ticket
///
/// Its runs, read back from their artifacts alone.
#[utoipa::path(get, path = "/v1/tickets/{id}/explain", tag = "tickets", params(("id" = String, Path)),
    responses((status = 200, body = ExplanationView), (status = 404)))]
pub async fn explain(caller: Caller, Id(id): Id) -> Result<Shown<ExplanationView>, Problem> {
    Ok(Shown(known(&caller, id).await?.explain(id).await?.into()))
}

/// List the run records of a ticket
#[utoipa::path(get, path = "/v1/tickets/{id}/run-records", tag = "tickets", params(("id" = String, Path)),
    responses((status = 200, body = Page<RunRecordView>), (status = 404)))]
pub async fn run_records(caller: Caller, Id(id): Id) -> Result<Shown<Page<RunRecordView>>, Problem> {
    let records = known(&caller, id).await?.run_records(id).await?;
    Ok(Shown(Page { items: records.into_iter().map(RunRecordView::from).collect(), next_cursor: None }))
}

/// Show why a ticket paused last
///
/// With one to three things that can be done now. Not found: it has not paused yet.
#[utoipa::path(get, path = "/v1/tickets/{id}/pause-state", tag = "tickets", params(("id" = String, Path)),
    responses((status = 200, body = PauseStateView), (status = 404)))]
pub async fn pause_state(caller: Caller, Id(id): Id) -> Result<Shown<PauseStateView>, Problem> {
    let paused = known(&caller, id).await?.pause_state(id).await?.and_then(PauseStateView::of);
    paused.map(Shown).ok_or_else(|| Problem::not_found(format!("ticket {id} has not paused yet")))
}
