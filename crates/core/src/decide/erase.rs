//! erase: the bodies of an ended item are deleted. Its history stays and still verifies, because it holds hashes only.

use alloc::string::String;

use super::draft::{Draft, Line, Unlogged};
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
        if !item.phase().is_ended() {
            let detail = "only an ended item is erased; cancel it first".into();
            return Err(refuse(&item, &Event::Erase, Code::TransitionRefused, detail));
        }
        let facts = Facts::Bare(Bare { reason: self.reason.clone() });
        let (fence, state) = (item.fence, item.state);
        let line = Line { action: Event::Erase, shown: None, actor: &request.actor, fence, state, facts };
        draft.write(item.id, line, Unlogged::default());
        Ok(Answer::Done(draft.item(item.id).expect("it was found").clone()))
    }
}
