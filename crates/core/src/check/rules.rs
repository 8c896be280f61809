//! What can be seen by reading the table.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Finding;
use crate::actor::Role;
use crate::lifecycle::effect::{Effect, Scope};
use crate::lifecycle::event::Event;
use crate::lifecycle::tables::Tables;
use crate::lifecycle::{Phase, Row, StateId, Table, To};

pub fn judge(table: &Table, known: &Tables) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |line: u32, what: String| findings.push(Finding { line, what, trace: Vec::new() });
    unreachable(table, &mut found);
    dead_ends(table, &mut found);
    held_for_ever(table, &mut found);
    exits_of_ended(table, &mut found);
    effects(table, known, &mut found);
    findings
}

type Found<'a> = &'a mut dyn FnMut(u32, String);

fn unreachable(table: &Table, found: Found) {
    let mut reached: BTreeSet<StateId> = BTreeSet::new();
    let mut grew = true;
    while grew {
        grew = false;
        for row in &table.rows {
            let from_reached = row.from.is_none_or(|from| reached.contains(&from));
            if let (true, To::State(to)) = (from_reached, &row.to) {
                grew |= reached.insert(*to);
            }
        }
    }
    for id in table.state_ids().filter(|id| !reached.contains(id)) {
        let state = table.state(id);
        found(
            state.line,
            format!("state `{}` can not be reached: no row leads to it from where items begin", state.name),
        );
    }
}

fn dead_ends(table: &Table, found: Found) {
    for id in table.state_ids() {
        let state = table.state(id);
        if !state.phase.is_ended() && !table.has_exit(id) {
            let what = format!(
                "state `{}` is {} and nobody can leave it: add a row that leaves it, or make its phase succeeded, failed or stopped",
                state.name, state.phase
            );
            found(state.line, what);
        }
    }
}

fn held_for_ever(table: &Table, found: Found) {
    for id in table.state_ids().filter(|id| table.phase(*id) == Phase::Active) {
        let leaves = |event: &Event| table.rows_from(Some(id), event).any(Row::is_exit);
        if !leaves(&Event::Expire) && !leaves(&Event::Orphan) {
            let state = table.state(id);
            let what = format!(
                "state `{}` is held under a lease, but has no `expire` or `orphan` row: when its holder dies it is stuck",
                state.name
            );
            found(state.line, what);
        }
    }
}

/// What has ended stays ended: a succeeded or stopped item may be superseded, never worked on again.
fn exits_of_ended(table: &Table, found: Found) {
    for row in table.rows.iter().filter(|row| row.is_exit()) {
        let (Some(from), To::State(to)) = (row.from, &row.to) else { continue };
        let closed = matches!(table.phase(from), Phase::Succeeded | Phase::Stopped);
        if closed && !table.phase(*to).is_ended() {
            let what = format!(
                "`{}` has {} and is final: `{}` would take it back to `{}`; create a new item instead",
                table.name(from),
                table.phase(from),
                row.event,
                table.name(*to)
            );
            found(row.line, what);
        }
    }
}

fn effects(table: &Table, known: &Tables, found: Found) {
    for row in &table.rows {
        for effect in &row.effects {
            match effect {
                Effect::Create(Scope::Only(kind)) => match known.current(kind).map(|other| &**other) {
                    None if kind != &table.kind => {
                        found(row.line, format!("`{effect}`: there is no lifecycle `{kind}`"));
                    }
                    other => created_by_effect(row, effect, other.unwrap_or(table), found),
                },
                Effect::Move(kind, events) => match known.current(kind).map(|other| &**other) {
                    None if kind != &table.kind => {
                        found(row.line, format!("`{effect}`: there is no lifecycle `{kind}`"));
                    }
                    other => {
                        let other = other.unwrap_or(table);
                        for event in events {
                            moved_by_effect(row, effect, other, &Event::Plain(event.clone()), found);
                        }
                    }
                },
                Effect::MoveOlder(event) => {
                    moved_by_effect(row, effect, table, &Event::Plain(event.clone()), found)
                }
                Effect::Create(Scope::Any)
                | Effect::Record(_)
                | Effect::Message(_)
                | Effect::CloseSteps
                | Effect::LapseHeld => {}
            }
        }
    }
}

/// A create made by an effect acts as `system` too, or as whoever takes the row.
fn created_by_effect(row: &Row, effect: &Effect, other: &Table, found: Found) {
    let roles = other.roles_of(&Event::Create);
    if !roles.allow(Role::System) && !row.actors.iter().any(|role| roles.allow(role)) {
        let what = format!(
            "`{effect}`: a create made by an effect acts as system or as {}, and `create` in `{}` is for {roles} only",
            row.actors, other.kind
        );
        found(row.line, what);
    }
}

/// A move made by an effect acts as `system`, so the other table must let it.
fn moved_by_effect(row: &Row, effect: &Effect, other: &Table, event: &Event, found: Found) {
    let roles = other.roles_of(event);
    if roles.is_empty() {
        found(row.line, format!("`{effect}`: the lifecycle `{}` has no event `{event}`", other.kind));
    } else if !roles.allow(Role::System) {
        let what = format!(
            "`{effect}`: a move made by an effect acts as system, and `{event}` in `{}` is for {roles} only",
            other.kind
        );
        found(row.line, what);
    }
}
