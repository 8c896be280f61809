//! Properties over random requests: what is loaded is enough, and a batch is nothing but its requests one by one.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, TestRunner};
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::item::Item;
use tenure_core::request::{Command, Need, Request};
use tenure_core::world::{Change, World};
use tenure_databases::batch::run_seeded;
use tenure_databases::row::Memo;
use tenure_databases::row::execution::{self, ExecutionRow};
use tenure_databases::row::item::ItemRow;
use tenure_databases::{BatchId, Commit, Database, Tx};

use crate::files::{database_is_sound, exported, replayed};
use crate::harness::{Bench, Clock, Harness, Memory, Postgres, Sqlite};
use crate::random::Scene;

/// How far the clock goes before a request: mostly not at all, sometimes past a lease, a window or a session.
fn wait() -> impl Strategy<Value = Duration> {
    (0..1_000_usize).prop_map(span)
}

fn span(number: usize) -> Duration {
    const SECONDS: [u64; 9] = [1, 1, 1, 5, 5, 25, 61, 121, 3601];
    // Past the end of the list it stands still.
    Duration::from_secs(SECONDS.get(number % 40).copied().unwrap_or(0))
}

/// Runs a property over random input. A failure is shrunk and its seed is kept beside this file.
fn holds<T: Debug>(cases: u32, input: impl Strategy<Value = T>, property: impl AsyncFn(T)) {
    let config = Config { cases, max_shrink_iters: 4_000, ..Config::with_source_file(file!()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let outcome = TestRunner::new(config).run(&input, |input| {
        runtime.block_on(property(input));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// What a transaction locks and loads for a request is enough: over it the same is decided as over everything there is.
/// So no database needs to guess what a decision may look at.
async fn loaded_is_enough<H: Harness>(steps: Vec<(Duration, u64)>) {
    let bench = Bench::<H>::open(Clock::new()).await;
    bench.keep_a_minute().await;
    let tables = bench.database().tables();
    let mut full = World::new(tables.clone());
    for (number, (wait, seed)) in (1..).zip(steps) {
        bench.wait(wait);
        full.now = bench.clock.now();
        let items: Vec<_> = full.items.values().map(|item| Item::clone(item)).collect();
        let request = Scene { tables: &tables, items: &items, now: full.now }.request(seed);
        let mut tx = bench.database().begin(BatchId(number)).await.unwrap();
        let mut need = Need::default();
        request.needs(&tables, &mut need);
        let mut loaded = tx.lock(&need).await.unwrap();
        if let Command::Acquire(acquire) = &request.command {
            for kind in &acquire.kinds {
                let found = tx.claim(&mut loaded, &request.store, kind, None, 10).await.unwrap();
                loaded.offers.extend(found.into_iter().map(|place| place.id));
            }
        }
        full.offers = loaded.offers.clone();
        is_part_of(&loaded, &full);
        let decision = decide(&loaded, &request, &mut Draw::new(seed));
        assert_eq!(decision, decide(&full, &request, &mut Draw::new(seed)), "{request:#?}");
        let mut entries: Vec<Sealed> = Vec::new();
        for change in &decision.changes {
            match change {
                Change::Entry(entry) => entries.push(entry.clone()),
                row => assert_eq!(tx.write(std::slice::from_ref(row)).await, Ok(1), "{row:?}"),
            }
        }
        tx.append(&entries).await.unwrap();
        assert_eq!(tx.commit().await, Commit::Done);
        full.apply(decision.changes);
    }
    same_as(&bench, &full).await;
    bench.verify().await;
    bench.close().await;
}

/// Every row that was loaded is as it is kept.
fn is_part_of(loaded: &World, full: &World) {
    fn part<K: Ord + Debug, V: PartialEq + Debug>(some: &BTreeMap<K, V>, all: &BTreeMap<K, V>) {
        for (key, row) in some {
            assert_eq!(all.get(key), Some(row), "{key:?}");
        }
    }
    assert_eq!(loaded.now, full.now);
    part(&loaded.items, &full.items);
    part(&loaded.payloads, &full.payloads);
    part(&loaded.executions, &full.executions);
    part(&loaded.names, &full.names);
    part(&loaded.lanes, &full.lanes);
    part(&loaded.controls, &full.controls);
    part(&loaded.records, &full.records);
    assert!(loaded.linked.is_subset(&full.linked));
}

/// What is read back is what was written.
async fn same_as<H: Harness>(bench: &Bench<H>, full: &World) {
    let items: Vec<_> = full.items.values().map(|item| Item::clone(item)).collect();
    assert_eq!(bench.items().await, items);
    for item in full.items.values() {
        let whole = bench.database().whole(&item.store, item.id).await.unwrap().expect("it is there");
        assert_eq!(whole.payload.as_ref(), full.payloads.get(&item.id));
        assert_eq!(whole.output.as_ref(), full.outputs.get(&item.id));
        assert!(whole.executions.iter().eq(full.executions_of(item.id)));
        assert!(whole.records.iter().eq(full.records.values().filter(|record| record.item == item.id)));
        assert!(whole.messages.iter().eq(full.messages.iter().filter(|message| message.item == item.id)));
    }
}

/// A batch answers, keeps and logs what its requests do one by one, its acquires at the end; on the same sort of database
/// or on two.
async fn a_batch_is_its_requests<A: Harness, B: Harness>(batches: Vec<(Duration, Vec<u64>)>) {
    let clock = Clock::new();
    let many = Bench::<A>::open(clock.clone()).await;
    let single = Bench::<B>::open(clock.clone()).await;
    many.keep_a_minute().await;
    single.keep_a_minute().await;
    let mut draws = (Draw::new(1), Draw::new(2));
    for (wait, seeds) in batches {
        many.wait(wait);
        let items = many.items().await;
        let tables = many.database().tables();
        let scene = Scene { tables: &tables, items: &items, now: clock.now() };
        let requests: Vec<Request> = seeds.iter().map(|seed| scene.request(*seed)).collect();
        let own: Vec<Draw> =
            (0..).zip(&seeds).map(|(ordinal, seed)| Draw::numbered(*seed, ordinal)).collect();
        let together = run_seeded(many.database(), &requests, &own, &mut draws.0).await;
        let mut order: Vec<usize> = (0..requests.len()).collect();
        order.sort_by_key(|index| matches!(requests[*index].command, Command::Acquire(_)));
        for index in order {
            let (request, seed) = (&requests[index], own[index].clone());
            let request = std::slice::from_ref(request);
            let alone = run_seeded(single.database(), request, &[seed], &mut draws.1).await.remove(0);
            assert!(alone.is_ok(), "{alone:?}");
            assert_eq!(together[index], alone, "request {index} of {requests:#?}");
        }
        let items = many.items().await;
        assert_eq!(items, single.items().await);
        for item in &items {
            let (one, other) = (many.database(), single.database());
            assert_eq!(one.whole(&item.store, item.id).await, other.whole(&item.store, item.id).await);
        }
    }
    let entries = |log: Vec<(u64, Sealed)>| log.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>();
    assert_eq!(entries(many.log().await), entries(single.log().await), "the same log in the same order");
    let file = exported(&many).await;
    assert!(file == exported(&single).await, "the same bytes");
    let again = replayed::<B>(&file, &clock).await;
    assert!(exported(&again).await == file, "replayed they are the same bytes");
    assert_eq!(again.items().await.len(), many.items().await.len());
    database_is_sound(&again).await;
    again.close().await;
    many.verify().await;
    single.verify().await;
    many.close().await;
    single.close().await;
}

fn steps() -> impl Strategy<Value = Vec<(Duration, u64)>> {
    vec((wait(), any::<u64>()), 1..150)
}

fn batches() -> impl Strategy<Value = Vec<(Duration, Vec<u64>)>> {
    vec((wait(), vec(any::<u64>(), 1..16)), 1..14)
}

/// Whatever happens to an item, its row holds all of it.
async fn a_row_holds_its_item(steps: Vec<(Duration, u64)>) {
    let bench = Bench::<Memory>::open(Clock::new()).await;
    let tables = bench.database().tables();
    let mut memo = Memo::default();
    for (wait, seed) in steps {
        bench.wait(wait);
        let (items, now) = (bench.items().await, bench.clock.now());
        for item in &items {
            let row = ItemRow::of(item, now);
            assert_eq!(row.read(item.store.clone(), item.table.clone(), &mut memo).as_ref(), Ok(item));
            for found in bench.database().whole(&item.store, item.id).await.unwrap().unwrap().executions {
                let row = ExecutionRow::of(&found);
                assert_eq!(execution::read(row.item, row.fence, &row.rest, &mut memo), Ok(found));
            }
        }
        bench.reply(Scene { tables: &tables, items: &items, now }.request(seed)).await;
    }
}

#[test]
fn a_row_holds_all_of_its_item() {
    holds(40, steps(), a_row_holds_its_item);
}

#[test]
fn what_is_loaded_is_enough_on_memory() {
    holds(120, steps(), loaded_is_enough::<Memory>);
}

// covers: K-02, K-41
#[test]
fn a_batch_is_its_requests_one_by_one_on_memory() {
    holds(80, batches(), a_batch_is_its_requests::<Memory, Memory>);
}

#[test]
fn what_is_loaded_is_enough_on_sqlite() {
    holds(30, steps(), loaded_is_enough::<Sqlite>);
}

#[test]
fn what_is_loaded_is_enough_on_postgres() {
    holds(10, steps(), loaded_is_enough::<Postgres>);
}

// covers: K-02
#[test]
fn a_batch_is_its_requests_one_by_one_on_sqlite() {
    holds(20, batches(), a_batch_is_its_requests::<Sqlite, Sqlite>);
}

/// Two databases that have nothing in common but what they are told answer, keep and log the same.
// covers: K-02
#[test]
fn sqlite_does_what_memory_does() {
    holds(30, batches(), a_batch_is_its_requests::<Sqlite, Memory>);
}

// covers: K-02
#[test]
fn a_batch_on_postgres_is_its_requests_one_by_one_on_memory() {
    holds(10, batches(), a_batch_is_its_requests::<Postgres, Memory>);
}

/// The dice are good enough: every command happens, and not only its refusal.
#[test]
fn random_requests_reach_every_command() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut happened: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for world in 0..40 {
        runtime.block_on(async {
            let bench = Bench::<Memory>::open(Clock::new()).await;
            bench.keep_a_minute().await;
            let tables = bench.database().tables();
            let mut draw = Draw::new(world);
            for _ in 0..200 {
                bench.wait(span((draw.number() % 1_000) as usize));
                let items = bench.items().await;
                let scene = Scene { tables: &tables, items: &items, now: bench.clock.now() };
                let request = scene.request(draw.number());
                let name = name(&request.command);
                let fresh = bench.reply(request).await.fresh;
                let (asked, did) = happened.entry(name).or_default();
                *asked += 1;
                *did += usize::from(fresh);
            }
        });
    }
    assert_eq!(happened.len(), 17, "{happened:?}");
    assert!(happened.values().all(|(_, did)| *did >= 5), "each happens a few times: {happened:?}");
}

fn name(command: &Command) -> &'static str {
    match command {
        Command::Create(_) => "create",
        Command::Acquire(_) => "acquire",
        Command::Take(_) => "take",
        Command::Start(_) => "start",
        Command::Renew(_) => "renew",
        Command::Progress(_) => "progress",
        Command::Commit(_) => "commit",
        Command::Finish(_) => "finish",
        Command::Fail(_) => "fail",
        Command::Release(_) => "release",
        Command::Move(_) => "move",
        Command::Cancel(_) => "cancel",
        Command::Note(_) => "note",
        Command::Link(_) => "link",
        Command::Erase(_) => "erase",
        Command::Control(_) => "control",
        Command::Sweep(_) => "sweep",
        Command::Prune(_) => "prune",
    }
}
