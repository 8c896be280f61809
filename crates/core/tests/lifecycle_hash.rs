//! A lifecycle's hash names what the table does: it changes with that, and with nothing else. Settings are part of it, in
//! a spelling that can be read again.

use core::time::Duration;

use proptest::prelude::*;
use tenure_core::hash::Hash;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::settings::{Backoff, Breaker, Coalesce, Limit, Rate, Settings};
use tenure_core::lifecycle::shipped::SHIPPED;

const EXPENSE: &str = include_str!("expense.md");

const SMALL: &str = "# small

## States

| State | Phase     | Meaning |
|-------|-----------|---------|
| OPEN  | waiting   | open    |
| SHUT  | succeeded | shut    |

## Transitions

| From | Event  | To   | Actor | Guard                |
|------|--------|------|-------|----------------------|
| —    | create | OPEN | api   |                      |
| OPEN | close  | SHUT | human | payload /amount <= 5 |
";

fn hash(source: &str) -> Hash {
    parse(source).unwrap_or_else(|faults| panic!("{faults:#?}")).hash()
}

/// The hash after one replacement, which must apply.
fn hash_with(source: &str, from: &str, to: &str) -> Hash {
    assert!(source.contains(from), "{from}");
    hash(&source.replace(from, to))
}

/// Items keep the hash of their table for life. If this fails, every stored table has become a stranger.
#[test]
fn the_hash_of_a_table_stays_what_it_is() {
    let canonical = "kind small\n\
        state OPEN waiting\n\
        state SHUT succeeded\n\
        row — create → OPEN [api; ] {}\n\
        row OPEN close → SHUT [human; payload /amount <= 5] {}\n";
    assert_eq!(hash(SMALL), Hash::of(canonical.as_bytes()));
    assert_eq!(hash(SMALL).to_string(), "0279a518685d8d711f7c20e79217efe2ccfac60607aff56649451d9a00cd8cfd");
    let settings = "\n## Settings\n\n| Setting | Value |\n|---|---|\n| priority | 7 |\n| lease | 90 s |\n";
    let canonical = format!("{canonical}setting lease 90 s\nsetting priority 7\n");
    assert_eq!(hash(&format!("{SMALL}{settings}")), Hash::of(canonical.as_bytes()));
}

#[test]
fn prose_and_layout_do_not_change_the_hash() {
    for (from, to) in [
        ("open    |", "not shut, and therefore open |"),
        ("# small\n", "# small\n\nA word about it.\n"),
        ("\n## Transitions\n", "\nMore about states.\n\n## Notes\n\nNone.\n\n## Transitions\n"),
        ("| OPEN | close  | SHUT |", "| `OPEN` | **close** | SHUT |"),
        ("| —    |", "| - |"),
        ("\n", "\r\n"),
    ] {
        assert_eq!(hash_with(SMALL, from, to), hash(SMALL), "{from:?}");
    }
    let settings = "\n## Settings\n\n| Setting | Value |\n|---|---|\n| lease | 1 min |\n| attempts | 5 |\n";
    assert_eq!(hash(&format!("{SMALL}{settings}")), hash(SMALL), "defaults that are spelt out");
}

#[test]
fn whatever_the_table_does_changes_the_hash() {
    let changes = [
        ("# small", "# smaller"),
        ("| OPEN  | waiting", "| OPEN  | ready"),
        ("| human |", "| human/worker |"),
        ("payload /amount <= 5", "payload /amount < 5"),
        ("payload /amount <= 5", ""),
        ("close  |", "close as shut |"),
        ("| OPEN | close  | SHUT |", "| OPEN | close | ! NOT_NOW |"),
    ];
    let mut hashes: Vec<Hash> = changes.iter().map(|(from, to)| hash_with(SMALL, from, to)).collect();
    hashes.push(hash(SMALL));
    hashes.push(hash_with(EXPENSE, "attempts      | 3", "attempts      | 4"));
    hashes.push(hash_with(EXPENSE, "record transfer", "record transfers"));
    hashes.push(hash_with(EXPENSE, "\"exclusiveMinimum\": 0", "\"exclusiveMinimum\": 1"));
    hashes.push(hash(EXPENSE));
    hashes.extend(SHIPPED.iter().map(|shipped| hash(shipped.source)));
    let count = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), count, "two different tables have one hash");
}

