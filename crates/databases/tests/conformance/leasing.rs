//! Leasing: who gets what, in which turn, and that nobody else gets it too.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_core::id::ItemId;
use tenure_core::item::Link;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::request::{Command, Create, Take, Terms};
use tenure_databases::Database;

use crate::harness::{Bench, Harness};
use crate::requests::*;

pub async fn of_two_claimers_one_wins<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let both = ["worker:a/1", "worker:b/1"].map(|worker| request(worker, take(item)));
    let replies = bench.batch(&both).await;
    let won = leases(replies[0].answer.clone());
    let Answer::Held { owner, until, .. } = &replies[1].answer else { panic!("{replies:?}") };
    assert_eq!((owner, *until), (&actor("worker:a/1").owner(), won[0].item.lease.as_ref().unwrap().expires));

    for round in 0..10 {
        let item = bench.job().await;
        let by = |n: usize| format!("worker:w{n}/{round}");
        let takes = bench.race((0..16).map(|n| request(&by(n), take(item)))).await;
        assert_eq!(takes.iter().filter(|reply| reply.fresh).count(), 1);
        let held = takes.iter().filter(|reply| reply.answer.code() == Some(Code::ClaimConflict));
        assert_eq!(held.count(), 15);
        bench.job().await;
        let acquires = bench.race((0..16).map(|n| request(&by(n), acquire(&["job"], 1)))).await;
        let got: usize = acquires.iter().map(|reply| leases(reply.answer.clone()).len()).sum();
        assert_eq!(got, 1, "one item was ready");
    }
}

pub async fn an_acquire_goes_by_rank<H: Harness>(bench: &Bench<H>) {
    let job = |priority, run_at| Create { priority: Some(priority), run_at, ..new("job", "{}") };
    let now = bench.clock.now();
    // Each step of priority is a head start of 60 s.
    let third = bench.create(job(0, Some(now.after(Duration::from_secs(61))))).await;
    let first = bench.create(job(0, Some(now))).await;
    let fourth = bench.create(job(-1, Some(now.after(Duration::from_secs(2))))).await;
    let second = bench.create(job(2, Some(now.after(Duration::from_secs(121))))).await;
    bench.wait(Duration::from_secs(600));
    let leased = bench.acquire("worker:a/1", &["job"], 3).await;
    assert_eq!(ids(&leased), [first, second, third]);
    assert_eq!(ids(&bench.acquire("worker:a/1", &["job"], 3).await), [fourth]);
}

pub async fn what_is_created_together_is_leased_in_order_of_arrival<H: Harness>(bench: &Bench<H>) {
    let requests: Vec<_> = (0..50).map(|_| create(new("job", "{}"))).collect();
    let replies = bench.batch(&requests).await;
    let created: Vec<ItemId> = replies
        .iter()
        .map(|reply| match &reply.answer {
            Answer::Created(item) => item.id,
            other => panic!("not created: {other:?}"),
        })
        .collect();
    assert_eq!(ids(&bench.acquire("worker:a/1", &["job"], 50).await), created);
}

pub async fn nothing_is_offered_before_its_time<H: Harness>(bench: &Bench<H>) {
    let at = bench.clock.now().after(Duration::from_secs(10));
    let later = bench.create(Create { run_at: Some(at), priority: Some(100), ..new("job", "{}") }).await;
    bench.wait(Duration::from_micros(9_999_999));
    assert!(bench.acquire("worker:a/1", &["job"], 1).await.is_empty());
    assert_eq!(bench.ask("worker:a/1", take(later)).await.code(), Some(Code::TransitionRefused));
    bench.wait(Duration::from_micros(1));
    assert_eq!(ids(&bench.acquire("worker:a/1", &["job"], 1).await), [later]);
}

