//! Effects: what a row writes beside its own move. All of it is prepared before the entry is written, because the
//! entry names it, and performed after; any refusal drops the whole decision.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::create::{Plan, may_create};
use super::draft::Draft;
use super::guards::{Case, choose, refuse};
use super::plain::by_effect;
use super::records::{bodies, closing_record, marks, new_records};
use crate::actor::{Actor, Role};
use crate::answer::Answer;
use crate::body::Body;
use crate::code::{Code, Problem};
use crate::draw::Draw;
use crate::entry::{Cause, MessageMark, Written};
use crate::id::ItemId;
use crate::item::Item;
use crate::lifecycle::effect::{Effect, Scope};
use crate::lifecycle::event::Event;
use crate::lifecycle::{Row, To};
use crate::request::{Create, EFFECTS_MAX, EffectMove, Effects, NewMessage, NewRecord};

/// How given effects stand to the row's Effect column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// A commit or a move: what the row does not list, and the caller could not do directly, is refused.
    MustBeListed,
    /// An end that is not a commit: which row it takes was not known when the request was made, so what the row does not
    /// list is left out; but what it lists by name must be there, for nobody comes back to write the rest.
    MustBeGiven,
}

/// Effects on their way into a row.
pub(super) struct Wanted<'a> {
    pub item: &'a Item,
    pub row: &'a Row,
    pub actor: &'a Actor,
    pub effects: &'a Effects,
    pub rule: Rule,
}

/// Who writes an effect, if it may be written at all.
enum Standing {
    AsSystem,
    AsCaller,
    LeftOut,
}

/// Effects that may be written, and how.
#[derive(Default)]
pub(super) struct Prepared {
    records: Vec<NewRecord>,
    creates: Vec<(Create, Plan, Actor)>,
    moves: Vec<(EffectMove, Actor)>,
    messages: Vec<NewMessage>,
}

impl Prepared {
    pub fn new(draft: &Draft, wanted: Wanted, draw: &mut Draw) -> Result<Prepared, Answer> {
        if wanted.effects.len() > EFFECTS_MAX {
            return Err(Answer::Invalid(Problem::invalid(format!(
                "a row writes at most {EFFECTS_MAX} effects"
            ))));
        }
        let mut prepared = Prepared::default();
        let listed = prepared.add_moves(draft, &wanted)?;
        prepared.add_older(draft, &wanted);
        prepared.add_records(draft, &wanted, &listed)?;
        prepared.add_creates(draft, &wanted, &listed, draw)?;
        prepared.add_messages(&wanted, &listed)?;
        match wanted.rule {
            Rule::MustBeListed => Ok(prepared),
            Rule::MustBeGiven => wanted.check_given(draft).map(|()| prepared),
        }
    }

