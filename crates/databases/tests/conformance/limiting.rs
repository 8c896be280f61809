//! Limits on every database: of kinds and of keys, of what runs and of what starts, an operator's, a budget's and a breaker's.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::answer::{Answer, Granted};
use tenure_core::control::{Bound, Control, QueueKey};
use tenure_core::id::ItemId;
use tenure_core::lifecycle::Phase;
use tenure_core::request::{Command, Create, Order, Terms, What};
use tenure_core::time::Time;
use tenure_databases::Database;

use crate::harness::{Bench, Harness};
use crate::limited::limited;
use crate::requests::{
    acquire_with, commit, create, fail, ids, in_store, leases, new, release, request, store, sweep, take,
};

async fn add<H: Harness>(bench: &Bench<H>, settings: &[(&str, &str)]) {
    bench.database().add_table(&limited("task", settings)).await.unwrap();
}

fn of_key(key: &str) -> Create {
    Create { key: Some(key.parse().unwrap()), ..new("task", "{}") }
}

async fn tasks<H: Harness>(bench: &Bench<H>, count: usize) -> Vec<ItemId> {
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(bench.create(new("task", "{}")).await);
        bench.tick();
    }
    items
}

fn order(kind: &str, what: What) -> Command {
    Command::Control(Order { kind: kind.parse().unwrap(), what, reason: "a test".to_string() })
}

async fn control<H: Harness>(bench: &Bench<H>, kind: &str) -> (Control, u32) {
    let key = QueueKey { store: store(), kind: kind.parse().unwrap() };
    bench.database().control(&key).await.unwrap()
}

/// Leases that are started at once.
fn acquire(kinds: &[&str], max: usize) -> Command {
    acquire_with(kinds, max, Terms { start: true, ..Terms::default() })
}

async fn lease<H: Harness>(bench: &Bench<H>, actor: &str, kinds: &[&str], max: usize) -> Vec<Granted> {
    leases(bench.ask(actor, acquire(kinds, max)).await)
}

async fn refused_by<H: Harness>(bench: &Bench<H>, item: ItemId) -> Bound {
    match bench.ask("worker:x/1", take(item)).await {
        Answer::Limited(held) => held.by,
        other => panic!("not held back: {other:?}"),
    }
}

/// How many run, of the kind and of its fullest key, by the rows themselves.
async fn running<H: Harness>(bench: &Bench<H>) -> (usize, usize) {
    let mut keys: BTreeMap<Option<String>, usize> = BTreeMap::new();
    let items = bench.items().await;
    let held: Vec<_> = items.iter().filter(|item| item.phase() == Phase::Active).collect();
    for item in &held {
        *keys.entry(item.key.as_ref().map(|key| key.to_string())).or_default() += 1;
    }
    (held.len(), keys.values().copied().max().unwrap_or(0))
}

pub async fn a_kind_runs_no_more_at_once_than_it_may<H: Harness>(bench: &Bench<H>) {
    add(bench, &[("concurrency", "3")]).await;
    let items = tasks(bench, 9).await;
    let reply = bench.reply(request("worker:a/1", acquire(&["task"], 9))).await;
    assert_eq!(
        reply.held_back.as_ref().map(|held| (held.by, held.until)),
        Some((Bound::Concurrency(3), None))
    );
    let held = leases(reply.answer);
    assert_eq!(ids(&held), items[..3]);
    assert_eq!(refused_by(bench, items[8]).await, Bound::Concurrency(3));
    assert_eq!(control(bench, "task").await, (Control::default(), 3));
    // What ends in a batch makes room for what the same batch leases.
    let batch = [
        request("worker:a/1", commit(held[0].execution)),
        request("worker:b/1", acquire(&["task"], 2)),
        request("worker:c/1", acquire(&["task"], 2)),
    ];
    let replies = bench.batch(&batch).await;
    assert_eq!(ids(&leases(replies[1].answer.clone())), items[3..4]);
    assert_eq!(leases(replies[2].answer.clone()), []);
    // Another store has slots of its own.
    let other = in_store("other", create(new("task", "{}")));
    bench.reply(other).await;
    let elsewhere = bench.reply(in_store("other", request("worker:d/1", acquire(&["task"], 1)))).await;
    assert_eq!(leases(elsewhere.answer).len(), 1);
    // Nobody is heard of any more: no slot is lost.
    bench.wait(Duration::from_secs(61));
    for item in bench.due(tenure_databases::Overdue::Time).await {
        let item = bench.database().item(&store(), item).await.unwrap();
        if let Some(item) = item {
            bench.reply(sweep(item.execution_id())).await;
        }
    }
    assert_eq!(control(bench, "task").await.1, 0);
    assert_eq!(lease(bench, "worker:b/1", &["task"], 9).await.len(), 3);
}

