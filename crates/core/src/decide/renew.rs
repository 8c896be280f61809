//! renew: a heartbeat. Moves expiry and heartbeat and nothing else: no entry, no version, no fence.
//!
//! So a renewal whose answer was lost, or one that races a commit, harms nobody.

use core::time::Duration;

use super::draft::Draft;
use super::guards::judge_role;
use super::take::Terms;
use super::{Decided, find, held};
use crate::answer::Answer;
use crate::execution::{Remaining, Status};
use crate::id::ExecutionId;
use crate::lifecycle::event::Event;
use crate::request::Request;
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renew {
    pub execution: ExecutionId,
    /// None: the lifecycle's own.
    pub lease: Option<Duration>,
}

impl Renew {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.execution.item)?;
        judge_role(&item.table, &Event::Lease, &request.actor)?;
        let terms = Terms { lease: self.lease, ..Terms::default() };
        let length = terms.length(&item.table.settings)?;
        super::commit::lost_to_another(draft, &item, self.execution)?;
        held(draft, request, &item, self.execution)?;
        let lease = item.lease.as_ref().expect("what is held has a lease");
        let cancel_requested = item.cancel.is_some();
        let (now, window_ends, left) = (draft.now(), lease.window_ends, lease.remaining(draft.now()));
        let renewed = |expires: Time| {
            let remaining = Remaining { lease: expires.since(now), ..left };
            Answer::Renewed { expires, window_ends, remaining, cancel_requested }
        };
        // Once committed there is nothing left to lose or to keep; a late heartbeat is not told to stop.
        if lease.status() == Status::Committed {
            return Ok(renewed(lease.expires));
        }
        let expires = lease.renewed(length, draft.now());
        draft.renew(self.execution, expires);
        Ok(renewed(expires))
    }
}
