//! create: a new item, once for each idempotency key.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::OnceCell;

use super::Decided;
use super::draft::{Draft, Unlogged};
use super::guards::judge_role;
use super::take::{self, Take, Terms};
use crate::actor::{Actor, Role};
use crate::answer::Answer;
use crate::body::Body;
use crate::code::{Code, Problem};
use crate::draw::Draw;
use crate::entry::{Birth, Entry, Facts, Folded, Noted};
use crate::hash::Hash;
use crate::id::{Fence, ItemId};
use crate::item::{Item, LINKS_MAX, Link};
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::settings::{ATTEMPTS_MAX, Coalesce, PRIORITY_MAX};
use crate::lifecycle::tables::Tables;
use crate::lifecycle::{Row, SharedTable, StateId, To};
use crate::project;
use crate::request::{Need, Request};
use crate::time::Time;
use crate::trace::Trace;
use crate::word::{Key, Kind, Store};
use crate::world::{LaneKey, NameKey, NameScope, Named};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Create {
    pub kind: Kind,
    pub payload: Body,
    /// The idempotency key.
    pub name: Option<Key>,
    pub key: Option<Key>,
    pub priority: Option<i8>,
    pub run_at: Option<Time>,
    /// The creator computed `run_at` from the clock and computes it again if the item is leased too early: a tick of a schedule.
    /// The item never waits longer than that, even if the clock was ahead and is corrected.
    pub estimated: bool,
    pub attempts: Option<u32>,
    pub links: Vec<Link>,
    pub origin: Option<ItemId>,
    /// Lease it to the creator in the same transaction.
    pub take: Option<Terms>,
    /// What it is done for. No part of what makes two creates the same. None: that of what it comes from.
    pub trace: Option<Arc<Trace>>,
}

impl Create {
    pub fn new(kind: Kind, payload: Body) -> Create {
        Create {
            kind,
            payload,
            name: None,
            key: None,
            priority: None,
            run_at: None,
            estimated: false,
            attempts: None,
            links: Vec::new(),
            origin: None,
            take: None,
            trace: None,
        }
    }

    fn name_key(&self, store: &Store) -> Option<NameKey> {
        let name = self.name.clone()?;
        Some(NameKey { store: store.clone(), scope: NameScope::Create(self.kind.clone()), name })
    }

