//! Working copies, with the git that is installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use tenure_systems::todos::workspace::{Protected, Workspace};

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]).args(arguments);
    let said = git.current_dir(folder).output().unwrap();
    assert!(said.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
}

fn at(folder: &Path) -> Workspace {
    Workspace::find(folder).unwrap().expect("a working copy")
}

// covers: T-07
#[test]
fn a_workspace_is_found_from_everywhere_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("r");
    fs::create_dir_all(root.join("a/b")).unwrap();
    assert_eq!(Workspace::find(&root).unwrap().map(|found| found.root), None);
    git(&root, &["init", "--quiet"]);
    let unborn = at(&root.join("a/b"));
    assert_eq!((unborn.root.as_path(), unborn.branch.as_deref()), (root.as_path(), Some("main")));
    assert_eq!(unborn.commit().unwrap(), None, "there is no commit yet");
    assert!(Protected::default().judge(Some(&unborn.facts()), "1").is_err());
    git(&root, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    git(&root, &["switch", "--quiet", "-c", "todo/1"]);
    assert_eq!(Protected::default().judge(Some(&at(&root).facts()), "1"), Ok(()));
    git(&root, &["worktree", "add", "--quiet", "../w", "-b", "todo/2"]);
    let worktree = at(&root.parent().unwrap().join("w"));
    assert_eq!((worktree.home.as_path(), worktree.branch.as_deref()), (root.as_path(), Some("todo/2")));
    assert_ne!(worktree.root, root);
    git(&root, &["switch", "--quiet", "--detach"]);
    assert_eq!(at(&root).branch, None);
    assert!(Protected::default().judge(Some(&at(&root).facts()), "1").is_err(), "a detached head");
}

// covers: T-05
#[test]
fn a_tree_is_what_is_there_and_the_same_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let root = folder.path().join(name);
        fs::create_dir_all(root.join(".tenure")).unwrap();
        git(&root, &["init", "--quiet"]);
        fs::write(root.join("a.txt"), "one").unwrap();
        fs::write(root.join(".gitignore"), "*.log\n").unwrap();
        root
    };
    let (one, two) = (make("one"), make("two"));
    git(&one, &["add", "."]);
    git(&one, &["commit", "--quiet", "-m", "one"]);
    let tree = at(&one).tree().unwrap();
    assert_eq!(at(&two).tree().unwrap(), tree, "what is not committed counts as much");
    for (name, text) in [("x.log", "ignored"), (".tenure/todo.jsonl", "our own")] {
        fs::write(one.join(name), text).unwrap();
        assert_eq!(at(&one).tree().unwrap(), tree, "{name}");
    }
    git(&one, &["add", "--force", ".tenure"]);
    git(&one, &["commit", "--quiet", "-m", "our own"]);
    assert_eq!(at(&one).tree().unwrap(), tree);
    fs::write(one.join("a.txt"), "two").unwrap();
    assert_ne!(at(&one).tree().unwrap(), tree);
    fs::write(one.join("a.txt"), "one").unwrap();
    fs::write(one.join("new.txt"), "").unwrap();
    assert_ne!(at(&one).tree().unwrap(), tree, "a new file");
    fs::remove_file(one.join("new.txt")).unwrap();
    assert_eq!(at(&one).tree().unwrap(), tree);
    let index = fs::read(one.join(".git/index")).unwrap();
    at(&one).tree().unwrap();
    assert_eq!(fs::read(one.join(".git/index")).unwrap(), index, "the repository is left alone");
}
