//! `tenure work`: a command run for every item of a kind that comes up.
//!
//! ```text
//! lease ──► attempt (a task each): its turn ─ start the command ─ renew, watch ─► its end ─► commit, fail or release
//!   ▲                                                                │
//!   └── as many as there is room for, a few ahead (`ahead`)          └─ lease lost, cancelled, stopped: the process group is ended
//! ```
//!
//! The file knows nothing of leases' clocks (`hold`), processes (`process`), those of a worker that was killed (`keeper`) or what an
//! exit code means (`told`).

mod ahead;
mod attempt;
pub mod desk;
pub mod hold;
pub mod keeper;
pub mod process;
pub mod told;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tenure_server::LEASES_MAX;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::item::list::is_kind;
use crate::cli::Work;
use crate::client::{Client, Loops};
use crate::database::{self, Access};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, count};
use crate::time::{Stopwatch, pause};
use ahead::Pace;
use attempt::{Attempt, End, Shared};
use desk::{Asked, Desk};
use keeper::Keeper;

/// Who works without a token.
const ACTOR: &str = "worker:local";

pub fn run(arguments: &Work, output: &mut Output) -> Result<Outcome, Error> {
    is_there(&arguments.command[0])?;
    super::runner::is_not_for_a_runner(&arguments.kind)?;
    database::run(async {
        let at = &arguments.at;
        let client = Client::open(&at.reach, at.store.clone(), Access::MayCreate, Loops::Run).await?;
        // Said before it says that it works.
        match is_kind(&client, &arguments.kind).await {
            // A server that is away is waited for.
            Err(error) if error.may_pass() => {}
            known => known?,
        }
        let desk = Desk::new(client.acting(ACTOR), &arguments.kind, Duration::from_secs(arguments.lease));
        let keeper = Arc::new(Keeper::start(desk.worker())?);
        let (grace, later) = (Duration::from_secs(arguments.grace), Duration::from_secs(arguments.later));
        let slots = Arc::new(Semaphore::new(usize::from(arguments.concurrency)));
        let (command, pace) = (arguments.command.clone(), Pace::default());
        let shared = Arc::new(Shared { desk, keeper, command, grace, later, slots, pace });
        // Heard from here on: whoever reads the line may send one.
        let signals = Signals::new()?;
        output.line(format!(
            "working on {}: {} at a time; SIGTERM lets what runs finish",
            arguments.kind,
            count(usize::from(arguments.concurrency), "command")
        ))?;
        let worker = Worker {
            shared,
            most: usize::from(arguments.concurrency),
            running: JoinSet::new(),
            end: watch::Sender::new(End::NotYet),
            draining: None,
        };
        worker.work(signals, output).await
    })
}

/// A name that was mistyped must not cost an attempt of every item there is.
pub fn is_there(program: &str) -> Result<(), Error> {
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

pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub fn new() -> Result<Signals, Error> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Signals { terminate, interrupt })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    /// So many commands at a time.
    most: usize,
    running: JoinSet<String>,
    end: watch::Sender<End>,
    /// Since when nothing new is begun.
    draining: Option<Stopwatch>,
}

impl Worker {
    async fn work(mut self, mut signals: Signals, output: &mut Output) -> Result<Outcome, Error> {
        let mut asking = None;
        let mut ending = Ok(Outcome::Done);
        loop {
            if asking.is_none() && self.draining.is_none() && self.room() > 0 {
                let (shared, room) = (self.shared.clone(), self.room());
                asking = Some(Box::pin(async move { shared.desk.acquire(room).await }));
            }
            if asking.is_none() && self.running.is_empty() {
                return ending;
            }
            tokio::select! {
                () = signals.next() => {
                    if self.draining.is_some() {
                        self.end.send_replace(End::Now);
                    } else {
                        let run = self.most - self.shared.slots.available_permits();
                        output.line(format!("stopping; {} may finish", count(run, "command")))?;
                    }
                    self.drain();
                }
                () = over(self.draining, self.shared.grace), if *self.end.borrow() < End::Now => {
                    self.end.send_replace(End::Now);
                }
                Some(line) = self.running.join_next() => {
                    output.line(line.unwrap_or_else(|why| format!("an attempt was cut short: {why}")))?;
                }
                // What was asked for is waited for, also when nothing new shall begin: it may bring leases, to be given back.
                asked = async { asking.as_mut().expect("only then").await }, if asking.is_some() => {
                    asking = None;
                    match asked {
                        Ok(asked) => self.begin(asked),
                        Err(error) => {
                            self.drain();
                            ending = Err(error);
                        }
                    }
                }
            }
        }
    }

    /// How many to lease now. Few at a time are as dear as many: it waits until a call is worth while, or nothing is left to do.
    fn room(&self) -> usize {
        let most = self.most + self.shared.pace.ahead(self.most);
        let room = most.saturating_sub(self.running.len()).min(LEASES_MAX);
        if room >= most / 4 || self.running.len() <= self.most { room } else { 0 }
    }

    /// Nothing is begun from now on.
    fn drain(&mut self) {
        self.draining.get_or_insert_with(Stopwatch::start);
        self.end.send_if_modified(|end| {
            let begins = *end == End::NotYet;
            if begins {
                *end = End::Draining;
            }
            begins
        });
    }

    fn begin(&mut self, asked: Asked) {
        for lease in asked.leases {
            let attempt = Attempt::new(self.shared.clone(), lease, asked.at, self.end.subscribe());
            self.running.spawn(attempt.run());
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