/// Reads settings back from their canonical lines.
fn read_back(canonical: &str) -> Settings {
    let mut settings = Settings::default();
    for line in canonical.lines() {
        let name =
            Settings::names().find(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
        let name = name.unwrap_or_else(|| panic!("{line} names no setting"));
        settings.set(name, &line[name.len()..]).unwrap_or_else(|why| panic!("{line}: {why:?}"));
    }
    settings
}

#[test]
fn the_default_settings_are_not_worth_a_word() {
    assert_eq!(Settings::default().canonical(), "");
}

#[test]
fn the_settings_of_every_file_are_read_back_from_what_is_written() {
    for source in SHIPPED.iter().map(|shipped| shipped.source).chain([EXPENSE]) {
        let settings = parse(source).unwrap().settings;
        assert_eq!(read_back(&settings.canonical()), settings);
    }
}

/// A span from one number of milliseconds to another; often a round one.
fn span(least: u64, most: u64) -> impl Strategy<Value = Duration> {
    let units = prop_oneof![Just(1), Just(1_000), Just(60_000), Just(3_600_000)];
    (least..=most, units)
        .prop_map(move |(length, unit)| Duration::from_millis((length / unit * unit).clamp(least, most)))
}

const SECOND: u64 = 1_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;

fn rate() -> impl Strategy<Value = Rate> {
    (1..=1_000_000u32, span(SECOND, DAY)).prop_map(|(count, per)| Rate { count, per })
}

fn limit<T: Clone + core::fmt::Debug>(
    part: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Limit<T>> {
    let side = proptest::option::of(part);
    (side.clone(), side).prop_map(|(kind, key)| Limit { kind, key })
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let leases = (span(SECOND, HOUR), span(SECOND, HOUR));
    let backoff = (span(1, DAY), span(1, DAY));
    let breaker = (1..=1_000_000u32, span(SECOND, DAY), span(SECOND, DAY));
    let times = (
        leases,
        proptest::option::of(span(SECOND, 30 * DAY)),
        proptest::option::of(1..=1_000u32),
        proptest::option::of(1..=10_000u32),
        backoff,
        proptest::option::of(span(60 * SECOND, 3_650 * DAY)),
        span(0, DAY),
    );
    let coalesce = prop_oneof![Just(Coalesce::No), Just(Coalesce::Ready), Just(Coalesce::Unfinished)];
    let names = (
        proptest::option::of(prop_oneof![Just("/a"), Just("/a b/~0~1/0"), Just("/grün")]),
        coalesce,
        any::<bool>(),
        -100..=100i8,
        proptest::option::of(Just("EVENT")),
    );
    let limits = (
        limit(1..=1_000_000u32),
        (rate(), rate(), any::<(bool, bool)>()),
        proptest::option::of(rate()),
        proptest::option::of(breaker),
    );
    (times, names, limits).prop_map(|(times, names, limits)| {
        let ((lease, lease_max), window, attempts, interruptions, (first, most), retention, head_start) =
            times;
        let (key, coalesce, derived, priority, resource_type) = names;
        let (concurrency, (kind_rate, key_rate, (has_kind, has_key)), retry_budget, breaker) = limits;
        Settings {
            lease: lease.min(lease_max),
            lease_max,
            window,
            attempts,
            interruptions,
            backoff: Backoff { first: first.min(most), most },
            key: key.map(String::from),
            coalesce,
            derived,
            concurrency: Limit { key: concurrency.key.map(|count: u32| count.min(1_000)), ..concurrency },
            rate: Limit { kind: has_kind.then_some(kind_rate), key: has_key.then_some(key_rate) },
            retry_budget,
            breaker: breaker.map(|(failures, within, pause)| Breaker { failures, within, pause }),
            retention,
            priority,
            head_start,
            resource_type: resource_type.map(|name| name.parse().unwrap()),
        }
    })
}

proptest! {
    #[test]
    fn settings_are_read_back_from_what_is_written(settings in any_settings()) {
        prop_assert_eq!(read_back(&settings.canonical()), settings);
    }
}
