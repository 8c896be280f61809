//! finish: COMMITTED → DONE. The only thing that happens after a commit, by its worker or by the engine.

use super::commit::{lost_to_another, own};
use super::draft::{Draft, Line, Unlogged};
use super::guards::{Case, choose, judge_role, refuse};
use super::{Decided, find, held};
use crate::actor::Actor;
use crate::answer::Answer;
use crate::code::Code;
use crate::entry::{Bare, Facts};
use crate::execution::Status;
use crate::id::ExecutionId;
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::request::Request;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finish {
    pub execution: ExecutionId,
}

impl Finish {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.execution.item)?;
        judge_role(&item.table, &Event::Finish, &request.actor)?;
        let execution = own(draft, request, self.execution);
        match execution.as_ref().map(|execution| execution.status()) {
            Some(Status::Done) => {
                return Ok(Answer::Ran(execution.expect("it was just looked at")));
            }
            // Nothing but finishing can happen to it now, so there is no lease left to lose.
            Some(Status::Committed) => {}
            _ => {
                lost_to_another(draft, &item, self.execution)?;
                held(draft, request, &item, self.execution)?;
                let detail = "it has not committed".into();
                return Err(refuse(&item, &Event::Finish, Code::TransitionRefused, detail));
            }
        }
        finish(draft, &item, &request.actor)?;
        Ok(draft.ran(self.execution))
    }
}

/// Finishes what has committed.
pub(super) fn finish(draft: &mut Draft, item: &Item, actor: &Actor) -> Result<(), Answer> {
    let chosen = choose(draft, item, &Event::Finish, &Case::of(actor))?;
    let state = chosen.to;
    let facts = Facts::Bare(Bare::default());
    let shown = chosen.row.alias.clone();
    draft.write(
        item.id,
        Line { action: Event::Finish, shown, actor, fence: item.fence, state, facts },
        Unlogged::default(),
    );
    Ok(())
}
