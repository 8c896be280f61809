//! What a row may say by itself: the rules that the kernel relies on, one small function each.
//!
//! A rule answers what is wrong with a row, and what to write instead; none looks at a second row.

use alloc::format;
use alloc::string::{String, ToString};

use super::Faults;
use crate::actor::{Role, Roles};
use crate::lifecycle::effect::Effect;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::{Phase, Row, StateId, Table, To};

type Rule = fn(&Table, &Row) -> Option<String>;

const RULES: [Rule; 12] = [
    only_create_makes_an_item,
    create_leads_to_a_state_nobody_holds,
    lease_leads_from_ready_to_active,
    only_lease_leads_into_an_active_state,
    an_execution_ends_only_where_it_is_held,
    what_ends_an_execution_leaves_its_state,
    the_engine_can_finish_what_committed,
    the_engine_alone_takes_its_own_events,
    what_happens_by_itself_is_not_refused,
    guards_stand_where_they_can_hold,
    effects_stand_where_they_can_be_written,
    what_ends_with_a_lease_needs_one,
];

pub(super) fn judge(table: &Table, faults: &mut Faults) {
    for row in &table.rows {
        for what in RULES.iter().filter_map(|rule| rule(table, row)) {
            faults.add(row.line, what);
        }
    }
}

/// The state a row moves to; none for one that refuses or stays.
fn target(row: &Row) -> Option<StateId> {
    match row.to {
        To::State(_) if row.is_no_op() => None,
        To::State(to) => Some(to),
        To::Refuse(_) => None,
    }
}

fn only_create_makes_an_item(_: &Table, row: &Row) -> Option<String> {
    match (row.from, &row.event) {
        (Some(_), Event::Create) => {
            Some("`create` makes the item, so it comes from nowhere: write `—` in From".to_string())
        }
        (None, event) if *event != Event::Create => Some(format!(
            "only `create` comes from nowhere: write the state in which `{event}` happens in From"
        )),
        (Some(_) | None, _) => None,
    }
}

fn create_leads_to_a_state_nobody_holds(table: &Table, row: &Row) -> Option<String> {
    let to = target(row).filter(|to| row.event == Event::Create && table.phase(*to) == Phase::Active)?;
    Some(format!(
        "`create` can not lead to the active state `{}`, which nobody would hold; lead to a ready one",
        table.name(to)
    ))
}

/// Staying and refusing may stand in any state: `Claimed lease → Claimed`, `DONE lease → ! ALREADY_DONE`.
fn lease_leads_from_ready_to_active(table: &Table, row: &Row) -> Option<String> {
    let (Event::Lease, Some(from), Some(to)) = (&row.event, row.from, target(row)) else { return None };
    let wrong = |id: StateId, wanted: Phase| {
        let (name, phase) = (table.name(id), table.phase(id));
        (phase != wanted)
            .then(|| format!("`lease` leads from a ready state to an active one, and `{name}` is {phase}"))
    };
    wrong(from, Phase::Ready).or_else(|| wrong(to, Phase::Active))
}

fn only_lease_leads_into_an_active_state(table: &Table, row: &Row) -> Option<String> {
    match row.event {
        // Each has a rule of its own above.
        Event::Create | Event::Lease => return None,
        _ => {}
    }
    let to = target(row).filter(|to| table.phase(*to) == Phase::Active)?;
    let (event, name) = (&row.event, table.name(to));
    Some(format!(
        "only `lease` leads into an active state, and `{event}` leads to `{name}`; nobody would hold the item"
    ))
}

fn an_execution_ends_only_where_it_is_held(table: &Table, row: &Row) -> Option<String> {
    match row.event {
        Event::Commit | Event::Finish | Event::Fail | Event::Expire | Event::Release => {}
        Event::TimeOut | Event::Orphan => {}
        _ => return None,
    }
    target(row)?;
    let from = row.from.filter(|from| table.phase(*from) != Phase::Active)?;
    let (event, name, phase) = (&row.event, table.name(from), table.phase(from));
    Some(format!(
        "`{event}` ends an execution, so it leaves active states only, and `{name}` is {phase}; use a move of your own"
    ))
}

