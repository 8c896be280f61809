//! `tenure doc`, with servers that work on the runs and are killed.

use serde_json::Value;

use crate::kit::Life;
use crate::run::{folder, read, tenure};
use crate::serving::Server;

const LETTER: &str = "# The engine\n\nDear Ada, the engine runs since 2026-11-16 and has done its work well.\n\n\
    ## What is next\n\nWe will build a second one, and it will cost 1200 EUR. Please write to us soon.\n";

//
#[test]
fn a_document_outlives_the_server_that_worked_on_it() {
    let folder = folder("documents");
    let db = format!("sqlite:{}/t.db", folder.path());
    folder.write("letter.md", LETTER);
    // Its only step takes longer than the server lives, and says when it has begun.
    let begun = folder.file("begun");
    let step =
        format!("[[runs.steps]]\nname = \"slow\"\ncommand = [\"sh\", \"-c\", \"touch {begun}; sleep 30\"]\n");
    folder.write("slow.toml", step);
    let server = Server::configured(&db, &folder.file("slow.toml"));
    let added = tenure(["doc", "add", &folder.file("letter.md"), "--db", &db, "--json"]).code(0);
    let made: Value = serde_json::from_str(added.stdout.trim()).unwrap();
    let document = made["document_id"].as_str().unwrap();
    while !std::path::Path::new(&begun).exists() {
        std::thread::yield_now();
    }
    drop(server);

    // The next one, with the steps that ship, ends what the first has left.
    let server = Server::start(&db);
    let failed = tenure(["doc", "wait", document, "--db", &db]).code(1);
    assert!(
        failed.stderr.contains("PROCESS_TERMINATED") && failed.stderr.contains("tenure doc runs"),
        "{failed:?}"
    );
    let again = tenure(["doc", "reprocess", document, "--db", &db]).code(0);
    assert!(again.stdout.contains("QUEUED"), "{again:?}");
    let done = tenure(["doc", "wait", document, "--timeout", "60", "--db", &db]).code(0);
    assert!(done.stdout.contains("COMPLETED") && done.stdout.contains("text/markdown"), "{done:?}");
    let runs = tenure(["doc", "runs", document, "--db", &db]).code(0);
    for word in ["FAILED", "PROCESS_TERMINATED", "COMPLETED", "extract", "interpret", "SUCCEEDED"] {
        assert!(runs.stdout.contains(word), "{word}: {runs:?}");
    }
    let copy = folder.file("copy.md");
    tenure(["doc", "content", document, "--output", &copy, "--db", &db]).code(0);
    assert_eq!(read(&copy), LETTER);
    // What came of it: its text, and what that is about.
    let text = tenure(["doc", "result", document, "--step", "extract", "--db", &db]).code(0);
    assert!(text.stdout.starts_with("The engine\n") && text.stdout.contains("1200 EUR"), "{text:?}");
    let all = tenure(["doc", "result", document, "--db", &db]).code(0);
    for word in ["extract (", "interpret (", "Dear Ada", "\"language\"", "2026-11-16"] {
        assert!(all.stdout.contains(word), "{word}: {all:?}");
    }
    let one = tenure(["doc", "result", document, "--step", "interpret", "--db", &db, "--json"]).code(0);
    let one: Value = serde_json::from_str(&one.stdout).unwrap();
    assert_eq!((&one["name"], &one["value"]["title"]), (&"interpret".into(), &"The engine".into()), "{one}");
    let none = tenure(["doc", "result", document, "--step", "classify", "--db", &db]).code(1);
    assert!(none.stderr.contains("NOT_FOUND"), "{none:?}");
    // Erased, nothing of it is left.
    folder.write("other.md", "Another letter.");
    let other = tenure(["doc", "add", &folder.file("other.md"), "--db", &db, "--json"]).code(0);
    let other: Value = serde_json::from_str(other.stdout.trim()).unwrap();
    let (other, run) = (other["document_id"].as_str().unwrap(), other["run_id"].as_str().unwrap());
    tenure(["doc", "wait", other, "--timeout", "60", "--db", &db]).code(0);
    tenure(["item", "erase", other, "--db", &db]).code(0);
    let gone = tenure(["doc", "content", other, "--db", &db]).code(1);
    assert!(gone.stderr.contains("NOT_FOUND") && gone.stderr.contains("was erased"), "{gone:?}");
    let (status, made) = server.ask("GET", &format!("/v1/runs/{run}/artifacts"), "");
    assert_eq!((status, &made["items"]), (200, &serde_json::json!([])), "{made}");
    assert_eq!(server.ask("GET", &format!("/v1/documents/{other}/content"), "").0, 404);
    assert_eq!(server.stop().0, Some(0));
    // Without a server the same is read from the file.
    let listed = tenure(["doc", "list", "--db", &db]).code(0);
    assert!(listed.stdout.contains("letter.md") && listed.stdout.contains("COMPLETED"), "{listed:?}");
}

