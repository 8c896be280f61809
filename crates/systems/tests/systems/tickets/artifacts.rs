//! The artifacts and their schemas.

use serde_json::{Value, json};
use tenure::core::answer::Answer;
use tenure::core::lifecycle::schema::Schema;
use tenure::core::lifecycle::shipped;
use tenure::core::request::{Acquire, Command, Terms};
use tenure::databases::Query;
use tenure_systems::tickets::{Part, SCHEMAS, Settings, fits, start};

use super::kit::{Scene, payload, titled};
use crate::kit::on_kept;

fn schema(name: &str) -> Value {
    let (_, source) = SCHEMAS.iter().find(|(shipped, _)| *shipped == name).unwrap();
    serde_json::from_str(source).unwrap()
}

// covers: M-06
#[test]
fn the_schemas_of_items_are_those_that_the_kernel_judges_by() {
    let tables = shipped::tables();
    for (name, kind) in
        [("ticket", "ticket"), ("blocker", "blocker"), ("event", "ticket_ready"), ("workorder", "work_order")]
    {
        let mut shipped = schema(name);
        let all = shipped.as_object_mut().unwrap();
        assert_eq!(all.remove("title").unwrap(), name);
        assert!(all.remove("$schema").is_some());
        let table = tables.current(&kind.parse().unwrap()).unwrap();
        assert_eq!(&shipped, table.schema.as_ref().unwrap().source(), "{name}");
    }
    assert_eq!(SCHEMAS.len(), 9);
}

// covers: M-05, M-06
#[test]
fn what_does_not_fit_its_schema_is_not_written() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let refused = scene.eva.create(&titled(""), None).await.unwrap_err();
        assert_eq!(refused.code().unwrap().as_str(), "SCHEMA_VIOLATION");
        let scheduler = start(&scene.tenure, Settings::only(Part::Scheduler));
        let id = scene.approved(&titled("one")).await;
        scene.until(id, "IN_PROGRESS").await;
        let worker = scene.tenure.acting(scene.tenure.store().clone(), "worker:r/1".parse().unwrap());
        let terms = Terms { start: true, ..Terms::default() };
        let acquire = Acquire { kinds: vec!["work_order".parse().unwrap()], max: 1, terms };
        let Answer::Leased(leases) = worker.ask(Command::Acquire(acquire)).await.unwrap().answer else {
            panic!("it is leased")
        };
        // While it is held its lease is a claim record.
        let held = worker.owners(Query { limit: 10, ..Query::default() }).await.unwrap();
        let held = held.iter().find(|held| held.resource_type == "WORKORDER").unwrap();
        let claim = serde_json::to_value(held).unwrap();
        assert_eq!(Schema::compile(schema("claim_record")).unwrap().violation(&claim), None);
        assert_eq!(held.lease_expires_at.since(held.acquired_at).as_secs(), 60);

        let execution = leases[0].execution;
        let order = execution.item;
        let good = json!({
            "work_order_id": order, "ticket_id": id, "outcome": "COMPLETED", "budget_ms": 1000, "took_ms": 1,
            "output": {},
        });
        let runner = tenure_systems::tickets::Tickets::of(&worker);
        for (field, value, code) in [
            ("outcome", json!("GREAT"), "SCHEMA_VIOLATION"),
            ("took_ms", json!(-1), "SCHEMA_VIOLATION"),
            ("more", json!(1), "SCHEMA_VIOLATION"),
            ("work_order_id", json!(id), "INVALID_REQUEST"),
        ] {
            let mut bad = good.clone();
            bad[field] = value;
            let refused = runner.deliver(execution, &bad).await.unwrap_err();
            assert_eq!(refused.code().unwrap().as_str(), code, "{field}");
        }
        let first = runner.deliver(execution, &good).await.unwrap();
        assert_eq!(runner.deliver(execution, &good).await.unwrap(), first, "said again it is the same");
        scene.until(order, "EXECUTED").await;
        let whole = scene.tenure.whole(order).await.unwrap();
        assert_eq!(payload(&whole)["event_id"], json!(scene.all("ticket_ready").await[0].item.id));
        assert_eq!(scene.all("gate").await.len(), 1);
        scheduler.drain().await;
    });
}

#[test]
fn a_pause_state_has_one_to_three_next_actions() {
    let pause = |actions: usize| {
        let id = "01M7GE4XB00006645Z0KC20ZT6";
        let pause = json!({ "ticket_id": id, "reason": "BLOCKED", "next_actions": vec!["a"; actions] });
        fits("pause_state", pause.to_string().as_bytes()).is_ok()
    };
    assert_eq!([0, 1, 3, 4].map(pause), [false, true, true, false]);
    assert!(fits("somebody_elses", b"{}").is_ok());
}
