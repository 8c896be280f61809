//! Numbers with what they count: amounts of money, measures, percentages, plain counts. A number is written plain,
//! `3200000`, without separators and magnitudes, with the decimals that it was written with.
//!
//! Numbers that count nothing are left alone: those of names (`Boeing 747`, `COVID-19`), of labels (`type 2`), scores
//! (`3-1`), times (`10:30`), versions (`3.2.1`), fractions. So are those that two countries read in two ways.

mod currency;
mod plain;
mod range;
mod spelled;
mod unit;

use super::token::Tokens;
use super::{Date, Found, lists};
use plain::Written;
use range::Range;

/// Whether a number in front of this token would have it as its unit.
pub(super) use unit::is_unit;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quantity {
    /// A plain decimal: `-3.20`, `1200000`.
    pub number: String,
    pub unit: Unit,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A count of whatever the text says next.
    None,
    Percent,
    /// ISO 4217: `EUR`.
    Currency(&'static str),
    /// Its symbol: `km`, `°C`.
    Measure(&'static str),
    /// One that is written as a word, in the singular: `year`.
    Word(&'static str),
}

/// `5%`, `1200.50 EUR`, `5 km`, `3 years`.
impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Quantity { number, unit } = self;
        match unit {
            Unit::None => f.write_str(number),
            Unit::Percent => write!(f, "{number}%"),
            Unit::Currency(unit) | Unit::Measure(unit) => write!(f, "{number} {unit}"),
            Unit::Word(unit) if number == "1" => write!(f, "{number} {unit}"),
            Unit::Word(unit) => write!(f, "{number} {unit}s"),
        }
    }
}

/// In the order of the text; none overlaps another, nor a date.
pub fn find(tokens: &Tokens<'_>, dates: &[Found<Date>]) -> Vec<Found<Quantity>> {
    let mut found = Vec::new();
    let mut dates = dates.iter().peekable();
    let mut at = 0;
    while at < tokens.len() {
        let start = tokens.all[at].range.start;
        while dates.next_if(|date| date.range.end <= start).is_some() {}
        if dates.peek().is_some_and(|date| date.range.contains(&start)) {
            at += 1;
            continue;
        }
        // "5 March 2024": what reaches into a date is part of it.
        let date_start = dates.peek().map_or(usize::MAX, |date| date.range.start);
        let ends_before = |end: usize| tokens.bytes(at..end).end <= date_start;
        let read = read(tokens, at).filter(|(_, end)| ends_before(*end));
        let (quantities, end) = read.unwrap_or((Vec::new(), at + 1));
        found.extend(quantities);
        at = end;
    }
    found
}

/// How a quantity begins: a sign, a currency, a number.
#[derive(Debug)]
struct Beginning {
    negative: bool,
    currency: Option<&'static str>,
    /// Where the number stands, and where it ends.
    start: usize,
    next: usize,
    written: Written,
}

impl Beginning {
    fn read(tokens: &Tokens<'_>, at: usize) -> Option<Beginning> {
        let (negative, start) = sign(tokens, at);
        let (currency, start) = match currency::before(tokens, start) {
            Some((code, next)) => (Some(code), next),
            None => (None, start),
        };
        let (written, next) = match tokens.number(start) {
            Some(raw) => (plain::read(raw)?, start + 1),
            None if currency.is_none() && !negative => spelled::read(tokens, start)?,
            None => return None,
        };
        Some(Beginning { negative, currency, start, next, written })
    }
}

/// What begins at this token: a quantity, two that are a range, or numbers that stay as they are. And where it ends.
fn read(tokens: &Tokens<'_>, at: usize) -> Option<(Vec<Found<Quantity>>, usize)> {
    let beginning = Beginning::read(tokens, at)?;
    let in_digits = tokens.number(beginning.start).is_some();
    if in_digits && (is_tied_before(tokens, beginning.start) || is_enumerator(tokens, beginning.start)) {
        return None;
    }
    match range::read(tokens, at, &beginning) {
        Some(Range::Both(both)) => {
            let end = tokens.at_byte(both[1].range.end);
            return Some((Vec::from(*both), end));
        }
        Some(Range::Unclear(end)) => return Some((Vec::new(), end)),
        None if in_digits && is_tied_behind(tokens, beginning.start) => return None,
        None => {}
    }
    let (value, end) = one(tokens, &beginning)?;
    Some((vec![Found { range: tokens.bytes(at..end), value }], end))
}

/// A quantity by itself, and where it ends.
fn one(tokens: &Tokens<'_>, beginning: &Beginning) -> Option<(Quantity, usize)> {
    let Beginning { negative, currency, start, next, written } = beginning;
    let money = currency.or_else(|| currency::behind(tokens, *next));
    let (magnitude, after) = unit::magnitude(tokens, *next, money.is_some()).unwrap_or((0, *next));
    let (unit, end) = unit_of(tokens, after, *currency, magnitude);
    let counts = unit != Unit::None || magnitude > 0;
    let counts_nothing = !counts && (written.needs_unit || says_which(tokens, *start));
    let is_ambiguous = written.is_ambiguous_with_euro && unit == Unit::Currency("EUR");
    if counts_nothing || is_ambiguous || is_cut(tokens, end, unit) || may_be_millions(tokens, *next, unit) {
        return None;
    }
    let number = written.number.shifted(magnitude)?;
    let number = if *negative { format!("-{number}") } else { number };
    Some((Quantity { number, unit }, end))
}

/// What is counted, behind the number and its magnitude, and where that ends.
fn unit_of(
    tokens: &Tokens<'_>,
    after: usize,
    currency: Option<&'static str>,
    magnitude: usize,
) -> (Unit, usize) {
    match currency {
        Some(code) => (Unit::Currency(code), repeated(tokens, after, code)),
        None => unit::behind(tokens, after, magnitude >= 6).unwrap_or((Unit::None, after)),
    }
}

/// "$5 million dollars", "€5 EUR": the same said twice.
fn repeated(tokens: &Tokens<'_>, at: usize, code: &str) -> usize {
    match unit::behind(tokens, at, true) {
        Some((Unit::Currency(again), end)) if again == code => end,
        _ => at,
    }
}

fn sign(tokens: &Tokens<'_>, at: usize) -> (bool, usize) {
    let is_minus = matches!(tokens.mark(at), Some('-' | '−')) && tokens.is_glued(at + 1);
    let stands_free = at == 0 || !tokens.is_glued(at) || tokens.mark(at - 1) == Some('(');
    if is_minus && stands_free { (true, at + 1) } else { (false, at) }
}

/// Part of a score, a time, a fraction or an identifier that began before it: `3-1`, `10:30`, `1/2`, `B-52`, `#5`.
fn is_tied_before(tokens: &Tokens<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.mark(before)).filter(|_| tokens.is_glued(at));
    let tied_to_more = at >= 2 && tokens.is_glued(at - 1);
    let continues = match before {
        Some('-' | '–') if tied_to_more && tokens.number(at - 2).is_some() => !is_unit(tokens, at + 1),
        Some('-' | '/' | ':' | '.' | '–' | '_' | '\'' | '’') => tied_to_more,
        Some('#' | '§' | '@') => true,
        _ => false,
    };
    let glued_word = tokens.is_glued(at) && at > 0 && !tokens.word(at - 1).is_empty();
    continues || glued_word
}

