//! What stands behind a number: magnitudes, units.

use super::{Unit, currency};
use crate::text::token::Tokens;

/// Whether a number in front of this token would have it as its unit.
pub fn is_unit(tokens: &Tokens<'_>, at: usize) -> bool {
    let next = magnitude(tokens, at, false).map_or(at, |(_, next)| next);
    next > at || behind(tokens, at, false).is_some()
}

/// A power of ten, and where it ends: "million", `bn`, `k`. "m" is metres but for money.
pub fn magnitude(tokens: &Tokens<'_>, at: usize, is_money: bool) -> Option<(usize, usize)> {
    let places = match tokens.word(at) {
        "thousand" | "Thousand" | "Tausend" => 3,
        "million" | "millions" | "Million" | "Millionen" | "mn" | "mln" | "mio" | "Mio" => 6,
        "billion" | "billions" | "Billion" | "bn" | "bln" | "Mrd" | "Milliarden" | "milliards" => 9,
        "trillion" | "trillions" | "Trillion" | "tn" | "trn" => 12,
        "k" if tokens.is_glued(at) => 3,
        _ if is_money => return magnitude_of_money(tokens, at),
        _ => return None,
    };
    let short = matches!(tokens.word(at), "Mio" | "mio" | "Mrd")
        && tokens.mark(at + 1) == Some('.')
        && tokens.is_glued(at + 1);
    Some((places, at + 1 + usize::from(short)))
}

/// The short ones that only money has. Few of them are written apart from their number, and none as a part of more: `$3 M&Ms`.
pub fn magnitude_of_money(tokens: &Tokens<'_>, at: usize) -> Option<(usize, usize)> {
    let glued = tokens.is_glued(at);
    let places = match tokens.word(at) {
        "K" | "k" if glued => 3,
        "m" | "M" | "MM" | "mm" => 6,
        "b" | "B" | "Md" | "Mds" => 9,
        "t" | "T" if glued => 12,
        _ => return None,
    };
    let goes_on = tokens.is_glued(at + 1)
        && matches!(tokens.mark(at + 1), Some('&' | '-' | '/' | '\'' | '’'))
        && tokens.is_glued(at + 2);
    (glued || !goes_on).then_some((places, at + 1))
}

/// A unit that stands behind its number, and where it ends. Many pounds are money.
pub fn behind(tokens: &Tokens<'_>, at: usize, is_large: bool) -> Option<(Unit, usize)> {
    if let Some(mark) = tokens.mark(at) {
        return behind_mark(tokens, at, mark);
    }
    let word = tokens.word(at);
    if word.is_empty() {
        return None;
    }
    if tokens.is_any(at, &["basis", "percentage"]) && tokens.is_any(at + 1, &["point", "points"]) {
        let unit = if tokens.is(at, "basis") { "basis point" } else { "percentage point" };
        return Some((Unit::Word(unit), at + 2));
    }
    if tokens.is(at, "per") && tokens.is(at + 1, "cent") {
        return Some((Unit::Percent, at + 2));
    }
    if tokens.is_any(at, &["sq", "square"]) {
        let point = usize::from(tokens.mark(at + 1) == Some('.'));
        return squared(tokens.word(at + 1 + point)).map(|unit| (Unit::Measure(unit), at + 2 + point));
    }
    if tokens.is_any(at, &["degree", "degrees"]) {
        return scale(tokens.word(at + 1)).map(|unit| (Unit::Measure(unit), at + 2));
    }
    currency::named(tokens, at, is_large).or_else(|| measure(tokens, at, word))
}

fn behind_mark(tokens: &Tokens<'_>, at: usize, mark: char) -> Option<(Unit, usize)> {
    match mark {
        '%' => Some((Unit::Percent, at + 1)),
        '°' => scale(tokens.word(at + 1)).map(|unit| (Unit::Measure(unit), at + 2)),
        // A sign before the next number belongs to that one.
        _ if tokens.number(at + 1).is_some() && !tokens.is_glued(at) => None,
        _ => currency::symbol(mark).map(|code| (Unit::Currency(code), at + 1)),
    }
}

fn scale(word: &str) -> Option<&'static str> {
    match word {
        "C" | "Celsius" | "celsius" => Some("°C"),
        "F" | "Fahrenheit" | "fahrenheit" => Some("°F"),
        _ => None,
    }
}

