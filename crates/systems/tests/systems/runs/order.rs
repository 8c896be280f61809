//! Who runs when: one of a document at a time, the oldest first, and documents side by side.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tenure_systems::runs::history::Status;
use tenure_systems::runs::step::Input;
use tokio::sync::Semaphore;

use super::{Desk, does};
use crate::kit::on_kept;

//
#[test]
fn runs_of_a_document_wait_for_each_other_and_those_of_others_do_not() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
        let gate = Arc::new(Semaphore::new(0));
        let held = gate.clone();
        let step = does("wait", move |input: Input| {
            let (begun, held) = (begun.clone(), held.clone());
            async move {
                let text = String::from_utf8_lossy(&input.document.bytes).into_owned();
                begun.send(text.clone()).unwrap();
                if text == "slow" {
                    held.acquire().await.unwrap().forget();
                }
                Ok(Value::Null)
            }
        });
        let running = desk.start(vec![step]).await;
        let slow = desk.upload("slow").await;
        assert_eq!(begins.recv().await.unwrap(), "slow");
        // Asked for while one runs: accepted, and queued.
        let second = desk.documents.reprocess(slow.document_id, None, None).await.unwrap();
        let third = desk.documents.reprocess(slow.document_id, None, None).await.unwrap();
        assert_eq!((second.state.as_str(), second.is_new), ("QUEUED", true));
        // Another document is not delayed by it, also when it comes later.
        let quick = desk.upload("quick").await;
        assert_eq!(begins.recv().await.unwrap(), "quick");
        assert_eq!(desk.ended(quick.run_id).await.state, "COMPLETED");
        let states = async || {
            let (runs, next) = desk.documents.runs(slow.document_id, None, 10).await.unwrap();
            assert_eq!(next, None);
            runs.into_iter().map(|run| (run.run_id, run.state)).collect::<Vec<_>>()
        };
        let expect = |one: &str, two: &str, three: &str| {
            let ids = [slow.run_id, second.run_id, third.run_id].map(|id| id.to_string());
            ids.into_iter().zip([one, two, three].map(str::to_string)).collect::<Vec<_>>()
        };
        assert_eq!(states().await, expect("RUNNING", "QUEUED", "QUEUED"), "oldest first");
        gate.add_permits(1);
        assert_eq!(begins.recv().await.unwrap(), "slow");
        assert_eq!(states().await, expect("COMPLETED", "RUNNING", "QUEUED"));
        assert_eq!(desk.documents.document(slow.document_id).await.unwrap().status, Status::Processing);
        gate.add_permits(2);
        assert_eq!(desk.ended(third.run_id).await.state, "COMPLETED");
        assert_eq!(states().await, expect("COMPLETED", "COMPLETED", "COMPLETED"));
        running.drain().await;
    });
}

//
#[test]
fn what_waited_is_started_in_the_order_in_which_it_was_created() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let mut last = None;
        for number in 0..20 {
            last = Some(desk.upload(&number.to_string()).await.run_id);
        }
        let order: Arc<Mutex<Vec<u32>>> = Arc::default();
        let seen = order.clone();
        let step = does("note", move |input: Input| {
            let number = String::from_utf8_lossy(&input.document.bytes).parse().unwrap();
            seen.lock().unwrap().push(number);
            async { Ok(json!(1)) }
        });
        let one_at_a_time = tenure_systems::runs::Settings { concurrency: 1, ..desk.settings.clone() };
        let running = desk.start_with(vec![step], one_at_a_time).await;
        desk.ended(last.unwrap()).await;
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
        running.drain().await;
    });
}

//
#[test]
fn documents_of_every_store_are_worked_on() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let elsewhere = desk.tenure.acting("other".parse().unwrap(), "api:a".parse().unwrap());
        let upload = async || {
            let documents = desk.library.documents(elsewhere.clone());
            let mut incoming = documents.receive().await.unwrap();
            incoming.write(b"a b").await.unwrap();
            documents.upload(incoming, Default::default()).await.unwrap().run_id
        };
        // One waits when the service starts, the other comes while it works.
        let before = upload().await;
        let running = desk.start(super::reading()).await;
        for run in [before, upload().await] {
            elsewhere.wait(run, crate::kit::PATIENCE).await.unwrap();
            let run = desk.library.documents(elsewhere.clone()).run(run).await.unwrap();
            assert_eq!(run.state, "COMPLETED");
        }
        assert!(desk.documents.run(before).await.is_err(), "in this store there is none");
        running.drain().await;
    });
}
