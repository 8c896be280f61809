//! Committing: the one point where effects become real, once and whole.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_core::execution::Status;
use tenure_core::id::ItemId;
use tenure_core::item::Link;
use tenure_core::request::{Create, Effects, NewMessage, Request};

use crate::harness::{Bench, Harness};
use crate::requests::*;

fn effects() -> Effects {
    Effects {
        records: vec![record("result", "a", "1"), record("result", "b", "2")],
        creates: vec![named("child", document()), document()],
        moves: Vec::new(),
        messages: vec![NewMessage { label: "paid".parse().unwrap(), body: body("3") }],
    }
}

pub async fn a_commit_that_is_repeated_happens_once<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let execution = bench.run("worker:a/1", item).await;
    let commits: Vec<_> = (0..3).map(|_| request("worker:a/1", commit_with(execution, effects()))).collect();
    let replies = bench.batch(&commits).await;
    assert_eq!(replies.iter().map(|reply| reply.fresh).collect::<Vec<_>>(), [true, false, false]);
    assert!(replies.iter().all(|reply| reply.answer == replies[0].answer), "{replies:#?}");
    bench.wait(Duration::from_secs(3600));
    for reply in bench.race(commits).await {
        assert_eq!((reply.answer, reply.fresh), (replies[0].answer.clone(), false));
    }
    let whole = bench.whole(item).await;
    assert_eq!((whole.records.len(), whole.messages.len(), whole.executions.len()), (2, 1, 1));
    assert_eq!(whole.output, Some(body("7")));
    assert_eq!(bench.items().await.len(), 3);
}

pub async fn a_second_execution_learns_of_the_one_that_committed<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let first = bench.run("worker:a/1", item).await;
    bench.wait(Duration::from_secs(60));
    let second = bench.run("worker:b/1", item).await;
    let replies = bench
        .batch(&[
            request("worker:b/1", commit(second)),
            request("worker:a/1", commit_with(first, effects())),
            request("worker:c/1", take(item)),
            request("worker:c/1", acquire(&["job"], 1)),
        ])
        .await;
    let Answer::Ran(committed) = &replies[0].answer else { panic!("{replies:?}") };
    for reply in &replies[1..3] {
        let Answer::AlreadyCommitted(execution) = &reply.answer else { panic!("{reply:?}") };
        assert_eq!((execution.id, execution.output), (second, committed.output));
    }
    assert_eq!(replies[3].answer, Answer::Leased(Vec::new()), "what has committed is never leased again");
    let statuses: Vec<Status> = bench.whole(item).await.executions.iter().map(|e| e.status()).collect();
    assert_eq!(statuses, [Status::Aborted, Status::Done]);
    assert_eq!(bench.items().await.len(), 1, "the first one's effects never happened");
}

/// Commit, sweep and cancel in every order, before the lease's end and at it, together and in a race.
pub async fn commit_races_sweep_races_cancel_and_one_of_them_ends_it<H: Harness>(bench: &Bench<H>) {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for wait in [59, 60] {
        for order in ORDERS {
            for together in [true, false] {
                let item = bench.create(Create { attempts: Some(1), ..new("job", "{}") }).await;
                let execution = bench.run("worker:a/1", item).await;
                bench.wait(Duration::from_secs(wait));
                let commit = request("worker:a/1", commit_with(execution, effects_of(item)));
                let three = [commit, sweep(execution), request("api:test", cancel(item))];
                let requests: Vec<Request> = order.map(|index| three[index].clone()).to_vec();
                let replies = match together {
                    true => bench.batch(&requests).await,
                    false => bench.race(requests).await,
                };
                assert!(replies.iter().any(|reply| reply.fresh), "{replies:#?}");
                // A cancel of what is held asks; the sweep or the commit that follows ends it.
                bench.wait(Duration::from_secs(60));
                bench.batch(&[sweep(execution)]).await;
                one_ending(bench, item).await;
            }
        }
    }
}

