//! What is around an item: who comes before it, the lane of its key, what a name stands for, the time.

use std::time::Duration;

use tenure_core::id::{ItemId, RecordId};
use tenure_core::item::{Item, Link};
use tenure_core::lifecycle::Phase;
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_core::world::{Lane, LaneKey, NameKey, NameScope, Named};
use tenure_databases::look::{Ahead, Look, Outline};
use tenure_databases::{Database, Query};

use crate::harness::{Bench, Harness};
use crate::limited::limited;
use crate::requests::*;

const MANY: usize = 100;

async fn ahead<H: Harness>(bench: &Bench<H>, item: ItemId, most: usize) -> (usize, usize) {
    let item = bench.item(item).await;
    let Ahead { of_key, of_kind } = bench.database().ahead(&item, most).await.unwrap();
    (of_key, of_kind)
}

pub async fn who_comes_before_an_item_is_counted_up_to_a_bound<H: Harness>(bench: &Bench<H>) {
    let mut jobs = Vec::new();
    for priority in [0, 0, 3, 0] {
        let create = Create { priority: Some(priority), ..new("job", "{}") };
        jobs.push(bench.create(create).await);
        bench.tick();
    }
    bench.pass("d1").await;
    bench.reply(in_store("other", create(new("job", "{}")))).await;
    // The third has a head start of three minutes.
    for (job, before) in [(jobs[2], 0), (jobs[0], 1), (jobs[1], 2), (jobs[3], 3)] {
        assert_eq!(ahead(bench, job, MANY).await, (0, before));
    }
    assert_eq!(ahead(bench, jobs[3], 2).await, (0, 2), "it is not counted further than was asked for");
    assert_eq!(ahead(bench, jobs[3], 0).await, (0, 0));
    bench.take("worker:a/1", jobs[2]).await;
    assert_eq!(ahead(bench, jobs[3], MANY).await, (0, 2), "what is held is not in line");
}

pub async fn a_list_in_outline_is_the_list<H: Harness>(bench: &Bench<H>) {
    let mut jobs = Vec::new();
    for priority in [0, 3, -2, 0, 0, 0] {
        let links = jobs.first().map(|to| Link { label: "about".parse().unwrap(), to: *to });
        let links = links.into_iter().filter(|_| priority < 0).collect();
        jobs.push(bench.create(Create { priority: Some(priority), links, ..new("job", "{}") }).await);
        bench.tick();
    }
    let later = Some(bench.clock.now().after(Duration::from_secs(60)));
    bench.create(Create { run_at: later, ..new("job", "{}") }).await;
    bench.pass("d1").await;
    bench.reply(in_store("other", create(new("job", "{}")))).await;
    bench.take("worker:a/1", jobs[3]).await;
    let done = bench.run("worker:a/1", jobs[4]).await;
    assert!(bench.reply(request("worker:a/1", commit(done))).await.fresh);
    bench.reply(request("human:ann", cancel(jobs[5]))).await;
    let all = Query { limit: MANY, ..Query::default() };
    let (kind, key) = (|kind: &str| Some(kind.parse().unwrap()), Some("d1".parse().unwrap()));
    let queries = [
        all.clone(),
        Query { store: Some(store()), kind: kind("job"), ..all.clone() },
        Query { kind: kind("nothing"), ..all.clone() },
        Query { phase: Some(Phase::Ready), ..all.clone() },
        Query { phase: Some(Phase::Stopped), ..all.clone() },
        Query { phase: Some(Phase::Active), ..all.clone() },
        Query { owner: Some("a/1".parse().unwrap()), ..all.clone() },
        Query { key, ..all.clone() },
    ];
    for query in queries {
        let items = bench.database().list(&query).await.unwrap();
        let outline = |item: &Item| Outline {
            id: item.id,
            rank: Some(item.rank()).filter(|_| item.phase() != Phase::Stopped),
            is_linked: !item.links.is_empty(),
        };
        let expected: Vec<Outline> = items.iter().map(outline).collect();
        let cut = Query { limit: 1, after: items.last().map(|item| item.id), ..query.clone() };
        for query in [query, cut] {
            let mut found = bench.database().outlines(&query).await.unwrap();
            found.sort_by_key(|outline| outline.id);
            assert_eq!(found, expected, "{query:?}");
        }
    }
}

pub async fn of_a_key_the_older_come_before_and_the_lane_says_who_runs<H: Harness>(bench: &Bench<H>) {
    let mut runs = Vec::new();
    for document in ["a", "a", "b", "a", "b"] {
        runs.push(bench.pass(document).await);
        bench.tick();
    }
    assert_eq!(ahead(bench, runs[0], MANY).await, (0, 0));
    assert_eq!(ahead(bench, runs[2], MANY).await, (0, 1), "the next of the other key");
    assert_eq!(ahead(bench, runs[3], MANY).await.0, 2);
    assert_eq!(ahead(bench, runs[3], 1).await.0, 1);
    let lane = async |key: &str| {
        let (store, kind) = (store(), "run".parse().unwrap());
        bench.database().lane(&LaneKey { store, kind, key: key.parse().unwrap() }).await.unwrap()
    };
    assert_eq!(lane("a").await.running, []);
    let held = bench.run("worker:a/1", runs[0]).await;
    assert_eq!(lane("a").await.running, [runs[0]]);
    assert_eq!(lane("nobody's").await, Lane::default());
    // A key without room has nobody who comes first.
    assert_eq!(ahead(bench, runs[2], MANY).await, (0, 0));
    assert_eq!(ahead(bench, runs[3], MANY).await.0, 1, "what runs is not in line");
    assert!(bench.reply(request("worker:a/1", commit(held))).await.fresh);
    assert_eq!(lane("a").await.running, []);
    assert_eq!(ahead(bench, runs[2], MANY).await, (0, 1));
}

