//! What waits for a person, of every system, and what they say to it.

use std::collections::BTreeSet;

use tenure::core::actor::Role;
use tenure::core::code::Code;
use tenure::core::id::ItemId;
use tenure::core::word::Kind;
use tenure::{New as NewItem, Tenure};
use tenure_systems::inbox::{Inbox, Said, Waiting, Word};
use tenure_systems::todos::New;

use crate::kit::{on_each, on_sqlite};
use crate::tickets::kit::{Scene, titled as ticket};
use crate::todos::{actor, added, agent, branch, person, prove, refused, titled};

pub fn inbox(tenure: &Tenure, role: Role, name: &str) -> Inbox {
    Inbox::of(&tenure.acting(tenure.store().clone(), actor(role, name)))
}

pub async fn waiting(inbox: &Inbox) -> Vec<Waiting> {
    let page = inbox.page(|_| true, None, 100).await.unwrap();
    assert_eq!(page.next, None, "that was all");
    page.waiting
}

pub fn said(word: Word, note: &str) -> Said {
    let note = Some(note.to_string()).filter(|note| !note.is_empty());
    Said { word, note, gate: None }
}

// covers: T-04, T-16
#[test]
fn a_task_that_is_held_waits_for_its_person_and_for_nothing_else() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (ann, eva) = (agent(&tenure, "ann").await, inbox(&tenure, Role::Human, "eva"));
        let gates = ["cmd:make", "human:is it kind?", "advisory human:is it short?"];
        let id = added(&ann.todos, titled("Write it", &gates)).await;
        let plain = added(&ann.todos, titled("Print it", &["cmd:make"])).await;
        assert_eq!(waiting(&eva).await, [], "nobody works on it yet");
        for id in [id, plain] {
            ann.todos.claim(id, Some(&branch())).await.unwrap();
        }
        let [one] = &waiting(&eva).await[..] else { panic!("one thing waits") };
        assert_eq!((one.id, one.kind.as_str(), one.title.as_str()), (id, "todo", "Write it"));
        assert_eq!((one.question.as_str(), one.ticket_id), ("is it kind?; is it short? (advisory)", None));
        let told = refused(prove(&ann, id).await, Code::VerificationRequired);
        assert!(told.contains(&format!("human:is it kind? (waits for a person: tenure inbox approve {id})")));
        let machine = inbox(&tenure, Role::Worker, "ann");
        refused(machine.answer(id, said(Word::Approve, "")).await, Code::Forbidden);
        let before = tenure.item(id).await.unwrap().version;
        let after = eva.answer(id, said(Word::Approve, "very")).await.unwrap();
        assert_eq!((after.question.as_str(), after.state.as_str()), ("", "Claimed"));
        let task = ann.todos.task(id).await.unwrap();
        assert_eq!(task.item.version, before + 1, "both gates in one entry");
        let by: BTreeSet<_> =
            task.attestations.iter().map(|one| (one.by.as_str(), one.note.as_deref())).collect();
        assert_eq!(by, BTreeSet::from([("human:eva", Some("very"))]));
        assert_eq!(waiting(&eva).await, []);
        refused(eva.answer(id, said(Word::Approve, "")).await, Code::TransitionRefused);
        prove(&ann, id).await.unwrap();
        refused(eva.answer(plain, said(Word::Approve, "")).await, Code::TransitionRefused);
    });
}

// covers: T-04, T-06, T-16
#[test]
fn a_no_keeps_its_reason_with_the_holder_until_a_person_says_yes() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (ann, eva) = (agent(&tenure, "ann").await, inbox(&tenure, Role::Human, "eva"));
        let id = added(&ann.todos, titled("Write it", &["human:is it kind?", "human:is it true?"])).await;
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        refused(eva.answer(id, said(Word::Reject, " ")).await, Code::InvalidRequest);
        let kind = |word, note| Said { gate: Some("human:is it kind?".to_string()), ..said(word, note) };
        eva.answer(id, kind(Word::Reject, "too harsh")).await.unwrap();
        let task = ann.todos.task(id).await.unwrap();
        assert_eq!(task.state(), "Claimed", "it stays whose it is");
        let told = refused(prove(&ann, id).await, Code::VerificationRequired);
        assert!(told.contains("human:is it kind? (human:eva said no: too harsh)"), "{told}");
        let [one] = &waiting(&eva).await[..] else { panic!("it waits for a yes") };
        assert_eq!(one.question, "is it kind? (human:eva said no: too harsh); is it true?");
        let version = tenure.item(id).await.unwrap().version;
        eva.answer(id, kind(Word::Reject, "too harsh")).await.unwrap();
        assert_eq!(tenure.item(id).await.unwrap().version, version, "said once is said");
        // The newest word counts, whoever said it; a yes is taken back while the task is not done.
        let bob = inbox(&tenure, Role::Human, "bob");
        bob.answer(id, said(Word::Approve, "")).await.unwrap();
        eva.answer(id, kind(Word::Reject, "still too harsh")).await.unwrap();
        let told = refused(prove(&ann, id).await, Code::VerificationRequired);
        assert!(told.contains("still too harsh") && !told.contains("is it true"), "{told}");
        eva.answer(id, kind(Word::Approve, "now it is")).await.unwrap();
        prove(&ann, id).await.unwrap();
        let words: Vec<bool> =
            ann.todos.task(id).await.unwrap().attestations.iter().map(|one| one.approved).collect();
        assert_eq!(words, [false, true, true, false, true], "all of it is kept");
        refused(eva.answer(id, kind(Word::Reject, "no!")).await, Code::TransitionRefused);
        assert_eq!(ann.todos.task(id).await.unwrap().attestations.len(), 5);
    });
}

