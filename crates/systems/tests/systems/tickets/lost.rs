//! Runners that can not work, or vanish: no ticket stays IN_PROGRESS.

use std::time::Duration;

use serde_json::json;
use tenure::core::answer::Answer;
use tenure::core::request::{Acquire, Command, Terms};
use tenure_systems::tickets::{Errand, Made, NotExecuted, Patch};

use super::kit::{Scene, records, titled};
use crate::kit::on_kept;

async fn is_blocked_with_its_order(scene: &Scene, id: tenure::core::id::ItemId, why: &str) {
    scene.until(id, "BLOCKED").await;
    let [order] = &scene.all("work_order").await[..] else { panic!("one work order") };
    assert_eq!(order.item.state_name().as_str(), "FAILED");
    let pauses = records(order, "pause_state");
    assert_eq!(
        (&pauses[0]["reason"], &pauses[0]["work_order_id"]),
        (&json!("BLOCKED"), &json!(order.item.id))
    );
    let shown = scene.eva.show(id).await.unwrap();
    assert_eq!(shown.blockers.len(), 1);
    assert!(shown.blockers[0].reason.contains(why), "{shown:?}");
    // Ticket, blocker and order have moved by one transaction: their entries have one time.
    let last = |id| async move { scene.tenure.history(id).await.unwrap().pop().unwrap().at };
    let times = [last(order.item.id).await, last(id).await, last(shown.blockers[0].blocker_id).await];
    assert_eq!(times, [times[0]; 3]);
    assert_eq!(scene.pause(id).await, pauses[0]);
}

// covers: M-12
#[test]
fn a_runner_that_can_not_work_blocks_the_ticket_with_its_order() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let workers = scene.start();
        let runner = scene.run(async |_: Errand| {
            Err(NotExecuted { reason: "there is no repository".to_string(), permanent: true })
        });
        let id = scene.approved(&titled("in vain")).await;
        is_blocked_with_its_order(&scene, id, "there is no repository").await;
        runner.drain().await;
        workers.drain().await;
    });
}

// covers: M-06, M-12
#[test]
fn what_a_runner_made_and_does_not_fit_is_not_written_and_blocks_the_ticket() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let workers = scene.start();
        let runner = scene.run(async |_: Errand| {
            let (base, branch, diff) = ("no commit".to_string(), "b".to_string(), "+a".to_string());
            Ok(Made { patch: Some(Patch { base, branch, diff }), ..Made::output(json!({})) })
        });
        let id = scene.approved(&titled("a patch of nothing")).await;
        is_blocked_with_its_order(&scene, id, "the output_bundle does not fit").await;
        assert_eq!(
            records(&scene.all("work_order").await[0], "output_bundle"),
            Vec::<serde_json::Value>::new()
        );
        runner.drain().await;
        workers.drain().await;
    });
}

// covers: M-12
#[test]
fn a_runner_that_vanishes_three_times_blocks_the_ticket_with_its_order() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let workers = scene.start();
        let id = scene.approved(&titled("to the moon")).await;
        let vanishing = scene.tenure.acting(scene.tenure.store().clone(), "worker:moon/1".parse().unwrap());
        for _ in 0..3 {
            let terms = Terms { lease: Some(Duration::from_secs(1)), start: true, ..Terms::default() };
            let acquire = Acquire { kinds: vec!["work_order".parse().unwrap()], max: 1, terms };
            scene
                .until_so("it is leased", async || {
                    let asked = vanishing.ask(Command::Acquire(acquire.clone())).await.unwrap();
                    matches!(asked.answer, Answer::Leased(leases) if !leases.is_empty())
                })
                .await;
        }
        is_blocked_with_its_order(&scene, id, "its runner was lost").await;
        workers.drain().await;
    });
}
