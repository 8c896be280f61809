//! What a worker does under a lease. Every call brings the lease's token: it is refused once the lease is another's.

use axum::Json as Shown;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::Duration;
use tenure::core::answer::Answer;
use tenure::core::id::ExecutionId;
use tenure::core::request::{Command, Commit, Effects, Fail, Finish, Progress, Release, Renew, Start};
use tenure::core::word::Label;
use tenure::{Attempt, Tenure};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::extract::{Exec, Json, body as kept, execution};
use crate::limits::{CALL_MAX, REQUEST_BYTES_MAX};
use crate::page::Page;
use crate::problem::Problem;
use crate::shape::attempt::AttemptView;
use crate::shape::effects::{EffectsBody, RecordBody, records};
use crate::shape::item::raw;
use crate::shape::lease::millis;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseOnly {
    lease_token: String,
}

/// Start: the handler begins
#[utoipa::path(post, path = "/v1/executions/{exec}/start", tag = "executions", params(("exec" = String, Path)),
    request_body = LeaseOnly, responses((status = 200, body = AttemptView), (status = 409)))]
pub async fn start(
    caller: Caller,
    Exec(execution): Exec,
    Json(body): Json<LeaseOnly>,
) -> Result<Shown<AttemptView>, Problem> {
    ran(&caller.holder(execution, &body.lease_token)?, Command::Start(Start { execution })).await
}

/// Finish what was committed
#[utoipa::path(post, path = "/v1/executions/{exec}/finish", tag = "executions", params(("exec" = String, Path)),
    request_body = LeaseOnly, responses((status = 200, body = AttemptView), (status = 409)))]
pub async fn finish(
    caller: Caller,
    Exec(execution): Exec,
    Json(body): Json<LeaseOnly>,
) -> Result<Shown<AttemptView>, Problem> {
    ran(&caller.holder(execution, &body.lease_token)?, Command::Finish(Finish { execution })).await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewBody {
    lease_token: String,
    lease_ms: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RenewedView {
    pub lease_expires_at: String,
    /// How long the lease lasts now, counted from when this request was sent.
    pub lease_left_ms: u64,
    /// When the execution times out, renewed or not. `null` if its kind has no window.
    pub window_ends_at: Option<String>,
    /// How long that is, counted from when this request was sent.
    pub window_left_ms: Option<u64>,
    /// Somebody asked for it to stop: end it soon.
    pub cancel_requested: bool,
}

/// Renew the lease
#[utoipa::path(post, path = "/v1/executions/{exec}/renew", tag = "executions", params(("exec" = String, Path)),
    request_body = RenewBody, responses((status = 200, body = RenewedView), (status = 409)))]
pub async fn renew(
    caller: Caller,
    Exec(execution): Exec,
    Json(body): Json<RenewBody>,
) -> Result<Shown<RenewedView>, Problem> {
    let tenure = caller.holder(execution, &body.lease_token)?;
    let lease = body.lease_ms.map(Duration::from_millis);
    match tenure.ask(Command::Renew(Renew { execution, lease })).await?.answer {
        no @ Answer::AlreadyCommitted(_) => Err(told(&tenure, no).await),
        answer => renewed(answer).map(Shown),
    }
}

