//! A moment, as the database's clock gave it: microseconds since 1970, UTC.
//!
//! The kernel never reads a clock. Every `Time` in it came in with a request's world or is computed from one that did.

use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment in UTC with microsecond precision. Arithmetic saturates: a deadline too far to represent is "never".
/// Every one that can be made can be written as RFC 3339 and read back, for the log holds them so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

/// A clock that is behind by less than this is not reported, and its corrections are not looked for: time servers adjust clocks by
/// fractions of a second, and two processes never read them at the same moment.
pub const CLOCK_NOISE: Duration = Duration::from_secs(2);

impl Time {
    /// The earliest time that Tenure accepts: the beginning of the year 0000, UTC.
    pub const EARLIEST: Time = Time(-62_167_219_200_000_000);
    /// The latest time that Tenure accepts: the last microsecond of the year 9999, UTC.
    pub const LATEST: Time = Time(253_402_300_799_999_999);

    /// Clamps to the times that can be written.
    pub const fn from_micros(micros: i64) -> Time {
        if micros < Time::EARLIEST.0 {
            return Time::EARLIEST;
        }
        if micros > Time::LATEST.0 { Time::LATEST } else { Time(micros) }
    }

    /// `None` if no accepted time has this number.
    pub fn checked(micros: i64) -> Option<Time> {
        let time = Time::from_micros(micros);
        (time.0 == micros).then_some(time)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Milliseconds for the time part of a ULID; moments before 1970 count as 0.
    pub fn ulid_millis(self) -> u64 {
        u64::try_from(self.0.div_euclid(1000)).unwrap_or(0)
    }

    pub fn after(self, span: Duration) -> Time {
        Time::from_micros(self.0.saturating_add(micros_of(span)))
    }

    pub fn before(self, span: Duration) -> Time {
        Time::from_micros(self.0.saturating_sub(micros_of(span)))
    }

    /// Whether a span that was granted at one moment and ends at another is over now: its end has passed, or lies later than now plus
    /// twice its length. The second happens only if the clock was ahead when the span was granted, and was corrected since.
    pub fn is_over(granted: Time, ends: Time, now: Time) -> bool {
        let length = ends.since(granted);
        ends <= now || ends > now.after(length).after(length)
    }

    /// How long from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn micros_of(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

impl Time {
    /// `2026-11-15T20:25:00.000001Z`. Written for every entry, so without a calendar library: the days are counted in
    /// eras of 400 years that begin on the first of March, which puts the leap day at the end of a year.
    pub(crate) fn text(self) -> [u8; 27] {
        let (seconds, micros) = (self.0.div_euclid(1_000_000), self.0.rem_euclid(1_000_000));
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let [y1, y2, y3, y4] = digits(year);
        let ([m1, m2], [d1, d2]) = (digits(month), digits(day));
        let ([h1, h2], [i1, i2]) = (digits(second / 3_600), digits(second / 60 % 60));
        let ([s1, s2], [u1, u2, u3, u4, u5, u6]) = (digits(second % 60), digits(micros));
        [
            y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', i1, i2, b':', s1, s2, b'.', u1,
            u2, u3, u4, u5, u6, b'Z',
        ]
    }
}

/// The last digits of a number that is not negative.
fn digits<const COUNT: usize>(number: i64) -> [u8; COUNT] {
    let (mut digits, mut rest) = ([0; COUNT], number as u32);
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(core::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text was not an RFC 3339 time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotATime;

impl FromStr for Time {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Time, NotATime> {
        match text.parse::<jiff::Timestamp>() {
            Ok(moment) => Time::checked(moment.as_microsecond()).ok_or(NotATime),
            Err(_) => on_last_day(text).ok_or(NotATime),
        }
    }
}

/// A time within a day of [`Time::LATEST`], which `jiff::Timestamp` refuses because some time zones are in the year 10000 by then.
fn on_last_day(text: &str) -> Option<Time> {
    let pieces = jiff::fmt::temporal::Pieces::parse(text).ok()?;
    let (offset, time) = (pieces.to_numeric_offset()?, pieces.time()?);
    let local = pieces.date().to_datetime(time).duration_since(jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0));
    let micros = local.as_micros().checked_sub(i128::from(offset.seconds()) * 1_000_000)?;
    Time::checked(i64::try_from(micros).ok()?)
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(core::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = alloc::string::String::deserialize(deserializer)?;
        let time: Time = text.parse().map_err(|NotATime| de::Error::custom("not an RFC 3339 time"))?;
        // A second spelling of the same moment would make two byte forms of one entry.
        if time.to_string() != text {
            return Err(de::Error::custom("not the canonical spelling of a time (UTC, six decimals, Z)"));
        }
        Ok(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_with_six_decimals_and_read_back() {
        let time = Time::from_micros(1_794_774_300_000_001);
        assert_eq!(time.to_string(), "2026-11-15T20:25:00.000001Z");
        assert_eq!(time.to_string().parse(), Ok(time));
        assert_eq!(Time::from_micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn a_time_is_shown_as_a_calendar_library_shows_it() {
        // Steps that are no multiple of a day walk through every month, leap day and century from 1600 to 2800.
        let (from, to) = (-11_676_096_000_i64, 26_192_246_400_i64);
        for second in (from..to).step_by(999_983) {
            let micros = second * 1_000_000 + second.rem_euclid(1_000_000);
            let expected = alloc::format!("{:.6}", jiff::Timestamp::from_microsecond(micros).unwrap());
            assert_eq!(Time::from_micros(micros).to_string(), expected);
        }
        assert_eq!(Time::from_micros(i64::MIN).to_string(), "0000-01-01T00:00:00.000000Z");
        assert_eq!(Time::from_micros(i64::MAX).to_string(), "9999-12-31T23:59:59.999999Z");
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        let late = Time::from_micros(i64::MAX);
        assert_eq!(late.after(Duration::from_secs(1)), late);
        assert_eq!(Time::from_micros(5).since(Time::from_micros(9)), Duration::ZERO);
    }

    // covers: K-17
    #[test]
    fn a_span_is_over_at_its_end_or_if_it_lies_ahead_by_more_than_its_length() {
        let second = |second: i64| Time::from_micros(second * 1_000_000);
        for (granted, ends, now, over) in [
            (100, 110, 109, false),
            (100, 110, 110, true),
            // The clock was set back: by its length at most, and by more.
            (100, 110, 90, false),
            (100, 110, 89, true),
            (100, 110, -1_000_000, true),
        ] {
            assert_eq!(Time::is_over(second(granted), second(ends), second(now)), over, "at {now}");
        }
        assert!(!Time::is_over(second(0), Time::LATEST, second(-5)), "what never ends is never over");
    }

    // covers: K-42
    #[test]
    fn every_time_of_the_year_9999_is_accepted_exactly() {
        for (text, read) in [
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
            ("9999-12-31T18:59:59-05:00", "9999-12-31T23:59:59.000000Z"),
            ("9999-12-30T22:00:01Z", "9999-12-30T22:00:01.000000Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59.000000Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(text.parse::<Time>().map(|time| time.to_string()), Ok(read.to_string()));
        }
        for text in [
            "9999-12-31T19:00:00-05:00",
            "+010000-01-01T00:00:00Z",
            "-000001-12-31T23:59:59Z",
            "9999-12-31T23:59:59",
            "9999-12-31",
            "infinity",
        ] {
            assert_eq!(text.parse::<Time>(), Err(NotATime), "{text}");
        }
        assert_eq!((Time::checked(i64::MAX), Time::checked(i64::MIN)), (None, None));
    }

    #[test]
    fn the_first_and_the_last_moment_are_read_back() {
        for micros in [i64::MIN, i64::MAX] {
            let time = Time::from_micros(micros);
            assert_eq!(time.to_string().parse(), Ok(time), "{time}");
        }
    }
}