/// Staying would leave the item active with nobody holding it.
fn what_ends_an_execution_leaves_its_state(table: &Table, row: &Row) -> Option<String> {
    let from = row.from.filter(|from| row.is_no_op() && table.phase(*from) == Phase::Active)?;
    match row.event {
        Event::Commit | Event::Finish | Event::Fail | Event::Expire | Event::Release => {}
        Event::TimeOut | Event::Orphan | Event::Cancel => {}
        _ => return None,
    }
    let (event, name) = (&row.event, table.name(from));
    Some(format!(
        "`{event}` ends the execution, so it can not stay in `{name}`: lead to a state that nobody holds"
    ))
}

/// A worker may die between its commit and its finish; then only the engine is left to finish.
fn the_engine_can_finish_what_committed(_: &Table, row: &Row) -> Option<String> {
    if row.event != Event::Finish || target(row).is_none() {
        return None;
    }
    if !row.actors.names(Role::System) {
        return Some(
            "a worker may die before it finishes: write `system` among the actors of `finish`".to_string(),
        );
    }
    let guard = row.guards.first()?;
    Some(format!("what has committed must be finished: take the guard `{guard}` away from `finish`"))
}

fn the_engine_alone_takes_its_own_events(_: &Table, row: &Row) -> Option<String> {
    match row.event {
        Event::Expire | Event::TimeOut | Event::Orphan => {}
        _ => return None,
    }
    let event = &row.event;
    (row.actors != Roles::NONE.with(Role::System)).then(|| {
        format!("`{event}` is found by the engine and asked for by nobody: write `system` alone as its actor")
    })
}

fn what_happens_by_itself_is_not_refused(table: &Table, row: &Row) -> Option<String> {
    let refused = row.event.cannot_be_refused() && matches!(row.to, To::Refuse(_));
    let from = row.from.filter(|from| refused && table.phase(*from) == Phase::Active)?;
    let (event, name) = (&row.event, table.name(from));
    Some(format!(
        "`{event}` happens and can not be refused: lead somewhere, or `{name}` would be held by nobody"
    ))
}

fn guards_stand_where_they_can_hold(_: &Table, row: &Row) -> Option<String> {
    let place = |guard: &Guard| match guard {
        Guard::NoOtherRunning if row.event != Event::Lease => Some((guard.to_string(), Event::Lease)),
        Guard::Permanent if row.event != Event::Fail => Some((guard.to_string(), Event::Fail)),
        _ => None,
    };
    let (guard, event) = row.guards.iter().find_map(place)?;
    Some(format!("the guard `{guard}` belongs to `{event}` rows only; `{}` can not know it", row.event))
}

fn effects_stand_where_they_can_be_written(_: &Table, row: &Row) -> Option<String> {
    let effect = row.effects.first()?;
    let why = match (&row.event, &row.to) {
        (_, To::Refuse(_)) => "a row that refuses",
        (_, To::State(_)) if row.is_no_op() => "a row that stays in its state",
        (Event::Create | Event::Lease, _) => "a `create` or `lease` row",
        (_, To::State(_)) => return None,
    };
    Some(format!("{why} writes nothing else: take `{effect}` out of Effect"))
}

fn what_ends_with_a_lease_needs_one(table: &Table, row: &Row) -> Option<String> {
    let of_a_lease = |effect: &&Effect| matches!(effect, Effect::CloseSteps | Effect::LapseHeld);
    let effect = row.effects.iter().find(of_a_lease)?;
    let from = row.from.filter(|from| table.phase(*from) != Phase::Active && target(row).is_some())?;
    Some(format!(
        "`{effect}` belongs to rows that leave an active state, and `{}` is {}",
        table.name(from),
        table.phase(from)
    ))
}
