//! Reading: lists by filter and page, and nothing across stores.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_core::id::ItemId;
use tenure_core::item::{Item, Link};
use tenure_core::lifecycle::Phase;
use tenure_core::request::*;
use tenure_databases::{Database, Order, PAGE_MAX, Query};

use crate::harness::{Bench, Harness};
use crate::requests::*;

async fn list<H: Harness>(bench: &Bench<H>, query: Query) -> Vec<Item> {
    bench.database().list(&Query { limit: PAGE_MAX, ..query }).await.unwrap()
}

pub async fn a_list_is_filtered_by_every_field<H: Harness>(bench: &Bench<H>) {
    let jobs = [bench.job().await, bench.job().await];
    let runs = [bench.pass("d1").await, bench.pass("d2").await];
    let foreign = bench.reply(in_store("other", create(new("job", "{}")))).await;
    assert!(foreign.fresh);
    bench.take("worker:a/1", jobs[0]).await;
    let job = || Some("job".parse().unwrap());
    let default = || Some(store());
    let count = async |query: Query| list(bench, query).await.len();
    assert_eq!(count(Query::default()).await, 5);
    assert_eq!(count(Query { store: default(), ..Query::default() }).await, 4);
    assert_eq!(count(Query { kind: job(), ..Query::default() }).await, 3);
    assert_eq!(count(Query { kind: job(), store: default(), ..Query::default() }).await, 2);
    let running = Query { state: Some("RUNNING".parse().unwrap()), kind: job(), ..Query::default() };
    assert_eq!(list(bench, running).await.iter().map(|item| item.id).collect::<Vec<_>>(), [jobs[0]]);
    let keyed = Query { key: Some("d2".parse().unwrap()), ..Query::default() };
    assert_eq!(list(bench, keyed).await.iter().map(|item| item.id).collect::<Vec<_>>(), [runs[1]]);
    let nothing = Query { key: Some("d2".parse().unwrap()), kind: job(), ..Query::default() };
    assert_eq!(count(nothing).await, 0);
}

pub async fn owners_are_listed_with_what_they_hold<H: Harness>(bench: &Bench<H>) {
    let mut jobs = Vec::new();
    for owner in ["worker:a/1", "worker:a/1", "worker:a/2", "worker:b/1"] {
        let job = bench.job().await;
        bench.run(owner, job).await;
        bench.tick();
        jobs.push(job);
    }
    bench.job().await;
    let held = |owner: Option<&str>| Query {
        store: Some(store()),
        phase: Some(Phase::Active),
        owner: owner.map(|owner| owner.parse().unwrap()),
        ..Query::default()
    };
    let ids = |items: Vec<Item>| items.into_iter().map(|item| item.id).collect::<Vec<_>>();
    assert_eq!(ids(list(bench, held(None)).await), jobs);
    assert_eq!(ids(list(bench, held(Some("a/1"))).await), jobs[..2]);
    assert_eq!(ids(list(bench, held(Some("a/2"))).await), jobs[2..3]);
    assert_eq!(ids(list(bench, held(Some("c/1"))).await), []);
    // Given back, it is nobody's.
    let execution = bench.item(jobs[3]).await.execution_id();
    assert!(bench.ask("worker:b/1", release(execution)).await.is_yes());
    assert_eq!(ids(list(bench, Query { phase: None, ..held(Some("b/1")) }).await), []);
}

/// Every phase, in either order, by pages, over several kinds and stores.
pub async fn the_newest_come_first_where_that_is_asked_for<H: Harness>(bench: &Bench<H>) {
    for number in 0..12 {
        bench.tick();
        let job = bench.job().await;
        let run = bench.pass(&format!("d{number}")).await;
        let foreign = bench.reply(in_store("other", create(new("job", "{}")))).await;
        assert!(foreign.fresh);
        match number % 4 {
            0 => drop(bench.ask("api:test", cancel(job)).await),
            1 => {
                let execution = bench.run("worker:a/1", job).await;
                bench.ask("worker:a/1", commit(execution)).await;
            }
            _ => {
                for item in [job, run] {
                    let execution = bench.run("worker:a/1", item).await;
                    let Command::Fail(plain) = fail(execution) else { panic!() };
                    bench.ask("worker:a/1", Command::Fail(Fail { permanent: true, ..plain })).await;
                }
            }
        }
    }
    let all = bench.items().await;
    let kinds = [None, Some("job"), Some("run"), Some("todo")];
    let phases =
        [Phase::Waiting, Phase::Ready, Phase::Active, Phase::Succeeded, Phase::Failed, Phase::Stopped];
    for (kind, phase) in kinds.into_iter().flat_map(|kind| phases.map(|phase| (kind, phase))) {
        let fits = |item: &&Item| {
            item.phase() == phase
                && item.store == store()
                && kind.is_none_or(|kind| &*item.table.kind == kind)
        };
        let mut expected: Vec<ItemId> = all.iter().filter(fits).map(|item| item.id).collect();
        for order in [Order::Oldest, Order::Newest] {
            let mut paged: Vec<ItemId> = Vec::new();
            loop {
                let kind = kind.map(|kind| kind.parse().unwrap());
                let (store, phase, after) = (Some(store()), Some(phase), paged.last().copied());
                let query = Query { store, kind, phase, order, after, limit: 2, ..Query::default() };
                let page = bench.database().list(&query).await.unwrap();
                assert!(page.len() <= 2);
                if page.is_empty() {
                    break;
                }
                paged.extend(page.iter().map(|item| item.id));
            }
            assert_eq!(paged, expected, "{kind:?} {phase} {order:?}");
            expected.reverse();
        }
    }
    let failed = Query { state: Some("FAILED".parse().unwrap()), ..Query::default() };
    assert_eq!(list(bench, failed).await.len(), 12, "by its name it is the same");
}

