//! Diagrams of a lifecycle: the picture of a table, as Mermaid, DOT or SVG text.
//!
//! Three writers share one model: the states, and one `Edge` for each pair of states that some row joins, labelled
//! with one event a line. The picture shows how an item *moves*. So rows that move nothing are left out of it: no-ops
//! (From = To) and refusals (`! CODE`); they stand in the table itself. Equal tables give equal bytes.
//!
//! Pure text: nothing here runs a program or reads a file.

mod dot;
mod layers;
mod layout;
mod mermaid;
mod order;
mod place;
mod ports;
mod style;
mod svg;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::event::Event;
use super::{Phase, Row, StateId, Table, To};

/// How a diagram is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `stateDiagram-v2`, which GitHub and most documentation tools draw by themselves.
    Mermaid,
    /// The language of graphviz.
    Dot,
    /// A picture, laid out here and complete in itself.
    Svg,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Mermaid, Format::Dot, Format::Svg];

    pub fn as_str(self) -> &'static str {
        match self {
            Format::Mermaid => "mermaid",
            Format::Dot => "dot",
            Format::Svg => "svg",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text named no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAFormat;

impl fmt::Display for NotAFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a diagram format: it is one of mermaid, dot, svg")
    }
}

impl core::error::Error for NotAFormat {}

impl FromStr for Format {
    type Err = NotAFormat;

    fn from_str(text: &str) -> Result<Format, NotAFormat> {
        Format::ALL.into_iter().find(|format| format.as_str() == text).ok_or(NotAFormat)
    }
}

/// The diagram of a table, ending with a line break.
pub fn draw(table: &Table, format: Format) -> String {
    let edges = edges(table);
    match format {
        Format::Mermaid => mermaid::write(table, &edges),
        Format::Dot => dot::write(table, &edges),
        Format::Svg => svg::write(table, &edges),
    }
}

/// All rows that lead from one state to another, drawn as one arrow.
struct Edge {
    /// None: the arrow comes from the start.
    from: Option<StateId>,
    to: StateId,
    /// In the table's order, each text once, never empty.
    lines: Vec<Line>,
    /// Creates, leases or ends well: the kernel's own way through a table.
    is_usual: bool,
}

/// One line of an arrow's label.
#[derive(Clone, PartialEq, Eq)]
struct Line {
    event: String,
    /// What decides that the event leads here; empty where it leads nowhere else.
    guard: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.guard.as_str() {
            "" => f.write_str(&self.event),
            guard => write!(f, "{} [{guard}]", self.event),
        }
    }
}

impl Edge {
    /// The label in one text, with the writer's own line break.
    fn label(&self, line_break: &str) -> String {
        let lines: Vec<String> = self.lines.iter().map(Line::to_string).collect();
        lines.join(line_break)
    }
}

fn edges(table: &Table) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    for row in table.rows.iter().filter(|row| !row.is_no_op()) {
        let To::State(to) = row.to else { continue };
        let line = Line { event: String::from(row.shown()), guard: guard(table, row) };
        let is_usual = is_usual(row);
        match edges.iter_mut().find(|edge| edge.from == row.from && edge.to == to) {
            Some(edge) => {
                edge.is_usual |= is_usual;
                if !edge.lines.contains(&line) {
                    edge.lines.push(line);
                }
            }
            None => edges.push(Edge { from: row.from, to, lines: alloc::vec![line], is_usual }),
        }
    }
    edges
}

fn is_usual(row: &Row) -> bool {
    matches!(row.event, Event::Create | Event::Lease | Event::Commit | Event::Finish)
}

/// The guards are shown where they decide the way. A row without one, beside others that have some, is the `else` of
/// statecharts.
fn guard(table: &Table, row: &Row) -> String {
    if table.rows_from(row.from, &row.event).all(|other| other.to == row.to) {
        return String::new();
    }
    if row.guards.is_empty() {
        return String::from("else");
    }
    let guards: Vec<String> = row.guards.iter().map(|guard| guard.to_string()).collect();
    guards.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_shown_and_read_back() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!("png".parse::<Format>(), Err(NotAFormat));
    }
}
