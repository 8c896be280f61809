//! From an approval to the end, good or bad.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tenure::New;
use tenure_systems::tickets::{Errand, Http, NewTicket, Program};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::kit::{Scene, records, titled, unable, willing};
use crate::kit::{on_each, on_kept, on_memory};

// covers: M-01, M-02, M-03, M-04, M-06, M-09, M-11
#[test]
fn an_approved_ticket_is_scheduled_run_judged_and_done_each_in_one_commit() {
    on_each(async |url| {
        let scene = Scene::open(&url).await;
        let (workers, runner) = (scene.start(), scene.run(willing));
        let id = scene.ticket(&titled("paint the door")).await;
        assert_eq!(scene.eva.show(id).await.unwrap().state, "NEW");
        assert_eq!(scene.all("ticket_ready").await.len(), 0, "nobody has approved it");
        let shown = scene.eva.approve(id, Some("red, please".to_string())).await.unwrap();
        let approval = shown.approval.unwrap();
        assert_eq!((approval.by.as_str(), approval.note.as_deref()), ("human:eva", Some("red, please")));
        scene.until(id, "DONE").await;

        let explained = scene.eva.explain(id).await.unwrap();
        let [run] = &explained.runs[..] else { panic!("one run: {explained:?}") };
        assert_eq!(run.reason.as_deref(), Some("SCHEDULED"));
        let (order, gate) = (run.order.as_ref().unwrap(), run.gate.as_ref().unwrap());
        let snapshot = &run.snapshot.as_ref().unwrap().body;
        assert_eq!((&snapshot["title"], &snapshot["number"]), (&json!("paint the door"), &json!(1)));
        assert_eq!(snapshot["approval"]["by"], "human:eva");
        let bundle = &run.bundle.as_ref().unwrap().body;
        assert_eq!((&bundle["outcome"], &bundle["work_order_id"]), (&json!("COMPLETED"), &json!(order.id)));
        assert_eq!(bundle["output"], json!({ "did": "paint the door" }));
        let record = &run.record.as_ref().unwrap().body;
        assert_eq!((&record["verdict"], &record["moved_to"]), (&json!("PASS"), &json!("DONE")));
        for (field, of) in [("work_order_id", order.id), ("gate_id", gate.id), ("event_id", run.event.id)] {
            assert_eq!(record[field], json!(of), "{field}");
        }
        assert_eq!(run.pause.as_ref().unwrap().body["reason"], "RUN_COMPLETE");
        assert_eq!(scene.eva.run_records(id).await.unwrap().len(), 1);
        assert_eq!(scene.pause(id).await["next_actions"].as_array().unwrap().len(), 1);

        // Whoever plans that event again makes no second work order: it has the event's name.
        let system = scene.tenure.acting(scene.tenure.store().clone(), "system:tickets".parse().unwrap());
        let planned = json!({ "event_id": run.event.id, "ticket_id": id, "number": 2 });
        let second = New::of("work_order", &planned).idempotency_key(run.event.id.to_string());
        let refused = system.create(second).await.unwrap_err();
        assert_eq!(refused.code().unwrap().as_str(), "IDEMPOTENCY_CONFLICT");
        assert_eq!(scene.all("work_order").await.len(), 1);

        // What a step writes is in one transaction: the entries of each commit have one cause.
        let history = scene.tenure.history(id).await.unwrap();
        let moved: Vec<(String, Option<tenure::core::id::ItemId>)> = history
            .iter()
            .map(|entry| (entry.action.to_string(), entry.cause.as_ref().map(|cause| cause.item)))
            .collect();
        let expected =
            [("create", None), ("approve", None), ("schedule", Some(run.event.id)), ("pass", Some(gate.id))];
        assert_eq!(moved, expected.map(|(action, cause)| (action.to_string(), cause)));
        for (made, by) in [(order.id, run.event.id), (gate.id, order.id)] {
            let birth = scene.tenure.history(made).await.unwrap().remove(0);
            assert_eq!(
                birth.cause.as_ref().map(|cause| cause.item),
                Some(by),
                "made by the commit of the step before"
            );
        }
        runner.drain().await;
        workers.drain().await;
    });
}

