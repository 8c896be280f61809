//! What a command says when it says no: in the words of tasks, with the command that helps.

use super::repository::Repository;

#[test]
fn a_no_names_commands_and_not_the_events_of_the_kernel() {
    let repository = Repository::branched("todos_words");
    let id = repository.added(&["First", "--external-reference", "X-1"]);
    let after = repository.added(&["After", "--depends", &id]);
    let ann = repository.session("ann");
    let said = |arguments: &[&str], expected: &str| {
        let run = ann.run(arguments).code(1);
        assert!(run.stderr.contains(expected), "{expected}: {run:?}");
        assert!(!run.stderr.contains("lease") && !run.stderr.contains("commit"), "{run:?}");
    };
    said(&["todo", "release", &id], &format!("possible now: `tenure todo claim {id}`"));
    said(&["todo", "claim", &after], &format!("`tenure todo depend {after} --remove {id}`"));
    // An agent gives up only what it holds; a person says why.
    let silent = repository.run(&["todo", "abandon", &id]).code(1);
    let fix = format!("run tenure todo abandon {id} --reason WHY");
    assert!(silent.stderr.contains(&fix), "{silent:?}");
    let reference = ["todo", "add", "Other", "--external-reference", "X-1"];
    said(&reference, &format!("is that of {id} (First)"));
    ann.run(&["todo", "claim", &id]).code(0);
    // Another session of the same agent takes it over; that is no reason to be told of what is proved.
    let again = repository.session("ann");
    again.run(&["todo", "claim", &id]).code(0);
    again.run(&["todo", "done", &id]).code(0);
    let shown = repository.run(&["todo", "show", &id]).code(0);
    assert!(!shown.stdout.contains("taken over"), "{shown:?}");
    said(&["todo", "release", &id], "is Verified, which is final: nobody holds it");
}

// covers: T-04
#[test]
fn a_gate_that_waits_for_a_person_has_not_failed() {
    let repository = Repository::branched("todos_waits");
    let id = repository.added(&["Write it", "--gate", "human:is it kind?"]);
    let ann = repository.session("ann");
    ann.run(&["todo", "claim", &id]).code(0);
    let run = ann.run(&["todo", "done", &id]).code(1);
    assert!(run.stderr.contains("waits for a person: human:is it kind?"), "{run:?}");
    assert!(!run.stderr.contains("did not pass"), "{run:?}");
}

#[test]
fn commands_for_the_list_of_a_repository_say_so_where_a_server_is_named() {
    let repository = Repository::branched("todos_local");
    repository.added(&["First"]);
    for what in ["export", "join"] {
        let run = repository.run(&["todo", what]).env("TENURE_URL", "http://127.0.0.1:1").code(0);
        assert!(run.stderr.contains("this is about the list of this repository"), "{run:?}");
    }
    let help = repository.run(&["todo", "list", "--help"]).code(0);
    assert!(help.stdout.contains(".tenure/todo.db") && !help.stdout.contains("[default: sqlite"), "{help:?}");
}
