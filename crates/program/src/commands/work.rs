//! `tenure work`: a command run for every item of a kind that comes up.
//!
//! ```text
//! lease ──► attempt (a task each): start the command ─ renew, watch ─► its end ─► commit, fail or release
//!   ▲                                                    │
//!   └── as many as there is room for                     └─ lease lost, cancelled, stopped: the process group is ended
//! ```
//!
//! The file knows nothing of leases' clocks (`hold`), processes (`process`) or what an exit code means (`told`).

mod attempt;
mod desk;
mod hold;
mod process;
mod told;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cli::Work;
use crate::client::{Client, Loops};
use crate::database::{self, Access};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, count};
use crate::time::{Stopwatch, pause};
use attempt::Attempt;
use desk::{Asked, Desk};

/// Who works without a token.
const ACTOR: &str = "worker:local";

pub fn run(arguments: &Work, output: &mut Output) -> Result<Outcome, Error> {
    is_there(&arguments.command[0])?;
    database::run(async {
        let at = &arguments.at;
        let client = Client::open(&at.reach, at.store.clone(), Access::MayCreate, Loops::Run).await?;
        let desk = Arc::new(Desk::new(client.acting(ACTOR), arguments));
        // Heard from here on: whoever reads the line may send one.
        let signals = Signals::new()?;
        output.line(format!(
            "working on {}: {} at a time; SIGTERM lets what runs finish",
            arguments.kind,
            count(usize::from(arguments.concurrency), "command")
        ))?;
        Worker { desk, running: JoinSet::new(), end: watch::Sender::new(false), draining: None }
            .work(arguments, signals, output)
            .await
    })
}

/// A name that was mistyped must not cost an attempt of every item there is.
fn is_there(program: &str) -> Result<(), Error> {
    let found = match program.contains('/') {
        true => Path::new(program).exists(),
        false => std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).exists())),
    };
    match found {
        true => Ok(()),
        false => {
            Err(Error::Command { program: program.to_string(), why: "there is no such program".to_string() })
        }
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Signals, Error> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Signals { terminate, interrupt })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

struct Worker {
    desk: Arc<Desk>,
    running: JoinSet<String>,
    /// True: what still runs is ended.
    end: watch::Sender<bool>,
    /// Since when nothing new is begun.
    draining: Option<Stopwatch>,
}

impl Worker {
    async fn work(
        mut self,
        arguments: &Work,
        mut signals: Signals,
        output: &mut Output,
    ) -> Result<Outcome, Error> {
        let (most, grace) = (usize::from(arguments.concurrency), Duration::from_secs(arguments.grace));
        let mut asking = None;
        let mut ending = Ok(Outcome::Done);
        loop {
            let room = most - self.running.len();
            if asking.is_none() && self.draining.is_none() && room > 0 {
                asking = Some(Box::pin(self.desk.clone().acquire(room)));
            }
            if asking.is_none() && self.running.is_empty() {
                return ending;
            }
            tokio::select! {
                () = signals.next() => {
                    if self.draining.is_some() {
                        self.end.send_replace(true);
                    } else {
                        output.line(format!("stopping; {} may finish", count(self.running.len(), "command")))?;
                    }
                    self.draining.get_or_insert_with(Stopwatch::start);
                }
                () = over(self.draining, grace), if !*self.end.borrow() => {
                    self.end.send_replace(true);
                }
                Some(line) = self.running.join_next() => {
                    output.line(line.unwrap_or_else(|why| format!("an attempt was cut short: {why}")))?;
                }
                // What was asked for is waited for, also when nothing new shall begin: it may bring leases, to be given back.
                asked = async { asking.as_mut().expect("only then").await }, if asking.is_some() => {
                    asking = None;
                    match asked {
                        Ok(asked) => self.begin(asked, arguments),
                        Err(error) => {
                            self.draining.get_or_insert_with(Stopwatch::start);
                            ending = Err(error);
                        }
                    }
                }
            }
        }
    }

    fn begin(&mut self, asked: Asked, arguments: &Work) {
        for lease in asked.leases {
            let attempt = Attempt::new(self.desk.clone(), lease, asked.at, arguments, self.end.subscribe());
            match self.draining {
                Some(_) => self.running.spawn(attempt.give_back()),
                None => self.running.spawn(attempt.run()),
            };
        }
    }
}

/// Never, before the draining has begun.
async fn over(draining: Option<Stopwatch>, grace: Duration) {
    match draining {
        Some(since) => pause(grace.saturating_sub(since.elapsed())).await,
        None => std::future::pending().await,
    }
}