fn effects_of(item: ItemId) -> Effects {
    Effects { creates: vec![named(&item.to_string(), document())], ..effects() }
}

async fn one_ending<H: Harness>(bench: &Bench<H>, item: ItemId) {
    let whole = bench.whole(item).await;
    let table = &whole.item.table;
    let ended = |state: &str| table.state_named(state).is_some_and(|state| table.phase(state).is_ended());
    let endings = bench.history(item).await.iter().filter(|entry| ended(&entry.state)).count();
    assert_eq!(endings, 1, "{}", bench.story(item).await);
    let committed = whole.executions.iter().filter(|execution| execution.committed.is_some()).count();
    let succeeded = whole.item.state_name().as_str() == "SUCCEEDED";
    assert_eq!(committed, usize::from(succeeded));
    assert_eq!(whole.records.len(), if succeeded { 2 } else { 0 }, "effects come with the commit alone");
}

pub async fn effects_happen_all_or_not_at_all<H: Harness>(bench: &Bench<H>) {
    let foreign = bench.reply(in_store("other", create(document()))).await;
    let Answer::Created(foreign) = foreign.answer else { panic!("{foreign:?}") };
    let item = bench.job().await;
    let execution = bench.run("worker:a/1", item).await;
    let before = (bench.log().await, bench.whole(item).await);
    let link = Link { label: "source".parse().unwrap(), to: foreign.id };
    let bad = [
        new("nonsense", "{}"),
        new("claim", "{}"),
        new("work_order", "{}"),
        Create { links: vec![link], ..document() },
        named("child", document()),
    ];
    for bad in bad {
        let mut effects = effects();
        effects.creates.push(bad);
        let reply = bench.reply(request("worker:a/1", commit_with(execution, effects))).await;
        assert!(!reply.answer.is_yes() && !reply.fresh, "{reply:?}");
        assert_eq!((bench.log().await, bench.whole(item).await), before);
    }
    let reply = bench.reply(request("worker:a/1", commit_with(execution, effects()))).await;
    assert!(reply.fresh, "{reply:?}");
    let created = bench.items().await.into_iter().filter(|found| found.origin == Some(item)).count();
    assert_eq!((created, bench.whole(item).await.messages.len()), (2, 1));
}

/// The item that succeeded before is moved by the one that succeeds now, also when both are in one batch.
pub async fn the_newer_supersedes_the_older_in_one_batch<H: Harness>(bench: &Bench<H>) {
    let payload = r#"{"claim_id":"c","truthbit_id":"t","validator_key":"v"}"#;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(bench.create(new("validation", payload)).await);
    }
    let submits: Vec<_> = ids.iter().map(|id| request("api:test", submit(*id))).collect();
    assert!(bench.batch(&submits).await.iter().all(|reply| reply.fresh));
    let mut states = Vec::new();
    for id in ids {
        states.push(bench.state(id).await);
    }
    assert_eq!(states, ["superseded", "superseded", "submitted"]);
}

pub async fn what_has_committed_is_only_ever_finished<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let execution = bench.run("worker:a/1", item).await;
    let replies = bench
        .batch(&[
            request("worker:a/1", commit_only(execution)),
            request("worker:a/1", release(execution)),
            request("worker:a/1", fail(execution)),
            request("api:test", cancel(item)),
            sweep(execution),
        ])
        .await;
    let codes: Vec<Option<Code>> = replies.iter().map(|reply| reply.answer.code()).collect();
    let refused = || Some(Code::TransitionRefused);
    assert_eq!(codes, [None, refused(), refused(), refused(), None]);
    assert_eq!(bench.story(item).await, "create lease commit");
    bench.wait(Duration::from_secs(60));
    let ends = [sweep(execution), request("worker:a/1", finish(execution)), sweep(execution)];
    let replies = bench.batch(&ends).await;
    assert_eq!(replies.iter().map(|reply| reply.fresh).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(bench.story(item).await, "create lease commit finish");
}
