//! start: the worker begins. LEASED → IN_PROGRESS; moves no item.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::draft::Draft;
use super::guards::{judge_role, refuse};
use super::{Decided, find, held};
use crate::answer::Answer;
use crate::code::Code;
use crate::entry::{Bare, Facts};
use crate::execution::{self, Status, Step};
use crate::id::ExecutionId;
use crate::lifecycle::event::Event;
use crate::request::Request;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    pub execution: ExecutionId,
}

impl Start {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.execution.item)?;
        judge_role(&item.table, &Event::Lease, &request.actor)?;
        if let Some(execution) = draft.execution(self.execution)
            && request.actor.is(&execution.owner)
            && execution.started_at.is_some()
        {
            return Ok(Answer::Ran(Arc::new(execution.as_started())));
        }
        super::commit::lost_to_another(draft, &item, self.execution)?;
        held(draft, request, &item, self.execution)?;
        let status = item.lease.as_ref().map_or(Status::Aborted, |lease| lease.status());
        if execution::next(status, Step::Start).is_none() {
            let detail = alloc::format!("the execution is {status}");
            return Err(refuse(&item, &Event::Start, Code::TransitionRefused, detail));
        }
        draft.annotate(item.id, &request.actor, Event::Start, Facts::Bare(Bare::default()), Vec::new());
        Ok(draft.ran(self.execution))
    }
}
