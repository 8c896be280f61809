//! The tree of a working copy as it is, with all that is not committed, and without Tenure's own folder.
//!
//! The index and the objects that this needs are made in a scratch folder: nothing in the repository is touched. Each `git` costs as much
//! as everything else that a command does, so that what can be read from a file is not asked: two are started for a tree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use super::super::receipt::Entries;
use super::{FOLDER, NotGit, Workspace, text};

/// A command line has a bound; a path has at most 2 KiB, and most are short.
const PATHS_AT_ONCE: usize = 500;

/// Where trees of one working copy are made. What git found out for the first it need not read again for the next.
#[derive(Debug)]
pub struct Trees<'a> {
    workspace: &'a Workspace,
    scratch: tempfile::TempDir,
    /// Whether the index that it began with may have Tenure's own folder in it.
    may_have_own: bool,
}

impl Workspace {
    pub fn trees(&self) -> Result<Trees<'_>, NotGit> {
        let scratch = tempfile::tempdir()?;
        fs::create_dir(scratch.path().join("objects"))?;
        let may_have_own = match fs::read(self.git_dir.join("index")) {
            Ok(index) => {
                let copy = scratch.path().join("index");
                fs::write(&copy, &index)?;
                // As old as it was: git reads again whatever is not older than its index, for it may have changed without a trace.
                let modified = fs::metadata(self.git_dir.join("index"))?.modified()?;
                File::options().write(true).open(&copy)?.set_modified(modified)?;
                may_name(&index, FOLDER)
            }
            Err(why) if why.kind() == io::ErrorKind::NotFound => false,
            Err(why) => return Err(why.into()),
        };
        Ok(Trees { workspace: self, scratch, may_have_own })
    }

    pub fn tree(&self) -> Result<String, NotGit> {
        self.trees()?.now()
    }
}

impl Trees<'_> {
    /// The tree as it is now.
    pub fn now(&self) -> Result<String, NotGit> {
        let but_own = format!(":(top,exclude){FOLDER}");
        self.said(&["add", "--all", "--", ".", &but_own])?;
        if self.may_have_own {
            self.said(&["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", FOLDER])?;
        }
        self.said(&["write-tree"])
    }

    /// The entries at these paths of a tree that was made here. Paths are literal, without wildcards.
    pub fn entries(&self, tree: &str, paths: &BTreeSet<String>) -> Result<Entries, NotGit> {
        let mut entries: Entries = paths.iter().map(|path| (path.clone(), None)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        for some in paths.chunks(PATHS_AT_ONCE) {
            // With `-t` also those that lead to another of them.
            let list = ["--literal-pathspecs", "ls-tree", "-t", "-z", "--full-tree", tree, "--"];
            let said = self.said(&[&list, some].concat())?;
            for (entry, path) in said.split('\0').filter_map(|line| line.split_once('\t')) {
                entries.entry(path.to_string()).and_modify(|found| *found = Some(entry.to_string()));
            }
        }
        Ok(entries)
    }

    /// The files in which two trees differ that were made here.
    pub fn between(&self, one: &str, other: &str) -> Result<Vec<String>, NotGit> {
        let said = self.said(&["diff-tree", "-r", "--name-only", one, other])?;
        Ok(said.lines().map(str::to_string).collect())
    }

    fn said(&self, arguments: &[&str]) -> Result<String, NotGit> {
        let (index, made) = (self.scratch.path().join("index"), self.scratch.path().join("objects"));
        let objects: PathBuf = self.workspace.common_dir().join("objects");
        let variables: [(&str, &OsStr); 3] = [
            ("GIT_INDEX_FILE", index.as_os_str()),
            ("GIT_OBJECT_DIRECTORY", made.as_os_str()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.as_os_str()),
        ];
        Ok(text(&self.workspace.said(arguments, &variables)?))
    }
}

/// Whether an index may have something in this folder. In the forms 2 and 3 paths stand as they are; the form 4 leaves out what a path
/// has in common with the one before it, and a split index has its paths elsewhere.
fn may_name(index: &[u8], folder: &str) -> bool {
    let has = |text: &[u8]| index.windows(text.len()).any(|part| part == text);
    let is_plain = matches!(index.get(4..8), Some([0, 0, 0, 2 | 3])) && !has(b"link");
    !is_plain || has(format!("{folder}/").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_can_not_be_read_as_it_is_may_name_anything() {
        let index = |version: u8, rest: &str| [b"DIRC\0\0\0", &[version][..], rest.as_bytes()].concat();
        for (version, rest, expected) in [
            (2, "src/a.rs", false),
            (3, "src/a.rs", false),
            (2, ".tenure/todo.jsonl", true),
            (2, "src/a.rs link", true),
            (4, "src/a.rs", true),
        ] {
            assert_eq!(may_name(&index(version, rest), FOLDER), expected, "{version} {rest}");
        }
        assert!(may_name(b"", FOLDER));
    }
}
