//! Lists that are not sound: what validate finds, and what it says where the database keeps it waiting.

use rusqlite::Connection;
use tenure::Tenure;
use tenure::core::actor::Role;
use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::code::Code;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Command, Commit, Effects, NewRecord, Note};
use tenure_systems::todos::validate::{LIMIT, LIMIT_MIN, Scope};
use tenure_systems::todos::{Error, New, Todos};

use super::{Agent, actor, added, agent, branch, person, prove};
use crate::kit::{PATIENCE, on_each, on_sqlite};

type Found = (Option<ItemId>, &'static str, String);

/// What is found: the task, the name of the check, and the words. In the order of the tasks.
async fn found(todos: &Todos, scope: Scope) -> Vec<Found> {
    let report = todos.validate(scope, None, Some(&branch()), LIMIT).await.unwrap();
    sorted(report.faults.into_iter().map(|fault| (fault.task, fault.check, fault.what)))
}

/// Two that were added within a millisecond have their ids in any order.
fn sorted(found: impl IntoIterator<Item = Found>) -> Vec<Found> {
    let mut found: Vec<Found> = found.into_iter().collect();
    found.sort();
    found
}

/// Waits until the log tells of a task's last entry: some databases order it a moment after the commit.
async fn in_the_log(tenure: &Tenure, id: ItemId) {
    let version = tenure.item(id).await.unwrap().version;
    let told = async {
        let mut after = 0;
        loop {
            let page = tenure.log_or_wait(after, 100, PATIENCE).await.unwrap();
            if page.iter().any(|(_, entry)| entry.item == id && entry.version == version) {
                return;
            }
            after = page.last().map_or(after, |(position, _)| *position);
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("the log has it");
}

/// Makes a task Verified past `done`, without a receipt: as whoever writes to the kernel directly could.
async fn verified_without_proof(tenure: &Tenure, ann: &Agent, id: ItemId) {
    let claimed = ann.todos.claim(id, Some(&branch())).await.unwrap();
    let commit = Commit {
        execution: claimed.task.item.execution_id(),
        output: None,
        effects: Effects::default(),
        finish: false,
        session: Some(ann.session.id),
        attests: vec![Guard::Workspace, Guard::GatesPass],
    };
    let own = tenure.acting(tenure.store().clone(), ann.session.actor.clone());
    let reply = own.ask(Command::Commit(commit)).await.unwrap();
    assert!(matches!(reply.answer, Answer::Ran(_)), "{:?}", reply.answer);
}

// covers: T-11, T-15
#[test]
fn a_verified_task_without_its_receipt_is_found_and_so_is_a_receipt_under_another_hash() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let (bare, forged) =
            (added(&ann.todos, New::titled("bare")).await, added(&ann.todos, New::titled("forged")).await);
        assert_eq!(found(&ann.todos, Scope::Since).await, []);
        verified_without_proof(&tenure, &ann, bare).await;
        let body = Body::json(r#"{"passed":true}"#).unwrap();
        let record = NewRecord { label: "receipt".parse().unwrap(), name: "a-proof".parse().unwrap(), body };
        let forger = tenure.acting(tenure.store().clone(), actor(Role::Human, "mallory"));
        let note = Command::Note(Note { item: forged, records: vec![record] });
        assert!(forger.ask(note).await.unwrap().answer.is_yes());
        let faults = sorted([
            (Some(bare), "receipts", "it is Verified and has no receipt".to_string()),
            (Some(forged), "receipts", "the receipt a-proof is not what its hash says".to_string()),
        ]);
        in_the_log(&tenure, forged).await;
        for scope in [Scope::All, Scope::Since, Scope::Since] {
            assert_eq!(
                found(&ann.todos, scope).await,
                faults,
                "{scope:?}: what is not sound is looked at again"
            );
        }
        // The task that is being decided is not looked at.
        let without = ann.todos.validate(Scope::Since, Some(bare), Some(&branch()), LIMIT).await.unwrap();
        assert_eq!(without.faults.iter().map(|fault| fault.task).collect::<Vec<_>>(), [Some(forged)]);
    });
}

/// Somebody who writes to the file past Tenure, and past the walls of its schema.
pub fn intruder(url: &str) -> Connection {
    let file = Connection::open(url.strip_prefix("sqlite:").unwrap()).unwrap();
    let walls: Vec<String> = {
        let mut asked = file.prepare("select name from sqlite_master where type = 'trigger'").unwrap();
        asked.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for wall in walls {
        file.execute_batch(&format!("drop trigger {wall}")).unwrap();
    }
    file
}

// covers: T-15
#[test]
fn what_was_moved_to_another_store_or_taken_out_of_the_log_is_found() {
    on_sqlite(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let on = added(&ann.todos, New::titled("on")).await;
        let waits = added(&ann.todos, New { depends: vec![on], ..New::titled("waits") }).await;
        let cut = added(&ann.todos, New::titled("cut")).await;
        ann.todos.claim(cut, Some(&branch())).await.unwrap();
        prove(&ann, cut).await.unwrap();
        let far = person(&tenure.acting("far".parse().unwrap(), actor(Role::Human, "pat")), Role::Human);
        let elsewhere = added(&far, New::titled("elsewhere")).await;
        let late = added(&ann.todos, New::titled("late")).await;
        assert_eq!(found(&ann.todos, Scope::All).await, []);
        let file = intruder(&url);
        let bytes = |id: ItemId| id.0.to_be_bytes().to_vec();
        let moved = "update items set queue = (select queue from items where id = ?2) where id = ?1";
        assert_eq!(file.execute(moved, (bytes(on), bytes(elsewhere))).unwrap(), 1);
        assert_eq!(
            file.execute("update items set head = zeroblob(32) where id = ?1", [bytes(late)]).unwrap(),
            1
        );
        let expected = sorted([
            (Some(waits), "stores", format!("its depends {on} is not in this store")),
            (Some(late), "log", "its last entry is not in the log".to_string()),
        ]);
        assert_eq!(found(&ann.todos, Scope::All).await, expected);
        // Without the claim of a task that was proved, its history can not be read: nothing is found sound.
        let asked = "select segment from items where id = ?1";
        let last: i64 = file.query_row(asked, [bytes(cut)], |row| row.get(0)).unwrap();
        let claim =
            "delete from segments where segment = (select max(segment) from segments where segment < ?1)";
        assert_eq!(file.execute(claim, [last]).unwrap(), 1);
        let error = ann.todos.validate(Scope::All, None, Some(&branch()), LIMIT).await.unwrap_err();
        assert!(error.to_string().contains("the log has no segment"), "{error}");
    });
}

// covers: T-09
#[test]
fn a_list_whose_database_is_locked_is_validated_later_and_nothing_was_changed() {
    on_sqlite(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        added(&ann.todos, New::titled("x")).await;
        let other = Connection::open(url.strip_prefix("sqlite:").unwrap()).unwrap();
        other.execute_batch("begin immediate").unwrap();
        // Sound, it would be written down how far it was looked. Nobody waits longer than they said, nor for ever.
        for (limit, which) in [(LIMIT_MIN, "timeout"), (LIMIT, "lock")] {
            let asked = ann.todos.validate(Scope::Since, None, Some(&branch()), limit).await;
            let Err(Error::Refused(refusal)) = asked else { panic!("{which}: {asked:?}") };
            assert_eq!((refusal.code, &refusal.more["which"]), (Code::ValidateTimeoutOrLock, &which.into()));
        }
        other.execute_batch("rollback").unwrap();
        let look = async || ann.todos.validate(Scope::Since, None, Some(&branch()), LIMIT).await.unwrap();
        assert_eq!(look().await.looked_at, 1, "nothing was changed");
        assert_eq!(look().await.looked_at, 0);
    });
}
