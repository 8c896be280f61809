//! Creating: one item a name, whoever asks, however often, at whatever moment.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_core::request::{Command, Create, Terms};

use crate::harness::{Bench, Harness};
use crate::requests::*;
use crate::sized::sized;

pub async fn a_hundred_parallel_creates_of_one_name_make_one_item<H: Harness>(bench: &Bench<H>) {
    let keys = sized(5, 2_000);
    for key in 0..keys {
        let one = || create(named(&format!("k{key}"), new("job", r#"{"n":1}"#)));
        let replies = bench.race((0..100).map(|_| one())).await;
        let first = &replies[0].answer;
        assert!(matches!(first, Answer::Created(_)));
        assert!(replies.iter().all(|reply| reply.answer == *first), "all get the same answer");
        assert_eq!(replies.iter().filter(|reply| reply.fresh).count(), 1);
        let batch: Vec<_> = (0..100).map(|_| one()).collect();
        assert!(bench.batch(&batch).await.iter().all(|reply| reply.answer == *first && !reply.fresh));
    }
    assert_eq!(bench.items().await.len(), keys);
    assert_eq!(bench.log().await.len(), keys);
}

pub async fn the_first_answer_is_given_again_when_the_item_has_moved_on<H: Harness>(bench: &Bench<H>) {
    let one = || create(named("k", new("job", "{}")));
    let first = bench.reply(one()).await.answer;
    let Answer::Created(item) = &first else { panic!("{first:?}") };
    let execution = bench.run("worker:a/1", item.id).await;
    assert!(bench.ask("worker:a/1", commit(execution)).await.is_yes());
    bench.wait(Duration::from_secs(3600));
    assert_eq!(bench.reply(one()).await.answer, first);
    assert_eq!(bench.state(item.id).await, "SUCCEEDED");
}

pub async fn one_name_with_another_request_is_a_conflict<H: Harness>(bench: &Bench<H>) {
    let replies = bench
        .batch(&[
            create(named("k", new("job", r#"{"n":1}"#))),
            create(named("k", new("job", r#"{"n":2}"#))),
            create(Create { priority: Some(3), ..named("k", new("job", r#"{"n":1}"#)) }),
        ])
        .await;
    let Answer::Created(item) = &replies[0].answer else { panic!("{replies:?}") };
    for reply in &replies[1..] {
        assert_eq!(reply.answer, Answer::Conflict { name: "k".parse().unwrap(), item: item.id });
    }
    let later = bench.reply(create(named("k", new("job", "{}")))).await;
    assert_eq!(later.answer.code(), Some(Code::IdempotencyConflict));
    assert_eq!(bench.log().await.len(), 1);
}

pub async fn names_count_within_their_store_and_kind<H: Harness>(bench: &Bench<H>) {
    let replies = bench
        .batch(&[
            create(named("k", new("job", "{}"))),
            create(named("k", document())),
            in_store("other", create(named("k", new("job", "{}")))),
            in_store("other", create(named("k", new("job", r#"{"n":1}"#)))),
        ])
        .await;
    let fresh: Vec<bool> = replies.iter().map(|reply| reply.fresh).collect();
    assert_eq!(fresh, [true, true, true, false]);
    assert_eq!(replies[3].answer.code(), Some(Code::IdempotencyConflict));
    assert_eq!(bench.items().await.len(), 3);
}

pub async fn creates_on_one_key_coalesce_as_the_lifecycle_says<H: Harness>(bench: &Bench<H>) {
    let replies = bench.race((0..20).map(|n| create(named(&format!("n{n}"), verdict("c1"))))).await;
    let created = replies.iter().filter(|reply| matches!(reply.answer, Answer::Created(_))).count();
    let coalesced = replies.iter().filter(|reply| matches!(reply.answer, Answer::Coalesced(_))).count();
    assert_eq!((created, coalesced), (1, 19));
    assert_eq!(bench.items().await.len(), 1);
    // A repeat of a folded create is answered with the same item, also when that is being computed.
    let leased = bench.acquire("worker:a/1", &["verdict"], 1).await;
    let again = bench.reply(create(named("n7", verdict("c1")))).await;
    let (Answer::Coalesced(item) | Answer::Created(item)) = &again.answer else { panic!("{again:?}") };
    assert_eq!(item.id, leased[0].execution.item);
    // A new one is not: what is computing may have read too early.
    let replies = bench.batch(&[create(verdict("c1")), create(verdict("c1")), create(verdict("c2"))]).await;
    let fresh: Vec<bool> = replies.iter().map(|reply| reply.fresh).collect();
    assert_eq!(fresh, [true, false, true]);
    assert_eq!(bench.items().await.len(), 3);
}

pub async fn created_and_leased_in_one_step_it_is_never_offered<H: Harness>(bench: &Bench<H>) {
    let taken = || {
        let create = Create { take: Some(Terms::default()), ..named("s", new("session", "{}")) };
        request("worker:a/1", Command::Create(create))
    };
    let requests = [request("worker:b/1", acquire(&["session"], 1)), taken(), taken()];
    let replies = bench.batch(&requests).await;
    assert_eq!(replies[0].answer, Answer::Leased(Vec::new()));
    assert_eq!(replies[1].answer, replies[2].answer);
    let lease = &leases(replies[1].answer.clone())[0];
    assert_eq!(bench.story(lease.execution.item).await, "create lease");
    assert_eq!(bench.reply(taken()).await.answer, replies[1].answer);
}
