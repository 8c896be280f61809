//! Tasks on the command line, in real git repositories.

mod again;
mod agents;
mod branches;
mod declared;
mod docs;
mod hopeless;
mod judging;
mod listing;
mod locked;
mod places;
mod quick;
mod receipts;
mod repository;
mod sharing;
mod words;

use std::fs::{self, File};
use std::path::Path;

use serde_json::Value;

use crate::kit::Life;
use crate::run::{read, tenure};
use repository::Repository;

// covers: T-01, T-04, T-05, T-07, T-14
#[test]
fn a_repository_has_a_list_at_once() {
    let repository = Repository::new("todos_at_once");
    let inner = repository.folder.inner("r/src/deep");
    let id = repository.added(&[
        "Write a.txt",
        "--gate",
        "file_exists:a.txt",
        "--gate",
        "cmd:grep -q hello a.txt",
    ]);
    let list = repository.run(&["todo", "list"]).within(&inner).code(0);
    assert!(list.stdout.contains(&id) && list.stdout.contains("Write a.txt"), "{list:?}");
    assert_eq!(repository.git(&["status", "--porcelain"]), "", "Git sees nothing of the list");
    repository.run(&["todo", "claim", &id]).code(1);
    let session = repository.session("ann");
    let run = session.run(&["todo", "claim", &id]).code(1);
    assert!(run.stderr.starts_with("error: WORKSPACE_REQUIRED: "), "{run:?}");
    // The command that mends it is the one that is printed.
    let fix = run.stderr.split("run ").nth(1).expect("a command").trim().to_string();
    assert_eq!(fix, format!("git switch -c todo/{id}"));
    repository.git(&fix.split_whitespace().skip(1).collect::<Vec<_>>());
    session.run(&["todo", "claim", &id]).code(0);
    let run = session.run(&["todo", "done", &id]).code(1);
    assert!(
        run.stderr.contains("error: VERIFICATION_REQUIRED: ") && run.stderr.contains("cmd:grep"),
        "{run:?}"
    );
    repository.write("a.txt", "hello\n");
    let done = session.run(&["todo", "done", &id, "--json"]).code(0).objects().remove(0);
    assert_eq!(done["state"], "Verified");
    let again = session.run(&["todo", "done", &id, "--json"]).code(0).objects().remove(0);
    assert_eq!(
        (&again["receipt"], &again["proof_sha256"]),
        (&done["receipt"], &done["proof_sha256"]),
        "a no-op"
    );
    let shown = repository.run(&["todo", "show", &id]).code(0);
    assert!(shown.stdout.contains("Verified") && !shown.stdout.contains("stale"), "{shown:?}");
    repository.write("a.txt", "hello, you\n");
    let shown = repository.run(&["todo", "show", &id]).code(0);
    assert!(shown.stdout.contains("stale: the tree is "), "{shown:?}");
    let file = repository.folder.file("receipt.json");
    repository.run(&["todo", "receipt", &id, &file]).code(0);
    let receipt: Value = serde_json::from_str(&read(&file)).unwrap();
    let (results, runs) = (&receipt["proof"]["results"], &receipt["run"]["gates"]);
    for (index, gate) in ["validate", "file_exists:a.txt", "cmd:grep -q hello a.txt"].into_iter().enumerate()
    {
        let (result, ran) = (&results[index], &runs[index]);
        assert_eq!((&result["gate"], &ran["gate"]), (&gate.into(), &gate.into()), "{receipt}");
        assert!(result["output_sha256"].is_string() && ran["duration_ms"].is_u64(), "{receipt}");
    }
    assert_eq!(results[2]["exit"], 0, "{receipt}");
    let run = tenure(["verify", &file]).code(0);
    assert!(
        run.stdout.contains("sound") && run.stdout.contains(done["proof_sha256"].as_str().unwrap()),
        "{run:?}"
    );
    fs::write(&file, read(&file).replace("\"passed\":true", "\"passed\":false")).unwrap();
    let run = tenure(["verify", &file]).code(1);
    assert!(run.stderr.contains("hashes to"), "{run:?}");
    repository.run(&["validate"]).code(0);
    let run = session.run(&["session", "release"]).code(0);
    assert!(run.stdout.contains("has ended"), "{run:?}");
    let run = session.run(&["session", "acquire"]).code(1);
    assert!(run.stderr.starts_with("error: SESSION_REQUIRED: "), "a dead one is never replaced: {run:?}");
}

