//! What is not promised, shown; and what is written about failures, held against the code.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::core::code::Code;
use tenure::{Done, Failure, Job, New, Tenure};
use tokio::sync::{Notify, Semaphore};

use crate::{PATIENCE, on_each};

const PROMISES: &str = include_str!("../../../../docs/promises.md");
const SIGNALS: &str = include_str!("../../../../docs/signals.md");

fn is_written(sentence: &str) {
    let (_, not_promised) =
        PROMISES.split_once("## Not promised").expect("the page says what is not promised");
    assert!(not_promised.contains(sentence), "docs/promises.md does not say: {sentence}");
}

// covers: K-56
#[test]
fn an_execution_may_run_more_than_once_and_commits_once() {
    is_written("An execution may run more than once.");
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let count = ran.clone();
        let handler = move |job: Job| {
            let count = count.clone();
            async move {
                count.fetch_add(1, Ordering::SeqCst);
                match job.attempt() {
                    1 => Err(Failure::retry_after(Duration::ZERO, "it died on the way")),
                    _ => Done::default().record("effect", "once", &1),
                }
            }
        };
        let worker = tenure.worker("w").handle("job", handler).start().unwrap();
        let job = tenure.create(New::job(&1)).await.unwrap();
        let done = tenure.wait(job.id, PATIENCE).await.unwrap();
        worker.drain().await;
        assert_eq!(ran.load(Ordering::SeqCst), 2, "it ran twice");
        assert_eq!(done.records.iter().filter(|record| record.label.as_str() == "effect").count(), 1);
    });
}

// covers: K-56
#[test]
fn there_is_no_order_across_items() {
    is_written("There is no order across items.");
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let gate = Arc::new(Semaphore::new(0));
        let waits = gate.clone();
        let handler = move |job: Job| {
            let waits = waits.clone();
            async move {
                if job.payload::<u32>()? == 1 {
                    let _ = waits.acquire().await;
                }
                Ok(Done::default())
            }
        };
        let worker = tenure.worker("w").concurrency(2).handle("job", handler).start().unwrap();
        let first = tenure.create(New::job(&1)).await.unwrap();
        let second = tenure.create(New::job(&2)).await.unwrap();
        tenure.wait(second.id, PATIENCE).await.unwrap();
        assert!(!tenure.item(first.id).await.unwrap().phase().is_ended(), "the younger one has ended first");
        gate.add_permits(1);
        tenure.wait(first.id, PATIENCE).await.unwrap();
        worker.drain().await;
    });
}

// covers: K-56
#[test]
fn a_create_says_nothing_about_completion() {
    is_written("A successful create says nothing about completion.");
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let begun = Arc::new(Notify::new());
        let tell = begun.clone();
        let handler = move |_: Job| {
            tell.notify_one();
            async { Err::<Done, Failure>(Failure::permanent("it can not be done")) }
        };
        let job = tenure.create(New::job(&1)).await.unwrap();
        assert_eq!(job.state_name().as_str(), "PENDING", "it is kept, and nothing more");
        let worker = tenure.worker("w").handle("job", handler).start().unwrap();
        begun.notified().await;
        assert_eq!(tenure.wait(job.id, PATIENCE).await.unwrap().item.state_name().as_str(), "FAILED");
        worker.drain().await;
    });
}

/// What stands in the first column under a heading.
fn listed(heading: &str) -> BTreeSet<&'static str> {
    let (_, under) = SIGNALS.split_once(heading).expect("the page has this heading");
    let under = under.split("\n## ").next().unwrap_or_default();
    under.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

// covers: K-55
#[test]
fn every_counter_and_every_code_is_written_with_what_to_do() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tenure = Tenure::open("memory:").await.unwrap();
        let counters: BTreeSet<&str> = tenure.counters().all().iter().map(|(name, _)| *name).collect();
        assert_eq!(listed("## Counters"), counters);
    });
    let codes: BTreeSet<&str> = Code::KNOWN.iter().map(Code::as_str).collect();
    assert_eq!(listed("## Codes"), codes);
    for code in Code::KNOWN {
        assert!(SIGNALS.contains(&format!("| `{code}` | {} |", code.status())), "{code} with its status");
    }
}
