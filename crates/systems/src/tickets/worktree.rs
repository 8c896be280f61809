//! A place to work in: a git worktree on a branch of its own, gone when the work is done. The branch stays.
//!
//! What a runner that was killed leaves behind is removed by the next one: every place names the process that it belongs to. A process
//! has one at a time.

use std::path::{Path, PathBuf};

use tenure::core::id::ItemId;

use super::kept::Patch;
use super::patch::git;

/// A patch is kept in the bundle, beside what else is in it: larger changes are for people.
const DIFF_BYTES_MAX: usize = 768 << 10;
/// Where the places are, within git's own folder.
const PLACES: &str = "tenure";

#[derive(Debug)]
pub struct Worktree {
    repository: PathBuf,
    pub folder: PathBuf,
    /// The commit that it began with.
    pub base: String,
    pub branch: String,
}

impl Worktree {
    /// Whether there can be one: it is a repository, and has this commit.
    pub async fn is_possible(repository: &Path, at: &str) -> Result<(), String> {
        places(repository).await?;
        commit(repository, at).await.map(drop)
    }

    /// A worktree for a work order, at a commit or whatever names one.
    pub async fn make(repository: &Path, at: &str, order: ItemId) -> Result<Worktree, String> {
        let base = commit(repository, at).await?;
        let places = places(repository).await?;
        tidy(repository, &places, order).await;
        let folder = places.join(format!("{}-{order}", std::process::id()));
        let branch = format!("tenure/{order}");
        let place = folder.display().to_string();
        git(repository, &["worktree", "add", "--quiet", "--force", "-B", &branch, &place, &base], b"")
            .await?;
        Ok(Worktree { repository: repository.to_path_buf(), folder, base, branch })
    }

    /// All that was changed, committed to its branch.
    pub async fn patch(&self, message: &str) -> Result<Patch, String> {
        git(&self.folder, &["add", "--all"], b"").await?;
        let diff = ["diff", "--cached", "--binary", "--no-color", "--no-ext-diff", &self.base];
        let diff = String::from_utf8(git(&self.folder, &diff, b"").await?)
            .map_err(|_| "the patch is no UTF-8 text".to_string())?;
        if diff.len() > DIFF_BYTES_MAX {
            return Err(format!("the patch has {} bytes, and at most {DIFF_BYTES_MAX} are kept", diff.len()));
        }
        // Nothing to be committed is no error: whoever worked here may have committed, or changed nothing.
        let clean = git(&self.folder, &["diff", "--cached", "--quiet", "HEAD"], b"").await.is_ok();
        if !clean {
            let who = ["-c", "user.name=Tenure runner", "-c", "user.email=runner@tenure.invalid"];
            let commit = ["commit", "--quiet", "--no-verify", "--message", message];
            git(&self.folder, &[&who[..], &commit[..]].concat(), b"").await?;
        }
        Ok(Patch { base: self.base.clone(), branch: self.branch.clone(), diff })
    }

    pub async fn remove(self) {
        remove(&self.repository, &self.folder).await;
    }
}

/// The commit that something names.
async fn commit(repository: &Path, at: &str) -> Result<String, String> {
    let named = format!("{at}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &named];
    let none = |_| format!("{at:?} is no commit of {}", repository.display());
    text(git(repository, &asked, b"").await).map_err(none)
}

async fn places(repository: &Path) -> Result<PathBuf, String> {
    let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let common = text(git(repository, &common, b"").await)
        .map_err(|_| format!("{} is no git repository", repository.display()))?;
    Ok(Path::new(&common).join(PLACES))
}

/// Removes what belongs to processes that are dead, and what an earlier attempt at the same order left.
async fn tidy(repository: &Path, places: &Path, order: ItemId) {
    let Ok(found) = std::fs::read_dir(places) else { return };
    for place in found.flatten() {
        let name = place.file_name().to_string_lossy().into_owned();
        let Some((process, of)) = name.split_once('-') else { continue };
        let is_own = process == std::process::id().to_string();
        if is_own || of == order.to_string() || !is_alive(process) {
            remove(repository, &place.path()).await;
        }
    }
    let _ = git(repository, &["worktree", "prune"], b"").await;
}

fn is_alive(process: &str) -> bool {
    let process = process.parse().ok().and_then(rustix::process::Pid::from_raw);
    // Somebody else's process answers that we may not ask: it is there.
    process.is_some_and(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

async fn remove(repository: &Path, folder: &Path) {
    let place = folder.display().to_string();
    if git(repository, &["worktree", "remove", "--force", "--force", &place], b"").await.is_err() {
        // Half made or half gone: git knows nothing of it.
        let _ = std::fs::remove_dir_all(folder);
    }
}

fn text(output: Result<Vec<u8>, String>) -> Result<String, String> {
    Ok(String::from_utf8_lossy(&output?).trim().to_string())
}