// A long acquire may be decided in parts while its leases are written: what it gets is what it would have got at once.
pub async fn many_leases_at_once_keep_the_order_and_the_limits<H: Harness>(bench: &Bench<H>) {
    add(bench, &[("concurrency", "250, 2 per key")]).await;
    let mut items = Vec::new();
    for number in 0..320 {
        let task = if number % 20 == 7 { of_key("k") } else { new("task", "{}") };
        let item = bench.create(task).await;
        // Of the key only the first two may run; the others are passed over and stay.
        if number % 20 != 7 || number < 40 {
            items.push(item);
        }
        bench.tick();
    }
    let batch = [
        request("worker:a/1", acquire(&["task"], 170)),
        request("worker:b/1", acquire(&["task"], 170)),
        request("worker:c/1", acquire(&["task"], 170)),
    ];
    let replies = bench.batch(&batch).await;
    let leased: Vec<Vec<Granted>> = replies.iter().map(|reply| leases(reply.answer.clone())).collect();
    assert_eq!(ids(&leased[0]), items[..170]);
    assert_eq!(ids(&leased[1]), items[170..250]);
    assert_eq!(leased[2], []);
    let bounds: Vec<_> = replies.iter().map(|reply| reply.held_back.as_ref().map(|held| held.by)).collect();
    assert_eq!(bounds, [None, Some(Bound::Concurrency(250)), Some(Bound::Concurrency(250))]);
    assert_eq!(running(bench).await.0, 250);
    for granted in &leased[1] {
        bench.ask("worker:b/1", commit(granted.execution)).await;
    }
    let rest = lease(bench, "worker:b/1", &["task"], 170).await;
    assert_eq!(ids(&rest), items[250..], "what is left, and of the key nothing while two of it run");
}

pub async fn a_key_runs_no_more_at_once_than_it_may<H: Harness>(bench: &Bench<H>) {
    add(bench, &[("concurrency", "2 per key")]).await;
    let mut items = Vec::new();
    for key in ["a", "a", "a", "b", "a", "b", "b"] {
        items.push(bench.create(of_key(key)).await);
        bench.tick();
    }
    items.push(bench.create(new("task", "{}")).await);
    let held = lease(bench, "worker:a/1", &["task"], 3).await;
    assert_eq!(ids(&held), [items[0], items[1], items[3]], "a full key is passed over");
    let more = lease(bench, "worker:a/1", &["task"], 100).await;
    assert_eq!(ids(&more), [items[5], items[7]]);
    assert_eq!(lease(bench, "worker:a/1", &["task"], 100).await, []);
    assert_eq!(refused_by(bench, items[2]).await, Bound::KeyConcurrency(2));
    bench.ask("worker:a/1", commit(held[1].execution)).await;
    bench.ask("worker:a/1", release(held[2].execution)).await;
    let next = lease(bench, "worker:a/1", &["task"], 100).await;
    assert_eq!(ids(&next), [items[2], items[3]], "the oldest of a key is next");
    let batch = [
        request("worker:a/1", commit(next[0].execution)),
        request("worker:a/1", commit(next[1].execution)),
        request("worker:b/1", acquire(&["task"], 1)),
        request("worker:c/1", acquire(&["task"], 5)),
    ];
    let replies = bench.batch(&batch).await;
    assert_eq!(ids(&leases(replies[2].answer.clone())), [items[4]]);
    assert_eq!(ids(&leases(replies[3].answer.clone())), [items[6]]);
}

