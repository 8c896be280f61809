//! Effects: what a row writes beside its own move. All of it is prepared before the entry is written, because the
//! entry names it, and performed after; any refusal drops the whole decision.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::create::{Plan, may_create};
use super::draft::Draft;
use super::guards::{Case, choose, refuse};
use super::plain::by_effect;
use crate::actor::{Actor, Role};
use crate::answer::Answer;
use crate::body::Body;
use crate::code::{Code, Problem};
use crate::draw::Draw;
use crate::entry::{Cause, MessageMark, RecordMark, Written};
use crate::id::{ItemId, RecordId};
use crate::item::Item;
use crate::lifecycle::Row;
use crate::lifecycle::effect::Effect;
use crate::lifecycle::event::Event;
use crate::request::{Create, EFFECTS_MAX, EffectMove, Effects, NewMessage, NewRecord};
use crate::word::Label;

/// How given effects stand to the row's Effect column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// A commit or a move: what the row does not list, and the caller could not do directly, is refused.
    MustBeListed,
    /// A failure or a cancel: which row is taken was not known, so what the row does not list is left out.
    Offered,
    /// A system row: as offered, and everything the row lists must be there.
    MustBeGiven,
}

pub(super) struct Prepared {
    records: Vec<NewRecord>,
    creates: Vec<(Create, Plan, Actor)>,
    moves: Vec<(EffectMove, Actor)>,
    messages: Vec<NewMessage>,
}

impl Prepared {
    pub fn new(
        draft: &Draft,
        item: &Item,
        row: &Row,
        actor: &Actor,
        effects: &Effects,
        rule: Rule,
        draw: &mut Draw,
    ) -> Result<Prepared, Answer> {
        if effects.len() > EFFECTS_MAX {
            return Err(Answer::Invalid(Problem::invalid(format!(
                "a row writes at most {EFFECTS_MAX} effects"
            ))));
        }
        let mut listed: Vec<Effect> = row.effects.clone();
        let mut prepared =
            Prepared { records: Vec::new(), creates: Vec::new(), moves: Vec::new(), messages: Vec::new() };
        prepared.add_moves(draft, item, actor, effects, rule, &mut listed)?;
        prepared.add_older(draft, item, row);
        prepared.add_records(draft, item, row, effects, rule, &listed)?;
        prepared.add_creates(draft, item, actor, effects, rule, &listed, draw)?;
        prepared.add_messages(item, row, effects, rule, &listed)?;
        if rule == Rule::MustBeGiven {
            prepared.check_given(draft, item, row)?;
        }
        Ok(prepared)
    }

    /// Moves act as the engine where the row lists them, and as the caller where the caller could make them directly.
    /// What a moved row lists may be written too: the gate that sends a ticket back may create its next event.
    fn add_moves(
        &mut self,
        draft: &Draft,
        item: &Item,
        actor: &Actor,
        effects: &Effects,
        rule: Rule,
        listed: &mut Vec<Effect>,
    ) -> Result<(), Answer> {
        for step in &effects.moves {
            let target = target(draft, item, step.item)?;
            let event = Event::Plain(step.event.clone());
            let is_listed = listed.iter().any(|effect| match effect {
                Effect::Move(kind, events) => *kind == target.table.kind && events.contains(&step.event),
                _ => false,
            });
            let acting = match (is_listed, rule) {
                (true, _) => system(),
                (false, Rule::Offered | Rule::MustBeGiven) => continue,
                (false, Rule::MustBeListed) if target.table.roles_of(&event).allow(actor.role) => {
                    actor.clone()
                }
                (false, Rule::MustBeListed) => {
                    return Err(not_listed(item, &format!("move {} {event}", target.table.kind)));
                }
            };
            let case = Case { reason: step.reason.as_deref(), ..Case::of(&acting) };
            let chosen = choose(draft, target, &event, &case)?;
            listed.extend(chosen.row.effects.iter().cloned());
            self.moves.push((step.clone(), acting));
        }
        Ok(())
    }

    /// `move older …`: the item of this key that succeeded before.
    fn add_older(&mut self, draft: &Draft, item: &Item, row: &Row) {
        let older = draft.lane_of(item).and_then(|(_, lane)| lane.latest).filter(|older| *older != item.id);
        for effect in &row.effects {
            if let (Effect::MoveOlder(event), Some(older)) = (effect, older) {
                let reason = Some(format!("superseded by {}", item.id));
                self.moves.push((EffectMove { item: older, event: event.clone(), reason }, system()));
            }
        }
    }

