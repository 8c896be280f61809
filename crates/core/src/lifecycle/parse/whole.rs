//! What rows and settings may say together: the rules that the kernel relies on, one small function each.
//!
//! Judged only when every row and setting could be read. Each rule adds its faults itself, on the line to change.

use alloc::format;
use alloc::vec::Vec;

use super::Faults;
use super::settings::Lines;
use crate::actor::{Role, Roles};
use crate::lifecycle::effect::Effect;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::settings::Coalesce;
use crate::lifecycle::{Phase, Row, StateId, Table, To};
use crate::word::EventName;

pub(super) fn judge(table: &Table, lines: &Lines, faults: &mut Faults) {
    an_item_can_be_made(table, faults);
    every_row_can_be_reached(table, faults);
    what_happens_by_itself_finds_a_row(table, faults);
    work_ends_by_commit_or_by_finish(table, faults);
    a_derived_state_has_no_moves_of_its_own(table, faults);
    what_goes_by_key_has_a_key(table, lines, faults);
    exclusive_is_said_by_every_lease(table, faults);
    a_window_ends_somewhere(table, lines, faults);
    the_older_item_can_be_moved(table, faults);
    an_alias_names_one_event(table, faults);
}

fn an_item_can_be_made(table: &Table, faults: &mut Faults) {
    let makes = |row: &Row| row.event == Event::Create && matches!(row.to, To::State(_));
    if !table.rows.iter().any(makes) {
        let first = table.states.first().map_or("STATE", |state| state.name.as_str());
        let line = table.states.first().map_or(1, |state| state.line);
        faults.add(line, format!("nothing makes an item: add a row `— | create | {first} | api`"));
    }
}

/// The conditions of a row, as far as they can fail: every `fail` request carries its reason.
fn conditions(row: &Row) -> impl Iterator<Item = &Guard> {
    row.guards.iter().filter(|guard| row.event != Event::Fail || **guard != Guard::Reason)
}

fn every_row_can_be_reached(table: &Table, faults: &mut Faults) {
    for (index, row) in table.rows.iter().enumerate() {
        let comes_first = |earlier: &&Row| {
            earlier.from == row.from
                && earlier.event == row.event
                && row.actors.iter().all(|role| earlier.actors.allow(role))
                && conditions(earlier).all(|guard| conditions(row).any(|own| own == guard))
        };
        if let Some(earlier) = table.rows.iter().take(index).find(comes_first) {
            let line = earlier.line;
            faults.add(
                row.line,
                format!(
                    "the row is never reached, as the one on line {line} always holds before it; \
                     swap or remove one"
                ),
            );
        }
    }
}

/// `expire`, `time-out`, `orphan` and `fail` must find a row whatever the guards say, for each role that may cause them.
fn what_happens_by_itself_finds_a_row(table: &Table, faults: &mut Faults) {
    for from in table.state_ids() {
        for event in Event::WITH_ROWS.into_iter().filter(Event::cannot_be_refused) {
            let rows: Vec<&Row> = table.rows_from(Some(from), &event).collect();
            let roles = rows.iter().fold(Roles::NONE, |all, row| all.and(row.actors));
            let always_finds = |role: Role| finds_a_row(rows.iter().filter(|row| row.actors.allow(role)));
            if let (Some(last), false) = (rows.last(), roles.iter().all(always_finds)) {
                let name = table.name(from);
                faults.add(
                    last.line,
                    format!(
                        "`{event}` in `{name}` may find no row that holds: end with one without a guard, \
                         or with a pair `attempts left` and `attempts exhausted`"
                    ),
                );
            }
        }
    }
}

fn finds_a_row<'r>(rows: impl Iterator<Item = &'r &'r Row> + Clone) -> bool {
    let only = |guard: Guard| rows.clone().any(|row| conditions(row).eq([&guard]));
    let last_holds = rows.clone().last().is_some_and(|row| conditions(row).next().is_none());
    last_holds || (only(Guard::AttemptsLeft) && only(Guard::AttemptsExhausted))
}

fn exit_by<'t>(table: &'t Table, from: StateId, event: &Event) -> Option<&'t Row> {
    table.rows_from(Some(from), event).find(|row| row.is_exit())
}

fn active_states(table: &Table) -> impl Iterator<Item = StateId> {
    table.state_ids().filter(|id| table.phase(*id) == Phase::Active)
}

