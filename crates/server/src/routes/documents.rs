//! Documents and their runs, over HTTP.

mod upload;
mod view;

use axum::Extension;
use axum::Json as Shown;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Deserialize;
use tenure::core::id::ItemId;
use tenure::databases::{Order, Query};
use tenure_systems::runs::documents::{NotDone, PAGE_MAX};
use tenure_systems::runs::files::NotStored;
use tenure_systems::runs::{DOCUMENT, Documents, RUN};
use tokio::io::AsyncReadExt;
use utoipa::{IntoParams, ToSchema};

use super::items::wait;
use super::surface::{Surface, routes};
use crate::caller::{Caller, With};
use crate::extract::{Id, Json, Name};
use crate::once;
use crate::page::{Page, after};
use crate::problem::{Problem, internal};
use crate::serve::{Serving, ended};
use tenure::core::code::Code;
use view::{ArtifactView, DocumentView, QueuedView, RunStoryView, RunView};

pub fn routes() -> Surface {
    Surface::default()
        .routes(routes!(upload::upload, list))
        .routes(routes!(show))
        .routes(routes!(content))
        .routes(routes!(reprocess))
        .routes(routes!(runs))
        .routes(routes!(run))
        .routes(routes!(artifacts))
        .routes(routes!(artifact))
}

/// Where its length is not asked for. Each of a page is read by itself.
const PAGE: usize = 20;
/// Sent at once.
const CHUNK_BYTES: usize = 64 << 10;

impl From<NotDone> for Problem {
    fn from(not: NotDone) -> Problem {
        let words = not.to_string();
        match not {
            NotDone::Engine(error) => error.into(),
            NotDone::Stored(not) => not.into(),
            // Somebody wanted it gone: nothing is broken.
            NotDone::NoSuch(..) | NotDone::Erased(_) => Problem::not_found(words),
            NotDone::Strange(_) => broken("CONTENT_MISSING", words),
            NotDone::Read(not) => broken(not.code(), words),
        }
    }
}

impl From<NotStored> for Problem {
    fn from(not: NotStored) -> Problem {
        let words = not.to_string();
        match not {
            NotStored::TooLarge => Problem::new(Code::PayloadTooLarge, words),
            NotStored::Empty => Problem::invalid(words),
            NotStored::Failed(_) => Problem::unavailable(words),
        }
    }
}

/// What was stored is not there as it was: for whoever runs the service.
fn broken(code: &str, words: String) -> Problem {
    match code.parse() {
        Ok(code) => Problem::new(code, words).status(StatusCode::INTERNAL_SERVER_ERROR),
        Err(_) => internal(words),
    }
}

/// The caller's documents.
fn documents(caller: &Caller) -> Result<Documents, Problem> {
    match &caller.app.library {
        Some(library) => Ok(library.documents(caller.tenure.clone())),
        None => Err(Problem::unavailable("this server keeps no files, and so no documents")),
    }
}

/// Whether the caller may know of it, as the kind it is.
async fn known(caller: &Caller, kind: &str, id: ItemId) -> Result<Documents, Problem> {
    let item = caller.item(id).await?;
    match item.table.kind.as_str() == kind {
        true => documents(caller),
        false => Err(Problem::not_found(format!("there is no {kind} {id} in this store"))),
    }
}