// covers: T-09, T-03
#[test]
fn a_gate_that_does_not_end_is_ended_with_all_that_it_started() {
    let repository = Repository::branched("todos_timeout");
    let life = Life::new(&repository.folder, "life");
    let gate = format!("cmd:{}", life.script("sleep 1000 & sleep 1000"));
    let id = repository.added(&["Wait", "--gate", &gate]);
    let session = repository.session("ann");
    session.run(&["todo", "claim", &id]).code(0);
    std::thread::scope(|scope| {
        let living = scope.spawn(|| life.begun().dead());
        let run = session.run(&["todo", "done", &id, "--timeout", "2s"]).code(2);
        assert!(run.stderr.contains("running cmd:"), "progress is shown: {run:?}");
        assert!(run.stderr.contains("error: VALIDATE_TIMEOUT_OR_LOCK: timeout"), "{run:?}");
        living.join().unwrap();
    });
    assert_eq!(repository.shown(&id)["state"], "Claimed", "nothing was changed");
    // Another's gates in the same working copy: waited for, no longer than it may take.
    let lock = File::create(repository.path(".git/tenure-gates.lock")).unwrap();
    lock.lock().unwrap();
    let run = session.run(&["todo", "done", &id, "--timeout", "1s"]).code(2);
    assert!(run.stderr.contains("error: VALIDATE_TIMEOUT_OR_LOCK: lock"), "{run:?}");
    assert_eq!(repository.shown(&id)["state"], "Claimed");
}

// covers: T-11
#[test]
fn a_gate_sees_neither_the_session_nor_a_way_to_decide_its_own_task() {
    let repository = Repository::branched("todos_circular");
    let program = env!("CARGO_BIN_EXE_tenure");
    let inside = format!(
        "test -z \"$TENURE_SESSION$TENURE_TOKEN\" && {program} validate && {program} \"todo\" abandon $TENURE_DECIDING --reason no 2>&1 | grep -q 'being decided'"
    );
    let id = repository.added(&["Itself", "--gate", &format!("cmd:{inside}")]);
    repository.run(&["todo", "add", "x", "--gate", "cmd:tenure todo done ID"]).code(1);
    let session = repository.session("ann");
    session.run(&["todo", "claim", &id]).code(0);
    session.run(&["todo", "done", &id]).env("TENURE_TOKEN", "secret").code(0);
}

