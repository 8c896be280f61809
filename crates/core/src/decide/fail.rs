//! fail: the worker says that this attempt did not work.

use alloc::string::String;
use core::time::Duration;

use super::commit::{lost_to_another, own};
use super::draft::Draft;
use super::end::{self, Ending};
use super::guards::judge_role;
use super::{Decided, check_reason, find, held};
use crate::answer::Answer;
use crate::draw::Draw;
use crate::id::ExecutionId;
use crate::lifecycle::event::Event;
use crate::request::{Effects, Request};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fail {
    pub execution: ExecutionId,
    pub reason: String,
    /// Trying again is useless.
    pub permanent: bool,
    /// Not before this long, where the lifecycle's backoff is shorter.
    pub retry_after: Option<Duration>,
    /// Written if the row that is taken lists them: what goes with the last failure is not known before.
    pub offers: Effects,
}

impl Fail {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request, draw: &mut Draw) -> Decided {
        let item = find(draft, request, self.execution.item)?;
        judge_role(&item.table, &Event::Fail, &request.actor)?;
        check_reason(Some(&self.reason))?;
        if let Some(execution) = own(draft, request, self.execution)
            && end::ended_by(&execution, &Event::Fail)
        {
            return Ok(Answer::Ran(execution));
        }
        lost_to_another(draft, &item, self.execution)?;
        held(draft, request, &item, self.execution)?;
        let ending = Ending {
            event: Event::Fail,
            on: None,
            actor: &request.actor,
            reason: Some(&self.reason),
            permanent: self.permanent,
            delay: self.retry_after,
            attests: &[],
            offers: &self.offers,
        };
        end::end(draft, &item, ending, draw)?;
        Ok(draft.ran(self.execution))
    }
}
