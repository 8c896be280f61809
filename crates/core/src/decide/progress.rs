//! progress: records that an execution appends while it runs. Kept when it is aborted, never output.

use alloc::format;
use alloc::vec::Vec;

use super::commit::completing;
use super::draft::Draft;
use super::guards::{judge_role, refuse};
use super::records::{bodies, marks, new_records};
use super::{Decided, find, held};
use crate::answer::Answer;
use crate::code::{Code, Problem};
use crate::entry::{Facts, Progressed};
use crate::execution::Status;
use crate::id::ExecutionId;
use crate::item::{Item, OPEN_STEPS_MAX};
use crate::lifecycle::effect::{Effect, Scope};
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
        if let Some(output) = self.records.iter().find(|record| is_output(&item, &record.label)) {
            let detail = format!("`{}` records are output: they are written with the commit", output.label);
            return Err(Answer::Invalid(Problem::invalid(detail)));
        }
        let records = new_records(draft, item.id, &self.records)?;
        if records.is_empty() {
            return match self.records.is_empty() {
                true => Err(Answer::Invalid(Problem::invalid("progress without records"))),
                false => Ok(Answer::Same(item)),
            };
        }
        let opened = item.open_steps.len().saturating_add(self.opens.len());
        if opened > OPEN_STEPS_MAX {
            let detail = format!("at most {OPEN_STEPS_MAX} steps are open at once");
            return Err(Answer::Invalid(Problem::invalid(detail)));
        }
        let progressed =
            Progressed { closes: self.closes.clone(), opens: self.opens.clone(), records: marks(&records) };
        let facts = Facts::Progress(progressed);
        draft.annotate(item.id, &request.actor, Event::Progress, facts, bodies(&records));
        Ok(draft.done(item.id))
    }
}

/// What completes the execution lists it by name: written earlier, it would be there without its commit.
fn is_output(item: &Item, label: &Label) -> bool {
    let event = completing(item);
    let rows = item.table.rows_from(Some(item.state), &event);
    rows.flat_map(|row| &row.effects).any(|effect| *effect == Effect::Record(Scope::Only(label.clone())))
}
