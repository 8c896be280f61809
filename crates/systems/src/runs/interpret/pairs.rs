//! What has a name in the text itself: `Invoice No: 123`, and tables of two columns.

use std::ops::Range;

use serde::Serialize;

use super::At;
use super::tables::{Table, Type};
use crate::runs::extract::Block;

/// More than any form has.
pub const PAIRS_MAX: usize = 5_000;
/// A name has a few words; with more it is a sentence that goes on.
const KEY_WORDS_MAX: usize = 5;
const KEY_CHARS_MAX: usize = 60;
/// What stands behind a name fits a few lines.
const VALUE_CHARS_MAX: usize = 500;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Pair {
    pub key: String,
    pub value: String,
    /// Where the value stands.
    #[serde(flatten)]
    pub at: At,
}

/// Lines with a colon after their first words. A line with a second name can be read in two ways and gives no pair.
pub(super) fn of_lines(block: &Block, at: &impl Fn(Range<usize>) -> At, pairs: &mut Vec<Pair>) {
    let mut start = 0;
    for line in block.text.split('\n') {
        let pair = line.split_once(": ").filter(|(key, value)| is_key(key) && !names_another(value));
        if let Some((key, value)) = pair {
            let from = start + key.len() + 2;
            add(key, value, from, at, pairs);
        }
        start += line.len() + 1;
    }
}

/// Tables whose first column says what the second is.
pub(super) fn of_table(
    table: &Table,
    block: &Block,
    at: &impl Fn(Range<usize>) -> At,
    pairs: &mut Vec<Pair>,
) {
    if table.columns.len() != 2 || table.columns[0].is != Type::Text {
        return;
    }
    let mut keys: Vec<&str> = table.rows.iter().map(|row| &row[0][..]).collect();
    keys.sort_unstable();
    let count = keys.len();
    keys.dedup();
    if keys.len() < count {
        return;
    }
    let mut start = 0;
    for (number, row) in block.rows.iter().flatten().enumerate() {
        if let [key, value] = &row[..]
            && is_key(key)
            && !(table.header && number == 0)
        {
            add(key, value, start + key.len() + 1, at, pairs);
        }
        // As the block's text has them: a mark behind every cell.
        start += row.iter().map(|cell| cell.len() + 1).sum::<usize>();
    }
}

fn add(key: &str, value: &str, from: usize, at: &impl Fn(Range<usize>) -> At, pairs: &mut Vec<Pair>) {
    let from = from + (value.len() - value.trim_start().len());
    let value = value.trim();
    let fits = !value.is_empty() && value.chars().count() <= VALUE_CHARS_MAX && pairs.len() < PAIRS_MAX;
    if fits {
        let key = key.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(':').to_string();
        pairs.push(Pair { key, value: value.to_string(), at: at(from..from + value.len()) });
    }
}

/// Whether a value contains another name: words that could be a key, followed by a colon and a space or the end.
fn names_another(value: &str) -> bool {
    let ends_name = |at: &usize| value[at + 1..].chars().next().is_none_or(char::is_whitespace);
    let colons = value.match_indices(':').map(|(at, _)| at).filter(ends_name);
    colons.into_iter().any(|at| {
        let words: Vec<&str> = value[..at].split_whitespace().collect();
        let last = words.len().saturating_sub(KEY_WORDS_MAX);
        (last..words.len()).any(|from| is_key(&words[from..].join(" ")))
    })
}

fn is_key(key: &str) -> bool {
    let key = key.trim();
    key.starts_with(char::is_alphabetic)
        && key.chars().count() <= KEY_CHARS_MAX
        && key.split_whitespace().count() <= KEY_WORDS_MAX
        && !key.contains(['?', '!', ';', ',', '\t'])
        && !key.contains(". ")
        // "Offered (since: 2.2)" is no name of what stands behind its colon.
        && key.matches('(').count() == key.matches(')').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn a_value_that_names_another_is_told_from_one_that_only_has_a_colon() {
        for two in [
            "4711   Date: 19 November 2026",
            "4711 Date:",
            "Ann, Phone:\t555 0199",
            "12.50 EUR: 37.50 EUR",
            "Re: your letter",
            "see Item 2: the rest",
        ] {
            assert!(names_another(two), "{two}");
        }
        for one in
            ["10:30", "https://example.org", "line 4 to Museum Square", "3.1 (since: 2.0)", "4: 3", ": x", ""]
        {
            assert!(!names_another(one), "{one}");
        }
    }
}