/// One that goes on behind it, or an adjective: `5-year`.
fn is_tied_behind(tokens: &Tokens<'_>, at: usize) -> bool {
    let next = tokens.mark(at + 1).filter(|_| tokens.is_glued(at + 1) && tokens.is_glued(at + 2));
    match next {
        Some('-' | ':' | '/' | '–') => tokens.number(at + 2).is_some() || !tokens.word(at + 2).is_empty(),
        _ => false,
    }
}

/// Looked for so far back: whoever encloses more encloses sentences.
const ENCLOSED_TOKENS_MAX: usize = 20;

/// `1) Anna, 2) Bob`: it closes what nothing has opened.
fn is_enumerator(tokens: &Tokens<'_>, at: usize) -> bool {
    let closes = tokens.mark(at + 1) == Some(')') && tokens.is_glued(at + 1);
    let mut before = (at.saturating_sub(ENCLOSED_TOKENS_MAX)..at).rev();
    let opened = before.find_map(|at| tokens.mark(at).filter(|mark| matches!(mark, '(' | ')')));
    closes && opened != Some('(')
}

/// Letters are glued behind that are no unit (`21st`, `3D`, `5G`, `$5xy`), or it is part of a date: `15 March`, `44 BC`.
fn is_cut(tokens: &Tokens<'_>, end: usize, unit: Unit) -> bool {
    let of_a_date =
        tokens.is_any(end, &["am", "bc", "bce", "pm"]) || lists::month(tokens.word(end)).is_some();
    let goes_on = tokens.is_glued(end) && !tokens.word(end).is_empty();
    match unit {
        Unit::None => of_a_date || goes_on,
        Unit::Currency(_) => goes_on,
        Unit::Percent | Unit::Measure(_) | Unit::Word(_) => false,
    }
}

