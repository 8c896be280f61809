//! What can not be finished is refused before any gate runs for it, and a gate that looks at a file looks at nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::repository::{Repository, Session};

// covers: T-02, T-04, T-07, T-10
#[test]
fn whoever_may_not_finish_a_task_is_refused_before_any_gate_runs() {
    let repository = Repository::branched("todos_hopeless");
    let ran = repository.folder.file("ran");
    let id = repository.added(&["Prove it", "--gate", &format!("cmd:touch {ran}")]);
    let (ann, bob) = (repository.session("ann"), repository.session("bob"));
    let refused = |who: &Session, code: &str| {
        let run = who.run(&["todo", "done", &id]).code(1);
        // Nothing is said before that, for nothing was begun.
        assert!(run.stderr.starts_with(&format!("error: {code}: ")), "{run:?}");
        assert!(!Path::new(&ran).exists(), "{code}: no gate has run");
        run.stderr
    };
    refused(&ann, "TRANSITION_REFUSED");
    ann.run(&["todo", "claim", &id]).code(0);
    assert!(refused(&bob, "CLAIM_CONFLICT").contains("ann"));
    let told = bob.run(&["todo", "done", &id, "--json"]).code(1).stderr;
    let told: Value = serde_json::from_str(&told).expect("one object");
    assert!(told["owner_id"].as_str().is_some_and(|owner| owner.starts_with("ann")), "{told}");
    assert_eq!(told["lease_expires_at"], repository.shown(&id)["claimed_until"], "{told}");
    bob.run(&["session", "release"]).code(0);
    refused(&bob, "SESSION_REQUIRED");
    let run = repository.run(&["todo", "done", &id]).code(1);
    assert!(run.stderr.starts_with("error: SESSION_REQUIRED: "), "{run:?}");
    repository.git(&["switch", "--quiet", "main"]);
    let run = ann.run(&["todo", "done", &id]).code(1);
    assert!(run.stderr.contains("error: WORKSPACE_REQUIRED: the branch main"), "{run:?}");
    assert!(!Path::new(&ran).exists(), "no gate has run");
    repository.git(&["switch", "--quiet", "todo/1"]);
    ann.run(&["todo", "done", &id]).code(0);
    assert!(Path::new(&ran).exists());
}

// covers: T-04, T-09
#[test]
fn a_gate_that_looks_at_a_file_reads_no_pipe_and_no_device() {
    let repository = Repository::branched("todos_files");
    repository.write(".gitignore", "*.bin\n");
    let pipe = repository.path("pipe.bin");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    symlink("/dev/zero", repository.path("zero.bin")).unwrap();
    repository.write("made.bin", "made\n");
    symlink("made.bin", repository.path("link.bin")).unwrap();
    let ann = repository.session("ann");
    for (file, passes) in [("pipe.bin", false), ("zero.bin", false), ("link.bin", true)] {
        let id = repository.added(&[file, "--gate", &format!("file_exists:{file}")]);
        ann.run(&["todo", "claim", &id]).code(0);
        let run = ann.run(&["todo", "done", &id]).code(if passes { 0 } else { 1 });
        assert_eq!(run.stderr.contains(&format!("file_exists:{file} (did not pass)")), !passes, "{run:?}");
    }
    // What was proved and is a pipe now is not read either, whoever looks.
    let id = repository.added(&["Made", "--gate", "file_exists:made.bin"]);
    ann.run(&["todo", "claim", &id]).code(0);
    ann.run(&["todo", "done", &id]).code(0);
    let receipt = repository.folder.file("receipt.json");
    repository.run(&["todo", "receipt", &id, &receipt]).code(0);
    fs::rename(&pipe, repository.path("made.bin")).unwrap();
    for (look, code) in
        [(&["todo", "show", &id][..], 0), (&["todo", "list", "--all"], 0), (&["verify", &receipt], 1)]
    {
        let run = repository.run(look).code(code);
        assert!(run.stdout.contains("stale"), "{run:?}");
    }
}
