//! Numbers in words, up to ninety-nine, with "hundred" and a magnitude behind them. "One" alone is more often a pronoun.

use super::plain::{Decimal, Written};
use crate::text::token::{Tokens, in_lower_case};

pub fn read(tokens: &Tokens<'_>, at: usize) -> Option<(Written, usize)> {
    let first = value(tokens.word(at)).filter(|_| !is_named(tokens, at))?;
    let (mut number, mut next) = (first, at + 1);
    let is_tens = first >= 20;
    if is_tens && tokens.mark(next) == Some('-') && tokens.is_glued(next) && tokens.is_glued(next + 1) {
        number += value(tokens.word(next + 1)).filter(|ones| *ones < 10)?;
        next += 2;
    }
    if tokens.is(next, "hundred") && number < 10 {
        (number, next) = (number * 100, next + 1);
    } else if number == 1 && !tokens.is_one_of(next, &["billion", "million", "thousand", "trillion"]) {
        return None;
    }
    let is_fraction = tokens.is_one_of(next, &["fifths", "half", "quarters", "tenths", "thirds"]);
    let is_adjective = tokens.mark(next) == Some('-') && tokens.is_glued(next);
    if is_fraction || is_adjective {
        return None;
    }
    let number = Decimal { whole: number.to_string(), fraction: String::new() };
    Some((Written { number, needs_unit: false, is_ambiguous_with_euro: false }, next))
}

/// "World War Two", "The Seven Samurai": a capital inside of a name.
fn is_named(tokens: &Tokens<'_>, at: usize) -> bool {
    let tied = tokens.is_glued(at) && at > 0 && tokens.mark(at - 1) == Some('-');
    let inside = at > 0 && !tokens.word(at - 1).is_empty();
    tied || (tokens.is_capital(at) && (inside || tokens.is_capital(at + 1)))
}

/// Sorted: every word of a text is looked up here.
const VALUES: [(&str, u32); 27] = [
    ("eight", 8),
    ("eighteen", 18),
    ("eighty", 80),
    ("eleven", 11),
    ("fifteen", 15),
    ("fifty", 50),
    ("five", 5),
    ("forty", 40),
    ("four", 4),
    ("fourteen", 14),
    ("nine", 9),
    ("nineteen", 19),
    ("ninety", 90),
    ("one", 1),
    ("seven", 7),
    ("seventeen", 17),
    ("seventy", 70),
    ("six", 6),
    ("sixteen", 16),
    ("sixty", 60),
    ("ten", 10),
    ("thirteen", 13),
    ("thirty", 30),
    ("three", 3),
    ("twelve", 12),
    ("twenty", 20),
    ("two", 2),
];

fn value(word: &str) -> Option<u32> {
    let at = VALUES.binary_search_by(|(listed, _)| in_lower_case(listed, word)).ok()?;
    Some(VALUES[at].1)
}
