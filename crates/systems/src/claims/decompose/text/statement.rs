//! The words of a clause as a normalized statement: plain numbers, ISO dates, one space, a capital, no full stop.

use super::clause::{Clause, Piece, Reading, within};
use crate::text::nfc;

pub fn write(reading: &Reading<'_>, clause: &Clause) -> String {
    let mut statement = String::new();
    for piece in &clause.pieces {
        let text = match piece {
            Piece::Tokens(range) => replaced(reading, range.clone()),
            Piece::Lowered(range) => lowered(&replaced(reading, range.clone())),
            Piece::Owned(range) => owned(&replaced(reading, range.clone())),
            Piece::Literal(literal) => literal.to_string(),
        };
        if !statement.is_empty() && !text.starts_with([',', ';', '.']) {
            statement.push(' ');
        }
        statement.push_str(&text);
    }
    // Composed again: an accent that stood behind a number now stands behind its unit.
    nfc(&finished(&statement)).into_owned()
}

/// The text with every date and quantity as it is normally written.
fn replaced(reading: &Reading<'_>, tokens: std::ops::Range<usize>) -> String {
    let bytes = reading.tokens.bytes(tokens);
    let dates = within(reading.dates, bytes.clone()).map(|it| (it.range.clone(), it.value.to_string()));
    let quantities =
        within(reading.quantities, bytes.clone()).map(|it| (it.range.clone(), it.value.to_string()));
    let mut found: Vec<_> = dates.chain(quantities).collect();
    found.sort_by_key(|(range, _)| range.start);
    let text = reading.tokens.text;
    let mut written = String::with_capacity(bytes.len());
    let mut at = bytes.start;
    for (range, value) in found {
        written.push_str(&text[at..range.start]);
        written.push_str(&value);
        at = range.end;
    }
    written.push_str(&text[at..bytes.end]);
    written
}

fn lowered(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

fn owned(text: &str) -> String {
    if text.ends_with('s') { format!("{text}'") } else { format!("{text}'s") }
}

fn finished(statement: &str) -> String {
    let loose = |it: char| {
        it.is_whitespace()
            || it.is_control()
            || matches!(it, '.' | ',' | ';' | ':' | '!' | '…' | '—' | '–' | '-' | '。')
    };
    // What ends in a full stop that is part of a short word keeps it: "Acme Inc."
    let trimmed = statement.trim_matches(loose);
    let kept = if ends_short(trimmed, statement) { format!("{trimmed}.") } else { trimmed.to_string() };
    let words: Vec<&str> =
        kept.split(|it: char| it.is_whitespace() || it.is_control()).filter(|it| !it.is_empty()).collect();
    let statement = words.join(" ");
    let first = words.first().copied().unwrap_or_default();
    match first.chars().next() {
        // "iPhone" keeps its own spelling.
        Some(letter) if letter.is_lowercase() && !first.chars().any(char::is_uppercase) => {
            letter.to_uppercase().chain(statement.chars().skip(1)).collect()
        }
        _ => statement,
    }
}

fn ends_short(trimmed: &str, statement: &str) -> bool {
    let followed = statement.trim_end().ends_with('.');
    let last = trimmed.rsplit(char::is_whitespace).next().unwrap_or_default();
    followed
        && (last.contains('.') && last.chars().all(|it| it.is_alphabetic() || it == '.')
            || matches!(last, "Inc" | "Ltd" | "Corp" | "Co" | "Jr" | "Sr"))
}
