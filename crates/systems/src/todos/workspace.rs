//! The workspace: where in which repository somebody works, and whether anything may be changed from there.
//!
//! Finding it and its commit reads a few small files and starts no process. The tree is asked of `git`.

mod file;
mod head;
mod tree;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use tenure::core::code::Code;
use tenure::databases::regular_file::read_text;

use super::refusal::Refusal;

pub use file::Reading;
pub use tree::Trees;

/// The longest of git's files that names one commit or one folder: a path.
const REFERENCE_BYTES_MAX: usize = 8 << 10;
/// Where the database of a repository is, from its root.
pub const FOLDER: &str = ".tenure";
/// What is never changed directly, unless a setting says otherwise.
pub const PROTECTED: [&str; 6] = ["main", "master", "production", "stable", "release/*", "hotfix/*"];

/// The way out of a protected branch. Whether a branch of that name can be made only the working copy knows:
/// [`Workspace::way_out`].
const SWITCH: &str = "git switch -c todo/";

/// What a request says of the workspace it comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Facts {
    /// None: no branch is checked out.
    pub branch: Option<String>,
    pub commit: Option<String>,
    /// Where it is, for people.
    pub path: Option<String>,
    /// Of the working copy with all that is not committed in it.
    pub tree: Option<String>,
}

/// Branches that nobody changes directly. `*` stands for anything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Protected(Vec<String>);

impl Default for Protected {
    fn default() -> Protected {
        Protected::new(PROTECTED)
    }
}

impl Protected {
    pub fn new(patterns: impl IntoIterator<Item = impl Into<String>>) -> Protected {
        Protected(patterns.into_iter().map(Into::into).collect())
    }

    fn pattern_of(&self, branch: &str) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|pattern| matches(pattern, branch))
    }

    /// Whether something may be changed from there. `what` names the branch that the refusal proposes.
    pub fn judge(&self, facts: Option<&Facts>, what: &str) -> Result<(), Refusal> {
        let refused = |why: String| {
            let refusal = Refusal::new(Code::WorkspaceRequired, why);
            Err(refusal.with("fix", format!("{SWITCH}{what}")))
        };
        let Some(facts) = facts else {
            let why = "no workspace is named: work in a git repository, on a branch of your own";
            let fix = format!("git init -b todo/{what} todo-{what} && cd todo-{what}");
            return Err(Refusal::new(Code::WorkspaceRequired, why).with("fix", fix));
        };
        match facts.branch.as_deref() {
            None => refused("no branch is checked out: what is done here would belong to none".into()),
            Some(branch) => match self.pattern_of(branch) {
                Some(pattern) => {
                    refused(format!("the branch {branch} is protected ({pattern}): use one of your own"))
                }
                None => Ok(()),
            },
        }
    }
}

/// `release/*` matches `release/1.2`. Only `*` is special.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            starts.into_iter().any(|at| matches(after, &rest[at..]))
        }),
    }
}

/// A working copy on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workspace {
    /// The root of this working copy.
    pub root: PathBuf,
    /// The root of the repository that it is a working copy of: the same for all of its worktrees.
    pub home: PathBuf,
    /// None: no branch is checked out.
    pub branch: Option<String>,
    git_dir: PathBuf,
}

/// What `git` did not do.
#[derive(Debug, thiserror::Error)]
pub enum NotGit {
    #[error("can not run git: {0}")]
    Run(#[from] io::Error),
    #[error("git {what}: {why}")]
    Said { what: String, why: String },
}

impl Workspace {
    /// The working copy that this folder is in.
    pub fn find(from: &Path) -> io::Result<Option<Workspace>> {
        for root in from.ancestors() {
            let dot = root.join(".git");
            let Ok(found) = fs::metadata(&dot) else { continue };
            let git_dir = if found.is_dir() { dot } else { root.join(after(&dot, "gitdir: ")?) };
            let home = home(root, &git_dir);
            let branch = branch(root, &git_dir)?;
            return Ok(Some(Workspace { root: root.to_path_buf(), home, branch, git_dir }));
        }
        Ok(None)
    }

    /// What is told of it with every change: no process is started for this.
    pub fn facts(&self) -> Facts {
        let path = Some(self.root.display().to_string());
        Facts { branch: self.branch.clone(), commit: None, path, tree: None }
    }

    /// The same with commit and tree, for a proof.
    pub fn proved(&self, trees: &Trees) -> Result<Facts, NotGit> {
        Ok(Facts { commit: self.commit()?, tree: Some(trees.now()?), ..self.facts() })
    }

    /// The same way out as a refusal proposes, with a branch that can be made here: nobody has one of that name, in this working copy or
    /// in another. None: it proposes something else.
    pub fn way_out(&self, fix: &str) -> Result<Option<String>, NotGit> {
        let Some(what) = fix.strip_prefix(SWITCH) else { return Ok(None) };
        let said = text(&self.said(&["for-each-ref", "--format=%(refname)", "refs/heads"], &[])?);
        let taken: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("refs/heads/")).collect();
        Ok(Some(format!("git switch -c {}", free_branch(what, &taken))))
    }

    /// What all working copies of the repository share.
    fn common_dir(&self) -> PathBuf {
        match read_text(&self.git_dir.join("commondir"), REFERENCE_BYTES_MAX) {
            Ok(common) => self.git_dir.join(common.trim_end()),
            Err(_) => self.git_dir.clone(),
        }
    }

