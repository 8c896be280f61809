//! What happens to an item by itself, and when.

use serde::Serialize;
use tenure_core::decide::outlook;
use tenure_core::execution::Status;
use tenure_core::item::{Item, Slot};
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::{Phase, To};
use tenure_core::time::Time;
use tenure_core::word::Label;

use super::facts::Facts;

/// The next thing that happens without anybody. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Next {
    /// An event of its lifecycle; `due`: it may be leased from then on; `prune`: it is removed.
    pub event: String,
    /// When, if nothing else happens before. It may have passed: then it is a matter of moments.
    pub at: Time,
    /// The state that it comes to, where it changes.
    pub to: Option<Label>,
    pub text: String,
}

pub(super) fn next(facts: &Facts, item: &Item) -> Option<Next> {
    match item.phase() {
        Phase::Waiting => None,
        Phase::Ready => due(facts, item),
        Phase::Active => lost(facts, item),
        Phase::Succeeded | Phase::Failed | Phase::Stopped => pruned(facts, item),
    }
}

fn due(facts: &Facts, item: &Item) -> Option<Next> {
    let (at, text) = match item.slot(facts.world.now) {
        Slot::Scheduled => (item.run_at, format!("it is due at {}", item.run_at)),
        Slot::Ready | Slot::None | Slot::Active => {
            let until = outlook::held_back(&facts.world, item)?.until?;
            (until, format!("what holds it back gives way at {until}"))
        }
    };
    Some(Next { event: "due".to_string(), at, to: None, text })
}

/// The end of a lease that nobody renews, or of the window.
fn lost(facts: &Facts, item: &Item) -> Option<Next> {
    let lease = item.lease.as_ref()?;
    let (ends, at, unless) = match lease.window_ends {
        _ if lease.status() == Status::Committed => {
            (Event::Finish, lease.expires, "unless its holder finishes it")
        }
        Some(ends) if ends <= lease.expires => (Event::TimeOut, ends, "unless it is done by then"),
        Some(_) | None => (item.expiry(), lease.expires, "unless its lease is renewed"),
    };
    // Where a stop was asked for, that is what comes of it.
    let is_asked = item.cancel.is_some() && ends != Event::Finish;
    let event = if is_asked { Event::Cancel } else { ends };
    let to = leads_to(facts, item, &event);
    let then = to.as_ref().map_or(String::new(), |to| format!(" moves it to {to}"));
    let text = match at <= facts.world.now {
        true => format!("`{event}`{then} with the next sweep"),
        false => format!("`{event}`{then} at {at}, {unless}"),
    };
    Some(Next { event: event.to_string(), at, to, text })
}

/// The first row that would be taken by an engine that brings nothing but what was asked for.
fn leads_to(facts: &Facts, item: &Item, event: &Event) -> Option<Label> {
    let mut rows = item.table.rows_from(Some(item.state), event);
    let row = rows.find(|row| outlook::barred(&facts.world, item, row).is_empty())?;
    match row.to {
        To::State(to) => Some(item.table.state(to).name.clone()),
        To::Refuse(_) => None,
    }
}

fn pruned(facts: &Facts, item: &Item) -> Option<Next> {
    let at = item.kept_until(&facts.world.tables)?;
    let text = format!("it is removed at {at}, unless another item needs it; its entries stay in the log");
    Some(Next { event: Event::Prune.to_string(), at, to: None, text })
}
