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

impl Time {
    /// The years -9999 to 9999, less the day at either end that could leave them in some time zone.
    const MIN: i64 = -377_705_023_200_000_000;
    const MAX: i64 = 253_402_207_199_999_999;

    pub const fn from_micros(micros: i64) -> Time {
        if micros < Time::MIN {
            return Time(Time::MIN);
        }
        Time(if micros > Time::MAX { Time::MAX } else { micros })
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

    /// How long from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn micros_of(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
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
        let moment: jiff::Timestamp = text.parse().map_err(|_| NotATime)?;
        Ok(Time::from_micros(moment.as_microsecond()))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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
    fn arithmetic_saturates_instead_of_wrapping() {
        let late = Time::from_micros(i64::MAX);
        assert_eq!(late.after(Duration::from_secs(1)), late);
        assert_eq!(Time::from_micros(5).since(Time::from_micros(9)), Duration::ZERO);
    }

    #[test]
    fn the_first_and_the_last_moment_are_read_back() {
        for micros in [i64::MIN, i64::MAX] {
            let time = Time::from_micros(micros);
            assert_eq!(time.to_string().parse(), Ok(time), "{time}");
        }
    }
}
