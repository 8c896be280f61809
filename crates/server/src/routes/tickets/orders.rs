//! Work orders, and the output of their runners.

use axum::Json as Shown;
use serde::Deserialize;
use serde_json::Value;
use tenure::Attempt;
use tenure::core::id::ItemId;
use tenure_systems::tickets::Tickets;
use utoipa::ToSchema;

use super::shape::{OutputView, WorkOrderView};
use crate::caller::{Caller, With};
use crate::extract::{Id, Json, execution};
use crate::page::Page;
use crate::problem::Problem;
use crate::routes::items::ListParams;
use crate::shape::attempt::AttemptView;

const KIND: &str = "work_order";

/// A work order that the caller may know of.
async fn known(caller: &Caller, id: ItemId) -> Result<Tickets, Problem> {
    let item = caller.item(id).await?;
    match item.table.kind.as_str() == KIND {
        true => Ok(Tickets::of(&caller.tenure)),
        false => Err(Problem::not_found(format!("there is no work order {id} in this store"))),
    }
}

/// List work orders
///
/// Oldest first, without the context they were planned in.
#[utoipa::path(get, path = "/v1/work-orders", tag = "tickets", params(ListParams),
    responses((status = 200, body = Page<WorkOrderView>)))]
pub async fn list(With(caller, params): With<ListParams>) -> Result<Shown<Page<WorkOrderView>>, Problem> {
    let query = params.of_kind(KIND)?.query(&caller)?;
    let limit = query.limit;
    let found = Tickets::of(&caller.tenure).orders(query).await?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|last| last.item.id.to_string());
    Ok(Shown(Page { items: found.into_iter().map(WorkOrderView::from).collect(), next_cursor }))
}

/// Show a work order, with the context it was planned in
#[utoipa::path(get, path = "/v1/work-orders/{id}", tag = "tickets", params(("id" = String, Path)),
    responses((status = 200, body = WorkOrderView), (status = 404)))]
pub async fn show(caller: Caller, Id(id): Id) -> Result<Shown<WorkOrderView>, Problem> {
    Ok(Shown(known(&caller, id).await?.order(id).await?.into()))
}

/// Show what a runner stored of a work order
///
/// Not found: nobody has carried it out yet.
#[utoipa::path(get, path = "/v1/work-orders/{id}/output", tag = "tickets", params(("id" = String, Path)),
    responses((status = 200, body = OutputView), (status = 404)))]
pub async fn output(caller: Caller, Id(id): Id) -> Result<Shown<OutputView>, Problem> {
    let output = known(&caller, id).await?.output(id).await?;
    let none = || Problem::not_found(format!("work order {id} has no output yet"));
    Ok(Shown(output.ok_or_else(none)?.into()))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliverBody {
    /// The execution of the lease; needed, as are the others.
    execution: Option<String>,
    lease_token: Option<String>,
    #[schema(value_type = Option<serde_json::Value>)]
    output_bundle: Option<Value>,
}

/// Store the output of a work order
///
/// As the holder of its lease. The bundle, the gate that will judge it and the end of the order are one commit.
#[utoipa::path(post, path = "/v1/work-orders/{id}/output", tag = "tickets", request_body = DeliverBody,
    params(("id" = String, Path)),
    responses((status = 200, body = AttemptView), (status = 404), (status = 409), (status = 422)))]
pub async fn deliver(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<DeliverBody>,
) -> Result<Shown<AttemptView>, Problem> {
    known(&caller, id).await?;
    let missing = |field| Problem::wrong(field, "it is missing");
    let named = body.execution.ok_or_else(|| missing("execution"))?;
    let token = body.lease_token.ok_or_else(|| missing("lease_token"))?;
    let bundle = body.output_bundle.ok_or_else(|| missing("output_bundle"))?;
    let execution = execution(&named)?;
    if execution.item != id {
        return Err(Problem::wrong("execution", "it is of another work order"));
    }
    let tickets = Tickets::of(&caller.holder(execution, &token)?);
    Ok(Shown(Attempt::brief(&*tickets.deliver(execution, &bundle).await?).into()))
}
