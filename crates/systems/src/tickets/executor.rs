//! Executors: whoever does what a work order asks for. A Rust handler, a command, or somebody behind an address.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tenure::core::id::ItemId;

use super::kept::{Checked, Outcome, Patch, Snapshot, WorkOrder};
use super::process::run;
use crate::post::{NotAnswered, Poster};
use crate::process;

/// What is said of an executor's last lines.
const LINES_MAX: usize = 100;
/// An answer is kept in the bundle.
const ANSWER_BYTES_MAX: usize = 768 << 10;

/// What an executor gets.
#[derive(Clone, Debug, Serialize)]
pub struct Errand {
    pub work_order_id: ItemId,
    pub work_order: WorkOrder,
    pub context_snapshot: Snapshot,
}

impl Errand {
    /// What a command finds in its environment.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let order = &self.work_order;
        vec![
            ("TENURE_WORK_ORDER", self.work_order_id.to_string()),
            ("TENURE_TICKET", order.ticket_id.to_string()),
            ("TENURE_EVENT", order.event_id.to_string()),
            ("TENURE_BUDGET_MS", order.budget_ms.to_string()),
            ("TENURE_NUMBER", order.number.to_string()),
            ("TENURE_TITLE", self.context_snapshot.title.clone()),
        ]
    }
}

/// What an executor makes of it. Good or bad, it is stored; whether it is good is for the gate to say.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    pub outcome: Outcome,
    pub exit_code: Option<i32>,
    pub reason: Option<String>,
    pub output: Option<Value>,
    pub patch: Option<Patch>,
    pub checks: Vec<Checked>,
    pub lines: Vec<String>,
}

impl Made {
    pub fn output(output: Value) -> Made {
        Made { output: Some(output), ..Made::of(Outcome::Completed) }
    }

    pub fn failed(reason: impl Into<String>) -> Made {
        Made { reason: Some(reason.into()), ..Made::of(Outcome::Failed) }
    }

    /// The budget ended before the executor did.
    pub fn exhausted(budget_ms: u64) -> Made {
        let reason = format!("the budget of {budget_ms} ms ended before it did");
        Made { outcome: Outcome::BudgetExhausted, ..Made::failed(reason) }
    }

    /// What the end of a command means. Its output is JSON as it is, or else a text.
    pub fn ended(code: Option<i32>, output: &[u8], lines: impl IntoIterator<Item = String>) -> Made {
        let lines: Vec<String> = lines.into_iter().collect();
        let lines = lines[lines.len().saturating_sub(LINES_MAX)..].to_vec();
        let text = String::from_utf8_lossy(output);
        let output = match text.trim() {
            "" => None,
            text => Some(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()))),
        };
        let (outcome, reason) = match code {
            Some(0) => (Outcome::Completed, None),
            Some(code) => (Outcome::Failed, Some(format!("exit code {code}"))),
            None => (Outcome::Failed, Some("a signal ended it".to_string())),
        };
        Made { exit_code: code, reason, output, lines, ..Made::of(outcome) }
    }

    fn of(outcome: Outcome) -> Made {
        let (checks, lines) = (Vec::new(), Vec::new());
        Made { outcome, exit_code: None, reason: None, output: None, patch: None, checks, lines }
    }
}

/// The executor could not work at all: the order is tried again, or its ticket is blocked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NotExecuted {
    pub reason: String,
    /// Trying again is useless.
    pub permanent: bool,
}

pub type Executing = Pin<Box<dyn Future<Output = Result<Made, NotExecuted>> + Send>>;

/// Does what a work order asks for. Dropped when the budget ends: what it began must end with it.
pub trait Executor: Send + Sync + 'static {
    fn execute(&self, errand: Errand) -> Executing;
}

impl<F, Fut> Executor for F
where
    F: Fn(Errand) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Made, NotExecuted>> + Send + 'static,
{
    fn execute(&self, errand: Errand) -> Executing {
        Box::pin(self(errand))
    }
}

/// A command: it gets the errand on standard input, and what it writes to standard output is the output.
#[derive(Clone, Debug)]
pub struct Program {
    pub command: Vec<String>,
    pub folder: Option<PathBuf>,
}

impl Executor for Program {
    fn execute(&self, errand: Errand) -> Executing {
        let Program { command, folder } = self.clone();
        Box::pin(async move {
            let not = |reason: String| NotExecuted { reason, permanent: false };
            let Some((program, rest)) = command.split_first() else {
                return Err(NotExecuted { reason: "there is no command".to_string(), permanent: true });
            };
            let mut start = process::command(program);
            start.args(rest).envs(errand.variables());
            let input = serde_json::to_vec(&errand).map_err(|why| not(why.to_string()))?;
            let ran = run(start, folder.as_deref(), &input).await;
            let ran = ran.map_err(|why| not(format!("{program}: {why}")))?;
            Ok(Made::ended(ran.status.code(), &ran.output.bytes, ran.said.text().lines().map(str::to_string)))
        })
    }
}

/// Somebody behind an address: the errand is posted, and the answer is the output.
#[derive(Clone, Debug)]
pub struct Http {
    poster: Poster,
}

impl Http {
    /// `limit` is how long an answer is waited for at most; a shorter budget ends it sooner.
    pub fn new(to: &str, secret: Option<&str>, limit: Duration) -> Result<Http, String> {
        Ok(Http { poster: Poster::new(to, secret, limit, ANSWER_BYTES_MAX)? })
    }
}

impl Executor for Http {
    fn execute(&self, errand: Errand) -> Executing {
        let poster = self.poster.clone();
        Box::pin(async move {
            let not = |reason: String| NotExecuted { reason, permanent: false };
            let body = serde_json::to_vec(&errand).map_err(|why| not(why.to_string()))?;
            // Asked twice for the same order, whoever answers can tell.
            let key = errand.work_order_id.to_string();
            match poster.post(body, &[("idempotency-key", &key)]).await {
                Ok(answer) if answer.status.is_success() => Ok(Made::ended(Some(0), &answer.body, [])),
                Ok(answer) if answer.status.is_client_error() => {
                    Ok(Made::failed(format!("it answers {}", answer.status)))
                }
                Ok(answer) => Err(not(format!("it answers {}", answer.status))),
                Err(NotAnswered::TooLong(most)) => {
                    Ok(Made::failed(format!("the answer has more than {most} bytes")))
                }
                Err(why) => Err(not(why.to_string())),
            }
        })
    }
}
