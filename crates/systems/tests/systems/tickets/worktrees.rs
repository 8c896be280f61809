//! Patches are what was changed, whatever git is told and wherever whoever worked there has gone.

use std::fs;
use std::path::Path;
use std::process::Command;

use tenure::core::id::ItemId;
use tenure_systems::tickets::{Checked, Patch, Worktree, check};

const ORDER: ItemId = ItemId(77);

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]).args(arguments);
    let said = git.current_dir(folder).output().unwrap();
    assert!(said.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

/// A repository with one commit and one file.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    fs::write(folder.path().join("README.md"), "# a project\n").unwrap();
    git(folder.path(), &["add", "--all"]);
    git(folder.path(), &["commit", "--quiet", "--message", "first"]);
    folder
}

/// What becomes of a worktree in which somebody works so.
async fn worked(repository: &Path, work: impl FnOnce(&Path)) -> Patch {
    let worktree = Worktree::make(repository, "HEAD", ORDER).await.unwrap();
    work(&worktree.folder);
    let patch = worktree.patch("# 7: say hello\n\nTicket 1").await.unwrap();
    worktree.remove().await;
    patch
}

fn greet(folder: &Path) {
    fs::write(folder.join("README.md"), "# a project\n\nhello  \n").unwrap();
    fs::write(folder.join("seal"), b"\0\x01\x02").unwrap();
}

fn passed(checked: &[Checked]) -> bool {
    checked.iter().all(|check| check.passed)
}

// covers: M-03, M-04
#[tokio::test]
async fn a_patch_applies_whatever_somebody_has_configured_for_their_own_eyes_and_commits() {
    let folder = repository();
    let hooks = folder.path().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["pre-commit", "commit-msg", "post-checkout", "reference-transaction"] {
        let path = hooks.join(hook);
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&path).status().unwrap().success());
    }
    fs::write(folder.path().join(".git/info/attributes"), "*.md diff=loud\n").unwrap();
    for (name, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "false"),
        ("diff.loud.textconv", "tr a-z A-Z <"),
        ("diff.renames", "copies"),
        ("color.ui", "always"),
        ("apply.whitespace", "error-all"),
        ("core.autocrlf", "true"),
        ("core.safecrlf", "true"),
        ("commit.gpgSign", "true"),
        ("gpg.program", "false"),
        ("commit.cleanup", "strip"),
    ] {
        git(folder.path(), &["config", name, value]);
    }
    let patch = worked(folder.path(), greet).await;
    let gates = ["test:grep -q 'hello  ' README.md", "cmd:test -s seal"].map(|gate| gate.parse().unwrap());
    let checked = check(folder.path(), &patch, &gates).await;
    assert!(checked.len() == 3 && passed(&checked), "{checked:?}\n{}", patch.diff);
    assert_eq!(git(folder.path(), &["log", "--format=%s", "-1", &patch.branch]), "# 7: say hello\n");
}

/// The patch is what the branch has, and neither another branch nor the repository's own tree has any of it.
fn is_on_its_branch(repository: &Path, patch: &Patch, main: &str) {
    assert_eq!(patch.branch, format!("tenure/{ORDER}"));
    let text = git(repository, &["show", &format!("{}:README.md", patch.branch)]);
    assert_eq!(text, "# a project\n\nhello  \n");
    let tree = |of: &str| git(repository, &["rev-parse", &format!("{of}^{{tree}}")]);
    assert_ne!(tree(&patch.branch), tree(&patch.base));
    assert_eq!(git(repository, &["rev-parse", "main"]), main);
    assert_eq!(git(repository, &["status", "--porcelain"]), "");
}

