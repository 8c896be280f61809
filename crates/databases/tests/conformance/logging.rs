//! The log: append-only, in one order that never changes, chained for each item.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::id::ItemId;
use tenure_core::replay::replay;
use tenure_core::world::World;
use tenure_databases::Database;
use tokio::task::JoinSet;

use crate::harness::{Bench, Harness};
use crate::requests::*;

/// A little of everything, by several callers at once.
async fn busy<H: Harness>(bench: &Bench<H>, callers: usize) {
    let mut set = JoinSet::new();
    for caller in 0..callers {
        let bench = bench.clone();
        set.spawn(async move {
            let worker = format!("worker:w{caller}/1");
            bench.batch(&[create(new("job", "{}")), create(pass("d1")), create(verdict("c1"))]).await;
            for lease in bench.acquire(&worker, &["job", "run", "verdict"], 2).await {
                let end = [start(lease.execution), commit(lease.execution)];
                bench.batch(&end.map(|command| request(&worker, command))).await;
            }
            for lease in bench.acquire(&worker, &["run"], 1).await {
                bench.ask(&worker, fail(lease.execution)).await;
            }
        });
    }
    set.join_all().await;
}

pub async fn what_was_read_once_never_changes<H: Harness>(bench: &Bench<H>) {
    let mut read = Vec::new();
    for round in 0..6 {
        busy(bench, 4).await;
        bench.wait(Duration::from_secs(round));
        let log = bench.log().await;
        assert!(log.len() > read.len());
        assert_eq!(log[..read.len()], read[..], "what came later is behind what was there");
        read = log;
    }
    // Any page is a piece of the whole.
    for after in [0, 3, read[read.len() - 2].0] {
        let page = bench.database().log(after, 4).await.unwrap();
        let expected: Vec<_> =
            read.iter().filter(|(position, _)| *position > after).take(4).cloned().collect();
        assert_eq!(page, expected);
    }
    assert_eq!(bench.database().log(read.last().unwrap().0, 4).await.unwrap(), []);
}

pub async fn a_history_is_contiguous_and_chained<H: Harness>(bench: &Bench<H>) {
    busy(bench, 6).await;
    let mut versions: BTreeMap<ItemId, u64> = BTreeMap::new();
    for (_, entry) in bench.log().await {
        let version = versions.entry(entry.item).or_default();
        assert_eq!(entry.version, *version + 1, "within an item the log goes by version");
        *version = entry.version;
    }
    for item in bench.items().await {
        let history = bench.history(item.id).await;
        assert_eq!(history.len() as u64, item.version);
        let mut previous = None;
        for entry in &history {
            assert_eq!(entry.previous, previous);
            previous = Some(entry.hash());
        }
        assert_eq!(previous, Some(item.head));
        assert!(history.is_sorted_by_key(|entry| entry.fence), "the fence never falls");
    }
}

/// The log alone, entry by entry in its order, makes the same items, executions and records again.
pub async fn the_log_replays_to_what_is_kept<H: Harness>(bench: &Bench<H>) {
    busy(bench, 6).await;
    let mut world = World::new(Arc::clone(&bench.database().tables()));
    for (_, entry) in bench.log().await {
        let changes = replay(&world, &entry).expect("the log replays");
        world.apply(changes);
    }
    let items = bench.items().await;
    assert_eq!(items.len(), world.items.len());
    for item in items {
        assert_eq!(world.items[&item.id].as_logged(), item.as_logged());
        let whole = bench.whole(item.id).await;
        let marks = |executions: Vec<&tenure_core::execution::Execution>| {
            executions.iter().map(|e| (e.id, e.committed, e.ended.clone())).collect::<Vec<_>>()
        };
        let replayed = world.executions_of(item.id).collect();
        assert_eq!(marks(replayed), marks(whole.executions.iter().collect()));
    }
}

pub async fn a_clock_that_is_set_back_does_not_turn_a_history_round<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    bench.wait(Duration::from_secs(10));
    let execution = bench.take("worker:a/1", item).await;
    bench.clock.set(START);
    assert!(bench.ask("worker:a/1", start(execution)).await.is_yes());
    assert!(bench.ask("worker:a/1", commit(execution)).await.is_yes());
    let history = bench.history(item).await;
    assert_eq!(history.len(), 4);
    assert!(history.is_sorted_by_key(|entry| entry.at), "occurred_at never decreases within an item");
}
