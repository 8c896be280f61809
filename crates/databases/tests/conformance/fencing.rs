//! Fencing: whoever lost a lease writes nothing more, and whoever never had it writes nothing at all.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_core::id::{ExecutionId, Fence};
use tenure_core::item::Item;
use tenure_core::request::{Command, Need, Take, Terms};
use tenure_core::world::Change;
use tenure_databases::{BatchId, Commit, Database, Overdue, Tx};

use crate::harness::{Bench, Harness};
use crate::requests::*;

/// Every write that is made under a lease.
fn writes(execution: ExecutionId) -> Vec<Command> {
    vec![
        start(execution),
        renew(execution),
        progress(execution, record("step", "s", "1")),
        commit(execution),
        fail(execution),
        release(execution),
        finish(execution),
    ]
}

/// Below the kernel: whatever was decided, a row is written only as it was found.
pub async fn a_row_that_is_not_as_it_was_found_is_not_written<H: Harness>(bench: &Bench<H>) {
    let id = bench.job().await;
    let execution = bench.run("worker:a/1", id).await;
    let before = bench.item(id).await;
    let step = |version: u64| Item { version, ..before.clone() };
    let earlier = Fence(execution.fence.0 - 1);
    let stale = [
        Change::Update { was: before.version - 1, item: step(before.version).into(), output: None },
        Change::Update { was: before.version + 1, item: step(before.version + 2).into(), output: None },
        Change::Renew {
            execution: ExecutionId { fence: earlier, ..execution },
            heartbeat: before.updated,
            expires: before.updated,
        },
        Change::Insert { item: Item { lease: None, ..before.clone() }.into(), payload: None },
    ];
    let mut need = Need::default();
    need.items.insert(id);
    for (number, change) in (1..).zip(stale) {
        let mut tx = bench.database().begin(BatchId(number)).await.unwrap();
        tx.lock(&need).await.unwrap();
        let refused = match tx.write(std::slice::from_ref(&change)).await {
            Ok(0) | Err(_) => {
                drop(tx);
                true
            }
            // Kept for the commit, which fails.
            Ok(_) => matches!(tx.commit().await, Commit::Not(_)),
        };
        assert!(refused, "{change:?}");
        assert_eq!(bench.item(id).await, before, "{change:?}");
    }
}

pub async fn a_stale_write_is_refused_while_the_new_holder_is_in_the_same_state<H: Harness>(
    bench: &Bench<H>,
) {
    let item = bench.job().await;
    let mut stale: Vec<(String, ExecutionId)> = Vec::new();
    for round in 0..5 {
        let worker = format!("worker:w{round}/1");
        let execution = bench.run(&worker, item).await;
        let before = bench.history(item).await;
        let old = stale.iter().flat_map(|(worker, execution)| {
            // A repeated start is answered as it was the first time; it writes nothing either.
            writes(*execution).into_iter().skip(1).map(move |command| request(worker, command))
        });
        let old: Vec<_> = old.collect();
        for reply in bench.batch(&old).await {
            assert!(matches!(reply.answer, Answer::LeaseLost(_)) || !reply.fresh, "{reply:?}");
            assert!(!reply.fresh, "{reply:?}");
        }
        assert_eq!(bench.history(item).await, before, "the state is the same, the fence is not");
        // In one batch with the holder's own write, before it and after it.
        let mut mixed = old.clone();
        mixed.push(request(&worker, progress(execution, record("step", &format!("r{round}"), "1"))));
        mixed.extend(old);
        let fresh = bench.batch(&mixed).await.iter().filter(|reply| reply.fresh).count();
        assert_eq!(fresh, 1);
        if round % 2 == 0 {
            assert!(bench.ask(&worker, release(execution)).await.is_yes());
        } else {
            bench.wait(Duration::from_secs(60));
        }
        stale.push((worker, execution));
    }
    let item = bench.item(item).await;
    assert_eq!(item.fence, Fence(5), "the fence is never reset");
}

