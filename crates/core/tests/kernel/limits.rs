//! Limits: no more run, and no more start, than a kind, a key, an operator, a budget or a breaker allows; and nothing starves.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tenure_core::answer::{Answer, Granted};
use tenure_core::control::{Bound, Control, QueueKey};
use tenure_core::draw::Draw;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::lifecycle::Phase;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::settings::Rate;
use tenure_core::request::*;
use tenure_core::time::Time;

use crate::kit::*;
use crate::limited::limited;

fn bench(settings: &[(&str, &str)]) -> Bench {
    Bench::with(&limited("task", settings))
}

/// Leases on what is next, started.
fn lease(bench: &mut Bench, actor: &str, max: usize) -> Vec<Granted> {
    bench.offer("task");
    let terms = Terms { start: true, ..Terms::default() };
    match bench.ask(actor, Command::Acquire(Acquire { kinds: vec!["task".parse().unwrap()], max, terms })) {
        Answer::Leased(leases) => leases,
        other => panic!("not leased: {other:?}"),
    }
}

fn of_key(key: &str) -> Create {
    Create { key: Some(key.parse().unwrap()), ..new("task", "{}") }
}

fn tasks(bench: &mut Bench, count: usize) -> Vec<ItemId> {
    (0..count).map(|_| bench.create("api:t", "task", "{}")).collect()
}

fn order(what: What) -> Command {
    Command::Control(Order { kind: "task".parse().unwrap(), what, reason: "a test".to_string() })
}

fn control(bench: &Bench) -> Control {
    let key = QueueKey { store: bench.store.parse().unwrap(), kind: "task".parse().unwrap() };
    bench.world.controls.get(&key).cloned().unwrap_or_default()
}

/// What a take is held back by.
fn held_back(bench: &mut Bench, item: ItemId) -> (Bound, Option<Time>) {
    match bench.decide("worker:a/1", take(item)).answer {
        Answer::Limited(held) => (held.by, held.until),
        other => panic!("not held back: {other:?}"),
    }
}

// covers: K-38
#[test]
fn a_kind_runs_no_more_at_once_than_it_may_and_every_end_makes_room() {
    let mut bench = bench(&[("concurrency", "3")]);
    let items = tasks(&mut bench, 10);
    let leases = lease(&mut bench, "worker:a/1", 10);
    assert_eq!(leases.len(), 3);
    assert_eq!(lease(&mut bench, "worker:b/1", 10), []);
    assert_eq!(held_back(&mut bench, items[9]), (Bound::Concurrency(3), None));
    assert_eq!(bench.refusal("worker:a/1", take(items[9])), "RATE_LIMITED");
    for (end, execution) in [commit, release, fail].iter().zip(&leases) {
        assert!(bench.ask("worker:a/1", end(execution.execution)).is_yes());
        assert_eq!(lease(&mut bench, "worker:b/1", 10).len(), 1, "a slot was free");
    }
    // A worker that dies gives its slots back when its leases end.
    let held: Vec<ItemId> = bench.world.items.values().filter(|i| i.lease.is_some()).map(|i| i.id).collect();
    assert_eq!(held.len(), 3);
    bench.wait(seconds(61));
    held.into_iter().for_each(|item| assert!(bench.sweep(item).is_yes()));
    assert_eq!(lease(&mut bench, "worker:b/1", 10).len(), 3);
}

// covers: K-38
#[test]
fn a_key_runs_no_more_at_once_than_it_may_and_holds_no_other_back() {
    let mut bench = bench(&[("concurrency", "2 per key")]);
    for key in ["a", "a", "a", "a", "b", "b", "b"] {
        bench.created("api:t", of_key(key));
    }
    let free = bench.create("api:t", "task", "{}");
    let leases = lease(&mut bench, "worker:a/1", 100);
    let keys: Vec<Option<&str>> = leases.iter().map(|lease| lease.item.key.as_deref()).collect();
    assert_eq!(keys, [Some("a"), Some("a"), Some("b"), Some("b"), None], "without a key there is no limit");
    assert_eq!(leases[4].item.id, free);
    let waiting = bench.world.items.values().find(|item| item.phase() == Phase::Ready).unwrap().id;
    assert_eq!(held_back(&mut bench, waiting), (Bound::KeyConcurrency(2), None));
    bench.ask("worker:a/1", commit(leases[0].execution));
    let next = lease(&mut bench, "worker:a/1", 100);
    assert_eq!(next.iter().map(|lease| lease.item.key.as_deref()).collect::<Vec<_>>(), [Some("a")]);
}

