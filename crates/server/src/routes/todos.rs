//! Tasks: added, claimed, proved done.
//!
//! Gates run where the workspace is, so whoever calls `done` brings their results, and here they are judged.

use axum::Json as Shown;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tenure::core::code::Code;
use tenure::core::id::ItemId;
use tenure::core::word::{Kind, Label, Who};
use tenure_systems::gate::Gate;
use tenure_systems::todos::list::{Counting, Listed, Readiness, Sorted, Wanted};
use tenure_systems::todos::receipt::{DeclaredPath, Proof, Run};
use tenure_systems::todos::validate::{LIMIT, LIMIT_MIN, Scope};
use tenure_systems::todos::workspace::Facts;
use tenure_systems::todos::{Changed, Error, KIND, New, Proved, Todos};
use utoipa::{IntoParams, ToSchema};

use super::sessions::named;
use super::surface::{Surface, routes};
use crate::caller::{Caller, With};
use crate::extract::{Id, Json};
use crate::once;
use crate::page::{after, limit};
use crate::problem::Problem;
use crate::shape::todo::{
    GateResultView, NextView, ProofArtifactView, ProofPathView, ProofReceiptView, TodoValidationView,
    TodoView, WorkspaceBody,
};

pub fn routes() -> Surface {
    Surface::default()
        .routes(routes!(add, list))
        .routes(routes!(next))
        .routes(routes!(validate))
        .routes(routes!(show))
        .routes(routes!(claim))
        .routes(routes!(release))
        .routes(routes!(done))
        .routes(routes!(abandon))
        .routes(routes!(depend))
        .routes(routes!(attest))
        .routes(routes!(plan))
        .routes(routes!(receipt))
}

/// The tasks, for this caller in the session that the request names.
async fn todos(caller: &Caller, session: Option<&str>) -> Result<Todos, Problem> {
    let kind: Kind = KIND.parse()?;
    caller.may_use(&kind)?;
    let session = match session {
        Some(token) => Some(named(caller, token).await?),
        None => None,
    };
    Ok(Todos::new(&caller.tenure, caller.actor().clone(), session, (*caller.app.todos).clone()))
}

/// The same, for a task that the caller may know of.
async fn about(caller: &Caller, id: ItemId, session: Option<&str>) -> Result<Todos, Problem> {
    let item = caller.item(id).await?;
    if item.table.kind.as_str() != KIND {
        return Err(Problem::not_found(format!("there is no task {id} in this store")));
    }
    todos(caller, session).await
}

fn ids(field: &str, texts: &[String]) -> Result<Vec<ItemId>, Problem> {
    let id =
        |text: &String| text.parse().map_err(|_| Problem::wrong(field, format!("{text:?} is no task's id")));
    texts.iter().map(id).collect()
}

fn gates(texts: &[String]) -> Result<Vec<Gate>, Problem> {
    texts.iter().map(|text| text.parse().map_err(|why| Problem::wrong("gates", why))).collect()
}

fn facts(workspace: Option<WorkspaceBody>) -> Option<Facts> {
    workspace.map(Facts::from)
}

