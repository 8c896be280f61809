//! Dates, as ISO 8601 has them: `2024-03-03`, `2024-03`, `2024`; a quarter is the interval `2023-04/2023-06`, a decade
//! `1990/1999`.
//!
//! A date without its year is none, nor is one that can be read in two ways. A year that stands alone needs a word before
//! it that makes it one ("since 1998"), and years before our era are left as they are written.

use std::fmt;

use super::token::Tokens;
use super::{Found, lists, quantity};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Date {
    Day {
        year: u16,
        month: u8,
        day: u8,
    },
    Month {
        year: u16,
        month: u8,
    },
    Year(u16),
    /// A quarter or a half of a year: its first and its last month.
    Months {
        year: u16,
        from: u8,
        to: u8,
    },
    /// A decade: its first year.
    Decade(u16),
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Date::Day { year, month, day } => write!(f, "{year:04}-{month:02}-{day:02}"),
            Date::Month { year, month } => write!(f, "{year:04}-{month:02}"),
            Date::Year(year) => write!(f, "{year:04}"),
            Date::Months { year, from, to } => write!(f, "{year:04}-{from:02}/{year:04}-{to:02}"),
            Date::Decade(year) => write!(f, "{year:04}/{:04}", year + 9),
        }
    }
}

impl Date {
    /// Nothing for a day that no calendar has.
    pub fn day(year: u16, month: u8, day: u8) -> Option<Date> {
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return None,
        };
        ((1..=days).contains(&day) && year > 0).then_some(Date::Day { year, month, day })
    }

    /// To the day, the month or less.
    pub fn is_day(self) -> bool {
        matches!(self, Date::Day { .. })
    }
}

/// In the order of the text; none overlaps another.
pub fn find(tokens: &Tokens<'_>) -> Vec<Found<Date>> {
    let mut found: Vec<Found<Date>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((value, length)) = date_at(tokens, at, found.last()) else {
            at += 1;
            continue;
        };
        found.push(Found { range: tokens.bytes(at..at + length), value });
        at += length;
    }
    found
}

/// A date that begins at this token, and how many it takes.
fn date_at(tokens: &Tokens<'_>, at: usize, before: Option<&Found<Date>>) -> Option<(Date, usize)> {
    if is_inside_a_word(tokens, at) {
        return None;
    }
    let tries = [with_dashes, with_slashes, with_dots, day_first, month_first, month_only, part_of_year];
    let found = tries.iter().find_map(|read| read(tokens, at));
    found.or_else(|| decade(tokens, at)).or_else(|| year_alone(tokens, at, before))
}

