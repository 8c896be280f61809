//! An item for people: in a line, as a row, or with all that is known of it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::outcome::Error;
use crate::output::{BAD, FAINT, GOOD, Output, STRONG, joined, styled, under};

/// The fields of the service's answer that are shown.
#[derive(Debug, Deserialize)]
pub struct Shown {
    pub id: String,
    kind: String,
    store: String,
    pub state: String,
    phase: String,
    version: u64,
    attempt: u64,
    failures: u32,
    max_attempts: Option<u32>,
    key: Option<String>,
    priority: i8,
    run_at: String,
    payload: Option<Box<RawValue>>,
    lease: Option<Lease>,
    created_at: String,
    created_by: String,
    updated_at: String,
    output: Option<Box<RawValue>>,
    pub failure: Option<Failure>,
    origin: Option<String>,
    #[serde(default)]
    cancel_requested: bool,
    #[serde(default)]
    erased: bool,
}

#[derive(Debug, Deserialize)]
struct Lease {
    owner_id: String,
    lease_expires_at: String,
}

#[derive(Debug, Deserialize)]
pub struct Failure {
    pub reason: String,
}

impl Shown {
    pub fn is_ended(&self) -> bool {
        matches!(self.phase.as_str(), "succeeded" | "failed" | "stopped")
    }

    pub fn is_succeeded(&self) -> bool {
        self.phase == "succeeded"
    }

    pub fn reason(&self) -> Option<&str> {
        self.failure.as_ref().map(|failure| failure.reason.as_str())
    }

    fn styled_state(&self) -> String {
        let style = match self.phase.as_str() {
            "succeeded" => GOOD,
            "failed" => BAD,
            "stopped" => FAINT,
            _ => STRONG,
        };
        styled(style, &self.state)
    }
}

/// `01M7… job PENDING`.
pub fn brief(item: &Shown) -> String {
    let asked = if item.cancel_requested { "; its worker was asked to stop" } else { "" };
    let erased = if item.erased { "; erased" } else { "" };
    format!("{} {} {}{asked}{erased}", item.id, item.kind, item.styled_state())
}

pub fn row(item: &Shown) -> [String; 7] {
    [
        item.id.clone(),
        item.kind.clone(),
        item.state.clone(),
        item.attempt.to_string(),
        item.key.clone().unwrap_or_default(),
        to_the_second(&item.updated_at),
        item.reason().map(joined).unwrap_or_default(),
    ]
}

/// A table is for the eye; whoever needs the rest asks for the item, or for JSON.
pub fn to_the_second(time: &str) -> String {
    let (seconds, rest) = time.split_once('.').unwrap_or((time, ""));
    if rest.is_empty() { time.to_string() } else { format!("{seconds}Z") }
}

/// All of it, a line each; what it does not have is left out.
pub fn whole(item: &Shown, output: &mut Output) -> Result<(), Error> {
    output.line(brief(item))?;
    let mut say = |name: &str, value: Option<String>| match value {
        Some(value) => output.line(format!("  {}{value}", styled(FAINT, format!("{name:<12}")))),
        None => Ok(()),
    };
    let attempts = match item.max_attempts {
        Some(most) => {
            let left = most.saturating_sub(item.failures);
            format!("{} made, {} failed, {left} left", item.attempt, item.failures)
        }
        None => format!("{} made, {} failed", item.attempt, item.failures),
    };
    let raw = |value: &Option<Box<RawValue>>| value.as_ref().map(|raw| raw.get().to_string());
    say("store", Some(item.store.clone()))?;
    say("version", Some(item.version.to_string()))?;
    say("attempts", Some(attempts))?;
    say("key", item.key.clone())?;
    say("priority", (item.priority != 0).then(|| item.priority.to_string()))?;
    say("created", Some(format!("{} by {}", item.created_at, item.created_by)))?;
    say("updated", Some(item.updated_at.clone()))?;
    say("run at", (!item.is_ended()).then(|| item.run_at.clone()))?;
    say("from", item.origin.clone())?;
    let lease = item.lease.as_ref();
    say("held by", lease.map(|lease| format!("{} until {}", lease.owner_id, lease.lease_expires_at)))?;
    say("payload", raw(&item.payload))?;
    say("output", raw(&item.output))?;
    say("failure", item.reason().map(|reason| under(reason, 14)))
}
