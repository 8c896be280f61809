//! link: references to other items, added and removed while the item has not ended. Moves nothing.

use alloc::format;
use alloc::vec::Vec;

use super::draft::Draft;
use super::guards::refuse;
use super::{Decided, find};
use crate::answer::Answer;
use crate::code::{Code, Problem};
use crate::entry::{Facts, Linked};
use crate::id::ItemId;
use crate::item::{LINKS_MAX, Link};
use crate::lifecycle::event::Event;
use crate::request::Request;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relink {
    pub item: ItemId,
    pub add: Vec<Link>,
    pub remove: Vec<Link>,
}

impl Relink {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.item)?;
        if !item.table.may_append(request.actor.role) {
            return Err(Answer::Forbidden { event: Event::Link, roles: item.table.roles_of(&Event::Create) });
        }
        if self.add.iter().any(|link| self.remove.contains(link)) {
            // Each time it were repeated it would undo what it did before.
            return Err(Answer::Invalid(Problem::invalid("a link is added or removed, not both")));
        }
        let mut add: Vec<Link> = Vec::new();
        for link in &self.add {
            if draft.item(link.to).is_none_or(|target| target.store != item.store) {
                let detail =
                    format!("{} is not an item of store {}; links do not cross stores", link.to, item.store);
                return Err(Answer::Invalid(Problem::new(Code::StoreBoundaryViolation, detail)));
            }
            if link.to == item.id {
                return Err(Answer::Invalid(Problem::invalid("an item can not be linked to itself")));
            }
            if !item.links.contains(link) && !add.contains(link) {
                add.push(link.clone());
            }
        }
        let remove: Vec<Link> =
            self.remove.iter().filter(|link| item.links.contains(link)).cloned().collect();
        if add.is_empty() && remove.is_empty() {
            return Ok(Answer::Same(item));
        }
        if item.phase().is_ended() {
            let detail = format!("{} has ended; its links stay as they are", item.state_name());
            return Err(refuse(&item, &Event::Link, Code::TransitionRefused, detail));
        }
        if item.links.len().saturating_add(add.len()) > LINKS_MAX {
            return Err(Answer::Invalid(Problem::invalid(format!("an item has at most {LINKS_MAX} links"))));
        }
        let facts = Facts::Link(Linked { add, remove });
        draft.annotate(item.id, &request.actor, Event::Link, facts, Vec::new());
        Ok(draft.done(item.id))
    }
}
