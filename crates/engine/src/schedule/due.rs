//! What a tick has to create when it is handled: on time, or late. A pure function of the schedule and two moments.
//!
//! ```text
//!   the tick's time                 now − grace − jitter              now
//!        ├───────── missed ──────────────────────┼──── on time ────────┤        next: the first time after now
//!  skip  │  none                                 │  each               │
//!  one   │  the latest, if none is on time       │  each               │
//!  all   │  each, oldest first, up to the bound  │  each               │
//! ```
//!
//! A tick that is handled before its time was made by a clock that was ahead: it creates nothing, and the next tick is computed anew.
//! Times that were created before are known by their names. A clock that is set forward misses the times that it jumps over. Times
//! within a pause create nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::time::Time;

use super::times::Times;

/// A time that is handled later than this was missed; where times are put off by a jitter, later than by that as well. Long enough for a restart, short beside what people schedule.
pub const GRACE: Duration = Duration::from_secs(60);
/// What was dropped is counted so far; who hears of ten thousand needs no exact number.
const COUNT_MAX: u64 = 10_000;

/// What becomes of times that were missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CatchUp {
    /// They are dropped.
    Skip,
    /// The latest of them stands for all.
    #[default]
    One,
    /// Each is made up for, oldest first, up to the schedule's bound.
    All,
}

/// From when to when a schedule was paused; without an end it still is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pause {
    pub from: Time,
    pub until: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub times: &'a Times,
    /// Where the schedule begins, if it says so.
    pub begins: Option<Time>,
    pub catch_up: CatchUp,
    pub pauses: &'a [Pause],
    /// The tick's own time.
    pub at: Time,
    pub now: Time,
    /// By how much a time may have been put off on purpose.
    pub jitter: Duration,
    /// How many of the missed may still be made up for.
    pub left: u32,
    /// How many one commit creates.
    pub room: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Due {
    /// Oldest first.
    pub make: Vec<Time>,
    pub next: Option<Next>,
    /// Missed and not made up for, as far as it was counted.
    pub dropped: u64,
}

/// The tick after this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    pub at: Time,
    /// Set when it carries on with what this one had no room for.
    pub left: Option<u32>,
}

pub(crate) fn due(asked: Asked<'_>) -> Due {
    let cut = asked.now.before(GRACE.saturating_add(asked.jitter));
    let on_time: Vec<Time> =
        asked.between(asked.at.max(cut), asked.now.after(Duration::from_micros(1))).collect();
    let made_up = match asked.catch_up {
        CatchUp::Skip => Vec::new(),
        CatchUp::One if !on_time.is_empty() => Vec::new(),
        CatchUp::One => Vec::from_iter(asked.latest(cut)),
        CatchUp::All => asked.between(asked.at, cut).take(asked.left as usize).collect(),
    };
    let mut make = made_up.clone();
    make.extend(on_time);
    if make.len() > asked.room {
        let rest = make.split_off(asked.room.max(1));
        let used = u32::try_from(made_up.len().min(make.len())).unwrap_or(u32::MAX);
        let left = Some(asked.left.saturating_sub(used));
        return Due { make, next: Some(Next { at: rest[0], left }), dropped: 0 };
    }
    let missed = asked.between(asked.at, cut).take(COUNT_MAX as usize).count() as u64;
    let next = match asked.begins.filter(|begins| *begins > asked.now) {
        Some(begins) => asked.times.from(begins),
        None => asked.times.after(asked.now),
    };
    let next = next.map(|at| Next { at, left: None });
    Due { make, next, dropped: missed.saturating_sub(made_up.len() as u64) }
}

