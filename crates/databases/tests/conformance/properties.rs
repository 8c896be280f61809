//! Properties over random requests: what is loaded is enough, and a batch is nothing but its requests one by one.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, TestRunner};
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::item::Item;
use tenure_core::request::{Command, Need, Request};
use tenure_core::world::{Change, World};
use tenure_databases::batch::{run, run_seeded};
use tenure_databases::row::Memo;
use tenure_databases::row::execution::{self, ExecutionRow};
use tenure_databases::row::item::ItemRow;
use tenure_databases::{BatchId, Commit, Database, Error, Tx};
use tokio::task::JoinSet;

use crate::files::{database_is_sound, exported, is_sound, logged, replayed};
use crate::harness::{Bench, Clock, Harness, Memory, Postgres, Sqlite};
use crate::random::Scene;
use crate::sized::sized;

/// How far the clock goes before a request, in seconds: mostly not at all, sometimes past a lease, a window or a session; and of ten
/// steps one goes back.
fn step() -> impl Strategy<Value = i64> {
    (0..1_000_usize).prop_map(seconds)
}

fn seconds(number: usize) -> i64 {
    const SECONDS: [i64; 10] = [1, 1, 1, 5, 5, 25, 61, 121, 3601, -40];
    // Past the end of the list it stands still.
    SECONDS.get(number % 40).copied().unwrap_or(0)
}

