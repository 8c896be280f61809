//! A list whose file another process has locked.

use rusqlite::Connection;

use super::repository::Repository;
use crate::run::Run;

/// A lock on the file, as another program takes it.
fn lock(repository: &Repository, how: &str) -> Connection {
    let connection = Connection::open(repository.path(".tenure/todo.db")).expect("the list");
    connection.execute_batch(how).expect("a lock");
    connection
}

/// A command that met the lock says so in text and as JSON.
#[track_caller]
fn is_locked_out(run: impl Fn() -> Run, json: impl Fn() -> Run) {
    let run = run().code(2);
    let first = run.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(first.starts_with("error: VALIDATE_TIMEOUT_OR_LOCK: lock: "), "{run:?}");
    assert!(first.contains("nothing was changed"), "{run:?}");
    let run = json().code(2);
    let told: serde_json::Value = serde_json::from_str(run.stderr.lines().last().expect("a line")).unwrap();
    assert_eq!(
        (&told["code"], &told["which"]),
        (&"VALIDATE_TIMEOUT_OR_LOCK".into(), &"lock".into()),
        "{told}"
    );
}

// fault: X10
// covers: T-09, T-14
#[test]
fn a_list_that_another_process_has_locked_says_so_and_changes_nothing() {
    let repository = Repository::branched("todos_locked");
    let id = repository.added(&["x", "--gate", "cmd:true"]);
    let ann = repository.session("ann");
    ann.run(&["todo", "claim", &id]).code(0);
    let before = repository.run(&["log", "--json", "--all"]).code(0).stdout;
    for how in ["begin immediate", "pragma locking_mode = exclusive; begin exclusive; create table t (x)"] {
        let held = lock(&repository, how);
        for command in [&["todo", "done", &id][..], &["todo", "add", "y"], &["session", "acquire"]] {
            let json = [command, &["--json"]].concat();
            is_locked_out(|| ann.run(command), || ann.run(&json));
        }
        held.execute_batch("rollback").expect("it is free again");
        drop(held);
        assert_eq!(repository.run(&["log", "--json", "--all"]).code(0).stdout, before, "{how}");
    }
    ann.run(&["todo", "done", &id]).code(0);
}
