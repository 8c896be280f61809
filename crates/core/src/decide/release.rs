//! release: the holder gives the item back. Costs no attempt, but there is a bound to it: what was given back too often fails.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use super::commit::{lost_to_another, own};
use super::draft::Draft;
use super::end::{self, Ending};
use super::guards::{Case, judge_role};
use super::{Decided, check_reason, find, held};
use crate::answer::Answer;
use crate::draw::Draw;
use crate::id::ExecutionId;
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::request::{Effects, REASON_BYTES_MAX, Request};

/// What is said of a failure that was an interruption too many.
pub const TOO_OFTEN: &str = "interrupted too often";

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
        let (event, on, reason) = match self.fails(draft, request, &item) {
            Some(reason) => (Event::Fail, Some(Event::Release), Some(reason)),
            None => (Event::Release, None, self.reason.clone()),
        };
        let ending = Ending {
            event,
            on,
            actor: &request.actor,
            reason: reason.as_deref(),
            permanent: false,
            delay: self.delay,
            attests: &self.attests,
            offers: &Effects::default(),
        };
        end::end(draft, &item, ending, draw)?;
        Ok(draft.ran(self.execution))
    }

    /// The reason, if this release is one too many. Where the table has no row for a failure, or one that must write something
    /// which comes with no release, it stays a release.
    fn fails(&self, draft: &Draft, request: &Request, item: &Item) -> Option<String> {
        if !item.interruptions_spent() || item.cancel.is_some() {
            return None;
        }
        let reason = match &self.reason {
            Some(reason) if reason.len() + TOO_OFTEN.len() + 2 <= REASON_BYTES_MAX => {
                format!("{TOO_OFTEN}: {reason}")
            }
            Some(_) | None => TOO_OFTEN.to_string(),
        };
        let case = Case { reason: Some(&reason), attests: &self.attests, ..Case::of(&request.actor) };
        end::can_fail(draft, item, &case).then_some(reason)
    }
}
