//! Tables as text: fields between commas, semicolons, tabs or bars, quoted or not.

use csv::{ReaderBuilder, Trim};

use super::BROKEN;
use super::form::Form;
use crate::runs::builtin::never;
use crate::runs::sniff::{DELIMITERS, outside_quotes};
use crate::runs::step::StepFailed;

/// Enough to see what stands between the fields.
const LINES_LOOKED_AT: usize = 20;

pub(super) fn read(text: &str, form: &mut Form) -> Result<(), StepFailed> {
    let delimiter = delimiter(text);
    form.note(
        "delimiter",
        match delimiter {
            b'\t' => "tab",
            b';' => "semicolon",
            b'|' => "bar",
            _ => "comma",
        },
    );
    let mut reader = ReaderBuilder::new();
    let mut reader = reader
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|why| never(BROKEN, why.to_string()))?;
        form.cells(record.len())?;
        rows.push(record.iter().map(str::to_string).collect());
    }
    form.table(rows)
}

/// The mark that most of the first lines have equally often; the first of several.
fn delimiter(text: &str) -> u8 {
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty()).take(LINES_LOOKED_AT).collect();
    let agreed = |mark: u8| {
        let counts: Vec<usize> = lines.iter().map(|line| outside_quotes(line, mark)).collect();
        let first = counts.first().copied().unwrap_or(0);
        let same = counts.iter().filter(|count| first > 0 && **count == first).count();
        (same, first)
    };
    let best = DELIMITERS.into_iter().rev().max_by_key(|mark| agreed(*mark));
    best.expect("there are four")
}
