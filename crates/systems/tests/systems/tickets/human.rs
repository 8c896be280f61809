//! Where people come in: what waits for them, and who may take their place.

use serde_json::json;
use tenure::Tenure;
use tenure::core::actor::Role;
use tenure::core::lifecycle::parse::parse;
use tenure::core::lifecycle::shipped::{self, SHIPPED};
use tenure_systems::inbox::Word;
use tenure_systems::tickets::{NewTicket, known};

use super::kit::{Scene, titled, willing};
use crate::inbox::{inbox, said, waiting};
use crate::kit::on_kept;

// covers: M-04
#[test]
fn an_output_waits_for_the_person_that_the_ticket_names() {
    on_kept(async |url| {
        let scene = Scene::open(&url).await;
        let (workers, runner) = (scene.start(), scene.run(willing));
        let new = NewTicket { gates: vec!["human:is it red?".to_string()], ..titled("paint the door") };
        let id = scene.ticket(&new).await;
        let eva = inbox(&scene.tenure, Role::Human, "eva");
        let [first] = &waiting(&eva).await[..] else { panic!("one thing waits") };
        assert_eq!((first.id, first.title.as_str()), (id, "paint the door"));
        eva.answer(id, said(Word::Approve, "")).await.unwrap();
        for word in [Word::Reject, Word::Approve] {
            scene
                .until_so("the output waits", async || {
                    waiting(&eva).await.first().is_some_and(|waiting| waiting.kind == "gate")
                })
                .await;
            let output = waiting(&eva).await.remove(0);
            let question = format!("is it red? (ticket {id}: tenure ticket explain {id})");
            assert_eq!((output.ticket_id, output.question), (Some(id), question));
            let machine = inbox(&scene.tenure, Role::Api, "machine");
            let asked = machine.answer(output.id, said(word, "")).await.unwrap_err();
            assert_eq!(asked.code().unwrap().as_str(), "FORBIDDEN");
            eva.answer(output.id, said(word, "I looked")).await.unwrap();
            scene.until(output.id, "JUDGED").await;
        }
        scene.until(id, "DONE").await;
        let verdicts: Vec<_> = scene.eva.run_records(id).await.unwrap();
        let verdicts: Vec<_> = verdicts.iter().map(|record| record.body["verdict"].clone()).collect();
        assert_eq!(verdicts, [json!("FAIL"), json!("PASS")]);
        runner.drain().await;
        workers.drain().await;
    });
}

/// The shipped lifecycles, but for the actor of one cell.
fn reviewed_by(actor: &str) -> tenure::core::lifecycle::tables::Tables {
    let shipped = SHIPPED.iter().find(|shipped| shipped.file == "ticket.md").unwrap();
    let row = |line: &str| line.starts_with("| NEW ") && line.contains("approve");
    let changed: Vec<String> = shipped
        .source
        .lines()
        .map(|line| if row(line) { line.replace("human", actor) } else { line.to_string() })
        .collect();
    let mut tables = shipped::tables();
    tables.add(parse(&changed.join("\n")).unwrap());
    tables
}

// covers: M-10
#[test]
fn an_automatic_reviewer_takes_the_persons_place_by_a_change_of_one_cell() {
    on_kept(async |url| {
        let builder = known(Tenure::builder(url)).lifecycles(reviewed_by("orchestrator"));
        let scene = Scene::on(builder.open().await.unwrap());
        let (workers, runner) = (scene.start(), scene.run(willing));
        let id = scene.ticket(&titled("reviewed by a machine")).await;
        assert_eq!(waiting(&inbox(&scene.tenure, Role::Human, "eva")).await, [], "no person is asked");
        let refused = scene.eva.approve(id, None).await.unwrap_err();
        assert_eq!(refused.code().unwrap().as_str(), "FORBIDDEN", "it is not a person's turn any more");
        let reviewer = Scene::acting(&scene.tenure, "orchestrator:reviewer");
        reviewer.approve(id, Some("fits the guidelines".to_string())).await.unwrap();
        scene.until(id, "DONE").await;
        let explained = scene.eva.explain(id).await.unwrap();
        let approval = &explained.runs[0].snapshot.as_ref().unwrap().body["approval"];
        assert_eq!(approval["by"], "orchestrator:reviewer");
        runner.drain().await;
        workers.drain().await;
    });
}
