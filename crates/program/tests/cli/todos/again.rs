//! What is proved and then changes: every face of the list tells that it is stale, and `done` makes it current again.

use std::path::Path;

use serde_json::{Value, json};

use super::repository::{Repository, Session};

/// What each face says of a task: the state as people read it, and `stale` in both forms of JSON.
#[track_caller]
fn told(repository: &Repository, id: &str) -> (bool, Value, Value) {
    let shown = repository.run(&["todo", "list", "--all"]).code(0).stdout;
    let list = repository.run(&["todo", "list", "--all", "--json"]).code(0).objects().remove(0);
    let listed = list["items"].as_array().unwrap().iter().find(|todo| todo["todo_id"] == id).unwrap();
    (shown.contains("Verified, stale"), listed["stale"].clone(), repository.shown(id)["stale"].clone())
}

#[track_caller]
fn is_current(repository: &Repository, id: &str) {
    assert_eq!(told(repository, id), (false, json!([]), json!([])));
}

#[track_caller]
fn is_stale(repository: &Repository, id: &str, why: &str) {
    let (shown, listed, one) = told(repository, id);
    assert!(shown && listed == one, "{listed} {one}");
    assert!(listed[0].as_str().is_some_and(|said| said.starts_with(why)), "{why}: {listed}");
}

fn done(session: &Session, id: &str) -> Value {
    session.run(&["todo", "done", id, "--json"]).code(0).objects().remove(0)
}

// covers: T-05, T-06, T-17, T-12
#[test]
fn done_makes_current_what_is_stale_on_whatever_tree() {
    let repository = Repository::branched("todos_again");
    repository.write(".gitignore", "*.bin\n");
    let (one, two) = ("one\n", "two\n");
    repository.write("a.txt", one);
    repository.write("a.bin", "made\n");
    let id = repository.added(&["Write it", "--gate", "file_exists:a.bin"]);
    let ann = repository.session("ann");
    ann.run(&["todo", "claim", &id]).code(0);
    let first = done(&ann, &id);
    is_current(&repository, &id);
    for (text, is_first) in [(two, false), (one, true)] {
        repository.write("a.txt", text);
        is_stale(&repository, &id, "the tree is ");
        let again = done(&ann, &id);
        is_current(&repository, &id);
        assert_ne!(again["receipt"], first["receipt"], "it was written down");
        assert_eq!(again["proof_sha256"] == first["proof_sha256"], is_first);
        assert_eq!(done(&ann, &id)["receipt"], again["receipt"], "once");
    }
    repository.write("a.bin", "made again\n");
    is_stale(&repository, &id, "a.bin was changed");
    repository.write("a.bin", "made\n");
    is_current(&repository, &id);
    // As if nobody had proved anything for so long.
    let file = rusqlite::Connection::open(repository.path(".tenure/todo.db")).unwrap();
    let days = 91 * 24 * 3_600 * 1_000_000_i64;
    assert!(file.execute("update records set at = at - ?1", [days]).unwrap() > 0);
    is_stale(&repository, &id, "the proof is 91 days old");
    let renewed = done(&ann, &id);
    is_current(&repository, &id);
    assert_eq!(renewed["proof_sha256"], first["proof_sha256"]);
    repository.run(&["validate"]).code(0);
    // A list that was joined knows the same of it, with bodies and without.
    let log = repository.folder.file("list.jsonl");
    repository.run(&["todo", "export", &log]).code(0);
    for name in ["todos_again_joined", "todos_again_bare"] {
        let clone = Repository::branched(name);
        clone.run(&["todo", "join", &log]).code(0);
        let (mine, theirs) = (repository.shown(&id), clone.shown(&id));
        assert_eq!(
            (&mine["proof_sha256"], &mine["proved_at"]),
            (&theirs["proof_sha256"], &theirs["proved_at"])
        );
        let _ = std::fs::remove_file(repository.folder.file("list.bodies.jsonl"));
    }
}

// covers: T-03, T-10
#[test]
fn every_look_renews_the_claims_of_its_session() {
    let repository = Repository::branched("todos_looks");
    let (held, proved) = (repository.added(&["Held"]), repository.added(&["Proved"]));
    let ann = repository.session("ann");
    for id in [&held, &proved] {
        ann.run(&["todo", "claim", id]).code(0);
    }
    ann.run(&["todo", "done", &proved]).code(0);
    let until = || repository.shown(&held)["claimed_until"].as_str().expect("a time").to_string();
    for look in [
        &["todo", "list"][..],
        &["todo", "show", &proved],
        &["todo", "receipt", &proved],
        &["validate"],
        &["session", "show"],
    ] {
        let before = until();
        ann.run(look).code(0);
        assert!(until() > before, "{look:?}");
    }
    // A session that has ended hinders no look; only whose tasks it would be, nobody can say.
    ann.run(&["session", "release"]).code(0);
    ann.run(&["todo", "receipt", &proved]).code(0);
    ann.run(&["todo", "list"]).code(0);
    let refused = ann.run(&["todo", "list", "--mine"]).code(1);
    assert!(refused.stderr.starts_with("error: SESSION_REQUIRED: "), "{refused:?}");
}

// covers: T-12
#[test]
fn a_program_is_told_what_was_exported_and_what_was_joined() {
    let repository = Repository::branched("todos_share_json");
    repository.added(&["First"]);
    let log = repository.folder.file("list.jsonl");
    let made = repository.run(&["todo", "export", &log, "--json"]).code(0).objects().remove(0);
    assert_eq!((&made["file"], &made["items"]), (&log.as_str().into(), &1.into()), "{made}");
    assert!(Path::new(made["bodies"].as_str().unwrap()).exists() && made["head"].is_string(), "{made}");
    let clone = Repository::branched("todos_share_json_clone");
    for joined in [true, false] {
        let told = clone.run(&["todo", "join", &log, "--json"]).code(0).objects().remove(0);
        assert_eq!((&told["joined"], told["entries"].is_u64()), (&joined.into(), joined), "{told}");
    }
}
