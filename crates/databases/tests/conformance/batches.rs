//! Batches: many requests, one transaction, an answer for each.

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_core::id::{ExecutionId, Fence};
use tenure_core::item::Item;
use tokio::task::JoinSet;

use crate::harness::{Bench, Harness};
use crate::requests::*;

pub async fn requests_of_one_item_are_decided_in_order_of_arrival<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let execution = ExecutionId { item, fence: Fence(1) };
    let life = [take(item), start(execution), renew(execution), commit_only(execution), finish(execution)];
    let replies = bench.batch(&life.map(|command| request("worker:a/1", command))).await;
    assert!(replies.iter().all(|reply| reply.answer.is_yes() && reply.fresh), "{replies:#?}");
    assert_eq!(bench.story(item).await, "create lease start commit finish");
    assert_eq!(bench.state(item).await, "SUCCEEDED");

    let other = bench.job().await;
    let backwards = [finish, commit_only, start].map(|command| {
        let execution = ExecutionId { item: other, fence: Fence(1) };
        request("worker:a/1", command(execution))
    });
    let mut requests = backwards.to_vec();
    requests.push(request("worker:a/1", take(other)));
    let replies = bench.batch(&requests).await;
    assert_eq!(replies.iter().filter(|reply| reply.fresh).count(), 1, "{replies:#?}");
    assert_eq!(bench.story(other).await, "create lease");
}

pub async fn one_bad_request_of_a_hundred_fails_alone<H: Harness>(bench: &Bench<H>) {
    let mut requests: Vec<_> = (0..99).map(|n| create(named(&format!("n{n}"), new("job", "{}")))).collect();
    requests.insert(40, create(new("claim", r#"{"text":"no domain"}"#)));
    let replies = bench.batch(&requests).await;
    assert_eq!(replies[40].answer.code(), Some(Code::SchemaViolation));
    assert!(!replies[40].fresh);
    assert_eq!(replies.iter().filter(|reply| reply.fresh).count(), 99);
    assert_eq!(bench.items().await.len(), 99);
}

pub async fn a_batch_that_changes_nothing_writes_nothing<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let execution = bench.run("worker:a/1", item).await;
    assert!(bench.ask("worker:a/1", commit(execution)).await.is_yes());
    let before = (bench.log().await, bench.items().await);
    let replies = bench
        .batch(&[
            request("worker:a/1", commit(execution)),
            request("worker:a/1", start(execution)),
            request("worker:b/1", take(item)),
            request("worker:b/1", acquire(&["job"], 5)),
            request("api:test", cancel(item)),
            request("worker:a/1", erase(item)),
        ])
        .await;
    assert!(replies.iter().all(|reply| !reply.fresh), "{replies:#?}");
    assert_eq!((bench.log().await, bench.items().await), before);
}

pub async fn replies_come_in_the_order_of_requests<H: Harness>(bench: &Bench<H>) {
    let first = bench.job().await;
    let requests = [
        request("worker:a/1", acquire(&["job"], 1)),
        create(new("claim", r#"{"domain":"d","text":"t"}"#)),
        request("worker:a/1", acquire(&["verdict"], 1)),
        request("api:test", cancel(tenure_core::id::ItemId(7))),
        create(verdict("c")),
    ];
    let replies = bench.batch(&requests).await;
    let kind = |item: &Item| item.table.kind.to_string();
    let shown: Vec<String> = replies
        .iter()
        .map(|reply| match &reply.answer {
            Answer::Created(item) => format!("created {}", kind(item)),
            Answer::Leased(leases) => format!("leased {}", kind(&leases[0].item)),
            other => format!("{:?}", other.code().expect("a no")),
        })
        .collect();
    assert_eq!(shown, ["leased job", "created claim", "leased verdict", "NotFound", "created verdict"]);
    assert_eq!(bench.story(first).await, "create lease");
}

pub async fn fresh_says_whether_something_was_written<H: Harness>(bench: &Bench<H>) {
    let create = || create(named("once", new("job", "{}")));
    let replies = bench.batch(&[create(), create()]).await;
    assert_eq!(replies[0].answer, replies[1].answer);
    assert_eq!(replies.iter().map(|reply| reply.fresh).collect::<Vec<_>>(), [true, false]);
    assert!(!bench.reply(create()).await.fresh);
    let leased = bench.reply(request("worker:a/1", acquire(&["job"], 1))).await;
    assert!(leased.fresh);
    assert!(!bench.reply(request("worker:a/1", acquire(&["job"], 1))).await.fresh, "nothing is left");
    let execution = leases(leased.answer)[0].execution;
    assert!(bench.reply(request("worker:a/1", renew(execution))).await.fresh);
    assert!(!bench.reply(request("worker:b/1", renew(execution))).await.fresh);
}

pub async fn callers_in_parallel_each_get_their_own_answer<H: Harness>(bench: &Bench<H>) {
    let mut callers = JoinSet::new();
    for caller in 0..8 {
        let bench = bench.clone();
        callers.spawn(async move {
            let worker = format!("worker:w{caller}/1");
            for round in 0..5 {
                let name = format!("{caller}/{round}");
                let requests = [create(named(&name, new("job", "{}"))), create(new("claim", "{}"))];
                let replies = bench.batch(&requests).await;
                let Answer::Created(item) = &replies[0].answer else { panic!("{replies:?}") };
                assert_eq!(replies[1].answer.code(), Some(Code::SchemaViolation));
                let execution = bench.run(&worker, item.id).await;
                assert!(bench.ask(&worker, commit(execution)).await.is_yes());
            }
        });
    }
    callers.join_all().await;
    let items = bench.items().await;
    assert_eq!(items.len(), 40);
    assert!(items.iter().all(|item| item.version == 3 && item.committed == Some(Fence(1))));
}

pub async fn an_acquire_leases_what_its_batch_made_ready<H: Harness>(bench: &Bench<H>) {
    let first = bench.pass("d1").await;
    bench.tick();
    let second = bench.pass("d1").await;
    let execution = bench.run("worker:a/1", first).await;
    let gone = bench.job().await;
    let requests = [
        request("worker:b/1", acquire(&["run", "job"], 9)),
        request("worker:a/1", commit(execution)),
        request("api:test", cancel(gone)),
        create(new("job", "{}")),
    ];
    let replies = bench.batch(&requests).await;
    let Answer::Created(created) = &replies[3].answer else { panic!("{replies:?}") };
    let leased = ids(&leases(replies[0].answer.clone()));
    assert_eq!(leased, [second, created.id], "the key was freed, the job created, the other cancelled");
}

pub async fn a_record_that_follows_an_erase_keeps_its_body<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    assert!(bench.ask("api:test", cancel(item)).await.is_yes());
    let requests = [
        request("api:test", note(item, record("remark", "before", "1"))),
        request("api:test", erase(item)),
        request("api:test", note(item, record("remark", "after", "2"))),
    ];
    let replies = bench.batch(&requests).await;
    assert!(replies.iter().all(|reply| reply.fresh), "{replies:#?}");
    let whole = bench.whole(item).await;
    let mut bodies: Vec<(String, bool)> =
        whole.records.iter().map(|record| (record.name.to_string(), record.body.is_some())).collect();
    bodies.sort();
    assert_eq!(bodies, [("after".to_string(), true), ("before".to_string(), false)]);
    assert_eq!(whole.payload, None);
}
