//! Writes a diagram in DOT, the language of graphviz.

use alloc::format;
use alloc::string::String;

use super::style::LIGHT;
use super::{Edge, Table};

/// The start's id: no state can have this name.
const START: &str = "\"[*]\"";

pub(super) fn write(table: &Table, edges: &[Edge]) -> String {
    let mut text = format!("digraph {} {{\n", quote(&table.kind));
    text.push_str("    rankdir=LR\n    nodesep=0.4\n    ranksep=0.6\n");
    text.push_str("    node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=12]\n");
    text.push_str(
        "    edge [fontname=\"Helvetica\", fontsize=10, color=\"#64748b\", fontcolor=\"#334155\"]\n",
    );
    if edges.iter().any(|edge| edge.from.is_none()) {
        text.push_str(&format!("    {START} [shape=point, width=0.14, color=\"#334155\"]\n"));
    }
    for state in table.state_ids() {
        let colours = LIGHT.phase(table.phase(state));
        let borders = if table.is_final(state) { ", peripheries=2" } else { "" };
        text.push_str(&format!(
            "    {} [tooltip=\"{}\", fillcolor=\"{}\", color=\"{}\", fontcolor=\"{}\"{borders}]\n",
            quote(table.name(state)),
            table.phase(state),
            colours.fill,
            colours.border,
            colours.text,
        ));
    }
    for edge in edges {
        let from = edge.from.map_or(String::from(START), |from| quote(table.name(from)));
        let label = quote(&edge.label("\n"));
        text.push_str(&format!("    {from} -> {} [label={label}]\n", quote(table.name(edge.to))));
    }
    text.push_str("}\n");
    text
}

/// A quoted string of DOT. Line breaks become `\n`, which graphviz centres.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            // Graphviz reads entities in every label, so a bare `&` could become another character.
            '&' => quoted.push_str("&amp;"),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_ends_where_it_ends() {
        assert_eq!(quote("a \"b\" \\ &lt;\nc"), r#""a \"b\" \\ &amp;lt;\nc""#);
    }
}
