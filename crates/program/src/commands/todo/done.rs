//! `tenure todo done`: validate, run the gates here, and send what came of them. Whether that is a proof the list decides.

use std::fs::{File, TryLockError};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tenure_core::hash::Hash;
use tenure_databases::outside;
use tenure_systems::gate::Gate;
use tenure_systems::todos::receipt::{GateResult, GateRun, Proof, Run, VALIDATE};
use tenure_systems::todos::validate::{LIMIT, LIMIT_MIN};
use tenure_systems::todos::workspace::{Facts, Workspace};

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
use crate::time::pause;

/// How often it is looked whether another's gates are through.
const LOOK: Duration = Duration::from_millis(20);

pub fn run(arguments: &TodoDone, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async {
        let desk = Desk::open(&arguments.at).await?;
        desk.attend().await?;
        let todo: Shown = one(&desk, &arguments.id).await?.read()?;
        // What can not be finished is refused before anything runs for it.
        let workspace =
            desk.workspace.as_ref().filter(|_| matches!(todo.state.as_str(), "Claimed" | "Verified"));
        let Some(workspace) = workspace else {
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
    let trees = workspace.trees()?;
    let facts = workspace.proved(&trees)?;
    let _alone = alone(workspace, deadline).await?;
    let (mut results, mut artifacts) = (vec![validate(desk, todo, &facts, deadline).await?], Vec::new());
    let mut runs: Vec<GateRun> = Vec::new();
    // A process more: only for commands.
    let mut keeper: Option<Arc<Keeper>> = None;
    for text in &todo.gates {
        let gate: Gate = text.parse().map_err(|why| Error::Strange(format!("{why}")))?;
        if keeper.is_none() && gate.runs() {
            keeper = Some(Arc::new(Keeper::start(&format!("todo-{}", std::process::id()))?));
        }
        output.remark(format_args!("running {gate}"));
        let Ran { result, run, artifact } =
            gates::run(&gate, todo, workspace, keeper.as_ref(), deadline).await?;
        let took = seconds(Duration::from_millis(run.duration_ms));
        match (result.passed, gate.is_human()) {
            (true, _) => output.remark(format_args!("passed: {gate} ({took})")),
            (false, true) => output.remark(format_args!("waits for a person: {gate}")),
            (false, false) => output.remark(format_args!("did not pass: {gate} ({took})")),
        }
        if !result.passed {
            run.output.lines().for_each(|line| output.remark(format_args!("  {line}")));
        }
        results.push(result);
        runs.push(run);
        artifacts.extend(artifact);
    }
    // Where nothing ran, nothing was changed by it.
    if keeper.is_some() && workspace.proved(&trees)? != facts {
        let detail =
            "the gates changed the tree that they were run on: let git ignore what they write, or commit it";
        let code = "VERIFICATION_REQUIRED".to_string();
        let refused =
            Refused { code, detail: detail.to_string(), allowed: Vec::new(), state: None, fix: None };
        return Err(Error::Refused(Box::new(refused)));
    }
    let run = Run {
        duration_ms: u64::try_from(deadline.spent().as_millis()).unwrap_or(u64::MAX),
        gates: runs,
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        path: workspace.root.display().to_string(),
        started_at,
    };
    let tree = facts.tree.clone().unwrap_or_default();
    let proof = Proof::new(facts.commit.clone(), tree, results, artifacts);
    Ok((facts, proof, run))
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

/// Everything but the task that is being decided.
async fn validate(desk: &Desk, todo: &Shown, facts: &Facts, deadline: Deadline) -> Result<GateResult, Error> {
    let limit_ms = deadline.left().clamp(LIMIT_MIN, LIMIT).as_millis() as u64;
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
    let output_sha256 = Hash::of(said.as_bytes());
    Ok(GateResult { gate: VALIDATE.to_string(), exit: None, output_sha256, passed: found.passed })
}