fn measure(tokens: &Tokens<'_>, at: usize, word: &str) -> Option<(Unit, usize)> {
    if tokens.is_any(at, &["percent", "prozent"]) {
        return Some((Unit::Percent, at + 1));
    }
    if let Some(word) = period(word) {
        return Some((Unit::Word(word), at + 1));
    }
    let unit = length_or_mass(word).or_else(|| technical(word))?;
    let per =
        |mark: usize| tokens.mark(mark) == Some('/') && tokens.is_glued(mark) && tokens.is_glued(mark + 1);
    let (by, end) = match () {
        () if per(at + 1) => (tokens.word(at + 2), at + 3),
        () if tokens.is(at + 1, "per") => (tokens.word(at + 2), at + 3),
        () => return Some((Unit::Measure(unit), at + 1)),
    };
    let speed = match (unit, by) {
        ("km", "h" | "hour") => "km/h",
        ("m", "s" | "second") => "m/s",
        ("mi", "hour") => "mph",
        ("mg", "dl" | "dL") => "mg/dl",
        _ => return Some((Unit::Measure(unit), at + 1)),
    };
    Some((Unit::Measure(speed), end))
}

/// Shown as words, because nobody writes 3 a for three years.
fn period(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "second" | "seconds" => "second",
        "minute" | "minutes" => "minute",
        "hour" | "hours" | "stunden" => "hour",
        "day" | "days" | "tage" | "tagen" => "day",
        "week" | "weeks" | "wochen" => "week",
        "month" | "months" | "monate" | "monaten" => "month",
        "year" | "years" | "jahre" | "jahren" => "year",
        "decade" | "decades" => "decade",
        "acre" | "acres" => "acre",
        "bp" | "bps" => "basis point",
        "barrel" | "barrels" => "barrel",
        "calorie" | "calories" => "calorie",
        _ => return None,
    })
}

fn squared(word: &str) -> Option<&'static str> {
    Some(match length_or_mass(word)? {
        "km" => "km²",
        "m" => "m²",
        "mi" => "mi²",
        "ft" => "ft²",
        _ => return None,
    })
}

fn length_or_mass(word: &str) -> Option<&'static str> {
    Some(match word {
        "km" | "kilometre" | "kilometres" | "kilometer" | "kilometers" => "km",
        "m" | "metre" | "metres" | "meter" | "meters" => "m",
        "cm" | "centimetre" | "centimetres" | "centimeter" | "centimeters" => "cm",
        "mm" | "millimetre" | "millimetres" | "millimeter" | "millimeters" => "mm",
        "nm" | "nanometres" | "nanometers" => "nm",
        "mi" | "mile" | "miles" => "mi",
        "ft" | "foot" | "feet" => "ft",
        "inch" | "inches" => "in",
        "yard" | "yards" | "yd" => "yd",
        "kg" | "kilogram" | "kilograms" | "kilo" | "kilos" => "kg",
        "g" | "gram" | "grams" => "g",
        "mg" | "milligram" | "milligrams" => "mg",
        "µg" | "μg" | "mcg" | "microgram" | "micrograms" => "µg",
        "t" | "tonne" | "tonnes" | "ton" | "tons" => "t",
        "lb" | "lbs" | "pound" | "pounds" => "lb",
        "oz" | "ounce" | "ounces" => "oz",
        "l" | "litre" | "litres" | "liter" | "liters" => "l",
        "ml" | "mL" | "millilitres" | "milliliters" => "ml",
        "km²" => "km²",
        "m²" => "m²",
        "m³" => "m³",
        "ha" | "hectare" | "hectares" => "ha",
        _ => return None,
    })
}

fn technical(word: &str) -> Option<&'static str> {
    Some(match word {
        "mph" => "mph",
        "kmh" | "kph" => "km/h",
        "Hz" => "Hz",
        "kHz" => "kHz",
        "MHz" => "MHz",
        "GHz" => "GHz",
        "kW" => "kW",
        "MW" | "megawatt" | "megawatts" => "MW",
        "GW" | "gigawatt" | "gigawatts" => "GW",
        "kWh" => "kWh",
        "MWh" => "MWh",
        "GWh" => "GWh",
        "TWh" => "TWh",
        "V" | "volt" | "volts" => "V",
        "W" | "watt" | "watts" => "W",
        "KB" | "kB" => "kB",
        "MB" | "megabytes" => "MB",
        "GB" | "gigabytes" => "GB",
        "TB" | "terabytes" => "TB",
        "ms" | "milliseconds" => "ms",
        "ppm" => "ppm",
        "dB" => "dB",
        "kcal" => "kcal",
        "hPa" => "hPa",
        "mmHg" => "mmHg",
        _ => return None,
    })
}
