//! How an execution ends without its commit: failed, released, expired, timed out, orphaned, or cancelled on any of
//! these when somebody had asked for that.

use alloc::string::ToString;
use core::time::Duration;

use super::draft::{Draft, Line, Unlogged};
use super::effects::{Prepared, Rule, Wanted, system};
use super::guards::{Case, Chosen, choose, refuse};
use super::limits;
use crate::actor::Actor;
use crate::answer::Answer;
use crate::code::Code;
use crate::draw::Draw;
use crate::entry::{Cancelled, Ended, Facts};
use crate::execution::{self, Execution, Status, Step};
use crate::id::ItemId;
use crate::item::Item;
use crate::lifecycle::Phase;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::request::Effects;
use crate::time::Time;

pub(super) struct Ending<'a> {
    pub event: Event,
    /// What was asked for, where something else comes of it.
    pub on: Option<Event>,
    pub actor: &'a Actor,
    pub reason: Option<&'a str>,
    pub permanent: bool,
    pub delay: Option<Duration>,
    pub attests: &'a [Guard],
    pub offers: &'a Effects,
}

/// Takes the row of the ending, or the `cancel` row where a cancel was asked for.
pub(super) fn end(draft: &mut Draft, item: &Item, ending: Ending, draw: &mut Draw) -> Result<(), Answer> {
    let status = item.lease.as_ref().map_or(Status::Aborted, |lease| lease.status());
    if execution::next(status, Step::Abort).is_none() {
        let detail = alloc::format!("the execution is {status}; only finishing applies to it");
        return Err(refuse(item, &ending.event, Code::TransitionRefused, detail));
    }
    let asked = item.cancel.clone();
    let (event, actor, reason) = match &asked {
        Some(asked) => (Event::Cancel, &asked.actor, asked.reason.as_deref()),
        None => (ending.event.clone(), ending.actor, ending.reason),
    };
    let case = Case { reason, permanent: ending.permanent, attests: ending.attests, ..Case::of(actor) };
    let Chosen { row, to: state } = choose(draft, item, &event, &case)?;
    let offers = Wanted { item, row, actor, effects: ending.offers, rule: Rule::MustBeGiven };
    let effects = Prepared::new(draft, offers, draw)?;
    let facts = match asked.is_some() {
        true => Facts::Cancel(Cancelled {
            asked: false,
            on: Some(ending.event.clone()),
            reason: reason.map(ToString::to_string),
            // The request that asked for it has now taken effect; repeated, it is recognized.
            request: item.request,
            written: effects.written(),
        }),
        false => {
            let failed = is_failure(&ending.event);
            if failed {
                limits::failed(draft, item);
            }
            let wait = wait(item, &ending, draw);
            let run_at = match item.table.phase(state) == Phase::Ready {
                true if failed => retry_at(draft, item, wait),
                true => wait.map(|wait| draft.now().after(wait)),
                false => None,
            };
            Facts::End(Ended {
                on: ending.on.clone(),
                permanent: ending.permanent,
                reason: reason.map(ToString::to_string),
                run_at,
                written: effects.written(),
            })
        }
    };
    let line = Line { action: event, shown: row.alias.clone(), actor, fence: item.fence, state, facts };
    let bodies = effects.bodies();
    draft.write(item.id, line, Unlogged { bodies, ..Unlogged::default() });
    effects.perform(draft, item.id, actor)
}

/// When a retry is due. One that waits for nothing keeps its time, and its place in the queue.
fn retry_at(draft: &mut Draft, item: &Item, wait: Option<Duration>) -> Option<Time> {
    let now = draft.now();
    let wanted = wait.map_or(now, |wait| now.after(wait));
    let at = limits::retry_at(draft, item, wanted);
    (wait.is_some() || at > now).then_some(at)
}

/// What was given back or cancelled has not failed.
fn is_failure(event: &Event) -> bool {
    matches!(event, Event::Fail | Event::TimeOut | Event::Expire | Event::Orphan)
}

/// Whether this item can fail now at the hands of this actor, with nothing to be written beside it.
pub(super) fn can_fail(draft: &Draft, item: &Item, case: &Case) -> bool {
    let Ok(chosen) = choose(draft, item, &Event::Fail, case) else { return false };
    let none = Effects::default();
    let wanted = Wanted { item, row: chosen.row, actor: case.actor, effects: &none, rule: Rule::MustBeGiven };
    // Nothing is created, so nothing is drawn.
    Prepared::new(draft, wanted, &mut Draw::new(0)).is_ok()
}

/// How long before the next attempt. A lost lease has waited long enough already.
fn wait(item: &Item, ending: &Ending, draw: &mut Draw) -> Option<Duration> {
    match ending.event {
        Event::Fail | Event::TimeOut => {
            let backoff = draw.jittered(item.backoff());
            Some(backoff.max(ending.delay.unwrap_or_default()))
        }
        _ => ending.delay,
    }
}

/// What is said of an execution that time has ended.
pub(super) fn why(event: &Event) -> &'static str {
    if *event == Event::TimeOut { "its window passed" } else { "its lease ended" }
}

/// Ends what time has ended, so that a take-over finds the item as it should be. Where that is not possible without
/// effects (they come with the engine's sweep) nothing happens, and the take-over finds it held.
pub(super) fn lapse(draft: &mut Draft, id: ItemId) {
    let Some(item) = draft.shared(id).cloned() else { return };
    let Some(event) = item.due(draft.now()).filter(|event| *event != Event::Finish) else { return };
    let system = system();
    let ending = Ending {
        reason: Some(why(&event)),
        event,
        on: None,
        actor: &system,
        permanent: false,
        delay: None,
        attests: &[],
        offers: &Effects::default(),
    };
    // No jitter is needed for an expiry, so the numbers drawn here are never used for anything that lasts.
    let _ = end(draft, &item, ending, &mut Draw::new(0));
}

/// Whether this very event ended the execution (also when it became a cancel).
pub(super) fn ended_by(execution: &Execution, event: &Event) -> bool {
    execution.ended.as_ref().is_some_and(|end| end.cause == *event || end.on.as_ref() == Some(event))
}
