//! The commands of docs/todos.md run as they stand there: in a repository without a server, and against one.
//!
//! What a reader does between two lines (writing the file, having somebody wait for a word) is done before the line that needs it. `ID`
//! is the id of the task that the line is about.

use std::os::unix::fs::symlink;
use std::process::Command;

use super::repository::Repository;
use crate::serving::Server;

const PAGE: &str = include_str!("../../../../../docs/todos.md");

/// The lines of the blocks in this language, in order.
fn blocks(language: &str) -> Vec<Vec<&'static str>> {
    let opening = format!("```{language}\n");
    let inner =
        PAGE.split(opening.as_str()).skip(1).map(|rest| rest.split("```").next().expect("it is closed"));
    inner.map(|block| block.lines().collect()).collect()
}

/// What has happened before a line is typed.
fn before(line: &str) -> &'static str {
    match line {
        "tenure todo list" => "ID=$(only)",
        "tenure todo done ID" => "echo hello >hello.txt; DONE=$ID",
        "tenure inbox" => "ID=$(waiting one)",
        line if line.starts_with("tenure inbox reject") => "ID=$(waiting two)",
        line if line.starts_with("tenure todo receipt") => "ID=$DONE",
        "tenure todo import TODO.md" => "printf -- '- [ ] One\\n  - [ ] Part of it\\n' >TODO.md",
        _ => ":",
    }
}

/// Words of the scripts: the first task of the list, and a task of an agent that waits for a person's word.
const WORDS: &str = r#"
first() { sed -n 's/.*"todo_id":"\([^"]*\)".*/\1/p' | head -1; }
only() { tenure todo list --json | first; }
waiting() (
    unset TENURE_SESSION
    eval "$(tenure session acquire --agent "$1" | head -1)"
    id=$(tenure todo add "Of $1" --gate 'human:reads well' --json | first)
    tenure todo claim "$id" >&2
    echo "$id"
)
"#;

/// Runs a script in the repository, as a shell that ends with the first command that fails.
#[track_caller]
fn run(repository: &Repository, script: &str, environment: &[(&str, &str)]) {
    let bin = repository.folder.inner("bin");
    let _ = symlink(env!("CARGO_BIN_EXE_tenure"), format!("{bin}/tenure"));
    let path = format!("{bin}:{}", std::env::var("PATH").expect("there is a PATH"));
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &format!("{WORDS}{script}")]).current_dir(repository.path("")).env("PATH", path);
    for name in
        ["DB", "URL", "STORE", "TOKEN", "TOKEN_FILE", "CONFIG", "AGENT", "SESSION", "PROTECTED", "DECIDING"]
    {
        shell.env_remove(format!("TENURE_{name}"));
    }
    let said = shell.envs(environment.iter().copied()).output().expect("sh is everywhere");
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{script}\n--- it printed\n{out}\n--- and complained\n{err}");
}

/// Every line of the page, in its order.
fn read_aloud(repository: &Repository, has_list: bool) -> String {
    let receipt = repository.folder.file("receipt.json");
    let is_local = |line: &&&str| ["tenure todo export", "tenure todo join"].contains(*line);
    let lines: Vec<&str> = blocks("sh").concat();
    assert!(lines.len() >= 15, "the blocks are found: {lines:?}");
    let lines = lines.iter().filter(|line| has_list || !is_local(line));
    let typed = lines.map(|line| {
        let real = line.replace("/tmp/receipt.json", &receipt).replace(" ID", " \"$ID\"");
        format!("{}\n{real}\n", before(line))
    });
    typed.collect()
}

/// The commands that the instructions for agents name, found by how they begin.
fn instructed(begins: &str) -> String {
    let block = blocks("text").concat().join("\n");
    let eval = block.lines().find_map(|line| line.split("Begin with: ").nth(1));
    let named = block.split('`').skip(1).step_by(2).map(str::to_string);
    let mut all = eval.into_iter().map(str::to_string).chain(named);
    let found = all.find(|command| command.starts_with(begins));
    let found = found.unwrap_or_else(|| panic!("no command begins with {begins}"));
    found.replace("YOUR-NAME", "robo").replace(" ID", " \"$ID\"")
}

/// What an agent does that follows the instructions: a task that it finishes at the second try, and one that it gives back.
fn followed() -> String {
    let [begin, next, show, done, release, end] = [
        "eval ",
        "tenure todo next",
        "tenure todo show",
        "tenure todo done",
        "tenure todo release",
        "tenure session release",
    ]
    .map(instructed);
    format!(
        r#"
tenure todo add 'Make it' --gate 'cmd:test -f made'
tenure todo add 'Leave it'
{begin}
why=$(tenure todo next 2>&1) && exit 3
case $why in *WORKSPACE_REQUIRED*) ;; *) echo "$why"; exit 4 ;; esac
eval "$(echo "$why" | sed -n 's/.*; run //p')"
ID=$({next} | first)
{show}
why=$({done} 2>&1) && exit 5
case $why in *VERIFICATION_REQUIRED*) ;; *) echo "$why"; exit 6 ;; esac
touch made
{done}
ID=$({next} | first)
{release}
{end}
unset TENURE_SESSION
tenure todo list --state Verified | grep 'Make it'
tenure todo list --state Draft | grep 'Leave it'
"#
    )
}

// covers: T-14
#[test]
fn the_page_about_tasks_runs_in_a_repository() {
    let repository = Repository::new("todos_docs");
    run(&repository, &read_aloud(&repository, true), &[]);
    let repository = Repository::new("todos_docs_agent");
    run(&repository, &followed(), &[]);
}

// covers: T-14
#[test]
fn the_page_about_tasks_runs_against_a_server() {
    for (name, is_agent) in [("todos_docs_served", false), ("todos_docs_agent_served", true)] {
        let repository = Repository::new(name);
        let server = Server::start(&format!("sqlite:{}", repository.folder.file("served.db")));
        let url = format!("http://{}", server.address);
        let script = if is_agent { followed() } else { read_aloud(&repository, false) };
        run(&repository, &script, &[("TENURE_URL", &url)]);
        assert!(!std::fs::exists(repository.path(".tenure")).unwrap(), "the list is on the server");
    }
}
