//! A clean copy of a commit, in which a gate's commands are run: a git worktree among the temporary files, gone when they have ended.
//!
//! What a process that was killed leaves behind is removed by the next copy or worktree of the same repository: a copy's name says whose
//! it is. It is not within git's own folder, where some test runners look for nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tenure::databases::outside::chance;

use super::git::{git, is_alive, remove};

/// How its name begins; the process and a number follow.
const NAME: &str = "tenure-gate-";

/// The names of those that this process uses. Another of its number may have left some: numbers come again, in containers at once.
static USED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn used() -> MutexGuard<'static, BTreeSet<String>> {
    USED.lock().expect("nobody panics while holding it")
}

/// Dropped before it is removed, its files are gone, and the next tells git.
#[derive(Debug)]
pub(super) struct Copy {
    repository: PathBuf,
    pub folder: PathBuf,
    name: String,
}

impl Copy {
    pub async fn at(repository: &Path, commit: &str) -> Result<Copy, String> {
        tidy(repository).await;
        let name = format!("{NAME}{}-{:016x}", std::process::id(), chance());
        used().insert(name.clone());
        let copy =
            Copy { repository: repository.to_path_buf(), folder: std::env::temp_dir().join(&name), name };
        let place = copy.folder.display().to_string();
        git(repository, &["worktree", "add", "--quiet", "--detach", &place, commit], b"").await?;
        Ok(copy)
    }

    pub async fn remove(self) {
        remove(&self.repository, &self.folder).await;
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
        used().remove(&self.name);
    }
}

/// Removes copies whose process is dead.
pub(super) async fn tidy(repository: &Path) {
    let Ok(listed) = git(repository, &["worktree", "list", "--porcelain"], b"").await else { return };
    for place in String::from_utf8_lossy(&listed).lines().filter_map(|line| line.strip_prefix("worktree ")) {
        let place = Path::new(place);
        let Some(name) = place.file_name().and_then(|name| name.to_str()) else { continue };
        let Some((process, _)) = name.strip_prefix(NAME).and_then(|rest| rest.split_once('-')) else {
            continue;
        };
        let is_own = process == std::process::id().to_string();
        let is_used = if is_own { used().contains(name) } else { is_alive(process) };
        if !is_used {
            remove(repository, place).await;
        }
    }
}
