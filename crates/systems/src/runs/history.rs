//! A run as people look at it: its state, its steps and why it failed, read off the item, its records and its log. Nothing of this is
//! kept a second time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure::core::entry::{Facts, Sealed};
use tenure::core::execution::End;
use tenure::core::hash::Hash;
use tenure::core::item::Item;
use tenure::core::lifecycle::Phase;
use tenure::core::lifecycle::event::Event;
use tenure::core::time::Time;
use tenure::core::word::CodeName;
use tenure::core::world::Record;
use tenure::databases::Whole;

/// The label of what is kept of a step's attempts, and of what a step made.
pub const STEP: &str = "step";
pub const ARTIFACT: &str = "artifact";

/// The process that worked on it is gone.
pub const PROCESS_TERMINATED: &str = "PROCESS_TERMINATED";
/// It took longer than its window.
pub const TIMED_OUT: &str = "TIMED_OUT";

/// What is kept with a document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DocumentFacts {
    /// Made safe; for people.
    pub name: String,
    /// What it is by its bytes.
    pub media_type: String,
    pub size: u64,
    pub sha256: Hash,
}

/// What is kept with a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunFacts {
    pub document_id: String,
}

/// What is said of a document as a whole: that of its latest run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Uploaded,
    Processing,
    Completed,
    Failed,
    TimedOut,
}

impl Status {
    /// Of the latest run's state. Nobody has asked for a run yet, or what asked for it died first: uploaded.
    pub fn of(latest: Option<&str>) -> Status {
        match latest {
            None => Status::Uploaded,
            Some("COMPLETED") => Status::Completed,
            Some("FAILED") => Status::Failed,
            Some("TIMED_OUT") => Status::TimedOut,
            // QUEUED, RUNNING.
            Some(_) => Status::Processing,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Uploaded => "UPLOADED",
            Status::Processing => "PROCESSING",
            Status::Completed => "COMPLETED",
            Status::Failed => "FAILED",
            Status::TimedOut => TIMED_OUT,
        }
    }
}

/// What happens to a step. The last part of a record's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepEvent {
    Started,
    Succeeded,
    Failed,
    Retried,
}

impl StepEvent {
    pub fn as_str(self) -> &'static str {
        match self {
            StepEvent::Started => "STEP_STARTED",
            StepEvent::Succeeded => "STEP_SUCCEEDED",
            StepEvent::Failed => "STEP_FAILED",
            StepEvent::Retried => "STEP_RETRIED",
        }
    }

    /// `extract/1/STEP_STARTED`. A step that time or its process's death has closed has a record `extract/1/closed`, where the number
    /// is the run's execution.
    pub fn read(name: &str) -> Option<(&str, u32, StepEvent)> {
        let mut parts = name.split('/');
        let (step, attempt, event) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        let all = [StepEvent::Started, StepEvent::Succeeded, StepEvent::Failed, StepEvent::Retried];
        let event = all.into_iter().find(|one| one.as_str() == event);
        Some((step, attempt, event.or((name.ends_with("/closed")).then_some(StepEvent::Failed))?))
    }

    pub fn record(self, step: &str, attempt: u32) -> String {
        format!("{step}/{attempt}/{}", self.as_str())
    }
}

/// What a record of a step says. When it was written stands in the record itself, by the database's clock.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StepSaid {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// One attempt at one step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepAttempt {
    pub name: String,
    /// RUNNING, SUCCEEDED or FAILED.
    pub status: &'static str,
    pub attempt: u32,
    pub started_at: Time,
    pub ended_at: Option<Time>,
    pub error_code: Option<String>,
    pub details: Option<String>,
}

/// A run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Run {
    pub run_id: String,
    pub document_id: String,
    pub state: String,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub completed_at: Option<Time>,
    /// Why it failed, in a word: what the step said, PROCESS_TERMINATED, TIMED_OUT.
    pub failure_type: Option<String>,
    /// The same in a sentence.
    pub failure: Option<String>,
    /// In the order in which they began.
    pub steps: Vec<StepAttempt>,
}

impl Run {
    /// Of a run as it is kept. `document_id` is empty where the payload was erased and the key is none.
    pub fn of(whole: &Whole) -> Run {
        let item = &whole.item;
        let last = whole.executions.last();
        let live = item.lease.as_ref();
        let end = last.and_then(|execution| execution.ended.as_ref());
        let failed = end.filter(|_| item.phase() == Phase::Failed);
        Run {
            run_id: item.id.to_string(),
            document_id: item.key.as_ref().map(ToString::to_string).unwrap_or_default(),
            state: item.state_name().to_string(),
            created_at: item.created,
            started_at: live.map(|lease| lease.since).or(last.map(|execution| execution.leased_at)),
            completed_at: end.map(|end| end.mark.at),
            failure_type: failed.map(failure_type),
            failure: failed.and_then(|end| end.reason.clone()),
            steps: steps(item, &whole.records, end),
        }
    }
}

