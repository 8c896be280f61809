//! Many at once: what a process works on is bounded, by documents and by stores, and nobody waits for ever.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tenure::core::id::ItemId;
use tenure_systems::runs::step::{Input, Step};
use tenure_systems::runs::{Places, Settings};
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

use super::{Desk, does};
use crate::kit::{PATIENCE, on_kept};

/// Far more than run at once, and still uploaded in a second or two.
const DOCUMENTS: usize = 120;
/// As many as upload at the same time.
const CALLERS: usize = 16;

/// How many are at a step now, and how many at most were.
struct Watched {
    now: AtomicUsize,
    most: AtomicUsize,
    /// What they read.
    seen: Mutex<BTreeSet<String>>,
    gate: Semaphore,
    /// Of so many that wait for each other.
    together: Barrier,
}

impl Watched {
    fn new() -> Arc<Watched> {
        let (now, most, seen) = Default::default();
        Arc::new(Watched { now, most, seen, gate: Semaphore::new(0), together: Barrier::new(3) })
    }
}

/// A step that counts who is at it. A document that says that it is stuck stays there until it may go.
fn watching(watched: Arc<Watched>) -> Arc<dyn Step> {
    does("watch", move |input: Input| {
        let watched = watched.clone();
        async move {
            let now = watched.now.fetch_add(1, Ordering::SeqCst) + 1;
            watched.most.fetch_max(now, Ordering::SeqCst);
            let text = String::from_utf8_lossy(&input.document.bytes).into_owned();
            match text.as_str() {
                "stuck" => watched.gate.acquire().await.unwrap().forget(),
                "letter 0" | "letter 1" | "letter 2" => {
                    watched.together.wait().await;
                }
                _ => {}
            }
            watched.seen.lock().unwrap().insert(text);
            watched.now.fetch_sub(1, Ordering::SeqCst);
            Ok(Value::Null)
        }
    })
}

/// Uploads to a store of its own.
async fn uploaded_to(desk: &Desk, store: &str, text: &str) -> ItemId {
    let elsewhere = desk.tenure.acting(store.parse().unwrap(), "api:a".parse().unwrap());
    let documents = desk.library.documents(elsewhere);
    let mut incoming = documents.receive().await.unwrap();
    incoming.write(text.as_bytes()).await.unwrap();
    documents.upload(incoming, Default::default()).await.unwrap().run_id
}

async fn state_of(desk: &Desk, store: &str, run: ItemId) -> String {
    let elsewhere = desk.tenure.acting(store.parse().unwrap(), "api:a".parse().unwrap());
    elsewhere.wait(run, PATIENCE).await.unwrap().item.state_name().to_string()
}

//
#[test]
fn hundreds_that_wait_run_so_many_at_once_and_one_that_is_stuck_delays_none() {
    on_kept(async |url| {
        let desk = Arc::new(Desk::open(&url).await);
        // In front of all others.
        let stuck = desk.upload("stuck").await;
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let desk = desk.clone();
            callers.spawn(async move {
                for number in (caller..DOCUMENTS).step_by(CALLERS) {
                    desk.upload(&format!("letter {number}")).await;
                }
            });
        }
        callers.join_all().await;
        let watched = Watched::new();
        let running = desk.start(vec![watching(watched.clone())]).await;
        let most = desk.settings.concurrency;
        while desk.tenure.counters().committed() < DOCUMENTS as u64 {
            let backlog = desk.tenure.backlog().await.unwrap();
            let held: u64 =
                backlog.iter().filter(|one| one.kind.as_str() == "run").map(|one| one.active).sum();
            assert!(held <= most as u64, "{held} were held at once, and at most {most} may be");
        }
        assert_eq!(
            watched.most.load(Ordering::SeqCst),
            most,
            "all places that are free are used, and no more"
        );
        assert_eq!(watched.seen.lock().unwrap().len(), DOCUMENTS);
        assert_eq!(desk.documents.run(stuck.run_id).await.unwrap().state, "RUNNING");
        watched.gate.add_permits(1);
        assert_eq!(desk.ended(stuck.run_id).await.state, "COMPLETED");
        running.drain().await;
    });
}

//
#[test]
fn more_stores_than_places_take_turns_and_no_run_is_ended_by_that() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let watched = Watched::new();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let said = lines.clone();
        let tell = Arc::new(move |line: &str| said.lock().unwrap().push(line.to_string()));
        let places = Places { stores_max: 2, turn: Duration::ZERO, look_every: Duration::from_millis(50) };
        // Drained, a worker would end its run at once.
        let few = Settings { places, grace: Duration::ZERO, tell, ..desk.settings.clone() };
        let stuck = uploaded_to(&desk, "a", "stuck").await;
        let mut waiting = Vec::new();
        for store in ["b", "c", "d"] {
            waiting.push((store, uploaded_to(&desk, store, store).await));
        }
        let running = desk.start_with(vec![watching(watched.clone())], few).await;
        for (store, run) in waiting {
            assert_eq!(state_of(&desk, store, run).await, "COMPLETED");
        }
        // Also one that comes when all places have been given, and one whose store had its turn.
        for store in ["e", "b"] {
            let run = uploaded_to(&desk, store, store).await;
            assert_eq!(state_of(&desk, store, run).await, "COMPLETED");
        }
        let counted = desk.library.counted();
        assert!(counted.iter().any(|(name, count)| *name == "stores_waited" && *count > 0), "{counted:?}");
        assert!(
            lines.lock().unwrap().iter().any(|line| line.starts_with("runs: STORES_WAIT: ")),
            "{lines:?}"
        );
        // Told to make room long ago, it has all the time that a run has.
        watched.gate.add_permits(1);
        assert_eq!(state_of(&desk, "a", stuck).await, "COMPLETED");
        running.drain().await;
    });
}
