//! The steps that ship, by their names, and what they all need: failures with words, and hearing that a run is over.

use std::sync::Arc;

use serde::Deserialize;
use tokio::sync::watch;

use super::command::{CommandSettings, CommandStep};
use super::extract::Extract;
use super::interpret::Interpret;
use super::remote::{RemoteSettings, RemoteStep, Send};
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

/// One step of a pipeline, as `tenure.toml` has it: `builtin`, `command` or `url`, and what belongs to that.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StepSettings {
    /// Unique in its pipeline. A shipped step has its own.
    pub name: Option<String>,
    pub builtin: Option<String>,
    pub command: Option<Vec<String>>,
    pub url: Option<String>,
    /// Of a command or an address: how long one attempt may take.
    pub limit_s: Option<u64>,
    /// Of an address: see [`RemoteSettings`].
    pub token_variable: Option<String>,
    pub send: Option<Send>,
}

impl StepSettings {
    /// The step that they describe, or what is wrong with them.
    pub fn step(&self) -> Result<Arc<dyn Step>, String> {
        let name = self.name.as_deref().or(self.builtin.as_deref()).ok_or("a step needs a name")?;
        if !is_name(name) {
            return Err(format!(
                "{name:?} is no name of a step: letters, digits, - and _, {NAME_BYTES_MAX} at most"
            ));
        }
        let remote = self.token_variable.is_some() || self.send.is_some();
        match (&self.builtin, &self.command, &self.url) {
            (Some(builtin), None, None) if !remote && self.limit_s.is_none() && name == builtin => {
                self::builtin(builtin).ok_or_else(|| {
                    format!("no step called {builtin:?} ships; there are {}", BUILTIN.join(", "))
                })
            }
            (Some(builtin), None, None) => {
                Err(format!("the step {builtin:?} has its own name and no settings"))
            }
            (None, Some(command), None) if !remote => {
                let mut settings = CommandSettings::new(command);
                settings.limit_s = self.limit_s.unwrap_or(settings.limit_s);
                Ok(Arc::new(CommandStep::new(name, settings)?))
            }
            (None, Some(_), None) => {
                Err(format!("the step {name:?} is a command, which has no token and is sent nothing"))
            }
            (None, None, Some(url)) => {
                let mut settings = RemoteSettings::new(url);
                settings.limit_s = self.limit_s.unwrap_or(settings.limit_s);
                settings.token_variable.clone_from(&self.token_variable);
                settings.send = self.send.unwrap_or_default();
                Ok(Arc::new(RemoteStep::new(name, &settings)?))
            }
            _ => Err(format!("the step {name:?} needs one of builtin, command and url")),
        }
    }
}

/// It stands in records, in a header and in a variable.
const NAME_BYTES_MAX: usize = 64;

fn is_name(name: &str) -> bool {
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
    fits && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
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
