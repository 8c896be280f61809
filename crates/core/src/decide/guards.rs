//! Choosing a row: whose turn it is, what is possible, and which guard holds.
//!
//! The role is judged before the state, so that a caller who may not do a thing learns that and nothing else.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use super::draft::Draft;
use crate::actor::{Actor, Roles};
use crate::answer::{Answer, Refusal};
use crate::code::{Code, Problem};
use crate::id::{ItemId, RecordId};
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::{Phase, Row, StateId, Table, To};
use crate::request::NewRecord;

/// What a request brings for its guards to be judged by.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    pub actor: &'a Actor,
    pub reason: Option<&'a str>,
    pub permanent: bool,
    /// Guards that the serving system has established; clients can not set these.
    pub attests: &'a [Guard],
    pub session: Option<ItemId>,
    pub records: &'a [NewRecord],
    /// Items that the request's own effects move.
    pub moving: &'a [ItemId],
}

impl<'a> Case<'a> {
    pub fn of(actor: &'a Actor) -> Case<'a> {
        Case { actor, reason: None, permanent: false, attests: &[], session: None, records: &[], moving: &[] }
    }
}

/// The role is in some row of this event, whatever the state.
pub fn judge_role(table: &Table, event: &Event, actor: &Actor) -> Result<(), Answer> {
    let roles = table.roles_of(event);
    if roles.is_empty() || roles.allow(actor.role) {
        return Ok(());
    }
    Err(Answer::Forbidden { event: event.clone(), roles })
}

/// A row whose guards hold, and the state it leads to.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'t> {
    pub row: &'t Row,
    pub to: StateId,
}

/// The row that this event takes from the item's state.
pub fn choose<'t>(draft: &Draft, item: &'t Item, event: &Event, case: &Case) -> Result<Chosen<'t>, Answer> {
    let table = &item.table;
    judge_role(table, event, case.actor)?;
    let mut roles = Roles::NONE;
    let mut failed: Option<&Guard> = None;
    for row in table.rows_from(Some(item.state), event) {
        roles = roles.and(row.actors);
        if !row.actors.allow(case.actor.role) {
            continue;
        }
        match row.guards.iter().find(|guard| !holds(draft, item, guard, case)) {
            None => match &row.to {
                To::State(to) => return Ok(Chosen { row, to: *to }),
                To::Refuse(code) => return Err(refused_by(item, event, code.clone())),
            },
            Some(guard) => failed = failed.or(Some(guard)),
        }
    }
    if let Some(guard) = failed {
        return Err(refuse(item, event, guard.code(), explain(draft, item, guard)));
    }
    if !roles.is_empty() {
        return Err(Answer::Forbidden { event: event.clone(), roles });
    }
    let detail = match table.is_final(item.state) {
        true => format!("{} is final; nothing moves the item any more", item.state_name()),
        false => format!("the lifecycle {} has no row for {event} in {}", table.kind, item.state_name()),
    };
    Err(refuse(item, event, Code::TransitionRefused, detail))
}

pub fn refuse(item: &Item, event: &Event, code: Code, detail: String) -> Answer {
    Answer::Refused(Box::new(Refusal {
        item: item.id,
        state: item.state_name().clone(),
        event: event.clone(),
        allowed: item.table.events_from(item.state).into_iter().cloned().collect(),
        problem: Problem::new(code, detail),
    }))
}

fn refused_by(item: &Item, event: &Event, code: Code) -> Answer {
    let detail = format!("the lifecycle {} refuses {event} in {}", item.table.kind, item.state_name());
    refuse(item, event, code, detail)
}

pub fn holds(draft: &Draft, item: &Item, guard: &Guard, case: &Case) -> bool {
    match guard {
        Guard::AttemptsLeft => item.attempts_left(),
        Guard::AttemptsExhausted => !item.attempts_left(),
        Guard::Permanent => case.permanent,
        Guard::Reason => case.reason.is_some_and(|reason| !reason.trim().is_empty()),
        Guard::Owner => {
            let lease = item.lease.as_ref();
            lease.is_some_and(|lease| lease.owner.id == case.actor.id && lease.is_live(draft.now()))
        }
        Guard::NoOtherRunning => {
            draft.lane_of(item).is_none_or(|(_, lane)| lane.running.iter().all(|id| *id == item.id))
        }
        Guard::DependenciesDone => open_dependencies(draft, item).next().is_none(),
        Guard::BlockersClosed => open_blockers(draft, item).all(|blocker| case.moving.contains(&blocker)),
        Guard::LiveSession => {
            case.session.is_some_and(|session| is_live_session(draft, item, session, case.actor))
        }
        Guard::SameProof => {
            !case.records.is_empty() && case.records.iter().all(|record| is_kept(draft, item, record))
        }
        Guard::Workspace | Guard::GatesPass | Guard::Decomposition => case.attests.contains(guard),
        Guard::OutputBundle | Guard::TerminalReason | Guard::RunRecord => case.attests.contains(guard),
        Guard::BlockersNamed | Guard::Judgement => case.attests.contains(guard),
        Guard::Payload(comparison) => {
            let payload = draft.world().payloads.get(&item.id).and_then(|body| body.value());
            payload.is_some_and(|payload| comparison.holds(&payload))
        }
    }
}

