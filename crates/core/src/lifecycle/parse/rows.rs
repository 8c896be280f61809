//! The Transitions table: each cell read by itself. What rows may say together is judged in `sound` and `whole`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::markdown::Section;
use super::states::States;
use super::words::{self, Cells, Columns};
use super::{Faults, ROWS_MAX, Wrong};
use crate::actor::{NotARole, Role, Roles};
use crate::code::Code;
use crate::lifecycle::effect::{Effect, NotAnEffect};
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::{Guard, NotAGuard};
use crate::lifecycle::{Row, StateId, To};
use crate::word::{Label, NotAWord};

pub(super) const COLUMNS: Columns<6> =
    Columns { titles: ["From", "Event", "To", "Actor", "Guard", "Effect"], optional: 2 };

/// The rows that could be read. Every cell of a row is looked at, so that all its faults are told at once.
pub(super) fn read(section: Option<&Section>, states: &States, faults: &mut Faults) -> Vec<Row> {
    let lines = section.and_then(|section| COLUMNS.rows(section, faults)).unwrap_or_default();
    if let Some(first_too_many) = lines.get(ROWS_MAX) {
        let count = lines.len();
        faults
            .add(first_too_many.line, format!("there are {count} rows; a lifecycle has at most {ROWS_MAX}"));
    }
    lines.iter().take(ROWS_MAX).filter_map(|line| row(line, states, faults)).collect()
}

fn row(cells: &Cells<6>, states: &States, faults: &mut Faults) -> Option<Row> {
    let line = cells.line;
    let [from, event, to, actors, guards, effects] = cells.texts;
    let from = faults.keep(line, read_from(from, states));
    let event = faults.keep(line, read_event(event));
    let to = faults.keep(line, read_to(to, states));
    let actors = faults.keep(line, read_actors(actors));
    let guards = faults.keep(line, read_guards(guards));
    let effects = faults.keep(line, read_effects(effects));
    let (event, alias) = event?;
    Some(Row {
        from: from?,
        event,
        alias,
        to: to?,
        actors: actors?,
        guards: guards?,
        effects: effects?,
        line,
    })
}

/// A state, or a dash for the row that creates. Three dashes look alike on a screen, so all are taken.
fn read_from(cell: &str, states: &States) -> Result<Option<StateId>, Wrong> {
    match cell {
        "—" | "–" | "-" => Ok(None),
        "" => Err(Wrong::Because("From is empty: write a state, or `—` for a row that creates".to_string())),
        name => states.named(name).map(Some),
    }
}

/// `EVENT` or `EVENT as NAME`.
fn read_event(cell: &str) -> Result<(Event, Option<Label>), Wrong> {
    if cell.is_empty() {
        return Err(Wrong::Because("Event is empty: write what happens, as in `approve`".to_string()));
    }
    let mut words = cell.split_whitespace();
    let (name, alias) = match (words.next(), words.next(), words.next(), words.next()) {
        (Some(name), None, None, None) => (name, None),
        (Some(name), Some("as"), Some(alias), None) => (name, Some(alias)),
        _ => {
            return Err(Wrong::Because(format!(
                "`{cell}` is not an event: write `EVENT` or `EVENT as NAME`"
            )));
        }
    };
    let event: Event =
        name.parse().map_err(|why: NotAWord| format!("`{name}` can not name an event ({})", why.rule))?;
    if Event::WITHOUT_ROWS.contains(&event) {
        return Err(Wrong::Because(format!(
            "`{name}` needs no row, because it moves no item; remove the row"
        )));
    }
    if let Some(kernel) = slip_of_a_kernel_event(&event) {
        return Err(Wrong::Because(format!(
            "`{name}` would be a move of your own; did you mean `{kernel}`? If not, choose a name less like it"
        )));
    }
    let alias = alias.map(|alias| {
        alias.parse().map_err(|why: NotAWord| format!("`{alias}` can not name an event ({})", why.rule))
    });
    Ok((event, alias.transpose()?))
}