impl Asked<'_> {
    /// From one moment on and before another.
    fn between(&self, from: Time, until: Time) -> impl Iterator<Item = Time> {
        let first = self.times.from(from);
        let all = std::iter::successors(first, |last| self.times.after(*last));
        all.take_while(move |time| *time < until).filter(|time| !self.is_paused(*time))
    }

    fn is_paused(&self, time: Time) -> bool {
        let within = |pause: &Pause| pause.from <= time && pause.until.is_none_or(|until| time < until);
        self.pauses.iter().any(within)
    }

    /// The last time before a moment, and not before the tick's own. Looked for in stretches that double, from the end:
    /// however long it was down, few times are walked through.
    fn latest(&self, before: Time) -> Option<Time> {
        let mut stretch = GRACE;
        let mut until = before;
        while until > self.at {
            let from = before.before(stretch).max(self.at);
            if let Some(last) = self.between(from, until).last() {
                return Some(last);
            }
            until = from;
            stretch = stretch.saturating_mul(2);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Time {
        text.parse().unwrap()
    }

    fn asked<'a>(times: &'a Times, catch_up: CatchUp, at: &str, now: &str) -> Asked<'a> {
        let (at, now, jitter) = (time(at), time(now), Duration::ZERO);
        Asked { times, begins: None, catch_up, pauses: &[], at, now, jitter, left: 100, room: 200 }
    }

    fn hourly() -> Times {
        Times::parse("0 * * * *", "UTC", Time::default()).unwrap()
    }

    fn shown(times: &[Time]) -> Vec<String> {
        times.iter().map(|time| time.to_string()[11..19].to_string()).collect()
    }

    // covers: K-36
    #[test]
    fn what_was_missed_follows_the_rule() {
        let times = hourly();
        // Three hours down, and not yet up on the hour.
        for (rule, made, dropped) in [
            (CatchUp::Skip, vec![], 4),
            (CatchUp::One, vec!["13:00:00"], 3),
            (CatchUp::All, vec!["10:00:00", "11:00:00", "12:00:00", "13:00:00"], 0),
        ] {
            let due = due(asked(&times, rule, "2026-01-01T10:00:00Z", "2026-01-01T13:10:00Z"));
            assert_eq!(
                (shown(&due.make), due.dropped),
                (made.iter().map(ToString::to_string).collect(), dropped)
            );
            assert_eq!(due.next, Some(Next { at: time("2026-01-01T14:00:00Z"), left: None }));
        }
        // With one on time the missed need no other.
        let on_time = due(asked(&times, CatchUp::One, "2026-01-01T10:00:00Z", "2026-01-01T13:00:59Z"));
        assert_eq!((shown(&on_time.make), on_time.dropped), (vec!["13:00:00".to_string()], 3));
        let skip = due(asked(&times, CatchUp::Skip, "2026-01-01T10:00:00Z", "2026-01-01T13:01:00Z"));
        assert_eq!(shown(&skip.make), ["13:00:00"], "to the very end of its grace it is on time");
        let late = due(asked(&times, CatchUp::Skip, "2026-01-01T10:00:00Z", "2026-01-01T13:01:00.000001Z"));
        assert_eq!(shown(&late.make), [""; 0]);
    }

    // covers: K-36
    #[test]
    fn a_time_that_was_put_off_on_purpose_is_on_time() {
        let times = hourly();
        let half = Duration::from_secs(1_800);
        for rule in [CatchUp::Skip, CatchUp::One, CatchUp::All] {
            let put_off =
                Asked { jitter: half, ..asked(&times, rule, "2026-01-01T10:00:00Z", "2026-01-01T10:29:59Z") };
            let due = due(put_off);
            assert_eq!((shown(&due.make), due.dropped), (vec!["10:00:00".to_string()], 0), "{rule:?}");
            assert_eq!(due.next, Some(Next { at: time("2026-01-01T11:00:00Z"), left: None }));
        }
        // What was missed by more than that was missed.
        for (rule, made, dropped) in [
            (CatchUp::Skip, vec![], 1),
            (CatchUp::One, vec!["10:00:00"], 0),
            (CatchUp::All, vec!["10:00:00"], 0),
        ] {
            let late = asked(&times, rule, "2026-01-01T10:00:00Z", "2026-01-01T10:31:01Z");
            let late = due(Asked { jitter: half, ..late });
            assert_eq!(
                (shown(&late.make), late.dropped),
                (made.iter().map(ToString::to_string).collect(), dropped)
            );
        }
    }

    #[test]
    fn all_is_bounded_and_says_what_it_dropped() {
        let times = hourly();
        let few =
            Asked { left: 3, ..asked(&times, CatchUp::All, "2026-01-01T00:00:00Z", "2026-01-01T10:30:00Z") };
        let few = due(few);
        assert_eq!(
            (shown(&few.make), few.dropped),
            (["00", "01", "02"].map(|hour| format!("{hour}:00:00")).into(), 8)
        );
        assert_eq!(few.next.unwrap().at, time("2026-01-01T11:00:00Z"));
        let seconds = Times::parse("* * * * * *", "UTC", Time::default()).unwrap();
        let year = asked(&seconds, CatchUp::Skip, "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
        assert_eq!((due(year).make.len(), due(year).dropped), (61, COUNT_MAX));
        let latest = due(asked(&hourly(), CatchUp::One, "2016-01-01T00:00:00Z", "2026-01-01T10:30:00Z"));
        assert_eq!(shown(&latest.make), ["10:00:00"]);
    }

    #[test]
    fn what_one_commit_has_no_room_for_is_carried_on() {
        let times = hourly();
        let mut asked = Asked {
            room: 2,
            left: 4,
            ..asked(&times, CatchUp::All, "2026-01-01T00:00:00Z", "2026-01-01T08:30:00Z")
        };
        let mut made = Vec::new();
        let mut dropped = 0;
        loop {
            let due = due(asked);
            assert!(due.make.len() <= 2);
            made.extend(shown(&due.make));
            dropped += due.dropped;
            let next = due.next.unwrap();
            let Some(left) = next.left else {
                assert_eq!(next.at, time("2026-01-01T09:00:00Z"));
                break;
            };
            asked = Asked { at: next.at, left, ..asked };
        }
        assert_eq!((made, dropped), (["00", "01", "02", "03"].map(|hour| format!("{hour}:00:00")).into(), 5));
    }

    #[test]
    fn times_within_a_pause_are_nobodys() {
        let times = hourly();
        let pauses = [
            Pause { from: time("2026-01-01T01:00:00Z"), until: Some(time("2026-01-01T03:00:00Z")) },
            Pause { from: time("2026-01-01T04:30:00Z"), until: None },
        ];
        let all = asked(&times, CatchUp::All, "2026-01-01T00:00:00Z", "2026-01-01T09:30:00Z");
        let all = due(Asked { pauses: &pauses, ..all });
        assert_eq!(
            (shown(&all.make), all.dropped),
            (["00", "03", "04"].map(|hour| format!("{hour}:00:00")).into(), 0)
        );
        let one = asked(&times, CatchUp::One, "2026-01-01T00:00:00Z", "2026-01-01T09:30:00Z");
        assert_eq!(shown(&due(Asked { pauses: &pauses, ..one }).make), ["04:00:00"]);
    }

    // covers: K-36
    #[test]
    fn a_clock_that_is_set_back_makes_nothing_twice() {
        let times = hourly();
        // 10:00 was created; then the clock shows 09:30. 10:00 comes again, and is known by its name.
        let back = due(asked(&times, CatchUp::All, "2026-01-01T11:00:00Z", "2026-01-01T09:30:00Z"));
        assert_eq!((back.make.len(), back.next.unwrap().at), (0, time("2026-01-01T10:00:00Z")));
    }

    // covers: K-17, K-36
    // fault: T8
    #[test]
    fn a_tick_of_a_clock_that_was_ahead_is_worked_out_anew() {
        let times = hourly();
        for rule in [CatchUp::Skip, CatchUp::One, CatchUp::All] {
            let ahead = asked(&times, rule, "2027-02-05T10:00:00Z", "2026-01-01T09:30:00Z");
            let next = Some(Next { at: time("2026-01-01T10:00:00Z"), left: None });
            assert_eq!(due(ahead), Due { make: Vec::new(), next, dropped: 0 }, "{rule:?}");
            let begins = Some(time("2026-03-01T00:00:00Z"));
            let next = Some(Next { at: time("2026-03-01T00:00:00Z"), left: None });
            assert_eq!(due(Asked { begins, ..ahead }).next, next, "{rule:?}: not before it begins");
        }
    }
}