/// As it was said, and never "unknown": a code in front of the reason, or else the reason itself.
pub fn failure_type(end: &End) -> String {
    match &end.cause {
        Event::Orphan | Event::Expire => PROCESS_TERMINATED.to_string(),
        Event::TimeOut => TIMED_OUT.to_string(),
        cause => match &end.reason {
            Some(reason) => code(reason).unwrap_or(reason).to_string(),
            None => cause.to_string(),
        },
    }
}

/// The code of `NOT_TEXT: the page is a picture`.
fn code(reason: &str) -> Option<&str> {
    let first = reason.split_once(": ").map_or(reason, |(first, _)| first);
    first.parse::<CodeName>().is_ok().then_some(first)
}

/// Every attempt at every step, put together from what was written when it began and when it ended.
fn steps(item: &Item, records: &[Record], end: Option<&End>) -> Vec<StepAttempt> {
    let mut attempts: BTreeMap<(u64, &str, u32), StepAttempt> = BTreeMap::new();
    let mut begun: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    let mut records: Vec<&Record> = records.iter().filter(|record| &*record.label == STEP).collect();
    records.sort_by_key(|record| record.version);
    for record in records {
        let Some((step, attempt, event)) = StepEvent::read(&record.name) else { continue };
        let said = record.body.as_ref().and_then(|body| serde_json::from_slice(body.bytes()).ok());
        let said: StepSaid = said.unwrap_or_default();
        match event {
            StepEvent::Started => {
                begun.insert((step, attempt), record.version);
                let started = StepAttempt {
                    name: step.to_string(),
                    status: "RUNNING",
                    attempt,
                    started_at: record.at,
                    ended_at: None,
                    error_code: None,
                    details: None,
                };
                attempts.insert((record.version, step, attempt), started);
            }
            StepEvent::Retried => {}
            StepEvent::Succeeded | StepEvent::Failed => {
                let closed = record.name.ends_with("/closed");
                // Who closes a step does not know at which attempt it was: at the last that began.
                let attempt = match closed {
                    true => begun.keys().filter(|(name, _)| *name == step).map(|(_, at)| *at).max(),
                    false => Some(attempt),
                };
                let key = attempt.and_then(|attempt| Some((*begun.get(&(step, attempt))?, step, attempt)));
                let Some(found) = key.and_then(|key| attempts.get_mut(&key)) else { continue };
                found.ended_at = Some(record.at);
                found.status = if event == StepEvent::Succeeded { "SUCCEEDED" } else { "FAILED" };
                found.error_code = match closed {
                    true => end.map(failure_type),
                    false => said.error_code,
                };
                found.details = match closed {
                    true => end.and_then(|end| end.reason.clone()),
                    false => said.details,
                };
            }
        }
    }
    let mut attempts: Vec<StepAttempt> = attempts.into_values().collect();
    // Whoever worked on it elsewhere may have left one open: over is over.
    for open in attempts.iter_mut().filter(|attempt| attempt.ended_at.is_none()) {
        if let Some(end) = end.filter(|_| item.phase().is_ended()) {
            open.status = "FAILED";
            open.ended_at = Some(end.mark.at);
            open.error_code = Some(failure_type(end));
        }
    }
    attempts
}

/// One thing that happened to a run, by the names that runs have for it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Happened {
    /// RUN_CREATED, STEP_STARTED…
    pub event: String,
    pub at: Time,
    pub step: Option<String>,
    pub attempt: Option<u32>,
}

/// What happened to a run, oldest first.
pub fn happened(history: &[Sealed]) -> Vec<Happened> {
    let mut all = Vec::new();
    for entry in history {
        let records = match &entry.facts {
            Facts::Progress(progressed) => &progressed.records[..],
            Facts::End(ended) => &ended.written.records[..],
            _ => &[],
        };
        for record in records.iter().filter(|record| &*record.label == STEP) {
            if let Some((step, attempt, event)) = StepEvent::read(&record.name) {
                let closed = record.name.ends_with("/closed");
                all.push(Happened {
                    event: event.as_str().to_string(),
                    at: entry.at,
                    step: Some(step.to_string()),
                    attempt: (!closed).then_some(attempt),
                });
            }
        }
        // Progress, a start and the like are told by what they wrote.
        if let Some(shown) = &entry.shown {
            all.push(Happened { event: shown.to_string(), at: entry.at, step: None, attempt: None });
        }
    }
    all
}
