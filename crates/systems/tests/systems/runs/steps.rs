//! Steps that fail, and what is said of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tenure_systems::runs::history::Status;
use tenure_systems::runs::step::{Input, Step};

use super::{Desk, does, failed, steps_of};
use crate::kit::on_kept;

/// Fails so often with this code, then succeeds.
fn flaky(name: &'static str, times: u32, permanent: bool) -> (Arc<dyn Step>, Arc<AtomicU32>) {
    let calls: Arc<AtomicU32> = Arc::default();
    let counted = calls.clone();
    let step = does(name, move |_: Input| {
        let call = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            match call < times {
                true => Err(failed("PAGE_TORN", "page 3 is torn", permanent)),
                false => Ok(json!({ "call": call })),
            }
        }
    });
    (step, calls)
}

//
#[test]
fn a_step_that_fails_once_is_tried_again_in_the_same_run() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let (step, calls) = flaky("scan", 1, false);
        let running = desk.start(vec![step]).await;
        let uploaded = desk.upload("x").await;
        let run = desk.ended(uploaded.run_id).await;
        assert_eq!((run.state.as_str(), calls.load(Ordering::SeqCst)), ("COMPLETED", 2));
        assert_eq!(
            steps_of(&run),
            [("scan", "FAILED", 1, Some("PAGE_TORN")), ("scan", "SUCCEEDED", 2, None)]
        );
        assert_eq!(run.steps[0].details.as_deref(), Some("page 3 is torn"));
        assert_eq!(
            desk.events(uploaded.run_id).await[2..],
            [
                "STEP_STARTED scan 1",
                "STEP_FAILED scan 1",
                "STEP_RETRIED scan 2",
                "STEP_STARTED scan 2",
                "STEP_SUCCEEDED scan 2",
                "RUN_COMPLETED"
            ]
        );
        assert_eq!(
            desk.documents.runs(uploaded.document_id, None, 10).await.unwrap().0.len(),
            1,
            "no new run"
        );
        running.drain().await;
    });
}

//
#[test]
fn a_step_that_fails_twice_fails_its_run_with_its_own_word() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let (scan, scans) = flaky("scan", 2, false);
        let (never, calls) = flaky("never", 0, false);
        let running = desk.start(vec![scan, never]).await;
        let uploaded = desk.upload("x").await;
        let run = desk.ended(uploaded.run_id).await;
        assert_eq!((run.state.as_str(), run.failure_type.as_deref()), ("FAILED", Some("PAGE_TORN")));
        assert_eq!(run.failure.as_deref(), Some("PAGE_TORN: step scan: page 3 is torn"));
        assert_eq!((scans.load(Ordering::SeqCst), calls.load(Ordering::SeqCst)), (2, 0));
        assert_eq!(
            steps_of(&run),
            [("scan", "FAILED", 1, Some("PAGE_TORN")), ("scan", "FAILED", 2, Some("PAGE_TORN"))]
        );
        assert_eq!(desk.events(uploaded.run_id).await.last().unwrap(), "RUN_FAILED");
        let shown = desk.documents.document(uploaded.document_id).await.unwrap();
        assert_eq!((shown.status, shown.failure_type.as_deref()), (Status::Failed, Some("PAGE_TORN")));
        // Ended for good: another pass is another run, and the history has both.
        let again = desk.ended(desk.reprocess(uploaded.document_id).await).await;
        assert_eq!(again.state, "COMPLETED");
        let (runs, _) = desk.documents.runs(uploaded.document_id, None, 10).await.unwrap();
        assert_eq!(runs.iter().map(|run| run.state.as_str()).collect::<Vec<_>>(), ["FAILED", "COMPLETED"]);
        assert_eq!(runs[0].steps.len(), 2);
        assert_eq!(desk.documents.document(uploaded.document_id).await.unwrap().status, Status::Completed);
        running.drain().await;
    });
}

//
#[test]
fn what_is_useless_to_try_again_is_not_and_a_panic_is_a_failure() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let (scan, calls) = flaky("scan", 1, true);
        let panics = does("scan", async |_: Input| -> Result<Value, _> { panic!("no such page") });
        for (step, code, attempts) in [(scan, "PAGE_TORN", 1), (panics, "STEP_PANICKED", 2)] {
            let running = desk.start(vec![step]).await;
            let run = desk.ended(desk.upload("x").await.run_id).await;
            assert_eq!((run.state.as_str(), run.failure_type.as_deref()), ("FAILED", Some(code)));
            assert_eq!(run.steps.len(), attempts);
            running.drain().await;
        }
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    });
}

//
#[test]
fn a_file_that_is_gone_or_changed_fails_the_run_and_says_so() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let uploaded = desk.upload("the whole truth").await;
        let content = super::leftovers::contents(&desk).pop().unwrap();
        std::fs::write(&content, "the hole truth!").unwrap();
        let running = desk.start(super::reading()).await;
        let damaged = desk.ended(uploaded.run_id).await;
        assert_eq!(damaged.failure_type.as_deref(), Some("CONTENT_DAMAGED"));
        std::fs::remove_file(&content).unwrap();
        let missing = desk.ended(desk.reprocess(uploaded.document_id).await).await;
        assert_eq!(
            (missing.state.as_str(), missing.failure_type.as_deref()),
            ("FAILED", Some("CONTENT_MISSING"))
        );
        assert!(missing.steps.is_empty());
        // Uploaded again it is whole again, for both documents.
        desk.upload("the whole truth").await;
        assert_eq!(desk.ended(desk.reprocess(uploaded.document_id).await).await.state, "COMPLETED");
        running.drain().await;
    });
}

//
#[test]
fn what_is_too_large_for_a_record_is_kept_in_a_file() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let large = "x".repeat(2 << 20);
        let (copy, other) = (large.clone(), large.clone());
        let make = does("make", move |_: Input| {
            let large = copy.clone();
            async move { Ok(Value::from(large)) }
        });
        let seen = does("see", move |input: Input| {
            let is_same = input.made["make"] == other.as_str();
            async move { Ok(Value::from(is_same)) }
        });
        let running = desk.start(vec![make, seen]).await;
        let uploaded = desk.upload("x").await;
        assert_eq!(desk.ended(uploaded.run_id).await.state, "COMPLETED");
        let artifacts = desk.documents.artifacts(uploaded.run_id).await.unwrap();
        assert_eq!((artifacts[0].value.clone(), artifacts[0].size), (None, (2 << 20) + 2));
        assert_eq!(artifacts[1].value, Some(true.into()));
        let whole = desk.documents.artifact(uploaded.run_id, "make").await.unwrap();
        assert_eq!(whole.value, Some(Value::from(large)));
        assert!(desk.documents.artifact(uploaded.run_id, "nothing").await.is_err());
        running.drain().await;
    });
}