pub async fn of_a_key_none_passes_an_older_one<H: Harness>(bench: &Bench<H>) {
    add(bench, &[("concurrency", "3 per key")]).await;
    let mut items = Vec::new();
    for (key, priority) in [("a", 0), ("a", 50), ("b", 1), ("a", 0), ("b", 90), ("c", 0)] {
        let create = Create { priority: Some(priority), ..of_key(key) };
        items.push(bench.create(create).await);
        bench.tick();
    }
    // b first, for its oldest has a head start; its second comes no sooner than that. Then a, as old as it is.
    let held = lease(bench, "worker:a/1", &["task"], 4).await;
    assert_eq!(ids(&held), [items[2], items[4], items[0], items[1]]);
    assert_eq!(ids(&lease(bench, "worker:a/1", &["task"], 4).await), [items[3], items[5]]);
}

pub async fn a_kind_starts_no_more_than_its_rate_allows<H: Harness>(bench: &Bench<H>) {
    add(bench, &[("rate", "4 per 10 s")]).await;
    tasks(bench, 14).await;
    let mut starts: Vec<Time> = Vec::new();
    while starts.len() < 14 {
        let reply = bench.reply(request("worker:a/1", acquire(&["task"], 3))).await;
        let (held, until) = (reply.held_back.clone(), bench.clock.now());
        let leased = leases(reply.answer);
        starts.extend(leased.iter().map(|_| bench.clock.now()));
        for lease in leased {
            bench.ask("worker:a/1", commit(lease.execution)).await;
        }
        match held.and_then(|held| held.until) {
            Some(until) => bench.clock.set(until),
            None => bench.clock.set(until.after(Duration::from_millis(700))),
        }
    }
    let span = Duration::from_secs(10);
    let in_span = |from: &Time| starts.iter().filter(|at| *at >= from && **at < from.after(span)).count();
    assert_eq!(starts.iter().map(in_span).max(), Some(4));
    assert!(starts[13].since(starts[0]) < Duration::from_secs(34), "it says when to ask again");
}

pub async fn a_key_starts_no_more_than_its_rate_allows<H: Harness>(bench: &Bench<H>) {
    add(bench, &[("rate", "2 per key per 10 s")]).await;
    let mut items = Vec::new();
    for key in ["a", "a", "a", "a", "b"] {
        items.push(bench.create(of_key(key)).await);
        bench.tick();
    }
    let held = lease(bench, "worker:a/1", &["task"], 100).await;
    assert_eq!(ids(&held), [items[0], items[1], items[4]]);
    for lease in held {
        bench.ask("worker:a/1", commit(lease.execution)).await;
    }
    assert_eq!(lease(bench, "worker:a/1", &["task"], 100).await, [], "it counts starts, not what runs");
    assert!(matches!(refused_by(bench, items[2]).await, Bound::KeyRate(_)));
    bench.wait(Duration::from_secs(10));
    assert_eq!(lease(bench, "worker:a/1", &["task"], 100).await, []);
    bench.wait(Duration::from_millis(200));
    assert_eq!(ids(&lease(bench, "worker:a/1", &["task"], 100).await), [items[2], items[3]]);
    // A lane of which nothing has to be remembered is forgotten, and begins anew.
    bench.wait(Duration::from_secs(3_600));
    bench.create(of_key("b")).await;
    assert_eq!(lease(bench, "worker:a/1", &["task"], 100).await.len(), 1);
}

pub async fn a_key_that_waits_for_its_rate_says_when_it_has_room<H: Harness>(bench: &Bench<H>) {
    add(bench, &[("rate", "2 per key per 10 s")]).await;
    let kinds = ["task".parse().unwrap()];
    let coming = async || bench.database().upcoming(&store(), &kinds).await.unwrap();
    for _ in 0..2 {
        bench.create(of_key("a")).await;
        bench.tick();
    }
    assert_eq!(lease(bench, "worker:a/1", &["task"], 100).await.len(), 2);
    assert_eq!(coming().await, [], "nobody waits for it");
    let waits = bench.create(of_key("a")).await;
    assert_eq!(lease(bench, "worker:a/1", &["task"], 100).await, []);
    let [(_, wait)] = coming().await[..] else { panic!("somebody waits for it") };
    assert!((Duration::from_secs(9)..Duration::from_secs(11)).contains(&wait), "{wait:?}");
    // What is scheduled sooner comes first.
    let soon = bench.clock.now().after(Duration::from_secs(1));
    bench.create(Create { run_at: Some(soon), ..of_key("b") }).await;
    assert_eq!(coming().await[0].1, Duration::from_secs(1));
    bench.wait(wait - Duration::from_millis(1));
    assert_eq!(lease(bench, "worker:a/1", &["task"], 100).await.len(), 1, "the one of b");
    bench.wait(Duration::from_millis(1));
    assert_eq!(ids(&lease(bench, "worker:a/1", &["task"], 100).await), [waits]);
    assert_eq!(coming().await, []);
}

