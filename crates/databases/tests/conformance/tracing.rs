//! Traces: handed on from whoever creates to whoever works, beside the log.

use std::sync::Arc;

use tenure_core::answer::Answer;
use tenure_core::request::{Command, Create, Effects};
use tenure_core::trace::Trace;

use crate::harness::{Bench, Harness};
use crate::requests::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn trace() -> Option<Arc<Trace>> {
    Trace::read(PARENT, "rojo=00f067aa0ba902b7").map(Arc::new)
}

fn traced(create: Create) -> Create {
    Create { trace: trace(), ..create }
}

pub async fn a_trace_goes_with_its_item_to_every_attempt<H: Harness>(bench: &Bench<H>) {
    let job = bench.create(traced(new("job", "{}"))).await;
    for _ in 0..2 {
        let lease = bench.acquire("worker:a/1", &["job"], 1).await.remove(0);
        assert_eq!((lease.item.id, &lease.item.trace), (job, &trace()));
        assert!(bench.ask("worker:a/1", release(lease.execution)).await.is_yes());
    }
    assert_eq!(bench.item(job).await.trace, trace());
    let plain = bench.job().await;
    assert_eq!(bench.item(plain).await.trace, None);
}

pub async fn a_trace_is_in_no_entry_and_makes_no_other_request<H: Harness>(bench: &Bench<H>) {
    let first = bench.reply(create(traced(named("k", new("job", "{}"))))).await;
    let again = bench.reply(create(named("k", new("job", "{}")))).await;
    assert!(first.fresh && !again.fresh);
    assert_eq!(first.answer, again.answer, "another trace, or none, is the same request");
    let log = bench.log().await;
    assert!(log.iter().all(|(_, entry)| !String::from_utf8_lossy(entry.text()).contains("4bf92f")));
}

pub async fn a_trace_goes_on_to_what_a_commit_creates_and_to_a_retry<H: Harness>(bench: &Bench<H>) {
    let job = bench.create(traced(new("job", "{}"))).await;
    let execution = bench.run("worker:a/1", job).await;
    let other = Trace::read(&PARENT.replace("4bf9", "5bf9"), "").map(Arc::new);
    let creates = vec![new("job", "1"), Create { trace: other.clone(), ..new("job", "2") }];
    let effects = Effects { creates, ..Effects::default() };
    assert!(bench.ask("worker:a/1", commit_with(execution, effects)).await.is_yes());
    let children = bench.items().await.into_iter().filter(|item| item.origin == Some(job));
    let traces: Vec<_> = children.map(|item| item.trace).collect();
    assert_eq!(traces, [trace(), other], "its own, or that of what made it");
    let retry = Create { origin: Some(job), ..new("job", "{}") };
    let retry = bench.create(retry).await;
    assert_eq!(bench.item(retry).await.trace, trace());
}

pub async fn a_trace_is_erased_with_the_bodies<H: Harness>(bench: &Bench<H>) {
    let job = bench.create(traced(new("job", "{}"))).await;
    assert!(bench.ask("api:test", cancel(job)).await.is_yes());
    assert_eq!(bench.item(job).await.trace, trace());
    assert!(bench.ask("api:test", erase(job)).await.is_yes());
    assert_eq!(bench.item(job).await.trace, None);
    let again =
        bench.ask("api:test", Command::Create(Create { origin: Some(job), ..new("job", "{}") })).await;
    let Answer::Created(again) = again else { panic!("{again:?}") };
    assert_eq!(again.trace, None, "what is gone is not handed on");
}
