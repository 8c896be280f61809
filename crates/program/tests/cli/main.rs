//! The real program, run as a person or a script runs it: what a transcript can not show.
//!
//! Standard input, broken pipes, colours, JSON as data, and folders made for one test.

mod bench;
mod chaos;
mod claims;
mod doctor;
mod documents;
mod explain;
mod items;
mod kit;
mod languages;
mod lifecycles;
mod looking;
mod manners;
mod operators;
mod pages;
mod run;
#[path = "../../../databases/tests/conformance/schema.rs"]
mod schema;
mod secrets;
mod serving;
mod signals;
mod tickets;
mod todos;
mod typed;
mod work;

use serde_json::Value;
use tenure_core::lifecycle::shipped::SHIPPED;

use run::{Run, fixture, folder, tenure};

#[test]
fn every_shipped_lifecycle_is_sound() {
    let folder = folder("shipped");
    for shipped in SHIPPED {
        folder.write(shipped.file, shipped.source);
    }
    let run = tenure(["check", folder.path(), "--json"]).code(0);
    let verdicts = run.objects();
    assert_eq!(verdicts.len(), SHIPPED.len());
    for verdict in verdicts {
        assert_eq!(verdict["sound"], true, "{verdict}");
        assert!(verdict["explored"]["states"].as_u64() > Some(0), "{verdict}");
    }
}

#[test]
fn a_checked_file_is_one_object_with_these_fields() {
    let run = tenure(["check", "--json", &fixture("refund.md"), &fixture("travel.md")]).code(1);
    let [refund, travel] = &run.objects()[..] else { panic!("two files, two objects: {run:?}") };
    for verdict in [refund, travel] {
        assert_eq!(fields(verdict), ["explored", "faults", "file", "kind", "rows", "sound", "states"]);
        assert_eq!(fields(&verdict["faults"][0]), ["line", "trace", "what"]);
        assert_eq!(verdict["sound"], false);
    }
    assert_eq!(
        (&refund["kind"], &refund["states"], &refund["rows"]),
        (&"refund".into(), &6.into(), &12.into())
    );
    assert_eq!(refund["faults"][0]["line"], 25);
    assert_eq!(refund["faults"][0]["trace"].as_array().map(Vec::len), Some(4));
    assert_eq!((&travel["kind"], &travel["explored"]), (&Value::Null, &Value::Null));
    assert_eq!(travel["faults"].as_array().map(Vec::len), Some(5));
}

#[test]
fn standard_input_is_a_file_called_dash() {
    let expense = run::read(&fixture("expense.md"));
    let run = Run::new(["check", "-"]).input(&expense).code(0);
    assert!(run.stdout.starts_with("<stdin>: sound · 6 states, 11 rows · explored "), "{run:?}");
    let run = Run::new(["lifecycle", "show", "-"]).input(&expense).code(0);
    assert_eq!(run.stdout, expense);
    let run = Run::new(["check", "-"]).input("# nothing\n").code(1);
    assert!(run.stdout.starts_with("<stdin>:1: the file has no `## States` section"), "{run:?}");
}

#[test]
fn a_folder_stands_for_its_markdown_files_in_order_and_each_is_checked_once() {
    let folder = folder("order");
    let expense = run::read(&fixture("expense.md"));
    for kind in ["zebra", "ant", "bee"] {
        folder.write(&format!("{kind}.md"), expense.replace("# expense", &format!("# {kind}")));
    }
    folder.write("notes.txt", "not a lifecycle");
    let again = format!("{}/bee.md", folder.path());
    let run = tenure(["check", "--json", folder.path(), &again]).code(0);
    let kinds: Vec<String> = run.objects().iter().map(|it| it["kind"].to_string()).collect();
    assert_eq!(kinds, ["\"ant\"", "\"bee\"", "\"zebra\""]);
}

#[test]
fn two_files_can_not_describe_one_kind() {
    let folder = folder("twice");
    let expense = run::read(&fixture("expense.md"));
    folder.write("a.md", &expense);
    folder.write("b.md", format!("\n{expense}"));
    let run = tenure(["check", folder.path()]).code(1);
    let told = format!(
        "{0}/b.md:2: `expense` is described in {0}/a.md already; a kind has one file\n",
        folder.path()
    );
    assert!(run.stdout.contains(&told), "{run:?}");
}

#[test]
fn what_can_not_be_read_ends_with_2_and_says_what_to_do() {
    let folder = folder("unreadable");
    let path = |file: &str| format!("{}/{file}", folder.path());
    folder.write("latin.md", [b'#', b' ', 0xe9]);
    folder.write("long.md", "x".repeat(70_000));
    let empty = folder.inner("empty");
    for (file, what, advice) in [
        (path("gone.md"), "there is no such file", "a slip in the path"),
        (path("latin.md"), "it is not UTF-8 text", "save it as UTF-8"),
        (path("long.md"), "it has more than 65536 bytes", "the right file"),
        (empty, "has no file that ends with .md", "a folder with lifecycle files"),
    ] {
        let run = tenure(["check", &file]).code(2);
        assert!(run.stdout.is_empty(), "{run:?}");
        assert!(run.stderr.contains(what) && run.stderr.contains(advice), "{run:?}");
    }
}

#[test]
fn a_path_names_a_lifecycle_wherever_a_kind_does() {
    let expense = fixture("expense.md");
    assert_eq!(tenure(["lifecycle", "show", &expense]).code(0).stdout, run::read(&expense));
    let drawn = tenure(["lifecycle", "draw", &expense]).code(0);
    assert!(drawn.stdout.contains("APPROVED --> PAYING: lease\n"), "{drawn:?}");
    let shown = &tenure(["lifecycle", "show", &expense, "--json"]).code(0).objects()[0];
    assert_eq!((&shown["kind"], &shown["system"]), (&"expense".into(), &Value::Null));
}

