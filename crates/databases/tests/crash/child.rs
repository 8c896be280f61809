//! Processes that can be killed: this very test program, started once more and told what to be.
//!
//! So a child always is of the same build as its test, and nothing has to be found.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tenure_core::lifecycle::shipped;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::url::Url;

use crate::voice::{MARK, Voice};
use crate::writer::{self, fast_clock};
use crate::{inbox, migrations, script};

const TOLD: &str = "TENURE_CHILD";

/// A child, killed when it is dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    lines: BufReader<ChildStdout>,
    input: Option<ChildStdin>,
}

impl Program {
    pub fn start(told: &str) -> Program {
        Program::start_with(told, &[])
    }

    pub fn start_with(told: &str, variables: &[(&str, String)]) -> Program {
        let program = std::env::current_exe().expect("the test has a program");
        let mut child = Command::new(program)
            .args(["--exact", "child::a_child_does_what_it_is_told", "--nocapture", "--test-threads=1"])
            .env(TOLD, told)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child starts");
        let lines = BufReader::new(child.stdout.take().expect("it was asked for"));
        let input = child.stdin.take();
        Program { child, lines, input }
    }

    /// The next line; None when the child has ended. A line that was cut off says nothing.
    pub fn line(&mut self) -> Option<String> {
        loop {
            let mut line = Vec::new();
            self.lines.read_until(b'\n', &mut line).expect("a pipe can be read");
            let line = String::from_utf8(line).expect("a child speaks UTF-8");
            let whole = line.strip_suffix('\n')?;
            if let Some(said) = whole.strip_prefix(MARK) {
                return Some(said.to_string());
            }
        }
    }

    /// The lines up to one that begins like this, or to the end.
    pub fn until(&mut self, begin: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line() {
            let found = line.starts_with(begin);
            lines.push(line);
            if found {
                break;
            }
        }
        lines
    }

    /// Lets a child go on that waits.
    pub fn go_on(&mut self) {
        let input = self.input.as_mut().expect("the child listens");
        // A child that has ended says so by its lines.
        let _ = input.write_all(b"\n").and_then(|()| input.flush());
    }

    /// Kills it with SIGKILL and answers what it had still said.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("a child can be killed");
        let rest: Vec<String> = std::iter::from_fn(|| self.line()).collect();
        self.child.wait().expect("a child ends");
        rest
    }

    /// Waits for its end: did it end well?
    pub fn ended_well(mut self) -> bool {
        while self.line().is_some() {}
        self.child.wait().expect("a child ends").success()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn sqlite_options() -> sqlite::Options {
    let clock = Some(std::sync::Arc::new(fast_clock) as _);
    sqlite::Options { tables: shipped::tables(), clock, ..sqlite::Options::default() }
}

pub fn postgres_options() -> postgres::Options {
    postgres::Options { tables: shipped::tables(), clock: Some(std::sync::Arc::new(fast_clock)) }
}

/// Runs something on whichever database an address names.
macro_rules! on_database {
    ($url:expr, $voice:ident, $database:ident => $run:expr) => {
        match $url.parse::<Url>().expect("an address") {
            Url::Memory => panic!("nothing survives in memory"),
            Url::Sqlite(path) => {
                let $database = open(&path, &$voice).await;
                $run
            }
            Url::Postgres(url) => {
                let $database = Postgres::connect(&url, postgres_options()).await.expect("it opens");
                $run
            }
        }
    };
}

/// Opens a file; while that fails, says so and waits.
async fn open(path: &Path, voice: &Voice) -> Sqlite {
    loop {
        match Sqlite::open(path, sqlite_options()) {
            Ok(database) => return database,
            Err(error) => {
                voice.say(&format!("error unavailable {error}"));
                voice.go_on().await;
            }
        }
    }
}

/// Not told to be anything, it is a test of its own: a child says what it does, and ends with its input.
#[test]
fn a_child_does_what_it_is_told() {
    match std::env::var(TOLD) {
        Ok(told) => {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(be(&told));
        }
        Err(_) => {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}", folder.path().join("tenure.db").display());
            let mut child = Program::start(&format!("writer {url} 1 1"));
            assert!(child.until("created 1-0-1 ").last().is_some_and(|line| line.starts_with("created")));
            child.input = None;
            assert!(child.ended_well(), "without input it ends");
        }
    }
}

async fn be(told: &str) {
    let words: Vec<&str> = told.split(' ').collect();
    let voice = Voice::new();
    match words[..] {
        ["writer", url, seed, workers] => {
            let (seed, workers) = (seed.parse().expect("a seed"), workers.parse().expect("a number"));
            on_database!(url, voice, database => {
                voice.say("open");
                writer::work(&database, &voice, seed, workers).await;
            });
        }
        ["relaxed", url, seed, _] => {
            let Ok(Url::Sqlite(path)) = url.parse() else { panic!("{url} is no file") };
            let options = sqlite::Options { relaxed: true, ..sqlite_options() };
            let database = Sqlite::open(&path, options).expect("it opens");
            writer::work(&database, &voice, seed.parse().expect("a seed"), 1).await;
        }
        ["script", url] => {
            on_database!(url, voice, database => script::play(&database, &voice, url).await);
            voice.say("end");
        }
        ["inbox", url] => on_database!(url, voice, database => inbox::take(&database, &voice).await),
        ["migrate", path] => {
            migrations::bring_up(Path::new(path));
            voice.say("end");
        }
        ["connect", url] => {
            Postgres::connect(url, postgres_options()).await.expect("it opens");
            voice.say("end");
        }
        _ => panic!("a child was told to be `{told}`"),
    }
}