    /// Held by whoever runs gates here. In the folder of git, so that no tree has it.
    pub fn lock_file(&self) -> PathBuf {
        self.git_dir.join("tenure-gates.lock")
    }

    fn said(&self, arguments: &[&str], variables: &[(&str, &OsStr)]) -> Result<Vec<u8>, NotGit> {
        let said = self.git(arguments, variables)?;
        match said.status.success() {
            true => Ok(said.stdout),
            false => Err(NotGit::Said { what: arguments.join(" "), why: text(&said.stderr) }),
        }
    }

    fn git(&self, arguments: &[&str], variables: &[(&str, &OsStr)]) -> Result<std::process::Output, NotGit> {
        let mut git = Command::new("git");
        // A hook that runs us has these set, for another repository perhaps.
        git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        git.args(arguments).envs(variables.iter().copied()).env("GIT_OPTIONAL_LOCKS", "0");
        Ok(git.current_dir(&self.root).stdin(Stdio::null()).output()?)
    }
}

/// A name for a branch that is not taken. A branch is a file and what is before a `/` a folder, so that neither may be in the other's
/// place.
fn free_branch(what: &str, taken: &[&str]) -> String {
    let before = if taken.contains(&"todo") { "todo-" } else { "todo/" };
    let is_free = |name: &String| {
        taken.iter().all(|other| {
            other.strip_prefix(name).is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/'))
        })
    };
    let others = (2..).map(|number: u64| format!("{before}{what}-{number}"));
    let mut names = std::iter::once(format!("{before}{what}")).chain(others);
    names.find(is_free).expect("there are more numbers than branches")
}

/// The folder of the repository that all worktrees share. A submodule is a repository of its own.
fn home(root: &Path, git_dir: &Path) -> PathBuf {
    let Ok(common) = read_text(&git_dir.join("commondir"), REFERENCE_BYTES_MAX) else {
        return root.to_path_buf();
    };
    let common = git_dir.join(common.trim_end());
    let common = common.canonicalize().unwrap_or(common);
    match common.file_name() == Some(OsStr::new(".git")) {
        true => common.parent().map_or_else(|| root.to_path_buf(), Path::to_path_buf),
        false => common,
    }
}

fn branch(root: &Path, git_dir: &Path) -> io::Result<Option<String>> {
    let head = read_text(&git_dir.join("HEAD"), REFERENCE_BYTES_MAX)?;
    let Some(branch) = head.trim_end().strip_prefix("ref: refs/heads/") else { return Ok(None) };
    // Where references are kept in tables, the file only says that.
    if branch == ".invalid" {
        let mut git = Command::new("git");
        let said = git.args(["symbolic-ref", "--quiet", "--short", "HEAD"]).current_dir(root).output()?;
        return Ok(said.status.success().then(|| text(&said.stdout)));
    }
    Ok(Some(branch.to_string()))
}

fn after(file: &Path, prefix: &str) -> io::Result<PathBuf> {
    let text = read_text(file, REFERENCE_BYTES_MAX)?;
    let path = text.strip_prefix(prefix).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{} names no repository", file.display()))
    })?;
    Ok(PathBuf::from(path.trim_end()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(branch: Option<&str>) -> Facts {
        Facts { branch: branch.map(str::to_string), ..Facts::default() }
    }

    // covers: T-07
    #[test]
    fn protected_branches_and_no_branch_are_refused_with_the_way_out() {
        let protected = Protected::default();
        for branch in ["main", "master", "production", "stable", "release/1.2", "hotfix/a/b", "release/"] {
            let refused = protected.judge(Some(&facts(Some(branch))), "01X").unwrap_err();
            assert_eq!(refused.code, Code::WorkspaceRequired, "{branch}");
            assert_eq!(refused.more["fix"], "git switch -c todo/01X");
        }
        for branch in ["todo/01X", "mainline", "releases/1", "release", "feature/main"] {
            assert_eq!(protected.judge(Some(&facts(Some(branch))), "01X"), Ok(()), "{branch}");
        }
        assert!(protected.judge(Some(&facts(None)), "01X").is_err(), "a detached head");
        assert!(protected.judge(None, "01X").is_err(), "no workspace at all");
        let nowhere = protected.judge(None, "01X").unwrap_err();
        assert_eq!(nowhere.more["fix"], "git init -b todo/01X todo-01X && cd todo-01X");
        let own = Protected::new(["trunk", "*-frozen"]);
        assert!(own.judge(Some(&facts(Some("v1-frozen"))), "x").is_err());
        assert_eq!(own.judge(Some(&facts(Some("main"))), "x"), Ok(()), "the list is a setting");
    }

    // covers: T-07
    #[test]
    fn a_branch_is_proposed_that_nobody_has() {
        let cases: [(&[&str], &str); 5] = [
            (&["main", "todo/nextish"], "todo/next"),
            (&["todo/next"], "todo/next-2"),
            (&["todo/next", "todo/next-2"], "todo/next-3"),
            (&["todo/next/deeper"], "todo/next-2"),
            (&["todo"], "todo-next"),
        ];
        for (taken, expected) in cases {
            assert_eq!(free_branch("next", taken), expected, "{taken:?}");
        }
    }
}
