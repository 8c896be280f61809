//! One event for all items that a filter finds, a page at a time.

use axum::Json as Shown;
use axum::http::StatusCode;
use serde::Deserialize;
use tenure::core::id::ItemId;
use tenure::databases::Query;
use tenure::{BULK_MAX, Mode, Outcome as Became};
use utoipa::ToSchema;

use super::items::EventName;
use crate::caller::Caller;
use crate::extract::Json;
use crate::hidden;
use crate::own::not_moved_by_hand;
use crate::page::{Page, after};
use crate::problem::Problem;
use crate::shape::filter::Filter;
use crate::shape::item::ItemView;
use crate::shape::outcome::Outcome;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkBody {
    /// All of the store, where it names nothing; a redrive is then about those that failed.
    filter: Filter,
    /// Kept in the log.
    reason: String,
    /// Items of one call, 500 at most and by default.
    limit: Option<usize>,
    /// Nothing happens; the outcomes say what would.
    #[serde(default)]
    dry_run: bool,
    /// The `next_cursor` of the call before.
    cursor: Option<String>,
}

/// Cancel or redrive many
///
/// The event is `cancel` or `redrive`. Each item has its own outcome: one that moved is shown, for one that is in a final state a
/// new one is made and shown, and one that stays as it is has a problem. Repeat with `next_cursor` until it is null.
#[utoipa::path(post, path = "/v1/items/bulk/{event}", tag = "items", request_body = BulkBody,
    params(("event" = String, Path)), responses((status = 200, body = Page<Outcome>)))]
pub async fn bulk(
    caller: Caller,
    EventName(event): EventName,
    Json(body): Json<BulkBody>,
) -> Result<Shown<Page<Outcome>>, Problem> {
    let limit = match body.limit.unwrap_or(BULK_MAX) {
        limit @ 1..=BULK_MAX => limit,
        other => return Err(Problem::wrong("limit", format!("{other} is not between 1 and {BULK_MAX}"))),
    };
    if body.reason.trim().is_empty() {
        return Err(Problem::wrong("reason", "say why; the log keeps it"));
    }
    let query = Query { limit, after: after(body.cursor.as_deref())?, ..body.filter.query(&caller)? };
    if let Some(kind) = &query.kind {
        not_moved_by_hand(kind)?;
    }
    let mode = if body.dry_run { Mode::DryRun } else { Mode::Act };
    let done = match event.as_str() {
        "cancel" => caller.tenure.cancel_all(query, &body.reason, mode).await?,
        "redrive" => caller.tenure.redrive_because(query, caller.actor().role, &body.reason, mode).await?,
        _ => return Err(Problem::wrong("event", "of many, `cancel` or `redrive`")),
    };
    let mut items: Vec<Outcome> = done.outcomes.into_iter().map(|one| outcome(&caller, one)).collect();
    hidden::origins(&caller, items.iter_mut().filter_map(|one| one.item.as_mut())).await?;
    Ok(Shown(Page { items, next_cursor: done.next.map(|id| id.to_string()) }))
}

fn outcome(caller: &Caller, (id, became): (ItemId, Became)) -> Outcome {
    let yes = match became {
        Became::Would(event) => Outcome { event: Some(event.to_string()), ..Outcome::of(StatusCode::OK) },
        Became::Moved(item) | Became::Stood(item) => {
            Outcome { item: Some(ItemView::brief(&item)), ..Outcome::of(StatusCode::OK) }
        }
        Became::Again(item) => {
            Outcome { item: Some(ItemView::brief(&item)), ..Outcome::of(StatusCode::CREATED) }
        }
        Became::Not(error) => Outcome::no(caller.no(error.into())),
    };
    Outcome { id: Some(id.to_string()), ..yes }
}
