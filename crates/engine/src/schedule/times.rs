//! The times of a schedule: a cron expression in a time zone, or an interval.
//!
//! A cron expression has five fields (minute, hour, day of month, month, day of week), six with the second before them, or
//! seven with the year after them; `L`, `#` and `W` mean what they mean elsewhere (`0 9 * * FRI#L` is the last Friday). An
//! interval reads `every 90 s` and counts from where its schedule begins.
//!
//! ```text
//! When clocks go forward, a local hour is missing; when they go back, one comes twice.
//!
//!                          in the missing hour                    in the hour that comes twice
//! one time of the day      once, at the first moment after it     once, the first time
//! (second, minute and
//!  hour are one value)
//! anything else            not at all: there is no such time      both times
//! an interval              it knows no local time and keeps its distance
//! ```
//!
//! Zones come with the program, so that two nodes never disagree about one.

use std::time::Duration;

use croner::errors::CronError;
use croner::parser::CronParser;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tenure_core::time::Time;

/// More often than this is a loop and no schedule: a cron expression has nothing finer than a second either.
const EVERY_MIN: Duration = Duration::from_secs(1);
/// As far apart as two times of a cron expression can sensibly be: leap days around the year 2100 are eight years apart.
const EVERY_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 3600);
/// A minute list with every value takes 170 bytes. Longer is not an expression any more.
const EXPRESSION_BYTES_MAX: usize = 512;

#[derive(Clone, Debug)]
pub(crate) enum Times {
    Cron(Box<croner::Cron>, TimeZone),
    Every { period: Duration, anchor: Time },
}

impl Times {
    /// `anchor` is where an interval counts from.
    pub fn parse(text: &str, zone: &str, anchor: Time) -> Result<Times, String> {
        if text.len() > EXPRESSION_BYTES_MAX {
            return Err(format!("an expression has at most {EXPRESSION_BYTES_MAX} bytes"));
        }
        let zone = TimeZone::get(zone)
            .map_err(|_| format!("there is no time zone `{zone}`; one is named like `Europe/Berlin` or `UTC`"))?;
        if let Some(span) = text.trim().strip_prefix("every ") {
            return Ok(Times::Every { period: period(span)?, anchor });
        }
        let cron = CronParser::new().parse(text).map_err(|why| {
            format!("`{text}` is neither a cron expression of 5 to 7 fields nor `every 90 s`: {why}")
        })?;
        Ok(Times::Cron(Box::new(cron), zone))
    }

    /// The first time after a moment. None: there is none any more.
    pub fn after(&self, moment: Time) -> Option<Time> {
        match self {
            Times::Cron(cron, zone) => {
                let moment = Timestamp::from_microsecond(moment.micros()).ok()?.to_zoned(zone.clone());
                match cron.find_next_occurrence(&moment, false) {
                    Ok(next) => Some(Time::from_micros(next.timestamp().as_microsecond())),
                    // It has looked as far as there are years.
                    Err(CronError::TimeSearchLimitExceeded | CronError::InvalidDate | CronError::InvalidTime) => {
                        None
                    }
                    Err(CronError::EmptyPattern | CronError::InvalidPattern(_)) => None,
                    Err(CronError::IllegalCharacters(_) | CronError::ComponentError(_)) => None,
                }
            }
            Times::Every { period, anchor } => {
                if moment < *anchor {
                    return Some(*anchor);
                }
                let period = i64::try_from(period.as_micros()).ok()?;
                let passed = (moment.micros() - anchor.micros()) / period;
                let next = anchor.micros().checked_add(period.checked_mul(passed + 1)?)?;
                Some(Time::from_micros(next)).filter(|next| *next > moment)
            }
        }
    }

    /// The first time that is not before a moment.
    pub fn from(&self, moment: Time) -> Option<Time> {
        self.after(moment.before(Duration::from_micros(1)))
    }
}

fn period(span: &str) -> Result<Duration, String> {
    let span: SignedDuration = span
        .trim()
        .parse()
        .map_err(|_| format!("`every {span}` has no span that can be read; write `every 90 s` or `every 2 h`"))?;
    let period = Duration::try_from(span).map_err(|_| "an interval goes forward".to_string())?;
    if period < EVERY_MIN {
        return Err("nothing fires more often than once a second".to_string());
    }
    if period > EVERY_MAX {
        return Err("an interval has at most ten years".to_string());
    }
    Ok(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn an_interval_keeps_its_distance_from_where_it_begins() {
        let anchor = time("2026-01-01T00:00:07Z");
        let times = Times::parse("every 90 s", "UTC", anchor).unwrap();
        assert_eq!(times.from(anchor), Some(anchor));
        assert_eq!(times.after(anchor), Some(time("2026-01-01T00:01:37Z")));
        assert_eq!(times.after(time("2026-01-01T00:01:36.999999Z")), Some(time("2026-01-01T00:01:37Z")));
        assert_eq!(times.after(anchor.before(Duration::from_secs(1))), Some(anchor));
        assert_eq!(times.after(Time::from_micros(i64::MAX)), None, "there is no time after the last");
    }

    #[test]
    fn what_can_not_be_a_schedule_is_told_why() {
        for (text, zone, why) in [
            ("* * * *", "UTC", "neither a cron expression"),
            ("61 * * * *", "UTC", "neither a cron expression"),
            ("", "UTC", "neither a cron expression"),
            ("0 3 * * *", "Europe/Berlim", "no time zone"),
            ("every 500 ms", "UTC", "once a second"),
            ("every soon", "UTC", "can be read"),
            ("every -5 s", "UTC", "goes forward"),
            ("every 100000 h", "UTC", "ten years"),
        ] {
            let refused = Times::parse(text, zone, Time::default()).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
        assert!(Times::parse(&"* ".repeat(400), "UTC", Time::default()).unwrap_err().contains("512 bytes"));
    }

    #[test]
    fn what_never_fires_has_no_next_time() {
        let never = Times::parse("0 0 30 2 *", "UTC", Time::default()).unwrap();
        assert_eq!(never.after(time("2026-01-01T00:00:00Z")), None);
        let past = Times::parse("0 0 0 1 1 * 2025", "UTC", Time::default()).unwrap();
        assert_eq!(past.after(time("2024-06-01T00:00:00Z")), Some(time("2025-01-01T00:00:00Z")));
        assert_eq!(past.after(time("2025-01-01T00:00:00Z")), None);
    }
}
