//! What a command costs besides its own work: every process that it starts is as dear as all the rest.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::repository::Repository;
use crate::run::{Run, read};

/// A `git` that writes down how often it is called.
struct Counted {
    path: String,
    calls: String,
}

impl Counted {
    fn new(repository: &Repository) -> Counted {
        let folder = repository.folder.inner("bin");
        let real =
            Command::new("sh").args(["-c", "command -v git"]).output().expect("sh is everywhere").stdout;
        let real = String::from_utf8(real).expect("a path");
        let (git, calls) = (format!("{folder}/git"), repository.folder.file("calls"));
        let script = format!("#!/bin/sh\necho \"$*\" >>{calls}\nexec {} \"$@\"\n", real.trim());
        fs::write(&git, script).expect("a script");
        fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let path = std::env::var("PATH").expect("there is a PATH");
        Counted { path: format!("{folder}:{path}"), calls }
    }

    /// How often it was called by a command that succeeds.
    #[track_caller]
    fn during(&self, run: Run) -> usize {
        fs::write(&self.calls, "").expect("it can be written");
        run.env("PATH", &self.path).code(0);
        read(&self.calls).lines().count()
    }
}

#[test]
fn git_is_asked_for_trees_and_for_nothing_else() {
    let repository = Repository::branched("todos_quick");
    let counted = Counted::new(&repository);
    assert_eq!(counted.during(repository.run(&["todo", "add", "x"])), 0);
    let plain = repository.added(&["Plain"]);
    let gated = repository.added(&["Gated", "--gate", "cmd:true"]);
    let ann = repository.session("ann");
    for id in [&plain, &gated] {
        assert_eq!(counted.during(ann.run(&["todo", "claim", id])), 0);
    }
    assert_eq!(counted.during(ann.run(&["todo", "list", "--all"])), 0, "nothing is proved");
    assert_eq!(counted.during(ann.run(&["todo", "done", &plain])), 2, "one tree");
    assert_eq!(counted.during(ann.run(&["todo", "done", &gated])), 4, "one before the gates and one after");
    for look in [&["todo", "list", "--all"][..], &["todo", "show", &plain]] {
        assert_eq!(counted.during(ann.run(look)), 2, "{look:?}");
    }
}