// covers: T-03
#[test]
fn what_its_holder_has_let_go_waits_for_nobody() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (ann, eva) = (agent(&tenure, "ann").await, inbox(&tenure, Role::Human, "eva"));
        let id = added(&ann.todos, titled("Write it", &["human:is it kind?"])).await;
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        assert_eq!(waiting(&eva).await.len(), 1);
        ann.todos.release(id, None, Some(&branch())).await.unwrap();
        assert_eq!(waiting(&eva).await, []);
    });
}

/// As many as a page looks at, and some more.
const MANY: usize = 520;

// covers: T-04
#[test]
fn a_page_looks_at_so_many_and_the_next_one_goes_on_behind_it() {
    on_sqlite(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (ann, eva) = (agent(&tenure, "ann").await, inbox(&tenure, Role::Human, "eva"));
        let mut ids: Vec<ItemId> = Vec::new();
        for number in 0..MANY {
            let gates = if number >= MANY - 2 { &["human:is it kind?"][..] } else { &[] };
            ids.push(added(&ann.todos, titled(&format!("t{number}"), gates)).await);
        }
        for id in &ids {
            ann.todos.claim(*id, Some(&branch())).await.unwrap();
        }
        let ticket = Scene::on(tenure.clone()).ticket(&ticket("a ticket")).await;
        let first = eva.page(|_| true, None, 10).await.unwrap();
        assert_eq!(first.waiting, [], "none of those that it looked at");
        let (mut found, mut cursor, mut pages) = (Vec::new(), first.next, 1);
        while let Some(after) = cursor {
            let page = eva.page(|_| true, Some(after), 1).await.unwrap();
            found.extend(page.waiting.into_iter().map(|waiting| waiting.id));
            (cursor, pages) = (page.next, pages + 1);
        }
        assert_eq!(found, [ids[MANY - 2], ids[MANY - 1], ticket], "in {pages} pages");
        let todo: Kind = "todo".parse().unwrap();
        let tickets = eva.page(|kind| *kind != todo, None, 10).await.unwrap();
        assert_eq!((tickets.waiting.len(), tickets.next), (1, None), "only of kinds that one may see");
    });
}

const ORDER: &str = "# order

An order that a person looks at.

## States

| State    | Phase     | Meaning                   |
|----------|-----------|---------------------------|
| REVIEW   | waiting   | somebody must look at it  |
| OPEN     | waiting   | a machine takes it on     |
| CHOICE   | waiting   | red or blue               |
| SHIPPED  | succeeded | on its way                |
| DECLINED | stopped   | not wanted                |

## Transitions

| From   | Event   | To       | Actor     | Guard  |
|--------|---------|----------|-----------|--------|
| —      | create  | REVIEW   | api       |        |
| REVIEW | approve | OPEN     | human     |        |
| REVIEW | reject  | DECLINED | human     | reason |
| REVIEW | cancel  | DECLINED | api/human |        |
| OPEN   | ask     | CHOICE   | api       |        |
| OPEN   | recall  | DECLINED | human     |        |
| CHOICE | red     | SHIPPED  | human     |        |
| CHOICE | blue    | SHIPPED  | human     |        |
";

// covers: M-10
#[test]
fn an_item_of_any_lifecycle_waits_where_only_people_lead_out() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        tenure.add_lifecycle(ORDER).await.unwrap();
        let (eva, api) = (inbox(&tenure, Role::Human, "eva"), inbox(&tenure, Role::Api, "shop"));
        let new = |title: &str| NewItem::of("order", &serde_json::json!({ "title": title }));
        let one = tenure.create(new("a chair")).await.unwrap().id;
        let other = tenure.create(new("a table")).await.unwrap().id;
        let found: Vec<_> = waiting(&eva).await.into_iter().map(|one| (one.title, one.question)).collect();
        let question = "somebody must look at it (approve, cancel, reject)";
        assert_eq!(found, [("a chair", question), ("a table", question)].map(|(a, b)| (a.into(), b.into())));
        refused(api.answer(one, said(Word::Approve, "")).await, Code::Forbidden);
        assert_eq!(eva.answer(one, said(Word::Approve, "")).await.unwrap().state, "OPEN");
        assert_eq!(eva.answer(other, said(Word::Reject, "too dear")).await.unwrap().state, "DECLINED");
        assert_eq!(tenure.item(other).await.unwrap().reason.as_deref(), Some("too dear"));
        assert_eq!(waiting(&eva).await, [], "a machine leads on, though a person may recall it");
        tenure.advance(one, "ask").await.unwrap();
        assert_eq!(waiting(&eva).await[0].question, "red or blue (blue, red)");
        let told = refused(eva.answer(one, said(Word::Approve, "")).await, Code::TransitionRefused);
        assert!(told.contains("blue, red"), "{told}");
        let job = tenure.create(NewItem::job(&1)).await.unwrap().id;
        refused(eva.answer(job, said(Word::Approve, "")).await, Code::NotFound);
        let task = added(&person(&tenure, Role::Human), New::titled("x")).await;
        let gate = Said { gate: Some("human:x".into()), ..said(Word::Approve, "") };
        refused(eva.answer(task, gate.clone()).await, Code::InvalidRequest);
        refused(eva.answer(one, gate).await, Code::InvalidRequest);
    });
}
