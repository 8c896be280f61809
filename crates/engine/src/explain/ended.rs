//! How an item ended, what was tried before, and what came of it.

use serde::Serialize;
use tenure_core::actor::Actor;
use tenure_core::entry::{Facts as Said, Written};
use tenure_core::execution::Execution;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::Phase;
use tenure_core::lifecycle::event::Event;
use tenure_core::time::Time;

use super::facts::{Facts, Known};
use super::waits;
use super::words::{count, why};
use super::{Because, RELATED_MAX, Reason, Related};

/// Failures that are told; the executions have them all.
const FAILURES_MAX: usize = 5;

/// How it ended. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ended {
    pub event: Event,
    pub at: Time,
    pub by: Actor,
    pub reason: Option<String>,
    /// It has an output that can be read.
    pub output: bool,
    /// Payload and output were erased.
    pub erased: bool,
    /// What it made with its end; of many the first.
    pub created: Vec<ItemId>,
}

impl Ended {
    pub(super) fn of(known: &Known) -> Option<Ended> {
        let item = &known.item;
        if !item.phase().is_ended() {
            return None;
        }
        let state = item.state_name();
        let entry = known.history.iter().rev().take_while(|entry| entry.state == *state).last()?;
        // An output is committed, and effects are written, before or with the end.
        let created = known.history.iter().filter_map(|entry| written(&entry.facts));
        let created = created.flat_map(|written| written.created.iter().copied());
        Some(Ended {
            event: entry.action.clone(),
            at: entry.at,
            by: entry.actor.clone(),
            reason: item.reason.as_deref().map(ToString::to_string),
            output: known.has_output,
            erased: item.erased,
            created: created.take(RELATED_MAX).collect(),
        })
    }
}

fn written(said: &Said) -> Option<&Written> {
    match said {
        Said::Commit(committed) => Some(&committed.written),
        Said::End(ended) => Some(&ended.written),
        Said::Cancel(cancelled) => Some(&cancelled.written),
        Said::Move(moved) => Some(&moved.written),
        Said::Create(_) | Said::Lease(_) | Said::Progress(_) => None,
        Said::Note(_) | Said::Link(_) | Said::Bare(_) => None,
    }
}

/// How often it was tried. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Tries {
    /// Leases that were given, also those that were given back.
    pub made: u64,
    /// Since it was last made ready by hand.
    pub failed: u32,
    pub given_back: u32,
    /// None: there is no bound.
    pub most: Option<u32>,
    /// None: there is no bound. None are left to what has ended for good.
    pub left: Option<u32>,
}

impl Tries {
    pub(super) fn of(item: &Item) -> Tries {
        Tries {
            made: item.fence.0,
            failed: item.failures,
            given_back: item.interruptions,
            most: item.attempts,
            left: match item.table.is_final(item.state) {
                true => Some(0),
                false => item.attempts.map(|most| most.saturating_sub(item.failures)),
            },
        }
    }
}

/// An attempt that failed. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failed {
    pub attempt: u64,
    pub owner: String,
    /// `fail`, `expire`, `time-out` or `orphan`.
    pub event: Event,
    pub at: Time,
    pub reason: Option<String>,
    /// The worker said that trying again is useless.
    pub permanent: bool,
}

impl Failed {
    fn of(execution: &Execution) -> Option<Failed> {
        let end = execution.ended.as_ref().filter(|end| end.cause.is_failure())?;
        Some(Failed {
            attempt: execution.id.fence.0,
            owner: execution.owner.to_string(),
            event: end.cause.clone(),
            at: end.mark.at,
            reason: end.reason.clone(),
            permanent: end.permanent,
        })
    }
}

/// The last few, oldest first.
pub(super) fn failures(known: &Known) -> Vec<Failed> {
    let mut failures: Vec<Failed> = known.executions.iter().filter_map(Failed::of).collect();
    failures.drain(..failures.len().saturating_sub(FAILURES_MAX));
    failures
}

pub(super) fn because(facts: &Facts, known: &Known) -> Vec<Because> {
    let item = &known.item;
    let mut because = vec![how(known)];
    if let Some(retried) = known.retried_as {
        let text = format!("{retried} was made to try it again");
        let items = vec![Related::of(facts, retried, None)];
        because.push(Because::new(Reason::Retried, text).items(items));
    }
    // At rest: somebody can have it go on.
    if item.table.has_exit(item.state) {
        because.extend(waits::for_a_move(facts, item));
    }
    because
}

fn how(known: &Known) -> Because {
    let item = &known.item;
    let ended = Ended::of(known);
    let at = ended.as_ref().map_or(item.updated, |ended| ended.at);
    let by = ended.as_ref().map_or(String::new(), |ended| format!(" with `{}` by {}", ended.event, ended.by));
    let reason = why(item.reason.as_deref());
    let because = match item.phase() {
        Phase::Succeeded => {
            let output = if known.has_output { ", with an output" } else { "" };
            let created = match ended.as_ref().map_or(0, |ended| ended.created.len()) as u64 {
                0 => String::new(),
                number => format!(", and made {}", count(number, "item")),
            };
            Because::new(Reason::Succeeded, format!("it succeeded at {at}{by}{output}{created}"))
        }
        Phase::Failed => {
            let after = count(item.fence.0, "attempt");
            Because::new(Reason::Failed, format!("it failed at {at} after {after}{reason}"))
        }
        Phase::Stopped | Phase::Waiting | Phase::Ready | Phase::Active => {
            Because::new(Reason::Stopped, format!("it was stopped at {at}{by}{reason}"))
        }
    };
    Because { who: ended.map(|ended| ended.by.to_string()), ..because }
}
