//! acquire: leases on whatever is next. Losing a candidate is no error; the next one is tried.

use alloc::vec::Vec;

use super::Decided;
use super::draft::Draft;
use super::guards::judge_role;
use super::take::{Terms, grant, granted};
use crate::answer::{Answer, Granted};
use crate::code::Problem;
use crate::id::ExecutionId;
use crate::lifecycle::event::Event;
use crate::request::Request;
use crate::word::Kind;
use crate::world::{NameKey, NameScope, Named};

/// One call leases at most so many: more would be held longer than it takes to start them.
pub const ACQUIRE_MAX: usize = 1_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acquire {
    pub kinds: Vec<Kind>,
    pub max: usize,
    pub terms: Terms,
}

impl Acquire {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        if self.kinds.is_empty() || self.max == 0 || self.max > ACQUIRE_MAX {
            let detail = alloc::format!("an acquire names kinds and asks for 1 to {ACQUIRE_MAX} leases");
            return Err(Answer::Invalid(Problem::invalid(detail)));
        }
        let tables = &draft.world().tables;
        // Of what this program can not read nothing is offered; that is no reason to refuse the others.
        for kind in self.kinds.iter().filter(|kind| !tables.is_withdrawn(kind)) {
            let Some(table) = tables.current(kind) else {
                return Err(Answer::Invalid(Problem::invalid(alloc::format!(
                    "there is no lifecycle `{kind}`"
                ))));
            };
            judge_role(table, &Event::Lease, &request.actor)?;
            self.terms.length(&table.settings)?;
        }
        if let Some(leases) = self.repeated(draft, request) {
            return Ok(Answer::Leased(leases));
        }
        let mut leases = Vec::with_capacity(self.max.min(draft.world().offers.len()));
        for id in draft.world().offers.iter().copied() {
            if leases.len() == self.max {
                break;
            }
            let wanted = draft.item(id).is_some_and(|item| {
                item.store == request.store && item.lease.is_none() && self.kinds.contains(&item.table.kind)
            });
            if wanted && let Ok(lease) = grant(draft, &request.actor, id, &self.terms) {
                leases.push(lease);
            }
        }
        Ok(Answer::Leased(leases))
    }

    /// The leases that this very request got before, as far as they are still held.
    fn repeated(&self, draft: &Draft, request: &Request) -> Option<Vec<Granted>> {
        let scope = NameScope::Acquire(request.actor.owner());
        let key = NameKey { store: request.store.clone(), scope, name: self.terms.request.clone()? };
        let Named::Leased(leases) = draft.named(&key)? else { return None };
        let held = |execution: &ExecutionId| {
            let item = draft.shared(execution.item).filter(|item| item.fence == execution.fence)?;
            let lease = item.lease.as_ref()?;
            lease.is_live(draft.now()).then(|| granted(draft, item))
        };
        Some(leases.iter().filter_map(held).collect())
    }
}
