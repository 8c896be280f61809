//! progress: records that an execution appends while it runs. Kept when it is aborted, never output.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use super::draft::Draft;
use super::effects::{check_names, marks, new_records};
use super::guards::{judge_role, refuse};
use super::{Decided, find, held};
use crate::answer::Answer;
use crate::code::{Code, Problem};
use crate::entry::{Facts, Progressed};
use crate::execution::Status;
use crate::id::ExecutionId;
use crate::item::OPEN_STEPS_MAX;
use crate::lifecycle::event::Event;
use crate::request::{NewRecord, Request};
use crate::word::Label;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    pub execution: ExecutionId,
    pub records: Vec<NewRecord>,
    /// Steps that begin; a row with `close open steps` closes those that never end.
    pub opens: Vec<Label>,
    pub closes: Vec<Label>,
}

impl Progress {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.execution.item)?;
        judge_role(&item.table, &Event::Lease, &request.actor)?;
        super::commit::lost_to_another(draft, &item, self.execution)?;
        held(draft, request, &item, self.execution)?;
        let status = item.lease.as_ref().map(|lease| lease.status());
        if status != Some(Status::InProgress) {
            let detail = "progress is appended between start and commit".into();
            return Err(refuse(&item, &Event::Progress, Code::TransitionRefused, detail));
        }
        check_names(&self.records)?;
        let records = new_records(draft, item.id, &self.records)?;
        if records.is_empty() {
            return match self.records.is_empty() {
                true => Err(Answer::Invalid(Problem::invalid("progress without records"))),
                false => Ok(Answer::Same(Box::new(item))),
            };
        }
        let opened = item.open_steps.len().saturating_add(self.opens.len());
        if opened > OPEN_STEPS_MAX {
            let detail = format!("at most {OPEN_STEPS_MAX} steps are open at once");
            return Err(Answer::Invalid(Problem::invalid(detail)));
        }
        let progressed =
            Progressed { closes: self.closes.clone(), opens: self.opens.clone(), records: marks(&records) };
        let bodies = records.iter().map(|record| record.body.clone()).collect();
        draft.annotate(item.id, &request.actor, Event::Progress, Facts::Progress(progressed), bodies);
        Ok(draft.done(item.id))
    }
}
