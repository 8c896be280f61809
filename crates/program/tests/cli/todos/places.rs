//! Where the list of a repository is: Git sees nothing of it, and every command that names no other place finds it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::repository::Repository;
use crate::run::{Run, folder, tenure};

fn git(folder: &str, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]);
    let said = git.args(arguments).current_dir(folder).output().expect("git is installed");
    assert!(said.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).expect("text")
}

fn add(folder: &str) -> Run {
    tenure(["todo", "add", "x"]).within(folder).code(0)
}

// fault: X11
// covers: T-08
#[test]
fn git_sees_nothing_of_a_list() {
    let repository = Repository::new("todos_unseen");
    repository.write(".gitignore", "*.bin\n");
    repository.git(&["add", ".gitignore"]);
    repository.git(&["commit", "--quiet", "-m", "two"]);
    let root = repository.path("");
    let other = repository.worktree("other");
    for folder in [&other, &root] {
        add(folder);
        for place in [&root, &other] {
            assert_eq!(git(place, &["status", "--porcelain"]), "", "{place} after an add in {folder}");
        }
    }
    assert!(Path::new(&repository.path(".tenure/todo.db")).is_file());
    // A submodule is a separate repository, and the outer one sees no change.
    let outer = Repository::new("todos_unseen_outer");
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &root, "inner"]);
    outer.git(&["commit", "--quiet", "-m", "two"]);
    let inner = outer.path("inner");
    add(&inner);
    assert!(Path::new(&format!("{inner}/.tenure/todo.db")).is_file());
    for place in [&inner, &outer.path("")] {
        assert_eq!(git(place, &["status", "--porcelain"]), "", "{place}");
    }
    // A log that was exported is there to be committed.
    repository.run(&["todo", "export"]).code(0);
    let seen = repository.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(seen, "?? .tenure/todo.bodies.jsonl\n?? .tenure/todo.jsonl\n");
}

/// Every command that only reads one item, or all there is.
fn looks(id: &str) -> Vec<Vec<&str>> {
    let one = [
        &["item", "log"][..],
        &["item", "show"],
        &["item", "executions"],
        &["item", "receipt"],
        &["explain"],
        &["log", "--item"],
    ];
    one.into_iter().map(|command| [command, &[id]].concat()).collect()
}

// fault: X12
// covers: T-16
#[test]
fn a_command_that_names_no_place_finds_the_list_of_its_repository() {
    let repository = Repository::branched("todos_found");
    let inner = repository.folder.inner("r/src/deep");
    let id = repository.added(&["Found", "--gate", "human:is it kind?"]);
    repository.session("ann").run(&["todo", "claim", &id]).code(0);
    let backup = repository.folder.file("copy.db");
    let all = [
        &["log"][..],
        &["item", "list", "--kind", "todo"],
        &["inbox"],
        &["export"],
        &["verify"],
        &["doctor"],
        &["migrate", "--dry-run"],
    ];
    let all = all.into_iter().map(<[&str]>::to_vec).chain(looks(&id));
    for command in all.chain([vec!["backup", backup.as_str()]]) {
        let run = repository.run(&command).within(&inner).code(0);
        let names_it = matches!(command[..], ["item", "list", ..] | ["item", "show", _] | ["inbox"]);
        assert!(!names_it || run.stdout.contains(&id), "{run:?}");
        let names_list = matches!(command[..], ["verify"]);
        assert!(!names_list || run.stdout.contains(".tenure/todo.db: sound"), "{run:?}");
    }
    assert!(!Path::new(&format!("{inner}/tenure.db")).exists(), "nothing was created");
    // Work goes into the database of the folder; what it does not have is looked for in the list.
    let job = repository.run(&["job", "submit", "1", "--json"]).code(0).objects().remove(0);
    let job = job["id"].as_str().expect("an id").to_string();
    assert!(Path::new(&repository.path("tenure.db")).is_file());
    for command in looks(&id).into_iter().chain(looks(&job)) {
        repository.run(&command).code(0);
    }
    let listed = repository.run(&["item", "list"]).code(0);
    assert!(listed.stdout.contains(&job) && !listed.stdout.contains(&id), "{listed:?}");
    let inbox = repository.run(&["inbox"]).code(0);
    assert!(inbox.stdout.contains(&id), "the inbox shows both: {inbox:?}");
    let unknown = repository.run(&["item", "log", "01M7000000000000000000000A"]).code(1);
    assert!(unknown.stderr.contains("NOT_FOUND"), "{unknown:?}");
    // A place that is named is the only one.
    repository.run(&["item", "log", &id, "--db", "sqlite:tenure.db"]).code(1);
}

// fault: X12
#[test]
fn where_nothing_is_found_the_commands_that_create_it_are_named() {
    let nothing = folder("nothing_found");
    let here = |arguments: &[&str]| tenure(arguments).within(nothing.path()).code(2);
    for command in [&["item", "list"][..], &["log"], &["verify"], &["doctor"], &["inbox"], &["explain", "x"]]
    {
        let run = here(command);
        assert!(run.stderr.contains("`tenure serve` or `tenure job submit` creates it here"), "{run:?}");
        assert!(!run.stderr.contains("--db sqlite:tenure.db"), "it was just refused: {run:?}");
    }
    let run = here(&["log", "--db", "sqlite:other.db"]);
    assert!(run.stderr.contains("`tenure serve --db sqlite:other.db` creates a database there"), "{run:?}");
    assert_eq!(fs::read_dir(nothing.path()).expect("a folder").count(), 0, "a look creates nothing");
}