fn open_dependencies<'a>(draft: &'a Draft, item: &'a Item) -> impl Iterator<Item = ItemId> + 'a {
    item.linked("depends").filter(|id| draft.item(*id).is_none_or(|found| found.phase() != Phase::Succeeded))
}

pub fn open_blockers<'a>(draft: &'a Draft, item: &'a Item) -> impl Iterator<Item = ItemId> + 'a {
    item.linked("blocker").filter(|id| draft.item(*id).is_none_or(|found| !found.phase().is_ended()))
}

fn is_live_session(draft: &Draft, item: &Item, session: ItemId, actor: &Actor) -> bool {
    let is_one = |session: &&Item| session.store == item.store && session.table.is_session();
    let Some(session) = draft.item(session).filter(is_one) else { return false };
    let lease = session.lease.as_ref();
    lease.is_some_and(|lease| lease.owner.id == actor.id && lease.is_live(draft.now()))
}

fn is_kept(draft: &Draft, item: &Item, record: &NewRecord) -> bool {
    let kept = draft.record(RecordId::of(item.id, &record.label, &record.name));
    kept.is_some_and(|kept| kept.hash == record.body.hash())
}

/// Why a guard does not hold, and what would make it hold.
pub fn explain(draft: &Draft, item: &Item, guard: &Guard) -> String {
    match guard {
        Guard::Reason => "a reason is needed".into(),
        Guard::Owner => match &item.lease {
            Some(lease) => format!("{} holds it until {}", lease.owner, lease.expires),
            None => "nobody holds it".into(),
        },
        Guard::NoOtherRunning => {
            match draft.lane_of(item).and_then(|(_, lane)| lane.running.first().copied()) {
                Some(running) => format!("item {running} of the same key is held; this one waits as ready"),
                None => "another item of the same key is held".into(),
            }
        }
        Guard::DependenciesDone => match open_dependencies(draft, item).next() {
            Some(open) => format!("it depends on {open}, which has not succeeded"),
            None => "a dependency has not succeeded".into(),
        },
        Guard::BlockersClosed => match open_blockers(draft, item).next() {
            Some(open) => format!("its blocker {open} is open"),
            None => "a blocker is open".into(),
        },
        Guard::LiveSession => "no live session of this actor is named; acquire one".into(),
        Guard::Workspace => "the workspace may not be changed here; use a branch of your own".into(),
        Guard::GatesPass => "a blocking gate has not passed".into(),
        Guard::Decomposition => {
            "it is decomposed by the decomposer of its domain (DecomposeClaim, under this lease), and never by a commit of one's own"
                .into()
        }
        Guard::OutputBundle => {
            "it is executed with one output bundle (DeliverOutput, under this lease), and never by a commit of one's own".into()
        }
        Guard::Judgement => {
            "it is handed in by whoever prepared it, as what it is (SubmitValidation), and never by a move of one's own".into()
        }
        Guard::TerminalReason => {
            "it is processed by the scheduler of tickets, which says what becomes of the ticket, and never by a commit of one's own"
                .into()
        }
        Guard::RunRecord => {
            "it is judged by the gate worker of tickets, which writes its run record, and never by a commit of one's own".into()
        }
        Guard::BlockersNamed => {
            "what blocks it is closed with the same move: `tenure ticket resolve` (POST /v1/tickets/ID/resolve) does both, and no move of one's own"
                .into()
        }
        Guard::SameProof => "it is verified with another proof".into(),
        Guard::AttemptsLeft | Guard::AttemptsExhausted | Guard::Permanent => {
            format!("`{guard}` does not hold")
        }
        Guard::Payload(comparison) => format!("`{comparison}` does not hold"),
    }
}
