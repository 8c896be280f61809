//! A receipt in its own repository is held against the list and the working copy, and elsewhere against nothing.

use super::repository::Repository;
use crate::run::{read, tenure};

// covers: T-05
#[test]
fn a_receipt_is_held_against_the_list_that_it_is_from() {
    let repository = Repository::branched("todos_receipts");
    repository.write(".gitignore", "*.bin\n");
    repository.write("a.txt", "hello\n");
    repository.write("a.bin", "made\n");
    let id = repository.added(&["Write it", "--gate", "file_exists:a.bin"]);
    let ann = repository.session("ann");
    ann.run(&["todo", "claim", &id]).code(0);
    ann.run(&["todo", "done", &id]).code(0);
    let file = repository.folder.file("receipt.json");
    repository.run(&["todo", "receipt", &id, &file]).code(0);
    let verified = repository.run(&["verify", &file]).code(0);
    assert!(verified.stdout.contains("sound") && verified.stdout.contains("current: "), "{verified:?}");
    // Elsewhere there is nothing to hold it against.
    let elsewhere = Repository::branched("todos_receipts_elsewhere");
    elsewhere.added(&["Another list"]);
    for run in [tenure(["verify", &file]), elsewhere.run(&["verify", &file])] {
        let run = run.code(0);
        assert!(run.stdout.contains("the hash is right; held against no list"), "{run:?}");
    }
    let stale = |why: &str| {
        let run = repository.run(&["verify", &file]).code(1);
        assert!(run.stdout.contains("sound") && run.stdout.contains(&format!("stale: {why}")), "{run:?}");
        let told = repository.run(&["verify", &file, "--json"]).code(1).objects().remove(0);
        assert_eq!((&told["sound"], &told["current"]), (&true.into(), &false.into()), "{told}");
    };
    repository.write("a.txt", "jello\n");
    stale("the tree is ");
    repository.write("a.txt", "hello\n");
    repository.write("a.bin", "made again\n");
    stale("a.bin was changed");
    ann.run(&["todo", "done", &id]).code(0);
    stale("a newer proof is kept");
    repository.run(&["todo", "receipt", &id, &file]).code(0);
    repository.run(&["verify", &file]).code(0);
    repository.run(&["todo", "plan", &id, "--gate", "cmd:true"]).code(0);
    stale("the plan was changed");
    // One that was never written here, however right its hash is.
    let text = read(&file);
    let entry = text.split("\"entry_sha256\":\"").nth(1).expect("an entry").split('"').next().unwrap();
    repository.folder.write("forged.json", text.replace(entry, &"0".repeat(64)));
    let forged = repository.run(&["verify", &repository.folder.file("forged.json")]).code(1);
    assert!(forged.stderr.contains("is not in the history"), "{forged:?}");
}
