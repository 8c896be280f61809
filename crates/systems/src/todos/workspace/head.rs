//! The commit that is checked out, read from git's own files: asking git would start a process.

use std::fs;
use std::io;
use std::path::Path;

use super::{NotGit, Workspace, text};

/// What git's files say of a reference.
#[derive(PartialEq, Eq, Debug)]
enum Found {
    Commit(String),
    /// It has none yet.
    None,
    /// They are kept in another way, and git knows.
    Elsewhere,
}

impl Workspace {
    /// None: there is no commit yet.
    pub fn commit(&self) -> Result<Option<String>, NotGit> {
        match found(&self.git_dir, &self.common_dir())? {
            Found::Commit(commit) => Ok(Some(commit)),
            Found::None => Ok(None),
            Found::Elsewhere => {
                let said = self.git(&["rev-parse", "--verify", "--quiet", "HEAD"], &[])?;
                Ok(said.status.success().then(|| text(&said.stdout)))
            }
        }
    }
}

fn found(git_dir: &Path, common_dir: &Path) -> io::Result<Found> {
    let head = fs::read_to_string(git_dir.join("HEAD"))?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else { return Ok(commit(&head)) };
    // Where references are kept in tables, the file only says that.
    if name == "refs/heads/.invalid" {
        return Ok(Found::Elsewhere);
    }
    for folder in [git_dir, common_dir] {
        match fs::read_to_string(folder.join(name)) {
            Ok(text) => return Ok(commit(&text)),
            Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => {}
            Err(why) => return Err(why),
        }
    }
    match fs::read_to_string(common_dir.join("packed-refs")) {
        Ok(packed) => Ok(packed_in(&packed, name)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Found::None),
        Err(why) => Err(why),
    }
}

fn packed_in(packed: &str, name: &str) -> Found {
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, of)| *of == name).map_or(Found::None, |(hash, _)| commit(hash))
}

/// A hash, or whatever git makes of it.
fn commit(text: &str) -> Found {
    let hash = text.trim_end();
    let is_hash = matches!(hash.len(), 40 | 64) && hash.bytes().all(|letter| letter.is_ascii_hexdigit());
    if is_hash { Found::Commit(hash.to_string()) } else { Found::Elsewhere }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_reference_is_found_by_its_whole_name() {
        let (one, other) = ("1".repeat(40), "2".repeat(40));
        let packed =
            format!("# pack-refs with: peeled\n{one} refs/heads/a/b\n^{other}\n{other} refs/heads/b\n");
        assert_eq!(packed_in(&packed, "refs/heads/b"), Found::Commit(other));
        assert_eq!(packed_in(&packed, "refs/heads/a"), Found::None);
        assert_eq!(commit("ref: refs/heads/x\n"), Found::Elsewhere);
    }
}