pub fn renewed(answer: Answer) -> Result<RenewedView, Problem> {
    match answer {
        Answer::Renewed { expires, window_ends, remaining, cancel_requested } => Ok(RenewedView {
            lease_expires_at: expires.to_string(),
            lease_left_ms: millis(remaining.lease),
            window_ends_at: window_ends.map(|ends| ends.to_string()),
            window_left_ms: remaining.window.map(millis),
            cancel_requested,
        }),
        no => Err(no.into()),
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressBody {
    lease_token: String,
    #[serde(default)]
    records: Vec<RecordBody>,
    /// Steps that begin.
    #[serde(default)]
    opens: Vec<String>,
    /// Steps that end.
    #[serde(default)]
    closes: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ProgressView {
    pub version: u64,
    pub cancel_requested: bool,
}

/// Append progress
#[utoipa::path(post, path = "/v1/executions/{exec}/progress", tag = "executions", params(("exec" = String, Path)),
    request_body = ProgressBody, responses((status = 200, body = ProgressView), (status = 409)))]
pub async fn progress(
    caller: Caller,
    Exec(execution): Exec,
    Json(body): Json<ProgressBody>,
) -> Result<Shown<ProgressView>, Problem> {
    let tenure = caller.holder(execution, &body.lease_token)?;
    let labels = |field: &str, names: &[String]| -> Result<Vec<Label>, Problem> {
        let parse = |name: &String| name.parse().map_err(|not| Problem::wrong(field, not));
        names.iter().map(parse).collect()
    };
    let (opens, closes) = (labels("opens", &body.opens)?, labels("closes", &body.closes)?);
    let progress = Progress { execution, records: records(&body.records)?, opens, closes };
    match tenure.ask(Command::Progress(progress)).await?.answer {
        Answer::Done(item) | Answer::Same(item) => {
            Ok(Shown(ProgressView { version: item.version, cancel_requested: item.cancel.is_some() }))
        }
        no => Err(told(&tenure, no).await),
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitBody {
    lease_token: String,
    #[schema(value_type = Option<serde_json::Value>)]
    output: Option<Box<RawValue>>,
    #[serde(default)]
    records: Vec<RecordBody>,
    #[serde(default)]
    effects: EffectsBody,
    /// Finish in the same transaction.
    #[serde(default = "yes")]
    finish: bool,
}

fn yes() -> bool {
    true
}

impl CommitBody {
    async fn command(&self, execution: ExecutionId, caller: &Caller) -> Result<Command, Problem> {
        Ok(Command::Commit(Commit {
            execution,
            output: self.output.as_deref().map(kept).transpose()?,
            effects: self.effects.effects(execution.item, &self.records, caller).await?,
            finish: self.finish,
            session: None,
            attests: Vec::new(),
        }))
    }
}

/// Commit: the effects become real, once
#[utoipa::path(post, path = "/v1/executions/{exec}/commit", tag = "executions", params(("exec" = String, Path)),
    request_body = CommitBody, responses((status = 200, body = AttemptView), (status = 409)))]
pub async fn commit(
    caller: Caller,
    Exec(execution): Exec,
    Json(body): Json<CommitBody>,
) -> Result<Shown<AttemptView>, Problem> {
    let tenure = caller.holder(execution, &body.lease_token)?;
    ran(&tenure, body.command(execution, &caller).await?).await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitMany {
    commits: Vec<CommitOne>,
}

/// A commit that names its execution. The fields of the other are not flattened into it: bytes would no longer come through unchanged.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitOne {
    execution: String,
    lease_token: String,
    #[schema(value_type = Option<serde_json::Value>)]
    output: Option<Box<RawValue>>,
    #[serde(default)]
    records: Vec<RecordBody>,
    #[serde(default)]
    effects: EffectsBody,
    #[serde(default = "yes")]
    finish: bool,
}

impl CommitOne {
    async fn command(self, caller: &Caller) -> Result<(Tenure, Command), Problem> {
        let CommitOne { execution: id, lease_token, output, records, effects, finish } = self;
        let execution = execution(&id)?;
        let tenure = caller.holder(execution, &lease_token)?;
        let body = CommitBody { lease_token, output, records, effects, finish };
        Ok((tenure, body.command(execution, caller).await?))
    }
}

/// Commit many, each with its own outcome
#[utoipa::path(post, path = "/v1/executions/commit", tag = "executions", request_body = CommitMany,
    responses((status = 200, body = Page<Each<AttemptView>>)))]
pub async fn commit_many(
    caller: Caller,
    Json(body): Json<CommitMany>,
) -> Result<Shown<Page<Each<AttemptView>>>, Problem> {
    let mut asked = Vec::with_capacity(body.commits.len());
    for one in body.commits {
        asked.push(one.command(&caller).await);
    }
    each(&caller, "commits", asked, attempt).await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailBody {
    lease_token: String,
    reason: String,
    /// False: trying again is useless.
    #[serde(default = "yes")]
    retryable: bool,
    /// Not before this long, where the lifecycle's backoff is shorter.
    retry_after_ms: Option<u64>,
}

/// Fail this attempt
#[utoipa::path(post, path = "/v1/executions/{exec}/fail", tag = "executions", params(("exec" = String, Path)),
    request_body = FailBody, responses((status = 200, body = AttemptView), (status = 409)))]