// covers: K-38
#[test]
fn a_kind_and_a_key_start_no_more_than_their_rates_allow() {
    let mut bench = bench(&[("rate", "5 per 10 s, 2 per key per 10 s")]);
    for key in ["a", "a", "a", "b", "b", "b", "c", "c", "c"] {
        bench.created("api:t", of_key(key));
    }
    assert_eq!(lease(&mut bench, "worker:a/1", 100).len(), 5);
    let last = *bench.world.items.keys().last().unwrap();
    let (bound, until) = held_back(&mut bench, last);
    assert_eq!(bound, Bound::Rate(Rate { count: 5, per: seconds(10) }));
    let first = *bench.world.items.keys().nth(2).unwrap();
    assert!(matches!(held_back(&mut bench, first).0, Bound::KeyRate(_)));
    bench.wait(seconds(10));
    assert_eq!(lease(&mut bench, "worker:a/1", 100), [], "the bucket's end has not left");
    bench.world.now = until.expect("it says when");
    assert_eq!(lease(&mut bench, "worker:a/1", 100).len(), 4);
}

// covers: K-38, K-07
#[test]
fn an_operator_pauses_resumes_and_limits_a_kind() {
    let mut bench = bench(&[]);
    for actor in ["api:t", "worker:a/1", "orchestrator:o", "system:engine"] {
        assert_eq!(bench.refusal(actor, order(What::Pause)), "FORBIDDEN", "{actor}");
    }
    let items = tasks(&mut bench, 4);
    let before = lease(&mut bench, "worker:a/1", 1);
    assert!(bench.ask("human:ops", order(What::Pause)).is_yes());
    let paused = control(&bench);
    let said = paused.pause.clone().unwrap();
    assert_eq!((said.by.to_string().as_str(), said.at, said.why.as_str()), ("human:ops", START, "a test"));
    bench.wait(seconds(1));
    assert_eq!(bench.decide("admin:root", order(What::Pause)).changes, [], "it is paused already");
    assert_eq!(lease(&mut bench, "worker:a/1", 4), []);
    assert_eq!(held_back(&mut bench, items[3]), (Bound::Paused, None));
    // What is held goes on, and work is created.
    assert!(bench.ask("worker:a/1", commit(before[0].execution)).is_yes());
    tasks(&mut bench, 1);
    bench.ask("admin:root", order(What::Resume));
    assert_eq!(control(&bench), Control::default());
    let two = What::Limit { concurrency: Some(2), rate: None };
    bench.ask("admin:root", order(two));
    assert_eq!(lease(&mut bench, "worker:a/1", 4).len(), 2);
    assert_eq!(bench.decide("human:ops", order(two)).changes, []);
    bench.ask("admin:root", order(What::Limit { concurrency: None, rate: None }));
    assert_eq!(lease(&mut bench, "worker:a/1", 4).len(), 2, "the lifecycle has no limit");
    let none = What::Limit { concurrency: Some(0), rate: None };
    assert_eq!(bench.refusal("admin:root", order(none)), "INVALID_REQUEST");
}

/// Every attempt of twenty items fails. Answers when attempts began in a minute and a half, retries and all.
fn storm(settings: &[(&str, &str)]) -> (Vec<Time>, Vec<Time>, Control) {
    let mut bench = bench(&[&[("backoff", "1 s"), ("attempts", "unlimited")], settings].concat());
    tasks(&mut bench, 20);
    let (mut starts, mut retries) = (Vec::new(), Vec::new());
    for _ in 0..360 {
        for lease in lease(&mut bench, "worker:a/1", 100) {
            starts.push(bench.world.now);
            retries.extend((lease.item.failures > 0).then_some(bench.world.now));
            bench.ask("worker:a/1", fail(lease.execution));
        }
        bench.wait(seconds(1) / 4);
    }
    (starts, retries, control(&bench))
}

