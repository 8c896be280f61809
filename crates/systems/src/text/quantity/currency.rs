//! Currencies, before a number and behind it, by their signs, codes and names.

use super::{Unit, unit};
use crate::text::token::Tokens;

/// A currency that stands before its number, and where the number begins: `$`, `US$`, `EUR`.
pub fn before(tokens: &Tokens<'_>, at: usize) -> Option<(&'static str, usize)> {
    let (code, next) = match tokens.mark(at) {
        Some(mark) => (symbol(mark)?, at + 1),
        None if tokens.mark(at + 1) == Some('$') && tokens.is_glued(at + 1) => {
            (dollar(tokens.word(at))?, at + 2)
        }
        None => (code(tokens.word(at))?, at + 1),
    };
    tokens.number(next).map(|_| (code, next))
}

pub(super) fn symbol(mark: char) -> Option<&'static str> {
    Some(match mark {
        '$' => "USD",
        '€' => "EUR",
        '£' => "GBP",
        '¥' => "JPY",
        '₹' => "INR",
        '₩' => "KRW",
        '₽' => "RUB",
        '₿' => "BTC",
        _ => return None,
    })
}

fn dollar(country: &str) -> Option<&'static str> {
    Some(match country {
        "US" | "U" => "USD",
        "A" | "AU" => "AUD",
        "C" | "CA" => "CAD",
        "NZ" => "NZD",
        "HK" => "HKD",
        "S" => "SGD",
        "R" => "BRL",
        _ => return None,
    })
}

fn code(word: &str) -> Option<&'static str> {
    const CODES: [&str; 26] = [
        "AUD", "BRL", "BTC", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "ILS", "INR",
        "JPY", "KRW", "MXN", "NOK", "NZD", "PLN", "RUB", "SEK", "SGD", "TRY", "USD", "ZAR",
    ];
    CODES.binary_search(&word).ok().map(|at| CODES[at])
}

/// The currency that stands behind a number and its short magnitude: `5m euros`, `3 M€`.
pub fn behind(tokens: &Tokens<'_>, at: usize) -> Option<&'static str> {
    let (_, next) = unit::magnitude_of_money(tokens, at)?;
    let found = match tokens.mark(next) {
        Some(mark) if tokens.is_glued(next) => return symbol(mark),
        Some(_) => None,
        None => named(tokens, next, true),
    };
    found.and_then(|(unit, _)| match unit {
        Unit::Currency(code) => Some(code),
        Unit::None | Unit::Percent | Unit::Measure(_) | Unit::Word(_) => None,
    })
}

/// A currency's name or code, and where it ends. Many pounds are money.
pub fn named(tokens: &Tokens<'_>, at: usize, is_large: bool) -> Option<(Unit, usize)> {
    let (country, noun) = match tokens.word(at) {
        country @ ("US" | "American" | "Canadian" | "Australian" | "Swiss") => (country, at + 1),
        _ => ("", at),
    };
    let currency = match (country, tokens.word(noun).to_ascii_lowercase().as_str()) {
        ("Canadian", "dollar" | "dollars") => "CAD",
        ("Australian", "dollar" | "dollars") => "AUD",
        ("Swiss", "franc" | "francs") => "CHF",
        ("" | "US" | "American", "dollar" | "dollars") => "USD",
        ("", "euro" | "euros") => "EUR",
        ("", "yen") => "JPY",
        ("", "yuan" | "renminbi") => "CNY",
        ("", "rupee" | "rupees") => "INR",
        ("", "ruble" | "rubles" | "rouble" | "roubles") => "RUB",
        ("", "bitcoin" | "bitcoins") => "BTC",
        ("", "pound" | "pounds") if tokens.is(noun + 1, "sterling") => {
            return Some((Unit::Currency("GBP"), noun + 2));
        }
        ("", "pound" | "pounds") if is_large => "GBP",
        ("", _) => code(tokens.word(noun))?,
        _ => return None,
    };
    Some((Unit::Currency(currency), noun + 1))
}
