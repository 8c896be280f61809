//! Trying again what ended badly, and calling off what has not ended: one, or all that a filter finds, a page at a time.
//!
//! An item that rests in a state with a way out takes it; of one in a final state a new one is made, with the same payload, that
//! names the old one as its origin. The new one has a name that follows from the old one's id, so however often an item is tried
//! again there is one new item.

use tenure_core::actor::{Actor, Role, Roles};
use tenure_core::answer::{Answer, Refusal};
use tenure_core::code::{Code, Problem};
use tenure_core::id::ItemId;
use tenure_core::item::{Item, SharedItem};
use tenure_core::lifecycle::Phase;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::shipped::is_own;
use tenure_core::request::{Cancel, Command, Create, Effects, Move, Request};
use tenure_core::retry::{NoWay, WayBack};
use tenure_core::word::Key;
use tenure_databases::Query;
use tenure_databases::batch::Reply;

use crate::error::Error;
use crate::tenure::Tenure;

/// Items of one call at most: each is read with its payload, and all are asked for in one call.
pub const BULK_MAX: usize = 500;
/// Where nobody gives another.
const REASON: &str = "redrive";
/// What is refused where there is no way back.
const RETRY: &str = "retry";

/// Whether something happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Nothing does; the outcomes say what would, as things are now.
    DryRun,
    Act,
}

/// What became of one item of many.
#[derive(Debug)]
pub enum Outcome {
    /// A dry run: the event that it would take, or `create` for a new item.
    Would(Event),
    /// It moved, or was so already.
    Moved(SharedItem),
    /// This one was made in its place.
    Again(SharedItem),
    /// This one was made in its place when the same was asked before.
    Stood(SharedItem),
    /// It stays as it is, for this reason.
    Not(Error),
}

/// The outcomes of one page, and where the next begins.
#[derive(Debug)]
pub struct Bulk {
    pub outcomes: Vec<(ItemId, Outcome)>,
    /// Goes into [`Query::after`]. None: that was all.
    pub next: Option<ItemId>,
}

impl Tenure {
    /// Has an item tried again that failed or was stopped. Asked twice it happens once.
    pub async fn retry(&self, id: ItemId) -> Result<SharedItem, Error> {
        match self.tried_again(id).await? {
            Outcome::Moved(item) | Outcome::Again(item) | Outcome::Stood(item) => Ok(item),
            Outcome::Not(error) => Err(error),
            Outcome::Would(_) => unreachable!("it is asked for, and answered"),
        }
    }

    /// As [`Tenure::retry`], with what became of it.
    pub async fn tried_again(&self, id: ItemId) -> Result<Outcome, Error> {
        let item = self.item(id).await?;
        let role = self.api.role;
        let planned = vec![self.way_back(&item, role, REASON).await];
        Ok(self.asked(planned, role).await.pop().expect("what is planned is answered"))
    }

    /// Has all items tried again that a filter finds: those that failed, unless it names a state or a phase. `role` is who asks:
    /// the ways back of some tables are for an orchestrator or a person.
    pub async fn redrive(&self, query: Query, role: Role, mode: Mode) -> Result<Bulk, Error> {
        self.redrive_because(query, role, REASON, mode).await
    }

    /// As [`Tenure::redrive`], with a reason that the log keeps of those that move.
    pub async fn redrive_because(
        &self,
        query: Query,
        role: Role,
        reason: &str,
        mode: Mode,
    ) -> Result<Bulk, Error> {
        let names_some = query.state.is_some() || query.phase.is_some();
        let query = Query { phase: query.phase.or((!names_some).then_some(Phase::Failed)), ..query };
        let (items, next) = self.page_of(query).await?;
        let outcomes = match mode {
            Mode::DryRun => items.iter().map(|item| would_redrive(item, role)).collect(),
            Mode::Act => {
                let mut planned = Vec::with_capacity(items.len());
                for item in &items {
                    planned.push(self.way_back(item, role, reason).await);
                }
                self.asked(planned, role).await
            }
        };
        Ok(Bulk { outcomes: items.iter().map(|item| item.id).zip(outcomes).collect(), next })
    }

    /// Cancels all items that a filter finds and that have not ended, each with its own outcome.
    pub async fn cancel_all(&self, query: Query, reason: &str, mode: Mode) -> Result<Bulk, Error> {
        let (items, next) = self.page_of(query).await?;
        let open: Vec<&Item> = items.iter().filter(|item| !item.phase().is_ended()).collect();
        if mode == Mode::DryRun {
            let would = |item: &&Item| (item.id, would_cancel(item, self.api.role));
            return Ok(Bulk { outcomes: open.iter().map(would).collect(), next });
        }
        let request = |item: &&Item| {
            let (reason, offers) = (Some(reason.to_string()), Effects::default());
            self.request(Command::Cancel(Cancel { item: item.id, reason, expected_version: None, offers }))
        };
        let replies = self.ask_all(open.iter().map(request).collect()).await;
        let ids = open.iter().map(|item| item.id);
        Ok(Bulk { outcomes: ids.zip(replies.into_iter().map(replied)).collect(), next })
    }