/// `timeout` or `comit` would be read as a plain move and its item would wait for ever. Only a letter too many or too few
/// counts as a slip: words of the same length (`leave` beside `lease`) are often meant.
fn slip_of_a_kernel_event(event: &Event) -> Option<Event> {
    let Event::Plain(name) = event else { return None };
    Event::WITH_ROWS.into_iter().filter(|kernel| kernel.as_str().len() >= 5).find(|kernel| {
        let (longer, shorter) = match name.len() > kernel.as_str().len() {
            true => (name.as_str(), kernel.as_str()),
            false => (kernel.as_str(), name.as_str()),
        };
        // Event names are ASCII, so bytes are letters.
        longer.len() == shorter.len() + 1
            && (0..longer.len())
                .any(|at| longer.bytes().take(at).chain(longer.bytes().skip(at + 1)).eq(shorter.bytes()))
    })
}

/// A state, or `! CODE`.
fn read_to(cell: &str, states: &States) -> Result<To, Wrong> {
    match cell.strip_prefix('!').map(str::trim) {
        Some(code) => {
            let code: Code = code.parse().map_err(|why: NotAWord| {
                format!("`{code}` is not a code ({}); write it as in `! ALREADY_PAID`", why.rule)
            })?;
            Ok(To::Refuse(code))
        }
        None if cell.is_empty() => {
            Err(Wrong::Because("To is empty: write a state, or `! CODE` to refuse the event".to_string()))
        }
        None => states.named(cell).map(To::State),
    }
}

fn read_actors(cell: &str) -> Result<Roles, Wrong> {
    let roles = || Role::ALL.into_iter().map(Role::as_str);
    if cell.is_empty() {
        let roles = roles().collect::<Vec<_>>().join(", ");
        return Err(Wrong::Because(format!(
            "the row has no actor: write who may do this, one or several of {roles}"
        )));
    }
    cell.split('/').map(str::trim).try_fold(Roles::NONE, |all, role| match role.parse() {
        Ok(role) => Ok(all.with(role)),
        Err(NotARole) => {
            Err(Wrong::Because(format!("`{role}` is not a role{}", words::instead(role, roles()))))
        }
    })
}

fn read_guards(cell: &str) -> Result<Vec<Guard>, Wrong> {
    if cell.is_empty() {
        return Ok(Vec::new());
    }
    let read = |text: String| {
        if text.is_empty() {
            return Err(Wrong::Because(format!("there is a comma too many in `{cell}`")));
        }
        text.parse().map_err(|NotAGuard(why)| {
            let instead = match text.starts_with("payload ") {
                true => String::new(),
                false => words::instead(&text, Guard::words().chain(["payload /field <= 1000"])),
            };
            Wrong::Because(format!("{why}{instead}"))
        })
    };
    split_guards(cell).into_iter().map(read).collect()
}

/// Splits at commas, but not inside a string literal; runs of blanks outside one count as one.
fn split_guards(cell: &str) -> Vec<String> {
    let mut guards = Vec::new();
    let mut guard = String::new();
    let (mut is_quoted, mut is_escaped) = (false, false);
    for letter in cell.chars() {
        match letter {
            ',' if !is_quoted => guards.push(core::mem::take(&mut guard)),
            blank if blank.is_whitespace() && !is_quoted => {
                if !guard.is_empty() && !guard.ends_with(' ') {
                    guard.push(' ');
                }
            }
            letter => guard.push(letter),
        }
        if letter == '"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = is_quoted && letter == '\\' && !is_escaped;
    }
    guards.push(guard);
    guards.into_iter().map(|guard| guard.trim_end().to_string()).collect()
}

fn read_effects(cell: &str) -> Result<Vec<Effect>, Wrong> {
    Effect::parse_cell(cell).map_err(|NotAnEffect(why)| Wrong::Because(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_string_literal_does_not_split() {
        let cell = r#"reason,  payload /name != "Smith, \"J\", 1",owner"#;
        assert_eq!(split_guards(cell), ["reason", r#"payload /name != "Smith, \"J\", 1""#, "owner"]);
        assert_eq!(read_guards(cell).ok().map(|guards| guards.len()), Some(3));
        assert!(read_guards("reason,, owner").is_err() && read_guards("payload /a = \"x, owner").is_err());
    }

    #[test]
    fn a_letter_too_many_or_too_few_is_taken_for_a_slip() {
        for slip in ["timeout", "comit", "expires", "relese", "finsh"] {
            assert!(read_event(slip).is_err(), "{slip}");
        }
        for meant in ["leave", "enqueue", "submit", "fall", "restart", "time-out"] {
            assert!(read_event(meant).is_ok(), "{meant}");
        }
    }
}
