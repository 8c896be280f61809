//! What people do with tickets: create, list, show, approve, block, resolve.

use tenure::core::actor::Role;
use tenure::core::answer::Answer;
use tenure::core::code::{Code, Problem};
use tenure::core::id::ItemId;
use tenure::core::item::{Item, SharedItem};
use tenure::core::lifecycle::event::Event;
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Command, EffectMove, Effects, Move};
use tenure::databases::{Query, Whole};
use tenure::{Error, New};

use super::artifact::record;
use super::family::Family;
use super::kept::{
    BLOCKER, Blocker, NewTicket, PAUSE, PauseState, RUN, Said, TICKET, Ticket, blocker, is_kind, is_state,
    latest, read, ready,
};
use super::orders::Stored;
use super::{Tickets, none};
use crate::gate::NotAGate;
use crate::inbox;

impl Tickets {
    /// A new ticket. It waits for a person's approval.
    pub async fn create(&self, new: &NewTicket, idempotency_key: Option<&str>) -> Result<Ticket, Error> {
        Ok(self.create_once(new, idempotency_key).await?.0)
    }

    /// As [`Tickets::create`], with whether it is new: a repeat of its key is the same ticket.
    pub async fn create_once(
        &self,
        new: &NewTicket,
        idempotency_key: Option<&str>,
    ) -> Result<(Ticket, bool), Error> {
        let wrong = |why: NotAGate| refused(Problem::new(Code::SchemaViolation, format!("gates: {why}")));
        new.gates().map_err(wrong)?;
        let mut create = New::of(TICKET, new);
        if let Some(key) = idempotency_key {
            create = create.idempotency_key(key);
        }
        let reply = self.tenure.ask(Command::Create(create.into_create()?)).await?;
        match reply.answer {
            Answer::Created(item) | Answer::Coalesced(item) => Ok((shown(&item, new.clone()), reply.fresh)),
            no => Err(Error::Refused(Box::new(no))),
        }
    }

    /// Tickets in the order of a query, without what was said about them.
    pub async fn list(&self, query: Query) -> Result<Vec<Ticket>, Error> {
        let query = Query { kind: Some(TICKET.parse()?), ..query };
        let ids = self.tenure.list(query).await?.iter().map(|item| item.id).collect();
        let wholes = self.tenure.wholes(ids).await?;
        Ok(wholes.iter().map(|whole| shown(&whole.item, asked(whole))).collect())
    }

    pub async fn show(&self, id: ItemId) -> Result<Ticket, Error> {
        let whole = self.ticket(id).await?;
        let family = Family::of(&self.tenure, id).await?;
        let mut blockers = Vec::new();
        for blocker in family.open_blockers() {
            blockers.push(self.blocker(blocker).await?);
        }
        let approval = self.said(id, "approve").await?;
        Ok(Ticket { approval, blockers, ..shown(&whole.item, asked(&whole)) })
    }

    /// A person's yes: from now on machines may work on it.
    pub async fn approve(&self, id: ItemId, note: Option<String>) -> Result<Ticket, Error> {
        self.ticket(id).await?;
        let effects = Effects { creates: vec![ready(id).into_create()?], ..Effects::default() };
        self.advance(id, "approve", note, effects).await?;
        self.show(id).await
    }

    /// Keeps a ticket that is TODO from being worked on.
    pub async fn block(&self, id: ItemId, reason: &str) -> Result<Ticket, Error> {
        let whole = self.ticket(id).await?;
        // Others may not at all, and are told that.
        if is_state(&whole.item, "IN_PROGRESS") && self.tenure.actor().role == Role::Human {
            let detail = "it is worked on, and its gate says soon what becomes of it; a person blocks a ticket that is TODO";
            return Err(inbox::refused(&whole.item, Event::Plain("block".parse()?), detail.to_string()));
        }
        let pause = PauseState::blocked(id, None, reason);
        let name = format!("block-{}", whole.item.version);
        let effects = Effects {
            records: vec![record(PAUSE, &name, &pause).map_err(refused)?],
            creates: vec![blocker(id, reason).into_create()?],
            ..Effects::default()
        };
        self.advance(id, "block", Some(reason.to_string()), effects).await?;
        self.show(id).await
    }

    /// A reason why a ticket can not go on, before anybody works on it: what is approved with it is blocked by the scheduler.
    pub async fn add_blocker(&self, id: ItemId, reason: &str) -> Result<Blocker, Error> {
        self.ticket(id).await?;
        let item = self.tenure.create(blocker(id, reason)).await?;
        self.blocker(&item).await
    }