// covers: M-04, M-08, M-11
#[test]
fn what_fails_three_times_is_blocked_until_a_person_resolves_it() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let workers = scene.start();
        let able = Arc::new(AtomicBool::new(false));
        let sees = able.clone();
        let runner = scene.run(move |errand: Errand| {
            let able = sees.load(Ordering::SeqCst);
            async move { if able { willing(errand).await } else { unable(errand).await } }
        });
        let id = scene.approved(&titled("lift the house")).await;
        scene.until(id, "BLOCKED").await;
        let explained = scene.eva.explain(id).await.unwrap();
        let ends: Vec<_> = explained
            .runs
            .iter()
            .map(|run| {
                let record = &run.record.as_ref().unwrap().body;
                let pause = &run.pause.as_ref().unwrap().body;
                (record["number"].as_u64().unwrap(), record["moved_to"].clone(), pause["reason"].clone())
            })
            .collect();
        let failed = json!("GATE_FAILED");
        let expected = [
            (1, json!("TODO"), failed.clone()),
            (2, json!("TODO"), failed),
            (3, json!("BLOCKED"), json!("BLOCKED")),
        ];
        assert_eq!(ends, expected);
        // The event of the next round is of the gate's commit: nobody has to find out that there is one.
        for pair in explained.runs.windows(2) {
            let gate = pair[0].gate.as_ref().unwrap().id;
            let birth = scene.tenure.history(pair[1].event.id).await.unwrap().remove(0);
            assert_eq!(birth.cause.as_ref().map(|cause| cause.item), Some(gate));
        }
        let last = explained.runs.last().unwrap().snapshot.as_ref().unwrap().body.clone();
        assert_eq!(
            last["earlier"].as_array().unwrap().len(),
            2,
            "the executor knows what went wrong: {last}"
        );
        let shown = scene.eva.show(id).await.unwrap();
        let [blocker] = &shown.blockers[..] else { panic!("one blocker: {shown:?}") };
        assert!(blocker.reason.contains("it is too hard"), "{blocker:?}");
        let next = scene.pause(id).await["next_actions"].as_array().unwrap().len();
        assert!((1..=3).contains(&next));

        able.store(true, Ordering::SeqCst);
        let shown = scene.eva.resolve(id, Some("now with a crane".to_string())).await.unwrap();
        assert_eq!(shown.blockers, []);
        scene.until(id, "DONE").await;
        let explained = scene.eva.explain(id).await.unwrap();
        assert!(explained.blockers.iter().all(|blocker| blocker.state == "CLOSED"));
        let snapshot = explained.runs.last().unwrap().snapshot.as_ref().unwrap().body.clone();
        assert_eq!(
            (&snapshot["number"], &snapshot["resolved"]["note"]),
            (&json!(1), &json!("now with a crane"))
        );
        runner.drain().await;
        workers.drain().await;
    });
}

// covers: M-03, M-04
#[test]
fn the_end_of_the_budget_is_an_output_that_says_so() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let workers = scene.start();
        let runner = scene.run(async |_: Errand| std::future::pending().await);
        let new = NewTicket { budget_ms: Some(20), ..titled("wait for ever") };
        let id = scene.approved(&new).await;
        scene.until(id, "BLOCKED").await;
        let orders = scene.all("work_order").await;
        assert_eq!(orders.len(), 3, "the end of the budget counts as a failed gate");
        for order in &orders {
            let bundles = records(order, "output_bundle");
            assert_eq!(bundles.len(), 1);
            assert_eq!((&bundles[0]["outcome"], order.item.fence.0), (&json!("BUDGET_EXHAUSTED"), 1));
        }
        let reasons: Vec<_> = scene.eva.explain(id).await.unwrap().runs;
        let reasons: Vec<_> =
            reasons.iter().map(|run| run.pause.as_ref().unwrap().body["reason"].clone()).collect();
        assert_eq!(reasons, ["BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED", "BLOCKED"]);
        runner.drain().await;
        workers.drain().await;
    });
}

/// Answers once, as somebody who did what was asked for.
async fn somebody(tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut seen = vec![0; 64 << 10];
        let count = socket.read(&mut seen).await.unwrap();
        assert!(String::from_utf8_lossy(&seen[..count]).contains("idempotency-key"));
        let says = "HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"by\":\"post\"}";
        socket.write_all(says.as_bytes()).await.unwrap();
    });
    format!("http://{address}/")
}

// covers: M-03
#[test]
fn an_executor_is_a_command_or_somebody_behind_an_address_too() {
    on_memory(async |url| {
        let scene = Scene::open(&url).await;
        let workers = scene.start();
        let script = "read -r line; test -n \"$line\"; printf '{\"by\":\"%s\"}' \"$TENURE_TITLE\"";
        let command = ["sh", "-c", script].map(str::to_string).to_vec();
        let runner = scene.run(Program { command, folder: None });
        let id = scene.approved(&titled("command")).await;
        scene.until(id, "DONE").await;
        runner.drain().await;
        let mut tasks = JoinSet::new();
        let http = Http::new(&somebody(&mut tasks).await, None, Duration::from_secs(10)).unwrap();
        let runner = scene.run(http);
        let other = scene.approved(&titled("post")).await;
        scene.until(other, "DONE").await;
        for (id, by) in [(id, "command"), (other, "post")] {
            let explained = scene.eva.explain(id).await.unwrap();
            let bundle = &explained.runs[0].bundle.as_ref().unwrap().body;
            assert_eq!(bundle["output"], json!({ "by": by }));
        }
        runner.drain().await;
        workers.drain().await;
    });
}
