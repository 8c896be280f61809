//! The pieces that values of settings are made of: numbers, rates, limits, pointers.
//!
//! Each is read within its bounds or not at all.

use alloc::format;
use alloc::string::{String, ToString};
use core::str::FromStr;
use core::time::Duration;

use super::{LIMIT_MAX, Limit, PACE_MAX, PACE_MIN, Rate, span};

/// Digits and nothing else: the standard reader would take a sign too.
pub(super) fn number<T: FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

pub(super) fn within<T: PartialOrd>(value: T, least: T, most: T) -> Option<T> {
    (least <= value && value <= most).then_some(value)
}

/// None for the word that switches the setting off, else the value; no answer when it is neither.
pub(super) fn unless<T>(word: &str, text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text == word { Some(None) } else { read(text).map(Some) }
}

/// `/a/b~1c`: RFC 6901, without the pointer to the whole.
pub(super) fn pointer(text: &str) -> Option<String> {
    let is_escaped_well = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    // A key is at most 255 bytes; a path to one that is longer than the key itself is a mistake.
    (text.starts_with('/') && is_escaped_well && text.len() <= 255).then(|| text.to_string())
}

pub(super) fn count_of(text: &str) -> Option<u32> {
    within(number(text)?, 1, LIMIT_MAX)
}

pub(super) fn pace(text: &str) -> Option<Duration> {
    within(span::read(text)?, PACE_MIN, PACE_MAX)
}

pub(super) fn rate_of(count: &str, per: &str) -> Option<Rate> {
    Some(Rate { count: count_of(count)?, per: pace(per)? })
}

pub(super) fn show_rate(rate: Rate) -> String {
    format!("{} per {}", rate.count, span::show(rate.per))
}

/// One side of a limit.
pub(super) enum Part<T> {
    Kind(T),
    Key(T),
}

/// One or two parts with a comma, each side once.
pub(super) fn limit<T: Copy>(text: &str, read: impl Fn(&str) -> Option<Part<T>>) -> Option<Limit<T>> {
    let mut limit = Limit::default();
    for part in text.split(',') {
        let (side, value) = match read(part.trim())? {
            Part::Kind(value) => (&mut limit.kind, value),
            Part::Key(value) => (&mut limit.key, value),
        };
        if side.replace(value).is_some() {
            return None;
        }
    }
    Some(limit)
}

pub(super) fn show_limit<T>(
    limit: Limit<T>,
    kind: impl Fn(T) -> String,
    key: impl Fn(T) -> String,
) -> String {
    match (limit.kind.map(kind), limit.key.map(key)) {
        (Some(kind), Some(key)) => format!("{kind}, {key}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => String::new(),
    }
}
