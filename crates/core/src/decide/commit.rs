//! commit: the one point where effects become real.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::draft::{Draft, Line, Unlogged};
use super::effects::{Prepared, Rule, Wanted};
use super::guards::{Case, choose, judge_role, refuse};
use super::{Decided, find, held};
use crate::answer::Answer;
use crate::body::Body;
use crate::code::Code;
use crate::draw::Draw;
use crate::entry::{Committed, Facts};
use crate::execution::{self, SharedExecution, Status, Step};
use crate::id::{ExecutionId, ItemId};
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::{Row, StateId};
use crate::request::{Effects, Request};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    pub execution: ExecutionId,
    pub output: Option<Body>,
    pub effects: Effects,
    /// Finish in the same transaction. Where the table has a `commit` row that happens anyway.
    pub finish: bool,
    pub session: Option<ItemId>,
    pub attests: Vec<Guard>,
}

impl Commit {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request, draw: &mut Draw) -> Decided {
        let item = find(draft, request, self.execution.item)?;
        let event = completing(&item);
        judge_role(&item.table, &event, &request.actor)?;
        if item.committed == Some(self.execution.fence)
            && let Some(execution) = own(draft, request, self.execution)
        {
            return Ok(Answer::Ran(Arc::new(execution.as_committed())));
        }
        let moving: Vec<ItemId> = self.effects.moves.iter().map(|step| step.item).collect();
        let case = Case {
            attests: &self.attests,
            session: self.session,
            records: &self.effects.records,
            moving: &moving,
            ..Case::of(&request.actor)
        };
        // A no-op row lets a finished item answer a late commit: the proof it was verified with, brought again.
        if item.lease.is_none() && item.table.has_row(item.state, &event) {
            choose(draft, &item, &event, &case)?;
            return Ok(Answer::Same(item));
        }
        lost_to_another(draft, &item, self.execution)?;
        held(draft, request, &item, self.execution)?;
        let status = item.lease.as_ref().map_or(Status::Aborted, |lease| lease.status());
        if execution::next(status, Step::Commit).is_none() {
            let detail = alloc::format!("the execution is {status}; it must be started before it commits");
            return Err(refuse(&item, &Event::Commit, Code::TransitionRefused, detail));
        }
        let chosen = choose(draft, &item, &event, &case)?;
        let ends = event == Event::Commit || self.finish;
        let state = if ends { chosen.to } else { item.state };
        self.write(draft, request, &item, chosen.row, state, draw)?;
        Ok(draft.ran(self.execution))
    }

    fn write(
        &self,
        draft: &mut Draft,
        request: &Request,
        item: &Item,
        row: &Row,
        state: StateId,
        draw: &mut Draw,
    ) -> Result<(), Answer> {
        let actor = &request.actor;
        let wanted = Wanted { item, row, actor, effects: &self.effects, rule: Rule::MustBeListed };
        let effects = Prepared::new(draft, wanted, draw)?;
        let output = self.output.as_ref().map(Body::hash);
        let finish = self.finish && row.event == Event::Finish;
        let facts = Facts::Commit(Committed { finish, output, written: effects.written() });
        let shown = row.alias.clone().filter(|_| state != item.state);
        let line =
            Line { action: Event::Commit, shown, actor: &request.actor, fence: item.fence, state, facts };
        let unlogged =
            Unlogged { body: self.output.clone(), bodies: effects.bodies(), ..Unlogged::default() };
        draft.write(item.id, line, unlogged);
        effects.perform(draft, item.id, &request.actor)
    }
}

/// What moves the item when its execution is through: a `commit` row, or a `finish` row.
pub(super) fn completing(item: &Item) -> Event {
    let table = &item.table;
    let by_commit = match item.lease {
        Some(_) => table.has_row(item.state, &Event::Commit),
        None => table.rows.iter().any(|row| row.event == Event::Commit),
    };
    if by_commit { Event::Commit } else { Event::Finish }
}

/// The execution, if it is this caller's.
pub(super) fn own(draft: &Draft, request: &Request, id: ExecutionId) -> Option<SharedExecution> {
    draft.execution(id).filter(|execution| request.actor.is(&execution.owner))
}

/// A duplicate attempt learns which execution committed instead of it.
pub(super) fn lost_to_another(draft: &Draft, item: &Item, execution: ExecutionId) -> Result<(), Answer> {
    match item.committed {
        Some(fence) if fence != execution.fence => {
            let committed = draft.execution(ExecutionId { item: item.id, fence });
            let committed = committed.expect("a committed execution is loaded with its item");
            Err(Answer::AlreadyCommitted(committed))
        }
        _ => Ok(()),
    }
}