fn most_in(times: &[Time], span: std::time::Duration) -> usize {
    let within =
        |from: &Time| times.iter().filter(|time| **time >= *from && **time < from.after(span)).count();
    times.iter().map(within).max().unwrap_or(0)
}

// FM_003: one failing dependency makes everything try again and again.
// covers: J-05, K-38, K-55
#[test]
fn fm_003_a_retry_storm_is_prevented_by_the_budget_and_by_the_breaker() {
    let (starts, retries, calm) = storm(&[]);
    assert!(most_in(&retries, seconds(10)) > 100, "without them it rages: {}", starts.len());
    assert_eq!((calm.trips, calm.deferred), (0, 0));

    let (starts, retries, seen) = storm(&[("retry budget", "5 per 10 s")]);
    assert!(most_in(&retries, seconds(10)) <= 5, "five may become due in ten seconds");
    assert!(starts.len() <= 20 + 5 * 9, "{}", starts.len());
    assert!(retries.len() >= 5 * 8, "the budget is used: {}", retries.len());
    assert!(seen.deferred > 0, "and it shows");

    let (starts, _, seen) = storm(&[("breaker", "10 failures in 1 min, pause 30 s")]);
    // Ten failures open it (all twenty had been leased by then); then one probe after every pause.
    assert!(starts.len() <= 20 + 3, "{}", starts.len());
    assert!(seen.trips >= 2 && seen.trip.is_some(), "and it shows: {seen:?}");
}

// covers: J-05
#[test]
fn a_breaker_lets_one_probe_through_and_closes_when_it_succeeds() {
    let mut bench = bench(&[("breaker", "2 failures in 1 min, pause 30 s"), ("backoff", "1 s")]);
    tasks(&mut bench, 6);
    let leases = lease(&mut bench, "worker:a/1", 2);
    for lease in &leases {
        bench.ask("worker:a/1", fail(lease.execution));
    }
    assert_eq!(lease(&mut bench, "worker:a/1", 6), []);
    let until = START.after(seconds(30));
    let any = *bench.world.items.keys().last().unwrap();
    assert_eq!(held_back(&mut bench, any), (Bound::Breaker, Some(until)));
    bench.world.now = until;
    let probe = lease(&mut bench, "worker:a/1", 6);
    assert_eq!(probe.len(), 1, "one is let through");
    assert_eq!(lease(&mut bench, "worker:a/1", 6), [], "and no second");
    // Given back, it has answered nothing: another one.
    bench.ask("worker:a/1", release(probe[0].execution));
    let probe = lease(&mut bench, "worker:a/1", 6);
    assert_eq!(probe.len(), 1);
    bench.ask("worker:a/1", fail(probe[0].execution));
    assert_eq!(lease(&mut bench, "worker:a/1", 6), [], "it failed: open again");
    bench.wait(seconds(30));
    let probe = lease(&mut bench, "worker:a/1", 6);
    assert_eq!(probe.len(), 1);
    bench.ask("worker:a/1", commit(probe[0].execution));
    assert_eq!(lease(&mut bench, "worker:a/1", 6).len(), 5, "it works again");
    assert_eq!((control(&bench).trip, control(&bench).trips), (None, 2));
}

fn take_started(item: ItemId) -> Command {
    Command::Take(Take { item, terms: Terms { start: true, ..Terms::default() } })
}

