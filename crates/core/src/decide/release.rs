//! release: the holder gives the item back. Costs no attempt.

use alloc::string::String;
use alloc::vec::Vec;
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
use crate::lifecycle::guard::Guard;
use crate::request::{Effects, Request};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release {
    pub execution: ExecutionId,
    pub reason: Option<String>,
    /// Not before this long.
    pub delay: Option<Duration>,
    pub attests: Vec<Guard>,
}

impl Release {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request, draw: &mut Draw) -> Decided {
        let item = find(draft, request, self.execution.item)?;
        judge_role(&item.table, &Event::Release, &request.actor)?;
        check_reason(self.reason.as_deref())?;
        if let Some(execution) = own(draft, request, self.execution)
            && end::ended_by(&execution, &Event::Release)
        {
            return Ok(Answer::Ran(execution));
        }
        lost_to_another(draft, &item, self.execution)?;
        held(draft, request, &item, self.execution)?;
        let ending = Ending {
            event: Event::Release,
            actor: &request.actor,
            reason: self.reason.as_deref(),
            permanent: false,
            delay: self.delay,
            attests: &self.attests,
            offers: &Effects::default(),
        };
        end::end(draft, &item, ending, draw)?;
        Ok(draft.ran(self.execution))
    }
}
