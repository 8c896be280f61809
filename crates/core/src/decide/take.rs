//! take: a lease on one named item. The granting of leases lives here; `acquire` uses it too.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use core::time::Duration;

use super::draft::{Draft, Line, Unlogged};
use super::guards::{Case, Chosen, choose, judge_role, refuse};
use super::{Decided, end, find};
use crate::actor::Actor;
use crate::answer::{Answer, Granted};
use crate::code::{Code, Problem};
use crate::entry::{Facts, Grant};
use crate::execution::Status;
use crate::id::ItemId;
use crate::item::{Item, Slot};
use crate::lifecycle::Phase;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::settings::{LEASE_MIN, Settings};
use crate::project::may_take_over;
use crate::request::Request;
use crate::word::Key;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Take {
    pub item: ItemId,
    pub terms: Terms,
}

/// What a lease is asked for with.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// None: the lifecycle's own.
    pub lease: Option<Duration>,
    /// Start the execution in the same transaction.
    pub start: bool,
    pub session: Option<ItemId>,
    /// Names this acquire: repeated by the same owner it gets the same leases back while they are held.
    pub request: Option<Key>,
    pub attests: alloc::vec::Vec<Guard>,
}

impl Terms {
    pub(super) fn length(&self, settings: &Settings) -> Result<Duration, Answer> {
        let asked = self.lease.unwrap_or(settings.lease);
        if (LEASE_MIN..=settings.lease_max).contains(&asked) {
            return Ok(asked);
        }
        let detail = format!("a lease lasts from {LEASE_MIN:?} to {:?}, not {asked:?}", settings.lease_max);
        Err(Answer::Invalid(Problem::invalid(detail)))
    }
}

impl Take {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.item)?;
        judge_role(&item.table, &Event::Lease, &request.actor)?;
        let grant = match &item.lease {
            Some(lease) if item.due(draft.now()).is_none() => {
                let again = self.terms.request.is_some() && lease.request == self.terms.request;
                let same_owner = lease.owner == request.actor.owner();
                let own_row = may_take_over(&item) && lease.owner.id == request.actor.id;
                match (same_owner, again || own_row) {
                    // Repeating a take that took effect: the same lease.
                    (true, true) => return Ok(Answer::Leased(alloc::vec![granted(&item)])),
                    // Its owner comes back in another incarnation, and the table lets it go on.
                    (false, _) if own_row && lease.status() != Status::Committed => {
                        grant(draft, &request.actor, item.id, &self.terms)?
                    }
                    _ => {
                        return Err(Answer::Held {
                            item: item.id,
                            owner: lease.owner.clone(),
                            until: lease.expires,
                        });
                    }
                }
            }
            Some(_) => {
                end::lapse(draft, item.id);
                if let Some(lease) = draft
                    .item(item.id)
                    .and_then(|item| item.lease.as_ref())
                    .filter(|_| item.committed.is_none())
                {
                    return Err(Answer::Held {
                        item: item.id,
                        owner: lease.owner.clone(),
                        until: lease.expires,
                    });
                }
                grant(draft, &request.actor, item.id, &self.terms)?
            }
            None => grant(draft, &request.actor, item.id, &self.terms)?,
        };
        Ok(Answer::Leased(alloc::vec![grant]))
    }
}

/// Leases an item to the actor, or says why not. Writes nothing unless it succeeds.
pub(super) fn grant(draft: &mut Draft, actor: &Actor, id: ItemId, terms: &Terms) -> Result<Granted, Answer> {
    let item = draft.item(id).expect("a lease is asked for an item that was found").clone();
    let lease = terms.length(&item.table.settings)?;
    if let Some(fence) = item.committed {
        let execution = draft.execution(crate::id::ExecutionId { item: id, fence });
        return Err(execution.map_or_else(
            || Answer::LeaseLost("the item has committed".to_string()),
            |execution| Answer::AlreadyCommitted(Box::new(execution)),
        ));
    }
    if item.slot(draft.now()) == Slot::Scheduled {
        let detail = format!("it is not due before {}", item.run_at);
        return Err(refuse(&item, &Event::Lease, Code::TransitionRefused, detail));
    }
    let case = Case { attests: &terms.attests, session: terms.session, ..Case::of(actor) };
    let Chosen { row, to: state } = choose(draft, &item, &Event::Lease, &case)?;
    let facts = Grant { request: terms.request.clone(), session: terms.session, started: terms.start };
    let line = Line {
        action: Event::Lease,
        shown: row.alias.clone(),
        actor,
        fence: item.fence.next(),
        state,
        facts: Facts::Lease(facts),
    };
    let expires = draft.now().max(item.updated).after(lease);
    draft.write(id, line, Unlogged { expires: Some(expires), ..Unlogged::default() });
    let item = draft.item(id).expect("what was written is in the draft");
    assert!(item.phase() == Phase::Active && item.lease.is_some(), "a granted lease is held");
    Ok(granted(item))
}

pub(super) fn granted(item: &Item) -> Granted {
    Granted { execution: item.execution_id(), item: item.clone() }
}
