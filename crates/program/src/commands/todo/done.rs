//! `tenure todo done`: validate, run the gates here, and send what came of them. Whether that is a proof the list decides.
//!
//! What the list would refuse whatever the gates say, it is asked before any of them runs.

use std::fs::{File, TryLockError};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tenure_core::hash::Hash;
use tenure_databases::outside;
use tenure_systems::gate::Gate;
use tenure_systems::todos::receipt::{DeclaredPath, GateResult, GateRun, Proof, Run, VALIDATE};
use tenure_systems::todos::validate::{LIMIT, LIMIT_MIN};
use tenure_systems::todos::workspace::{Facts, Trees, Workspace};

use super::change::told;
use super::desk::Desk;
use super::gates::{self, Deadline, Ran};
use super::list::one;
use super::shown::Shown;
use crate::cli::TodoDone;
use crate::client::Target;
use crate::commands::work::keeper::Keeper;
use crate::database::run as block_on;
use crate::outcome::{Error, Outcome, Refused};
use crate::output::{Output, seconds};
use crate::time::{Stopwatch, pause};

/// The code of whatever is not proved.
const UNPROVED: &str = "VERIFICATION_REQUIRED";
/// Whoever has seen so many files knows what wrote them.
const NAMED_MAX: usize = 5;
/// How often it is looked whether another's gates are through.
const LOOK: Duration = Duration::from_millis(20);

pub fn run(arguments: &TodoDone, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async {
        let desk = Desk::open(&arguments.at).await?;
        let me = match desk.whose().await {
            // A session that has ended is refused below, with what helps.
            Err(Error::Refused(_)) => None,
            whose => whose?,
        };
        let todo: Shown = one(&desk, &arguments.id).await?.read()?;
        // What can not be finished is refused before anything runs for it.
        let may = me.is_some_and(|me| todo.may_be_proved_by(&me));
        let Some(workspace) = desk.workspace.as_ref().filter(|_| may) else {
            return desk.change(&arguments.id, "done", desk.by(json!({}))).await;
        };
        let proving = prove(&desk, &todo, workspace, Deadline::new(arguments.timeout), output);
        let (facts, proof, run) = tokio::select! {
            proved = proving => proved?,
            _ = tokio::signal::ctrl_c() => return Err(Error::Interrupted),
        };
        let more = json!({
            "results": proof.results,
            "artifacts": proof.artifacts,
            "paths": proof.paths,
            "proof_sha256": proof.hash(),
            "run": run,
        });
        desk.change(&arguments.id, "done", desk.from(Some(facts), more)).await
    })?;
    told(&reply, arguments.form, output)
}

/// The results of every gate on the tree that is there, which none of them may change.
async fn prove(
    desk: &Desk,
    todo: &Shown,
    workspace: &Workspace,
    deadline: Deadline,
    output: &mut Output,
) -> Result<(Facts, Proof, Run), Error> {
    let started_at = Some(outside::now());
    let validated = validate(desk, todo, deadline).await?;
    if !validated.result.passed {
        tell(&validated, output);
        return Err(unsound(desk, todo, &validated).await);
    }
    let _alone = alone(workspace, deadline).await?;
    let trees = workspace.trees()?;
    let facts = workspace.proved(&trees)?;
    let (mut results, mut runs, mut artifacts) = (vec![validated.result], vec![validated.run], Vec::new());
    // A process more: only for commands.
    let mut keeper: Option<Arc<Keeper>> = None;
    for text in &todo.gates {
        let gate: Gate = text.parse().map_err(|why| Error::Strange(format!("{why}")))?;
        if keeper.is_none() && gate.runs() {
            keeper = Some(Arc::new(Keeper::start(&format!("todo-{}", std::process::id()))?));
        }
        output.remark(format_args!("running {gate}"));
        let ran = gates::run(&gate, todo, workspace, keeper.as_ref(), deadline).await?;
        match ran.result.passed || !gate.is_human() {
            true => tell(&ran, output),
            false => output.remark(format_args!("waits for a person: {gate}")),
        }
        if !ran.result.passed {
            ran.run.output.lines().for_each(|line| output.remark(format_args!("  {line}")));
        }
        results.push(ran.result);
        runs.push(ran.run);
        artifacts.extend(ran.artifact);
    }
    // Where nothing ran, nothing was changed by it.
    if keeper.is_some() {
        let after = workspace.proved(&trees)?;
        if after != facts {
            return Err(changed(&trees, &facts, &after));
        }
    }
    let run = Run {
        duration_ms: milliseconds(deadline.spent()),
        gates: runs,
        host: gates::host(),
        path: workspace.root.display().to_string(),
        started_at,
    };
    let tree = facts.tree.clone().unwrap_or_default();
    let declared = todo.plan().and_then(|plan| plan.paths()).unwrap_or_default();
    let entries = trees.entries(&tree, &declared)?;
    let found = entries.into_iter().filter_map(|(path, entry)| Some(DeclaredPath { entry: entry?, path }));
    let proof = Proof::new(facts.commit.clone(), tree, results, artifacts).on(found.collect());
    Ok((facts, proof, run))
}

