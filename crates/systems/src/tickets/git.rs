//! git, as the workers of tickets need it: what somebody has configured for their own eyes, or for their own commits, changes nothing
//! of what is made here. What says how files are stored (filters, attributes, line endings) is theirs, here as everywhere.

use std::path::Path;
use std::time::Duration;

use super::process;
use crate::process::{Ran, command};
use crate::time::within;

/// How long git may take for one thing: a large repository is checked out in that time.
const LIMIT: Duration = Duration::from_secs(60);
/// Of what git said so much is told.
const DETAIL_CHARS_MAX: usize = 300;
/// Before every command, whatever is configured.
const OWN: [&str; 9] = [
    // Hooks are for the commits of people.
    "core.hooksPath=/dev/null",
    "commit.gpgSign=false",
    // A patch is applied as it was made: whether a line may end with a space is for the project's own checks to say.
    "apply.whitespace=nowarn",
    "apply.ignoreWhitespace=no",
    // What an executor wrote is taken in, however its lines end.
    "core.safecrlf=false",
    // Nothing goes on behind a command that has ended.
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "i18n.commitEncoding=UTF-8",
];

/// Runs git in a folder. What it says when it fails is why.
pub(super) async fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut command = command("git");
    command.args(OWN.iter().flat_map(|setting| ["-c", setting])).args(arguments);
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    match within(LIMIT, process::run(command, Some(folder), input)).await {
        Ok(Ok(Ran { output, .. })) if output.is_cut => Err("it is too much to be kept".to_string()),
        Ok(Ok(Ran { status, output, .. })) if status.success() => Ok(output.bytes),
        Ok(Ok(ran)) => Err(last(&ran.said.text())),
        Ok(Err(why)) => Err(format!("git could not be started: {why}")),
        Err(_) => Err(format!("git took more than {} s", LIMIT.as_secs())),
    }
}

/// The same, where the answer is one line.
pub(super) async fn line(folder: &Path, arguments: &[&str], input: &[u8]) -> Result<String, String> {
    let output = git(folder, arguments, input).await?;
    Ok(String::from_utf8_lossy(&output).trim().to_string())
}

/// Removes a worktree, also one that is half made or half gone.
pub(super) async fn remove(repository: &Path, folder: &Path) {
    let place = folder.display().to_string();
    if git(repository, &["worktree", "remove", "--force", "--force", &place], b"").await.is_err() {
        // Git knows nothing of it.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// The end of what was said, in one line.
pub(super) fn last(said: &str) -> String {
    let said = said.trim().replace('\n', " / ");
    let skip = said.chars().count().saturating_sub(DETAIL_CHARS_MAX);
    said.chars().skip(skip).collect()
}

/// Whether the process that a place belongs to lives.
pub(super) fn is_alive(process: &str) -> bool {
    let process = process.parse().ok().and_then(rustix::process::Pid::from_raw);
    // Somebody else's process answers that we may not ask: it is there.
    process.is_some_and(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}