    pub(crate) fn needs(&self, store: &Store, tables: &Tables, need: &mut Need) {
        need.names.extend(self.name_key(store));
        need.items.extend(self.links.iter().map(|link| link.to).chain(self.origin));
        if let Some(table) = tables.current(&self.kind).filter(|table| table.uses_lanes())
            && let Ok(Some(key)) = self.key_under(table)
        {
            need.lanes.insert(LaneKey { store: store.clone(), kind: self.kind.clone(), key });
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft, request: &Request, draw: &mut Draw) -> Decided {
        let plan = self.plan(draft, &request.store, &request.actor, None, draw)?;
        let id = plan.item();
        let repeated = matches!(plan, Plan::Repeat { .. });
        let answer = self.perform(draft, &request.store, &request.actor, plan)?;
        let Some(terms) = &self.take else { return Ok(answer) };
        // Created and leased in one transaction. Its repeat is answered with the lease while that is held.
        let item = draft.shared(id).cloned().ok_or_else(|| Answer::NotFound(format!("item {id} is gone")))?;
        let held = item
            .lease
            .as_ref()
            .is_some_and(|lease| request.actor.is(&lease.owner) && lease.is_live(draft.now()));
        match (repeated, held) {
            (_, true) => Ok(Answer::Leased(alloc::vec![take::granted(draft, &item)])),
            (true, false) => Ok(Answer::Same(item)),
            // An item of its key may stand for it, and be held: then this is a take like any other.
            (false, false) => Take { item: id, terms: terms.clone() }.decide(draft, request),
        }
    }

    /// What this create will come to, before anything is written. `leaving` ends with the same request.
    pub(super) fn plan(
        &self,
        draft: &Draft,
        store: &Store,
        actor: &Actor,
        leaving: Option<ItemId>,
        draw: &mut Draw,
    ) -> Result<Plan, Answer> {
        let unknown = || Answer::Invalid(Problem::invalid(format!("there is no lifecycle `{}`", self.kind)));
        let table = draft.world().tables.current(&self.kind).ok_or_else(unknown)?.clone();
        judge_role(&table, &Event::Create, actor)?;
        if let Some(key) = self.name_key(store)
            && let Some(named) = draft.named(&key)
        {
            return self.repeat(draft, &key.name, named, &table);
        }
        self.check(draft, store, &table).map_err(Answer::Invalid)?;
        let birth = self.birth(&table).map_err(Answer::Invalid)?;
        let row = self.choose(&table, actor)?;
        let To::State(state) = row.to else { return Err(self.refused(row)) };
        let open = self.coalesces(draft, store, &table, &birth);
        if let Some(open) = open.filter(|open| Some(*open) != leaving) {
            return Ok(Plan::Fold { item: open, digest: birth.digest() });
        }
        let id = draw.id(draft.now());
        Ok(Plan::New { id, birth, table: table.clone(), state, shown: row.alias.clone() })
    }

    pub(super) fn perform(&self, draft: &mut Draft, store: &Store, actor: &Actor, plan: Plan) -> Decided {
        match plan {
            Plan::Repeat { answer, .. } => Ok(answer),
            Plan::Fold { item, digest } => {
                if let Some(name) = self.name.clone() {
                    let facts =
                        Facts::Note(Noted { folded: Some(Folded { digest, name }), records: Vec::new() });
                    draft.annotate(item, actor, Event::Note, facts, Vec::new());
                }
                let item = draft.shared(item).expect("a lane points to an item that is loaded with it");
                Ok(Answer::Coalesced(item.clone()))
            }
            Plan::New { id, birth, table, state, shown } => {
                let name = table.state(state).name.clone();
                let body = Some(self.payload.clone());
                let unlogged = Unlogged { body, trace: self.trace_in(draft), ..Unlogged::default() };
                draft.create(id, store, actor, (shown, name), birth, unlogged);
                let item = draft.shared(id).expect("what was written is in the draft");
                Ok(Answer::Created(item.clone()))
            }
        }
    }

    /// What is made by a commit, or in the place of another item, goes on with that one's trace.
    fn trace_in(&self, draft: &Draft) -> Option<Arc<Trace>> {
        let from = self.origin.or_else(|| draft.cause.as_ref().map(|cause| cause.item));
        self.trace.clone().or_else(|| draft.item(from?)?.trace.clone())
    }

    /// Same name: the first answer, exactly, or a conflict. Judged by the lifecycle that the item was made under too:
    /// a newer one, with another schema or key, changes no answer that was given.
    fn repeat(
        &self,
        draft: &Draft,
        name: &Key,
        named: &Named,
        current: &SharedTable,
    ) -> Result<Plan, Answer> {
        let (Named::Created { item: id, digest, .. } | Named::Folded { item: id, digest }) = named else {
            return Err(Answer::Invalid(Problem::invalid("the name is not one of a create")));
        };
        let conflict = || Answer::Conflict { name: name.clone(), item: *id };
        let item = draft.shared(*id).ok_or_else(|| Answer::NotFound(format!("item {id} is gone")))?;
        let births = [&item.table, current].map(|table| self.birth(table));
        let same = births.into_iter().flatten().find(|birth| birth.digest() == *digest);
        let birth = same.ok_or_else(conflict)?;
        let Named::Created { head, .. } = named else {
            return Ok(Plan::Repeat { item: *id, answer: Answer::Coalesced(item.clone()) });
        };
        let To::State(state) = self.choose(&item.table, &item.created_by)?.to else { return Err(conflict()) };
        let first = first_answer(item, &birth, state, *head);
        Ok(Plan::Repeat { item: *id, answer: Answer::Created(Arc::new(first)) })
    }

    fn choose<'t>(&self, table: &'t SharedTable, actor: &Actor) -> Result<&'t Row, Answer> {
        // Parsed only where a guard looks at it.
        let payload = OnceCell::new();
        let holds = |guard: &Guard| match guard {
            Guard::Payload(comparison) => {
                payload.get_or_init(|| self.payload.value()).as_ref().is_some_and(|v| comparison.holds(v))
            }
            _ => false,
        };
        let mut rows = table.rows_from(None, &Event::Create).filter(|row| row.actors.allow(actor.role));
        rows.find(|row| row.guards.iter().all(holds)).ok_or_else(|| {
            Answer::Invalid(Problem::invalid(format!(
                "no create row of `{}` holds for this payload",
                self.kind
            )))
        })
    }

    fn refused(&self, row: &Row) -> Answer {
        let code = match &row.to {
            To::Refuse(code) => code.clone(),
            To::State(_) => Code::TransitionRefused,
        };
        Answer::Invalid(Problem::new(code, format!("the lifecycle {} refuses this create", self.kind)))
    }

    fn coalesces(&self, draft: &Draft, store: &Store, table: &SharedTable, birth: &Birth) -> Option<ItemId> {
        if table.settings.coalesce == Coalesce::No {
            return None;
        }
        let key = LaneKey { store: store.clone(), kind: self.kind.clone(), key: birth.key.clone()? };
        draft.lane(&key).open
    }

    /// Whether an earlier effect of the same decision has taken the key.
    pub(super) fn folds_now(&self, draft: &Draft, store: &Store, birth: &Birth) -> bool {
        let table = draft.world().tables.version(&birth.lifecycle);
        table.is_some_and(|table| self.coalesces(draft, store, table, birth).is_some())
    }

    fn check(&self, draft: &Draft, store: &Store, table: &SharedTable) -> Result<(), Problem> {
        self.check_bounds()?;
        if let Some(schema) = &table.schema {
            let value = self
                .payload
                .value()
                .ok_or_else(|| Problem::invalid("the payload has a number no schema can judge"))?;
            if let Some(violation) = schema.violation(&value) {
                return Err(Problem::new(
                    Code::SchemaViolation,
                    format!("the payload does not fit: {violation}"),
                ));
            }
        }
        for id in self.links.iter().map(|link| link.to).chain(self.origin) {
            if draft.item(id).is_none_or(|item| item.store != *store) {
                let detail = format!("{id} is not an item of store {store}; links do not cross stores");
                return Err(Problem::new(Code::StoreBoundaryViolation, detail));
            }
        }
        Ok(())
    }

    fn birth(&self, table: &SharedTable) -> Result<Birth, Problem> {
        Ok(Birth {
            attempts: self.attempts,
            estimated: self.estimated,
            key: self.key_under(table)?,
            kind: self.kind.clone(),
            lifecycle: table.hash(),
            links: self.links.clone(),
            name: self.name.clone(),
            origin: self.origin,
            payload: self.payload.hash(),
            priority: self.priority,
            run_at: self.run_at,
        })
    }

    fn check_bounds(&self) -> Result<(), Problem> {
        if self.priority.is_some_and(|priority| !(-PRIORITY_MAX..=PRIORITY_MAX).contains(&priority)) {
            return Err(Problem::invalid(format!("priority goes from -{PRIORITY_MAX} to {PRIORITY_MAX}")));
        }
        if self.attempts.is_some_and(|attempts| !(1..=ATTEMPTS_MAX).contains(&attempts)) {
            return Err(Problem::invalid(format!("attempts go from 1 to {ATTEMPTS_MAX}")));
        }
        if self.links.len() > LINKS_MAX {
            return Err(Problem::invalid(format!("an item has at most {LINKS_MAX} links")));
        }
        Ok(())
    }

    /// The item's key: from the payload where the lifecycle says so, and then the request's own must agree.
    fn key_under(&self, table: &SharedTable) -> Result<Option<Key>, Problem> {
        let Some(pointer) = &table.settings.key else { return Ok(self.key.clone()) };
        let payload = self.payload.value();
        let text = match payload.as_ref().and_then(|payload| payload.pointer(pointer)) {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(serde_json::Value::Number(number)) => number.to_string(),
            _ => {
                return Err(Problem::invalid(format!(
                    "`{}` needs a key at {pointer} of its payload",
                    self.kind
                )));
            }
        };
        let key: Key =
            text.parse().map_err(|why| Problem::invalid(format!("the value at {pointer} is {why}")))?;
        match &self.key {
            Some(given) if *given != key => {
                Err(Problem::invalid(format!("the key is not the value at {pointer} of the payload")))
            }
            _ => Ok(Some(key)),
        }
    }
}

