//! A git repository of a test's own.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::run::{Folder, Run, folder, tenure};

pub struct Repository {
    pub folder: Folder,
    root: String,
}

impl Repository {
    /// With one commit, on `main`.
    pub fn new(name: &str) -> Repository {
        let folder = folder(name);
        let root = folder.inner("r");
        let repository = Repository { folder, root };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
        repository
    }

    /// The same, on a branch of its own.
    pub fn branched(name: &str) -> Repository {
        let repository = Repository::new(name);
        repository.git(&["switch", "--quiet", "-c", "todo/1"]);
        repository
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(arguments).current_dir(&self.root);
        // The same commit, whenever it is made.
        git.env("GIT_AUTHOR_DATE", "2026-11-16T12:00:00Z").env("GIT_COMMITTER_DATE", "2026-11-16T12:00:00Z");
        let said = git.output().expect("git is installed");
        assert!(said.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).expect("text")
    }

    pub fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.root)
    }

    pub fn write(&self, file: &str, content: &str) {
        fs::write(self.path(file), content).expect(file);
    }

    /// A working copy of the same repository, on another branch.
    pub fn worktree(&self, name: &str) -> String {
        let path = self.folder.file(name);
        self.git(&["worktree", "add", "--quiet", &path, "-b", &format!("todo/{name}")]);
        path
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        let mut run = tenure(arguments).within(&self.root);
        for name in ["SESSION", "AGENT", "PROTECTED", "DECIDING"] {
            run = run.without(&format!("TENURE_{name}"));
        }
        run
    }

    #[track_caller]
    pub fn added(&self, arguments: &[&str]) -> String {
        let mut all = vec!["todo", "add", "--json"];
        all.extend(arguments);
        let made = self.run(&all).code(0).objects().remove(0);
        made["todo_id"].as_str().expect("an id").to_string()
    }

    #[track_caller]
    pub fn shown(&self, id: &str) -> Value {
        self.run(&["todo", "show", id, "--json"]).code(0).objects().remove(0)
    }

    #[track_caller]
    pub fn session(&self, agent: &str) -> Session<'_> {
        let run = self.run(&["session", "acquire", "--agent", agent, "--json"]).code(0);
        let token = run.objects().remove(0)["session"].as_str().expect("a session").to_string();
        Session { repository: self, token }
    }
}

/// Commands of somebody who works.
pub struct Session<'a> {
    repository: &'a Repository,
    pub token: String,
}

impl Session<'_> {
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.repository.run(arguments).env("TENURE_SESSION", &self.token)
    }
}
