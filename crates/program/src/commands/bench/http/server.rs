//! A server to measure: `tenure serve` as anybody starts it, in a process of its own.

use std::net::SocketAddr;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tenure_databases::url::SecretUrl;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::commands::bench::measure::resident_kb_of;
use crate::outcome::Error;

/// Dropped, it is killed.
pub struct Served {
    process: Child,
    pub address: SocketAddr,
    /// It writes on; somebody must be there.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Served {
    pub async fn start(url: &SecretUrl) -> Result<Served, Error> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("TENURE_DB", url.reveal());
        let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let output = process.stdout.take().expect("its output is a pipe");
        let mut said = BufReader::new(output).lines();
        while let Some(line) = said.next_line().await? {
            let address = line.split("http://").nth(1).and_then(|address| address.trim().parse().ok());
            if let Some(address) = address {
                return Ok(Served { process, address, _said: said });
            }
        }
        Err(Error::Bench("the server ended before it listened".to_string()))
    }

    pub fn resident_mb(&self) -> Option<f64> {
        resident_kb_of(&self.process.id()?.to_string()).map(|kb| kb as f64 / 1_024.0)
    }

    /// Tells it to end, and waits until it has.
    pub async fn end(mut self) -> Result<(), Error> {
        let pid = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
        match self.process.wait().await?.success() {
            true => Ok(()),
            false => Err(Error::Bench("the server did not end well".to_string())),
        }
    }
}
