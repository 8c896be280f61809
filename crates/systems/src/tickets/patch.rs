//! A patch, checked in a clean copy of the commit that it is for: it applies, and the commands that the ticket names end well. Where
//! there is none, they are run in a copy of the repository as it is.

use std::path::Path;
use std::time::Duration;

use tenure::core::hash::Hash;

use super::copy::Copy;
use super::git::{git, last};
use super::judge::PATCH;
use super::kept::{Checked, Patch};
use super::process;
use crate::gate::Gate;
use crate::process::shell;
use crate::time::within;

/// How long a gate's command may take.
const GATE_LIMIT: Duration = Duration::from_secs(120);

/// Checks a patch and the commands of these gates. Gates for people are left out.
pub async fn check(repository: &Path, patch: &Patch, gates: &[Gate]) -> Vec<Checked> {
    let copy = match with(repository, patch).await {
        Ok(copy) => copy,
        Err(why) => return vec![Checked::new(PATCH, false, why)],
    };
    let mut found = vec![Checked::new(PATCH, true, format!("it applies to {}", short(&patch.base)))];
    found.extend(run_in(copy, gates).await);
    found
}

/// Runs the commands of these gates for an output that is no patch: what they say holds of the repository as it is, or it does not.
pub(super) async fn check_unpatched(repository: &Path, gates: &[Gate]) -> Vec<Checked> {
    if !gates.iter().any(|gate| gate.command().is_some()) {
        return Vec::new();
    }
    match Copy::at(repository, "HEAD").await {
        Ok(copy) => run_in(copy, gates).await,
        Err(why) => {
            let commands = gates.iter().filter(|gate| gate.command().is_some());
            let detail = format!("it could not be run, for want of a copy of the repository: {why}");
            commands.map(|gate| Checked::new(&gate.to_string(), false, detail.clone())).collect()
        }
    }
}

/// A copy of the commit that a patch is for, with the patch in it.
async fn with(repository: &Path, patch: &Patch) -> Result<Copy, String> {
    if patch.base.is_empty() || !patch.base.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("{:?} is no commit", patch.base));
    }
    let copy = Copy::at(repository, &patch.base).await?;
    if !patch.diff.is_empty()
        && let Err(why) = git(&copy.folder, &["apply", "--index", "-"], patch.diff.as_bytes()).await
    {
        copy.remove().await;
        return Err(format!("it does not apply to {}: {why}", short(&patch.base)));
    }
    Ok(copy)
}

/// What the commands of these gates come to, one after the other, in a copy that is gone then.
async fn run_in(copy: Copy, gates: &[Gate]) -> Vec<Checked> {
    let mut found = Vec::new();
    for gate in gates {
        if let Some(command) = gate.command() {
            found.push(run(&gate.to_string(), command, &copy.folder).await);
        }
    }
    copy.remove().await;
    found
}

async fn run(gate: &str, line: &str, folder: &Path) -> Checked {
    match within(GATE_LIMIT, process::run_whole(shell(line), folder)).await {
        Ok(Ok(ran)) => {
            let code = ran.status.code();
            let heard = [ran.output.bytes, ran.said.bytes].concat();
            let said = last(&String::from_utf8_lossy(&heard));
            let end = code.map_or("a signal ended it".to_string(), |code| format!("exit code {code}"));
            let detail = if said.is_empty() { end } else { format!("{end}: {said}") };
            let output_sha256 = Some(Hash::of(&heard).to_string());
            Checked { exit_code: code, output_sha256, ..Checked::new(gate, code == Some(0), detail) }
        }
        Ok(Err(why)) => Checked::new(gate, false, format!("it could not be started: {why}")),
        Err(_) => Checked::new(gate, false, format!("it took more than {} s", GATE_LIMIT.as_secs())),
    }
}

/// As much of a commit's name as people write.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