    async fn page_of(&self, query: Query) -> Result<(Vec<Item>, Option<ItemId>), Error> {
        let limit = if query.limit == 0 { BULK_MAX } else { query.limit.min(BULK_MAX) };
        let items = self.list(Query { limit, ..query }).await?;
        let next = items.last().map(|last| last.id).filter(|_| items.len() == limit);
        Ok((items, next))
    }

    /// What is to be asked for an item to be tried again.
    async fn way_back(&self, item: &Item, role: Role, reason: &str) -> Result<Command, Error> {
        match way_back(item, role)? {
            WayBack::Move(event) => {
                let reason = Some(reason.to_string());
                // Only from where it was seen: what has moved since is somebody else's.
                let expected_version = Some(item.version);
                Ok(Command::Move(Move { reason, expected_version, ..Move::new(item.id, event) }))
            }
            WayBack::Again => self.again(item).await.map(Command::Create),
        }
    }

    async fn again(&self, item: &Item) -> Result<Create, Error> {
        let payload = self.whole(item.id).await?.payload.ok_or_else(|| erased(item))?;
        Ok(Create {
            name: Some(retry_name(item.id)),
            key: item.key.clone(),
            priority: Some(item.priority),
            attempts: item.attempts,
            links: item.links.clone(),
            origin: Some(item.id),
            ..Create::new(item.table.kind.clone(), payload)
        })
    }

    /// Asks for what is planned, all in one call. What could not be planned has its outcome already.
    async fn asked(&self, planned: Vec<Result<Command, Error>>, role: Role) -> Vec<Outcome> {
        let actor = Actor { role, ..self.api.clone() };
        let good = planned.iter().filter_map(|command| command.as_ref().ok());
        let request = |command: &Command| Request { actor: actor.clone(), ..self.request(command.clone()) };
        let mut replies = self.ask_all(good.map(request).collect()).await.into_iter();
        let outcome = |command: Result<Command, Error>| match command {
            Ok(_) => replied(replies.next().expect("every request has its reply")),
            Err(error) => Outcome::Not(error),
        };
        planned.into_iter().map(outcome).collect()
    }
}

/// The name of the item that is made to try this one again: there is one, however often it is asked for.
pub(crate) fn retry_name(id: ItemId) -> Key {
    format!("retry/{id}").parse().expect("an id makes a valid key")
}

fn replied(reply: Result<Reply, tenure_databases::Error>) -> Outcome {
    match reply.map(|reply| (reply.answer, reply.fresh)) {
        Ok((Answer::Created(item), true)) => Outcome::Again(item),
        Ok((Answer::Created(item) | Answer::Coalesced(item), _)) => Outcome::Stood(item),
        Ok((Answer::Done(item) | Answer::Same(item), _)) => Outcome::Moved(item),
        Ok((no, _)) => Outcome::Not(Error::Refused(Box::new(no))),
        Err(error) => Outcome::Not(error.into()),
    }
}

fn would_redrive(item: &Item, role: Role) -> Outcome {
    match way_back(item, role) {
        Ok(WayBack::Move(event)) => Outcome::Would(Event::Plain(event)),
        Ok(WayBack::Again) if item.erased => Outcome::Not(erased(item)),
        Ok(WayBack::Again) => Outcome::Would(Event::Create),
        Err(why) => Outcome::Not(why),
    }
}

/// A schedule or a webhook that somebody called off stays so: nobody who tries again all that was stopped means those.
fn way_back(item: &Item, role: Role) -> Result<WayBack, Error> {
    match item.way_back(role) {
        Ok(WayBack::Again) if is_own(&item.table.kind) => {
            let what = format!("item {} is a {} that is over; make another", item.id, item.table.kind);
            Err(refused(item, what))
        }
        Ok(way) => Ok(way),
        Err(why) => Err(no_way(item, why)),
    }
}

fn would_cancel(item: &Item, role: Role) -> Outcome {
    let roles = item.table.roles_of(&Event::Cancel);
    let mut rows = item.table.rows_from(Some(item.state), &Event::Cancel);
    match rows.any(|row| row.actors.allow(role)) {
        true => Outcome::Would(Event::Cancel),
        false => Outcome::Not(forbidden(Event::Cancel, roles)),
    }
}

fn no_way(item: &Item, why: NoWay) -> Error {
    match why {
        NoWay::NotOver => {
            refused(item, format!("item {} is {}: there is nothing to retry", item.id, item.state_name()))
        }
        NoWay::OnlyFor(roles) => forbidden(Event::Create, roles),
    }
}

fn erased(item: &Item) -> Error {
    refused(item, format!("item {} was erased: there is no payload to retry it with", item.id))
}

fn refused(item: &Item, detail: String) -> Error {
    Error::Refused(Box::new(Answer::Refused(Box::new(Refusal {
        item: item.id,
        state: item.state_name().clone(),
        event: Event::Plain(RETRY.parse().expect("a valid event")),
        allowed: item.table.events_from(item.state).into_iter().cloned().collect(),
        problem: Problem::new(Code::TransitionRefused, detail),
    }))))
}

fn forbidden(event: Event, roles: Roles) -> Error {
    Error::Refused(Box::new(Answer::Forbidden { event, roles }))
}
