//! What the scheduler says of an event, and what readiness repairs.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Acquire, Command, Commit, Effects, NewRecord, Terms};
use tenure::{New, Tenure};
use tenure_systems::tickets::{NewTicket, Part, Settings, start};

use super::kit::{Scene, payload, titled};
use crate::kit::on_kept;

/// Whoever announces a ticket.
fn announcer(tenure: &Tenure) -> Tenure {
    tenure.acting(tenure.store().clone(), "worker:readiness/1".parse().unwrap())
}

// covers: M-02
#[test]
fn an_event_without_a_ticket_to_work_on_ends_with_its_reason() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let scheduler = start(&scene.tenure, Settings::only(Part::Scheduler));
        let new = scene.ticket(&titled("not approved")).await;
        let nothing = "01M7GE4XB00006645Z0KC20ZT6";
        for (ticket, reason) in [
            (nothing.to_string(), "MISSING_TICKET"),
            ("no id".to_string(), "MISSING_TICKET"),
            (new.to_string(), "NON_EXECUTABLE_STATUS"),
        ] {
            let event = New::of("ticket_ready", &json!({ "ticket_id": ticket }));
            let event = announcer(&scene.tenure).create(event).await.unwrap();
            scene.until(event.id, "PROCESSED").await;
            let output = scene.tenure.whole(event.id).await.unwrap().output.unwrap();
            assert_eq!(serde_json::from_slice::<Value>(output.bytes()).unwrap(), reason, "{ticket}");
        }
        let blocked = scene.ticket(&titled("blocked before it began")).await;
        scene.eva.add_blocker(blocked, "the parts are missing").await.unwrap();
        scene.eva.approve(blocked, None).await.unwrap();
        scene.until(blocked, "BLOCKED").await;
        assert_eq!(scene.pause(blocked).await["reason"], "BLOCKED");
        let explained = scene.eva.explain(blocked).await.unwrap();
        assert_eq!(explained.runs[0].reason.as_deref(), Some("BLOCKED"));
        let event = New::of("ticket_ready", &json!({ "ticket_id": blocked }));
        let event = announcer(&scene.tenure).create(event).await.unwrap();
        scene.until(event.id, "PROCESSED").await;
        let output = scene.tenure.whole(event.id).await.unwrap().output.unwrap();
        assert_eq!(output.bytes(), br#""BLOCKED""#, "also where it was blocked before");
        // A gate that is none is refused; whoever writes it past the operations is told before anything runs.
        let wrong = NewTicket { gates: vec!["cmd:a\nb".to_string()], ..titled("two lines") };
        let refused = scene.eva.create(&wrong, None).await.unwrap_err();
        assert_eq!(refused.code().unwrap().as_str(), "SCHEMA_VIOLATION");
        let wrong = scene.tenure.create(New::of("ticket", &wrong)).await.unwrap().id;
        scene.eva.approve(wrong, None).await.unwrap();
        scene.until(wrong, "BLOCKED").await;
        let why = scene.eva.show(wrong).await.unwrap().blockers.remove(0).reason;
        assert_eq!(why, r#""cmd:a\nb" is no gate: it is one line"#);
        assert_eq!(scene.pause(wrong).await["detail"], why);
        assert_eq!(scene.all("work_order").await.len(), 0);
        scheduler.drain().await;
    });
}

// covers: M-01, M-11
#[test]
fn a_person_blocks_what_is_not_worked_on_yet_and_resolves_it() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let id = scene.ticket(&titled("wait")).await;
        for asked in [scene.eva.block(id, "early").await, scene.eva.resolve(id, None).await] {
            assert_eq!(asked.unwrap_err().code().unwrap().as_str(), "TRANSITION_REFUSED");
        }
        scene.eva.approve(id, None).await.unwrap();
        assert_eq!(scene.all("ticket_ready").await.len(), 1, "announced with the approval");
        let shown = scene.eva.block(id, "not today").await.unwrap();
        assert_eq!((shown.state.as_str(), shown.blockers[0].reason.as_str()), ("BLOCKED", "not today"));
        assert_eq!(scene.pause(id).await["detail"], "not today");
        assert_eq!(scene.eva.resolve(id, None).await.unwrap().state, "TODO");
        let machine = Scene::acting(&scene.tenure, "api:machine");
        let other = scene.ticket(&titled("another")).await;
        assert_eq!(machine.approve(other, None).await.unwrap_err().code().unwrap().as_str(), "FORBIDDEN");
        let open = scene.all("ticket_ready").await;
        assert_eq!(open.len(), 1, "of a ticket one event is unprocessed at a time");
    });
}

