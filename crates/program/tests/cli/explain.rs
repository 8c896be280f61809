//! `tenure explain` on a database that was made from an exported log: its times and ids are always the same.

use crate::run::{Folder, folder, tenure};

/// An expense that waits for somebody, and one that was paid.
const WAITS: &str = "01M7GE4XB2000B04QN9QSB1GM1";
const PAID: &str = "01M7GE4XB00006645Z0KC20ZT6";

const WAITS_TOLD: &str = "\
expense 01M7GE4XB2000B04QN9QSB1GM1 is SUBMITTED: waits for somebody's decision; it moves on with `approve` or `reject` by a person.

state     SUBMITTED (waiting) since 2026-11-15T20:25:00.002000Z: waits for somebody's decision
because   waits for somebody's decision; it moves on with `approve` or `reject` by a person
next      nothing happens by itself
can       approve by human: tenure item move 01M7GE4XB2000B04QN9QSB1GM1 approve
          reject by human, with reason: tenure item move 01M7GE4XB2000B04QN9QSB1GM1 reject --reason REASON
";
const PAID_TOLD: &str = "\
expense 01M7GE4XB00006645Z0KC20ZT6 is PAID: it succeeded at 2026-11-15T20:25:00.004000Z with `commit` by worker:bank/1.

state     PAID (succeeded) since 2026-11-15T20:25:00.004000Z: the money is on its way
because   it succeeded at 2026-11-15T20:25:00.004000Z with `commit` by worker:bank/1
next      nothing happens by itself
attempts  1 attempt, 0 failed, 0 given back, 0 left
writes    attempt 1 has committed; a write of another is told ALREADY_COMMITTED; refused writes leave no entry, and each process tells its own
";

fn expenses(name: &str) -> (Folder, String) {
    let folder = folder(name);
    let url = format!("sqlite:{}/expenses.db", folder.path());
    let log = format!("{}/tests/transcripts/log.in/expenses.jsonl", env!("CARGO_MANIFEST_DIR"));
    tenure(["replay", &log, "--into", &url]).code(0);
    (folder, url)
}

#[test]
fn a_sentence_comes_first_and_then_lines_under_their_labels() {
    let (_folder, url) = expenses("explain");
    assert_eq!(tenure(["explain", WAITS, "--db", &url]).code(0).stdout, WAITS_TOLD);
    assert_eq!(tenure(["explain", PAID, "--db", &url]).code(0).stdout, PAID_TOLD);
}

#[test]
fn a_program_is_told_in_one_object_with_these_fields() {
    let (_folder, url) = expenses("explain-json");
    let told = tenure(["explain", WAITS, "--db", &url, "--json"]).code(0).objects().remove(0);
    assert_eq!(
        (&told["id"], &told["kind"], &told["store"]),
        (&WAITS.into(), &"expense".into(), &"default".into())
    );
    assert_eq!((&told["state"], &told["phase"]), (&"SUBMITTED".into(), &"waiting".into()));
    assert_eq!(told["because"][0]["reason"], "actor");
    assert!(told["next"].is_null() && told["held"].is_null() && told["ended"].is_null());
    assert_eq!(told["moves"][0]["command"], format!("tenure item move {WAITS} approve"));
    let told = tenure(["explain", PAID, "--db", &url, "--json"]).code(0).objects().remove(0);
    assert_eq!(told["phase"], "succeeded");
    // A log holds the hash of an output and not its bytes.
    assert_eq!((&told["ended"]["event"], &told["ended"]["output"]), (&"commit".into(), &false.into()));
}

#[test]
fn what_is_not_there_is_refused_with_its_code() {
    let (_folder, url) = expenses("explain-nothing");
    for (id, store) in [("01M7GE4XB2000B04QN9QSB1GM2", "default"), (WAITS, "other")] {
        let run = tenure(["explain", id, "--db", &url, "--store", store]).code(1);
        assert!(run.stderr.starts_with("error: NOT_FOUND: ") && run.stderr.contains(id), "{run:?}");
        assert!(run.stdout.is_empty(), "{run:?}");
    }
    let run = tenure(["explain", "x", "--db", &url]).code(1);
    assert!(run.stderr.starts_with("error: NOT_FOUND: there is no item \"x\""), "{run:?}");
}
