//! Processes that can be killed: this very test program, started once more and told what to be.
//!
//! So a child always is of the same build as its test, and nothing has to be found. Whoever has such children has a module
//! `child` with a test `a_child_does_what_it_is_told`. Tests of other crates use this file, too.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::voice::MARK;

/// What a child is told, in its environment.
pub const TOLD: &str = "TENURE_CHILD";

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

    /// No more input: it ends.
    pub fn close(&mut self) {
        self.input = None;
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it with SIGKILL and answers what it had still said.
    pub fn kill(mut self) -> Vec<String> {
        self.child.kill().expect("a child can be killed");
        let rest: Vec<String> = std::iter::from_fn(|| self.line()).collect();
        self.child.wait().expect("a child ends");
        rest
    }

    /// Whether it has ended by now.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked for").is_some()
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
