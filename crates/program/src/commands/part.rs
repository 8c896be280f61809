//! `tenure part …`: the processes that other commands start and, some of them, kill. Not for people.
//!
//! A part says what it does in lines on its output and does what the lines of its input say; their end is its own.

mod clerk;
mod idle;
mod keeper;
mod loader;
mod node;
mod producer;
mod reader;
mod runner;
mod worker;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use tenure::{Builder, Counters, Tenure};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use crate::cli::Part;
use crate::outcome::{Error, Outcome};
use crate::time::pause;

pub fn run(part: &Part) -> Result<Outcome, Error> {
    // The only one that is there for the time after its parent.
    if let Part::Keeper(arguments) = part {
        return keeper::run(arguments);
    }
    die_with_parent();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let (voice, orders) = (Voice::new()?, Orders::new());
        match part {
            Part::Node(arguments) => node::run(arguments, voice, orders).await,
            Part::Worker(arguments) => worker::run(arguments, voice, orders).await,
            Part::Loader(arguments) => loader::run(arguments, voice, orders).await,
            Part::Producer(arguments) => producer::run(arguments, voice, orders).await,
            Part::Runner(arguments) => runner::run(arguments, voice, orders).await,
            Part::Idle(arguments) => idle::run(arguments, voice, orders).await,
            Part::Clerk(arguments) => clerk::run(arguments, voice, orders).await,
            Part::Reader(arguments) => reader::run(arguments, voice, orders).await,
            Part::Keeper(_) => unreachable!("it has no runtime"),
        }
    })?;
    Ok(Outcome::Done)
}

/// A child that is stopped can not notice that its parent is gone; the system can.
fn die_with_parent() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }
}

/// What a part says, a line in one piece: whoever kills it gets whole lines.
#[derive(Clone, Debug)]
struct Voice(Arc<File>);

impl Voice {
    fn new() -> Result<Voice, Error> {
        Ok(Voice(Arc::new(File::from(io::stdout().as_fd().try_clone_to_owned()?))))
    }

    fn say(&self, line: &str) {
        let line = format!("{}\n", line.replace('\n', " / "));
        if (&*self.0).write_all(line.as_bytes()).is_err() {
            // Nobody listens any more.
            std::process::exit(0);
        }
    }
}

/// What a part is told.
#[derive(Debug)]
struct Orders(Lines<BufReader<Stdin>>);

impl Orders {
    fn new() -> Orders {
        Orders(BufReader::new(tokio::io::stdin()).lines())
    }

    /// None: the parent has gone.
    async fn next(&mut self) -> Option<String> {
        self.0.next_line().await.ok().flatten()
    }
}

/// How often a part says what it has counted. The last words of one that is killed are so old at most.
const COUNTED_EVERY: Duration = Duration::from_millis(200);
/// So many processes open one database at the same time; the slowest waits for all others.
const OPEN_TRIES: usize = 50;

async fn open(builder: impl Fn() -> Builder) -> Result<Tenure, Error> {
    let mut tries = 0;
    loop {
        match builder().open().await {
            Ok(tenure) => return Ok(tenure),
            Err(why) => {
                tries += 1;
                if tries == OPEN_TRIES {
                    return Err(Error::Part(why.to_string()));
                }
                pause(COUNTED_EVERY).await;
            }
        }
    }
}

/// Says the counters now and then, for ever.
async fn count(voice: &Voice, counters: &Counters) {
    loop {
        say_counters(voice, counters);
        pause(COUNTED_EVERY).await;
    }
}

fn say_counters(voice: &Voice, counters: &Counters) {
    let counted: Vec<String> =
        counters.all().into_iter().map(|(name, number)| format!("{name}={number}")).collect();
    voice.say(&format!("counted {}", counted.join(" ")));
}
