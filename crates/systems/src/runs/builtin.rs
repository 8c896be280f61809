//! The steps that ship, by their names, and what they all need: failures with words, and hearing that a run is over.

use std::sync::Arc;

use tokio::sync::watch;

use super::extract::Extract;
use super::interpret::Interpret;
use super::step::{Step, StepFailed};

/// The steps that a pipeline has if nobody says otherwise, in order.
pub const BUILTIN: [&str; 2] = [Extract::NAME, Interpret::NAME];

/// A shipped step.
pub fn builtin(name: &str) -> Option<Arc<dyn Step>> {
    match name {
        Extract::NAME => Some(Arc::new(Extract::default())),
        Interpret::NAME => Some(Arc::new(Interpret)),
        _ => None,
    }
}

/// It would fail in the same way again.
pub(super) fn never(code: &str, details: impl Into<String>) -> StepFailed {
    StepFailed { code: code.to_string(), details: details.into(), permanent: true }
}

/// It may go well another time.
pub(super) fn again(code: &str, details: impl Into<String>) -> StepFailed {
    StepFailed { code: code.to_string(), details: details.into(), permanent: false }
}

/// The run is over. Nobody keeps this.
pub(super) fn over() -> StepFailed {
    again("STOPPED", "the run was over before the step was")
}

/// Comes when the run is over for the step. If nobody is left to say so, it never comes.
pub(super) async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending().await
    }
}
