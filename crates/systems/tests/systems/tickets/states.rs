//! The scheduler and the gate meet a ticket in every state that it can be in: what is not theirs to move is left where it is, and the event
//! or the output is dealt with all the same.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure::New;
use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::request::{Command, Move};
use tenure_systems::tickets::{Part, Settings, start};

use super::kit::{Scene, records, titled, willing};
use crate::kit::on_kept;

/// The moves that lead a new ticket into each state.
const WAYS: [(&str, &[&str]); 5] = [
    ("NEW", &[]),
    ("TODO", &["approve"]),
    ("IN_PROGRESS", &["approve", "schedule"]),
    ("BLOCKED", &["approve", "block"]),
    ("DONE", &["approve", "schedule", "pass"]),
];

impl Scene {
    /// Moves a ticket as the engine would.
    async fn moved(&self, id: ItemId, event: &str) {
        let system = self.tenure.acting(self.tenure.store().clone(), "system:test".parse().unwrap());
        let step = Move { reason: Some("by hand".to_string()), ..Move::new(id, event.parse().unwrap()) };
        let answer = system.ask(Command::Move(step)).await.unwrap().answer;
        assert!(matches!(answer, Answer::Done(_)), "{event}: {answer:?}");
    }

    async fn ticket_in(&self, way: &[&str]) -> ItemId {
        let id = self.ticket(&titled("write the page")).await;
        for event in way {
            match *event {
                "approve" => drop(self.eva.approve(id, None).await.unwrap()),
                event => self.moved(id, event).await,
            }
        }
        id
    }

    async fn state(&self, id: ItemId) -> String {
        self.tenure.item(id).await.unwrap().state_name().to_string()
    }

    /// The states of the lifecycle: one that this file forgets is found.
    fn knows_every_state(&self) {
        let table = self.tenure.lifecycles().current(&"ticket".parse().unwrap()).unwrap().clone();
        let all: BTreeSet<&str> = table.state_ids().map(|state| table.name(state)).collect();
        assert_eq!(all, WAYS.iter().map(|(state, _)| *state).collect());
    }
}

// fault: M2
// covers: M-02, M-12
#[test]
fn an_event_of_a_ticket_in_any_state_is_processed_and_says_why() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        scene.knows_every_state();
        let system = scene.tenure.acting(scene.tenure.store().clone(), "system:test".parse().unwrap());
        let mut events = Vec::new();
        for (state, way) in WAYS {
            let id = scene.ticket_in(way).await;
            assert_eq!(scene.state(id).await, state);
            // Of a ticket that was approved there is one already, and this is the same.
            let new = New::of("ticket_ready", &json!({ "ticket_id": id })).link("ticket", id);
            events.push((state, id, system.create(new).await.unwrap().id));
        }
        let scheduler = start(&scene.tenure, Settings::only(Part::Scheduler));
        for (state, id, event) in events {
            scene.until(event, "PROCESSED").await;
            let output = scene.tenure.whole(event).await.unwrap().output.expect("it says why");
            let (reason, after) = match state {
                "TODO" => ("SCHEDULED", "IN_PROGRESS"),
                "BLOCKED" => ("BLOCKED", "BLOCKED"),
                state => ("NON_EXECUTABLE_STATUS", state),
            };
            assert_eq!(output.value().unwrap(), json!(reason), "{state}");
            assert_eq!(scene.state(id).await, after, "{state}");
        }
        assert_eq!(scene.all("work_order").await.len(), 1, "of the one that was TODO");
        scheduler.drain().await;
    });
}

// fault: M2
// covers: M-04, M-12
#[test]
fn an_output_is_judged_wherever_its_ticket_was_moved_meanwhile() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let scheduler = start(&scene.tenure, Settings::only(Part::Scheduler));
        let runner = scene.run(willing);
        let moves = [("retry", "TODO"), ("block", "BLOCKED"), ("pass", "DONE")];
        let mut tickets = Vec::new();
        for _ in &moves {
            tickets.push(scene.approved(&titled("write the page")).await);
        }
        scene.until_so("each has its output", async || scene.all("gate").await.len() == moves.len()).await;
        scheduler.drain().await;
        runner.drain().await;
        for (id, (event, _)) in tickets.iter().zip(moves) {
            scene.moved(*id, event).await;
        }
        let gate = start(&scene.tenure, Settings::only(Part::Gate));
        for (id, (event, state)) in tickets.iter().zip(moves) {
            let of_it = async || {
                let gates = scene.all("gate").await;
                gates.into_iter().find(|gate| super::kit::payload(gate)["ticket_id"] == json!(id)).unwrap()
            };
            scene.until(of_it().await.item.id, "JUDGED").await;
            let record = records(&of_it().await, "run_record").remove(0);
            assert_eq!((&record["verdict"], &record["moved_to"]), (&json!("PASS"), &Value::Null), "{event}");
            assert_eq!(scene.state(*id).await, state, "{event}: it stays where it was moved");
        }
        gate.drain().await;
    });
}
