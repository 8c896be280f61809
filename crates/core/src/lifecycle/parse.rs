//! Reads a lifecycle file: Markdown in, a [`Table`] out, or every fault with its line.
//!
//! ```text
//! source ─ markdown ─> sections ─┬─ states ───┐
//!                                ├─ rows ─────┼─> Table ─ sound (a row alone) ─ whole (rows together) ─> Ok
//!                                ├─ settings ─┤
//!                                └─ schema ───┘
//! ```
//!
//! Guarantees: a table that comes out obeys what the kernel relies on, and no text makes this panic. What a table as
//! a whole can reach (states nobody enters or leaves, items that get stuck) is judged by `check`, not here.

mod markdown;
mod rows;
mod schema;
mod settings;
mod sound;
mod states;
mod whole;
mod words;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::Table;
use super::schema::Schema;
use crate::word::Kind;
use markdown::{Document, Section};

pub use words::nearest;

/// A table of 256 rows with prose is a fifth of this; more is not a document that anyone reads.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024;
/// Four rows a state at the greatest number of states.
pub const ROWS_MAX: usize = 256;
/// Far above any table that people draw, and a set of states fits one machine word.
pub const STATES_MAX: usize = 64;

/// Something wrong in a lifecycle file, and where.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fault {
    /// Counted from 1.
    pub line: u32,
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

/// Reads a lifecycle file; on failure tells every fault found, in the order of the lines.
///
/// Words come before meaning: the rules about rows together are only judged when every row and setting could be read,
/// so that one misspelt word is one fault.
pub fn parse(source: &str) -> Result<Table, Vec<Fault>> {
    read(source, Schema::compile)
}

/// As [`parse`], of a file that is part of the program: its schema is one, as the tests have seen.
pub(super) fn parse_shipped(source: &str) -> Result<Table, Vec<Fault>> {
    read(source, |schema| Ok(Schema::sound(schema)))
}

fn read(source: &str, made: schema::Made) -> Result<Table, Vec<Fault>> {
    let mut faults = Faults::default();
    if source.len() > SOURCE_BYTES_MAX {
        faults.add(1, format!("the file has {} bytes; at most {SOURCE_BYTES_MAX} are read", source.len()));
        return Err(faults.sorted());
    }
    let document = Document::read(source);
    let kind = kind(&document, &mut faults);
    let before = faults.0.len();
    let sections = Sections::find(&document, &mut faults);
    let states = states::read(sections.states, &mut faults);
    let rows = rows::read(sections.transitions, &states, &mut faults);
    let settings = settings::read(sections.settings, &mut faults);
    let is_all_read = faults.0.len() == before;
    let schema = sections.schema.and_then(|section| schema::read(section, &document, made, &mut faults));

    // A file without a kind has a fault that says so; the stand-in only lets the rules be judged all the same.
    let kind = kind.unwrap_or_else(|| "unnamed".parse().expect("the stand-in is a kind"));
    let mut table = Table::new(kind, document.summary, states.into_states(), rows, settings.values, schema);
    table.source = source.into();
    sound::judge(&table, &mut faults);
    if is_all_read {
        whole::judge(&table, &settings.lines, &mut faults);
    }
    if faults.0.is_empty() { Ok(table) } else { Err(faults.sorted()) }
}

/// Every fault found so far.
#[derive(Default)]
struct Faults(Vec<Fault>);

/// Why a cell could not be read.
enum Wrong {
    Because(String),
    /// It depends on something that has a fault of its own.
    AlreadyTold,
}

impl From<String> for Wrong {
    fn from(what: String) -> Wrong {
        Wrong::Because(what)
    }
}

impl Faults {
    fn add(&mut self, line: u32, what: impl Into<String>) {
        self.0.push(Fault { line, what: what.into() });
    }

    /// The value, or its fault on this line.
    fn keep<T>(&mut self, line: u32, result: Result<T, Wrong>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(Wrong::Because(what)) => {
                self.add(line, what);
                None
            }
            Err(Wrong::AlreadyTold) => None,
        }
    }

    fn sorted(mut self) -> Vec<Fault> {
        self.0.sort();
        self.0
    }
}

/// The title is the kind.
fn kind(document: &Document, faults: &mut Faults) -> Option<Kind> {
    let Some((title, others)) = document.titles.split_first() else {
        faults.add(1, "the file has no title: write the kind above everything else, as in `# invoice`");
        return None;
    };
    for other in others {
        let text = &other.text;
        faults.add(other.line, format!("a file describes one kind, and `# {text}` is a second title"));
    }
    let name = title.text.as_str();
    match name.parse::<Kind>() {
        // Effect cells use these words: `create any`, `move older …`.
        Ok(kind) if matches!(kind.as_str(), "any" | "older") => {
            faults.add(
                title.line,
                format!("`{name}` means something else in the Effect column; name the kind otherwise"),
            );
            None
        }
        Ok(kind) => Some(kind),
        Err(why) => {
            let near = name.to_lowercase().replace([' ', '-'], "_");
            let instead = near.parse::<Kind>().map_or(String::new(), |near| format!("; write `# {near}`"));
            faults.add(title.line, format!("`{name}` can not name a kind ({}){instead}", why.rule));
            None
        }
    }
}

/// The sections that are read. Every other one is prose.
struct Sections<'d> {
    states: Option<&'d Section>,
    transitions: Option<&'d Section>,
    settings: Option<&'d Section>,
    schema: Option<&'d Section>,
}

const NAMES: [&str; 4] = ["States", "Transitions", "Settings", "Payload schema"];

impl<'d> Sections<'d> {
    fn find(document: &'d Document, faults: &mut Faults) -> Sections<'d> {
        let misspelt = Self::misspelt(document, faults);
        let mut find = |name: &str| {
            let mut found =
                document.sections.iter().filter(|section| section.name.eq_ignore_ascii_case(name));
            let first = found.next();
            for again in found {
                let line = first.map_or(0, |first| first.line);
                faults.add(
                    again.line,
                    format!("`## {name}` stands on line {line} already; keep one of the two"),
                );
            }
            first
        };
        let (states, transitions) = (find("States"), find("Transitions"));
        let (settings, schema) = (find("Settings"), find("Payload schema"));
        for (name, section, columns) in
            [("States", states, states::COLUMNS.shown()), ("Transitions", transitions, rows::COLUMNS.shown())]
        {
            if section.is_none() && !misspelt.contains(&name) {
                faults.add(1, format!("the file has no `## {name}` section with a table `{columns}`"));
            }
        }
        Sections { states, transitions, settings, schema }
    }

    /// A section that is nearly one of ours, and holds what ours would: taken for prose, it would be ignored in silence.
    fn misspelt(document: &Document, faults: &mut Faults) -> Vec<&'static str> {
        let mut meant = Vec::new();
        let looks_read = |section: &&Section| !section.tables.is_empty() || !section.fences.is_empty();
        for section in document.sections.iter().filter(looks_read) {
            let known = NAMES.iter().any(|name| section.name.eq_ignore_ascii_case(name));
            let near = if known { None } else { words::nearest(&section.name, NAMES) };
            if let Some(near) = near {
                faults.add(
                    section.line,
                    format!("there is no section `## {}`; did you mean `## {near}`?", section.name),
                );
                meant.push(near);
            }
        }
        meant
    }
}
