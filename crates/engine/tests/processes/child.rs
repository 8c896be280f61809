//! What a child process can be told to be.
//!
//! | told | it is |
//! |---|---|
//! | `worker URL NAME LEASE_MS` | an engine without loops that says `open MICROS` by its clock; its handler says `begun ITEM ATTEMPT` and waits for a line of input |
//! | `steps URL NAME ITEM` | a worker without an engine, which waits for a line before each step: see [`crate::steps`] |
//! | `creator URL NAME COUNT` | a program that creates jobs and goes |
//! | `fatal URL` | a worker whose handler ends the process when its payload says so |
//! | `persistent URL` | an engine that creates a job after each line of input, and says what came of it |

use std::sync::Arc;
use std::time::Duration;

use tenure::databases::outside::now;
use tenure::{Done, Failure, Job, New, Tenure};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::program::{Program, TOLD};
use crate::steps;
use crate::voice::Voice;

/// More than any test has jobs: a worker holds all of them at once.
const HELD_MAX: usize = 128;

/// Not told to be anything, it is a test of its own: a child says what it does, and ends with its input.
#[test]
fn a_child_does_what_it_is_told() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(TOLD) {
        Ok(told) => runtime.block_on(be(&told)),
        Err(_) => {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}", folder.path().join("tenure.db").display());
            let mut child = Program::start(&format!("worker {url} w 1000"));
            assert!(child.line().is_some_and(|line| line.starts_with("open ")));
            child.close();
            assert!(child.ended_well(), "without input it ends");
        }
    }
}

async fn be(told: &str) {
    let words: Vec<&str> = told.split(' ').collect();
    let voice = Arc::new(Voice::new());
    match words[..] {
        ["worker", url, name, lease] => {
            let lease = Duration::from_millis(lease.parse().expect("milliseconds"));
            worker(url, name, lease, voice).await;
        }
        ["steps", url, name, item] => steps::work(url, name, item.parse().expect("an id"), &voice).await,
        ["creator", url, name, count] => creator(url, name, count.parse().expect("a number"), &voice).await,
        ["fatal", url] => fatal(url, &voice).await,
        ["persistent", url] => persistent(url, &voice).await,
        _ => panic!("a child was told to be `{told}`"),
    }
}

async fn worker(url: &str, name: &str, lease: Duration, voice: Arc<Voice>) {
    let tenure = Tenure::builder(url).without_loops().open().await.expect("it opens");
    let watchers: Arc<Mutex<JoinSet<()>>> = Arc::default();
    let said = voice.clone();
    let handler = move |job: Job| {
        let (voice, watchers) = (said.clone(), watchers.clone());
        async move {
            // Outside the handler: one that is stopped says nothing more.
            let (watched, watching) = (job.clone(), voice.clone());
            watchers.lock().await.spawn(async move {
                watched.cancelled().await;
                watching.say(&format!("stopped {} {}", watched.id(), now().micros()));
            });
            voice.say(&format!("begun {} {}", job.id(), job.attempt()));
            tokio::select! {
                () = voice.go_on() => Done::with(&job.attempt()),
                () = job.cancelled() => Err(Failure::snooze(Duration::ZERO, "told to stop")),
            }
        }
    };
    let worker = tenure
        .worker(name)
        .concurrency(HELD_MAX)
        .lease(lease)
        .handle("job", handler)
        .start()
        .expect("it starts");
    voice.say(&format!("open {}", now().micros()));
    let mut told = 0;
    let mut looks = tokio::time::interval(Duration::from_millis(10));
    loop {
        looks.tick().await;
        let counters = tenure.counters();
        // A lease may be known to be lost while its last write is on its way to be refused: that is one, and counted as both.
        let thrown_away = counters.lost().max(counters.stale_writes());
        if thrown_away != told {
            told = thrown_away;
            voice.say(&format!("thrown away {told}"));
        }
        assert!(!format!("{worker:?}").is_empty(), "it works until its process ends");
    }
}

async fn creator(url: &str, name: &str, count: usize, voice: &Voice) {
    let tenure = Tenure::builder(url).without_loops().open().await.expect("it opens");
    for number in 0..count {
        let job = tenure.create(New::job(&number).idempotency_key(format!("{name}-{number}"))).await;
        voice.say(&format!("created {}", job.expect("it is created").id));
    }
}

async fn fatal(url: &str, voice: &Voice) {
    let tenure = Tenure::open(url).await.expect("it opens");
    let handler = async |job: Job| match job.payload::<String>()?.as_str() {
        "poison" => std::process::abort(),
        _ => Ok(Done::default()),
    };
    // Long enough for a busy machine to begin within it: a lease that is lost before costs an attempt and no process.
    let worker = tenure.worker("w").lease(Duration::from_secs(2)).handle("job", handler);
    let worker = worker.start().expect("it starts");
    voice.say("open");
    voice.go_on().await;
    worker.drain().await;
}

async fn persistent(url: &str, voice: &Voice) {
    let tenure = Tenure::open(url).await.expect("it opens");
    let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start();
    let _worker = worker.expect("it starts");
    voice.say("open");
    for number in 0.. {
        voice.go_on().await;
        match tenure.create(New::job(&number)).await {
            Ok(job) => voice.say(&format!("created {}", job.id)),
            Err(error) if error.is_retryable() => voice.say(&format!("error {error}")),
            Err(error) => panic!("{error}"),
        }
    }
}