/// `123m passengers`, `400m hurdles`: millions, or metres.
fn may_be_millions(tokens: &Tokens<'_>, at: usize, unit: Unit) -> bool {
    let word = tokens.word(at + 1);
    let plural = word.len() > 3 && word.ends_with('s') && !tokens.is_one_of(at + 1, &lists::FUNCTION_WORDS);
    unit == Unit::Measure("m")
        && tokens.is_glued(at)
        && tokens.is(at, "m")
        && (plural || tokens.is_one_of(at + 1, &lists::PEOPLE))
}

/// The number of a thing with a name or a label: `Boeing 747`, `type 2`, `No. 5`.
fn says_which(tokens: &Tokens<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    if tokens.mark(before) == Some('.') && before > 0 {
        return tokens.is_one_of(before - 1, &lists::BEFORE_NUMBERS);
    }
    let named = tokens.is_capital(before) && !tokens.is_one_of(before, &lists::FUNCTION_WORDS);
    // "the 2014 World Cup", "the 1969 moon landing"
    let plural = tokens.word(at + 1).ends_with('s') || tokens.is_one_of(at + 1, &lists::PEOPLE);
    let edition = tokens.str(at).len() == 4
        && tokens.is(before, "the")
        && (tokens.is_capital(at + 1) || !(plural || tokens.word(at + 1).is_empty()));
    named || edition || tokens.is_one_of(before, &lists::NUMBERED)
}