// covers: T-12
#[test]
fn a_log_that_is_ahead_is_joined_and_one_that_went_elsewhere_is_not() {
    let repository = Repository::branched("todos_join");
    let (id, open) = (repository.added(&["First", "--gate", "cmd:true"]), repository.added(&["Second"]));
    let session = repository.session("ann");
    session.run(&["todo", "claim", &id]).code(0);
    session.run(&["todo", "done", &id]).code(0);
    repository.run(&["todo", "export"]).code(0);
    let log = repository.path(".tenure/todo.jsonl");
    assert!(repository.git(&["status", "--porcelain", "-uall"]).contains(".tenure/todo.jsonl"));
    tenure(["verify", &log]).code(0);
    let clone = Repository::branched("todos_join_clone");
    clone.run(&["todo", "join", &log]).code(0);
    let (mine, theirs) = (repository.shown(&id), clone.shown(&id));
    for field in ["state", "proof_sha256", "version", "title"] {
        assert_eq!(mine[field], theirs[field], "{field}");
    }
    assert_eq!(clone.shown(&open)["title"], "Second");
    assert_eq!(
        (&theirs["gates"], &theirs["receipt"]),
        (&serde_json::json!(["cmd:true"]), &Value::Null),
        "its plan came too"
    );
    let receipt = clone.run(&["todo", "receipt", &id]).code(0);
    assert_eq!(receipt.objects()[0]["sha256"], mine["proof_sha256"]);
    let run = clone.run(&["todo", "join", &log]).code(0);
    assert!(run.stdout.contains("both are the same"), "{run:?}");
    repository.added(&["Third"]);
    repository.run(&["todo", "export"]).code(0);
    clone.run(&["todo", "join", &log]).code(0);
    let list = clone.run(&["todo", "list", "--json"]).code(0).objects().remove(0);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(2), "the third is there");
    clone.added(&["Only here"]);
    let run = clone.run(&["todo", "join", &log]).code(0);
    assert!(run.stdout.contains("all of it and more"), "{run:?}");
    repository.added(&["Only there"]);
    repository.run(&["todo", "export"]).code(0);
    let before = clone.run(&["todo", "list", "--json"]).code(0).stdout;
    let run = clone.run(&["todo", "join", &log]).code(1);
    let entries = ["have gone different ways at line ", ": there create of ", ", here "];
    assert!(entries.iter().all(|said| run.stderr.contains(said)), "{run:?}");
    assert_eq!(clone.run(&["todo", "list", "--json"]).code(0).stdout, before, "nothing was changed");
    // The log tells all of it: what happened to whom, by whom and when.
    let text = read(&log);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let entries: Vec<Value> = lines.filter(|line| line["action"].is_string()).collect();
    for entry in &entries {
        for field in ["event_id", "item", "action", "actor", "occurred_at"] {
            assert!(entry[field].is_string(), "{field} of {entry}");
        }
        assert!(entry["payload"].is_object() || entry["action"] == "start", "{entry}");
    }
    let said = |kind: &str, action: &str| {
        let mut of_kind =
            entries.iter().filter(|entry| entry["payload"]["kind"] == kind).map(|entry| &entry["item"]);
        of_kind.any(|item| entries.iter().any(|entry| entry["item"] == *item && entry["action"] == action))
    };
    assert!(
        said("todo", "commit") && said("todo", "lease") && said("session", "lease"),
        "ownership and sessions too"
    );
}

// covers: T-05
#[test]
fn two_machines_have_one_proof() {
    let proofs = ["todos_here", "todos_elsewhere"].map(|name| {
        let repository = Repository::branched(name);
        repository.write("a.txt", "hello\n");
        let gate = "cmd:pwd; echo ok in $(date +%N)ms at $(date -Ins), $(date +%T); echo $HOME $TMPDIR/x; printf '\\033[32mgreen\\033[0m\\r\\n' >&2";
        let own = |folder: &str| repository.folder.inner(folder);
        let id = repository.added(&["x", "--gate", gate, "--gate", "file_exists:a.txt"]);
        let session = repository.session(name);
        session.run(&["todo", "claim", &id]).code(0);
        let done = session.run(&["todo", "done", &id, "--json"]).env("HOME", &own("home"));
        let done = done.env("TMPDIR", &own("temporary")).code(0).objects().remove(0);
        done["proof_sha256"].as_str().unwrap().to_string()
    });
    assert_eq!(proofs[0], proofs[1]);
}

// covers: T-05
#[test]
fn a_proof_is_stale_when_a_file_that_it_names_was_changed_or_is_gone() {
    let repository = Repository::branched("todos_artifacts");
    // What git ignores is not in the tree, and counts all the same.
    repository.write(".gitignore", "*.bin\n");
    repository.write("a.bin", "made\n");
    let id = repository.added(&["Build it", "--gate", "file_exists:a.bin"]);
    let session = repository.session("ann");
    session.run(&["todo", "claim", &id]).code(0);
    session.run(&["todo", "done", &id]).code(0);
    let shown = || repository.run(&["todo", "show", &id]).code(0);
    assert!(!shown().stdout.contains("stale"), "{:?}", shown());
    repository.write("a.bin", "made again\n");
    assert!(shown().stdout.contains("stale: a.bin was changed"), "{:?}", shown());
    let list = repository.run(&["todo", "list", "--all"]).code(0);
    assert!(list.stdout.contains("Verified, stale"), "{list:?}");
    fs::remove_file(repository.path("a.bin")).unwrap();
    assert!(shown().stdout.contains("stale: a.bin is gone"), "{:?}", shown());
    repository.write("a.bin", "made\n");
    assert!(!shown().stdout.contains("stale"), "{:?}", shown());
    repository.run(&["todo", "plan", &id, "--gate", "cmd:true"]).code(0);
    assert!(shown().stdout.contains("stale: the plan was changed"), "{:?}", shown());
}