    /// Answers what may be written beside the moves: what the row lists, and what a moved row lists too (the gate that
    /// sends a ticket back may create its next event).
    fn add_moves<'a>(&mut self, draft: &Draft, wanted: &Wanted<'a>) -> Result<Cow<'a, [Effect]>, Answer> {
        let mut listed = Cow::Borrowed(&*wanted.row.effects);
        for step in &wanted.effects.moves {
            let target = target(draft, wanted.item, step.item)?;
            let event = Event::Plain(step.event.clone());
            let is_listed = wanted.row.effects.iter().any(|effect| lists_move(effect, target, step));
            let direct = target.table.roles_of(&event).allow(wanted.actor.role);
            let acting =
                match wanted.standing(is_listed, direct, || format!("move {} {event}", target.table.kind))? {
                    Standing::AsSystem => system(),
                    Standing::AsCaller => wanted.actor.clone(),
                    Standing::LeftOut => continue,
                };
            let case = Case { reason: step.reason.as_deref(), ..Case::of(&acting) };
            listed.to_mut().extend(choose(draft, target, &event, &case)?.row.effects.iter().cloned());
            self.moves.push((step.clone(), acting));
        }
        Ok(listed)
    }

    /// `move older …`: the item of this key that succeeded before.
    fn add_older(&mut self, draft: &Draft, wanted: &Wanted) {
        let item = wanted.item;
        let older = draft.lane_of(item).and_then(|(_, lane)| lane.latest).filter(|older| *older != item.id);
        for effect in &wanted.row.effects {
            if let (Effect::MoveOlder(event), Some(older)) = (effect, older) {
                let reason = Some(format!("superseded by {}", item.id));
                self.moves.push((EffectMove { item: older, event: event.clone(), reason }, system()));
            }
        }
    }

    fn add_records(&mut self, draft: &Draft, wanted: &Wanted, listed: &[Effect]) -> Result<(), Answer> {
        let (item, row) = (wanted.item, wanted.row);
        let mut given: Vec<NewRecord> = Vec::new();
        for record in &wanted.effects.records {
            let is_listed =
                listed.iter().any(|e| matches!(e, Effect::Record(scope) if scope.covers(&record.label)));
            match wanted.standing(is_listed, false, || format!("record {}", record.label))? {
                Standing::AsSystem | Standing::AsCaller => given.push(record.clone()),
                Standing::LeftOut => {}
            }
        }
        self.records = new_records(draft, item.id, &given)?;
        if row.effects.contains(&Effect::CloseSteps) {
            self.records.extend(item.open_steps.iter().map(|step| closing_record(item, step, &row.event)));
        }
        Ok(())
    }

    fn add_creates(
        &mut self,
        draft: &Draft,
        wanted: &Wanted,
        listed: &[Effect],
        draw: &mut Draw,
    ) -> Result<(), Answer> {
        let tables = &draft.world().tables;
        let mut names = BTreeSet::new();
        for create in &wanted.effects.creates {
            let is_listed =
                listed.iter().any(|e| matches!(e, Effect::Create(scope) if scope.covers(&create.kind)));
            let direct = may_create(tables, &create.kind, wanted.actor.role);
            let acting = match wanted.standing(is_listed, direct, || format!("create {}", create.kind))? {
                // Listed, but the kind's own table knows no create by the engine: whoever commits creates it.
                Standing::AsSystem if direct && !may_create(tables, &create.kind, Role::System) => {
                    wanted.actor.clone()
                }
                Standing::AsSystem => system(),
                Standing::AsCaller => wanted.actor.clone(),
                Standing::LeftOut => continue,
            };
            if create.take.is_some() {
                return Err(Answer::Invalid(Problem::invalid("an effect creates, it does not lease")));
            }
            if create.name.clone().is_some_and(|name| !names.insert((create.kind.clone(), name))) {
                return Err(Answer::Invalid(Problem::invalid("two effects create under one name")));
            }
            let plan = create.plan(draft, &wanted.item.store, &acting, wanted.leaving(), draw)?;
            self.creates.push((create.clone(), plan, acting));
        }
        Ok(())
    }

    fn add_messages(&mut self, wanted: &Wanted, listed: &[Effect]) -> Result<(), Answer> {
        for message in &wanted.effects.messages {
            let is_listed =
                listed.iter().any(|e| matches!(e, Effect::Message(scope) if scope.covers(&message.label)));
            match wanted.standing(is_listed, false, || format!("message {}", message.label))? {
                Standing::AsSystem | Standing::AsCaller => self.messages.push(message.clone()),
                Standing::LeftOut => {}
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
        bodies(&self.records)
    }

    /// Writes the other items' entries and the messages. The entry of `item` itself has been written.
    pub fn perform(self, draft: &mut Draft, item: ItemId, committer: &Actor) -> Result<(), Answer> {
        if self.moves.is_empty() && self.creates.is_empty() && self.messages.is_empty() {
            return Ok(());
        }
        let store = draft.item(item).expect("it was just written").store.clone();
        draft.send(item, &self.messages);
        let outer = draft.cause.replace(Cause { actor: committer.clone(), item });
        for (step, actor) in self.moves {
            by_effect(draft, &actor, step)?;
        }
        for (create, plan, actor) in self.creates {
            if let Plan::New { birth, .. } = &plan
                && create.folds_now(draft, &store, birth)
            {
                let detail = "two effects create on one key that coalesces";
                return Err(Answer::Invalid(Problem::invalid(detail)));
            }
            if let Plan::Fold { item, .. } = &plan
                && !is_open(draft, *item)
            {
                let detail =
                    format!("item {item} would stand for what is created, and ends with this request");
                return Err(Answer::Invalid(Problem::invalid(detail)));
            }
            create.perform(draft, &store, &actor, plan)?;
        }
        draft.cause = outer;
        Ok(())
    }
}

impl Wanted<'_> {
    /// The item itself, if this row ends it: it stands for nothing that is created beside it, so that it can create its
    /// own successor. What commits before it finishes is still there when its effects are written.
    fn leaving(&self) -> Option<ItemId> {
        match self.row.to {
            To::State(_) if self.row.event == Event::Finish => None,
            To::State(to) => self.item.table.phase(to).is_ended().then_some(self.item.id),
            To::Refuse(_) => None,
        }
    }

    /// Listed: it is the row's work and the engine writes it. Else the caller may where it could directly.
    fn standing(
        &self,
        is_listed: bool,
        direct: bool,
        what: impl Fn() -> alloc::string::String,
    ) -> Result<Standing, Answer> {
        match (is_listed, self.rule) {
            (true, _) => Ok(Standing::AsSystem),
            (false, Rule::MustBeGiven) => Ok(Standing::LeftOut),
            (false, Rule::MustBeListed) if direct => Ok(Standing::AsCaller),
            (false, Rule::MustBeListed) => {
                let kind = &self.item.table.kind;
                let detail = format!("`{}` is not in this row's Effect column in {kind}", what());
                Err(Answer::Invalid(Problem::new(Code::Forbidden, detail)))
            }
        }
    }

    fn check_given(&self, draft: &Draft) -> Result<(), Answer> {
        for effect in &self.row.effects {
            let given = match effect {
                Effect::Record(Scope::Only(label)) => self.effects.records.iter().any(|r| r.label == *label),
                Effect::Create(Scope::Only(kind)) => self.effects.creates.iter().any(|c| c.kind == *kind),
                Effect::Message(Scope::Only(label)) => {
                    self.effects.messages.iter().any(|m| m.label == *label)
                }
                Effect::Move(..) => {
                    self.effects.moves.iter().any(|step| {
                        draft.item(step.item).is_some_and(|target| lists_move(effect, target, step))
                    })
                }
                Effect::Record(Scope::Any) | Effect::Create(Scope::Any) | Effect::Message(Scope::Any) => true,
                Effect::MoveOlder(_) | Effect::CloseSteps | Effect::LapseHeld => true,
            };
            if !given {
                let detail = format!("this row must also write: {effect}");
                return Err(refuse(self.item, &self.row.event, Code::TransitionRefused, detail));
            }
        }
        Ok(())
    }
}

fn lists_move(effect: &Effect, target: &Item, step: &EffectMove) -> bool {
    match effect {
        Effect::Move(kind, events) => *kind == target.table.kind && events.contains(&step.event),
        _ => false,
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

/// Whether the item still stands for creates on its key.
fn is_open(draft: &Draft, id: ItemId) -> bool {
    let lane = draft.item(id).and_then(|item| draft.lane_of(item));
    lane.is_some_and(|(_, lane)| lane.open == Some(id))
}

/// The engine, as the writer of what a table lists.
pub(super) fn system() -> Actor {
    Actor::new(Role::System, "engine".parse().expect("a valid id"))
}