pub async fn what_comes_next_is_known_to_the_moment<H: Harness>(bench: &Bench<H>) {
    let kinds = ["job", "run", "claim"].map(|kind| kind.parse().unwrap());
    let coming = async || bench.database().upcoming(&store(), &kinds).await.unwrap();
    bench.job().await;
    assert_eq!(coming().await, [], "what is ready is not to come");
    let at = |seconds| Some(bench.clock.now().after(Duration::from_secs(seconds)));
    bench.create(Create { run_at: at(20), ..new("job", "{}") }).await;
    bench.create(Create { run_at: at(10), ..new("job", "{}") }).await;
    bench.create(Create { run_at: at(5), ..pass("d1") }).await;
    let seconds = |kind: usize, seconds| (kinds[kind].clone(), Duration::from_secs(seconds));
    let sorted = async || {
        let mut coming = coming().await;
        coming.sort();
        coming
    };
    assert_eq!(sorted().await, [seconds(0, 10), seconds(1, 5)]);
    bench.wait(Duration::from_secs(7));
    assert_eq!(sorted().await, [seconds(0, 3), seconds(1, 0)], "what is due is due now");
    assert_eq!(bench.acquire("worker:a/1", &["run"], 1).await.len(), 1);
    assert_eq!(sorted().await, [seconds(0, 3)]);
}

pub async fn a_delayed_item_does_not_hold_its_key<H: Harness>(bench: &Bench<H>) {
    let at = bench.clock.now().after(Duration::from_secs(10));
    let delayed = bench.create(Create { run_at: Some(at), ..pass("d1") }).await;
    let prompt = bench.pass("d1").await;
    let leased = bench.acquire("worker:a/1", &["run"], 5).await;
    assert_eq!(ids(&leased), [prompt]);
    bench.wait(Duration::from_secs(10));
    assert!(bench.acquire("worker:a/1", &["run"], 5).await.is_empty(), "the key is taken");
    assert_eq!(bench.ask("worker:b/1", take(delayed)).await.code(), Some(Code::ClaimConflict));
}

pub async fn within_a_key_the_oldest_is_first<H: Harness>(bench: &Bench<H>) {
    let mut waiting = Vec::new();
    for priority in [0, 100, 50] {
        waiting.push(bench.create(Create { priority: Some(priority), ..pass("d1") }).await);
        bench.wait(Duration::from_secs(1));
    }
    let other = bench.pass("d2").await;
    for (round, next) in waiting.iter().enumerate() {
        let mut leased = ids(&bench.acquire("worker:a/1", &["run"], 5).await);
        leased.retain(|id| *id != other);
        assert_eq!(leased, [*next], "round {round}: priority does not jump the queue of a key");
        let item = bench.item(*next).await;
        assert!(bench.ask("worker:a/1", fail(item.execution_id())).await.is_yes());
    }
}

pub async fn one_is_running_a_key_under_many_claimers<H: Harness>(bench: &Bench<H>) {
    let documents = ["d1", "d2", "d3"];
    for _ in 0..6 {
        let creates: Vec<_> = documents.iter().map(|document| create(pass(document))).collect();
        bench.batch(&creates).await;
    }
    for round in 0..6 {
        let claim = |n: usize| request(&format!("worker:w{n}/{round}"), acquire(&["run"], 1 + n % 4));
        let replies = bench.race((0..12).map(claim)).await;
        let leased: Vec<_> = replies.into_iter().flat_map(|reply| leases(reply.answer)).collect();
        let keys: BTreeSet<_> = leased.iter().map(|lease| lease.item.key.clone()).collect();
        assert_eq!((leased.len(), keys.len()), (3, 3), "one of each document");
        let end: Vec<_> = leased
            .iter()
            .map(|lease| {
                let owner = &lease.item.lease.as_ref().unwrap().owner;
                request(&format!("worker:{owner}"), fail(lease.execution))
            })
            .collect();
        assert!(bench.batch(&end).await.iter().all(|reply| reply.fresh));
    }
    assert!(bench.items().await.iter().all(|item| item.phase().is_ended()), "no key starved");
}