    fn add_records(
        &mut self,
        draft: &Draft,
        item: &Item,
        row: &Row,
        effects: &Effects,
        rule: Rule,
        listed: &[Effect],
    ) -> Result<(), Answer> {
        let mut given: Vec<NewRecord> = Vec::new();
        for record in &effects.records {
            let is_listed =
                listed.iter().any(|e| matches!(e, Effect::Record(scope) if scope.covers(&record.label)));
            match (is_listed, rule) {
                (true, _) => given.push(record.clone()),
                (false, Rule::Offered | Rule::MustBeGiven) => {}
                (false, Rule::MustBeListed) => {
                    return Err(not_listed(item, &format!("record {}", record.label)));
                }
            }
        }
        self.records = new_records(draft, item.id, &given)?;
        if row.effects.contains(&Effect::CloseSteps) {
            self.records.extend(item.open_steps.iter().map(|step| closing_record(item, step, &row.event)));
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn add_creates(
        &mut self,
        draft: &Draft,
        item: &Item,
        actor: &Actor,
        effects: &Effects,
        rule: Rule,
        listed: &[Effect],
        draw: &mut Draw,
    ) -> Result<(), Answer> {
        let tables = &draft.world().tables;
        let mut names = BTreeSet::new();
        for create in &effects.creates {
            let is_listed =
                listed.iter().any(|e| matches!(e, Effect::Create(scope) if scope.covers(&create.kind)));
            let direct = may_create(tables, &create.kind, actor.role);
            let as_system = may_create(tables, &create.kind, Role::System);
            let acting = match (is_listed, rule) {
                (true, _) if direct && !as_system => actor.clone(),
                (true, _) => system(),
                (false, Rule::Offered | Rule::MustBeGiven) => continue,
                (false, Rule::MustBeListed) if direct => actor.clone(),
                (false, Rule::MustBeListed) => {
                    return Err(not_listed(item, &format!("create {}", create.kind)));
                }
            };
            if create.take.is_some() {
                return Err(Answer::Invalid(Problem::invalid("an effect creates, it does not lease")));
            }
            if create.name.clone().is_some_and(|name| !names.insert((create.kind.clone(), name))) {
                return Err(Answer::Invalid(Problem::invalid("two effects create under one name")));
            }
            let plan = create.plan(draft, &item.store, &acting, draw)?;
            self.creates.push((create.clone(), plan, acting));
        }
        Ok(())
    }

    fn add_messages(
        &mut self,
        item: &Item,
        _row: &Row,
        effects: &Effects,
        rule: Rule,
        listed: &[Effect],
    ) -> Result<(), Answer> {
        for message in &effects.messages {
            let is_listed =
                listed.iter().any(|e| matches!(e, Effect::Message(scope) if scope.covers(&message.label)));
            match (is_listed, rule) {
                (true, _) => self.messages.push(message.clone()),
                (false, Rule::Offered | Rule::MustBeGiven) => {}
                (false, Rule::MustBeListed) => {
                    return Err(not_listed(item, &format!("message {}", message.label)));
                }
            }
        }
        Ok(())
    }

    /// Nobody asked for a system row, so nobody is there to notice that half of it is missing.
    fn check_given(&self, draft: &Draft, item: &Item, row: &Row) -> Result<(), Answer> {
        for effect in &row.effects {
            let given = match effect {
                Effect::Record(scope) => self.records.iter().any(|record| scope.covers(&record.label)),
                Effect::Create(scope) => self.creates.iter().any(|(create, _, _)| scope.covers(&create.kind)),
                Effect::Move(kind, events) => self.moves.iter().any(|(step, _)| {
                    draft.item(step.item).is_some_and(|t| t.table.kind == *kind)
                        && events.contains(&step.event)
                }),
                Effect::Message(scope) => self.messages.iter().any(|message| scope.covers(&message.label)),
                Effect::MoveOlder(_) | Effect::CloseSteps | Effect::LapseHeld => true,
            };
            if !given {
                let detail = format!("this row must also write: {effect}");
                return Err(refuse(item, &row.event, Code::TransitionRefused, detail));
            }
        }
        Ok(())
    }

    /// What the entry says of them.
    pub fn written(&self) -> Written {
        let message =
            |message: &NewMessage| MessageMark { label: message.label.clone(), sha256: message.body.hash() };
        Written {
            created: self.creates.iter().map(|(_, plan, _)| plan.item()).collect(),
            messages: self.messages.iter().map(message).collect(),
            moved: self.moves.iter().map(|(step, _)| step.item).collect(),
            records: marks(&self.records),
        }
    }

    pub fn bodies(&self) -> Vec<Body> {
        self.records.iter().map(|record| record.body.clone()).collect()
    }

    /// Writes the other items' entries and the messages. The entry of `item` itself has been written.
    pub fn perform(self, draft: &mut Draft, item: ItemId, committer: &Actor) -> Result<(), Answer> {
        let store = draft.item(item).expect("it was just written").store.clone();
        draft.send(item, &self.messages);
        draft.cause = Some(Cause { actor: committer.clone(), item });
        for (step, actor) in self.moves {
            by_effect(draft, &actor, step.item, &step.event, step.reason)?;
        }
        for (create, plan, actor) in self.creates {
            if let Plan::New { birth, .. } = &plan
                && create.folds_now(draft, &store, birth)
            {
                return Err(Answer::Invalid(Problem::invalid(
                    "two effects create on one key that coalesces",
                )));
            }
            create.perform(draft, &store, &actor, plan)?;
        }
        draft.cause = None;
        Ok(())
    }
}

fn target<'d>(draft: &'d Draft, item: &Item, id: ItemId) -> Result<&'d Item, Answer> {
    let target = draft.item(id).ok_or_else(|| Answer::NotFound(format!("there is no item {id} to move")))?;
    if target.store != item.store {
        let detail = format!("item {id} is in another store than {}", item.id);
        return Err(Answer::Invalid(Problem::new(Code::StoreBoundaryViolation, detail)));
    }
    Ok(target)
}

