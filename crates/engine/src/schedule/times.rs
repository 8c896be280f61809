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

use croner::JobType;
use croner::parser::CronParser;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};
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
    /// Has times before the anchor too: the caller decides where a schedule begins.
    Every {
        period: Duration,
        anchor: Time,
    },
}

impl Times {
    /// `anchor` is where an interval counts from.
    pub fn parse(text: &str, zone: &str, anchor: Time) -> Result<Times, String> {
        if text.len() > EXPRESSION_BYTES_MAX {
            return Err(format!("an expression has at most {EXPRESSION_BYTES_MAX} bytes"));
        }
        let zone = TimeZone::get(zone).map_err(|_| {
            format!("there is no time zone `{zone}`; one is named like `Europe/Berlin` or `UTC`")
        })?;
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
                let moment = Timestamp::from_microsecond(moment.micros()).ok()?;
                let next = match cron.determine_job_type() {
                    JobType::FixedTime => once_a_day(cron, zone, moment),
                    JobType::IntervalWildcard => by_offset(cron, zone, moment),
                };
                Some(Time::from_micros(next?.as_microsecond()))
            }
            Times::Every { period, anchor } => {
                let period = i64::try_from(period.as_micros()).ok()?;
                let passed = (moment.micros() - anchor.micros()).div_euclid(period);
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

// The expression is asked for local times only, which know no zone; what a zone makes of them is worked out here. Asked for moments
// in a zone, croner 4 finds one time of the day twice where it walks through a missing hour (`15 1 * * *` at 01:15 and 03:00).

/// One time of the day. The day before is looked at too: a time in a missing hour comes after its local time.
fn once_a_day(cron: &croner::Cron, zone: &TimeZone, moment: Timestamp) -> Option<Timestamp> {
    let mut local = zone.to_datetime(moment).checked_sub(Span::new().days(1)).ok()?;
    loop {
        local = next_local(cron, local)?;
        let found = match zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local).ok()?,
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local).ok()?,
            // Less than the change before it: the first change from there on is the one that it fell into.
            AmbiguousOffset::Gap { after, .. } => {
                zone.following(after.to_timestamp(local).ok()?).next()?.timestamp()
            }
        };
        if found > moment {
            return Some(found);
        }
    }
}

/// Anything else: stretch by stretch between the changes of a zone's clocks. Within one, local time and time differ by one offset.
fn by_offset(cron: &croner::Cron, zone: &TimeZone, moment: Timestamp) -> Option<Timestamp> {
    let mut changes = zone.following(moment);
    let mut offset = zone.to_offset(moment);
    let mut from = offset.to_datetime(moment);
    loop {
        let change = changes.next();
        let found = next_local(cron, from).and_then(|local| offset.to_timestamp(local).ok());
        match change {
            Some(change) if found.is_none_or(|found| found >= change.timestamp()) => {
                // Past the last year that there is, nothing more is found in any stretch.
                found?;
                offset = change.offset();
                // The very moment of the change is the first of its stretch.
                from =
                    offset.to_datetime(change.timestamp()).checked_sub(Span::new().microseconds(1)).ok()?;
            }
            Some(_) | None => return found,
        }
    }
}

/// The first local time after one. None: it has looked as far as there are years.
fn next_local(cron: &croner::Cron, after: DateTime) -> Option<DateTime> {
    cron.find_next_occurrence(&after, false).ok()
}

fn period(span: &str) -> Result<Duration, String> {
    let span: SignedDuration = span.trim().parse().map_err(|_| {
        format!("`every {span}` has no span that can be read; write `every 90 s` or `every 2 h`")
    })?;
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