/// Runs a property over random input. A failure is shrunk and its seed is kept beside this file.
///
/// With `TENURE_ROUNDS=full` there are fifty times as many cases.
fn holds<T: Debug>(cases: u32, input: impl Strategy<Value = T>, property: impl AsyncFn(T)) {
    let cases = cases * sized(1, 50) as u32;
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
async fn loaded_is_enough<H: Harness>(steps: Vec<(i64, u64)>) {
    let bench = Bench::<H>::open(Clock::new()).await;
    bench.keep_a_minute().await;
    let tables = bench.database().tables();
    let mut full = World::new(tables.clone());
    let mut begun = 1;
    for (step, seed) in steps {
        bench.step(step);
        let now = bench.clock.now();
        let items: Vec<_> = full.items.values().map(|item| Item::clone(item)).collect();
        let request = Scene { tables: &tables, items: &items, now }.request(seed);
        let (mut tx, loaded) = loop {
            match loaded_for(&bench, BatchId(begun), &request).await {
                Ok(begun) => break begun,
                // It learned with the claim that somebody has said something about the kind, and knows it from now on.
                Err(Error::LostRace(_)) => begun += 1,
                Err(error) => panic!("{error}"),
            }
        };
        begun += 1;
        assert_eq!(loaded.now, now);
        full.now = loaded.now;
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

/// A transaction with all that a request needs.
async fn loaded_for<'a, H: Harness>(
    bench: &'a Bench<H>,
    batch: BatchId,
    request: &Request,
) -> Result<(<H::Database as Database>::Tx<'a>, World), Error> {
    let mut tx = bench.database().begin(batch).await?;
    let mut need = Need::default();
    request.needs(&tx.tables(), &mut need);
    let mut loaded = tx.lock(&need).await?;
    if let Command::Acquire(acquire) = &request.command {
        for kind in &acquire.kinds {
            let found = tx.claim(&mut loaded, &request.store, kind, None, 10).await?;
            loaded.offers.extend(found.into_iter().map(|place| place.id));
        }
    }
    Ok((tx, loaded))
}

/// Every row that was loaded is as it is kept.
fn is_part_of(loaded: &World, full: &World) {
    fn part<K: Ord + Debug, V: PartialEq + Debug>(some: &BTreeMap<K, V>, all: &BTreeMap<K, V>) {
        for (key, row) in some {
            assert_eq!(all.get(key), Some(row), "{key:?}");
        }
    }
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
async fn a_batch_is_its_requests<A: Harness, B: Harness>(batches: Vec<(i64, Vec<u64>)>) {
    let clock = Clock::new();
    let many = Bench::<A>::open(clock.clone()).await;
    let single = Bench::<B>::open(Clock::new()).await;
    many.keep_a_minute().await;
    single.keep_a_minute().await;
    let mut draws = (Draw::new(1), Draw::new(2));
    for (step, seeds) in batches {
        many.step(step);
        single.clock.set(many.clock.now());
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
    assert!(exported(&many).await == exported(&single).await, "the same bytes");
    is_the_same_elsewhere::<A, B>(&many).await;
    many.verify().await;
    single.verify().await;
    many.close().await;
    single.close().await;
}

/// Its log replayed into another database is the same log, byte for byte, and makes the same items.
async fn is_the_same_elsewhere<A: Harness, B: Harness>(bench: &Bench<A>) {
    let file = exported(bench).await;
    is_sound(&file);
    let again = replayed::<B>(&file, &bench.clock).await;
    assert!(exported(&again).await == file, "replayed they are the same bytes");
    let items = bench.items().await;
    assert_eq!(again.items().await.len(), items.len());
    for item in &items {
        assert_eq!(logged(&again, item).await, logged(bench, item).await);
    }
    database_is_sound(bench).await;
    database_is_sound(&again).await;
    again.verify().await;
    again.close().await;
}

/// A random history on one sort of database is the same on another.
async fn a_log_goes_elsewhere<A: Harness, B: Harness>(batches: Vec<(i64, Vec<u64>)>) {
    let bench = Bench::<A>::open(Clock::new()).await;
    bench.keep_a_minute().await;
    for (step, seeds) in batches {
        bench.step(step);
        let (items, tables) = (bench.items().await, bench.database().tables());
        let scene = Scene { tables: &tables, items: &items, now: bench.clock.now() };
        let requests: Vec<Request> = seeds.iter().map(|seed| scene.request(*seed)).collect();
        bench.batch(&requests).await;
    }
    is_the_same_elsewhere::<A, B>(&bench).await;
    bench.verify().await;
    bench.close().await;
}

/// Several processes write at once, about the same items. Whatever order came of it, nobody hears of a race that was lost, and the
/// log that they left is a history: memory comes to the same from it.
async fn writers_leave_one_history(writers: Vec<Vec<(i64, Vec<u64>)>>) {
    let bench = Bench::<Postgres>::open(Clock::new()).await;
    bench.keep_a_minute().await;
    let mut together = JoinSet::new();
    for batches in writers {
        let (bench, database, mut draw) = (bench.clone(), bench.another().await, bench.draw());
        together.spawn(async move {
            for (step, seeds) in batches {
                bench.step(step);
                let (items, tables) = (bench.items().await, database.tables());
                let scene = Scene { tables: &tables, items: &items, now: bench.clock.now() };
                let requests: Vec<Request> = seeds.iter().map(|seed| scene.request(*seed)).collect();
                for reply in run(&database, &requests, &mut draw).await {
                    reply.expect("no race that was lost reaches a caller");
                }
            }
        });
    }
    together.join_all().await;
    is_the_same_elsewhere::<Postgres, Memory>(&bench).await;
    bench.verify().await;
    bench.close().await;
}

fn steps() -> impl Strategy<Value = Vec<(i64, u64)>> {
    vec((step(), any::<u64>()), 1..150)
}

fn batches() -> impl Strategy<Value = Vec<(i64, Vec<u64>)>> {
    vec((step(), vec(any::<u64>(), 1..16)), 1..14)
}

/// Whatever happens to an item, its row holds all of it.
async fn a_row_holds_its_item(steps: Vec<(i64, u64)>) {
    let bench = Bench::<Memory>::open(Clock::new()).await;
    let tables = bench.database().tables();
    let mut memo = Memo::default();
    for (step, seed) in steps {
        bench.step(step);
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

// covers: K-41, K-42
// fault: H4
#[test]
fn a_log_of_sqlite_is_the_same_on_postgres() {
    holds(5, batches(), a_log_goes_elsewhere::<Sqlite, Postgres>);
}

// covers: K-41, K-42
// fault: H4
#[test]
fn a_log_of_postgres_is_the_same_on_sqlite() {
    holds(3, batches(), a_log_goes_elsewhere::<Postgres, Sqlite>);
}

// covers: K-02, K-08, K-42
// fault: H1
#[test]
fn several_writers_on_postgres_leave_a_history_that_memory_comes_to() {
    holds(3, vec(batches(), 2..4), writers_leave_one_history);
}

/// The dice are good enough: every command happens, and not only its refusal.
#[test]
fn random_requests_reach_every_command() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut happened: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for world in 0..120 {
        runtime.block_on(async {
            let bench = Bench::<Memory>::open(Clock::new()).await;
            bench.keep_a_minute().await;
            let tables = bench.database().tables();
            let mut draw = Draw::new(world);
            for _ in 0..200 {
                bench.step(seconds((draw.number() % 1_000) as usize));
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
    assert_eq!(happened.len(), 18, "{happened:?}");
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
