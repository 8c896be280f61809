//! A plain move: an event that only the table knows (`enqueue`, `approve`, `block`). Out of an active state it aborts
//! the execution.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;

use super::draft::{Draft, Line, Unlogged};
use super::effects::{Prepared, Rule, Wanted};
use super::guards::{Case, Chosen, choose, judge_role, open_blockers, refuse};
use super::{Decided, check_reason, digest, find};
use crate::actor::Actor;
use crate::answer::Answer;
use crate::body::Body;
use crate::code::Code;
use crate::draw::Draw;
use crate::entry::{Facts, Moved};
use crate::execution::Status;
use crate::id::ItemId;
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::request::{EffectMove, Effects, Request};
use crate::time::Time;
use crate::word::EventName;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    pub item: ItemId,
    pub event: EventName,
    /// The version the caller saw, if only that one is to move.
    pub expected_version: Option<u64>,
    pub reason: Option<String>,
    /// When the item may be leased, where the move makes it ready.
    pub run_at: Option<Time>,
    pub effects: Effects,
    pub session: Option<ItemId>,
    pub attests: Vec<Guard>,
}

impl Move {
    pub fn new(item: ItemId, event: EventName) -> Move {
        Move {
            item,
            event,
            expected_version: None,
            reason: None,
            run_at: None,
            effects: Effects::default(),
            session: None,
            attests: Vec::new(),
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft, request: &Request, draw: &mut Draw) -> Decided {
        let item = find(draft, request, self.item)?;
        let event = Event::Plain(self.event.clone());
        judge_role(&item.table, &event, &request.actor)?;
        check_reason(self.reason.as_deref())?;
        let about: [&dyn Debug; 4] = [&self.item, &self.expected_version, &self.reason, &self.run_at];
        let digest = digest(request, &event, &about, &self.effects);
        if item.request == Some(digest) {
            return Ok(Answer::Same(item));
        }
        if self.expected_version.is_some_and(|expected| expected != item.version) {
            return Err(Answer::Stale { event, found: item });
        }
        let moving: Vec<ItemId> = self.effects.moves.iter().map(|step| step.item).collect();
        let case = Case {
            reason: self.reason.as_deref(),
            attests: &self.attests,
            session: self.session,
            records: &self.effects.records,
            moving: &moving,
            ..Case::of(&request.actor)
        };
        let chosen = choose(draft, &item, &event, &case)?;
        let row = chosen.row;
        if row.is_no_op() {
            return Ok(Answer::Same(item));
        }
        let actor = &request.actor;
        let wanted = Wanted { item: &item, row, actor, effects: &self.effects, rule: Rule::MustBeListed };
        let effects = Prepared::new(draft, wanted, draw)?;
        let facts = Moved {
            reason: self.reason.clone(),
            request: Some(digest),
            run_at: self.run_at,
            written: effects.written(),
        };
        step(draft, &item, chosen, &request.actor, facts, effects.bodies())?;
        effects.perform(draft, item.id, &request.actor)?;
        // The guard counted blockers that this request itself was to close: now they are closed, or nothing happened.
        if row.guards.contains(&Guard::BlockersClosed) && open_blockers(draft, &item).next().is_some() {
            let detail = "a blocker that the request moves is still open".to_string();
            return Err(refuse(&item, &event, Code::TransitionRefused, detail));
        }
        Ok(draft.done(item.id))
    }
}

/// Writes a plain move. What has committed is beyond it.
pub(super) fn step(
    draft: &mut Draft,
    item: &Item,
    chosen: Chosen,
    actor: &Actor,
    facts: Moved,
    bodies: Vec<Body>,
) -> Result<(), Answer> {
    let Chosen { row, to: state } = chosen;
    if item.lease.as_ref().is_some_and(|lease| lease.status() == Status::Committed) {
        let detail = "it has committed; only finishing applies".to_string();
        return Err(refuse(item, &row.event, Code::TransitionRefused, detail));
    }
    let line = Line {
        action: row.event.clone(),
        shown: row.alias.clone(),
        actor,
        fence: item.fence,
        state,
        facts: Facts::Move(facts),
    };
    draft.write(item.id, line, Unlogged { bodies, ..Unlogged::default() });
    Ok(())
}

/// A move that another item's commit or move makes. What the row writes by itself is written here too.
pub(super) fn by_effect(draft: &mut Draft, actor: &Actor, effect: EffectMove) -> Result<(), Answer> {
    let item =
        draft.shared(effect.item).expect("the target of an effect was found when it was prepared").clone();
    let case = Case { reason: effect.reason.as_deref(), ..Case::of(actor) };
    let chosen = choose(draft, &item, &Event::Plain(effect.event), &case)?;
    if chosen.row.is_no_op() {
        return Ok(());
    }
    let none = Effects::default();
    let wanted = Wanted { item: &item, row: chosen.row, actor, effects: &none, rule: Rule::MustBeListed };
    // Nothing is created here, so nothing is drawn.
    let effects = Prepared::new(draft, wanted, &mut Draw::new(0))?;
    let facts = Moved { reason: effect.reason.clone(), written: effects.written(), ..Moved::default() };
    step(draft, &item, chosen, actor, facts, effects.bodies())?;
    effects.perform(draft, item.id, actor)
}