fn tell(ran: &Ran, output: &mut Output) {
    let took = seconds(Duration::from_millis(ran.run.duration_ms));
    let said = if ran.result.passed { "passed" } else { "did not pass" };
    output.remark(format_args!("{said}: {} ({took})", ran.result.gate));
}

/// What gates say of a tree that they have changed meanwhile is true of none.
fn changed(trees: &Trees, before: &Facts, after: &Facts) -> Error {
    let of = |facts: &Facts| facts.tree.clone().unwrap_or_default();
    let files = trees.between(&of(before), &of(after)).unwrap_or_default();
    let named = match &files[..] {
        [] => String::new(),
        few if few.len() <= NAMED_MAX => format!(" ({})", few.join(", ")),
        many => format!(" ({} and {} more)", many[..NAMED_MAX].join(", "), many.len() - NAMED_MAX),
    };
    let detail = format!(
        "the gates changed the tree that they were run on{named}: let git ignore what they write, or commit it"
    );
    Error::Refused(Box::new(Refused { code: UNPROVED.to_string(), detail, ..Refused::default() }))
}

/// Gates of one working copy run one after the other: they build in the same folders.
async fn alone(workspace: &Workspace, deadline: Deadline) -> Result<File, Error> {
    let path = workspace.lock_file();
    let unwritable = |why| Error::Unwritable { file: path.display().to_string(), why };
    let file = File::create(&path).map_err(unwritable)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if !deadline.left().is_zero() => pause(LOOK).await,
            Err(TryLockError::WouldBlock) => {
                return Err(deadline.over("lock", "other gates of this workspace did not end"));
            }
            Err(TryLockError::Error(why)) => return Err(unwritable(why)),
        }
    }
}

#[derive(Deserialize)]
struct Validation {
    passed: bool,
    checks: Vec<Checked>,
}

#[derive(Deserialize)]
struct Checked {
    check: String,
    faults: Vec<String>,
}

/// Everything but the task that is being decided. What it says is its faults, one a line.
async fn validate(desk: &Desk, todo: &Shown, deadline: Deadline) -> Result<Ran, Error> {
    let began = Stopwatch::start();
    let limit_ms = milliseconds(deadline.left().clamp(LIMIT_MIN, LIMIT));
    let facts = desk.workspace.as_ref().map(Workspace::facts);
    let body = json!({ "workspace": facts, "except": todo.todo_id, "limit_ms": limit_ms });
    let found: Validation = desk
        .client
        .clone()
        .patient(LIMIT)
        .post(Target::new(["v1", "todos", "validate"]), &body)
        .await?
        .read()?;
    let faults =
        found.checks.iter().flat_map(|check| check.faults.iter().map(move |fault| (&check.check, fault)));
    let said: String = faults.map(|(check, fault)| format!("{check}: {fault}\n")).collect();
    let (gate, output_sha256) = (VALIDATE.to_string(), Hash::of(said.as_bytes()));
    let result = GateResult { gate: gate.clone(), exit: None, output_sha256, passed: found.passed };
    let run = GateRun { duration_ms: milliseconds(began.elapsed()), gate, output: said };
    Ok(Ran { result, run, artifact: None })
}

/// Nothing is proved on a list that is not sound. Whoever may not finish the task from here, whatever the list is like, is told that.
async fn unsound(desk: &Desk, todo: &Shown, validated: &Ran) -> Error {
    let more = json!({ "results": [validated.result] });
    let no = match desk.change(&todo.todo_id, "done", desk.by(more)).await {
        Err(Error::Refused(no)) if no.code == UNPROVED => no,
        Err(other) => return other,
        Ok(_) => return Error::Strange("a task was finished without a proof".to_string()),
    };
    let faults: Vec<&str> = validated.run.output.lines().collect();
    let failing = faults.iter().map(|fault| format!("{VALIDATE}: {fault}")).collect();
    let detail = format!("the list is not sound, so that nothing on it is proved: {}", faults.join("; "));
    let fix = Some("tenure validate".to_string());
    Error::Refused(Box::new(Refused { detail, failing, fix, ..*no }))
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
