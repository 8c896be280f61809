//! Random effects and records: what a row lists, nothing, or anything.

use tenure_core::id::ItemId;
use tenure_core::lifecycle::Row;
use tenure_core::lifecycle::effect::{Effect, Scope};
use tenure_core::request::*;
use tenure_core::world::World;

use super::dice::{Dice, EVENTS};
use crate::kit::{body, record};

const LABELS: [&str; 6] = ["step", "artifact", "truthbit", "receipt", "repair", "thing"];

impl Dice<'_> {
    pub fn a_record(&mut self) -> NewRecord {
        let label = LABELS[self.of(LABELS.len())];
        let names = ["one", "two", "extract/1/closed"];
        let bodies = ["{}", "1"];
        record(label, names[self.of(names.len())], bodies[self.of(bodies.len())])
    }

    /// Nothing; or what these rows list; or anything.
    pub fn effects(&mut self, world: &World, rows: Vec<&Row>) -> Effects {
        let mut effects = Effects::default();
        let mood = self.of(10);
        if mood < 3 {
            return effects;
        }
        if mood == 9 {
            let anything =
                [Effect::Record(Scope::Any), Effect::Create(Scope::Any), Effect::Message(Scope::Any)];
            anything.iter().for_each(|effect| self.effect(world, effect, &mut effects));
            let ids: Vec<ItemId> = world.items.keys().copied().collect();
            let event = EVENTS[self.of(EVENTS.len())].parse().unwrap();
            let moves = self.pick(&ids).map(|item| EffectMove { item: *item, event, reason: None });
            effects.moves.extend(moves);
            return effects;
        }
        let mut seen: Vec<&Effect> = Vec::new();
        for effect in rows.iter().flat_map(|row| &row.effects) {
            if !seen.contains(&effect) {
                seen.push(effect);
                self.effect(world, effect, &mut effects);
            }
        }
        effects
    }

    fn effect(&mut self, world: &World, effect: &Effect, effects: &mut Effects) {
        match effect {
            Effect::Record(Scope::Only(label)) => effects.records.push(record(label, "of-the-row", "{}")),
            Effect::Record(Scope::Any) => effects.records.push(self.a_record()),
            Effect::Create(scope) => {
                let kind = match scope {
                    Scope::Only(kind) => Some(kind.as_str()),
                    Scope::Any => None,
                };
                let create = Create { take: None, ..self.a_create(world, kind) };
                effects.creates.push(create);
            }
            Effect::Move(kind, events) => {
                let targets: Vec<ItemId> = world
                    .items
                    .values()
                    .filter(|item| item.table.kind == *kind)
                    .map(|item| item.id)
                    .collect();
                let event = self.pick(events).expect("a move has an event").clone();
                let target = self.pick(&targets).copied();
                effects.moves.extend(target.map(|item| EffectMove { item, event, reason: None }));
            }
            Effect::Message(scope) => {
                let label = match scope {
                    Scope::Only(label) => label.clone(),
                    Scope::Any => "news".parse().unwrap(),
                };
                effects.messages.push(NewMessage { label, body: body("{}") });
            }
            Effect::MoveOlder(_) | Effect::CloseSteps | Effect::LapseHeld => {}
        }
    }
}
