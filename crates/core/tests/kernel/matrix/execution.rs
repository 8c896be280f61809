//! The execution machine: every status × every step, and every status × everything that its worker can ask.

use tenure_core::answer::Answer;
use tenure_core::execution::{Status, Step, next};
use tenure_core::id::ExecutionId;
use tenure_core::request::Command;

use super::compare;
use crate::kit::*;

const WORKER: &str = "worker:a/1";

type Verb = fn(ExecutionId) -> Command;

/// A bench with an execution in this status, of a kind that is through with its commit or with its finish.
fn in_status(kind: &str, status: Status) -> (Bench, ExecutionId) {
    let mut bench = Bench::new();
    let item = match kind {
        "job" => bench.job(),
        _ => {
            let claim = bench.create("api:test", "claim", r#"{"domain":"d","text":"t"}"#);
            assert!(bench.ask("orchestrator:o", step(claim, "enqueue")).is_yes());
            claim
        }
    };
    let execution = bench.take(WORKER, item);
    let commands = match status {
        Status::Leased => vec![],
        Status::InProgress => vec![start(execution)],
        Status::Committed => vec![start(execution), commit(execution)],
        Status::Done if kind == "job" => vec![start(execution), commit(execution), finish(execution)],
        Status::Done => vec![start(execution), commit(execution)],
        // By its failure, so that a repeated `fail` and a late `release` differ.
        Status::Aborted => vec![start(execution), fail(execution)],
    };
    for command in commands {
        let answer = bench.ask(WORKER, command);
        assert!(answer.is_yes(), "{answer:?}");
    }
    (bench, execution)
}

fn status_of(bench: &Bench, execution: ExecutionId) -> Status {
    let live = bench.item(execution.item).live_execution().filter(|live| live.id == execution);
    live.as_ref().unwrap_or_else(|| &bench.world.executions[&execution]).status()
}

/// What a verb does to an execution in this status.
fn cell(kind: &str, status: Status, verb: Verb) -> String {
    let (mut bench, execution) = in_status(kind, status);
    if kind != "job" && status == Status::Committed {
        return "·".into();
    }
    assert_eq!(status_of(&bench, execution), status);
    let (entries, answer) = (bench.history(execution.item).len(), bench.ask(WORKER, verb(execution)));
    let after = status_of(&bench, execution);
    let written = bench.history(execution.item).len() > entries;
    match answer {
        _ if written && after != status => format!("→ {after}"),
        Answer::Renewed { .. } => "renewed".into(),
        answer if answer.is_yes() && !written => "= its first answer".into(),
        answer => format!("! {}", answer.code().expect("what is neither written nor known is refused")),
    }
}

fn table(title: &str, columns: &[&str], cell: impl Fn(Status, usize) -> String) -> String {
    let mut lines = vec![format!("{title}\n")];
    let header = columns.iter().map(|name| format!("{name:22}")).collect::<String>();
    lines.push(format!("{:13}{header}", ""));
    for status in Status::ALL {
        let cells = (0..columns.len()).map(|at| format!("{:22}", cell(status, at))).collect::<String>();
        lines.push(format!("{status:13}{cells}"));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

// covers: K-20
#[test]
fn an_execution_moves_as_the_page_says_and_in_no_other_way() {
    const VERBS: [(&str, Verb); 6] = [
        ("start", start),
        ("renew", renew),
        ("commit", commit),
        ("finish", finish),
        ("fail", fail),
        ("release", release),
    ];
    let names = VERBS.map(|(name, _)| name);
    let machine = table("The machine.", &["start", "commit", "finish", "abort"], |status, at| {
        next(status, Step::ALL[at]).map_or("·".into(), |to| format!("→ {to}"))
    });
    let job = table("A job's worker asks: commit, then finish.", &names, |status, at| {
        cell("job", status, VERBS[at].1)
    });
    let claim = table("A claim's worker asks: its commit is the end.", &names, |status, at| {
        cell("claim", status, VERBS[at].1)
    });
    compare("execution.txt", &format!("# Executions\n\n{machine}\n{job}\n{claim}"));
}

// covers: K-20
#[test]
fn done_and_aborted_are_final_and_only_committed_becomes_done() {
    for step in Step::ALL {
        assert_eq!(next(Status::Done, step), None);
        assert_eq!(next(Status::Aborted, step), None);
        for status in Status::ALL {
            assert_eq!(
                next(status, step) == Some(Status::Done),
                (status, step) == (Status::Committed, Step::Finish)
            );
        }
    }
}
