//! cancel: stop it, with a reason. At once where nobody holds it; a holder is asked, and learns it at its next
//! heartbeat.

use alloc::string::String;

use super::draft::{Draft, Line, Unlogged};
use super::effects::{Prepared, Rule};
use super::guards::{Case, choose, judge_role, refuse};
use super::{Decided, check_reason, find};
use crate::answer::Answer;
use crate::code::Code;
use crate::draw::Draw;
use crate::entry::{Cancelled, Facts};
use crate::execution::Status;
use crate::id::ItemId;
use crate::item::Item;
use crate::lifecycle::To;
use crate::lifecycle::event::Event;
use crate::request::{Effects, Request};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cancel {
    pub item: ItemId,
    pub reason: Option<String>,
    /// The version the caller saw, if only that one is to be cancelled.
    pub expected_version: Option<u64>,
    pub offers: Effects,
}

impl Cancel {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request, draw: &mut Draw) -> Decided {
        let item = find(draft, request, self.item)?;
        judge_role(&item.table, &Event::Cancel, &request.actor)?;
        check_reason(self.reason.as_deref())?;
        if item.request == Some(request.digest()) || item.cancel.is_some() {
            return Ok(Answer::Same(item));
        }
        if self.expected_version.is_some_and(|expected| expected != item.version) {
            return Err(Answer::Stale { found: item });
        }
        let case = Case { reason: self.reason.as_deref(), ..Case::of(&request.actor) };
        let row = choose(draft, &item, &Event::Cancel, &case)?.clone();
        if row.is_no_op() {
            return Ok(Answer::Same(item));
        }
        match item.lease.as_ref().map(|lease| lease.status()) {
            Some(Status::Committed) => {
                let detail = "it has committed; what is done stays done".into();
                Err(refuse(&item, &Event::Cancel, Code::TransitionRefused, detail))
            }
            Some(_) => {
                let facts = Cancelled { asked: true, ..self.facts(request) };
                let expires = item.lease.as_ref().map(|lease| lease.expires);
                self.write(
                    draft,
                    request,
                    &item,
                    item.state,
                    facts,
                    Unlogged { expires, ..Unlogged::default() },
                );
                Ok(Answer::Done(draft.item(item.id).expect("it was found").clone()))
            }
            None => {
                let To::State(state) = row.to else {
                    return Err(refuse(&item, &Event::Cancel, Code::TransitionRefused, "refused".into()));
                };
                let effects =
                    Prepared::new(draft, &item, &row, &request.actor, &self.offers, Rule::Offered, draw)?;
                let facts = Cancelled { written: effects.written(), ..self.facts(request) };
                self.write(
                    draft,
                    request,
                    &item,
                    state,
                    facts,
                    Unlogged { expires: None, bodies: effects.bodies() },
                );
                effects.perform(draft, item.id, &request.actor)?;
                Ok(Answer::Done(draft.item(item.id).expect("it was found").clone()))
            }
        }
    }

    fn facts(&self, request: &Request) -> Cancelled {
        Cancelled { reason: self.reason.clone(), request: Some(request.digest()), ..Cancelled::default() }
    }

    fn write(
        &self,
        draft: &mut Draft,
        request: &Request,
        item: &Item,
        state: crate::lifecycle::StateId,
        facts: Cancelled,
        unlogged: Unlogged,
    ) {
        // Where the state is derived, the cancel of an item that nobody holds is an execution that never ran.
        let never_ran = item.table.settings.derived && item.lease.is_none();
        let fence = if never_ran { item.fence.next() } else { item.fence };
        let row = item.table.rows_from(Some(item.state), &Event::Cancel).next();
        let shown = row.and_then(|row| row.alias.clone()).filter(|_| !facts.asked);
        let facts = Facts::Cancel(facts);
        draft.write(
            item.id,
            Line { action: Event::Cancel, shown, actor: &request.actor, fence, state, facts },
            unlogged,
        );
    }
}
