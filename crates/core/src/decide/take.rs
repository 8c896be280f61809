//! take: a lease on one named item. The granting of leases lives here; `acquire` uses it too.

use alloc::format;
use core::time::Duration;

use super::commit::lost_to_another;
use super::draft::{Draft, Line, Unlogged};
use super::guards::{Case, Chosen, choose, judge_role, refuse};
use super::limits::{admit, started};
use super::{Decided, end, find};
use crate::actor::Actor;
use crate::answer::{Answer, Granted};
use crate::code::{Code, Problem};
use crate::entry::{Facts, Grant};
use crate::execution::{Lease, Status};
use crate::id::{ExecutionId, ItemId};
use crate::item::{Item, SharedItem, Slot};
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
    fn case<'a>(&'a self, actor: &'a Actor) -> Case<'a> {
        Case { attests: &self.attests, session: self.session, ..Case::of(actor) }
    }

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
        let Some(lease) = &item.lease else { return self.grant(draft, request) };
        if item.due(draft.now()).is_some() {
            end::lapse(draft, item.id);
            let left =
                draft.item(item.id).is_none_or(|item| item.lease.is_none() || item.committed.is_some());
            return if left { self.grant(draft, request) } else { Err(held_by_another(&item, lease)) };
        }
        let same_owner = request.actor.is(&lease.owner);
        if same_owner && self.terms.request.is_some() && lease.request == self.terms.request {
            return Ok(Answer::Leased(alloc::vec![granted(draft, &item)]));
        }
        // Some tables let an owner take again what it holds; from another incarnation of itself it takes it over.
        if !may_take_over(&item) || lease.owner.id != request.actor.id || lease.status() == Status::Committed
        {
            return Err(held_by_another(&item, lease));
        }
        if same_owner {
            choose(draft, &item, &Event::Lease, &self.terms.case(&request.actor))?;
            return Ok(Answer::Leased(alloc::vec![granted(draft, &item)]));
        }
        self.grant(draft, request)
    }

    fn grant(&self, draft: &mut Draft, request: &Request) -> Decided {
        grant(draft, &request.actor, self.item, &self.terms).map(|grant| Answer::Leased(alloc::vec![grant]))
    }
}

fn held_by_another(item: &Item, lease: &Lease) -> Answer {
    Answer::Held { item: item.id, owner: lease.owner.clone(), until: lease.expires }
}

/// Leases an item to the actor, or says why not. Writes nothing unless it succeeds.
pub(super) fn grant(draft: &mut Draft, actor: &Actor, id: ItemId, terms: &Terms) -> Result<Granted, Answer> {
    let item = draft.shared(id).expect("a lease is asked for an item that was found").clone();
    let lease = terms.length(&item.table.settings)?;
    lost_to_another(draft, &item, ExecutionId { item: id, fence: item.fence.next() })?;
    if item.slot(draft.now()) == Slot::Scheduled {
        let detail = format!("it is not due before {}", item.run_at);
        return Err(refuse(&item, &Event::Lease, Code::TransitionRefused, detail));
    }
    let Chosen { row, to: state } = choose(draft, &item, &Event::Lease, &terms.case(actor))?;
    admit(draft, &item)?;
    let now = draft.now();
    let facts = Grant {
        at: (now < item.updated).then_some(now),
        request: terms.request.clone(),
        session: terms.session,
        started: terms.start,
    };
    let line = Line {
        action: Event::Lease,
        shown: row.alias.clone(),
        actor,
        fence: item.fence.next(),
        state,
        facts: Facts::Lease(facts),
    };
    draft.write(id, line, Unlogged { expires: Some(now.after(lease)), ..Unlogged::default() });
    let was_free = item.lease.is_none();
    let item = draft.shared(id).expect("what was written is in the draft").clone();
    if was_free {
        started(draft, &item);
    }
    assert!(item.phase() == Phase::Active && item.lease.is_some(), "a granted lease is held");
    Ok(granted(draft, &item))
}

pub(super) fn granted(draft: &Draft, item: &SharedItem) -> Granted {
    let lease = item.lease.as_ref().expect("a granted item is held");
    Granted {
        execution: item.execution_id(),
        item: item.clone(),
        remaining: lease.remaining(draft.now()),
        payload: draft.payload(item.id).cloned(),
    }
}