pub async fn never_more_is_leased_than_was_asked_for<H: Harness>(bench: &Bench<H>) {
    let creates: Vec<_> = (0..40).map(|_| create(new("job", "{}"))).collect();
    bench.batch(&creates).await;
    let acquires: Vec<_> =
        (1..=5).map(|max| request(&format!("worker:w{max}/1"), acquire(&["job"], max))).collect();
    let replies = bench.batch(&acquires).await;
    let got: Vec<usize> = replies.into_iter().map(|reply| leases(reply.answer).len()).collect();
    assert_eq!(got, [1, 2, 3, 4, 5]);
    assert_eq!(bench.acquire("worker:z/1", &["job"], 1_000).await.len(), 25);
}

pub async fn an_acquire_that_is_refused_harms_no_other<H: Harness>(bench: &Bench<H>) {
    let item = bench.job().await;
    let replies = bench
        .batch(&[
            request("worker:a/1", acquire(&["job"], usize::MAX)),
            request("worker:a/1", acquire(&["job"], 0)),
            request("worker:a/1", acquire(&["nonsense", "job"], 1)),
            request("api:test", acquire(&["job"], 1)),
            request("worker:a/1", acquire(&["job"], 2)),
            request("worker:a/1", acquire(&["job"], usize::MAX)),
        ])
        .await;
    let codes: Vec<Option<Code>> = replies.iter().map(|reply| reply.answer.code()).collect();
    let invalid = || Some(Code::InvalidRequest);
    assert_eq!(codes, [invalid(), invalid(), invalid(), Some(Code::Forbidden), None, invalid()]);
    assert_eq!(ids(&leases(replies[4].answer.clone())), [item]);
}

pub async fn kinds_are_taken_in_the_order_they_are_named<H: Harness>(bench: &Bench<H>) {
    let (run, job) = (bench.pass("d1").await, bench.job().await);
    bench.tick();
    let other = bench.job().await;
    assert_eq!(ids(&bench.acquire("worker:a/1", &["job", "run"], 1).await), [job]);
    assert_eq!(ids(&bench.acquire("worker:a/1", &["run", "job"], 5).await), [run, other]);
}

/// What an earlier acquire of the batch took is missing to a later one only when nothing else is left.
pub async fn acquires_of_one_batch_share_what_there_is<H: Harness>(bench: &Bench<H>) {
    let mut jobs = Vec::new();
    let mut runs = Vec::new();
    for document in ["d1", "d2", "d3"] {
        jobs.push(bench.job().await);
        runs.push(bench.pass(document).await);
        bench.tick();
    }
    bench.take("worker:z/1", runs.pop().unwrap()).await;
    let acquires = [
        request("worker:a/1", acquire(&["job"], 1)),
        request("worker:b/1", acquire(&["job", "run"], 1)),
        request("worker:c/1", acquire(&["run", "job"], 2)),
        request("worker:d/1", acquire(&["run", "job"], 2)),
        request("worker:e/1", acquire(&["run", "job"], 2)),
    ];
    let replies = bench.batch(&acquires).await;
    let got: Vec<Vec<ItemId>> = replies.into_iter().map(|reply| ids(&leases(reply.answer))).collect();
    assert_eq!(got, [vec![jobs[0]], vec![jobs[1]], runs.to_vec(), vec![jobs[2]], vec![]]);
}

pub async fn a_lost_answer_is_given_again_while_it_is_held<H: Harness>(bench: &Bench<H>) {
    for _ in 0..5 {
        bench.job().await;
    }
    let acquire = |who| request(who, acquire_with(&["job"], 2, asked_as("r1")));
    let replies = bench.batch(&[acquire("worker:a/1"), acquire("worker:a/1"), acquire("worker:a/2")]).await;
    let first = leases(replies[0].answer.clone());
    assert_eq!(first.len(), 2);
    assert_eq!(leases(replies[1].answer.clone()), first, "the same in the same batch");
    let other = leases(replies[2].answer.clone());
    assert!(ids(&other).iter().all(|id| !ids(&first).contains(id)), "another incarnation is another owner");
    let again = bench.reply(acquire("worker:a/1")).await;
    assert_eq!((leases(again.answer), again.fresh), (first.clone(), false));
    assert!(bench.ask("worker:a/1", release(first[0].execution)).await.is_yes());
    assert_eq!(leases(bench.reply(acquire("worker:a/1")).await.answer), first[1..], "what is still held");
    bench.wait(Duration::from_secs(61));
    assert!(leases(bench.reply(acquire("worker:a/1")).await.answer).is_empty(), "no lease, no answer");
}