/// What a create comes to.
#[derive(Debug)]
pub(super) enum Plan {
    /// Asked before: this was the answer.
    Repeat {
        item: ItemId,
        answer: Answer,
    },
    /// An item of the same key stands for it.
    Fold {
        item: ItemId,
        digest: Hash,
    },
    New {
        id: ItemId,
        birth: Birth,
        table: SharedTable,
        state: StateId,
        shown: Option<crate::word::Label>,
    },
}

impl Plan {
    pub fn item(&self) -> ItemId {
        match self {
            Plan::Repeat { item, .. } | Plan::Fold { item, .. } => *item,
            Plan::New { id, .. } => *id,
        }
    }
}

/// The item as it was answered to its create. Nothing that a birth fixes ever changes, so it can be made again.
fn first_answer(item: &Item, birth: &Birth, state: StateId, head: Hash) -> Item {
    let entry = Entry {
        action: Event::Create,
        actor: item.created_by.clone(),
        shown: None,
        cause: None,
        fence: Fence(0),
        item: item.id,
        at: item.created,
        facts: Facts::Create(birth.clone()),
        previous: None,
        state: item.table.state(state).name.clone(),
        store: item.store.clone(),
        version: 1,
    };
    let mut first = project::born(&entry, birth, &item.table, state, head);
    first.origin = item.origin;
    first.trace = item.trace.clone();
    first
}

/// Whether this role may create items of this kind directly.
pub(super) fn may_create(tables: &Tables, kind: &Kind, role: Role) -> bool {
    tables.current(kind).is_some_and(|table| table.roles_of(&Event::Create).allow(role))
}
