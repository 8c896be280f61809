//! Times in an output: how long something took, and when it was.
//!
//! Spans are numbers with a unit. A moment is a date with its time of day, or a time of day with its seconds. A date alone stays, for it is
//! often what is told of; so does `12:30`, which is a line and a column as often as a time.

/// What stands where a span of time stood.
const SPAN: &str = "<time>";
/// What stands where a moment stood.
const MOMENT: &str = "<moment>";

/// Units of time, as tools write them behind a number.
const UNITS: [&str; 17] = [
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "seconds",
    "minutes",
    "second",
    "minute",
    "secs",
    "mins",
    "sec",
    "min",
    "ms",
    "µs",
    "us",
    "ns",
    "s",
    "m",
];

/// A line in which every span is the same, and every moment.
pub(super) fn timeless(line: &str) -> String {
    let mut told = String::with_capacity(line.len());
    let mut rest = line;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        if let Some((name, length)) = time(rest, before) {
            told.push_str(name);
            rest = &rest[length..];
            before = ' ';
            continue;
        }
        told.push(first);
        before = first;
        rest = &rest[first.len_utf8()..];
    }
    told
}

/// The time that this text begins with: what stands in its place, and how long it is.
fn time(text: &str, before: char) -> Option<(&'static str, usize)> {
    if !text.starts_with(|letter: char| letter.is_ascii_digit()) || is_word(before) || before == '.' {
        return None;
    }
    moment(text, before).map(|length| (MOMENT, length)).or_else(|| span(text).map(|length| (SPAN, length)))
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// How long the span is that this text begins with: `1.25s`, `250 ms`, `1m 03s`.
fn span(text: &str) -> Option<usize> {
    let digits =
        text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.').len();
    let behind = &text[digits..];
    let gap = usize::from(behind.starts_with(' '));
    let unit = UNITS.iter().find(|unit| {
        let rest = behind[gap..].strip_prefix(**unit);
        // `5 m` may be metres and `3 s` anything: a letter alone stands right behind its number.
        let close = gap == 0 || unit.len() > 1;
        close && rest.is_some_and(|rest| !rest.starts_with(is_unit_end))
    })?;
    let end = digits + gap + unit.len();
    // The parts of one span are one.
    let more = &text[end..];
    let gap = usize::from(more.starts_with(' '));
    match more[gap..].starts_with(|letter: char| letter.is_ascii_digit()) {
        true => Some(span(&more[gap..]).map_or(end, |more| end + gap + more)),
        false => Some(end),
    }
}

/// What would make the unit the beginning of another word. A digit may follow: `1m03s`.
fn is_unit_end(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_' || letter == '/'
}

/// How long the moment is that this text begins with: `2026-11-16T12:00:00.5Z`, `2026/11/16 12:00`, `12:00:00`.
fn moment(text: &str, before: char) -> Option<usize> {
    let begins = match date(text) {
        // Behind a colon is a column, behind a slash a file, behind a dash the rest of something.
        None if matches!(before, ':' | '/' | '-') => return None,
        None => clock(text).filter(|clock| clock.has_seconds)?.length,
        Some(date) => {
            let behind = text[date..].strip_prefix(['T', 't', ' ', '_'])?;
            date + 1 + clock(behind)?.length
        }
    };
    let length = begins + zone(&text[begins..]);
    let goes_on = |letter: char| is_word(letter) || letter == ':';
    (!text[length..].starts_with(goes_on)).then_some(length)
}

/// How long the date is that this text begins with.
fn date(text: &str) -> Option<usize> {
    let separator = text.chars().nth(4).filter(|separator| matches!(separator, '-' | '/'))?;
    let rest = number(text, 4, 0..=9_999)?;
    let rest = number(rest.strip_prefix(separator)?, 2, 1..=12)?;
    let rest = number(rest.strip_prefix(separator)?, 2, 1..=31)?;
    Some(text.len() - rest.len())
}

struct Clock {
    length: usize,
    has_seconds: bool,
}

/// The time of day that this text begins with.
fn clock(text: &str) -> Option<Clock> {
    let rest = number(text, 2, 0..=23)?;
    let rest = number(rest.strip_prefix(':')?, 2, 0..=59)?;
    // A leap second is the sixtieth.
    let Some(rest) = rest.strip_prefix(':').and_then(|rest| number(rest, 2, 0..=60)) else {
        return Some(Clock { length: text.len() - rest.len(), has_seconds: false });
    };
    let is_digit = |letter: char| letter.is_ascii_digit();
    let fraction = rest.strip_prefix(['.', ',']).filter(|fraction| fraction.starts_with(is_digit));
    let rest = fraction.map_or(rest, |fraction| fraction.trim_start_matches(is_digit));
    Some(Clock { length: text.len() - rest.len(), has_seconds: true })
}

/// How much behind a time of day says where on earth, or which half of the day.
fn zone(text: &str) -> usize {
    let gap = usize::from(text.starts_with(' '));
    let rest = &text[gap..];
    let names = ["UTC", "GMT", "AM", "PM", "am", "pm", "Z", "z"].into_iter();
    let is_whole = |name: &str| rest.strip_prefix(name).is_some_and(|behind| !behind.starts_with(is_word));
    // Of one letter alone nobody knows what it stands for.
    if let Some(name) = names.filter(|name| gap == 0 || name.len() > 1).find(|name| is_whole(name)) {
        return gap + name.len();
    }
    let Some(rest) = rest.strip_prefix(['+', '-']) else { return 0 };
    let Some(minutes) = number(rest, 2, 0..=14) else { return 0 };
    match number(minutes.strip_prefix(':').unwrap_or(minutes), 2, 0..=59) {
        Some(end) => text.len() - end.len(),
        None if gap == 0 => text.len() - minutes.len(),
        // ` +12` is a number of something.
        None => 0,
    }
}

/// What is behind a number of exactly so many digits, within these bounds.
fn number(text: &str, digits: usize, within: std::ops::RangeInclusive<u32>) -> Option<&str> {
    let (first, rest) = text.split_at_checked(digits)?;
    let number: u32 = first.bytes().all(|digit| digit.is_ascii_digit()).then(|| first.parse().ok())??;
    within.contains(&number).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: T-05
    #[test]
    fn moments_are_taken_out_and_what_only_looks_like_one_stays() {
        for moment in [
            "2026-11-16T12:00:00Z",
            "2026-11-16t12:00:00.123456+01:00",
            "2026-11-16 12:00:00,123",
            "2026-11-16 12:00",
            "2026/11/16 12:00:00",
            "2026-11-16 12:00:00 +0100",
            "2026-11-16 12:00:00 UTC",
            "2026-11-16_12:00:00-05",
            "23:59:60",
            "12:00:00.5",
            "09:05:07 PM",
        ] {
            for (before, behind) in [("", ""), ("at ", "."), ("[", "] ok"), ("(", ")")] {
                let line = format!("{before}{moment}{behind}");
                assert_eq!(timeless(&line), format!("{before}<moment>{behind}"), "{line}");
            }
        }
        assert_eq!(timeless("run-2026-11-16T12:00:00Z.log"), "run-<moment>.log");
        for line in [
            "released 2026-11-16",
            "src/x.rs:12:30:45",
            "12:30 is a line and a column",
            "00:1b:44:11:3a:b7",
            "10:20:30:40:50:60",
            "25:00:00 is no time, nor is 12:60:00",
            "2026-13-01T12:00:00x",
            "1.12:00:00",
            "v12:00:00",
            "112:00:00",
        ] {
            assert_eq!(timeless(line), line);
        }
        assert_eq!(timeless("12:00:00 +12 lines, 12:00:00 AMBER"), "<moment> +12 lines, <moment> AMBER");
        assert_eq!(timeless("12:00:00 took 3s"), "<moment> took <time>");
    }
}
