//! What is shown of documents and runs. The names of the fields are a promise.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use tenure_systems::runs::documents::{Artifact, Document, Queued, Uploaded};
use tenure_systems::runs::history::{Happened, Run, StepAttempt};
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub struct UploadedView {
    pub document_id: String,
    pub status: String,
    pub run_id: String,
}

impl From<Uploaded> for UploadedView {
    fn from(made: Uploaded) -> UploadedView {
        UploadedView {
            document_id: made.document_id.to_string(),
            status: made.status.as_str().to_string(),
            run_id: made.run_id.to_string(),
        }
    }
}

/// What is null once it was erased is null.
#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentView {
    pub document_id: String,
    /// UPLOADED, PROCESSING, COMPLETED, FAILED or TIMED_OUT: what its latest run says.
    pub status: String,
    pub name: Option<String>,
    /// What it is by its bytes.
    pub media_type: Option<String>,
    pub size: Option<u64>,
    pub sha256: Option<String>,
    pub created_at: String,
    /// Its latest run.
    pub run_id: Option<String>,
    /// Why that run failed, in a word.
    pub failure_type: Option<String>,
}

impl From<Document> for DocumentView {
    fn from(document: Document) -> DocumentView {
        let facts = document.facts;
        DocumentView {
            document_id: document.document_id.to_string(),
            status: document.status.as_str().to_string(),
            name: facts.as_ref().map(|facts| facts.name.clone()),
            media_type: facts.as_ref().map(|facts| facts.media_type.clone()),
            size: facts.as_ref().map(|facts| facts.size),
            sha256: facts.map(|facts| facts.sha256.to_string()),
            created_at: document.created_at.to_string(),
            run_id: document.latest_run_id.map(|run| run.to_string()),
            failure_type: document.failure_type,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct QueuedView {
    pub run_id: String,
    pub state: String,
    pub created_at: String,
}

impl From<Queued> for QueuedView {
    fn from(queued: Queued) -> QueuedView {
        let (run_id, created_at) = (queued.run_id.to_string(), queued.created_at.to_string());
        QueuedView { run_id, state: queued.state, created_at }
    }
}

/// One attempt at one step.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepView {
    pub name: String,
    /// RUNNING, SUCCEEDED or FAILED.
    pub status: String,
    pub attempt: u32,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub error_code: Option<String>,
    pub details: Option<String>,
}

impl From<StepAttempt> for StepView {
    fn from(step: StepAttempt) -> StepView {
        StepView {
            name: step.name,
            status: step.status.to_string(),
            attempt: step.attempt,
            started_at: step.started_at.to_string(),
            ended_at: step.ended_at.map(|at| at.to_string()),
            error_code: step.error_code,
            details: step.details,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RunView {
    pub run_id: String,
    pub document_id: String,
    /// QUEUED, RUNNING, COMPLETED, FAILED or TIMED_OUT.
    pub state: String,
    pub created_at: String,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    /// Why it failed, in a word: what its step said, PROCESS_TERMINATED, TIMED_OUT.
    pub failure_type: Option<String>,
    /// The same in a sentence.
    pub failure: Option<String>,
    pub steps: Vec<StepView>,
}

impl From<Run> for RunView {
    fn from(run: Run) -> RunView {
        RunView {
            run_id: run.run_id,
            document_id: run.document_id,
            state: run.state,
            created_at: run.created_at.to_string(),
            started_at: run.started_at.map(|at| at.to_string()),
            completed_at: run.completed_at.map(|at| at.to_string()),
            failure_type: run.failure_type,
            failure: run.failure,
            steps: run.steps.into_iter().map(StepView::from).collect(),
        }
    }
}

/// One thing that happened to a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunEventView {
    /// RUN_CREATED, STEP_STARTED…
    pub event: String,
    pub at: String,
    pub step: Option<String>,
    pub attempt: Option<u32>,
}

/// A run, and what happened to it, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunStoryView {
    #[serde(flatten)]
    pub run: RunView,
    pub events: Vec<RunEventView>,
}

impl RunStoryView {
    pub fn of(run: Run, events: Vec<Happened>) -> RunStoryView {
        let event = |told: Happened| RunEventView {
            event: told.event,
            at: told.at.to_string(),
            step: told.step,
            attempt: told.attempt,
        };
        RunStoryView { run: run.into(), events: events.into_iter().map(event).collect() }
    }
}

/// What a step has made.
#[derive(Debug, Serialize, ToSchema)]
pub struct ArtifactView {
    /// The step's.
    pub name: String,
    pub size: u64,
    pub sha256: String,
    /// Not in a list where it is too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub value: Option<serde_json::Value>,
    pub created_at: String,
}

impl From<Artifact> for ArtifactView {
    fn from(artifact: Artifact) -> ArtifactView {
        let Artifact { name, size, sha256, value, created_at } = artifact;
        ArtifactView { name, size, sha256: sha256.to_string(), value, created_at: created_at.to_string() }
    }
}

/// What may stand in a header's extended value as it is (RFC 8187).
const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Never shown in a page; saved under its name.
pub fn attachment(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| match letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ' ') {
            true => letter,
            false => '_',
        })
        .collect();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", utf8_percent_encode(name, &PLAIN))
}