// covers: T-04, T-05, T-14
#[test]
fn gates_that_fail_or_change_what_they_judge_prove_nothing() {
    let repository = Repository::branched("todos_gates");
    repository.write("a.txt", "hello\n");
    let other = format!("file_hash:a.txt={}", "0".repeat(64));
    let wrong = repository.added(&["Another file", "--gate", &other]);
    let changes = repository.added(&["Changes", "--gate", "cmd:echo x >> made.txt"]);
    let session = repository.session("ann");
    let failed = format!("{other} (did not pass)");
    for (id, why) in
        [(&wrong, failed.as_str()), (&changes, "the gates changed the tree that they were run on (made.txt)")]
    {
        session.run(&["todo", "claim", id]).code(0);
        let run = session.run(&["todo", "done", id]).code(1);
        let said = run.stderr.lines().find(|line| line.starts_with("error: VERIFICATION_REQUIRED: "));
        assert!(said.is_some_and(|said| said.contains(why)), "{run:?}");
        assert_eq!(repository.shown(id)["state"], "Claimed");
        session.run(&["todo", "release", id]).code(0);
    }
}

// covers: T-04, T-11, T-15
#[test]
fn nothing_is_done_on_a_list_that_is_not_sound_but_for_the_task_that_is_decided() {
    let repository = Repository::branched("todos_unsound");
    let ran = repository.folder.file("ran");
    let (id, own) =
        (repository.added(&["x", "--gate", &format!("cmd:touch {ran}")]), repository.added(&["y"]));
    let session = repository.session("ann");
    session.run(&["todo", "claim", &own]).code(0);
    repository.run(&["validate"]).code(0);
    // Somebody writes a receipt to the file past Tenure.
    let file = rusqlite::Connection::open(repository.path(".tenure/todo.db")).unwrap();
    let item = own.parse::<tenure_core::id::ItemId>().unwrap().0.to_be_bytes();
    let forged = "insert into records (id, item, label, name, hash, version, at)
        values (randomblob(16), ?1, 'receipt', 'forged', zeroblob(32), 1, 0)";
    assert_eq!(file.execute(forged, [&item[..]]).unwrap(), 1);
    session.run(&["todo", "done", &own]).code(0);
    session.run(&["todo", "claim", &id]).code(0);
    let run = session.run(&["todo", "done", &id]).code(1);
    let fault = format!("receipts: {own}: the receipt forged is not what its hash says");
    let said = format!(
        "error: VERIFICATION_REQUIRED: the list is not sound, so that nothing on it is proved: {fault}\n"
    );
    assert!(run.stderr.contains(&said) && run.stderr.contains("did not pass: validate ("), "{run:?}");
    assert!(run.stderr.contains("run tenure validate"), "{run:?}");
    let run = session.run(&["todo", "done", &id, "--json"]).code(1);
    let told: Value = serde_json::from_str(run.stderr.lines().last().expect("a line")).expect("JSON");
    assert_eq!(told["failing"], serde_json::json!([format!("validate: {fault}")]), "{told}");
    assert!(!Path::new(&ran).exists(), "no gate has run");
    assert_eq!(repository.shown(&id)["state"], "Claimed");
    let run = repository.run(&["validate"]).code(1);
    assert!(run.stdout.contains("not ok receipts\n") && run.stdout.contains("ok log\n"), "{run:?}");
}

