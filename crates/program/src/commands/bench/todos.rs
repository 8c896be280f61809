//! `tenure bench todos`: how long a command about tasks takes, as whoever types it waits for it.
//!
//! Every measurement is a process of this very program in a git repository of its own, on a list of ten thousand tasks: starting it,
//! opening the list, finding the workspace and asking git are all in it. Its target is time and not a ratio to the machine: what a
//! person feels does not depend on that.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::measure::{Latencies, rate};
use super::report::{self, Goal, Row};
use crate::cli::BenchTodos;
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::progress::Progress;
use crate::time::Stopwatch;

/// What feels like at once, with a prompt's own time to spare.
const TARGET_MS: f64 = 30.0;
/// What a bench of others would set, and what is not measured.
const FOREIGN: [&str; 11] = [
    "AGENT",
    "CONFIG",
    "DB",
    "DECIDING",
    "FILES",
    "PROTECTED",
    "SESSION",
    "STORE",
    "TOKEN",
    "TOKEN_FILE",
    "URL",
];

pub fn run(arguments: &BenchTodos, output: &mut Output) -> Result<Outcome, Error> {
    let of = |whole: usize, least: usize| if arguments.quick { least } else { whole };
    let (tasks, rounds) = (of(10_000, 100), of(25, 2));
    let folder =
        tempfile::tempdir_in(".").map_err(|why| Error::Bench(format!("no folder to work in: {why}")))?;
    let list = List::filled(folder.path(), tasks)?;
    let rows = measured(&list, rounds)?;
    report::show(rows, arguments.form.json, output)?;
    Ok(Outcome::Done)
}

/// A repository with a list, and somebody who works there.
struct List<'a> {
    root: &'a Path,
    session: String,
    ids: Vec<String>,
}

impl<'a> List<'a> {
    fn filled(root: &'a Path, tasks: usize) -> Result<List<'a>, Error> {
        Progress::new().say(&format!("a list of {tasks} tasks…"));
        git(root, &["init", "--quiet", "--initial-branch=todo/bench"])?;
        let mut boxes = String::new();
        for number in 0..tasks {
            let _ = writeln!(boxes, "- [ ] Task {number}");
        }
        std::fs::write(root.join("list.md"), boxes)?;
        git(root, &["add", "list.md"])?;
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        git(root, &[&who[..], &["commit", "--quiet", "-m", "list"]].concat())?;
        let mut list = List { root, session: String::new(), ids: Vec::new() };
        let made = list.asked(&["todo", "import", "list.md", "--json"])?;
        let ids = made["todos"].as_array().into_iter().flatten();
        list.ids = ids.filter_map(Value::as_str).map(str::to_string).collect();
        let session = list.asked(&["session", "acquire", "--agent", "bench", "--json"])?;
        list.session = session["session"].as_str().unwrap_or_default().to_string();
        Ok(list)
    }

    fn command(&self, arguments: &[&str]) -> Result<Command, Error> {
        let mut command = Command::new(std::env::current_exe()?);
        for name in FOREIGN {
            command.env_remove(format!("TENURE_{name}"));
        }
        if !self.session.is_empty() {
            command.env("TENURE_SESSION", &self.session);
        }
        command.args(arguments).current_dir(self.root).stdin(Stdio::null());
        Ok(command)
    }

    /// The object that a command prints. What is refused is no measurement.
    fn asked(&self, arguments: &[&str]) -> Result<Value, Error> {
        let said = self.command(arguments)?.output()?;
        match said.status.success() {
            true => Ok(serde_json::from_slice(&said.stdout).unwrap_or(Value::Null)),
            false => {
                let why = String::from_utf8_lossy(&said.stderr).into_owned();
                Err(Error::Bench(format!("{}: {why}", arguments.join(" "))))
            }
        }
    }

    fn timed(&self, arguments: &[&str], took: &mut Latencies) -> Result<(), Error> {
        let watch = Stopwatch::start();
        self.asked(arguments)?;
        took.add(watch.elapsed());
        Ok(())
    }
}

fn git(root: &Path, arguments: &[&str]) -> Result<(), Error> {
    let said = Command::new("git").args(arguments).current_dir(root).output()?;
    let why = || Error::Bench(format!("git: {}", String::from_utf8_lossy(&said.stderr).trim()));
    said.status.success().then_some(()).ok_or_else(why)
}

/// One after the other, round by round: a machine that is busy for a while is so for all of them.
fn measured(list: &List, rounds: usize) -> Result<Vec<Row>, Error> {
    let names = ["add", "list", "list_all", "show", "claim", "release", "done", "session_show", "validate"];
    let mut took = names.map(|_| Latencies::default());
    Progress::new().say("commands…");
    for id in list.ids.iter().take(rounds) {
        let [add, listed, all, show, claim, release, done, session, validate] = &mut took;
        list.timed(&["todo", "add", "One more"], add)?;
        list.timed(&["todo", "list"], listed)?;
        list.timed(&["todo", "list", "--all"], all)?;
        list.timed(&["todo", "show", id], show)?;
        list.timed(&["todo", "claim", id], claim)?;
        list.timed(&["todo", "release", id], release)?;
        list.asked(&["todo", "claim", id])?;
        list.timed(&["todo", "done", id], done)?;
        list.timed(&["session", "show"], session)?;
        list.timed(&["validate"], validate)?;
    }
    Ok(names.into_iter().zip(&took).map(|(name, took)| row(name, took, rounds)).collect())
}

fn row(name: &str, took: &Latencies, rounds: usize) -> Row {
    let median_ms = took.share_ms(0.5).unwrap_or_default();
    // It reads the whole history of every task, and says meanwhile that it does: nobody waits for that at a prompt.
    let goals = if name == "validate" { Vec::new() } else { vec![Goal::AtMost(1.0)] };
    let row = Row {
        name: format!("todo_{name}"),
        store: "sqlite",
        callers: Some(1),
        n: rounds,
        rate: rate(1, std::time::Duration::from_secs_f64(median_ms / 1_000.0)),
        limit_name: Some(format!("{TARGET_MS} ms")),
        limit: Some(1_000.0 / TARGET_MS),
        ratio: Some(median_ms / TARGET_MS),
        goals,
        ..Row::default()
    };
    row.with(took)
}
