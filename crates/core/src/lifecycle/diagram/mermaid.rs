//! Writes a diagram as Mermaid's `stateDiagram-v2`.
//!
//! Mermaid has reserved words and no quoting of ids, so a state whose name it would misread gets another id and shows
//! its name as text.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::style::LIGHT;
use super::{Edge, Phase, StateId, Table};

/// What Mermaid's lexer takes for a keyword at the place of an id, in any case of letters.
const RESERVED: [&str; 14] = [
    "accdescr",
    "acctitle",
    "class",
    "classdef",
    "click",
    "default",
    "direction",
    "end",
    "href",
    "note",
    "scale",
    "state",
    "statediagram",
    "style",
];

pub(super) fn write(table: &Table, edges: &[Edge]) -> String {
    let ids = ids(table);
    let id = |state: StateId| ids[usize::from(state.0)].as_str();
    let mut text = String::from("stateDiagram-v2\n    direction LR\n");
    for state in table.state_ids().filter(|state| id(*state) != table.name(*state)) {
        text.push_str(&format!("    state \"{}\" as {}\n", table.name(state), id(state)));
    }
    for edge in edges {
        let label: Vec<String> = edge.lines.iter().map(|line| escape(&line.to_string())).collect();
        let from = edge.from.map_or("[*]", id);
        text.push_str(&format!("    {from} --> {}: {}\n", id(edge.to), label.join("<br/>")));
    }
    for state in table.state_ids().filter(|state| table.is_final(*state)) {
        text.push_str(&format!("    {} --> [*]\n", id(state)));
    }
    for phase in Phase::ALL {
        let members: Vec<&str> =
            table.state_ids().filter(|state| table.phase(*state) == phase).map(id).collect();
        if members.is_empty() {
            continue;
        }
        let colours = LIGHT.phase(phase);
        text.push_str(&format!(
            "    classDef {phase} fill:{},stroke:{},color:{}\n",
            colours.fill, colours.border, colours.text
        ));
        for member in members {
            text.push_str(&format!("    class {member} {phase}\n"));
        }
    }
    text
}

/// An id for each state: its name where Mermaid can read it.
fn ids(table: &Table) -> Vec<String> {
    let names: Vec<&str> = table.state_ids().map(|state| table.name(state)).collect();
    let mut ids: Vec<String> = Vec::new();
    for name in &names {
        let is_reserved = RESERVED.contains(&name.to_ascii_lowercase().as_str());
        let mut id = name.replace('-', "_");
        if is_reserved || id != *name {
            id.push('_');
            while names.contains(&id.as_str()) || ids.contains(&id) {
                id.push('_');
            }
        }
        ids.push(id);
    }
    ids
}

/// Mermaid ends a label at `:` and `;`, and reads HTML and its own directives inside. Whatever is not plainly harmless
/// becomes a character code.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            ' ' | '_' | '-' | '/' | ',' | '.' | '=' | '!' | '[' | ']' => escaped.push(character),
            _ if character.is_alphanumeric() => escaped.push(character),
            _ => escaped.push_str(&format!("#{};", u32::from(character))),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_early_or_carry_markup() {
        assert_eq!(escape("fail [attempts left]"), "fail [attempts left]");
        assert_eq!(escape("a:b;<i>"), "a#58;b#59;#60;i#62;");
        assert_eq!(escape("%%{init"), "#37;#37;#123;init");
    }
}
