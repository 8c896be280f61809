//! Paces: a rate holds in every span, however it is laid, and never holds back what would fit in a slightly longer one.

use std::time::Duration;

use proptest::prelude::*;
use tenure_core::lifecycle::settings::Rate;
use tenure_core::pace::{BUCKETS_MAX, Pace};
use tenure_core::time::Time;

use crate::kit::START;

fn at(micros: u64) -> Time {
    START.after(Duration::from_micros(micros))
}

/// The most that happened in any span of this length, by a plain list of times.
fn most_in_any_span(times: &[Time], per: Duration) -> usize {
    let within =
        |from: &Time| times.iter().filter(|time| **time >= *from && **time < from.after(per)).count();
    times.iter().map(within).max().unwrap_or(0)
}

fn rates() -> impl Strategy<Value = Rate> {
    (1_u32..20, prop_oneof![Just(1_000_u64), Just(1_003), Just(60_000), Just(86_400_000)])
        .prop_map(|(count, millis)| Rate { count, per: Duration::from_millis(millis) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    // covers: K-38
    #[test]
    fn what_starts_under_a_rate_is_within_it_in_every_span(
        rate in rates(),
        waits in proptest::collection::vec((0_u64..64, 0_u64..40_000), 1..300),
    ) {
        let (mut pace, mut now, mut started) = (Pace::default(), 0, Vec::new());
        for (parts, fine) in waits {
            now += parts * rate.per.as_micros() as u64 / 64 + fine;
            let room = pace.room(rate, at(now));
            prop_assert_eq!(room == 0, pace.next(rate, at(now)) > at(now));
            if room > 0 {
                pace.forget(at(now));
                pace.take(rate.per, at(now));
                started.push(at(now));
            } else {
                // Refused with reason: a span that is a sixty-fourth longer, and its own bucket, is full.
                let longer = rate.per + rate.per / 64 + rate.per / 64 + Duration::from_micros(130);
                let from = at(now).before(longer);
                let lately = started.iter().filter(|time| **time > from).count();
                prop_assert!(lately >= rate.count as usize, "{lately} started and more was refused");
                let next = pace.next(rate, at(now));
                prop_assert!(pace.room(rate, next) > 0);
                prop_assert_eq!(pace.more_at(rate, at(now)).map(|more| more <= next), Some(true));
            }
        }
        prop_assert!(most_in_any_span(&started, rate.per) <= rate.count as usize);
        prop_assert!(pace.buckets.len() <= 65);
        let over = pace.over_at().unwrap();
        pace.forget(over);
        prop_assert_eq!(pace, Pace::default());
    }

    // covers: K-38
    #[test]
    fn what_is_reserved_for_later_is_within_the_rate_too(
        rate in rates(),
        wanted in proptest::collection::vec(0_u64..3_000, 1..400),
    ) {
        let (mut pace, mut times) = (Pace::default(), Vec::new());
        for parts in wanted {
            let wanted = at(parts * rate.per.as_micros() as u64 / 640);
            let given = pace.next(rate, wanted);
            prop_assert!(given >= wanted);
            pace.take(rate.per, given);
            times.push(given);
        }
        prop_assert!(most_in_any_span(&times, rate.per) <= rate.count as usize);
        prop_assert!(pace.buckets.len() <= BUCKETS_MAX);
    }

    // covers: K-38
    #[test]
    fn another_rate_keeps_what_was_known(
        first in rates(),
        second in rates(),
        count in 1_u32..20,
    ) {
        let mut pace = Pace::default();
        (0..count).for_each(|_| pace.take(first.per, START));
        // What has just happened is within every span that ends now.
        prop_assert_eq!(pace.room(second, START), second.count.saturating_sub(count));
        prop_assert!(pace.count(second.per, START) >= count);
    }
}

#[test]
fn a_storm_of_reservations_stays_small_and_in_time() {
    let rate = Rate { count: 1, per: Duration::from_secs(1) };
    let mut pace = Pace::default();
    let mut times: Vec<Time> = Vec::new();
    for _ in 0..1_000 {
        let given = pace.next(rate, START);
        pace.take(rate.per, given);
        times.push(given);
    }
    assert!(times.is_sorted() && pace.buckets.len() <= BUCKETS_MAX);
    assert_eq!(most_in_any_span(&times, rate.per), 1);
    // A thousand a second apart, a sixty-fourth more for each.
    assert!(*times.last().unwrap() <= START.after(Duration::from_secs(1_016)));
}
