//! cancel: stop it, with a reason. At once where nobody holds it; a holder is asked, and learns it at its next
//! heartbeat.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use super::draft::{Draft, Line, Unlogged};
use super::effects::{Prepared, Rule, Wanted};
use super::guards::{Case, Chosen, choose, judge_role, refuse};
use super::{Decided, check_reason, digest, find};
use crate::answer::Answer;
use crate::code::Code;
use crate::draw::Draw;
use crate::entry::{Cancelled, Facts};
use crate::execution::Status;
use crate::id::ItemId;
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
        let about: [&dyn Debug; 3] = [&self.item, &self.expected_version, &self.reason];
        let digest = digest(request, &Event::Cancel, &about, &self.offers);
        if item.request == Some(digest) || item.cancel.is_some() {
            return Ok(Answer::Same(item));
        }
        if self.expected_version.is_some_and(|expected| expected != item.version) {
            return Err(Answer::Stale { event: Event::Cancel, found: item });
        }
        let case = Case { reason: self.reason.as_deref(), ..Case::of(&request.actor) };
        let Chosen { row, to: state } = choose(draft, &item, &Event::Cancel, &case)?;
        if row.is_no_op() {
            return Ok(Answer::Same(item));
        }
        let reason = self.reason.clone();
        let facts = Cancelled { reason, request: Some(digest), ..Cancelled::default() };
        match item.lease.as_ref().map(|lease| lease.status()) {
            Some(Status::Committed) => {
                let detail = "it has committed; what is done stays done".into();
                Err(refuse(&item, &Event::Cancel, Code::TransitionRefused, detail))
            }
            Some(_) => {
                let asked = Facts::Cancel(Cancelled { asked: true, ..facts });
                draft.annotate(item.id, &request.actor, Event::Cancel, asked, Vec::new());
                Ok(draft.done(item.id))
            }
            None => {
                let actor = &request.actor;
                let offers =
                    Wanted { item: &item, row, actor, effects: &self.offers, rule: Rule::MustBeGiven };
                let effects = Prepared::new(draft, offers, draw)?;
                let facts = Facts::Cancel(Cancelled { written: effects.written(), ..facts });
                // Where the state is derived, the cancel of what nobody holds is an execution that never ran.
                let fence = if item.table.settings.derived { item.fence.next() } else { item.fence };
                let line =
                    Line { action: Event::Cancel, shown: row.alias.clone(), actor, fence, state, facts };
                draft.write(item.id, line, Unlogged { bodies: effects.bodies(), ..Unlogged::default() });
                effects.perform(draft, item.id, actor)?;
                Ok(draft.done(item.id))
            }
        }
    }
}