/// What is never exceeded, by counting.
fn within_limits(bench: &Bench, starts: &[(Time, Option<String>)]) {
    let held: Vec<_> = bench.world.items.values().filter(|item| item.lease.is_some()).collect();
    assert!(held.len() <= 4, "four of the kind run");
    let mut keys: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    held.iter().for_each(|item| *keys.entry(item.key.as_deref()).or_default() += 1);
    assert!(keys.iter().all(|(key, held)| key.is_none() || *held <= 2), "two of a key run: {keys:?}");
    let times: Vec<Time> = starts.iter().map(|(at, _)| *at).collect();
    assert!(most_in(&times, seconds(5)) <= 6, "six of the kind start in five seconds");
    for key in ["a", "b", "c"] {
        let of_key = |(at, of): &(Time, Option<String>)| (of.as_deref() == Some(key)).then_some(*at);
        let times: Vec<Time> = starts.iter().filter_map(of_key).collect();
        assert!(most_in(&times, seconds(5)) <= 3, "three of {key} start in five seconds");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    // covers: K-38
    #[test]
    fn whatever_happens_no_limit_is_exceeded_and_nothing_starves(seed in any::<u64>()) {
        let limits = [("concurrency", "4, 2 per key"), ("rate", "6 per 5 s, 3 per key per 5 s"),
            ("retry budget", "4 per 5 s"), ("breaker", "9 failures in 10 s, pause 5 s"),
            ("attempts", "unlimited"), ("lease", "5 s")];
        let mut bench = bench(&limits);
        let mut dice = Draw::new(seed);
        let mut starts: Vec<(Time, Option<String>)> = Vec::new();
        for step in 0..400 {
            let held: Vec<ExecutionId> =
                bench.world.items.values().filter(|i| i.lease.is_some()).map(|i| i.execution_id()).collect();
            let ready: Vec<ItemId> =
                bench.world.items.values().filter(|i| i.phase() == Phase::Ready).map(|i| i.id).collect();
            let pick = |from: &[ExecutionId], dice: &mut Draw| from.get(dice.number() as usize % from.len().max(1)).copied();
            // In the end nothing new comes, and nothing fails: all of it must get done.
            let verb = if step < 250 { dice.number() % 10 } else { [3, 4, 5, 9][dice.number() as usize % 4] };
            let mut leased: Vec<ItemId> = Vec::new();
            match verb {
                0..=2 => {
                    let key = ["a", "b", "c"].get(dice.number() as usize % 4);
                    let create = key.map_or(new("task", "{}"), |key| of_key(key));
                    bench.created("api:t", create);
                }
                3 | 4 => leased = lease(&mut bench, "worker:a/1", 5).iter().map(|l| l.execution.item).collect(),
                5 => if let Some(held) = pick(&held, &mut dice) {
                    // Its lease may have ended: then that is the answer.
                    bench.ask("worker:a/1", commit(held));
                },
                6 => if let Some(held) = pick(&held, &mut dice) { bench.ask("worker:a/1", fail(held)); },
                7 => if let Some(held) = pick(&held, &mut dice) { bench.sweep(held.item); },
                8 => if let Some(item) = ready.get(dice.number() as usize % ready.len().max(1))
                    && bench.ask("worker:a/1", take_started(*item)).is_yes() { leased.push(*item); },
                _ => bench.wait(std::time::Duration::from_millis(dice.number() % 3_000)),
            }
            let now = bench.world.now;
            starts.extend(leased.iter().map(|id| (now, bench.item(*id).key.as_ref().map(|key| key.to_string()))));
            within_limits(&bench, &starts);
        }
        for _ in 0..2_000 {
            for item in bench.world.items.keys().copied().collect::<Vec<_>>() {
                bench.sweep(item);
            }
            for lease in lease(&mut bench, "worker:a/1", 5) {
                starts.push((bench.world.now, lease.item.key.as_ref().map(|key| key.to_string())));
                within_limits(&bench, &starts);
                bench.ask("worker:a/1", commit(lease.execution));
            }
            bench.wait(seconds(1));
            if bench.world.items.values().all(|item| item.phase().is_ended()) {
                break;
            }
        }
        let left = bench.world.items.values().filter(|item| !item.phase().is_ended()).count();
        prop_assert_eq!(left, 0, "nothing starves");
        let leases = bench.world.entries.values().filter(|entry| entry.action == Event::Lease).count();
        prop_assert_eq!(leases, starts.len());
    }
}
