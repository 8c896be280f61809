//! How the program says no and how it says much: usage, slips, files that exist, reasons of several lines.

use serde_json::Value;

use crate::kit::Place;
use crate::run::{folder, tenure};
use crate::serving::Server;

#[test]
fn what_made_no_sense_ends_with_64_and_says_which_option_it_was() {
    let folder = folder("manners-usage");
    folder.write("log.jsonl", "");
    let log = folder.file("log.jsonl");
    for (command, told) in [
        (&["job", "list", "--db", "foo.db"][..], "`foo.db` is not the address of a database"),
        (&["job", "list", "--db", "mysql://x/y"], "there is no database of the sort `mysql`"),
        (&["bench", "store", "--quick", "--db", "mysql://x/y"], "there is no database of the sort `mysql`"),
        (&["serve", "--db", "memory:", "--listen", "nonsense"], "can not listen at nonsense"),
        (&["replay", &log, "--into", "bad"], "--into: `bad` is not the address of a database"),
        (&["job", "submit", "--priority", "200", "--db", "memory:"], "a number from -100 to 100"),
        (&["work", "job", "--concurrency", "0", "--", "cat"], "a number from 1 to 1000"),
        (&["job", "list", "--limit", "0"], "a number, 1 or more"),
    ] {
        let run = tenure(command).code(64);
        assert!(run.stderr.contains(told) && run.stdout.is_empty(), "{told}: {run:?}");
    }
    let missing = format!("sqlite:{}/nowhere", folder.path());
    let run = tenure(["bench", "store", "--quick", "--db", &missing]).code(2);
    assert!(run.stderr.contains("nowhere does not exist; create it first"), "{run:?}");
}

#[test]
fn an_id_that_is_none_is_not_found_wherever_it_is_given() {
    let place = Place::file("manners-ids");
    place.submit("1");
    for command in [
        &["item", "show"][..],
        &["item", "log"],
        &["item", "executions"],
        &["item", "receipt"],
        &["job", "show"],
        &["job", "retry"],
        &["explain"],
        &["log", "--item"],
        &["ticket", "show"],
        &["claim", "show"],
    ] {
        let run = place.run(&[command, &["X"]].concat()).code(1);
        assert!(run.stderr.starts_with("error: NOT_FOUND: "), "{run:?}");
    }
    let run = place.run(&["token", "revoke", "X"]).code(1);
    assert!(run.stderr.starts_with("error: NOT_FOUND: there is no token X\n"), "{run:?}");
}

#[test]
fn a_kind_that_there_is_not_is_told_before_anything_is_done() {
    for place in Place::both("manners-kind") {
        place.submit("1");
        assert_eq!(place.run(&["item", "list", "--kind", "ticket"]).code(0).stdout, "none\n");
        for command in [
            &["item", "list", "--kind", "jobb"][..],
            &["item", "create", "jobb"],
            &["work", "jobb", "--", "cat"],
            &["pause", "jobb"],
            &["limit", "set", "jobb", "--concurrency", "1"],
            &["schedule", "create", "x", "every 1 h", "jobb"],
        ] {
            let run = place.run(command).code(1);
            assert!(run.stdout.is_empty(), "{run:?}");
            assert!(run.stderr.contains("jobb") && run.stderr.contains("`tenure lifecycle list`"), "{run:?}");
        }
    }
}

#[test]
fn a_cancel_without_a_reason_says_how_to_give_one() {
    let place = Place::file("manners-reason");
    let id = place.submit("1");
    let run = place.run(&["job", "cancel", &id]).code(1);
    assert!(run.stderr.contains("--reason WORDS"), "{run:?}");
}

#[test]
fn a_backup_replaces_nothing_and_a_database_is_not_taken_for_a_log() {
    let place = Place::file("manners-backup");
    place.submit("1");
    let copy = place.folder.file("copy.db");
    place.run(&["backup", &copy]).code(0);
    let run = place.run(&["backup", &copy]).code(1);
    assert_eq!(
        run.stderr,
        format!("error: {copy} exists already\n  nothing was written; name another file\n")
    );
    let run = tenure(["verify", &copy]).code(64);
    assert!(run.stderr.contains(&format!("`tenure verify sqlite:{copy}`")), "{run:?}");
    tenure(["verify", &format!("sqlite:{copy}")]).code(0);
}

#[test]
fn what_a_command_said_in_several_lines_stays_in_its_place() {
    let place = Place::file("manners-lines");
    let id = place.submit("1");
    let mut worker = place.work(&[], "echo one >&2; echo two >&2; exit 3");
    worker.until("attempt 2 failed");
    assert_eq!(place.at_rest(&id)["state"], "FAILED");
    let shown = place.run(&["item", "show", &id]).code(0);
    assert!(shown.stdout.contains("  attempts    2 made, 2 failed, 0 left\n"), "{shown:?}");
    assert!(shown.stdout.ends_with("  failure     exit code 3: one\n              two\n"), "{shown:?}");
    let told = place.run(&["explain", &id]).code(0);
    assert!(told.stdout.contains(": exit code 3: one\n          two\n"), "{told:?}");
    let list = place.run(&["job", "list"]).code(0);
    assert!(list.stdout.ends_with("  exit code 3: one / two\n"), "{list:?}");
    let attempts = place.run(&["job", "executions", &id]).code(0);
    assert!(attempts.stdout.contains("\nattempt 1 said last:\n  one\n  two\n"), "{attempts:?}");
}

