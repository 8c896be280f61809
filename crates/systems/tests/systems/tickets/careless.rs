//! Workers that know nothing of tickets, and people who move a ticket by hand: nothing is left where nobody finds it.

use std::time::Duration;

use serde_json::json;
use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::id::{ExecutionId, ItemId};
use tenure::core::lifecycle::parse::parse;
use tenure::core::lifecycle::shipped::{self, SHIPPED};
use tenure::core::lifecycle::tables::Tables;
use tenure::core::request::{Acquire, Command, Commit, Effects, NewRecord, Release, Terms};
use tenure::{New, Tenure};
use tenure_systems::tickets::{NewTicket, Part, Settings, known, start};

use super::kit::{Scene, payload, records, titled, willing};
use crate::kit::on_kept;

fn acting(scene: &Scene, actor: &str) -> Tenure {
    scene.tenure.acting(scene.tenure.store().clone(), actor.parse().unwrap())
}

async fn leased(careless: &Tenure, kind: &str) -> ExecutionId {
    let terms = Terms { start: true, ..Terms::default() };
    let acquire = Acquire { kinds: vec![kind.parse().unwrap()], max: 1, terms };
    let leased = careless.lease(acquire, Duration::from_secs(30)).await.unwrap();
    let Answer::Leased(leases) = leased.answer else { panic!("{:?}", leased.answer) };
    leases[0].execution
}

/// What `tenure work KIND -- true` says, and whoever has read the schema.
async fn is_refused(careless: &Tenure, execution: ExecutionId, record: Option<(&str, serde_json::Value)>) {
    let record = record.map(|(label, body)| NewRecord {
        label: label.parse().unwrap(),
        name: "1".parse().unwrap(),
        body: Body::json(serde_json::to_vec(&body).unwrap()).unwrap(),
    });
    for records in [None, record] {
        let effects = Effects { records: records.into_iter().collect(), ..Effects::default() };
        let (output, finish, session, attests) = (None, true, None, Vec::new());
        let commit = Command::Commit(Commit { execution, output, effects, finish, session, attests });
        let answer = careless.ask(commit).await.unwrap().answer;
        assert_eq!(answer.code().unwrap().as_str(), "TRANSITION_REFUSED", "{answer:?}");
    }
}

async fn given_back(careless: &Tenure, execution: ExecutionId) {
    let release = Release { execution, reason: None, delay: None, attests: Vec::new() };
    assert!(careless.ask(Command::Release(release)).await.unwrap().answer.is_yes());
}

// covers: M-02, M-04, M-12
#[test]
fn an_event_and_a_gate_that_somebody_would_just_commit_are_left_to_their_workers() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let id = scene.approved(&titled("paint the door")).await;
        let careless = acting(&scene, "worker:careless/1");
        let event = leased(&careless, "ticket_ready").await;
        is_refused(&careless, event, None).await;
        given_back(&careless, event).await;
        let (scheduler, runner) = (start(&scene.tenure, Settings::only(Part::Scheduler)), scene.run(willing));
        let gate = leased(&careless, "gate").await;
        let order = scene.all("work_order").await[0].item.id;
        let record = json!({
            "work_order_id": order, "ticket_id": id, "event_id": event.item, "gate_id": gate.item, "number": 1,
            "verdict": "PASS", "outcome": "COMPLETED", "gates": [],
        });
        is_refused(&careless, gate, Some(("run_record", record))).await;
        assert_eq!(scene.tenure.item(gate.item).await.unwrap().state_name().as_str(), "JUDGING");
        given_back(&careless, gate).await;
        let gates = start(&scene.tenure, Settings::only(Part::Gate));
        scene.until(id, "DONE").await;
        assert_eq!(records(&scene.all("gate").await[0], "run_record")[0]["verdict"], "PASS");
        gates.drain().await;
        runner.drain().await;
        scheduler.drain().await;
    });
}

/// The shipped lifecycles, but for one place in that of tickets.
fn with(now: &str, then: &str) -> Tables {
    with_in("ticket.md", now, then)
}

fn with_in(file: &str, now: &str, then: &str) -> Tables {
    let source = SHIPPED.iter().find(|shipped| shipped.file == file).unwrap().source;
    assert_eq!(source.matches(now).count(), 1, "{now}");
    let mut tables = shipped::tables();
    tables.add(parse(&source.replace(now, then)).unwrap());
    tables
}

// covers: M-04, M-12
#[test]
fn a_ticket_whose_output_was_judged_without_a_record_all_the_same_waits_for_a_person() {
    on_kept(async |url| {
        // As an older version of the lifecycle had it.
        let scene = under(&url, with_in("gate.md", "| run record  ", "|             ")).await;
        let (scheduler, runner) = (start(&scene.tenure, Settings::only(Part::Scheduler)), scene.run(willing));
        let id = scene.approved(&titled("paint the door")).await;
        let careless = acting(&scene, "worker:careless/1");
        let execution = leased(&careless, "gate").await;
        let (effects, session, attests) = (Effects::default(), None, Vec::new());
        let commit = Commit { execution, output: None, effects, finish: true, session, attests };
        assert!(careless.ask(Command::Commit(commit)).await.unwrap().answer.is_yes());
        let readiness = start(&scene.tenure, Settings::only(Part::Readiness));
        scene.until(id, "BLOCKED").await;
        let why = scene.eva.show(id).await.unwrap().blockers.remove(0).reason;
        assert!(why.contains("without a run record"), "{why}");
        let gates = start(&scene.tenure, Settings::only(Part::Gate));
        scene.eva.resolve(id, None).await.unwrap();
        scene.until(id, "DONE").await;
        gates.drain().await;
        readiness.drain().await;
        runner.drain().await;
        scheduler.drain().await;
    });
}