pub async fn an_operator_pauses_and_limits_a_kind<H: Harness>(bench: &Bench<H>) {
    let jobs = [bench.job().await, bench.job().await, bench.job().await];
    assert!(matches!(bench.ask("worker:a/1", order("job", What::Pause)).await, Answer::Forbidden { .. }));
    let first = lease(bench, "worker:a/1", &["job"], 1).await;
    let paused = bench.reply(request("human:ops", order("job", What::Pause))).await;
    assert!(paused.fresh && matches!(&paused.answer, Answer::Controlled(control) if control.pause.is_some()));
    assert!(
        !bench.reply(request("human:ops", order("job", What::Pause))).await.fresh,
        "it is paused already"
    );
    let reply = bench.reply(request("worker:a/1", acquire(&["job", "run"], 5))).await;
    assert_eq!(reply.held_back.map(|held| held.by), Some(Bound::Paused));
    assert_eq!(leases(reply.answer), []);
    assert_eq!(refused_by(bench, jobs[2]).await, Bound::Paused);
    // Created and leased at once, it is neither.
    let at_once = Create { take: Some(Default::default()), ..new("job", "{}") };
    assert!(!bench.ask("worker:a/1", Command::Create(at_once)).await.is_yes());
    // Work is created and other kinds go on; what was held goes on too.
    bench.job().await;
    let pass = bench.pass("d").await;
    assert_eq!(ids(&lease(bench, "worker:a/1", &["job", "run"], 5).await), [pass]);
    assert!(bench.ask("worker:a/1", commit(first[0].execution)).await.is_yes());
    let (said, active) = control(bench, "job").await;
    assert_eq!((said.pause.unwrap().why.as_str(), active), ("a test", 0));
    bench.ask("admin:ops", order("job", What::Resume)).await;
    assert_eq!(control(bench, "job").await.0, Control::default());
    let one = What::Limit { concurrency: Some(1), rate: None };
    bench.ask("admin:ops", order("job", one)).await;
    assert_eq!(lease(bench, "worker:a/1", &["job"], 5).await.len(), 1);
    bench.ask("admin:ops", order("job", What::Limit { concurrency: None, rate: None })).await;
    assert_eq!(lease(bench, "worker:a/1", &["job"], 5).await.len(), 2);
}

/// Also where nothing was said about the kind before, and of what is held already.
pub async fn an_order_holds_for_the_acquires_of_its_own_batch<H: Harness>(bench: &Bench<H>) {
    for _ in 0..4 {
        bench.job().await;
    }
    let given = async |what: What, max: usize| {
        let requests =
            [request("human:ops", order("job", what)), request("worker:a/1", acquire(&["job"], max))];
        let replies = bench.batch(&requests).await;
        assert!(matches!(replies[0].answer, Answer::Controlled(_)), "{replies:?}");
        leases(replies[1].answer.clone()).len()
    };
    let at_once = |count: u32| What::Limit { concurrency: Some(count), rate: None };
    assert_eq!(given(What::Pause, 5).await, 0);
    assert_eq!(given(What::Resume, 1).await, 1);
    assert_eq!(given(at_once(1), 5).await, 0, "one is held");
    assert_eq!(given(at_once(2), 5).await, 1);
    assert_eq!(given(What::Limit { concurrency: None, rate: None }, 1).await, 1);
    // One that has no limit, but a row: what is held counts from the moment it gets one.
    assert_eq!(given(What::Pause, 5).await, 0);
    bench.ask("human:ops", order("job", What::Resume)).await;
    assert_eq!(given(at_once(3), 5).await, 0, "three are held");
    assert_eq!(given(at_once(4), 5).await, 1);
}

