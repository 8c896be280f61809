//! What a command says when it says no: in the words of tasks, with the command that helps.

use std::path::Path;

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

#[test]
fn a_slip_is_answered_with_what_is_wrong_with_it() {
    let repository = Repository::branched("todos_slips");
    let id = repository.added(&["Given up by nobody"]);
    let ann = repository.session("ann");
    let long = "x".repeat(10_000);
    let cases: [(&[&str], i32, &str); 9] = [
        (&["todo", "import", "/dev/zero"], 2, "it has more than 4 MiB"),
        (&["todo", "add", " "], 1, "title: it is empty"),
        (&["todo", "add", &long], 1, "title: one line of at most 500 bytes, and it has 10000"),
        (&["todo", "add", "x", "--priority", "soon"], 64, "a number from -100 to 100"),
        (&["todo", "add", "x", "--depends", "01M7ZZZZZZZZZZZZZZZZZZZZZZ"], 1, "look for a slip"),
        (&["todo", "list", "--limit", "0"], 64, "a number, 1 or more"),
        (&["todo", "depend", &id], 64, "--on <ID>"),
        (&["todo", "receipt", &id], 1, "nobody has finished it"),
        (
            &["todo", "abandon", &id, "--reason", "no"],
            1,
            "you are worker:ann; what you have claimed yourself",
        ),
    ];
    for (arguments, code, expected) in cases {
        let run = ann.run(arguments).code(code);
        assert!(run.stderr.contains(expected), "{expected}: {run:?}");
    }
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

// covers: T-12
#[test]
fn a_log_is_exported_and_joined_where_its_database_is() {
    let repository = Repository::branched("todos_local");
    let address = "http://127.0.0.1:1";
    let first = repository.added(&["First"]);
    let other = Repository::branched("todos_local_other");
    let kept = format!("sqlite:{}", repository.path(".tenure/todo.db"));
    let log = repository.folder.file("list.jsonl");
    for what in ["export", "join"] {
        for run in [
            repository.run(&["todo", what, "--url", address]),
            repository.run(&["todo", what]).env("TENURE_URL", address),
        ] {
            let run = run.code(64);
            assert!(run.stderr.contains("this works on a database itself"), "{run:?}");
            assert!(run.stderr.contains("with --db URL"), "{run:?}");
        }
    }
    assert!(!Path::new(&repository.path(".tenure/todo.jsonl")).exists(), "nothing was written");
    // As it was told: a database that is named counts, wherever one is.
    other.run(&["todo", "export", &log, "--db", &kept]).env("TENURE_URL", address).code(0);
    other.run(&["todo", "join", &log]).code(0);
    assert_eq!(other.shown(&first)["title"], "First");
    let copy = format!("sqlite:{}", repository.folder.file("copy.db"));
    other.run(&["todo", "join", &log]).env("TENURE_DB", &copy).code(0);
    let run = other.run(&["todo", "join", &log, "--db", &copy]).code(0);
    assert!(run.stdout.contains("both are the same"), "{run:?}");
}

#[test]
fn help_names_the_list_of_the_repository() {
    let repository = Repository::branched("todos_help");
    let help = repository.run(&["todo", "list", "--help"]).code(0);
    assert!(help.stdout.contains(".tenure/todo.db") && !help.stdout.contains("[default: sqlite"), "{help:?}");
}