pub async fn pages_of_a_list_hold_every_item_once<H: Harness>(bench: &Bench<H>) {
    for _ in 0..5 {
        let creates: Vec<_> = (0..5).map(|_| create(new("job", "{}"))).collect();
        bench.batch(&creates).await;
        bench.wait(Duration::from_millis(1));
    }
    let all: Vec<ItemId> = list(bench, Query::default()).await.iter().map(|item| item.id).collect();
    assert_eq!(all.len(), 25);
    assert!(all.is_sorted_by(|one, next| one < next), "in the order of ids");
    let mut paged: Vec<ItemId> = Vec::new();
    loop {
        let query =
            Query { after: paged.last().copied(), limit: 4, store: Some(store()), ..Query::default() };
        let page = bench.database().list(&query).await.unwrap();
        assert!(page.len() <= 4);
        if page.is_empty() {
            break;
        }
        paged.extend(page.iter().map(|item| item.id));
    }
    assert_eq!(paged, all);
}

/// An item of another store does not exist, whatever is asked and whoever asks.
pub async fn nothing_is_found_across_stores<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let execution = bench.run("worker:a/1", item).await;
    let other = "other".parse().unwrap();
    let database = bench.database();
    assert_eq!(database.item(&other, item).await.unwrap(), None);
    assert_eq!(database.whole(&other, item).await.unwrap(), None);
    assert_eq!(database.history(&other, item).await.unwrap(), []);
    assert_eq!(list(bench, Query { store: Some(other), ..Query::default() }).await, []);

    let before = (bench.log().await, bench.items().await);
    let record = || record("r", "n", "1");
    let commands = [
        ("worker:a/1", take(item)),
        ("worker:a/1", start(execution)),
        ("worker:a/1", renew(execution)),
        ("worker:a/1", progress(execution, record())),
        ("worker:a/1", commit(execution)),
        ("worker:a/1", finish(execution)),
        ("worker:a/1", fail(execution)),
        ("worker:a/1", release(execution)),
        ("admin:root", step(item, "enqueue")),
        ("admin:root", cancel(item)),
        ("admin:root", note(item, record())),
        ("admin:root", Command::Link(Relink { item, add: Vec::new(), remove: Vec::new() })),
        ("admin:root", erase(item)),
    ];
    let mut requests: Vec<Request> =
        commands.into_iter().map(|(who, command)| in_store("other", request(who, command))).collect();
    requests.push(in_store("other", sweep(execution)));
    for reply in bench.batch(&requests).await {
        assert_eq!(reply.answer.code(), Some(Code::NotFound), "{reply:?}");
    }
    // Nor by reference: a link, an origin, an effect's target.
    let link = Link { label: "depends".parse().unwrap(), to: item };
    let near = bench.reply(in_store("other", create(new("job", "{}")))).await;
    let tenure_core::answer::Answer::Created(near) = near.answer else { panic!("{near:?}") };
    let crossing = [
        create(Create { links: vec![link.clone()], ..new("job", "{}") }),
        create(Create { origin: Some(item), ..new("job", "{}") }),
        request("admin:root", Command::Link(Relink { item: near.id, add: vec![link], remove: Vec::new() })),
    ];
    for reply in bench.batch(&crossing.map(|request| in_store("other", request))).await {
        assert_eq!(reply.answer.code(), Some(Code::StoreBoundaryViolation), "{reply:?}");
    }
    let leased = in_store("other", request("worker:b/1", acquire(&["job"], 5)));
    assert_eq!(ids(&leases(bench.reply(leased).await.answer)), [near.id]);
    let (log, items) = before;
    assert_eq!(bench.log().await[..log.len()], log[..]);
    assert_eq!(bench.item(item).await, *items.iter().find(|found| found.id == item).unwrap());
}

pub async fn a_key_or_name_of_another_store_is_another<H: Harness>(bench: &Bench<H>) {
    let here = bench.pass("d1").await;
    let there = bench.reply(in_store("other", create(pass("d1")))).await;
    assert!(there.fresh);
    bench.run("worker:a/1", here).await;
    let leased = bench.reply(in_store("other", request("worker:a/1", acquire(&["run"], 5)))).await;
    assert_eq!(leases(leased.answer).len(), 1, "the key is held in another store only");
    let mine = bench.create(named("n", new("job", "{}"))).await;
    let theirs = bench.reply(in_store("other", create(named("n", new("job", "{}"))))).await;
    let (true, Answer::Created(other)) = (theirs.fresh, &theirs.answer) else { panic!("{theirs:?}") };
    assert_ne!(other.id, mine, "the name is taken in another store only");
}

/// An item keeps the lifecycle it was created under; those created later get the new one.
pub async fn an_item_keeps_its_lifecycle<H: Harness>(bench: &Bench<H>) {
    let old = bench.create(document()).await;
    let source = "# document\n\nStored, then shelved.\n\n## States\n\n| State | Phase | Meaning |\n|---|---|---|\n\
                  | STORED | waiting | there |\n| SHELVED | stopped | put away |\n\n## Transitions\n\n\
                  | From | Event | To | Actor |\n|---|---|---|---|\n| — | create | STORED | api |\n\
                  | STORED | shelve | SHELVED | api |\n";
    bench.database().add_table(source).await.unwrap();
    let new = bench.create(document()).await;
    let replies = bench.batch(&[old, new].map(|item| request("api:test", step(item, "shelve")))).await;
    assert_eq!(replies.iter().map(|reply| reply.fresh).collect::<Vec<_>>(), [false, true]);
    assert_eq!((bench.state(old).await, bench.state(new).await), ("STORED".into(), "SHELVED".into()));
    assert!(bench.database().add_table("# nonsense").await.is_err());
}