#[test]
fn a_checklist_becomes_tasks_once() {
    let repository = Repository::branched("todos_import");
    repository.write("plan.md", "- [ ] Whole\n  - [ ] Part\n- [x] Done\n- [ ] Other\n");
    let made = repository.run(&["todo", "import", "plan.md", "--json"]).code(0).objects().remove(0);
    let again = repository.run(&["todo", "import", "plan.md", "--json"]).code(0).objects().remove(0);
    assert_eq!((&made["todos"], &made["new"], &again["new"]), (&again["todos"], &3.into(), &0.into()));
    let said = repository.run(&["todo", "import", "plan.md"]).code(0);
    assert!(said.stdout.contains("3 tasks, 0 new"), "{said:?}");
    let ids = made["todos"].as_array().unwrap();
    assert_eq!(ids.len(), 3);
    assert_eq!(repository.shown(ids[1].as_str().unwrap())["parent"], ids[0]);
    let list = repository.run(&["todo", "list", "--limit", "2"]).code(0);
    assert!(list.stdout.contains("2 of 3"), "{list:?}");
}

// covers: T-07
#[test]
fn what_is_protected_is_a_setting_and_without_a_repository_there_is_no_list() {
    let repository = Repository::new("todos_setting");
    let id = repository.added(&["x"]);
    let session = repository.session("ann");
    session.run(&["todo", "claim", &id, "--protected", "trunk"]).code(0);
    let run = repository.run(&["todo", "add", "y", "--guard-adding"]).code(1);
    assert!(run.stderr.starts_with("error: WORKSPACE_REQUIRED: "), "{run:?}");
    let nowhere = std::env::temp_dir();
    let run = tenure(["todo", "list"]).within(nowhere.to_str().unwrap()).code(64);
    assert!(run.stderr.contains("this is no git repository"), "{run:?}");
}

// covers: T-04, T-11
#[test]
fn a_person_answers_for_a_task_in_the_inbox_of_the_repository() {
    let repository = Repository::branched("todos_inbox");
    let id = repository.added(&["Write it", "--gate", "human:is it kind?"]);
    let agent = repository.session("ann");
    assert!(repository.run(&["inbox"]).code(0).stdout.contains("nothing waits for a person"));
    agent.run(&["todo", "claim", &id]).code(0);
    let refused = agent.run(&["todo", "done", &id]).code(1);
    assert!(refused.stderr.contains("waits for a person: tenure inbox approve"), "{refused:?}");
    let inbox = repository.run(&["inbox"]).code(0);
    assert!(inbox.stdout.contains(&id) && inbox.stdout.contains("is it kind?"), "{inbox:?}");
    // An agent is no person, by its session or by its name.
    let own = agent.run(&["inbox", "approve", &id]).code(1);
    assert!(own.stderr.contains("FORBIDDEN"), "{own:?}");
    repository.run(&["inbox", "approve", &id, "--agent", "ann"]).code(1);
    let within = repository.run(&["inbox", "approve", &id]).env("TENURE_DECIDING", &id).code(1);
    assert!(within.stderr.contains("being decided"), "{within:?}");
    repository.run(&["inbox", "reject", &id]).code(1);
    repository.run(&["inbox", "reject", &id, "--note", "too harsh"]).code(0);
    let refused = agent.run(&["todo", "done", &id]).code(1);
    assert!(refused.stderr.contains("said no: too harsh"), "{refused:?}");
    let shown = agent.run(&["todo", "show", &id]).code(0);
    assert!(shown.stdout.contains("said no to human:is it kind?"), "{shown:?}");
    // A database in the folder is looked at too, and an answer finds its way.
    repository.run(&["ticket", "create", "Paint it"]).code(0);
    let both = repository.run(&["inbox", "--json"]).code(0).objects().remove(0);
    let kinds: Vec<_> = both["items"].as_array().unwrap().iter().map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, [Some("ticket"), Some("todo")]);
    let one = repository.run(&["inbox", "--limit", "1"]).code(0);
    assert!(one.stdout.contains("there are more"), "{one:?}");
    let ticket = both["items"][0]["id"].as_str().unwrap();
    repository.run(&["inbox", "approve", ticket]).code(0);
    repository.run(&["inbox", "approve", &id, "--note", "kind enough"]).code(0);
    repository.run(&["inbox", "approve", "01M7ZZZZZZZZZZZZZZZZZZZZZZ"]).code(1);
    agent.run(&["todo", "done", &id]).code(0);
    assert_eq!(repository.shown(&id)["state"], "Verified");
}
