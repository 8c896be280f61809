//! Sixteen agents as processes on one list, each in a working copy of its own. Commands are killed, and agents: who is started again
//! has another session, and what the old one held is taken over, or on the list again when that ends.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::repository::Repository;
use crate::run::{read, tenure};
use crate::serving::Server;

const AGENTS: usize = 16;
/// Receipts that are written to a file and checked from there.
const SAMPLED: usize = 6;
/// Every so many-th task has gates.
const GATED: usize = 6;

/// In full with TENURE_ROUNDS=full.
fn tasks(few: usize) -> usize {
    if std::env::var("TENURE_ROUNDS").is_ok_and(|rounds| rounds == "full") { 2_000 } else { few }
}

/// What a command of an agent may say besides yes.
const DOCUMENTED: [&str; 4] =
    ["CLAIM_CONFLICT", "VERIFICATION_REQUIRED", "TRANSITION_REFUSED", "VALIDATE_TIMEOUT_OR_LOCK"];

struct Agent {
    name: String,
    place: String,
    session: String,
    /// Draws: the same for the same agent.
    dice: u64,
}

/// Where the list is, and so how a dead agent's session ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// In a file: what time would end, is ended by moving its time.
    File,
    /// On a server, which has a clock of its own: whoever minds the agents ends it.
    Served,
}

/// What befell the agents.
#[derive(Default)]
struct Fates {
    commands_killed: AtomicU64,
    agents_killed: AtomicU64,
    taken_over: AtomicU64,
    expired: AtomicU64,
}

