//! Sixteen agents as processes on one list, each in a working copy of its own, with commands that are killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::repository::Repository;
use crate::run::{read, tenure};
use crate::serving::Server;

const AGENTS: usize = 16;

/// In full with TENURE_ROUNDS=full.
fn tasks(few: usize) -> usize {
    if std::env::var("TENURE_ROUNDS").is_ok_and(|rounds| rounds == "full") { 2_000 } else { few }
}

/// What a command of an agent may say besides yes.
const DOCUMENTED: [&str; 4] =
    ["CLAIM_CONFLICT", "VERIFICATION_REQUIRED", "TRANSITION_REFUSED", "VALIDATE_TIMEOUT_OR_LOCK"];

struct Agent {
    place: String,
    session: String,
    /// Draws: the same for the same agent.
    dice: u64,
}

impl Agent {
    fn new(repository: &Repository, number: usize) -> Agent {
        let place = repository.worktree(&format!("w{number}"));
        let session = repository.session(&format!("agent{number}")).token;
        Agent { place, session, dice: number as u64 + 1 }
    }

    fn draw(&mut self, of: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % of
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        for name in ["DB", "URL", "STORE", "TOKEN", "TOKEN_FILE", "CONFIG", "AGENT", "PROTECTED", "DECIDING"]
        {
            command.env_remove(format!("TENURE_{name}"));
        }
        command.args(arguments).current_dir(&self.place).env("TENURE_SESSION", &self.session);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What it printed; None: it was refused, as is documented.
    fn run(&self, arguments: &[&str]) -> Option<Value> {
        let output = self.command(arguments).output().expect("the program runs");
        let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match output.status.code() {
            Some(0) => Some(serde_json::from_str(&said).unwrap_or(Value::Null)),
            Some(1) if why.trim().is_empty() => None,
            _ => {
                let known = DOCUMENTED.iter().any(|code| why.contains(&format!("error: {code}")));
                assert!(known, "{arguments:?}: {:?} {why}", output.status.code());
                None
            }
        }
    }

    /// Starts a command and kills it: at once, or when it has come as far as its first gate.
    fn kill(&mut self, arguments: &[&str]) {
        let mut child = self.command(arguments).spawn().expect("the program starts");
        if self.draw(2) == 0 {
            let mut line = String::new();
            let _ = BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line);
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    fn work(&mut self, killed: &AtomicU64) {
        loop {
            if self.draw(8) == 0 {
                self.kill(&["todo", "next", "--json"]);
                killed.fetch_add(1, Ordering::Relaxed);
            }
            let Some(next) = self.run(&["todo", "next", "--json"]) else { return };
            let id = next["todo"]["todo_id"].as_str().expect("an id").to_string();
            if self.draw(4) == 0 {
                self.kill(&["todo", "done", &id]);
                killed.fetch_add(1, Ordering::Relaxed);
            }
            self.run(&["todo", "done", &id, "--json"]);
        }
    }
}

fn all_is_done_once(repository: &Repository, expected: usize) {
    // One who vanished with a task in hand: when its session ends, the task is on the list again.
    let gone = Agent::new(repository, AGENTS);
    let taken = gone.run(&["todo", "next", "--json"]).expect("there is a task");
    let mut agents: Vec<Agent> = (0..AGENTS).map(|number| Agent::new(repository, number)).collect();
    let killed = AtomicU64::new(0);
    std::thread::scope(|scope| agents.iter_mut().for_each(|agent| drop(scope.spawn(|| agent.work(&killed)))));
    let left = repository.run(&["todo", "list", "--json"]).code(0).objects().remove(0);
    let left: Vec<&Value> = left["items"].as_array().unwrap().iter().map(|todo| &todo["todo_id"]).collect();
    assert_eq!(left, [&taken["todo"]["todo_id"]], "all but that one are verified");
    gone.run(&["session", "release", "--json"]).expect("it ends");
    let id = taken["todo"]["todo_id"].as_str().unwrap();
    assert_eq!(repository.shown(id)["state"], "Draft");
    agents[0].work(&AtomicU64::new(0));
    agents[0].run(&["validate", "--json"]).expect("all is sound");
    repository.run(&["todo", "export"]).code(0);
    let log = repository.path(".tenure/todo.jsonl");
    tenure(["verify", &log]).code(0);
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for line in read(&log).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["action"] == "commit" {
            *done.entry(line["item"].as_str().unwrap().to_string()).or_default() += 1;
        }
    }
    assert_eq!(done.len(), expected, "every task is verified");
    assert!(done.values().all(|times| *times == 1), "once: {done:?}");
    assert!(killed.into_inner() > 0, "somebody was killed");
}

fn filled(name: &str, few: usize) -> (Repository, usize) {
    let repository = Repository::new(name);
    let number = tasks(few);
    let list: String = (0..number).map(|number| format!("- [ ] Task {number}\n")).collect();
    repository.write("list.md", &list);
    repository.git(&["add", "list.md"]);
    repository.git(&["commit", "--quiet", "-m", "list"]);
    repository.run(&["todo", "import", "list.md"]).code(0);
    (repository, number)
}

// covers: T-02, T-03, T-06
#[test]
fn sixteen_agents_on_one_file_finish_every_task_once() {
    let (repository, number) = filled("todos_agents", 18);
    all_is_done_once(&repository, number);
}

// covers: T-02, T-14
#[test]
fn sixteen_agents_on_one_server_finish_every_task_once() {
    let (repository, number) = filled("todos_agents_served", 17);
    let _server = Server::start(&format!("sqlite:{}", repository.path(".tenure/todo.db")));
    all_is_done_once(&repository, number);
}