fn shown(changed: Result<Changed, Error>) -> Result<Shown<TodoView>, Problem> {
    Ok(Shown(TodoView::changed(&changed?)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoBody {
    title: String,
    description: Option<String>,
    /// A head start of a day for each step, from -100 to 100: higher is sooner.
    priority: Option<i8>,
    #[serde(default)]
    tags: Vec<String>,
    /// Tasks that must be Verified before this one can be claimed.
    #[serde(default)]
    depends: Vec<String>,
    parent: Option<String>,
    /// Unique in the store: adding it again is the same task.
    external_reference: Option<String>,
    /// Its proof plan: `cmd:`, `test:`, `build:`, `file_exists:`, `file_hash:`, `human:`, with `advisory ` before what holds
    /// nothing up.
    #[serde(default)]
    gates: Vec<String>,
    /// Repeated with the same key, it is the same task. The header `Idempotency-Key` is the same.
    idempotency_key: Option<String>,
    session: Option<String>,
    workspace: Option<WorkspaceBody>,
}

/// Add a task
#[utoipa::path(post, path = "/v1/todos", tag = "todos", request_body = TodoBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as the field")),
    responses((status = 201, body = TodoView), (status = 200, description = "repeated: the same task", body = TodoView), (status = 409)))]
pub async fn add(
    caller: Caller,
    headers: HeaderMap,
    Json(body): Json<TodoBody>,
) -> Result<(StatusCode, Shown<TodoView>), Problem> {
    let idempotency_key = once::key(body.idempotency_key, &headers)?;
    let new = New {
        depends: ids("depends", &body.depends)?,
        parent: ids("parent", body.parent.as_slice())?.first().copied(),
        gates: gates(&body.gates)?,
        title: body.title,
        description: body.description,
        priority: body.priority,
        tags: body.tags,
        external_reference: body.external_reference,
        idempotency_key,
    };
    let todos = todos(&caller, body.session.as_deref()).await?;
    let added = todos.add(&new, facts(body.workspace).as_ref()).await?;
    Ok((once::status(added.fresh), Shown(TodoView::changed(&added))))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct TodoParams {
    /// Draft, Claimed, Verified or Abandoned.
    state: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
    /// `oldest` (the default), `newest`, or `next`: as they would be taken.
    order: Option<String>,
    /// Only with this tag.
    tag: Option<String>,
    /// Only what this agent or person holds.
    owner: Option<String>,
    /// Only what can be claimed now: nobody has it, and all is verified that it depends on.
    ready: Option<bool>,
    /// Say how many there are. In the order `next`, and with a filter, that is said anyway.
    count: Option<bool>,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl TodoParams {
    fn wanted(self) -> Result<Wanted, Problem> {
        let state = self.state.map(|state| state.parse::<Label>()).transpose();
        let owner = self.owner.map(|owner| owner.parse::<Who>()).transpose();
        let sorted = match self.order.as_deref() {
            None | Some("oldest") => Sorted::Oldest,
            Some("newest") => Sorted::Newest,
            Some("next") => Sorted::Next,
            Some(_) => return Err(Problem::wrong("order", "`oldest`, `newest` or `next`")),
        };
        Ok(Wanted {
            state: state.map_err(|not| Problem::wrong("state", not))?,
            sorted,
            tag: self.tag,
            owner: owner.map_err(|not| Problem::wrong("owner", not))?,
            readiness: if self.ready == Some(true) { Readiness::Ready } else { Readiness::Any },
            counting: if self.count == Some(true) { Counting::All } else { Counting::No },
            after: after(self.cursor.as_deref())?,
            limit: limit(self.limit)?,
        })
    }
}

/// A page of tasks.
#[derive(Debug, Serialize, ToSchema)]
pub struct TodosView {
    items: Vec<TodoView>,
    /// Goes into `cursor` for the next page. Null: that was all.
    next_cursor: Option<String>,
    /// Of all pages, where all were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

/// List tasks
#[utoipa::path(get, path = "/v1/todos", tag = "todos", params(TodoParams), responses((status = 200, body = TodosView)))]
pub async fn list(With(caller, params): With<TodoParams>) -> Result<Shown<TodosView>, Problem> {
    let Listed { tasks, next, total } = todos(&caller, None).await?.list(&params.wanted()?).await?;
    let items = tasks.iter().map(TodoView::of).collect();
    Ok(Shown(TodosView { items, next_cursor: next.map(|last| last.to_string()), total }))
}

/// Show a task
#[utoipa::path(get, path = "/v1/todos/{id}", tag = "todos", params(("id" = String, Path)),
    responses((status = 200, body = TodoView), (status = 404)))]
pub async fn show(caller: Caller, Id(id): Id) -> Result<Shown<TodoView>, Problem> {
    let task = about(&caller, id, None).await?.task(id).await?;
    Ok(Shown(TodoView::of(&task)))
}

/// Who does it, and from where.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ByBody {
    session: Option<String>,
    workspace: Option<WorkspaceBody>,
}

/// The same, with why.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhyBody {
    session: Option<String>,
    workspace: Option<WorkspaceBody>,
    reason: Option<String>,
}

/// Claim a task
///
/// One's own again changes nothing, but that it moves to this session. Another's is refused with who holds it and until when.
#[utoipa::path(post, path = "/v1/todos/{id}/claim", tag = "todos", request_body = ByBody, params(("id" = String, Path)),
    responses((status = 200, body = TodoView), (status = 404), (status = 409)))]
pub async fn claim(caller: Caller, Id(id): Id, Json(body): Json<ByBody>) -> Result<Shown<TodoView>, Problem> {
    let todos = about(&caller, id, body.session.as_deref()).await?;
    shown(todos.claim(id, facts(body.workspace).as_ref()).await)
}

