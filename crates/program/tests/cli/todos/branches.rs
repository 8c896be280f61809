//! Whoever is refused because of where they work is told a command, and that command works where they are.

use std::process::Command;

use super::repository::Repository;
use crate::run::Run;
use crate::serving::Server;

/// The command that a refusal prints.
#[track_caller]
fn fix(refused: &Run) -> String {
    assert!(refused.stderr.starts_with("error: WORKSPACE_REQUIRED: "), "{refused:?}");
    refused.stderr.split_once("run ").expect("a command").1.trim().to_string()
}

/// What a shell does with it, and with a command behind it.
#[track_caller]
fn shell(script: &str, within: &str) {
    let said =
        Command::new("sh").args(["-c", script]).current_dir(within).output().expect("sh is everywhere");
    assert!(said.status.success(), "{script}: {said:?}");
}

// covers: T-07
#[test]
fn the_command_that_is_printed_works_where_the_branch_is_taken_already() {
    let repository = Repository::new("todos_taken");
    let session = repository.session("ann");
    repository.added(&["First"]);
    // Somebody works on that very branch in this working copy, somebody in another one.
    let next = fix(&session.run(&["todo", "next"]).code(1));
    assert_eq!(next, "git switch -c todo/next");
    repository.git(&["branch", "--quiet", "todo/next"]);
    let other = repository.worktree("next-2");
    for within in [repository.path(""), other] {
        repository.git(&["-C", &within, "switch", "--quiet", "-c", &format!("release/{}", within.len())]);
        shell(&fix(&session.run(&["todo", "next"]).within(&within).code(1)), &within);
        session.run(&["todo", "next"]).within(&within).code(0);
    }
    let branches = repository.git(&["branch", "--list", "todo/*", "--format=%(refname:short)"]);
    assert_eq!(branches, "todo/next\ntodo/next-2\ntodo/next-3\ntodo/next-4\n");
}

// covers: T-07
#[test]
fn the_command_that_is_printed_works_where_no_branch_is_checked_out_and_where_a_branch_is_called_todo() {
    let repository = Repository::new("todos_detached");
    let session = repository.session("ann");
    repository.added(&["First"]);
    repository.git(&["branch", "todo"]);
    repository.git(&["checkout", "--quiet", "--detach"]);
    shell(&fix(&session.run(&["todo", "next"]).code(1)), &repository.path(""));
    session.run(&["todo", "next"]).code(0);
}

// covers: T-07
#[test]
fn the_command_that_is_printed_works_outside_any_repository() {
    let repository = Repository::new("todos_outside");
    let session = repository.session("ann");
    let id = repository.added(&["First"]);
    let server = Server::start(&format!("sqlite:{}", repository.path(".tenure/todo.db")));
    let url = format!("http://{}", server.address);
    let nowhere = tempfile::tempdir().expect("a folder outside");
    let within = nowhere.path().to_str().expect("a UTF-8 name");
    let refused = session.run(&["todo", "claim", &id, "--url", &url, "--store", "repo"]).within(within);
    let program = env!("CARGO_BIN_EXE_tenure");
    let claim =
        format!("TENURE_SESSION={} {program} todo claim {id} --url {url} --store repo", session.token);
    shell(&format!("{} && {claim}", fix(&refused.code(1))), within);
    assert_eq!(repository.shown(&id)["state"], "Claimed");
}