/// Takes and acquires share the names of their requests: neither forgets what the other got.
pub async fn a_named_take_is_remembered_beside_a_named_acquire<H: Harness>(bench: &Bench<H>) {
    let jobs = [bench.job().await, bench.job().await, bench.job().await];
    let take = |item| request("worker:a/1", Command::Take(Take { item, terms: asked_as("r1") }));
    for job in jobs {
        assert!(bench.reply(take(job)).await.fresh);
    }
    let again = bench.ask("worker:a/1", acquire_with(&["job"], 9, asked_as("r1"))).await;
    assert_eq!(ids(&leases(again)), jobs);
}

pub async fn losing_a_candidate_goes_on_to_the_next<H: Harness>(bench: &Bench<H>) {
    let session = bench.create(new("session", "{}")).await;
    bench.take("worker:a/1", session).await;
    let open = bench.create(new("todo", r#"{"title":"first"}"#)).await;
    let todo = |links| Create { links, ..new("todo", r#"{"title":"later"}"#) };
    let depends = vec![Link { label: "depends".parse().unwrap(), to: open }];
    for _ in 0..70 {
        bench.create(todo(depends.clone())).await;
    }
    bench.wait(Duration::from_secs(1));
    let free = bench.create(todo(Vec::new())).await;
    let attests = vec![Guard::Workspace];
    let able = Terms { session: Some(session), attests, ..Terms::default() };
    let first = leases(bench.ask("worker:a/1", acquire_with(&["todo"], 1, able.clone())).await);
    assert_eq!(ids(&first), [open]);
    let replies = bench
        .batch(&[
            request("worker:b/1", acquire(&["todo"], 1)),
            request("worker:a/1", acquire_with(&["todo"], 1, able.clone())),
            request("worker:a/1", acquire_with(&["todo"], 3, able)),
        ])
        .await;
    let got: Vec<Vec<ItemId>> = replies.into_iter().map(|reply| ids(&leases(reply.answer))).collect();
    assert_eq!(got, [vec![], vec![free], vec![]], "it is found behind seventy that can not go");
}

/// A guard that asks for linked items finds them, whether the lease is taken or acquired.
pub async fn what_an_item_depends_on_is_looked_at<H: Harness>(bench: &Bench<H>) {
    let session = bench.create(new("session", "{}")).await;
    bench.take("worker:a/1", session).await;
    let done = bench.create(document()).await;
    let open = bench.create(new("job", "{}")).await;
    let todo = |to| {
        let links = vec![Link { label: "depends".parse().unwrap(), to }];
        Create { links, ..new("todo", r#"{"title":"t"}"#) }
    };
    let (first, second) = (bench.create(todo(done)).await, bench.create(todo(done)).await);
    let never = bench.create(todo(open)).await;
    let attests = vec![Guard::Workspace];
    let terms = Terms { session: Some(session), attests, ..Terms::default() };
    let take = |item| Command::Take(Take { item, terms: terms.clone() });
    assert_eq!(bench.ask("worker:a/1", take(never)).await.code(), Some(Code::TransitionRefused));
    assert!(bench.ask("worker:a/1", take(first)).await.is_yes());
    let leased = leases(bench.ask("worker:a/1", acquire_with(&["todo"], 5, terms)).await);
    assert_eq!(ids(&leased), [second]);
}