/// Glued to something that is not a bracket, a quotation mark or a dash between two dates: `v2024-03-04`, `A/2024`.
fn is_inside_a_word(tokens: &Tokens<'_>, at: usize) -> bool {
    let quotes = ['(', '[', '"', '“', '„', '«', '‘', '\'', '–', '—', ':', ','];
    tokens.is_glued(at) && !tokens.mark(at.wrapping_sub(1)).is_some_and(|mark| quotes.contains(&mark))
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<u16> {
    let good = length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    good.then(|| text.parse().ok()).flatten()
}

fn number(tokens: &Tokens<'_>, at: usize, length: std::ops::RangeInclusive<usize>) -> Option<u16> {
    digits(tokens.number(at)?, length)
}

/// Four digits, and no year before our era; with a month three digits are a year too.
fn year(tokens: &Tokens<'_>, at: usize) -> Option<u16> {
    let year = number(tokens, at, 3..=4)?;
    let before_our_era = tokens.is_any(at + 1, &["bc", "bce"])
        || (tokens.is(at + 1, "B") && tokens.mark(at + 2) == Some('.') && tokens.is(at + 3, "C"));
    (year > 0 && !before_our_era && !goes_on(tokens, at)).then_some(year)
}

/// More of the same number or word is glued behind: `2024-03-04`, `2024th`.
fn goes_on(tokens: &Tokens<'_>, at: usize) -> bool {
    let behind =
        tokens.mark(at + 1).is_some_and(|mark| matches!(mark, '-' | '/' | ':' | '%' | '°' | '$' | '€'));
    let next =
        tokens.is_glued(at + 2) && (tokens.number(at + 2).is_some() || !tokens.word(at + 2).is_empty());
    tokens.is_glued(at + 1) && (!tokens.word(at + 1).is_empty() || (behind && next))
}

fn joined_by(tokens: &Tokens<'_>, at: usize, mark: char) -> bool {
    tokens.mark(at) == Some(mark) && tokens.is_glued(at) && tokens.is_glued(at + 1)
}

/// `2024-03-04`, also before a time of day.
fn with_dashes(tokens: &Tokens<'_>, at: usize) -> Option<(Date, usize)> {
    let year = number(tokens, at, 4..=4)?;
    if !joined_by(tokens, at + 1, '-') {
        return None;
    }
    let month = u8::try_from(number(tokens, at + 2, 2..=2)?).ok()?;
    if joined_by(tokens, at + 3, '-') {
        let day = u8::try_from(number(tokens, at + 4, 2..=2)?).ok()?;
        let ends = !joined_by(tokens, at + 5, '-');
        return Date::day(year, month, day).filter(|_| ends).map(|date| (date, 5));
    }
    // 2019-20 is a season, 1939-45 a war: a month alone is a month only where it can be nothing else.
    let is_month =
        (1..=9).contains(&month) && !goes_on(tokens, at + 2) && tokens.str(at + 2).starts_with('0');
    (is_month && u16::from(month) <= year % 100).then_some((Date::Month { year, month }, 3))
}

/// `2024/03/04`; `13/04/2024` and `04/13/2024`, where only one of the two can be the month.
fn with_slashes(tokens: &Tokens<'_>, at: usize) -> Option<(Date, usize)> {
    if !(joined_by(tokens, at + 1, '/') && joined_by(tokens, at + 3, '/')) || joined_by(tokens, at + 5, '/') {
        return None;
    }
    let small = |at: usize| u8::try_from(number(tokens, at, 1..=2)?).ok();
    let middle = small(at + 2)?;
    if let Some(year) = number(tokens, at, 4..=4) {
        return Some((Date::day(year, middle, small(at + 4)?)?, 5));
    }
    let (first, year) = (small(at)?, number(tokens, at + 4, 4..=4)?);
    let date = match (Date::day(year, middle, first), Date::day(year, first, middle)) {
        (Some(one), Some(other)) => (one == other).then_some(one),
        (one, other) => one.or(other),
    };
    Some((date?, 5))
}

/// `04.03.2024`: who writes dots begins with the day. It is one number to the tokens.
fn with_dots(tokens: &Tokens<'_>, at: usize) -> Option<(Date, usize)> {
    let mut parts = tokens.number(at)?.split('.');
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || goes_on(tokens, at) {
        return None;
    }
    let small = |text: &str| digits(text, 1..=2).and_then(|number| u8::try_from(number).ok());
    Some((Date::day(digits(third, 4..=4)?, small(second)?, small(first)?)?, 1))
}

/// `3 March 2024`, `3rd of March, 2024`, `3. März 2024`, `3 de marzo de 2024`.
fn day_first(tokens: &Tokens<'_>, at: usize) -> Option<(Date, usize)> {
    let (day, mut next) = day_at(tokens, at)?;
    if tokens.mark(next) == Some('.') && tokens.is_glued(next) {
        next += 1;
    }
    if tokens.is_any(next, &["de", "of"]) {
        next += 1;
    }
    let (month, next) = month_at(tokens, next)?;
    let (year, next) = year_behind(tokens, next)?;
    Some((Date::day(year, month, day)?, next - at))
}

/// `March 3, 2024`, `March 3rd 2024`, `Mar. 3, 2024`.
fn month_first(tokens: &Tokens<'_>, at: usize) -> Option<(Date, usize)> {
    let (month, next) = month_at(tokens, at)?;
    let (day, next) = day_at(tokens, next)?;
    let (year, next) = year_behind(tokens, next)?;
    Some((Date::day(year, month, day)?, next - at))
}

/// `March 2024`, `Mar. 2024`.
fn month_only(tokens: &Tokens<'_>, at: usize) -> Option<(Date, usize)> {
    let (month, next) = month_at(tokens, at).filter(|_| tokens.is_capital(at))?;
    let (year, next) = year_behind(tokens, next).filter(|(year, _)| *year > 999)?;
    Some((Date::Month { year, month }, next - at))
}

fn day_at(tokens: &Tokens<'_>, at: usize) -> Option<(u8, usize)> {
    let day = u8::try_from(number(tokens, at, 1..=2)?).ok().filter(|day| (1..=31).contains(day))?;
    let ordinal = tokens.is_glued(at + 1) && tokens.is_any(at + 1, &["nd", "rd", "st", "th"]);
    Some((day, at + 1 + usize::from(ordinal)))
}

fn month_at(tokens: &Tokens<'_>, at: usize) -> Option<(u8, usize)> {
    // A month is looked for only where a number is near.
    let near = (at + 1..at + 4).chain(at.checked_sub(1)).chain(at.checked_sub(2));
    near.into_iter().find(|it| tokens.number(*it).is_some())?;
    let month = lists::month(tokens.word(at))?;
    let short = tokens.mark(at + 1) == Some('.') && tokens.is_glued(at + 1);
    Some((month, at + 1 + usize::from(short)))
}

/// A year, perhaps behind a comma or an "of".
fn year_behind(tokens: &Tokens<'_>, at: usize) -> Option<(u16, usize)> {
    let between = tokens.mark(at) == Some(',') || tokens.is_any(at, &["de", "del", "of"]);
    let at = at + usize::from(between);
    Some((year(tokens, at)?, at + 1))
}

/// `Q2 2023`, `the second quarter of 2023`, `H1 2023`, `first half of 2023`.
fn part_of_year(tokens: &Tokens<'_>, begin: usize) -> Option<(Date, usize)> {
    let at = begin + usize::from(tokens.is(begin, "the"));
    let (from, months, next) = match tokens.word(at) {
        short @ ("Q1" | "Q2" | "Q3" | "Q4") => (3 * (short.as_bytes()[1] - b'1') + 1, 3, at + 1),
        "H1" => (1, 6, at + 1),
        "H2" => (7, 6, at + 1),
        word => {
            let which = lists::ordinal(word)?;
            let months = if tokens.is(at + 1, "quarter") { 3 } else { 6 };
            let known = months == 3 || tokens.is(at + 1, "half");
            (1 + months * which, months, (known && months * which < 12).then_some(at + 2)?)
        }
    };
    let next = next + usize::from(tokens.is(next, "fiscal"));
    let (year, next) = year_behind(tokens, next).filter(|(year, _)| *year > 999)?;
    Some((Date::Months { year, from, to: from + months - 1 }, next - begin))
}

/// `1990s`, `the 1990's`.
fn decade(tokens: &Tokens<'_>, begin: usize) -> Option<(Date, usize)> {
    let article = usize::from(tokens.is(begin, "the"));
    let at = begin + article;
    let year =
        number(tokens, at, 4..=4).filter(|year| year.is_multiple_of(10) && (1000..=2990).contains(year))?;
    let plain = tokens.is_glued(at + 1) && tokens.word(at + 1) == "s";
    if plain {
        return Some((Date::Decade(year), 2 + article));
    }
    let quoted = matches!(tokens.mark(at + 1), Some('\'' | '’')) && tokens.is_glued(at + 1);
    (quoted && tokens.is_glued(at + 2) && tokens.word(at + 2) == "s")
        .then_some((Date::Decade(year), 3 + article))
}

/// Years that people write about; four other digits are more often a number of things.
const YEARS: std::ops::RangeInclusive<u16> = 1000..=2199;

fn year_alone(tokens: &Tokens<'_>, at: usize, before: Option<&Found<Date>>) -> Option<(Date, usize)> {
    let year = number(tokens, at, 4..=4).filter(|year| YEARS.contains(year))?;
    if year_of_era(tokens, at).is_none() || quantity::is_unit(tokens, at + 1) || counts_things(tokens, at) {
        return None;
    }
    let previous = at.wrapping_sub(1);
    let led = tokens.is_one_of(previous, &lists::BEFORE_A_YEAR) || closed_in_brackets(tokens, at);
    // "between 1914 and 1918", "1914–1918": the second needs no word of its own.
    let goes_with =
        before.is_some_and(|found| previous > 0 && found.range.end == tokens.bytes(0..previous).end);
    let listed = tokens.is_any(previous, &["and", "or", "through", "to", "until"])
        || matches!(tokens.mark(previous), Some('–' | '—' | '-' | ',' | '/'));
    (led || (goes_with && listed)).then_some((Date::Year(year), 1))
}

/// "by 1200 employees", "between 1200 and 1500 people": not "By 2030 emissions will fall", which begins a sentence.
fn counts_things(tokens: &Tokens<'_>, at: usize) -> bool {
    let previous = at.wrapping_sub(1);
    if tokens.is_capital(previous) || !tokens.is_one_of(previous, &lists::BEFORE_A_COUNT) {
        return false;
    }
    let joins =
        tokens.is_any(at + 1, &["and", "or", "to"]) || matches!(tokens.mark(at + 1), Some('-' | '–' | '—'));
    let last = if joins && number(tokens, at + 2, 4..=4).is_some() { at + 2 } else { at };
    is_plural(tokens, last + 1)
}

fn is_plural(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = tokens.word(at);
    let ends =
        word.len() > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|it| word.ends_with(it));
    let known = tokens.is_one_of(at, &lists::FUNCTION_WORDS) || tokens.is_one_of(at, &lists::OF_A_YEAR);
    !tokens.is_capital(at) && ((ends && !known) || tokens.is_one_of(at, &lists::PEOPLE))
}

