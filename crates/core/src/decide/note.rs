//! note: records appended to an item outside a lease: an attestation, a newer proof, a plan. Moves nothing.

use alloc::vec::Vec;

use super::draft::Draft;
use super::records::{bodies, marks, new_records};
use super::{Decided, find};
use crate::answer::Answer;
use crate::code::Problem;
use crate::entry::{Facts, Noted};
use crate::id::ItemId;
use crate::lifecycle::event::Event;
use crate::request::{NewRecord, Request};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    pub item: ItemId,
    pub records: Vec<NewRecord>,
}

impl Note {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        let item = find(draft, request, self.item)?;
        if !item.table.may_append(request.actor.role) {
            return Err(Answer::Forbidden { event: Event::Note, roles: item.table.roles_of(&Event::Create) });
        }
        if self.records.is_empty() {
            return Err(Answer::Invalid(Problem::invalid("a note without records")));
        }
        let records = new_records(draft, item.id, &self.records)?;
        if records.is_empty() {
            return Ok(Answer::Same(item));
        }
        let facts = Facts::Note(Noted { folded: None, records: marks(&records) });
        draft.annotate(item.id, &request.actor, Event::Note, facts, bodies(&records));
        Ok(draft.done(item.id))
    }
}