#[test]
fn a_faulty_file_is_neither_shown_nor_drawn() {
    for command in ["show", "draw"] {
        let run = tenure(["lifecycle", command, &fixture("travel.md")]).code(1);
        assert!(run.stdout.is_empty(), "{run:?}");
        assert!(run.stderr.contains("travel.md:1: `Travel Expense` can not name a kind"), "{run:?}");
        assert!(run.stderr.contains("it has 4 more; `tenure check "), "{run:?}");
    }
}

#[test]
fn every_shipped_lifecycle_is_listed_shown_and_drawn() {
    let listed = tenure(["lifecycle", "list", "--json"]).code(0).objects();
    assert_eq!(listed.len(), SHIPPED.len());
    for (listed, shipped) in listed.iter().zip(SHIPPED) {
        assert_eq!(fields(listed), ["kind", "states", "summary", "system"]);
        let kind = listed["kind"].as_str().expect("a kind is a text");
        assert_eq!(
            (format!("{kind}.md").as_str(), &listed["system"]),
            (shipped.file, &shipped.system.into())
        );
        assert_eq!(tenure(["lifecycle", "show", kind]).code(0).stdout, shipped.source);
        for (format, begins) in [("mermaid", "stateDiagram-v2\n"), ("dot", "digraph "), ("svg", "<svg ")] {
            let run = tenure(["lifecycle", "draw", kind, "--format", format]).code(0);
            assert!(run.stdout.starts_with(begins), "{run:?}");
        }
    }
}

#[test]
fn a_lifecycle_as_data_has_what_the_file_says() {
    let shown = &tenure(["lifecycle", "show", "run", "--json"]).code(0).objects()[0];
    let all = ["hash", "kind", "payload_schema", "settings", "states", "summary", "system", "transitions"];
    assert_eq!(fields(shown), all);
    assert_eq!(fields(&shown["states"][0]), ["final", "line", "meaning", "name", "phase"]);
    let row = ["actors", "as", "effects", "event", "from", "guards", "line", "refuse", "to"];
    assert_eq!(fields(&shown["transitions"][0]), row);
    let lease = &shown["transitions"][1];
    assert_eq!(
        (&lease["from"], &lease["event"], &lease["as"]),
        (&"QUEUED".into(), &"lease".into(), &"RUN_STARTED".into())
    );
    assert_eq!(lease["guards"][0], "no other running for key");
    let line = run::shipped("run").lines().nth(lease["line"].as_u64().expect("a line") as usize - 1);
    assert!(line.is_some_and(|line| line.contains("lease as RUN_STARTED")), "{line:?}");
    assert_eq!(shown["settings"]["key"], "/document_id");
    assert_eq!(shown["settings"]["head_start"], "1 min", "defaults are told too");
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_hides_no_verdict() {
    let run = Run::new(["lifecycle", "draw", "job", "--format", "svg"]).closed_pipe().code(0);
    assert!(run.stderr.is_empty(), "{run:?}");
    let run = Run::new(["check", &fixture("refund.md")]).closed_pipe().code(1);
    assert!(run.stderr.is_empty(), "{run:?}");
}

#[test]
fn colours_are_for_terminals_and_no_color_wins() {
    let refund = fixture("refund.md");
    let is_plain = |run: &Run| !run.stdout.contains('\x1b') && !run.stderr.contains('\x1b');
    let piped = tenure(["check", &refund, "gone.md"]).code(2);
    assert!(is_plain(&piped), "{piped:?}");
    // What a terminal would get.
    let forced = Run::new(["check", &refund, "gone.md"]).env("CLICOLOR_FORCE", "1").code(2);
    assert!(forced.stdout.contains("\x1b[") && forced.stderr.contains("\x1b["), "{forced:?}");
    let refused =
        Run::new(["check", &refund, "gone.md"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").code(2);
    assert!(is_plain(&refused), "{refused:?}");
}

/// The names of an object's fields, sorted.
fn fields(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn an_export_gets_its_name_when_it_is_whole() {
    let folder = folder("export");
    let file = format!("{}/log.jsonl", folder.path());
    let run = tenure(["export", &file, "--db", "memory:"]).code(0);
    assert!(
        run.stdout.starts_with(&format!("{file}: 0 entries, 0 items, 0 lifecycles\nhead 0000")),
        "{run:?}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing lies beside it");
    tenure(["verify", &file]).code(0);
    let shown = Run::new(["export"]).env("TENURE_DB", "memory:").code(0);
    assert_eq!(shown.stdout, run::read(&file));
    let nowhere = format!("{}/nowhere/log.jsonl", folder.path());
    let run = tenure(["export", &nowhere, "--db", "memory:"]).code(2);
    assert!(run.stderr.starts_with(&format!("error: can not write {nowhere}: ")), "{run:?}");
    let again = tenure(["export", &file, "--db", "memory:"]).code(1);
    assert_eq!(
        again.stderr,
        format!("error: {file} exists already\n  name another file, or replace it with --force\n")
    );
    tenure(["export", &file, "--force", "--db", "memory:"]).code(0);
    let run = tenure(["export", &file, "--db", "paper:"]).code(64);
    assert!(run.stderr.starts_with("error: `paper:` is not the address of a database"), "{run:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "half an export is taken away");
}

#[test]
fn an_export_is_verified_from_standard_input() {
    let file = run::read(&fixture("../log.in/expenses.jsonl"));
    let run = Run::new(["verify", "-"]).input(&file).code(0);
    assert!(run.stdout.starts_with("<stdin>: sound · 5 entries, 2 items"), "{run:?}");
    Run::new(["verify", "-"]).input("\n\n").code(1);
}