pub async fn a_spent_budget_puts_retries_off_and_an_open_breaker_stops_leases<H: Harness>(bench: &Bench<H>) {
    let settings =
        [("retry budget", "2 per 10 s"), ("breaker", "4 failures in 10 s, pause 30 s"), ("backoff", "1 s")];
    add(bench, &settings).await;
    let items = tasks(bench, 6).await;
    let held = lease(bench, "worker:a/1", &["task"], 5).await;
    let fails: Vec<_> = held[..3].iter().map(|lease| request("worker:a/1", fail(lease.execution))).collect();
    bench.batch(&fails).await;
    let mut waits: Vec<Duration> = Vec::new();
    for item in &items[..3] {
        waits.push(bench.item(*item).await.run_at.since(bench.clock.now()));
    }
    assert!(waits[0] < Duration::from_secs(2) && waits[1] < Duration::from_secs(2), "{waits:?}");
    assert!(waits[2] > Duration::from_secs(10), "{waits:?}");
    assert_eq!(control(bench, "task").await.0.deferred, 1);
    // The fourth failure opens the breaker; a lease that ends is one.
    bench.wait(Duration::from_secs(9));
    bench.ask("worker:a/1", fail(held[3].execution)).await;
    let until = bench.clock.now().after(Duration::from_secs(30));
    let reply = bench.reply(request("worker:a/1", acquire(&["task"], 5))).await;
    assert_eq!(reply.held_back.map(|held| (held.by, held.until)), Some((Bound::Breaker, Some(until))));
    assert_eq!(leases(reply.answer), []);
    bench.clock.set(until);
    let probe = lease(bench, "worker:a/1", &["task"], 5).await;
    assert_eq!(probe.len(), 1);
    assert_eq!(lease(bench, "worker:b/1", &["task"], 5).await, []);
    bench.ask("worker:a/1", commit(probe[0].execution)).await;
    assert!(lease(bench, "worker:a/1", &["task"], 5).await.len() > 1);
    let (seen, _) = control(bench, "task").await;
    assert_eq!((seen.trip, seen.trips), (None, 1));
}

/// Twelve callers at once, some of which never come back: in every moment no more run than may.
pub async fn many_claimers_never_exceed_a_limit<H: Harness>(bench: &Bench<H>) {
    add(bench, &[("concurrency", "3, 2 per key"), ("attempts", "unlimited"), ("lease", "5 s")]).await;
    let creates: Vec<_> = (0..40).map(|number| create(of_key(["a", "b", "c", "d"][number % 4]))).collect();
    bench.batch(&creates).await;
    for round in 0..400 {
        let claims =
            (0..6).map(|worker| request(&format!("worker:w{worker}/1"), acquire(&["task"], 1 + round % 3)));
        let replies = bench.race(claims).await;
        let (of_kind, of_key) = running(bench).await;
        assert!(of_kind <= 3 && of_key <= 2, "{of_kind} run, {of_key} of one key");
        let mut ends = Vec::new();
        for (worker, reply) in replies.into_iter().enumerate() {
            for (number, lease) in leases(reply.answer).into_iter().enumerate() {
                let actor = format!("worker:w{worker}/1");
                match (round + worker + number) % 5 {
                    0 => {}
                    1 => ends.push(request(&actor, fail(lease.execution))),
                    _ => ends.push(request(&actor, commit(lease.execution))),
                }
            }
        }
        bench.race(ends).await;
        bench.wait(Duration::from_secs(2));
        let due = bench.due(tenure_databases::Overdue::Time).await;
        let mut sweeps = Vec::new();
        for item in due {
            sweeps.push(sweep(bench.item(item).await.execution_id()));
        }
        bench.race(sweeps).await;
        if bench.items().await.iter().all(|item| item.phase().is_ended()) {
            assert_eq!(control(bench, "task").await.1, 0, "no slot is left over");
            return;
        }
    }
    panic!("something starves");
}
