//! Gates that declare the paths that they look at: the proof is stale when one of these has changed, and not before.

use serde_json::{Value, json};

use super::repository::{Repository, Session};

/// The drift of a task. `todo show`, `todo list`, `verify` of its receipt and `validate` agree on it.
#[track_caller]
fn told(repository: &Repository, id: &str) -> Vec<String> {
    let shown = repository.shown(id)["stale"].clone();
    let list = repository.run(&["todo", "list", "--all", "--json"]).code(0).objects().remove(0);
    let listed = list["items"].as_array().unwrap().iter().find(|todo| todo["todo_id"] == id).unwrap();
    assert_eq!(listed["stale"], shown);
    let file = repository.folder.file("receipt.json");
    repository.run(&["todo", "receipt", id, &file]).code(0);
    let exit = i32::from(shown != json!([]));
    let verified = repository.run(&["verify", &file, "--json"]).code(exit).objects().remove(0);
    assert_eq!(verified["stale"], shown);
    let validated = repository.run(&["validate", "--json"]).code(0).objects().remove(0);
    let stale: Vec<&Value> = validated["stale"].as_array().unwrap().iter().collect();
    let of_it = stale.iter().find(|stale| stale["todo_id"] == id);
    assert_eq!(of_it.map_or(json!([]), |stale| stale["stale"].clone()), shown, "{validated}");
    shown.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect()
}

fn proved(repository: &Repository, ann: &Session, gates: &[&str]) -> String {
    let mut arguments = vec!["x"];
    arguments.extend(gates.iter().flat_map(|gate| ["--gate", gate]));
    let id = repository.added(&arguments);
    ann.run(&["todo", "claim", &id]).code(0);
    ann.run(&["todo", "done", &id]).code(0);
    id
}

fn commit(repository: &Repository) {
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "-m", "more"]);
}

// fault: X14
// covers: T-05
#[test]
fn only_a_change_of_the_declared_paths_is_drift() {
    let repository = Repository::branched("todos_declared");
    repository.folder.inner("r/src");
    repository.write(".gitignore", "*.bin\n");
    for file in ["src/a.rs", "Cargo.toml", "notes.md"] {
        repository.write(file, "one\n");
    }
    commit(&repository);
    let ann = repository.session("ann");
    let declared = proved(&repository, &ann, &["in[src/, Cargo.toml] cmd:true", "in[Cargo.toml] test:true"]);
    let mixed = proved(&repository, &ann, &["in[src] cmd:true", "cmd:true"]);
    let receipt = repository.run(&["todo", "receipt", &declared, "-"]).code(0).objects().remove(0);
    let paths: Vec<&Value> =
        receipt["proof"]["paths"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, ["Cargo.toml", "src"], "{receipt}");
    assert_eq!(receipt["proof"]["results"][1]["gate"], "in[Cargo.toml,src] cmd:true");
    let is_stale = |id: &str, begins: &[&str]| {
        let told = told(&repository, id);
        let fits =
            told.len() == begins.len() && told.iter().zip(begins).all(|(said, word)| said.starts_with(word));
        assert!(fits, "{begins:?}: {told:?}");
    };
    // Another file, committed or not, is none of its business; a plan with a gate that declares none depends on the whole tree.
    repository.write("notes.md", "two\n");
    is_stale(&declared, &[]);
    is_stale(&mixed, &["the tree is "]);
    commit(&repository);
    is_stale(&declared, &[]);
    is_stale(&mixed, &["the tree is "]);
    repository.write("src/made.bin", "what git ignores\n");
    is_stale(&declared, &[]);
    // Untracked, staged and committed.
    repository.write("src/b.rs", "new\n");
    is_stale(&declared, &["src was changed"]);
    commit(&repository);
    is_stale(&declared, &["src was changed"]);
    std::fs::remove_file(repository.path("Cargo.toml")).unwrap();
    is_stale(&declared, &["Cargo.toml is gone", "src was changed"]);
    let shown = repository.run(&["todo", "show", &declared]).code(0).stdout;
    assert!(
        shown.contains("stale: Cargo.toml is gone") && shown.contains("stale: src was changed"),
        "{shown}"
    );
    let validated = repository.run(&["validate"]).code(0).stdout;
    assert!(
        validated.contains(&format!("stale {declared} x: Cargo.toml is gone; src was changed")),
        "{validated}"
    );
    // As it was: current again, whatever was committed meanwhile.
    repository.write("Cargo.toml", "one\n");
    repository.git(&["rm", "--quiet", "src/b.rs"]);
    is_stale(&declared, &[]);
    repository.run(&["todo", "plan", &declared, "--gate", "in[src] cmd:true"]).code(0);
    is_stale(&declared, &["the plan was changed"]);
}

// fault: X14
// covers: T-05, T-04
#[test]
fn a_declared_path_that_git_does_not_see_proves_nothing() {
    let repository = Repository::branched("todos_undeclared");
    repository.write(".gitignore", "*.bin\n");
    repository.write("made.bin", "x\n");
    let ann = repository.session("ann");
    for path in ["made.bin", "srcc", ".gitignore/x"] {
        let id = repository.added(&["x", "--gate", &format!("in[{path},.gitignore] cmd:true")]);
        ann.run(&["todo", "claim", &id]).code(0);
        let run = ann.run(&["todo", "done", &id]).code(1);
        assert!(
            run.stderr.contains(&format!("{path} (a gate declares it, and the tree has nothing there")),
            "{run:?}"
        );
        ann.run(&["todo", "release", &id]).code(0);
    }
    let run = repository.run(&["todo", "add", "x", "--gate", "in[src/*.rs] cmd:true"]).code(1);
    assert!(run.stderr.contains("without wildcards"), "{run:?}");
}