/// Claim the best task that there is
///
/// By priority and age, with everything done that it depends on. What the session holds already comes first. Nothing: there is none.
#[utoipa::path(post, path = "/v1/todos/next", tag = "todos", request_body = ByBody,
    responses((status = 200, body = NextView), (status = 409)))]
pub async fn next(caller: Caller, Json(body): Json<ByBody>) -> Result<Shown<NextView>, Problem> {
    let todos = todos(&caller, body.session.as_deref()).await?;
    let next = todos.next(facts(body.workspace).as_ref()).await?;
    Ok(Shown(NextView { todo: next.as_ref().map(TodoView::changed) }))
}

/// Give a task back
#[utoipa::path(post, path = "/v1/todos/{id}/release", tag = "todos", request_body = WhyBody, params(("id" = String, Path)),
    responses((status = 200, body = TodoView), (status = 404), (status = 409)))]
pub async fn release(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<WhyBody>,
) -> Result<Shown<TodoView>, Problem> {
    let todos = about(&caller, id, body.session.as_deref()).await?;
    shown(todos.release(id, body.reason, facts(body.workspace).as_ref()).await)
}

/// Give a task up, for ever
#[utoipa::path(post, path = "/v1/todos/{id}/abandon", tag = "todos", request_body = WhyBody, params(("id" = String, Path)),
    responses((status = 200, body = TodoView), (status = 404), (status = 409)))]
pub async fn abandon(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<WhyBody>,
) -> Result<Shown<TodoView>, Problem> {
    let todos = about(&caller, id, body.session.as_deref()).await?;
    let reason = body.reason.unwrap_or_default();
    shown(todos.abandon(id, reason, facts(body.workspace).as_ref()).await)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DoneBody {
    session: Option<String>,
    /// With the commit and the tree that the gates ran on.
    workspace: Option<WorkspaceBody>,
    /// Of `validate` and of every gate of the plan in force, in its order.
    #[serde(default)]
    results: Vec<GateResultView>,
    #[serde(default)]
    artifacts: Vec<ProofArtifactView>,
    /// The declared paths as the tree has them, if every gate declares some.
    #[serde(default)]
    paths: Vec<ProofPathView>,
    /// The hash of the proof as whoever ran the gates has computed it. Another is refused.
    proof_sha256: Option<String>,
    /// How it came about: durations, the host, the ends of outputs. Kept beside the proof.
    #[schema(value_type = serde_json::Value)]
    run: Option<Run>,
}

impl DoneBody {
    /// None: nothing was run.
    fn proved(self) -> Result<Option<Proved>, Problem> {
        if self.results.is_empty() {
            return Ok(None);
        }
        let results = self.results.into_iter().map(GateResultView::read).collect::<Result<_, _>>()?;
        let artifacts = self.artifacts.into_iter().map(ProofArtifactView::read).collect::<Result<_, _>>()?;
        let workspace = facts(self.workspace).unwrap_or_default();
        let paths = self.paths.into_iter().map(DeclaredPath::from).collect();
        let tree = workspace.tree.unwrap_or_default();
        let proof = Proof::new(workspace.commit, tree, results, artifacts).on(paths);
        let found = proof.hash().to_string();
        if self.proof_sha256.is_some_and(|said| said != found) {
            let detail = format!("proof_sha256: what was sent hashes to {found}");
            return Err(Problem::new(Code::VerificationRequired, detail));
        }
        Ok(Some(Proved { proof, run: self.run.unwrap_or_default() }))
    }
}

/// Finish a task with a proof
///
/// Every blocking gate of the plan in force must have passed on the tree of the workspace. The proof that is
/// current changes nothing; of a task that is Verified another one is kept beside it, and is current from then on.
#[utoipa::path(post, path = "/v1/todos/{id}/done", tag = "todos", request_body = DoneBody, params(("id" = String, Path)),
    responses((status = 200, body = TodoView), (status = 404), (status = 409)))]
pub async fn done(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<DoneBody>,
) -> Result<Shown<TodoView>, Problem> {
    let todos = about(&caller, id, body.session.as_deref()).await?;
    let workspace = facts(body.workspace.clone());
    let proved = body.proved()?;
    shown(todos.done(id, proved.as_ref(), workspace.as_ref()).await)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DependBody {
    session: Option<String>,
    workspace: Option<WorkspaceBody>,
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    remove: Vec<String>,
}

/// Say what a task depends on
#[utoipa::path(post, path = "/v1/todos/{id}/depend", tag = "todos", request_body = DependBody, params(("id" = String, Path)),
    responses((status = 200, body = TodoView), (status = 404), (status = 409)))]