fn system() -> Actor {
    Actor::new(Role::System, "engine".parse().expect("a valid id"))
}

fn not_listed(item: &Item, what: &str) -> Answer {
    let detail = format!("`{what}` is not in this row's Effect column in {}", item.table.kind);
    Answer::Invalid(Problem::new(Code::Forbidden, detail))
}

/// The label of closing records, and how their names end. Nobody else writes such a record: one that was there already
/// would keep an item from ending.
const CLOSING: (&str, &str) = ("step", "/closed");

fn closing_record(item: &Item, step: &Label, event: &Event) -> NewRecord {
    let text = format!(r#"{{"error_code":"{event}","status":"failed","step":"{step}"}}"#);
    NewRecord {
        label: CLOSING.0.parse().expect("a valid label"),
        name: format!("{step}/{}{}", item.fence, CLOSING.1).parse().expect("a valid name"),
        body: Body::json(text.into_bytes()).expect("this is JSON"),
    }
}

/// The records that are not there yet. The same content again is a no-op; other content under the same name is refused.
pub(super) fn new_records(
    draft: &Draft,
    item: ItemId,
    records: &[NewRecord],
) -> Result<Vec<NewRecord>, Answer> {
    let mut seen = BTreeSet::new();
    let mut new = Vec::new();
    for record in records {
        let id = RecordId::of(item, &record.label, &record.name);
        let wrong = |what: &str| {
            Answer::Invalid(Problem::invalid(format!("record {} `{}` {what}", record.label, record.name)))
        };
        if !seen.insert(id) {
            return Err(wrong("is given twice"));
        }
        if &*record.label == CLOSING.0 && record.name.ends_with(CLOSING.1) {
            return Err(wrong("has a name that is kept for steps which nobody closed"));
        }
        match draft.record(id) {
            None => new.push(record.clone()),
            Some(kept) if kept.hash == record.body.hash() => {}
            Some(_) => return Err(wrong("is there already with other content; records are append-only")),
        }
    }
    Ok(new)
}

pub(super) fn marks(records: &[NewRecord]) -> Vec<RecordMark> {
    let mark = |record: &NewRecord| RecordMark {
        label: record.label.clone(),
        name: record.name.clone(),
        sha256: record.body.hash(),
    };
    records.iter().map(mark).collect()
}
