//! A worker: an engine without loops, and handlers that work, fail, panic, hang and are slow, as their payloads say.
//!
//! Every attempt has a *ghost*: it writes once more, under the same lease, when the lease was lost. What it says the database
//! must refuse, unless it was not lost there yet. The log tells which.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::{Done, Failure, Job, New, Tenure};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::{Orders, Voice, count, open, say_counters};
use crate::cli::PartWorker;
use crate::commands::chaos::task::{Act, EFFECT, Task};
use crate::outcome::Error;
use crate::time::pause;

/// Few: what a killed process held must find room elsewhere at once.
const HANDLERS: usize = 4;
/// Handlers end before the process does.
const GRACE: Duration = Duration::from_secs(5);

pub async fn run(arguments: &PartWorker, voice: Voice, mut orders: Orders) -> Result<(), Error> {
    // A handler that panics on purpose has nothing to say to the terminal.
    std::panic::set_hook(Box::new(|_| {}));
    let tenure = open(|| Tenure::builder(&arguments.db).without_loops()).await?;
    let ghosts = Ghosts { tasks: Arc::default(), voice: voice.clone() };
    let lease = Duration::from_millis(arguments.lease_ms);
    let handler = move |job: Job| {
        let ghosts = ghosts.clone();
        async move {
            let alive = ghosts.haunt(job.clone());
            let done = work(&job, lease).await;
            drop(alive);
            done
        }
    };
    let worker = tenure.worker(&arguments.name).concurrency(HANDLERS).lease(lease).grace(GRACE);
    let worker = worker.handle("job", handler).start().map_err(|error| Error::Part(error.to_string()))?;
    voice.say("open");
    let told = tokio::select! {
        () = count(&voice, tenure.counters()) => None,
        told = orders.next() => told,
    };
    if told.is_some() {
        worker.drain().await;
    }
    say_counters(&voice, tenure.counters());
    Ok(())
}

async fn work(job: &Job, lease: Duration) -> Result<Done, Failure> {
    let task: Task = job.payload()?;
    let takes = Duration::from_millis(task.ms);
    match task.act {
        Act::Slow => pause(lease + lease / 2 + takes).await,
        Act::Hang => job.cancelled().await,
        Act::Work | Act::FailOnce | Act::PanicOnce | Act::Never | Act::Child => pause(takes).await,
    }
    match (task.act, job.attempt()) {
        (Act::Hang, _) => return Err(Failure::snooze(Duration::ZERO, "told to stop")),
        (Act::FailOnce, 1) => return Err(Failure::retry("the first attempt fails")),
        (Act::PanicOnce, 1) => panic!("the first attempt panics"),
        (Act::Never, _) => return Err(Failure::permanent("this will never do")),
        (Act::Work | Act::Slow | Act::FailOnce | Act::PanicOnce | Act::Child, _) => {}
    }
    let attempt = job.attempt();
    // Named after the attempt: a second commit would leave a second record.
    let done = Done::with(&task.number)?.record(EFFECT, &attempt.to_string(), &task.number)?;
    let done = done.message(EFFECT, &attempt)?;
    match task.act {
        Act::Child => done.create(New::job(&Task { act: Act::Work, ..task })),
        _ => Ok(done),
    }
}

#[derive(Clone)]
struct Ghosts {
    tasks: Arc<Mutex<JoinSet<()>>>,
    voice: Voice,
}

impl Ghosts {
    /// The ghost goes when what this answers is dropped while the lease is held.
    fn haunt(&self, job: Job) -> oneshot::Sender<()> {
        let (alive, over) = oneshot::channel();
        let voice = self.voice.clone();
        let ghost = async move {
            tokio::select! {
                biased;
                () = job.cancelled() => {}
                _ = over => return,
            }
            let said = job.progress("ghost", &job.attempt().to_string(), &"written late").await;
            match said {
                Ok(()) => voice.say(&format!("ghost accepted {}", job.execution())),
                Err(why) if why.reason().contains("refused") => {
                    voice.say(&format!("ghost refused {}", job.execution()));
                }
                // The database was away: nothing was written and nothing refused.
                Err(_) => {}
            }
        };
        let mut tasks = self.tasks.lock().expect("nobody panics while holding it");
        while tasks.try_join_next().is_some() {}
        tasks.spawn(ghost);
        alive
    }
}