    /// Closes what blocks a ticket and lets it be worked on again, in one transaction.
    pub async fn resolve(&self, id: ItemId, note: Option<String>) -> Result<Ticket, Error> {
        self.ticket(id).await?;
        let family = Family::of(&self.tenure, id).await?;
        let mut effects = Effects { creates: vec![ready(id).into_create()?], ..Effects::default() };
        for blocker in family.open_blockers() {
            effects.moves.push(EffectMove {
                item: blocker.id,
                event: "close".parse()?,
                reason: note.clone(),
            });
        }
        let resolve = Move { attests: vec![Guard::BlockersNamed], ..Move::new(id, "resolve".parse()?) };
        self.moved(Move { reason: note, effects, ..resolve }).await?;
        self.show(id).await
    }

    /// The run records of a ticket, oldest first.
    pub async fn run_records(&self, id: ItemId) -> Result<Vec<Stored>, Error> {
        self.ticket(id).await?;
        let family = Family::of(&self.tenure, id).await?;
        let gates = self.tenure.wholes(family.gates().map(|gate| gate.id).collect()).await?;
        Ok(gates.iter().filter_map(|gate| latest(&gate.records, RUN).and_then(Stored::of)).collect())
    }

    /// Why a ticket paused last, and what can be done about it. None: it has not paused yet.
    pub async fn pause_state(&self, id: ItemId) -> Result<Option<Stored>, Error> {
        let mut last: Option<Stored> = None;
        let mut consider = |whole: &Whole| {
            let found = latest(&whole.records, PAUSE).and_then(Stored::of);
            last = match (last.take(), found) {
                (Some(last), Some(found)) if found.at >= last.at => Some(found),
                (last, found) => last.or(found),
            };
        };
        consider(&self.ticket(id).await?);
        for item in Family::of(&self.tenure, id).await?.pausing() {
            consider(&self.tenure.whole(item.id).await?);
        }
        Ok(last)
    }

    /// A ticket with its bodies. An item of another kind is none.
    pub(super) async fn ticket(&self, id: ItemId) -> Result<Whole, Error> {
        self.of_kind(TICKET, id).await
    }

    pub(super) async fn of_kind(&self, kind: &str, id: ItemId) -> Result<Whole, Error> {
        match self.tenure.whole(id).await {
            Ok(whole) if is_kind(&whole.item, kind) => Ok(whole),
            Ok(_) | Err(Error::NotFound(_)) => Err(none(kind, id)),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn blocker(&self, item: &Item) -> Result<Blocker, Error> {
        let whole = self.of_kind(BLOCKER, item.id).await?;
        let payload: Option<serde_json::Value> = read(whole.payload.as_ref());
        let reason = payload.as_ref().and_then(|payload| payload["reason"].as_str()).unwrap_or_default();
        let state = whole.item.state_name().to_string();
        Ok(Blocker { blocker_id: item.id, reason: reason.to_string(), state, created_at: item.created })
    }

    pub(super) async fn advance(
        &self,
        id: ItemId,
        event: &str,
        reason: Option<String>,
        effects: Effects,
    ) -> Result<SharedItem, Error> {
        self.moved(Move { reason, effects, ..Move::new(id, event.parse()?) }).await
    }

    async fn moved(&self, step: Move) -> Result<SharedItem, Error> {
        match self.tenure.ask(Command::Move(step)).await?.answer {
            Answer::Done(item) | Answer::Same(item) => Ok(item),
            no => Err(Error::Refused(Box::new(no))),
        }
    }

    /// Who took an event of a ticket last, when, and what they said.
    pub(super) async fn said(&self, id: ItemId, event: &str) -> Result<Option<Said>, Error> {
        super::scheduler::said(&self.tenure, id, event).await
    }
}

pub(super) fn refused(problem: Problem) -> Error {
    Error::Refused(Box::new(Answer::Invalid(problem)))
}

fn shown(item: &Item, asked: NewTicket) -> Ticket {
    Ticket {
        ticket_id: item.id,
        state: item.state_name().to_string(),
        asked,
        created_at: item.created,
        created_by: item.created_by.to_string(),
        updated_at: item.updated,
        approval: None,
        blockers: Vec::new(),
    }
}

/// What was asked for. Of an erased ticket nothing is left.
pub(super) fn asked(whole: &Whole) -> NewTicket {
    read(whole.payload.as_ref()).unwrap_or_default()
}
