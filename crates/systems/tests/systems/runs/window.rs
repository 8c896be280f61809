//! A run that takes longer than its window.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use serde_json::Value;
use tenure::Tenure;
use tenure::core::lifecycle::parse::parse;
use tenure::core::lifecycle::shipped;
use tenure_systems::runs::history::Status;
use tenure_systems::runs::step::Input;

use super::{Desk, does, steps_of};
use crate::kit::on_kept;

/// The shipped lifecycles, with a window that a test can wait for.
async fn with_a_short_window(url: &str) -> Desk {
    let shipped_run = include_str!("../../../../../lifecycles/run.md");
    let mut tables = shipped::tables();
    drop(tables.add(parse(&shipped_run.replace("| 120 s ", "| 1 s ")).unwrap()));
    Desk::with(url, Tenure::builder(url).lifecycles(tables).open().await.unwrap()).await
}

//
#[test]
fn a_run_whose_window_is_over_is_timed_out_whatever_its_step_does() {
    on_kept(async |url| {
        let desk = with_a_short_window(&url).await;
        let (stopped, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (go_on, wait) = mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let (heard, saw) = (stopped.clone(), told.clone());
        let first = does("first", async |_: Input| Ok(Value::Null));
        let stubborn = does("stubborn", move |input: Input| {
            let (wait, heard, saw) = (wait.clone(), heard.clone(), saw.clone());
            async move {
                if input.document.bytes == b"stubborn" {
                    // Holds its thread and does not listen.
                    let _ = wait.lock().unwrap().recv();
                    saw.store(*input.stop.borrow(), Ordering::SeqCst);
                    heard.store(true, Ordering::SeqCst);
                }
                Ok(Value::from("late"))
            }
        });
        let one_at_a_time = tenure_systems::runs::Settings { concurrency: 1, ..desk.settings.clone() };
        let running = desk.start_with(vec![first, stubborn], one_at_a_time).await;
        let uploaded = desk.upload("stubborn").await;
        let run = desk.ended(uploaded.run_id).await;
        assert_eq!((run.state.as_str(), run.failure_type.as_deref()), ("TIMED_OUT", Some("TIMED_OUT")));
        assert_eq!(
            steps_of(&run),
            [("first", "SUCCEEDED", 1, None), ("stubborn", "FAILED", 1, Some("TIMED_OUT"))],
            "its open step is closed"
        );
        assert_eq!(run.steps[1].ended_at, run.completed_at);
        let events = desk.events(uploaded.run_id).await;
        assert_eq!(events[4..], ["STEP_STARTED stubborn 1", "STEP_FAILED stubborn", "RUN_TIMED_OUT"]);
        assert_eq!(desk.documents.document(uploaded.document_id).await.unwrap().status, Status::TimedOut);
        // The only place is free again although the step still holds its thread.
        assert!(!stopped.load(Ordering::SeqCst));
        assert_eq!(desk.ended(desk.upload("other").await.run_id).await.state, "COMPLETED");
        // It comes to its end, and nothing of it is written.
        go_on.send(()).unwrap();
        running.drain().await;
        while !stopped.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        assert!(told.load(Ordering::SeqCst), "it was told to stop");
        assert_eq!(desk.events(uploaded.run_id).await, events);
        assert!(desk.documents.artifacts(uploaded.run_id).await.unwrap().is_empty());
    });
}
