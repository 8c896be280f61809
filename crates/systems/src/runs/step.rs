//! What a step is: it gets the document and what the steps before it made, and makes something of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

/// What a step works on.
#[derive(Clone, Debug)]
pub struct Input {
    pub document: Arc<Document>,
    /// What the steps before it made, by their names.
    pub made: Arc<BTreeMap<String, Value>>,
    /// True once the run is over for this step: cancelled, timed out, or lost. What it makes then is thrown away.
    pub stop: watch::Receiver<bool>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    pub id: String,
    /// Made safe; for people.
    pub name: String,
    /// What it is by its bytes, never what somebody said it is.
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Why a step failed, with a code that a program can tell apart: `NOT_TEXT`, `TOO_LARGE`, `LOW_QUALITY`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{code}: {details}")]
pub struct StepFailed {
    pub code: String,
    pub details: String,
    /// Trying again is useless.
    pub permanent: bool,
}

pub type Stepping = Pin<Box<dyn Future<Output = Result<Value, StepFailed>> + Send>>;

/// One step of a pipeline.
pub trait Step: Send + Sync + 'static {
    /// Unique in its pipeline: `extract`.
    fn name(&self) -> &str;

    fn run(&self, input: Input) -> Stepping;
}