/// A state that is held for its own sake (a session) has neither, and then nothing in it can fail.
fn work_ends_by_commit_or_by_finish(table: &Table, faults: &mut Faults) {
    for from in active_states(table) {
        let name = table.name(from);
        match (exit_by(table, from, &Event::Commit), exit_by(table, from, &Event::Finish)) {
            (Some(commit), Some(finish)) => faults.add(
                commit.line.max(finish.line),
                format!(
                    "`{name}` has `commit` and `finish` rows; keep one: `commit` moves the item when its effects are \
                     written, `finish` when the worker has finished after that"
                ),
            ),
            (Some(_), None) | (None, Some(_)) => {}
            (None, None) => {
                let is_only_held = table.has_row(from, &Event::Release) && !table.has_row(from, &Event::Fail);
                if !is_only_held {
                    faults.add(
                        table.state(from).line,
                        format!(
                            "work in `{name}` never succeeds: add a `commit` or a `finish` row \
                             (a state that is only held has a `release` row and no `fail`)"
                        ),
                    );
                }
            }
        }
    }
}

fn a_derived_state_has_no_moves_of_its_own(table: &Table, faults: &mut Faults) {
    if !table.settings.derived {
        return;
    }
    for row in &table.rows {
        if let Event::Plain(name) = &row.event {
            faults.add(
                row.line,
                format!(
                    "the setting `derived` is `yes`: executions alone move the item, \
                     and `{name}` is not one of their events"
                ),
            );
        }
    }
}

fn what_goes_by_key_has_a_key(table: &Table, lines: &Lines, faults: &mut Faults) {
    if table.settings.key.is_some() {
        return;
    }
    let needs = |what: &str| format!("{what} needs the setting `key`, as in `key | /document_id`");
    if table.settings.coalesce != Coalesce::No {
        faults.add(lines.get("coalesce").copied().unwrap_or(1), needs("`coalesce`"));
    }
    for row in &table.rows {
        if row.guards.contains(&Guard::NoOtherRunning) {
            faults.add(row.line, needs("the guard `no other running for key`"));
        }
        if row.effects.iter().any(|effect| matches!(effect, Effect::MoveOlder(_))) {
            faults.add(row.line, needs("the effect `move older`"));
        }
    }
}

/// A held item that did not ask would stand beside one that did.
fn exclusive_is_said_by_every_lease(table: &Table, faults: &mut Faults) {
    let leases = || table.rows.iter().filter(|row| row.event == Event::Lease && row.is_exit());
    let asks = |row: &&Row| row.guards.contains(&Guard::NoOtherRunning);
    if leases().any(|row| asks(&row)) {
        for row in leases().filter(|row| !asks(row)) {
            faults.add(
                row.line,
                "another `lease` row has the guard `no other running for key`; this one needs it too",
            );
        }
    }
}

fn a_window_ends_somewhere(table: &Table, lines: &Lines, faults: &mut Faults) {
    if table.settings.window.is_none() {
        return;
    }
    let line = lines.get("window").copied().unwrap_or(1);
    for from in active_states(table).filter(|from| exit_by(table, *from, &Event::TimeOut).is_none()) {
        let name = table.name(from);
        faults.add(
            line,
            format!("a `window` is set and `{name}` has no `time-out` row: add one, or write `none`"),
        );
    }
}

/// `move older supersede`: the event is one of this table, and the engine may cause it.
fn the_older_item_can_be_moved(table: &Table, faults: &mut Faults) {
    let can_be_moved = |event: &EventName| {
        let is_it = |row: &&Row| row.event.as_str() == event.as_str() && row.is_exit();
        table.rows.iter().filter(is_it).any(|row| row.actors.names(Role::System))
    };
    for row in &table.rows {
        for effect in &row.effects {
            match effect {
                Effect::MoveOlder(event) if !can_be_moved(event) => {
                    faults.add(
                        row.line,
                        format!("`{effect}` finds no row: add one for `{event}` with the actor `system`"),
                    );
                }
                _ => {}
            }
        }
    }
}

/// Log and API show an event by its alias, so the alias must lead back to it.
fn an_alias_names_one_event(table: &Table, faults: &mut Faults) {
    for (index, row) in table.rows.iter().enumerate() {
        let Some(alias) = &row.alias else { continue };
        let is_kernel =
            Event::WITH_ROWS.iter().chain(&Event::WITHOUT_ROWS).any(|own| own.as_str() == alias.as_str());
        let is_event = is_kernel || table.rows.iter().any(|other| other.event.as_str() == alias.as_str());
        if is_event && row.event.as_str() != alias.as_str() {
            faults.add(
                row.line,
                format!("`{alias}` is an event of its own; show `{}` under another name", row.event),
            );
        }
        let other = |other: &&Row| other.alias.as_ref() == Some(alias) && other.event != row.event;
        if let Some(other) = table.rows.iter().take(index).find(other) {
            let (event, line) = (&other.event, other.line);
            faults.add(
                row.line,
                format!("`{alias}` shows `{event}` on line {line}; show `{}` under another name", row.event),
            );
        }
    }
}
