//! The commit that is checked out, read from git's own files: asking git would start a process.

use std::io;
use std::path::Path;

use tenure::databases::regular_file::read_text;

use super::{NotGit, REFERENCE_BYTES_MAX, Workspace, text};

/// A hundred thousand references have a tenth of it.
const PACKED_BYTES_MAX: usize = 64 << 20;

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
    let head = read_text(&git_dir.join("HEAD"), REFERENCE_BYTES_MAX)?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else { return Ok(commit(&head)) };
    // Where references are kept in tables, the file only says that.
    let is_reference = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
    if name == "refs/heads/.invalid" || !is_reference {
        return Ok(Found::Elsewhere);
    }
    for folder in [git_dir, common_dir] {
        match read_text(&folder.join(name), REFERENCE_BYTES_MAX) {
            Ok(text) => return Ok(commit(&text)),
            Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => {}
            Err(why) => return Err(why),
        }
    }
    match read_text(&common_dir.join("packed-refs"), PACKED_BYTES_MAX) {
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
    // fault: S11
    #[test]
    fn a_head_that_names_another_file_opens_none() {
        let folder = tempfile::tempdir().unwrap();
        let (git, head) = (folder.path(), folder.path().join("HEAD"));
        std::fs::create_dir_all(git.join("refs/heads")).unwrap();
        for name in ["/dev/zero", "refs/../../../../dev/zero", "../x"] {
            std::fs::write(&head, format!("ref: {name}\n")).unwrap();
            assert_eq!(found(git, git).unwrap(), Found::Elsewhere, "{name}");
        }
        std::fs::write(&head, "ref: refs/heads/main\n").unwrap();
        assert_eq!(found(git, git).unwrap(), Found::None);
        let commit = "1".repeat(40);
        std::fs::write(git.join("refs/heads/main"), &commit).unwrap();
        assert_eq!(found(git, git).unwrap(), Found::Commit(commit));
        std::fs::remove_file(git.join("refs/heads/main")).unwrap();
        for file in ["refs/heads/main", "packed-refs"] {
            std::os::unix::fs::symlink("/dev/zero", git.join(file)).unwrap();
            assert!(found(git, git).is_err(), "{file}");
            std::fs::remove_file(git.join(file)).unwrap();
        }
    }
}
