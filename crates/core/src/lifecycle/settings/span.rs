//! Spans of time as a Settings table writes them: `500 ms`, `60 s`, `10 min`, `1 h`, `30 d`.

use alloc::format;
use alloc::string::String;
use core::time::Duration;

/// The units with their milliseconds, smallest first.
const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 24 * 3_600_000)];

/// Reads a number, a blank and a unit.
pub(super) fn read(text: &str) -> Option<Duration> {
    let (count, unit) = text.trim().split_once(' ')?;
    let (_, milliseconds) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
    super::value::number::<u64>(count)?.checked_mul(*milliseconds).map(Duration::from_millis)
}

/// In the largest unit that needs no fraction. Spans in settings come from [`read`], so they are whole milliseconds.
pub(super) fn show(span: Duration) -> String {
    let milliseconds = span.as_millis();
    let fits = |(_, unit): &&(&str, u64)| milliseconds.is_multiple_of(u128::from(*unit));
    match UNITS.iter().rev().find(fits) {
        Some((name, unit)) if milliseconds > 0 => format!("{} {name}", milliseconds / u128::from(*unit)),
        _ => String::from("0 s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_shown() {
        for (text, milliseconds) in [
            ("500 ms", 500),
            ("0 s", 0),
            ("90 s", 90_000),
            ("2 min", 120_000),
            ("1 h", 3_600_000),
            ("30 d", 2_592_000_000),
        ] {
            assert_eq!(read(text), Some(Duration::from_millis(milliseconds)), "{text}");
            assert_eq!(show(Duration::from_millis(milliseconds)), text);
        }
        assert_eq!(show(Duration::from_secs(60)), "1 min");
        for bad in [
            "",
            "60",
            "s",
            "60s",
            "-1 s",
            "+1 s",
            "1.5 h",
            "1 week",
            "99999999999999999999 s",
            "300000000000 d",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