// covers: M-01
#[test]
fn a_ticket_with_an_open_blocker_is_blocked_and_not_announced_before_that_is_resolved() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let readiness = start(&scene.tenure, Settings::only(Part::Readiness));
        let blocked = scene.ticket(&titled("blocked")).await;
        scene.eva.add_blocker(blocked, "the parts are missing").await.unwrap();
        let free = scene.ticket(&titled("free")).await;
        let person = scene.tenure.acting(scene.tenure.store().clone(), "human:ida".parse().unwrap());
        // By hand, without the event. Readiness follows the log, so it has seen to the first before it sees to the second.
        for id in [blocked, free] {
            person.advance(id, "approve").await.unwrap();
        }
        let announced = async || {
            let events = scene.all("ticket_ready").await;
            events.iter().map(|event| payload(event)["ticket_id"].clone()).collect::<Vec<Value>>()
        };
        scene.until_so("the free one has its event", async || announced().await.contains(&json!(free))).await;
        assert_eq!(announced().await, [json!(free)]);
        scene.until(blocked, "BLOCKED").await;
        scene.eva.resolve(blocked, None).await.unwrap();
        scene.until_so("both have theirs", async || announced().await == [json!(free), json!(blocked)]).await;
        readiness.drain().await;
    });
}

// covers: M-01, M-03, M-07
#[test]
fn a_ticket_that_somebody_moved_by_hand_gets_its_event_and_an_output_its_gate() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let readiness = start(&scene.tenure, Settings::only(Part::Readiness));
        let asked = NewTicket { gates: vec!["human:is it good?".to_string()], ..titled("by hand") };
        let id = scene.ticket(&asked).await;
        let person = scene.tenure.acting(scene.tenure.store().clone(), "human:ida".parse().unwrap());
        person.advance(id, "approve").await.unwrap();
        scene.until_so("it has its event", async || !scene.all("ticket_ready").await.is_empty()).await;
        let [event] = &scene.all("ticket_ready").await[..] else { panic!("one event") };
        assert_eq!(payload(event), json!({ "ticket_id": id }));
        let again = announcer(&scene.tenure);
        let again = again.create(New::of("ticket_ready", &json!({ "ticket_id": id }))).await.unwrap();
        assert_eq!(again.id, event.item.id, "the database makes no second one");

        let others = start(
            &scene.tenure,
            Settings { parts: vec![Part::Scheduler, Part::Gate], ..Settings::default() },
        );
        scene.until(id, "IN_PROGRESS").await;
        // Somebody would commit the work order without a bundle and without a gate.
        let careless =
            scene.tenure.acting(scene.tenure.store().clone(), "worker:careless/1".parse().unwrap());
        let terms = Terms { start: true, ..Terms::default() };
        let acquire = Acquire { kinds: vec!["work_order".parse().unwrap()], max: 1, terms };
        let leased = careless.lease(acquire, Duration::from_secs(30)).await.unwrap();
        let Answer::Leased(leases) = leased.answer else { panic!("{:?}", leased.answer) };
        let execution = leases[0].execution;
        let commit = |effects: Effects, attests: Vec<Guard>| {
            Command::Commit(Commit { execution, output: None, effects, finish: true, session: None, attests })
        };
        let bundle = |name: &str| {
            let body = json!({ "work_order_id": execution.item, "ticket_id": id, "outcome": "COMPLETED",
                "budget_ms": 1, "took_ms": 1, "output": "made" });
            let body = Body::json(serde_json::to_vec(&body).unwrap()).unwrap();
            NewRecord { label: "output_bundle".parse().unwrap(), name: name.parse().unwrap(), body }
        };
        let with = |records: Vec<NewRecord>| Effects { records, ..Effects::default() };
        for records in [vec![], vec![bundle("1")], vec![bundle("1"), bundle("2")]] {
            let answer = careless.ask(commit(with(records), Vec::new())).await.unwrap().answer;
            assert_eq!(
                answer.code().map(|code| code.as_str().to_string()).as_deref(),
                Some("TRANSITION_REFUSED")
            );
        }
        assert_eq!(scene.tenure.item(execution.item).await.unwrap().state_name().as_str(), "EXECUTING");
        // Under a table that asks for no gate it would be executed all the same: the person whom the ticket wants to be asked, is.
        let executed =
            careless.ask(commit(with(vec![bundle("1")]), vec![Guard::OutputBundle])).await.unwrap();
        assert!(executed.answer.is_yes(), "{:?}", executed.answer);
        scene.until_so("it has its gate", async || !scene.all("gate").await.is_empty()).await;
        let [gate] = &scene.all("gate").await[..] else { panic!("one gate") };
        assert_eq!(gate.item.state_name().as_str(), "AWAITING");
        others.drain().await;
        readiness.drain().await;
    });
}
