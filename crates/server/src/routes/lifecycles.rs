//! Lifecycles: the tables in force, their pictures, and new ones.

use std::sync::Arc;

use axum::Json as Shown;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use tenure::core::check::check;
use tenure::core::code::Code;
use tenure::core::lifecycle::diagram::{Format, draw};
use tenure::core::lifecycle::parse::parse;
use tenure::core::lifecycle::shipped::is_own;
use tenure::core::lifecycle::tables::Tables;
use tenure::core::lifecycle::{SharedTable, Table};
use tenure::core::word::Kind;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::caller::{Admin, Caller};
use crate::extract::{Json, read, segment};
use crate::once;
use crate::page::Page;
use crate::problem::{Problem, internal};
use crate::shape::lifecycle::{AddedView, LifecycleBrief, LifecycleView, WarningView};

const MARKDOWN: &str = "text/markdown";

/// A kind that a path names.
#[derive(Debug)]
pub struct KindName(pub Kind);

impl<S: Send + Sync> FromRequestParts<S> for KindName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<KindName, Problem> {
        let name = segment(parts, state, "kind").await?;
        name.parse().map(KindName).map_err(|_| none(&name))
    }
}

fn none(kind: &str) -> Problem {
    Problem::not_found(format!("there is no lifecycle {kind}; /v1/lifecycles lists them"))
}

/// The lifecycle in force for a kind that the caller has to do with.
pub fn in_force(caller: &Caller, kind: &Kind) -> Result<SharedTable, Problem> {
    let table = caller.tenure.lifecycles().current(kind).cloned();
    table.filter(|_| caller.may_use(kind).is_ok()).ok_or_else(|| none(kind))
}

/// List the lifecycles in force
#[utoipa::path(get, path = "/v1/lifecycles", tag = "lifecycles", responses((status = 200, body = Page<LifecycleBrief>)))]
pub async fn list(caller: Caller) -> Shown<Page<LifecycleBrief>> {
    let tables = caller.tenure.lifecycles();
    let mine = tables.iter().filter(|table| caller.may_use(&table.kind).is_ok());
    Shown(Page { items: mine.map(|table| LifecycleBrief::of(table)).collect(), next_cursor: None })
}

/// Show a lifecycle
#[utoipa::path(get, path = "/v1/lifecycles/{kind}", tag = "lifecycles", params(("kind" = String, Path)),
    responses((status = 200, body = LifecycleView), (status = 404)))]
pub async fn show(caller: Caller, KindName(kind): KindName) -> Result<Shown<LifecycleView>, Problem> {
    Ok(Shown(LifecycleView::of(&*in_force(&caller, &kind)?)))
}

/// Draw a lifecycle
#[utoipa::path(get, path = "/v1/lifecycles/{kind}/diagram.svg", tag = "lifecycles", params(("kind" = String, Path)),
    responses((status = 200, content_type = "image/svg+xml", body = String), (status = 404)))]
pub async fn diagram(caller: Caller, KindName(kind): KindName) -> Result<Response, Problem> {
    let table = in_force(&caller, &kind)?;
    let headers = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, draw(&table, Format::Svg)).into_response())
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LifecycleBody {
    /// Markdown.
    source: String,
}

/// Put a lifecycle in force
///
/// A new kind, or a new version of one: items keep the version they were created under. The body is the Markdown itself
/// (`text/markdown`) or `{source}`. What is wrong with it is told with the lines, in `faults`. A table that can be read is
/// explored as `tenure check` does it, and what that finds is told in `warnings`.
#[utoipa::path(post, path = "/v1/lifecycles", tag = "lifecycles", extensions(("x-access" = json!("admin"))),
    request_body(content((LifecycleBody = "application/json"), (String = "text/markdown"))),
    responses((status = 201, body = AddedView), (status = 200, description = "it is in force already", body = AddedView), (status = 403),
        (status = 422)))]
pub async fn add(Admin(caller): Admin, request: Request) -> Result<(StatusCode, Shown<AddedView>), Problem> {
    caller.everywhere()?;
    let source = source(request).await?;
    let table = parse(&source).map_err(|faults| {
        let count = faults.len();
        let told: Vec<_> =
            faults.iter().map(|fault| json!({ "line": fault.line, "what": fault.what })).collect();
        let first = faults.first().map(ToString::to_string).unwrap_or_default();
        let detail = format!("the lifecycle has {count} faults; the first is in line {first}");
        Problem::new(Code::SchemaViolation, detail).with("faults", told)
    })?;
    if is_own(&table.kind) {
        let detail = format!("the engine works by its own lifecycle {}: it is not to be changed", table.kind);
        return Err(Problem::invalid(detail));
    }
    let (kind, hash) = (table.kind.clone(), table.hash());
    let fresh = caller.tenure.lifecycles().current(&kind).is_none_or(|current| current.hash() != hash);
    let warnings = explored(table, caller.tenure.lifecycles()).await?;
    caller.tenure.add_lifecycle(source).await?;
    let shown = in_force(&caller, &kind)?;
    Ok((once::status(fresh), Shown(AddedView { lifecycle: LifecycleView::of(&shown), warnings })))
}

/// Exploring keeps a processor busy for as long as seconds: one is enough.
static EXPLORING: Semaphore = Semaphore::const_new(1);

async fn explored(table: Table, known: Arc<Tables>) -> Result<Vec<WarningView>, Problem> {
    let _turn = EXPLORING.acquire().await.map_err(|why| internal(why.to_string()))?;
    let report = spawn_blocking(move || check(&table, &known)).await;
    let report = report.map_err(|why| internal(format!("the lifecycle was not explored: {why}")))?;
    Ok(report.findings.into_iter().map(WarningView::from).collect())
}

async fn source(request: Request) -> Result<String, Problem> {
    let named = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = named.and_then(|named| named.split(';').next()).unwrap_or_default().trim();
    let is_markdown = essence.eq_ignore_ascii_case(MARKDOWN);
    if is_markdown {
        let bytes = read(request).await?.to_vec();
        return String::from_utf8(bytes).map_err(|_| Problem::invalid("the body is not UTF-8"));
    }
    let Json(LifecycleBody { source }) = Json::from_request(request, &()).await?;
    Ok(source)
}