#[cfg(test)]
mod tests {
    use super::super::quantities;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found: Vec<(&str, String)> =
            quantities(text).into_iter().map(|it| (&text[it.range], it.value.to_string())).collect();
        let found: Vec<(&str, &str)> = found.iter().map(|(at, shown)| (*at, shown.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn amounts_of_money_are_read_with_their_currency() {
        for (text, shown) in [
            ("$3.2 million", "3200000 USD"),
            ("€1,200.50", "1200.50 EUR"),
            ("1.200,50 €", "1200.50 EUR"),
            ("US$5bn", "5000000000 USD"),
            ("£2.5m", "2500000 GBP"),
            ("CHF 1'200", "1200 CHF"),
            ("A$ 40k", "40000 AUD"),
            ("5 euros", "5 EUR"),
            ("3.25 million dollars", "3250000 USD"),
            ("EUR 12,50", "12.50 EUR"),
            ("-$5", "-5 USD"),
            ("¥1,00,000", "100000 JPY"),
            ("2 billion pounds", "2000000000 GBP"),
            ("12 Mio. Euro", "12000000 EUR"),
            ("$5 million dollars", "5000000 USD"),
            ("5 Canadian dollars", "5 CAD"),
        ] {
            check(&format!("It cost {text}, they say."), &[(text, shown)]);
        }
    }

    #[test]
    fn money_has_short_magnitudes_of_many_spellings() {
        for (text, shown) in [
            ("€5 m", "5000000 EUR"),
            ("€5m", "5000000 EUR"),
            ("$3.2 M", "3200000 USD"),
            ("$5MM", "5000000 USD"),
            ("$5 MM", "5000000 USD"),
            ("$7 bn", "7000000000 USD"),
            ("£2 b", "2000000000 GBP"),
            ("5m euros", "5000000 EUR"),
            ("5 M€", "5000000 EUR"),
            ("3 Md€", "3000000000 EUR"),
            ("EUR 12 m", "12000000 EUR"),
            ("2.5k USD", "2500 USD"),
        ] {
            check(&format!("It cost {text}, they say."), &[(text, shown)]);
        }
        for text in ["$5xy", "€5mumble", "$3 M&Ms", "$20ish"] {
            let found = quantities(&format!("It cost {text}, they say."));
            assert!(found.iter().all(|it| it.value.number.len() < 3), "{text}: {found:?}");
        }
        check("It cost $5xy, they say.", &[]);
        check("a road of 5 m and 3 M screws", &[("5 m", "5 m"), ("3", "3")]);
    }

    #[test]
    fn a_magnitude_is_said_of_both_ends_of_a_range() {
        for (text, low, high) in [
            ("5–10 million", "5000000", "10000000"),
            ("5-10 million", "5000000", "10000000"),
            ("5 to 10 million", "5000000", "10000000"),
            ("five to ten million", "5000000", "10000000"),
            ("one to two million", "1000000", "2000000"),
            ("2 or 3 billion", "2000000000", "3000000000"),
            ("$1.2-1.5 billion", "1200000000 USD", "1500000000 USD"),
            ("$5–$10 million", "5000000 USD", "10000000 USD"),
            ("$5–10m", "5000000 USD", "10000000 USD"),
            ("€3 to €4 bn", "3000000000 EUR", "4000000000 EUR"),
            ("3 to 4 million euros", "3000000 EUR", "4000000 EUR"),
            ("1.5–2 million years", "1500000 years", "2000000 years"),
            ("3 bis 4 Millionen", "3000000", "4000000"),
        ] {
            let text = format!("It was {text}, they say.");
            let found: Vec<String> = quantities(&text).iter().map(|it| it.value.to_string()).collect();
            assert_eq!(found, [low, high], "{text}");
        }
        check("between 3 and 4 million people", &[("3", "3000000"), ("4 million", "4000000")]);
        check("it killed 5 and 2 million fled", &[("5", "5"), ("2 million", "2000000")]);
        check("800,000 to 1.2 million", &[("800,000", "800000"), ("1.2 million", "1200000")]);
        check("from 500 to 2 million dollars", &[]);
        check("3 million to 4 million", &[("3 million", "3000000"), ("4 million", "4000000")]);
        check("It costs $5-10 or 5 to 10 cents", &[("5", "5"), ("10", "10")]);
    }

    #[test]
    fn measures_and_percentages_are_read_with_their_unit() {
        for (text, shown) in [
            ("5 km", "5 km"),
            ("5km", "5 km"),
            ("5 kilometres", "5 km"),
            ("12,5 %", "12.5%"),
            ("12.50 percent", "12.50%"),
            ("five per cent", "5%"),
            ("-3 °C", "-3 °C"),
            ("−3°C", "-3 °C"),
            ("120 km/h", "120 km/h"),
            ("300 square miles", "300 mi²"),
            ("120 kilometres per hour", "120 km/h"),
            ("8 GB", "8 GB"),
            ("three years", "3 years"),
            ("1 year", "1 year"),
            ("25 basis points", "25 basis points"),
            ("25bp", "25 basis points"),
            ("2 percentage points", "2 percentage points"),
            ("150 pounds", "150 lb"),
            ("1\u{202f}200 kg", "1200 kg"),
            ("100 degrees Celsius", "100 °C"),
            ("0.5 mg", "0.5 mg"),
            ("5 m", "5 m"),
        ] {
            check(&format!("It was {text}, they say."), &[(text, shown)]);
        }
    }

    #[test]
    fn counts_are_read_in_digits_and_in_words() {
        check("Over 1,200 people and twenty-five dogs", &[("1,200", "1200"), ("twenty-five", "25")]);
        check(
            "Two people; two hundred; one million cats",
            &[("Two", "2"), ("two hundred", "200"), ("one million", "1000000")],
        );
        check("10k users, 3.5 billion years", &[("10k", "10000"), ("3.5 billion years", "3500000000 years")]);
        check("1.200.000 and 1,234.5", &[("1.200.000", "1200000"), ("1,234.5", "1234.5")]);
        check("about 5–10 km", &[("10 km", "10 km")]);
        check("Revenue of 5 and no.", &[("5", "5")]);
    }

    #[test]
    fn numbers_that_count_nothing_are_left_alone() {
        for text in [
            "a Boeing 747",
            "COVID-19",
            "type 2 diabetes",
            "won 3-1",
            "at 10:30",
            "at 9 pm",
            "on 15 March 44 BC",
            "version 3.2.1",
            "the 21st day",
            "3D films",
            "one of them",
            "a 5-year plan",
            "No. 5",
            "1/2 of it",
            "in 1998",
            "World War Two",
            "#5",
            "two thirds",
            "1.200 €",
            "GPT-4",
            "5G",
            "chapters 1,2",
            "the 2014 World Cup",
            "the 1969 moon landing",
            "123m passengers",
            "400m hurdles",
            "17m people",
        ] {
            check(text, &[]);
        }
    }
}
