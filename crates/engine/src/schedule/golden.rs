//! Ten years of five zones, pinned: what clocks that change, leap days and last Fridays do to the times of a schedule.
//!
//! `UPDATE_GOLDEN=1` rewrites the page; look at it before committing. The page shows what is odd (the days on which clocks change)
//! and a hash of everything else, so that a new version of the calendar or of the zones is noticed.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tenure_core::hash::Hash;
use tenure_core::time::Time;

use super::times::Times;

/// North and south, half an hour of summer time, a change at midnight, and none at all.
const ZONES: [&str; 5] =
    ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata"];
/// In the hour that is missing or comes twice, around it, at midnight, every half hour, leap days, last Fridays, each month's last.
const EXPRESSIONS: [&str; 8] = [
    "30 2 * * *",
    "15 1 * * *",
    "0 0 * * *",
    "*/30 * * * *",
    "0 12 29 2 *",
    "0 9 * * FRI#L",
    "0 23 L * *",
    "0 1-3 * * SUN",
];

const FROM: &str = "2020-01-01T00:00:00Z";
const UNTIL: &str = "2030-01-01T00:00:00Z";
const DAY: Duration = Duration::from_secs(24 * 3600);

fn time(text: &str) -> Time {
    text.parse().unwrap()
}

fn local(time: Time, zone: &TimeZone) -> jiff::Zoned {
    Timestamp::from_microsecond(time.micros()).unwrap().to_zoned(zone.clone())
}

/// When the clocks of a zone change.
fn changes(zone: &TimeZone, from: Time, until: Time) -> Vec<Time> {
    let from = Timestamp::from_microsecond(from.micros()).unwrap();
    let following = zone.following(from).map(|change| Time::from_micros(change.timestamp().as_microsecond()));
    following.take_while(|at| *at < until).collect()
}

fn between(times: &Times, from: Time, until: Time) -> Vec<Time> {
    let all = std::iter::successors(times.from(from), |last| times.after(*last));
    all.take_while(|time| *time < until).collect()
}

/// All times of ten years; of what comes every half hour, those around the changes.
fn ten_years(times: &Times, expression: &str, changes: &[Time]) -> Vec<Time> {
    match expression {
        "*/30 * * * *" => {
            changes.iter().flat_map(|change| between(times, change.before(DAY), change.after(DAY))).collect()
        }
        _ => between(times, time(FROM), time(UNTIL)),
    }
}

fn page() -> String {
    let mut page = String::new();
    for name in ZONES {
        let zone = TimeZone::get(name).unwrap();
        let changes = changes(&zone, time(FROM), time(UNTIL));
        for expression in EXPRESSIONS {
            let times = Times::parse(expression, name, time(FROM)).unwrap();
            let all = ten_years(&times, expression, &changes);
            assert!(
                all.is_sorted_by(|one, next| one < next),
                "{name} {expression}: each time once, in order"
            );
            assert!(
                all.iter().all(|time| time.micros() % 1_000_000 == 0),
                "{name} {expression}: whole seconds"
            );
            let text: Vec<String> = all.iter().map(ToString::to_string).collect();
            let hash = Hash::of(text.join("\n").as_bytes()).to_string();
            let _ = writeln!(page, "{name} | {expression} | {} times | {}", all.len(), &hash[..16]);
            for day in
                changes.iter().map(|change| local(*change, &zone).date()).filter(|day| day.year() <= 2020)
            {
                let on_it = all.iter().map(|time| local(*time, &zone)).filter(|local| local.date() == day);
                let shown: Vec<String> = on_it.map(|local| local.strftime("%H:%M%:z").to_string()).collect();
                if !shown.is_empty() {
                    let _ = writeln!(page, "    {day}: {}", shown.join(" "));
                }
            }
        }
    }
    page
}

// covers: K-36
#[test]
fn ten_years_of_five_zones_are_as_they_were() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schedule/golden.txt");
    let found = page();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(found.lines()).find(|(kept, found)| kept != found);
    assert!(kept == found, "the times have changed; review and rewrite with UPDATE_GOLDEN=1\n{differs:?}");
}

// covers: K-36
#[test]
fn one_time_of_the_day_comes_once_a_day_whatever_clocks_do() {
    let (from, until) = (time("2020-01-01T12:00:00Z"), time("2030-01-01T12:00:00Z"));
    for name in ZONES {
        let zone = TimeZone::get(name).unwrap();
        let first_day = local(from, &zone).date();
        for expression in ["30 2 * * *", "0 0 * * *", "15 1 * * *"] {
            let times = Times::parse(expression, name, from).unwrap();
            let all = std::iter::successors(times.after(from), |last| times.after(*last));
            let mut day = first_day;
            for time in all.take_while(|time| *time < until) {
                let found = local(time, &zone).date();
                assert!(
                    found == day || found == day.tomorrow().unwrap(),
                    "{name} {expression} skips {day}: {found}"
                );
                assert!(found != day || day == first_day, "{name} {expression} comes twice on {day}");
                day = found;
            }
            let last = local(until, &zone).date();
            assert!(day == last || day == last.yesterday().unwrap(), "{name} {expression} ends on {day}");
        }
    }
}

/// However it is asked, from any moment on, the same times are found.
#[test]
fn a_time_is_found_from_every_moment_before_it() {
    for name in ZONES {
        for expression in EXPRESSIONS {
            let times = Times::parse(expression, name, Time::default()).unwrap();
            // Over a change of clocks in the north and one in the south.
            for start in [
                "2020-03-07T00:00:00Z",
                "2020-03-28T12:00:00Z",
                "2020-09-05T12:00:00Z",
                "2020-10-24T12:00:00Z",
            ] {
                let start = time(start);
                let next = times.after(start).unwrap();
                let mut moment = start;
                while moment < next {
                    assert_eq!(times.after(moment), Some(next), "{name} {expression} after {moment}");
                    moment = moment.after(Duration::from_secs(1_799));
                    if moment.since(start) > Duration::from_secs(3 * 24 * 3600) {
                        break;
                    }
                }
                assert_eq!(times.from(next), Some(next));
            }
        }
    }
}
