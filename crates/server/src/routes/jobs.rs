//! Jobs: the same as items of the kind `job`, by the names that jobs have.

use axum::Extension;
use axum::Json as Shown;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure::Outcome;
use tenure::core::actor::Role;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use utoipa::ToSchema;

use super::items::{
    EventBody, ListParams, ShowParams, command, create_one, executions_of, listed, moved, seen_by,
};
use crate::caller::{Caller, With};
use crate::extract::{Id, Json};
use crate::hidden::Originated;
use crate::once;
use crate::page::Page;
use crate::problem::{Problem, internal};
use crate::serve::Serving;
use crate::shape::attempt::AttemptView;
use crate::shape::create::CreateBody;
use crate::shape::item::ItemView;

const KIND: &str = "job";

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobBody {
    #[schema(value_type = serde_json::Value)]
    payload: Box<RawValue>,
    /// Repeated with the same key, it is the same job. The header `Idempotency-Key` is the same.
    idempotency_key: Option<String>,
    key: Option<String>,
    /// A head start: higher is sooner.
    priority: Option<i8>,
    /// Not before this time (RFC 3339).
    run_at: Option<String>,
    max_attempts: Option<u32>,
}

impl JobBody {
    fn into_create(self) -> CreateBody {
        CreateBody {
            kind: KIND.to_string(),
            payload: self.payload,
            idempotency_key: self.idempotency_key,
            key: self.key,
            priority: self.priority,
            run_at: self.run_at,
            max_attempts: self.max_attempts,
            store: None,
        }
    }
}

/// An item, and what jobs call it.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobView {
    pub job_id: String,
    /// The job in whose place this one was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<String>,
    #[serde(flatten)]
    pub item: ItemView,
}

impl JobView {
    fn of(item: &Item, shown: ItemView) -> JobView {
        // What another item's commit makes has an origin too; it is made by the engine.
        let retry_of = shown.origin.clone().filter(|_| item.created_by.role != Role::System);
        JobView { job_id: shown.id.clone(), retry_of, item: shown }
    }

    fn brief(item: &Item) -> JobView {
        JobView::of(item, ItemView::brief(item))
    }
}

impl Originated for JobView {
    fn origin(&self) -> Option<ItemId> {
        self.item.origin()
    }

    fn hide_origin(&mut self) {
        self.retry_of = None;
        self.item.hide_origin();
    }
}

/// A job that the caller may know of. An item of another kind is none.
async fn job(caller: &Caller, id: ItemId) -> Result<Item, Problem> {
    let item = caller.item(id).await?;
    match item.table.kind.as_str() == KIND {
        true => Ok(item),
        false => Err(Problem::not_found(format!("there is no job {id} in this store"))),
    }
}

/// Submit a job
#[utoipa::path(post, path = "/v1/jobs", tag = "jobs", request_body = JobBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as the field"),
        ("traceparent" = Option<String>, Header, description = "handed on to whoever works on it; so is `tracestate`")),
    responses((status = 201, body = JobView), (status = 200, description = "repeated: the first answer", body = JobView)))]
pub async fn create(
    caller: Caller,
    headers: HeaderMap,
    Json(body): Json<JobBody>,
) -> Result<(StatusCode, Shown<JobView>), Problem> {
    let (status, item) = create_one(&caller, once::header(&headers)?, &body.into_create()).await?;
    Ok((status, Shown(JobView { job_id: item.id.clone(), retry_of: None, item })))
}

/// List jobs
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", params(ListParams), responses((status = 200, body = Page<JobView>)))]
pub async fn list(With(caller, params): With<ListParams>) -> Result<Shown<Page<JobView>>, Problem> {
    let query = params.of_kind(KIND)?.query(&caller)?;
    listed(&caller, query, JobView::brief).await.map(Shown)
}

/// Show a job
#[utoipa::path(get, path = "/v1/jobs/{id}", tag = "jobs", params(("id" = String, Path), ShowParams),
    responses((status = 200, body = JobView), (status = 404)))]
pub async fn show(
    With(caller, params): With<ShowParams>,
    Id(id): Id,
    serving: Option<Extension<Serving>>,
) -> Result<Shown<JobView>, Problem> {
    job(&caller, id).await?;
    let whole = params.whole(&caller, id, serving).await?;
    seen_by(&caller, JobView::of(&whole.item, ItemView::whole(&whole))).await.map(Shown)
}

/// List the executions of a job
#[utoipa::path(get, path = "/v1/jobs/{id}/executions", tag = "jobs", params(("id" = String, Path)),
    responses((status = 200, body = Page<AttemptView>), (status = 404)))]
pub async fn executions(caller: Caller, Id(id): Id) -> Result<Shown<Page<AttemptView>>, Problem> {
    job(&caller, id).await?;
    executions_of(&caller, id).await
}

/// Cancel a job
///
/// One that waits is cancelled at once; the worker of one that runs learns it at its next heartbeat.
#[utoipa::path(post, path = "/v1/jobs/{id}/cancel", tag = "jobs", request_body = EventBody, params(("id" = String, Path)),
    responses((status = 200, body = JobView), (status = 404), (status = 409)))]
pub async fn cancel(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<EventBody>,
) -> Result<Shown<JobView>, Problem> {
    let item = job(&caller, id).await?;
    let shown = moved(&caller, command(&item, "cancel", body)?).await?;
    seen_by(&caller, JobView::of(&item, shown)).await.map(Shown)
}

/// Try a job again that failed or was cancelled
///
/// A final state never moves, so this makes a new job, which names the old one in `retry_of`. Asked twice it is one new job.
#[utoipa::path(post, path = "/v1/jobs/{id}/retry", tag = "jobs", params(("id" = String, Path)),
    responses((status = 201, body = JobView), (status = 200, description = "repeated: the first answer", body = JobView), (status = 404),
        (status = 409)))]
pub async fn retry(caller: Caller, Id(id): Id) -> Result<(StatusCode, Shown<JobView>), Problem> {
    job(&caller, id).await?;
    match caller.tenure.tried_again(id).await? {
        Outcome::Again(new) => Ok((StatusCode::CREATED, Shown(JobView::brief(&new)))),
        Outcome::Stood(item) | Outcome::Moved(item) => Ok((StatusCode::OK, Shown(JobView::brief(&item)))),
        Outcome::Not(error) => Err(error.into()),
        Outcome::Would(_) => Err(internal("it was asked for, and not done")),
    }
}
