//! Dates, amounts, percentages, measures and names, each with the place where it stands.

use std::ops::Range;

use serde::Serialize;

use super::At;
use crate::runs::extract::{Block, Kind};
use crate::text::{self, NameKind, Unit};

/// Of each sort. Whoever needs all of a longer list reads the text.
pub const FOUND_MAX: usize = 5_000;

/// What makes a word a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guessing {
    /// A capital is enough, as in English.
    Capitals,
    /// Something that says so: nouns have capitals in German, and of many languages nothing is known.
    Cues,
}

/// What was found, in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Found {
    /// As ISO 8601 has them.
    pub dates: Vec<Item>,
    /// Plain decimals, with their currencies as ISO 4217 has them.
    pub amounts: Vec<Measured>,
    pub percentages: Vec<Measured>,
    pub measures: Vec<Measured>,
    pub names: Vec<Named>,
    /// Lists that have more than is kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<&'static str>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Item {
    pub value: String,
    /// As it is written.
    pub text: String,
    #[serde(flatten)]
    pub at: At,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Measured {
    pub value: String,
    pub unit: &'static str,
    /// As it is written.
    pub text: String,
    #[serde(flatten)]
    pub at: At,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Named {
    pub value: String,
    pub kind: &'static str,
    #[serde(flatten)]
    pub at: At,
}

impl Found {
    /// Cells are looked at one by one. Dates and amounts may go on in the next line of a text; names do not.
    pub(super) fn look(&mut self, block: &Block, guessing: Guessing, at: &impl Fn(Range<usize>) -> At) {
        let marks: &[char] = match block.kind {
            Kind::Table => &['\t', '\n'],
            Kind::Heading | Kind::Paragraph | Kind::ListItem | Kind::Quote | Kind::Code => &[],
        };
        for part in split(&block.text, marks) {
            let within = |range: Range<usize>| at(part.start + range.start..part.start + range.end);
            self.look_at(&block.text[part.clone()], guessing, &within);
        }
    }

    fn look_at(&mut self, text: &str, guessing: Guessing, at: &impl Fn(Range<usize>) -> At) {
        let said = |range: &Range<usize>| text[range.clone()].to_string();
        let (dates, quantities) = (text::dates(text), text::quantities(text));
        let mut taken: Vec<Range<usize>> = dates.iter().map(|date| date.range.clone()).collect();
        taken.extend(quantities.iter().map(|quantity| quantity.range.clone()));
        taken.sort_unstable_by_key(|range| range.start);
        for found in dates {
            let item = Item { value: found.value.to_string(), text: said(&found.range), at: at(found.range) };
            keep("dates", &mut self.dates, &mut self.cut, item);
        }
        for found in quantities {
            let (list, name, unit) = match found.value.unit {
                Unit::Currency(unit) => (&mut self.amounts, "amounts", unit),
                Unit::Percent => (&mut self.percentages, "percentages", "%"),
                Unit::Measure(unit) => (&mut self.measures, "measures", unit),
                Unit::Word(_) | Unit::None => continue,
            };
            let written = said(&found.range);
            let item = Measured { value: found.value.number, unit, text: written, at: at(found.range) };
            keep(name, list, &mut self.cut, item);
        }
        for line in split(text, &['\n']) {
            for found in text::names(&text[line.clone()]) {
                let range = line.start + found.range.start..line.start + found.range.end;
                let before = taken.partition_point(|taken| taken.end <= range.start);
                let free = taken.get(before).is_none_or(|taken| taken.start >= range.end);
                if !free || (found.value.kind == NameKind::Other && guessing == Guessing::Cues) {
                    continue;
                }
                let item = Named { value: found.value.text, kind: kind(found.value.kind), at: at(range) };
                keep("names", &mut self.names, &mut self.cut, item);
            }
        }
    }
}

fn kind(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Person => "person",
        NameKind::Organisation => "organisation",
        NameKind::Place => "place",
        NameKind::Other => "other",
    }
}

/// The parts between these marks.
fn split<'a>(text: &'a str, marks: &'a [char]) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut start = 0;
    text.split(marks).map(move |part| {
        let range = start..start + part.len();
        // Each mark is one byte.
        start = range.end + 1;
        range
    })
}

fn keep<T>(name: &'static str, list: &mut Vec<T>, cut: &mut Vec<&'static str>, item: T) {
    if list.len() < FOUND_MAX {
        list.push(item);
    } else if !cut.contains(&name) {
        cut.push(name);
    }
}