fn page_limit(asked: Option<usize>) -> Result<usize, Problem> {
    match asked.unwrap_or(PAGE) {
        limit @ 1..=PAGE_MAX => Ok(limit),
        other => Err(Problem::wrong("limit", format!("{other} is not between 1 and {PAGE_MAX}"))),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListParams {
    /// `oldest` (the default) or `newest`.
    order: Option<String>,
    /// 20 where it is not said, at most 100.
    limit: Option<usize>,
    cursor: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// List documents
#[utoipa::path(get, path = "/v1/documents", tag = "documents", params(ListParams),
    responses((status = 200, body = Page<DocumentView>)))]
pub async fn list(With(caller, params): With<ListParams>) -> Result<Shown<Page<DocumentView>>, Problem> {
    caller.may_use(&DOCUMENT.parse()?)?;
    let order = match params.order.as_deref() {
        None | Some("oldest") => Order::Oldest,
        Some("newest") => Order::Newest,
        Some(_) => return Err(Problem::wrong("order", "`oldest` or `newest`")),
    };
    let (after, limit) = (after(params.cursor.as_deref())?, page_limit(params.limit)?);
    let found = documents(&caller)?.documents(Query { order, after, limit, ..Query::default() }).await?;
    let last = found.last().filter(|_| found.len() == limit);
    let next_cursor = last.map(|last| last.document_id.to_string());
    Ok(Shown(Page { items: found.into_iter().map(DocumentView::from).collect(), next_cursor }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ShowParams {
    /// Waits so long for its run to end, at most 30,000.
    wait_ms: Option<u64>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

impl ShowParams {
    /// Waits until the run is over, or for as long as was asked.
    async fn wait(
        &self,
        caller: &Caller,
        run: Option<ItemId>,
        serving: Option<Extension<Serving>>,
    ) -> Result<(), Problem> {
        let patience = wait(self.wait_ms)?;
        let Some(run) = run.filter(|_| !patience.is_zero()) else { return Ok(()) };
        let waited = tokio::select! {
            waited = caller.tenure.wait(run, caller.patience(patience)) => waited,
            () = ended(serving) => return Ok(()),
        };
        caller.must_be_good().await?;
        match waited {
            Ok(_) | Err(tenure::Error::StillOpen(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Show a document
///
/// Its status is that of its latest run: UPLOADED without one, PROCESSING while it waits or runs, then COMPLETED, FAILED or TIMED_OUT.
#[utoipa::path(get, path = "/v1/documents/{id}", tag = "documents", params(("id" = String, Path), ShowParams),
    responses((status = 200, body = DocumentView), (status = 404)))]
pub async fn show(
    With(caller, params): With<ShowParams>,
    Id(id): Id,
    serving: Option<Extension<Serving>>,
) -> Result<Shown<DocumentView>, Problem> {
    let documents = known(&caller, DOCUMENT, id).await?;
    let latest = documents.document(id).await?;
    params.wait(&caller, latest.latest_run_id, serving).await?;
    Ok(Shown(documents.document(id).await?.into()))
}

/// Download what was uploaded
///
/// The bytes as they came, under the type that they were found to have.
#[utoipa::path(get, path = "/v1/documents/{id}/content", tag = "documents", params(("id" = String, Path)),
    responses((status = 200, description = "the document", body = Vec<u8>, content_type = "*/*"), (status = 404)))]
pub async fn content(caller: Caller, Id(id): Id) -> Result<Response, Problem> {
    let (facts, file) = known(&caller, DOCUMENT, id).await?.content(id).await?;
    let file = tokio::fs::File::from_std(file);
    let chunks = unfold((file, facts.size), |(mut file, left)| async move {
        let mut chunk = vec![0; CHUNK_BYTES.min(usize::try_from(left).unwrap_or(CHUNK_BYTES))];
        match file.read(&mut chunk).await {
            Ok(0) => None,
            Ok(count) => {
                chunk.truncate(count);
                Some((Ok(Bytes::from(chunk)), (file, left.saturating_sub(count as u64))))
            }
            Err(why) => Some((Err(why), (file, 0))),
        }
    });
    let mut response = Body::from_stream(chunks).into_response();
    let headers = response.headers_mut();
    let value = |text: &str| HeaderValue::from_str(text).map_err(|why| internal(why.to_string()));
    headers.insert(header::CONTENT_TYPE, value(&facts.media_type)?);
    headers.insert(header::CONTENT_LENGTH, facts.size.into());
    headers.insert(header::CONTENT_DISPOSITION, value(&view::attachment(&facts.name))?);
    // A browser neither guesses what it is nor lets it do anything.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    headers.insert(header::ETAG, value(&format!("\"{}\"", facts.sha256))?);
    Ok(response)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReprocessBody {
    /// Repeated with the same key, it is the same run. The header `Idempotency-Key` is the same.
    idempotency_key: Option<String>,
}

/// Process a document again
///
/// Always a new run, whatever became of those before. It waits until none of the document runs.
#[utoipa::path(post, path = "/v1/documents/{id}/reprocess", tag = "documents", request_body = ReprocessBody,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "the same as the field")),
    responses((status = 201, body = QueuedView), (status = 200, description = "repeated: the first answer", body = QueuedView),
        (status = 404)))]
pub async fn reprocess(
    caller: Caller,
    Id(id): Id,
    headers: HeaderMap,
    Json(body): Json<ReprocessBody>,
) -> Result<(StatusCode, Shown<QueuedView>), Problem> {
    let documents = known(&caller, DOCUMENT, id).await?;
    caller.may_use(&RUN.parse()?)?;
    let key = once::key(body.idempotency_key, &headers)?;
    let queued = documents.reprocess(id, key, caller.trace.clone()).await?;
    Ok((once::status(queued.is_new), Shown(queued.into())))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RunParams {
    /// 20 where it is not said, at most 100.
    limit: Option<usize>,
    cursor: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// List the runs of a document
///
/// Oldest first, with every attempt at every step.
#[utoipa::path(get, path = "/v1/documents/{id}/runs", tag = "documents", params(("id" = String, Path), RunParams),
    responses((status = 200, body = Page<RunView>), (status = 404)))]
pub async fn runs(
    With(caller, params): With<RunParams>,
    Id(id): Id,
) -> Result<Shown<Page<RunView>>, Problem> {
    let documents = known(&caller, DOCUMENT, id).await?;
    caller.may_use(&RUN.parse()?)?;
    let (after, limit) = (after(params.cursor.as_deref())?, page_limit(params.limit)?);
    let (runs, next) = documents.runs(id, after, limit).await?;
    let next_cursor = next.map(|next| next.to_string());
    Ok(Shown(Page { items: runs.into_iter().map(RunView::from).collect(), next_cursor }))
}

/// Show a run
///
/// With its steps, and with everything that happened to it.
#[utoipa::path(get, path = "/v1/runs/{id}", tag = "documents", params(("id" = String, Path), ShowParams),
    responses((status = 200, body = RunStoryView), (status = 404)))]
pub async fn run(
    With(caller, params): With<ShowParams>,
    Id(id): Id,
    serving: Option<Extension<Serving>>,
) -> Result<Shown<RunStoryView>, Problem> {
    let documents = known(&caller, RUN, id).await?;
    params.wait(&caller, Some(id), serving).await?;
    let (run, events) = (documents.run(id).await?, documents.events(id).await?);
    Ok(Shown(RunStoryView::of(run, events)))
}

/// List what the steps of a run have made
///
/// What is larger than 64 KiB is listed without its value: ask for it by its name.
#[utoipa::path(get, path = "/v1/runs/{id}/artifacts", tag = "documents", params(("id" = String, Path)),
    responses((status = 200, body = Page<ArtifactView>), (status = 404)))]
pub async fn artifacts(caller: Caller, Id(id): Id) -> Result<Shown<Page<ArtifactView>>, Problem> {
    let artifacts = known(&caller, RUN, id).await?.artifacts(id).await?;
    Ok(Shown(Page { items: artifacts.into_iter().map(ArtifactView::from).collect(), next_cursor: None }))
}

/// Show what a step of a run has made
#[utoipa::path(get, path = "/v1/runs/{id}/artifacts/{name}", tag = "documents",
    params(("id" = String, Path), ("name" = String, Path, description = "the step's")),
    responses((status = 200, body = ArtifactView), (status = 404)))]
pub async fn artifact(caller: Caller, Id(id): Id, Name(name): Name) -> Result<Shown<ArtifactView>, Problem> {
    let artifact = known(&caller, RUN, id).await?.artifact(id, &name).await?;
    Ok(Shown(artifact.into()))
}