impl Agent {
    fn new(repository: &Repository, number: usize) -> Agent {
        let (name, place) = (format!("agent{number}"), repository.worktree(&format!("w{number}")));
        let session = repository.session(&name).token;
        Agent { name, place, session, dice: number as u64 + 1 }
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

    /// Works until nothing can be claimed, or until it dies with a task in hand, which happens at most so often.
    fn work(&mut self, fates: &Fates, lives: &mut u64) -> End {
        loop {
            if self.draw(8) == 0 {
                self.kill(&["todo", "next", "--json"]);
                fates.commands_killed.fetch_add(1, Ordering::Relaxed);
            }
            let Some(next) = self.run(&["todo", "next", "--json"]) else { return End::NothingLeft };
            let id = next["todo"]["todo_id"].as_str().expect("an id").to_string();
            let killed = self.draw(4) == 0;
            if killed {
                self.kill(&["todo", "done", &id]);
                fates.commands_killed.fetch_add(1, Ordering::Relaxed);
            }
            if killed && *lives > 0 {
                *lives -= 1;
                fates.agents_killed.fetch_add(1, Ordering::Relaxed);
                return End::Died;
            }
            self.run(&["todo", "done", &id, "--json"]);
        }
    }

    /// The agent is started again, and knows nothing of its session. What it held it takes over, or the old session ends, by silence or by
    /// somebody who minds it.
    fn again(&mut self, repository: &Repository, kept: Kept, fates: &Fates) {
        let dead = std::mem::replace(&mut self.session, repository.session(&self.name).token);
        match (self.draw(2), kept) {
            (0, _) => {
                let mine = self.run(&["todo", "list", "--mine", "--json"]).expect("a list");
                for todo in mine["items"].as_array().expect("items") {
                    self.run(&["todo", "claim", todo["todo_id"].as_str().expect("an id"), "--json"]);
                }
                fates.taken_over.fetch_add(1, Ordering::Relaxed);
            }
            (_, Kept::File) => {
                silent_for_too_long(repository, &dead);
                fates.expired.fetch_add(1, Ordering::Relaxed);
            }
            (_, Kept::Served) => {
                let live = std::mem::replace(&mut self.session, dead);
                self.run(&["session", "release", "--json"]).expect("it ends");
                self.session = live;
                fates.expired.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn live(&mut self, repository: &Repository, kept: Kept, fates: &Fates) {
        let mut lives = 2;
        while self.work(fates, &mut lives) == End::Died {
            self.again(repository, kept, fates);
        }
    }
}

#[derive(PartialEq, Eq)]
enum End {
    NothingLeft,
    Died,
}

/// As if the session had not been used for an hour.
fn silent_for_too_long(repository: &Repository, session: &str) {
    let id = session.split('.').next().expect("its id").parse::<tenure_core::id::ItemId>().expect("an id");
    let file = rusqlite::Connection::open(repository.path(".tenure/todo.db")).expect("the list");
    file.busy_timeout(std::time::Duration::from_secs(60)).expect("it waits for its turn");
    let over = "update items set expires = 1 where (id = ?1 or session = ?1) and expires is not null";
    file.execute(over, [&id.0.to_be_bytes()[..]]).expect("its time is over");
}

fn all_is_done_once(repository: &Repository, expected: usize, kept: Kept) {
    // One who vanished with a task in hand: when its session ends, the task is on the list again.
    let gone = Agent::new(repository, AGENTS);
    let taken = gone.run(&["todo", "next", "--json"]).expect("there is a task");
    let mut agents: Vec<Agent> = (0..AGENTS).map(|number| Agent::new(repository, number)).collect();
    let fates = Fates::default();
    std::thread::scope(|scope| {
        agents.iter_mut().for_each(|agent| drop(scope.spawn(|| agent.live(repository, kept, &fates))));
    });
    // Whoever came last may have died with the last one.
    agents[0].live(repository, kept, &fates);
    let left = repository.run(&["todo", "list", "--json"]).code(0).objects().remove(0);
    let left: Vec<&Value> = left["items"].as_array().unwrap().iter().map(|todo| &todo["todo_id"]).collect();
    assert_eq!(left, [&taken["todo"]["todo_id"]], "all but that one are verified");
    gone.run(&["session", "release", "--json"]).expect("it ends");
    let id = taken["todo"]["todo_id"].as_str().unwrap();
    assert_eq!(repository.shown(id)["state"], "Draft");
    agents[0].work(&fates, &mut 0);
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
    all_receipts_are_current(repository, &agents[0], &done, expected);
    let [commands, agents, taken_over, expired] =
        [fates.commands_killed, fates.agents_killed, fates.taken_over, fates.expired]
            .map(AtomicU64::into_inner);
    println!(
        "{expected} tasks; killed: {commands} commands, {agents} agents, of which {taken_over} took over and {expired} began anew"
    );
    assert!(commands > 0 && agents > 0, "somebody was killed");
}

/// In a working copy with the tree that they were proved on, the list shows none as stale; and some are held against it one by one.
fn all_receipts_are_current(
    repository: &Repository,
    agent: &Agent,
    done: &BTreeMap<String, usize>,
    expected: usize,
) {
    let all = repository.run(&["todo", "list", "--all", "--limit", "5000"]).within(&agent.place).code(0);
    assert_eq!(all.stdout.matches(" Verified ").count(), expected, "{all:?}");
    assert!(!all.stdout.contains("stale"), "{all:?}");
    for id in done.keys().step_by(expected.div_ceil(SAMPLED)) {
        let file = repository.folder.file("receipt.json");
        repository.run(&["todo", "receipt", id, &file]).code(0);
        let verified = repository.run(&["verify", &file]).within(&agent.place).code(0);
        assert!(verified.stdout.contains("current: "), "{verified:?}");
    }
}

fn filled(name: &str, few: usize) -> (Repository, usize) {
    let repository = Repository::new(name);
    let number = tasks(few);
    let list: String = (0..number).map(|number| format!("- [ ] Task {number}\n")).collect();
    repository.write("list.md", &list);
    repository.git(&["add", "list.md"]);
    repository.git(&["commit", "--quiet", "-m", "list"]);
    let made = repository.run(&["todo", "import", "list.md", "--json"]).code(0).objects().remove(0);
    for id in made["todos"].as_array().expect("ids").iter().step_by(GATED) {
        let id = id.as_str().expect("an id");
        let gates = ["--gate", "cmd:grep -q 'Task 0' list.md", "--gate", "file_exists:list.md"];
        repository.run(&[&["todo", "plan", id][..], &gates].concat()).code(0);
    }
    (repository, number)
}

// covers: T-02, T-03, T-06
#[test]
fn sixteen_agents_on_one_file_finish_every_task_once() {
    let (repository, number) = filled("todos_agents", 18);
    all_is_done_once(&repository, number, Kept::File);
}

// covers: T-02, T-14
#[test]
fn sixteen_agents_on_one_server_finish_every_task_once() {
    let (repository, number) = filled("todos_agents_served", 17);
    let _server = Server::start(&format!("sqlite:{}", repository.path(".tenure/todo.db")));
    all_is_done_once(&repository, number, Kept::Served);
}
