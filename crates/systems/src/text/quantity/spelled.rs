//! Numbers in words, up to ninety-nine, with "hundred" and a magnitude behind them. "One" alone is more often a pronoun.

use super::plain::{Decimal, Written};
use crate::text::token::Tokens;

pub fn read(tokens: &Tokens<'_>, at: usize) -> Option<(Written, usize)> {
    let magnitude = |at: usize| tokens.is_any(at, &["billion", "million", "thousand", "trillion"]);
    // "one to two million": here it is a number.
    let joined = |next: usize| {
        tokens.is_any(next, &["and", "or", "to"])
            && value(tokens.word(next + 1)).is_some()
            && magnitude(next + 2)
    };
    let article = tokens.is(at, "a") && (magnitude(at + 1) || tokens.is(at + 1, "hundred"));
    let first = if article { Some(1) } else { value(tokens.word(at)) };
    let first = first.filter(|_| !is_named(tokens, at))?;
    let (mut number, mut next) = (first, at + 1);
    let is_tens = first >= 20;
    if is_tens && tokens.mark(next) == Some('-') && tokens.is_glued(next) && tokens.is_glued(next + 1) {
        number += value(tokens.word(next + 1)).filter(|ones| *ones < 10)?;
        next += 2;
    }
    if tokens.is(next, "hundred") && number < 10 {
        (number, next) = (number * 100, next + 1);
    } else if number == 1 && !magnitude(next) && !joined(next) {
        return None;
    }
    let is_fraction = tokens.is_any(next, &["fifths", "half", "quarters", "tenths", "thirds"]);
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

const ONES: [&str; 20] = [
    "",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

fn value(word: &str) -> Option<u32> {
    // Every word of a text comes here: most go at once.
    let begins =
        matches!(word.as_bytes().first()?.to_ascii_lowercase(), b'e' | b'f' | b'n' | b'o' | b's' | b't');
    if !begins || !(3..=9).contains(&word.len()) {
        return None;
    }
    let among = |list: &[&str]| {
        list.iter().position(|it| it.eq_ignore_ascii_case(word)).and_then(|at| u32::try_from(at).ok())
    };
    among(&ONES).or_else(|| Some(20 + 10 * among(&TENS)?))
}
