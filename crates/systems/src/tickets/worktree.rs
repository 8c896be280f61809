//! A place to work in: a git worktree on a branch of its own, gone when the work is done. The branch stays.
//!
//! What a runner that was killed leaves behind is removed by the next one: every place names the process that it belongs to. A process
//! has one at a time.

use std::path::{Path, PathBuf};

use tenure::core::id::ItemId;

use super::copy;
use super::git::{git, is_alive, line, remove};
use super::kept::Patch;

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

    /// All that was changed, committed to its branch, wherever whoever worked here has gone meanwhile: their commits are on it too, and
    /// no other branch is touched.
    pub async fn patch(&self, message: &str) -> Result<Patch, String> {
        let branch = format!("refs/heads/{}", self.branch);
        let was = named(&self.folder, &branch).await.unwrap_or_default();
        git(&self.folder, &["add", "--all"], b"").await?;
        // Not `git diff`: how that shows a change is for people to choose.
        let diff = ["diff-index", "--cached", "-p", "--binary", "--full-index", "--no-textconv"];
        let plain = ["--no-ext-diff", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", &self.base];
        let diff = String::from_utf8(git(&self.folder, &[&diff[..], &plain[..]].concat(), b"").await?)
            .map_err(|_| "the patch is no UTF-8 text".to_string())?;
        if diff.len() > DIFF_BYTES_MAX {
            return Err(format!("the patch has {} bytes, and at most {DIFF_BYTES_MAX} are kept", diff.len()));
        }
        let tip = self.commit(message).await?;
        // Only if nobody else has written it since.
        git(&self.folder, &["update-ref", &branch, &tip, &was], b"").await?;
        Ok(Patch { base: self.base.clone(), branch: self.branch.clone(), diff })
    }

    /// The commit that has all that was changed: a new one, or the last where whoever worked here has committed everything, or
    /// changed nothing.
    async fn commit(&self, message: &str) -> Result<String, String> {
        let tree = line(&self.folder, &["write-tree"], b"").await?;
        let parent = named(&self.folder, "HEAD").await.unwrap_or_else(|_| self.base.clone());
        if line(&self.folder, &["rev-parse", &format!("{parent}^{{tree}}")], b"").await? == tree {
            return Ok(parent);
        }
        let who = ["-c", "user.name=Tenure runner", "-c", "user.email=runner@tenure.invalid"];
        let commit = ["commit-tree", "-p", &parent, "-F", "-", &tree];
        line(&self.folder, &[&who[..], &commit[..]].concat(), message.as_bytes()).await
    }

    pub async fn remove(self) {
        remove(&self.repository, &self.folder).await;
    }
}

/// The commit that somebody asked for.
async fn commit(repository: &Path, at: &str) -> Result<String, String> {
    named(repository, at).await.map_err(|_| format!("{at:?} is no commit of {}", repository.display()))
}

/// The commit that something names.
async fn named(folder: &Path, what: &str) -> Result<String, String> {
    let what = format!("{what}^{{commit}}");
    line(folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &what], b"").await
}

async fn places(repository: &Path) -> Result<PathBuf, String> {
    let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let common = line(repository, &common, b"")
        .await
        .map_err(|_| format!("{} is no git repository", repository.display()))?;
    Ok(Path::new(&common).join(PLACES))
}

/// Removes what belongs to processes that are dead, and what an earlier attempt at the same order left.
async fn tidy(repository: &Path, places: &Path, order: ItemId) {
    copy::tidy(repository).await;
    for place in std::fs::read_dir(places).into_iter().flatten().flatten() {
        let name = place.file_name().to_string_lossy().into_owned();
        let Some((process, of)) = name.split_once('-') else { continue };
        let is_own = process == std::process::id().to_string();
        if is_own || of == order.to_string() || !is_alive(process) {
            remove(repository, &place.path()).await;
        }
    }
    let _ = git(repository, &["worktree", "prune"], b"").await;
}