async fn under(url: &str, tables: Tables) -> Scene {
    Scene::on(known(Tenure::builder(url)).lifecycles(tables).open().await.unwrap())
}

async fn blocked(scene: &Scene) -> ItemId {
    let id = scene.approved(&titled("wait")).await;
    scene.eva.block(id, "the parts are missing").await.unwrap();
    id
}

// covers: M-08, M-11
#[test]
fn a_ticket_with_an_open_blocker_leaves_blocked_by_being_resolved_and_by_nothing_else() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let (id, ida) = (blocked(&scene).await, acting(&scene, "human:ida"));
        let refused = ida.advance(id, "resolve").await.unwrap_err();
        assert_eq!(refused.code().unwrap().as_str(), "TRANSITION_REFUSED", "{refused}");
        assert_eq!(scene.eva.show(id).await.unwrap().state, "BLOCKED");
        let resolved = scene.eva.resolve(id, None).await.unwrap();
        assert_eq!((resolved.state.as_str(), resolved.blockers), ("TODO", vec![]));
    });
}

// covers: M-01, M-08
#[test]
fn one_that_came_to_todo_all_the_same_is_blocked_again_where_people_find_it() {
    on_kept(async |url| {
        // As an older version of the lifecycle had it.
        let scene = under(&url, with("blockers closed, blockers named", "blockers closed")).await;
        let (id, ida) = (blocked(&scene).await, acting(&scene, "human:ida"));
        let scheduler = start(&scene.tenure, Settings::only(Part::Scheduler));
        scene
            .until_so("its event is over", async || {
                let events = scene.all("ticket_ready").await;
                events.iter().all(|event| event.item.phase().is_ended())
            })
            .await;
        ida.advance(id, "resolve").await.unwrap();
        assert_eq!(scene.eva.show(id).await.unwrap().state, "TODO", "nobody has looked yet");
        let readiness = start(&scene.tenure, Settings::only(Part::Readiness));
        scene.until(id, "BLOCKED").await;
        let shown = scene.eva.show(id).await.unwrap();
        assert_eq!(shown.blockers[0].reason, "the parts are missing");
        let paused = scene.pause(id).await;
        let detail = format!("it has open blockers: {}", shown.blockers[0].blocker_id);
        assert_eq!((&paused["reason"], &paused["detail"]), (&json!("BLOCKED"), &json!(detail)));
        scene.eva.resolve(id, None).await.unwrap();
        scene.until(id, "IN_PROGRESS").await;
        readiness.drain().await;
        scheduler.drain().await;
    });
}

// covers: M-01, M-02
#[test]
fn a_ticket_that_is_there_and_can_not_be_read_is_blocked_with_the_reason() {
    on_kept(async |url| {
        // As an older version of the lifecycle had it.
        let scene = under(&url, with(r#", "maximum": 9007199254740991"#, "")).await;
        let workers = start(&scene.tenure, Settings::default());
        let raw = async |budget: &str| {
            let new = format!(r#"{{"title":"t","budget_ms":{budget}}}"#);
            let new: serde_json::Value = serde_json::from_str(&new).unwrap();
            scene.tenure.create(New::of("ticket", &new)).await.unwrap().id
        };
        let strange = raw("100000000000000000000").await;
        scene.eva.approve(strange, None).await.unwrap();
        scene.until(strange, "BLOCKED").await;
        let shown = scene.eva.show(strange).await.unwrap();
        assert!(shown.blockers[0].reason.contains("is no number of milliseconds"), "{shown:?}");
        let explained = scene.eva.explain(strange).await.unwrap();
        assert_eq!(explained.runs[0].reason.as_deref(), Some("BLOCKED"));
        // A whole number of JSON Schema's is one.
        let whole = raw("6e3").await;
        scene.eva.approve(whole, None).await.unwrap();
        scene.until(whole, "IN_PROGRESS").await;
        assert_eq!(payload(&scene.all("work_order").await[0])["budget_ms"], 6000);
        assert_eq!(scene.all("ticket_ready").await.len(), 2, "one event each");
        workers.drain().await;
    });
}

// covers: M-06
#[test]
fn a_budget_that_no_reader_of_json_keeps_is_refused() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let new = NewTicket { budget_ms: Some(u64::MAX), ..titled("for ever") };
        let refused = scene.eva.create(&new, None).await.unwrap_err();
        assert_eq!(refused.code().unwrap().as_str(), "SCHEMA_VIOLATION");
    });
}

// covers: M-02
#[test]
fn a_ticket_whose_context_can_not_be_kept_is_blocked_and_not_tried_for_ever() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let scheduler = start(&scene.tenure, Settings::only(Part::Scheduler));
        // As much as a ticket may have. Its context has the same, and who approved it.
        let id = scene.ticket(&titled(&"t".repeat((1 << 20) - 14))).await;
        scene.eva.approve(id, None).await.unwrap();
        scene.until(id, "BLOCKED").await;
        let why = scene.eva.show(id).await.unwrap().blockers.remove(0).reason;
        assert!(why.contains("make the ticket shorter"), "{why}");
        scheduler.drain().await;
    });
}
