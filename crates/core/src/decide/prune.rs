//! prune: an item that was kept for as long as its kind is kept goes, with everything that hangs on it. Its entries stay, and the
//! last of them says so.
//!
//! The engine's own command; correct however late, twice or stale it arrives. What somebody may still need stays: an item that
//! can move, one that another unfinished item is linked to (its guards look there, and a delivery takes its message from there),
//! one with messages that a follower of the log has yet to come to. Where nobody follows, messages wait for nobody. The idempotency
//! keys go with it: used again they make a new item.

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
use crate::follower::{Follower, is_standing_webhook, may_look_back};
use crate::id::ItemId;
use crate::item::{Item, SharedItem};
use crate::lifecycle::event::Event;
use crate::request::Request;
use crate::world::World;

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
    let needs_it = |other: &&Item| other.links.iter().any(|link| link.to == item.id) && may_look_back(other);
    let mut others = world.linked_to(item.id).filter_map(|other| draft.item(other));
    if let Some(other) = others.find(needs_it) {
        return Some(format!("item {} is linked to it and has not ended for good", other.id));
    }
    let is_sent = world.messages.iter().any(|message| message.item == item.id);
    is_sent.then(|| behind(world, item)).flatten()
}

/// Who has yet to come to the messages of an item. Its last entry stands for all of them: none of them is behind it.
fn behind(world: &World, item: &Item) -> Option<String> {
    let place = world.places.get(&item.id).copied();
    let has_passed = |mark: u64| place.is_some_and(|place| mark >= place);
    let told = |mark: Option<u64>| mark.is_some_and(has_passed);
    // A webhook is told of what was committed since it was created.
    let is_owed =
        |webhook: &&SharedItem| is_standing_webhook(webhook, &item.store) && webhook.created <= item.updated;
    let webhooks = Follower::Webhooks.mark(&item.store).ok().and_then(|mark| world.marks.get(&mark).copied());
    if let Some(webhook) = world.items.values().find(is_owed).filter(|_| !told(webhooks)) {
        return Some(format!("its messages are not on their way to webhook {} yet", webhook.id));
    }
    world.marks.iter().find_map(|(mark, position)| match Follower::of(mark, &item.store)? {
        Follower::Subscriber(name) if !has_passed(*position) => {
            Some(format!("subscriber {name} has not heard of its messages"))
        }
        // How far that has come counts only while there are webhooks.
        Follower::Subscriber(_) | Follower::Webhooks => None,
    })
}