pub async fn fail(
    caller: Caller,
    Exec(execution): Exec,
    Json(body): Json<FailBody>,
) -> Result<Shown<AttemptView>, Problem> {
    let tenure = caller.holder(execution, &body.lease_token)?;
    let retry_after = body.retry_after_ms.map(Duration::from_millis);
    let (reason, permanent) = (body.reason, !body.retryable);
    ran(
        &tenure,
        Command::Fail(Fail { execution, reason, permanent, retry_after, offers: Effects::default() }),
    )
    .await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseBody {
    lease_token: String,
    reason: Option<String>,
    /// Not to be leased again before.
    delay_ms: Option<u64>,
}

/// Give the item back
#[utoipa::path(post, path = "/v1/executions/{exec}/release", tag = "executions", params(("exec" = String, Path)),
    request_body = ReleaseBody, responses((status = 200, body = AttemptView), (status = 409)))]
pub async fn release(
    caller: Caller,
    Exec(execution): Exec,
    Json(body): Json<ReleaseBody>,
) -> Result<Shown<AttemptView>, Problem> {
    let tenure = caller.holder(execution, &body.lease_token)?;
    let (reason, delay) = (body.reason, body.delay_ms.map(Duration::from_millis));
    ran(&tenure, Command::Release(Release { execution, reason, delay, attests: Vec::new() })).await
}

async fn ran(tenure: &Tenure, command: Command) -> Result<Shown<AttemptView>, Problem> {
    match tenure.ask(command).await?.answer {
        Answer::Ran(execution) => Ok(Shown(Attempt::brief(&execution).into())),
        no => Err(told(tenure, no).await),
    }
}

fn attempt(answer: Answer) -> Result<AttemptView, Problem> {
    match answer {
        Answer::Ran(execution) => Ok(Attempt::brief(&execution).into()),
        no => Err(no.into()),
    }
}

/// Who comes too late is told what was committed instead.
pub async fn told(tenure: &Tenure, no: Answer) -> Problem {
    let Answer::AlreadyCommitted(execution) = &no else { return no.into() };
    let output = tenure.whole(execution.id.item).await.ok().and_then(|whole| whole.output);
    let output = output.as_ref().and_then(raw).and_then(|raw| serde_json::from_str(raw.get()).ok());
    Problem::from(no.clone()).with("output", output.unwrap_or(serde_json::Value::Null))
}

/// When outputs of so many bytes were told in one call, the others are left out: a thousand late commits would be answered with a gigabyte.
const TOLD_BYTES_MAX: usize = REQUEST_BYTES_MAX;

/// One of many: what it came to, or why it did not.
#[derive(Debug, Serialize, ToSchema)]
pub struct Each<T> {
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub problem: Option<serde_json::Value>,
}

/// Asks for many things under as many leases. Those of one worker travel together.
pub async fn each<T>(
    caller: &Caller,
    field: &str,
    asked: Vec<Result<(Tenure, Command), Problem>>,
    show: impl Fn(Answer) -> Result<T, Problem>,
) -> Result<Shown<Page<Each<T>>>, Problem> {
    if asked.is_empty() || asked.len() > CALL_MAX {
        return Err(Problem::wrong(field, format!("one call has 1 to {CALL_MAX} of them")));
    }
    let mut commands = Vec::new();
    let mut outcomes: Vec<Option<Result<T, Problem>>> = Vec::with_capacity(asked.len());
    for asked in asked {
        outcomes.push(match asked {
            Ok(one) => {
                commands.push((outcomes.len(), one));
                None
            }
            Err(problem) => Some(Err(problem)),
        });
    }
    let indexes: Vec<usize> = commands.iter().map(|(index, _)| *index).collect();
    let replies = Tenure::ask_as(commands.into_iter().map(|(_, one)| one).collect()).await;
    let mut told_bytes = 0;
    for (index, reply) in indexes.into_iter().zip(replies) {
        outcomes[index] = Some(match reply.map(|reply| reply.answer) {
            Ok(no @ Answer::AlreadyCommitted(_)) if told_bytes < TOLD_BYTES_MAX => {
                let problem = told(&caller.tenure, no).await;
                told_bytes += problem.document(None)["output"].to_string().len();
                Err(problem)
            }
            Ok(answer) => show(answer),
            Err(error) => Err(error.into()),
        });
    }
    let shown = |outcome: Result<T, Problem>| match outcome {
        Ok(result) => Each { status: 200, result: Some(result), problem: None },
        Err(problem) => {
            let document = caller.no(problem).document(None);
            let status = document["status"].as_u64().and_then(|status| u16::try_from(status).ok());
            Each { status: status.unwrap_or(500), result: None, problem: Some(document) }
        }
    };
    let items = outcomes.into_iter().flatten().map(shown).collect();
    Ok(Shown(Page { items, next_cursor: None }))
}