#[test]
fn with_json_an_error_is_an_object_too() {
    let place = Place::file("manners-json");
    let id = place.submit("1");
    let object = |arguments: &[&str], code: i32| -> Value {
        let run = place.run(arguments).code(code);
        serde_json::from_str(&run.stderr).unwrap_or_else(|why| panic!("{why}: {run:?}"))
    };
    let no = object(&["item", "erase", &id, "--reason", "x", "--json"], 1);
    assert_eq!((&no["title"], &no["code"]), (&"refused".into(), &"TRANSITION_REFUSED".into()), "{no}");
    assert_eq!(no["allowed"], serde_json::json!(["lease", "cancel"]), "{no}");
    assert!(no["detail"].is_string() && no["advice"].is_string(), "{no}");
    let usage = object(&["job", "submit", "nonsense", "--json"], 64);
    assert_eq!(usage["title"], "wrong usage");
    // What is behind `--` is the command's.
    let run = place.run(&["work", "jobb", "--", "cat", "--json"]).code(1);
    assert!(run.stderr.starts_with("error: "), "{run:?}");
}

#[test]
fn with_json_a_wrong_command_line_is_an_object_too() {
    let place = Place::file("manners-json-usage");
    let cases: [(&[&str], &str, &str); 4] = [
        (
            &["job", "list", "--json", "--bogus"],
            "unexpected argument '--bogus' found",
            "Usage: tenure job list",
        ),
        (&["--json", "job", "list"], "unexpected argument '--json' found", "--help"),
        (&["todo", "add", "--json"], "the following required arguments were not provided: <TITLE>", "--help"),
        (&["job", "list", "--limit", "x", "--json"], "invalid value 'x' for '--limit", "--help"),
    ];
    for (arguments, detail, advice) in cases {
        let run = place.run(arguments).code(64);
        assert_eq!((run.stdout.as_str(), run.stderr.lines().count()), ("", 1), "{run:?}");
        let no: Value = serde_json::from_str(&run.stderr).unwrap_or_else(|why| panic!("{why}: {run:?}"));
        assert_eq!(no["title"], "wrong usage", "{no}");
        for (field, words) in [("detail", detail), ("advice", advice)] {
            assert!(no[field].as_str().is_some_and(|said| said.contains(words)), "{field} of {no}");
        }
    }
    let no_file = place.run(&["job", "list", "--config", "no-such.toml", "--json"]).code(64);
    let no: Value = serde_json::from_str(&no_file.stderr).unwrap_or_else(|why| panic!("{why}: {no_file:?}"));
    assert_eq!(no["detail"], "can not read no-such.toml: there is no such file");
    let plain = place.run(&["job", "list", "--bogus"]).code(64);
    assert!(plain.stderr.starts_with("error: unexpected argument '--bogus' found\n"), "{plain:?}");
    let help = place.run(&["job", "list", "--json", "--help"]).code(0);
    assert!(help.stdout.contains("Usage: "), "{help:?}");
}

#[test]
fn work_is_put_off_by_a_span_or_until_a_time() {
    let place = Place::file("manners-later");
    let job = place.json(&["job", "submit", "--run-at", "10m", "--json"]);
    let (run_at, created_at) = (job["run_at"].as_str().unwrap(), job["created_at"].as_str().unwrap());
    assert!(run_at > created_at, "{job}");
    let job = place.json(&["job", "submit", "--run-at", "2100-01-01T00:00:00Z", "--json"]);
    assert_eq!(job["run_at"], "2100-01-01T00:00:00.000000Z");
    place.run(&["job", "submit", "--run-at", "soon"]).code(1);
}

#[test]
fn a_first_token_that_is_no_admins_is_warned_of_and_a_closed_server_says_what_to_send() {
    let folder = folder("manners-token");
    let db = format!("sqlite:{}", folder.file("t.db"));
    let first = tenure(["token", "create", "clerk", "--role", "worker", "--db", &db]).code(0);
    assert!(first.stderr.contains("no token is an admin's"), "{first:?}");
    let second = tenure(["token", "create", "boss", "--role", "admin", "--db", &db]).code(0);
    assert!(second.stderr.is_empty(), "{second:?}");
    let third = tenure(["token", "create", "clerk", "--role", "worker", "--db", &db]).code(0);
    assert!(third.stderr.is_empty(), "{third:?}");
    let server = Server::start(&db);
    assert!(server.greeting.contains("-H \"authorization: Bearer $TENURE_TOKEN\""), "{}", server.greeting);
}
