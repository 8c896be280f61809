//! The scheduler: one event becomes one work order, or the reason why there is none, in one commit.

use tenure::core::entry::Facts;
use tenure::core::id::{ItemId, RecordId};
use tenure::core::lifecycle::event::Event as Action;
use tenure::core::lifecycle::guard::Guard;
use tenure::databases::Whole;
use tenure::{Done, Error, Failure, Job, New, Tenure};

use super::artifact::checked;
use super::family::Family;
use super::kept::{
    Earlier, Event, NewTicket, ONLY, ORDER, PAUSE, PauseState, READY, RUN, RunRecord, SNAPSHOT, Said,
    Snapshot, TICKET, WorkOrder, blocker, body, is_kind, is_state, recorded, shortened,
};
use crate::gate::Gate;

/// What has become of an event. The names are a promise.
const SCHEDULED: &str = "SCHEDULED";
const MISSING_TICKET: &str = "MISSING_TICKET";
const NON_EXECUTABLE_STATUS: &str = "NON_EXECUTABLE_STATUS";
const BLOCKED: &str = "BLOCKED";

pub(super) async fn schedule(tenure: Tenure, job: Job) -> Result<Done, Failure> {
    Ok(decide(&tenure, &job).await?.attest(Guard::TerminalReason))
}

async fn decide(tenure: &Tenure, job: &Job) -> Result<Done, Failure> {
    let event: Event = match job.payload() {
        Ok(event) => event,
        Err(_) => return Done::with(&MISSING_TICKET),
    };
    let Some(whole) = ticket(tenure, &event).await? else { return Done::with(&MISSING_TICKET) };
    let id = whole.item.id;
    let family = Family::of(tenure, id).await?;
    let blockers: Vec<String> = family.open_blockers().map(|blocker| blocker.id.to_string()).collect();
    match (whole.item.state_name().as_str(), blockers.is_empty()) {
        ("TODO", true) => match readable(&whole) {
            Ok((asked, gates)) => plan(tenure, job.id(), id, asked, gates, &family).await,
            Err(why) => {
                let why = shortened(&why);
                blocked(id, &why)?.create(blocker(id, &why))
            }
        },
        ("TODO", false) => blocked(id, &has_open(&blockers)),
        ("BLOCKED", _) => Done::with(&BLOCKED),
        _ => Done::with(&NON_EXECUTABLE_STATUS),
    }
}

/// Why a ticket with these open blockers is not worked on.
pub(super) fn has_open(blockers: &[String]) -> String {
    format!("it has open blockers: {}", blockers.join(", "))
}

fn blocked(ticket: ItemId, why: &str) -> Result<Done, Failure> {
    let pause = checked(PAUSE, PauseState::blocked(ticket, None, why))?;
    Done::with(&BLOCKED)?.record(PAUSE, ONLY, &pause)?.advance(ticket, "block", Some(why))
}

/// What a ticket asks for, or why nobody can tell: one that is there and left as it is would be announced again and again.
fn readable(ticket: &Whole) -> Result<(NewTicket, Vec<Gate>), String> {
    let Some(payload) = &ticket.payload else { return Err("the ticket was erased".to_string()) };
    let asked: NewTicket = serde_json::from_slice(payload.bytes())
        .map_err(|why| format!("the ticket can not be read: {why}; create it anew"))?;
    let gates = asked.gates().map_err(|why| why.to_string())?;
    Ok((asked, gates))
}

/// The ticket that an event is about, if it is there.
async fn ticket(tenure: &Tenure, event: &Event) -> Result<Option<Whole>, Error> {
    let Ok(id) = event.ticket_id.parse::<ItemId>() else { return Ok(None) };
    match tenure.whole(id).await {
        Ok(whole) if is_kind(&whole.item, TICKET) => Ok(Some(whole)),
        Ok(_) | Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn plan(
    tenure: &Tenure,
    event: ItemId,
    ticket: ItemId,
    asked: NewTicket,
    gates: Vec<Gate>,
    family: &Family,
) -> Result<Done, Failure> {
    let resolved = said(tenure, ticket, "resolve").await?;
    let mut earlier = Vec::new();
    let mut number = 1;
    for order in family.orders() {
        earlier.push(outcome(tenure, order.id, is_state(order, "FAILED"), family).await?);
        // A person who resolves what blocked it gives it all its work orders again.
        number += u32::from(resolved.as_ref().is_none_or(|resolved| order.created > resolved.at));
    }
    let budget_ms = asked.budget_ms();
    let snapshot = Snapshot {
        event_id: event,
        ticket_id: ticket,
        number,
        title: asked.title,
        description: asked.description,
        gates: gates.clone(),
        budget_ms,
        approval: said(tenure, ticket, "approve").await?,
        resolved,
        earlier,
    };
    let snapshot = checked(SNAPSHOT, snapshot)?;
    // Kept apart from its ticket it has to fit into a body of its own, with all that was said and tried.
    if let Err(why) = body(&snapshot) {
        let why = shortened(&format!("its context can not be kept: {why}; make the ticket shorter"));
        return blocked(ticket, &why)?.create(blocker(ticket, &why));
    }
    let (label, name) = (SNAPSHOT.parse()?, ONLY.parse()?);
    let order = WorkOrder {
        event_id: event,
        ticket_id: ticket,
        number,
        budget_ms,
        context_snapshot_id: RecordId::of(event, &label, &name),
        gates,
    };
    let new = New::of(ORDER, &order).idempotency_key(event.to_string());
    Done::with(&SCHEDULED)?
        .record(SNAPSHOT, ONLY, &snapshot)?
        .create(new.link(TICKET, ticket).link(READY, event))?
        .advance(ticket, "schedule", None)
}

/// What came of a work order.
async fn outcome(tenure: &Tenure, order: ItemId, is_failed: bool, family: &Family) -> Result<Earlier, Error> {
    let record: Option<RunRecord> = match family.gate_of(order) {
        Some(gate) => recorded(&tenure.whole(gate.id).await?.records, RUN),
        None => None,
    };
    let failed = record.iter().flat_map(|record| &record.gates).filter(|gate| !gate.passed);
    let failed = failed.map(|gate| format!("{}: {}", gate.gate, gate.detail)).collect();
    let outcome = match &record {
        Some(record) => record.outcome.clone(),
        None if is_failed => "NOT_CARRIED_OUT".to_string(),
        None => "UNKNOWN".to_string(),
    };
    Ok(Earlier { work_order_id: order, outcome, failed })
}

/// Who took an event of a ticket last, when, and what they said.
pub(super) async fn said(tenure: &Tenure, ticket: ItemId, event: &str) -> Result<Option<Said>, Error> {
    let history = tenure.history(ticket).await?;
    let of_event = |action: &Action| matches!(action, Action::Plain(name) if name.as_str() == event);
    let entry = history.iter().rev().find(|entry| of_event(&entry.action));
    Ok(entry.map(|entry| {
        let note = match &entry.facts {
            Facts::Move(moved) => moved.reason.clone(),
            _ => None,
        };
        Said { by: entry.actor.to_string(), at: entry.at, note }
    }))
}
