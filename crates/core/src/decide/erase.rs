//! erase: the bodies of an ended item are deleted. Its history stays and still verifies, because it holds hashes only.

use alloc::string::String;
use alloc::vec::Vec;

use super::draft::Draft;
use super::guards::refuse;
use super::{Decided, check_reason, find};
use crate::answer::Answer;
use crate::code::Code;
use crate::entry::{Bare, Facts};
use crate::id::ItemId;
use crate::lifecycle::event::Event;
use crate::request::Request;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Erase {
    pub item: ItemId,
    pub reason: Option<String>,
}

impl Erase {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.item)?;
        if !item.table.may_append(request.actor.role) {
            return Err(Answer::Forbidden {
                event: Event::Erase,
                roles: item.table.roles_of(&Event::Create),
            });
        }
        check_reason(self.reason.as_deref())?;
        if item.erased {
            return Ok(Answer::Same(item));
        }
        // What rests in a failed state may be tried again, and then its payload is needed.
        if !item.table.is_final(item.state) {
            let detail = "only an item in a final state is erased".into();
            return Err(refuse(&item, &Event::Erase, Code::TransitionRefused, detail));
        }
        let facts = Facts::Bare(Bare { reason: self.reason.clone() });
        draft.annotate(item.id, &request.actor, Event::Erase, facts, Vec::new());
        Ok(draft.done(item.id))
    }
}
