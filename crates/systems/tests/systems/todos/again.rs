//! A task that is Verified is proved again: what counts is what was proved last, on whatever tree that was.

use std::time::Duration;

use tenure::Tenure;
use tenure::core::id::ItemId;
use tenure_systems::todos::receipt::{AGE_MAX, Run};
use tenure_systems::todos::validate::{LIMIT, Scope};
use tenure_systems::todos::workspace::Facts;
use tenure_systems::todos::{Changed, Proved, Task};

use super::unsound::intruder;
use super::{Agent, added, agent, branch, proof, prove, titled};
use crate::kit::{on_each, on_sqlite};

/// The proof of the whole plan on this tree.
async fn prove_on(agent: &Agent, id: ItemId, tree: &str) -> Changed {
    let task = agent.todos.task(id).await.unwrap();
    let here = Facts { tree: Some(tree.into()), ..branch() };
    // No two of them run anything on one machine.
    let run = Run { host: agent.session.agent_id().to_string(), ..Run::default() };
    let proved = Proved { run, ..proof(&task, &[], tree) };
    agent.todos.done(id, Some(&proved), Some(&here)).await.unwrap()
}

fn proved_tree(task: &Task) -> &str {
    &task.proved().unwrap().proof.as_ref().unwrap().tree
}

// covers: T-05, T-06, T-16, T-17
#[test]
fn a_proof_of_a_tree_that_is_there_again_is_the_current_one_again() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let id = added(&ann.todos, titled("x", &["cmd:make"])).await;
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        let first = prove_on(&ann, id, "one").await;
        for (round, tree) in ["two", "one", "two", "one"].into_iter().enumerate() {
            let before = ann.todos.task(id).await.unwrap();
            let changed = prove_on(&ann, id, tree).await;
            assert!(changed.fresh, "{round}: it says something new");
            assert_eq!(proved_tree(&changed.task), tree, "{round}");
            assert!(changed.task.proved().unwrap().version > before.proved().unwrap().version, "{round}");
            let again = prove_on(&ann, id, tree).await;
            assert_eq!((again.fresh, again.receipt), (false, changed.receipt), "{round}: once is enough");
            let receipt = ann.todos.receipt(id).await.unwrap().unwrap();
            assert_eq!((receipt.proof.tree.as_str(), receipt.entry_sha256), (tree, Some(changed.receipt)));
            assert_eq!(receipt.faults(), Vec::<String>::new());
        }
        let task = ann.todos.task(id).await.unwrap();
        assert_eq!(task.receipts.len(), 2, "a receipt is written once, however often it is proved");
        assert_eq!(task.proved().unwrap().sha256, first.task.proved().unwrap().sha256);
        assert_eq!(task.proved().unwrap().times, 3);
        let report = ann.todos.validate(Scope::All, None, Some(&branch()), LIMIT).await.unwrap();
        assert!(report.is_sound(), "{report:?}");
    });
}

// covers: T-05, T-06
#[test]
fn a_proof_that_has_grown_old_is_renewed_by_the_same_proof() {
    on_sqlite(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let ann = agent(&tenure, "ann").await;
        let id = added(&ann.todos, titled("x", &["cmd:make"])).await;
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        let first = prove(&ann, id).await.unwrap();
        // As if all that was kept with it had been written so long ago.
        let file = intruder(&url);
        let aged = async |by: Duration| {
            let aged = "update records set at = at - ?1";
            assert!(file.execute(aged, [by.as_micros() as i64]).unwrap() > 0);
            ann.todos.task(id).await.unwrap().proved().unwrap().at
        };
        aged(AGE_MAX - Duration::from_secs(3_600)).await;
        assert!(!prove(&ann, id).await.unwrap().fresh, "it is not too old yet");
        for round in 0..2 {
            let before = aged(AGE_MAX + Duration::from_secs(1)).await;
            let renewed = prove(&ann, id).await.unwrap();
            assert!(renewed.fresh && renewed.receipt != first.receipt, "{round}");
            let proved = renewed.task.proved().unwrap();
            assert_eq!(proved.sha256, first.task.proved().unwrap().sha256, "{round}");
            assert!(proved.at.since(before) > AGE_MAX, "{round}: its age counts from now");
            assert!(!prove(&ann, id).await.unwrap().fresh, "{round}");
        }
    });
}

// covers: T-06, T-16
#[test]
fn two_who_prove_the_same_again_at_the_same_time_are_both_told_that_it_is_proved() {
    on_each(async |url| {
        let tenure = Tenure::open(&url).await.unwrap();
        let (ann, bob) = (agent(&tenure, "ann").await, agent(&tenure, "bob").await);
        let id = added(&ann.todos, titled("x", &["cmd:make"])).await;
        ann.todos.claim(id, Some(&branch())).await.unwrap();
        prove_on(&ann, id, "one").await;
        for tree in ["two", "one", "two", "one"] {
            let (one, other) = tokio::join!(prove_on(&ann, id, tree), prove_on(&bob, id, tree));
            assert_eq!((proved_tree(&one.task), proved_tree(&other.task)), (tree, tree));
        }
        assert_eq!(ann.todos.task(id).await.unwrap().receipts.len(), 2);
    });
}