pub async fn only_the_holder_of_the_present_lease_can_write<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let execution = bench.take("worker:a/1", item).await;
    let before = bench.log().await;
    let other_fence = |fence| ExecutionId { item, fence };
    let mut requests = Vec::new();
    for (who, execution) in [
        ("worker:b/1", execution),
        ("worker:a/2", execution),
        ("worker:a", execution),
        ("worker:a/1", other_fence(Fence(0))),
        ("worker:a/1", other_fence(Fence(2))),
        ("admin:root", execution),
    ] {
        requests.extend(writes(execution).into_iter().map(|command| request(who, command)));
    }
    for reply in bench.batch(&requests).await {
        assert!(matches!(reply.answer, Answer::LeaseLost(_)), "{reply:?}");
    }
    let foreign: Vec<_> = writes(execution)
        .into_iter()
        .map(|command| in_store("other", request("worker:a/1", command)))
        .collect();
    for reply in bench.batch(&foreign).await {
        assert_eq!(reply.answer.code(), Some(Code::NotFound), "{reply:?}");
    }
    assert_eq!(bench.log().await, before);
}

pub async fn a_lease_ends_at_the_very_moment_it_says<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let execution = bench.run("worker:a/1", item).await;
    bench.wait(Duration::from_micros(59_999_999));
    assert!(bench.ask("worker:a/1", renew(execution)).await.is_yes(), "one microsecond is left");
    let expires = bench.item(item).await.lease.unwrap().expires;
    assert_eq!(expires, bench.clock.now().after(Duration::from_secs(60)));
    bench.wait(Duration::from_secs(60));
    for command in [renew(execution), commit(execution), fail(execution), release(execution)] {
        let answer = bench.ask("worker:a/1", command).await;
        assert!(matches!(answer, Answer::LeaseLost(_)), "{answer:?}");
    }
    assert_eq!(bench.story(item).await, "create lease");
}

/// The shortest and the longest, a microsecond before their end, at it and after it: whoever judges a lease says the same of it.
pub async fn a_lease_of_any_length_ends_to_the_microsecond<H: Harness>(bench: &Bench<H>) {
    let moment = Duration::from_micros(1);
    for lease in [Duration::from_secs(1), Duration::from_secs(60), Duration::from_secs(3600)] {
        for (wait, live) in [(lease - moment, true), (lease, false), (lease + moment, false)] {
            let items = [bench.job().await, bench.job().await, bench.job().await];
            let terms = Terms { start: true, lease: Some(lease), ..Terms::default() };
            let take_it = |item| request("worker:a/1", Command::Take(Take { item, terms: terms.clone() }));
            bench.batch(&items.map(take_it)).await;
            bench.wait(wait);
            let due = bench.due(Overdue::Time).await;
            assert!(items.iter().all(|item| due.contains(item) != live), "{lease:?} after {wait:?}: {due:?}");
            let [renewed, swept, taken] = items;
            let execution = |item| ExecutionId { item, fence: Fence(1) };
            let renewal = bench.ask("worker:a/1", renew(execution(renewed))).await;
            assert_eq!(renewal.is_yes(), live, "{lease:?} after {wait:?}: {renewal:?}");
            assert_eq!(bench.reply(sweep(execution(swept))).await.fresh, !live, "{lease:?} after {wait:?}");
            let other = bench.ask("worker:b/1", take(taken)).await;
            assert_eq!(other.code(), live.then_some(Code::ClaimConflict), "{lease:?} after {wait:?}");
        }
    }
}

/// A renewal moves expiry and heartbeat and leaves no trace in the log; it never shortens a lease.
pub async fn a_renewal_writes_no_entry_and_no_version<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let execution = bench.run("worker:a/1", item).await;
    let before = bench.item(item).await;
    bench.wait(Duration::from_secs(20));
    let renewals: Vec<_> = (0..3).map(|_| request("worker:a/1", renew(execution))).collect();
    assert!(bench.batch(&renewals).await.iter().all(|reply| reply.answer.is_yes()));
    let after = bench.item(item).await;
    assert_eq!(after.as_logged(), before.as_logged());
    let lease = after.lease.unwrap();
    assert_eq!(lease.heartbeat, bench.clock.now());
    assert_eq!(lease.expires, bench.clock.now().after(Duration::from_secs(60)));
    // A renewal and a commit in one batch, in both orders.
    let both = [commit(execution), renew(execution)].map(|command| request("worker:a/1", command));
    let replies = bench.batch(&both).await;
    assert!(replies[0].fresh && !replies[1].fresh, "{replies:?}");
    let other = bench.job().await;
    let execution = bench.run("worker:a/1", other).await;
    let both = [renew(execution), commit(execution)].map(|command| request("worker:a/1", command));
    assert!(bench.batch(&both).await.iter().all(|reply| reply.fresh));
    assert_eq!(bench.state(other).await, "SUCCEEDED");
}
