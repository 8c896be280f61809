//! `tenure lifecycle show KIND`: a lifecycle as it is written, or as data.
//!
//! The text is the file's own, byte for byte: what is shown can be saved, changed and checked.

use serde::Serialize;
use serde_json::{Map, Value};
use tenure_core::lifecycle::{Row, StateId, Table, To};

use super::Found;
use crate::cli::Show;
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(arguments: &Show, output: &mut Output) -> Result<Outcome, Error> {
    let found = Found::at(&arguments.there, &arguments.kind)?;
    if arguments.form.json {
        output.json(&Shown::of(&found))?;
    } else {
        output.text(&found.source.text)?;
    }
    Ok(Outcome::Done)
}

/// A lifecycle as data. The words in it are those of the file.
#[derive(Serialize, Debug)]
struct Shown {
    kind: String,
    /// Null for a user's own.
    system: Option<&'static str>,
    hash: String,
    summary: String,
    states: Vec<State>,
    transitions: Vec<Transition>,
    /// Every setting in force, defaults too.
    settings: Map<String, Value>,
    payload_schema: Option<Value>,
}

#[derive(Serialize, Debug)]
struct State {
    name: String,
    phase: &'static str,
    /// Nothing ever leaves it.
    r#final: bool,
    meaning: String,
    line: u32,
}

#[derive(Serialize, Debug)]
struct Transition {
    /// Null where the row creates.
    from: Option<String>,
    event: String,
    /// The domain's own name for the event.
    r#as: Option<String>,
    /// Null where the row refuses.
    to: Option<String>,
    refuse: Option<String>,
    actors: Vec<&'static str>,
    guards: Vec<String>,
    effects: Vec<String>,
    line: u32,
}

impl Shown {
    fn of(found: &Found) -> Shown {
        let table = &found.table;
        let settings = table.settings.shown();
        Shown {
            kind: table.kind.to_string(),
            system: found.system,
            hash: table.hash().to_string(),
            summary: table.summary.split_whitespace().collect::<Vec<_>>().join(" "),
            states: table.state_ids().map(|id| state(table, id)).collect(),
            transitions: table.rows.iter().map(|row| transition(table, row)).collect(),
            settings: settings.map(|(name, value)| (name.replace(' ', "_"), value.into())).collect(),
            payload_schema: table.schema.as_ref().map(|schema| schema.source().clone()),
        }
    }
}

fn state(table: &Table, id: StateId) -> State {
    let state = table.state(id);
    State {
        name: state.name.to_string(),
        phase: state.phase.as_str(),
        r#final: table.is_final(id),
        meaning: state.meaning.clone(),
        line: state.line,
    }
}

fn transition(table: &Table, row: &Row) -> Transition {
    let (to, refuse) = match &row.to {
        To::State(to) => (Some(table.name(*to).to_string()), None),
        To::Refuse(code) => (None, Some(code.to_string())),
    };
    Transition {
        from: row.from.map(|from| table.name(from).to_string()),
        event: row.event.to_string(),
        r#as: row.alias.as_ref().map(ToString::to_string),
        to,
        refuse,
        actors: row.actors.iter().map(|role| role.as_str()).collect(),
        guards: row.guards.iter().map(ToString::to_string).collect(),
        effects: row.effects.iter().map(ToString::to_string).collect(),
        line: row.line,
    }
}
