//! prune: an item that was kept for as long as its kind is kept goes, with everything that hangs on it. Its entries stay, and the
//! last of them says so.
//!
//! The engine's own command; correct however late, twice or stale it arrives. What somebody may still need stays: an item that
//! can move, one that another unfinished item is linked to (its guards look there), one whose messages are not delivered. The
//! idempotency keys go with it: used again they make a new item.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::draft::Draft;
use super::guards::refuse;
use super::{Decided, find};
use crate::actor::{Role, Roles};
use crate::answer::Answer;
use crate::code::Code;
use crate::entry::{Bare, Facts};
use crate::id::ItemId;
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::request::Request;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prune {
    pub item: ItemId,
}

impl Prune {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.item)?;
        if request.actor.role != Role::System {
            return Err(Answer::Forbidden { event: Event::Prune, roles: Roles::NONE.with(Role::System) });
        }
        if let Some(detail) = needed(draft, &item) {
            return Err(refuse(&item, &Event::Prune, Code::TransitionRefused, detail));
        }
        let facts = Facts::Bare(Bare { reason: Some("its retention has passed".to_string()) });
        draft.annotate(item.id, &request.actor, Event::Prune, facts, Vec::new());
        Ok(draft.done(item.id))
    }
}

/// Why it stays.
fn needed(draft: &Draft, item: &Item) -> Option<String> {
    let world = draft.world();
    let Some(until) = item.kept_until(&world.tables) else {
        return Some("it can still move, or its kind is kept for ever".to_string());
    };
    if draft.now() < until {
        return Some(format!("it is kept until {until}"));
    }
    // What is final never moves again, so nothing in it will be asked for.
    let needs_it = |other: &&Item| {
        other.links.iter().any(|link| link.to == item.id) && !other.table.is_final(other.state)
    };
    let mut others = world.linked_to(item.id).filter_map(|other| draft.item(other));
    if let Some(other) = others.find(needs_it) {
        return Some(format!("item {} is linked to it and has not ended for good", other.id));
    }
    if world.messages.iter().any(|message| message.item == item.id) {
        return Some("a message of it has not been delivered".to_string());
    }
    None
}