// covers: M-03
#[tokio::test]
async fn a_patch_is_on_its_branch_wherever_its_executor_has_gone() {
    let folder = repository();
    let main = git(folder.path(), &["rev-parse", "main"]);
    let commit = |folder: &Path| {
        git(folder, &["add", "--all"]);
        git(folder, &["commit", "--quiet", "--message", "mine"]);
    };
    for (name, work) in [
        ("stays", Box::new(greet) as Box<dyn Fn(&Path)>),
        (
            "commits",
            Box::new(|folder| {
                greet(folder);
                commit(folder);
            }),
        ),
        (
            "switches",
            Box::new(|folder| {
                git(folder, &["switch", "--quiet", "-c", "switched"]);
                greet(folder);
            }),
        ),
        (
            "switches and commits",
            Box::new(|folder| {
                git(folder, &["switch", "--quiet", "-c", "committed"]);
                fs::write(folder.join("seal"), "early").unwrap();
                commit(folder);
                greet(folder);
            }),
        ),
        (
            "detaches",
            Box::new(|folder| {
                git(folder, &["switch", "--quiet", "--detach"]);
                greet(folder);
                commit(folder);
            }),
        ),
        (
            "deletes",
            Box::new(|folder| {
                git(folder, &["switch", "--quiet", "--detach"]);
                git(folder, &["branch", "--quiet", "-D", &format!("tenure/{ORDER}")]);
                greet(folder);
            }),
        ),
        (
            "begins anew",
            Box::new(|folder| {
                git(folder, &["switch", "--quiet", "--orphan", "anew"]);
                greet(folder);
            }),
        ),
    ] {
        eprintln!("{name}");
        let patch = worked(folder.path(), work).await;
        is_on_its_branch(folder.path(), &patch, &main);
        assert!(passed(&check(folder.path(), &patch, &[]).await), "{name}: {}", patch.diff);
    }
    // What somebody committed themselves is behind it.
    assert_eq!(git(folder.path(), &["log", "--format=%s", "-1", "committed"]), "mine\n");
    assert_eq!(
        git(folder.path(), &["rev-parse", "switched"]),
        main,
        "nothing is committed to another branch"
    );
}

// covers: M-03
#[tokio::test]
async fn who_changes_nothing_leaves_a_branch_that_is_where_it_began() {
    let folder = repository();
    let patch = worked(folder.path(), |_| {}).await;
    assert_eq!(patch.diff, "");
    assert_eq!(git(folder.path(), &["rev-parse", &patch.branch]).trim(), patch.base);
}

#[tokio::test]
async fn copies_in_use_are_left_alone_and_those_of_the_dead_are_removed() {
    let folder = repository();
    let base = git(folder.path(), &["rev-parse", "main"]).trim().to_string();
    let patch = Patch { base: base.clone(), branch: "main".to_string(), diff: String::new() };
    // Of a process of this number, which is dead, and of another.
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let places = tempfile::tempdir().unwrap();
    for process in [std::process::id(), child.id()] {
        let place = places.path().join(format!("tenure-gate-{process}-0123456789abcdef"));
        git(folder.path(), &["worktree", "add", "--quiet", "--detach", place.to_str().unwrap(), &base]);
    }
    let pipe = folder.path().join(".git/go");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let waits = format!("cmd:cat {} && test -e README.md", pipe.display());
    let (waits, quick) = ([waits.parse().unwrap()], ["cmd:test -e README.md".parse().unwrap()]);
    let goes = async {
        // Opened once the other reads from it: its copy is there.
        let path = pipe.clone();
        let opened = tokio::task::spawn_blocking(move || fs::OpenOptions::new().write(true).open(path));
        let opened = opened.await.unwrap().unwrap();
        let checked = check(folder.path(), &patch, &quick).await;
        drop(opened);
        checked
    };
    let (waited, quick) = tokio::join!(check(folder.path(), &patch, &waits), goes);
    assert!(passed(&waited) && passed(&quick), "{waited:?} {quick:?}");
    let trees = git(folder.path(), &["worktree", "list", "--porcelain"]);
    assert_eq!(trees.matches("worktree ").count(), 1, "{trees}");
    assert_eq!(fs::read_dir(places.path()).unwrap().count(), 0);
}