pub async fn what_has_come_due_counts_before_anybody_has_looked<H: Harness>(bench: &Bench<H>) {
    bench.database().add_table(&limited("task", &[("concurrency", "9, 2 per key")])).await.unwrap();
    let later = |seconds: u64, key: Option<&str>| Create {
        run_at: Some(bench.clock.now().after(Duration::from_secs(seconds))),
        key: key.map(|key| key.parse().unwrap()),
        ..new("task", "{}")
    };
    let first = bench.create(later(10, None)).await;
    let of_key = bench.create(later(11, Some("k"))).await;
    bench.tick();
    let second = bench.create(later(20, None)).await;
    let second_of_key = bench.create(later(20, Some("k"))).await;
    for item in [first, second, of_key, second_of_key] {
        assert_eq!(ahead(bench, item, MANY).await, (0, 0), "none is due");
    }
    bench.wait(Duration::from_secs(15));
    assert_eq!(ahead(bench, second, MANY).await.1.min(1), 1, "the first is due");
    assert_eq!(ahead(bench, second_of_key, MANY).await.0, 1);
    assert_eq!(ahead(bench, first, MANY).await.0, 0);
    // A claim moves them over, and they count as before.
    assert_eq!(ids(&bench.acquire("worker:a/1", &["task"], 1).await), [first]);
    assert_eq!(ahead(bench, second_of_key, MANY).await.0, 1);
}

pub async fn the_clock_that_judges_can_be_asked<H: Harness>(bench: &Bench<H>) {
    bench.job().await;
    let now = async || bench.database().now().await.unwrap();
    assert_eq!(now().await, bench.clock.now());
    bench.wait(Duration::from_secs(3));
    assert_eq!(now().await, bench.clock.now());
    assert_ne!(now().await, Time::default());
}

pub async fn a_name_tells_what_it_stands_for<H: Harness>(bench: &Bench<H>) {
    let job = bench.create(named("n", new("job", "{}"))).await;
    let stands_for = async |store: &str, kind: &str, name: &str| {
        let scope = NameScope::Create(kind.parse().unwrap());
        let key = NameKey { store: store.parse().unwrap(), scope, name: name.parse().unwrap() };
        bench.database().named(&key).await.unwrap()
    };
    let Some(Named::Created { item, .. }) = stands_for("default", "job", "n").await else {
        panic!("not named")
    };
    assert_eq!(item, job);
    for (store, kind, name) in [("other", "job", "n"), ("default", "run", "n"), ("default", "job", "m")] {
        assert_eq!(stands_for(store, kind, name).await, None);
    }
}

pub async fn what_is_linked_to_an_item_is_found_from_it<H: Harness>(bench: &Bench<H>) {
    let (target, other) = (bench.job().await, bench.job().await);
    let linking = async |to: ItemId| {
        bench.tick();
        let links = vec![Link { label: "about".parse().unwrap(), to }];
        bench.create(Create { links, ..new("job", "{}") }).await
    };
    let in_order =
        async |order, to, after, limit| bench.database().linked(to, order, after, limit).await.unwrap();
    let found = async |to, after, limit| in_order(tenure_databases::Order::Oldest, to, after, limit).await;
    assert_eq!(found(target, None, MANY).await, []);
    let mut about = Vec::new();
    for to in [target, other, target, target] {
        about.push((to, linking(to).await));
    }
    let mut about: Vec<ItemId> =
        about.into_iter().filter(|(to, _)| *to == target).map(|(_, from)| from).collect();
    about.sort();
    assert_eq!(found(target, None, MANY).await, about);
    assert_eq!(found(target, None, 1).await, about[..1], "no more than was asked for");
    assert_eq!(found(target, Some(about[0]), MANY).await, about[1..]);
    assert_eq!(found(target, Some(about[2]), MANY).await, []);
    let newest = async |after, limit| in_order(tenure_databases::Order::Newest, target, after, limit).await;
    assert_eq!(newest(None, 1).await, about[2..]);
    assert_eq!(newest(Some(about[2]), MANY).await, [about[1], about[0]]);
    assert_eq!(newest(Some(about[0]), MANY).await, []);
}

pub async fn a_record_is_found_by_its_id<H: Harness>(bench: &Bench<H>) {
    let job = bench.job().await;
    let execution = bench.run("worker:a/1", job).await;
    let effects = Effects { records: vec![record("result", "a", "1")], ..Effects::default() };
    assert!(bench.ask("worker:a/1", commit_with(execution, effects)).await.is_yes());
    let whole = bench.database().whole(&store(), job).await.unwrap().expect("it is there");
    let kept = whole.records.first().expect("it has a record").clone();
    assert_eq!(bench.database().record(kept.id).await.unwrap(), Some(kept));
    assert_eq!(bench.database().record(RecordId(1)).await.unwrap(), None);
}
