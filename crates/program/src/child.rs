//! Processes of this very program that a command starts, listens to, stops and kills. What they do is in `commands/part`.
//!
//! They talk in lines. A child ends with its input, and on Linux it dies with its parent, also when it is stopped.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tenure_databases::url::SecretUrl;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};

use crate::outcome::Error;

/// A child. Dropped, it is killed.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    input: Option<ChildStdin>,
}

pub type Said = Lines<BufReader<ChildStdout>>;

impl Child {
    /// Starts this program as a part on this database, with these arguments. The URL is in its environment: every user of the
    /// machine sees the arguments of a process.
    pub fn start(part: &str, db: &SecretUrl, arguments: &[(&str, String)]) -> Result<(Child, Said), Error> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["part", part]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        command.env("TENURE_DB", db.reveal());
        for (name, value) in arguments {
            command.args([format!("--{name}"), value.clone()]);
        }
        let mut process = command.spawn()?;
        let input = process.stdin.take();
        let output = process.stdout.take().expect("its output is a pipe");
        Ok((Child { process, input }, BufReader::new(output).lines()))
    }

    /// Tells it something. One that is dead hears nothing.
    pub async fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{line}\n").as_bytes()).await;
        }
    }

    /// SIGSTOP: it stands still until it is told to go on, and knows nothing of it.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// SIGKILL.
    pub async fn kill(mut self) {
        // One that has ended by itself is as dead.
        let _ = self.process.kill().await;
    }

    /// Waits for its end, which the end of its input is. False: it did not end well.
    pub async fn end(mut self) -> bool {
        self.input = None;
        self.process.wait().await.is_ok_and(|status| status.success())
    }

    fn signal(&self, signal: Signal) {
        let pid = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }
}