#[test]
fn a_step_that_is_wrong_is_told_before_anything_is_served() {
    let folder = folder("steps");
    for (name, step) in
        [("none", "name = \"a\""), ("twice", "builtin = \"extract\"\n[[runs.steps]]\nbuiltin = \"extract\"")]
    {
        folder.write(&format!("{name}.toml"), format!("[[runs.steps]]\n{step}\n"));
        let config = folder.file(&format!("{name}.toml"));
        let run =
            tenure(["serve", "--db", "memory:", "--listen", "127.0.0.1:0", "--config", &config]).code(64);
        assert!(run.stderr.contains("[[runs.steps]] of tenure.toml: "), "{run:?}");
    }
}

//
#[test]
fn a_server_that_is_killed_takes_the_command_of_its_step_along() {
    let folder = folder("documents_step_killed");
    let db = format!("sqlite:{}/t.db", folder.path());
    folder.write("letter.md", LETTER);
    let life = Life::new(&folder, "life");
    // Also what the command started itself.
    let script = life.script("sleep 1000 & exec sleep 1000");
    folder.write(
        "slow.toml",
        format!("[[runs.steps]]\nname = \"slow\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\n"),
    );
    let server = Server::configured(&db, &folder.file("slow.toml"));
    tenure(["doc", "add", &folder.file("letter.md"), "--db", &db]).code(0);
    let living = life.begun();
    server.signal("-KILL");
    living.dead();
}

//
// fault: R12
#[test]
fn each_of_several_files_has_its_own_outcome_and_none_is_stored_twice() {
    let folder = folder("documents_refused");
    let db = format!("sqlite:{}/t.db", folder.path());
    folder.write("letter.md", LETTER);
    folder.write("empty.md", "");
    let [letter, empty] = ["letter.md", "empty.md"].map(|name| folder.file(name));
    let missing = folder.file("missing.md");
    folder.write("other.md", "# Another letter\n\nIt is here.\n");
    let other = folder.file("other.md");
    let all = ["doc", "add", &letter, &empty, &missing, &other, "--db", &db];
    let added = tenure(all).code(2);
    let ids = |stdout: &str| -> Vec<String> {
        stdout.lines().map(|line| line.split(' ').next().unwrap().to_string()).collect()
    };
    let first = ids(&added.stdout);
    assert_eq!(first.len(), 2, "one line for each that was added: {}", added.stdout);
    assert!(added.stdout.contains("letter.md") && added.stdout.contains("other.md"), "{}", added.stdout);
    for word in ["empty.md was not added", "the document has no bytes", "missing.md was not added"] {
        assert!(added.stderr.contains(word), "{word}: {}", added.stderr);
    }
    assert!(!added.stderr.contains("nothing was changed"), "{}", added.stderr);
    // Repeated, it adds what was missing and nothing twice.
    folder.write("empty.md", "# Not empty any more\n\nIt has words now.\n");
    let again = tenure(["doc", "add", &letter, &empty, &other, "--db", &db]).code(0);
    let again = ids(&again.stdout);
    assert_eq!([&again[0], &again[2]], [&first[0], &first[1]]);
    let listed = tenure(["doc", "list", "--db", &db]).code(0);
    assert_eq!(listed.stdout.matches("letter.md").count(), 1, "{}", listed.stdout);
    // Another name or another content is another document; so is one whose document was erased.
    folder.write("copy.md", LETTER);
    let copy = ids(&tenure(["doc", "add", &folder.file("copy.md"), "--db", &db]).code(0).stdout);
    assert!(!again.contains(&copy[0]));
    tenure(["item", "erase", &first[0], "--db", &db]).code(0);
    let anew = ids(&tenure(["doc", "add", &letter, "--db", &db]).code(0).stdout);
    assert_ne!(anew[0], first[0]);
    let text = tenure(["doc", "add", &empty, &missing, "--db", &db, "--json"]).code(2);
    let no: Value = serde_json::from_str(text.stderr.trim()).unwrap();
    assert_eq!(no["file"], missing.as_str(), "{no}");
}
