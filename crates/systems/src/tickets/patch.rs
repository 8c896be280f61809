//! A patch, checked in a clean copy of the commit that it is for: it applies, and the commands that the ticket names end well. Where
//! there is none, they are run in a copy of the repository as it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure::core::hash::Hash;
use tenure::databases::outside::chance;

use super::judge::PATCH;
use super::kept::{Checked, Patch};
use super::process;
use crate::gate::Gate;
use crate::process::{Ran, command, shell};
use crate::time::within;

/// How long a gate's command may take.
const GATE_LIMIT: Duration = Duration::from_secs(120);
/// How long git may take for one thing: a large repository is checked out in that time.
const GIT_LIMIT: Duration = Duration::from_secs(60);
/// Of what a command said so much is told.
const DETAIL_CHARS_MAX: usize = 300;

/// Checks a patch and the commands of these gates. Gates for people are left out.
pub async fn check(repository: &Path, patch: &Patch, gates: &[Gate]) -> Vec<Checked> {
    let copy = match Copy::of(repository, patch).await {
        Ok(copy) => copy,
        Err(why) => return vec![Checked::new(PATCH, false, why)],
    };
    let mut found = vec![Checked::new(PATCH, true, format!("it applies to {}", short(&patch.base)))];
    found.extend(copy.run(gates).await);
    found
}

/// Runs the commands of these gates for an output that is no patch: what they say holds of the repository as it is, or it does not.
pub(super) async fn check_unpatched(repository: &Path, gates: &[Gate]) -> Vec<Checked> {
    if !gates.iter().any(|gate| gate.command().is_some()) {
        return Vec::new();
    }
    match Copy::at(repository, "HEAD").await {
        Ok(copy) => copy.run(gates).await,
        Err(why) => {
            let commands = gates.iter().filter(|gate| gate.command().is_some());
            let detail = format!("it could not be run, for want of a copy of the repository: {why}");
            commands.map(|gate| Checked::new(&gate.to_string(), false, detail.clone())).collect()
        }
    }
}

async fn run(gate: &str, line: &str, folder: &Path) -> Checked {
    match within(GATE_LIMIT, process::run(shell(line), Some(folder), b"")).await {
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

/// The end of what was said, in one line.
fn last(said: &str) -> String {
    let said = said.trim().replace('\n', " / ");
    let skip = said.chars().count().saturating_sub(DETAIL_CHARS_MAX);
    said.chars().skip(skip).collect()
}

/// As much of a commit's name as people write.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// A clean worktree.
struct Copy {
    repository: PathBuf,
    folder: PathBuf,
}

impl Copy {
    /// With a patch in it.
    async fn of(repository: &Path, patch: &Patch) -> Result<Copy, String> {
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

    async fn at(repository: &Path, commit: &str) -> Result<Copy, String> {
        let folder = std::env::temp_dir().join(format!("tenure-gate-{:016x}", chance()));
        let place = folder.display().to_string();
        git(repository, &["worktree", "add", "--quiet", "--detach", &place, commit], b"").await?;
        Ok(Copy { repository: repository.to_path_buf(), folder })
    }

    /// What the commands of these gates come to, one after the other, in this copy.
    async fn run(self, gates: &[Gate]) -> Vec<Checked> {
        let mut found = Vec::new();
        for gate in gates {
            if let Some(command) = gate.command() {
                found.push(run(&gate.to_string(), command, &self.folder).await);
            }
        }
        self.remove().await;
        found
    }

    async fn remove(self) {
        let place = self.folder.display().to_string();
        // What stays behind is in the way of nobody, and git forgets it when it is gone.
        let _ = git(&self.repository, &["worktree", "remove", "--force", &place], b"").await;
    }
}

/// Runs git in a folder. What it says when it fails is why.
pub(super) async fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut command = command("git");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false"]).args(arguments);
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    match within(GIT_LIMIT, process::run(command, Some(folder), input)).await {
        Ok(Ok(Ran { output, .. })) if output.is_cut => Err("it is too much to be kept".to_string()),
        Ok(Ok(Ran { status, output, .. })) if status.success() => Ok(output.bytes),
        Ok(Ok(ran)) => Err(last(&ran.said.text())),
        Ok(Err(why)) => Err(format!("git could not be started: {why}")),
        Err(_) => Err(format!("git took more than {} s", GIT_LIMIT.as_secs())),
    }
}
