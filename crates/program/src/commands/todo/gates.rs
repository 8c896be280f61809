//! Gates, run in the caller's workspace: bounded, with everything that they started ended, and their output made comparable.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::hash::Hash;
use tenure_systems::gate::{Check, Gate};
use tenure_systems::process::{self, Keep};
use tenure_systems::todos::normal::{Place, normal};
use tenure_systems::todos::receipt::{Artifact, GateResult, GateRun, OUTPUT_BYTES_MAX};
use tenure_systems::todos::workspace::Workspace;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::desk::DECIDING;
use super::shown::Shown;
use crate::commands::work::keeper::{Keeper, MARK};
use crate::outcome::{Error, TIMEOUT_OR_LOCK};
use crate::time::Stopwatch;

/// Of what a gate prints so much counts. A gate that says more says it to nobody.
const HEARD_BYTES_MAX: usize = 8 << 20;

/// How long all of it may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    since: Stopwatch,
    limit: Duration,
}

impl Deadline {
    pub fn new(limit: Duration) -> Deadline {
        Deadline { since: Stopwatch::start(), limit }
    }

    /// For what may take as long as it takes.
    pub fn never() -> Deadline {
        Deadline::new(Duration::MAX)
    }

    pub fn left(self) -> Duration {
        self.limit.saturating_sub(self.since.elapsed())
    }

    pub fn spent(self) -> Duration {
        self.since.elapsed()
    }

    /// What did not come in time: `timeout` or `lock`.
    pub fn over(self, which: &str, what: &str) -> Error {
        let detail = format!("{what} within {} s; nothing was changed", self.limit.as_secs());
        Error::Unavailable { code: TIMEOUT_OR_LOCK.to_string(), which: Some(which.to_string()), detail }
    }
}

/// What came of a gate.
#[derive(Debug)]
pub struct Ran {
    pub result: GateResult,
    pub run: GateRun,
    pub artifact: Option<Artifact>,
}

impl Ran {
    fn of(gate: &Gate, exit: Option<i32>, passed: bool, heard: &[u8], workspace: &Workspace) -> Ran {
        let said = normal(heard, &place(workspace));
        let gate = gate.to_string();
        let result =
            GateResult { gate: gate.clone(), exit, output_sha256: Hash::of(said.as_bytes()), passed };
        let run = GateRun { duration_ms: 0, gate, output: end(heard) };
        Ran { result, run, artifact: None }
    }
}

/// The end of an output: what went wrong stands there.
fn end(heard: &[u8]) -> String {
    let from = heard.len().saturating_sub(OUTPUT_BYTES_MAX);
    String::from_utf8_lossy(&heard[from..]).into_owned()
}

pub async fn run(
    gate: &Gate,
    todo: &Shown,
    workspace: &Workspace,
    keeper: Option<&Arc<Keeper>>,
    deadline: Deadline,
) -> Result<Ran, Error> {
    let began = Stopwatch::start();
    let mut ran = match &gate.check {
        Check::Cmd(command) | Check::Test(command) | Check::Build(command) => {
            let keeper = keeper.expect("whoever runs a command has somebody who ends it");
            let (status, heard) = run_command(command, todo, workspace, keeper, deadline).await?;
            Ran::of(gate, Some(exit_code(status)), status.success(), &heard, workspace)
        }
        Check::FileExists(path) => {
            let artifact = artifact(workspace, path, deadline).await?;
            Ran { artifact: artifact.clone(), ..Ran::of(gate, None, artifact.is_some(), b"", workspace) }
        }
        Check::FileHash { path, sha256 } => {
            let artifact = artifact(workspace, path, deadline).await?;
            let passed = artifact.as_ref().is_some_and(|artifact| artifact.sha256 == *sha256);
            Ran { artifact, ..Ran::of(gate, None, passed, b"", workspace) }
        }
        Check::Human(_) => Ran::of(gate, None, todo.is_attested(&gate.to_string()), b"", workspace),
    };
    ran.run.duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(ran)
}

/// A file of the workspace as a proof names it. None: it is not there, or is no file. However long it is, it is read no longer than the
/// deadline, and whoever ends the command meanwhile is heard.
pub async fn artifact(
    workspace: &Workspace,
    path: &str,
    deadline: Deadline,
) -> Result<Option<Artifact>, Error> {
    let Some(mut reading) = workspace.reading(path) else { return Ok(None) };
    loop {
        match reading.more() {
            Ok(Some(sha256)) => return Ok(Some(Artifact { path: path.to_string(), sha256 })),
            Ok(None) if deadline.left().is_zero() => {
                return Err(deadline.over("timeout", &format!("`{path}` could not be read")));
            }
            Ok(None) => yield_now().await,
            Err(_) => return Ok(None),
        }
    }
}

/// What is true of this machine, and is no result of a gate.
fn place(workspace: &Workspace) -> Place {
    Place {
        workspace: workspace.root.display().to_string(),
        home: std::env::var("HOME").ok(),
        temporary: std::env::temp_dir().to_str().map(str::to_string),
        host: Some(host()),
    }
}

pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// As a shell tells it: what a signal ended is 128 and its number.
fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

/// What it printed is its standard output and then its standard error: how the two mix differs from run to run.
async fn run_command(
    command: &str,
    todo: &Shown,
    workspace: &Workspace,
    keeper: &Arc<Keeper>,
    deadline: Deadline,
) -> Result<(ExitStatus, Vec<u8>), Error> {
    let mut start = process::shell(command);
    start.current_dir(&workspace.root).env(DECIDING, &todo.todo_id).env(MARK, &keeper.worker);
    let failed = |why: std::io::Error| Error::Command { program: "sh".to_string(), why: why.to_string() };
    let (group, running) = process::start(start).map_err(failed)?;
    let kept = keeper.keeps(group);
    let keep = Keep::First(HEARD_BYTES_MAX);
    match timeout(deadline.left(), running.end(&kept.group, b"", keep, keep)).await {
        Ok(ran) => {
            let ran = ran.map_err(failed)?;
            Ok((ran.status, [ran.output.bytes, ran.said.bytes].concat()))
        }
        Err(_) => Err(deadline.over("timeout", &format!("`{command}` did not end"))),
    }
}
