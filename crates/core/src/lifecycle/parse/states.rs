//! The States table: names and phases.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::markdown::Section;
use super::words::{self, Cells, Columns};
use super::{Faults, STATES_MAX, Wrong};
use crate::lifecycle::{Phase, State, StateId};
use crate::word::{Label, NotAWord};

pub(super) const COLUMNS: Columns<3> = Columns { titles: ["State", "Phase", "Meaning"], optional: 0 };

/// The states that were read, and what to say about those that were not.
pub(super) struct States {
    read: Vec<State>,
    /// Names that stand in the table on a line with a fault: rows that use them get no second one.
    broken: Vec<String>,
    /// There is a table, and it has rows.
    is_there: bool,
}

pub(super) fn read(section: Option<&Section>, faults: &mut Faults) -> States {
    let mut states = States { read: Vec::new(), broken: Vec::new(), is_there: false };
    let Some((section, rows)) = section.and_then(|section| Some((section, COLUMNS.rows(section, faults)?)))
    else {
        return states;
    };
    states.is_there = !rows.is_empty();
    if !states.is_there {
        faults.add(section.line, "the States table has no rows; a lifecycle has at least one state");
    }
    for (index, row) in rows.iter().enumerate() {
        if index == STATES_MAX {
            faults.add(
                row.line,
                format!("there are {} states; a lifecycle has at most {STATES_MAX}", rows.len()),
            );
        }
        match faults.keep(row.line, state(row, &states.read)) {
            Some(state) if index < STATES_MAX => states.read.push(state),
            _ => states.broken.push(row.texts[0].to_string()),
        }
    }
    states
}

fn state(row: &Cells<3>, before: &[State]) -> Result<State, Wrong> {
    let [name, phase, meaning] = row.texts;
    let name: Label =
        name.parse().map_err(|why: NotAWord| format!("`{name}` can not name a state ({})", why.rule))?;
    if let Some(same) = before.iter().find(|state| state.name.eq_ignore_ascii_case(&name)) {
        let (found, line) = (&same.name, same.line);
        return Err(Wrong::Because(if *found == name {
            format!("state `{name}` stands on line {line} already")
        } else {
            format!("states `{name}` and `{found}` (line {line}) differ only in case; give one another name")
        }));
    }
    let known = Phase::ALL.into_iter().find(|known| known.as_str() == phase);
    let phase = known.ok_or_else(|| {
        let instead = words::instead(phase, Phase::ALL.into_iter().map(Phase::as_str));
        format!("`{phase}` is not a phase{instead}")
    })?;
    Ok(State { name, phase, meaning: meaning.to_string(), line: row.line })
}

impl States {
    pub fn into_states(self) -> Vec<State> {
        self.read
    }

    /// The state that a cell of the Transitions table names.
    pub fn named(&self, name: &str) -> Result<StateId, Wrong> {
        match self.read.iter().position(|state| state.name.as_str() == name) {
            // There are at most 64, so the place fits.
            Some(place) => Ok(StateId(place as u8)),
            None if !self.is_there || self.broken.iter().any(|broken| broken == name) => {
                Err(Wrong::AlreadyTold)
            }
            None => {
                let known = self.read.iter().map(|state| state.name.as_str());
                let instead = words::nearest(name, known).map(|near| format!("; did you mean `{near}`?"));
                let instead = instead.unwrap_or_else(|| String::from("; add it there"));
                Err(Wrong::Because(format!("state `{name}` is not in the States table{instead}")))
            }
        }
    }
}