pub async fn depend(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<DependBody>,
) -> Result<Shown<TodoView>, Problem> {
    let todos = about(&caller, id, body.session.as_deref()).await?;
    let (add, remove) = (ids("add", &body.add)?, ids("remove", &body.remove)?);
    shown(todos.depend(id, &add, &remove, facts(body.workspace).as_ref()).await)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AttestBody {
    /// A `human:` gate of the plan in force. Left out: the only one that waits.
    gate: Option<String>,
    note: Option<String>,
    session: Option<String>,
}

/// Say yes to a `human:` gate
#[utoipa::path(post, path = "/v1/todos/{id}/attest", tag = "todos", request_body = AttestBody, params(("id" = String, Path)),
    responses((status = 200, body = TodoView), (status = 404), (status = 409)))]
pub async fn attest(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<AttestBody>,
) -> Result<Shown<TodoView>, Problem> {
    let todos = about(&caller, id, body.session.as_deref()).await?;
    let gate = match body.gate {
        Some(gate) => gate,
        None => {
            let task = todos.task(id).await?;
            let mut waiting = task.unattested();
            match (waiting.next(), waiting.next()) {
                (Some(only), None) => only.to_string(),
                (None, _) => return Err(Problem::wrong("gate", "none waits for a person")),
                (Some(_), Some(_)) => {
                    return Err(Problem::wrong("gate", "several wait for a person; name one"));
                }
            }
        }
    };
    shown(todos.attest(id, &gate, body.note).await)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanBody {
    #[serde(default)]
    gates: Vec<String>,
    /// Whoever asks in a session asks as its agent.
    session: Option<String>,
}

/// Give a task another plan
///
/// A new version; those before it stay. Not for workers: they would judge themselves. What is Abandoned needs none.
#[utoipa::path(post, path = "/v1/todos/{id}/plan", tag = "todos", request_body = PlanBody, params(("id" = String, Path)),
    responses((status = 200, body = TodoView), (status = 404), (status = 409)))]
pub async fn plan(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<PlanBody>,
) -> Result<Shown<TodoView>, Problem> {
    let todos = about(&caller, id, body.session.as_deref()).await?;
    shown(todos.replan(id, gates(&body.gates)?).await)
}

/// Show the newest proof of a task
#[utoipa::path(get, path = "/v1/todos/{id}/receipt", tag = "todos", params(("id" = String, Path)),
    responses((status = 200, body = ProofReceiptView), (status = 404)))]
pub async fn receipt(caller: Caller, Id(id): Id) -> Result<Shown<ProofReceiptView>, Problem> {
    let todos = about(&caller, id, None).await?;
    match todos.receipt(id).await? {
        Some(receipt) => Ok(Shown(receipt.into())),
        None => {
            let problem = Problem::not_found(format!("task {id} has no proof: nobody has finished it"));
            Err(problem.with("fix", format!("tenure todo done {id}")))
        }
    }
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateBody {
    workspace: Option<WorkspaceBody>,
    /// The task that is being decided: it is not looked at.
    except: Option<String>,
    /// Look at every task, and not only at those that something happened to since all was sound.
    all: Option<bool>,
    /// How long it may take, from 1,000 to 120,000.
    #[schema(minimum = 1000, maximum = 120000)]
    limit_ms: Option<u64>,
}

/// Is the list itself sound?
///
/// The workspace, a receipt for every Verified task, store boundaries, the chain of the log and the hashes of the receipts; with
/// `all` also whether tasks wait for each other.
#[utoipa::path(post, path = "/v1/todos/validate", tag = "todos", request_body = ValidateBody,
    responses((status = 200, body = TodoValidationView), (status = 504)))]
pub async fn validate(
    caller: Caller,
    Json(body): Json<ValidateBody>,
) -> Result<Shown<TodoValidationView>, Problem> {
    let todos = todos(&caller, None).await?;
    let except = ids("except", body.except.as_slice())?.first().copied();
    let scope = if body.all == Some(true) { Scope::All } else { Scope::Since };
    let limit = body.limit_ms.map_or(LIMIT, Duration::from_millis);
    if !(LIMIT_MIN..=LIMIT).contains(&limit) {
        let (least, most) = (LIMIT_MIN.as_millis(), LIMIT.as_millis());
        return Err(Problem::wrong("limit_ms", format!("from {least} to {most}")));
    }
    let report = todos.validate(scope, except, facts(body.workspace).as_ref(), limit).await?;
    Ok(Shown(TodoValidationView::of(&report, scope)))
}