fn year_of_era(tokens: &Tokens<'_>, at: usize) -> Option<u16> {
    // "1914-18" and "1914–1918" begin with a year; "2024-03" would have been found as a month.
    let range = matches!(tokens.mark(at + 1), Some('-' | '/'));
    if range { number(tokens, at, 4..=4) } else { year(tokens, at) }
}

fn closed_in_brackets(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.mark(at.wrapping_sub(1)) == Some('(')
        && tokens.mark(at + 1).is_some_and(|mark| matches!(mark, ')' | '–' | '-'))
}

#[cfg(test)]
mod tests {
    use super::super::dates;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found: Vec<(&str, String)> =
            dates(text).into_iter().map(|it| (&text[it.range], it.value.to_string())).collect();
        let found: Vec<(&str, &str)> = found.iter().map(|(at, date)| (*at, date.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn dates_to_the_day_are_read_in_every_spelling() {
        for text in [
            "2024-03-13",
            "2024/03/13",
            "13/03/2024",
            "03/13/2024",
            "13.03.2024",
            "13 March 2024",
            "13th March 2024",
            "13th of March, 2024",
            "March 13, 2024",
            "March 13th, 2024",
            "Mar. 13, 2024",
            "13. März 2024",
            "13 mars 2024",
            "13 de marzo de 2024",
            "march 13 2024",
        ] {
            check(&format!("It was on {text}, a day."), &[(text, "2024-03-13")]);
        }
        check("(2024-03-04T10:00:00Z)", &[("2024-03-04", "2024-03-04")]);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_date() {
        for text in [
            "03/04/2024",
            "on March 3",
            "30/02/2024",
            "2024-13-01",
            "29.02.2023",
            "3.2.1",
            "v2024-03-04",
            "1/2/3/2024",
        ] {
            check(text, &[]);
        }
        check("05/05/2024", &[("05/05/2024", "2024-05-05")]);
    }

    #[test]
    fn months_quarters_years_and_decades() {
        check("In March 2024 and Q2 2023.", &[("March 2024", "2024-03"), ("Q2 2023", "2023-04/2023-06")]);
        check("the second quarter of 2023", &[("the second quarter of 2023", "2023-04/2023-06")]);
        check("in the second half of 2023", &[("the second half of 2023", "2023-07/2023-12")]);
        check("Since 1998, in the 1990s", &[("1998", "1998"), ("the 1990s", "1990/1999")]);
        check("between 1914 and 1918", &[("1914", "1914"), ("1918", "1918")]);
        check("The war (1914–1918) ended.", &[("1914", "1914"), ("1918", "1918")]);
        check("in 2020 and 2021", &[("2020", "2020"), ("2021", "2021")]);
        check("By 2030 emissions will fall", &[("2030", "2030")]);
        check("half of 2023 sales, in 1990 prices", &[("2023", "2023"), ("1990", "1990")]);
        check("from 1990 to 2000 it grew by 2010", &[("1990", "1990"), ("2000", "2000"), ("2010", "2010")]);
    }

    #[test]
    fn numbers_of_things_are_no_years() {
        for text in [
            "It has 2000 seats.",
            "in 2000 km",
            "of 1500 euros",
            "in 44 BC",
            "in 1200 BCE",
            "Boeing 1998",
            "second half",
            "in 2000%",
            "by 1200 employees",
            "around 1500 people died",
            "a team of 1100 engineers",
            "between 1200 and 1500 people",
            "from 1500 to 2000 workers",
            "for 1000–1200 patients",
        ] {
            check(text, &[]);
        }
    }
}
