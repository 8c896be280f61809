//! Two numbers that share what stands behind the second: `5–10 million people`, `between 3 and 4 million euros`, `$1.2-1.5 billion`.
//!
//! Only a magnitude is shared here. `5–10 km` needs nothing: it says the same however its numbers are read.

use super::{Beginning, Quantity, currency, says_which, unit};
use crate::text::Found;
use crate::text::token::Tokens;

/// From here on a number without a magnitude is as large as it is written: `800,000 to 1.2 million`.
const LARGE: f64 = 1_000.0;

/// What stands where a range could.
#[derive(Debug)]
pub enum Range {
    Both(Box<[Found<Quantity>; 2]>),
    /// `500 to 2 million`: five hundred or five hundred million. It stays as it is written, up to this token.
    Unclear(usize),
}

/// The range whose first number this is.
pub fn read(tokens: &Tokens<'_>, at: usize, first: &Beginning) -> Option<Range> {
    let second_at = joined(tokens, at, first.next)?;
    if first.negative || says_which(tokens, first.start) {
        return None;
    }
    let second = Beginning::read(tokens, second_at)?;
    if second.negative || (second.currency.is_some() && second.currency != first.currency) {
        return None;
    }
    let code = first.currency.or_else(|| currency::behind(tokens, second.next));
    let (magnitude, after) = unit::magnitude(tokens, second.next, code.is_some())?;
    let (unit, end) = super::unit_of(tokens, after, code, magnitude);
    let [low, high] = [first, &second].map(|it| it.written.number.about());
    if low >= LARGE || high >= LARGE || super::is_cut(tokens, end, unit) {
        return None;
    }
    if low >= high {
        return Some(Range::Unclear(end));
    }
    let found = |from: usize, to: usize, it: &Beginning| {
        let number = it.written.number.shifted(magnitude)?;
        Some(Found { range: tokens.bytes(from..to), value: Quantity { number, unit } })
    };
    Some(Range::Both(Box::new([found(at, first.next, first)?, found(second_at, end, &second)?])))
}

/// Where the second number may begin. An "and" joins two numbers only behind a "between".
fn joined(tokens: &Tokens<'_>, at: usize, next: usize) -> Option<usize> {
    let between = at > 0 && tokens.is_any(at - 1, &["between", "entre", "zwischen"]);
    let joins = matches!(tokens.mark(next), Some('-' | '–' | '—'))
        || tokens.is_any(next, &["bis", "or", "to"])
        || (between && tokens.is_any(next, &["and", "et", "und"]));
    joins.then_some(next + 1)
}
