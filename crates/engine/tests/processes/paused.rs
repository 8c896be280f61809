//! Workers that stand still past their lease, go on as if nothing had happened, or come back under the same name.

use std::sync::Arc;
use std::time::Duration;

use tenure::core::execution::Status;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::event::Event;
use tenure::{Done, Job, Tenure};
use tokio::sync::Semaphore;

use crate::place::{PATIENCE, actions, go_on, is_sound, jobs, on_each, on_each_together, stop, until};
use crate::program::Program;
use crate::sized::sized;

/// A handler that says that it has begun, and ends when it is told to.
struct Gate {
    begun: Arc<Semaphore>,
    end: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Gate {
        Gate { begun: Arc::new(Semaphore::new(0)), end: Arc::new(Semaphore::new(0)) }
    }

    fn handler(
        &self,
    ) -> impl Fn(Job) -> std::pin::Pin<Box<dyn Future<Output = Result<Done, tenure::Failure>> + Send>>
    + Send
    + Sync
    + 'static {
        let (begun, end) = (self.begun.clone(), self.end.clone());
        move |job: Job| {
            let (begun, end) = (begun.clone(), end.clone());
            Box::pin(async move {
                begun.add_permits(1);
                end.acquire().await.expect("it is not closed").forget();
                Done::with(&job.attempt())
            })
        }
    }

    async fn has_begun(&self) {
        tokio::time::timeout(PATIENCE, self.begun.acquire()).await.unwrap().unwrap().forget();
    }
}

/// Of what is held by a process that works: a busy machine may keep it from renewing for two seconds.
const LEASE: Duration = Duration::from_secs(3);

fn worker(url: &str, name: &str) -> Program {
    Program::start(&format!("worker {url} {name} {}", LEASE.as_millis()))
}

/// So many processes at once: each has its connections, and a server has a hundred.
const WIDE: usize = 10;

/// Rounds in waves that run at the same time, since each of them waits for a lease to end.
fn waves(rounds: usize) -> impl Iterator<Item = usize> {
    (0..rounds).step_by(WIDE).map(move |done| WIDE.min(rounds - done))
}

// F2, with a worker that takes every step by itself and believes what it is told: its late commit is refused while the new
// holder is in the same state, and nothing of it is there.
// covers: K-12, K-13
#[test]
fn f2_a_stopped_worker_comes_back_and_its_commit_is_refused() {
    on_each(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        for wave in waves(sized(5, 1_000)) {
            stopped_workers(&tenure, &url, wave).await;
        }
        drop(tenure);
        is_sound(&url).await;
    });
}

async fn stopped_workers(tenure: &Tenure, url: &str, count: usize) {
    let items = jobs(tenure, count).await;
    let start = |item: &ItemId| Program::start(&format!("steps {url} w {item}"));
    let mut children: Vec<Program> = items.iter().map(start).collect();
    for child in &mut children {
        child.until("leased ");
        for step in ["started", "prepared"] {
            child.go_on();
            assert_eq!(child.line().as_deref(), Some(step));
        }
        stop(child, url).await;
    }
    let gate = Gate::new();
    let other = tenure.worker("other").concurrency(count).handle("job", gate.handler());
    let worker = other.start().unwrap();
    for _ in &items {
        gate.has_begun().await;
    }
    for (child, item) in children.iter_mut().zip(&items) {
        let before = tenure.item(*item).await.unwrap();
        assert_eq!((&**before.state_name(), before.fence.0), ("RUNNING", 2));
        go_on(child);
        child.go_on();
        assert_eq!(child.line().as_deref(), Some("no LEASE_LOST"));
        let after = tenure.item(*item).await.unwrap();
        assert_eq!((after.version, after.head, after.fence), (before.version, before.head, before.fence));
    }
    gate.end.add_permits(count);
    for (child, item) in children.iter_mut().zip(&items) {
        let whole = tenure.wait(*item, PATIENCE).await.unwrap();
        assert_eq!(whole.output.unwrap().bytes(), b"2");
        let ends: Vec<Status> = whole.executions.iter().map(|one| one.status()).collect();
        assert_eq!(ends, [Status::Aborted, Status::Done]);
        // Whoever lost it learns from then on that it is done.
        child.go_on();
        assert_eq!(child.line().as_deref(), Some("no ALREADY_COMMITTED"));
    }
    worker.drain().await;
}

// F2, with the engine's own worker: it throws away what its handler came to.
// covers: K-12, K-13
#[test]
fn f2_a_stopped_engine_throws_away_what_it_has_lost() {
    on_each_together(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let [item] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        let mut child = worker(&url, "w");
        child.until("begun ");
        stop(&child, &url).await;
        let gate = Gate::new();
        let worker = tenure.worker("other").handle("job", gate.handler()).start().unwrap();
        gate.has_begun().await;
        // Its handler may come to its end as soon as the process goes on.
        child.go_on();
        go_on(&child);
        assert_eq!(child.until("thrown away").last().map(String::as_str), Some("thrown away 1"));
        assert_eq!(
            tenure.item(item).await.unwrap().lease.map(|lease| lease.owner.id.to_string()),
            Some("other".into())
        );
        gate.end.add_permits(1);
        let whole = tenure.wait(item, PATIENCE).await.unwrap();
        assert_eq!(whole.output.unwrap().bytes(), b"2", "the second attempt's");
        worker.drain().await;
    });
}

// F6: many leases long, in another process, with somebody who would take it.
// covers: K-13, K-14
#[test]
fn f6_a_job_of_many_leases_is_leased_once() {
    let (count, leases) = (sized(10, 100), sized(2, 20) as u32);
    on_each_together(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let items = jobs(&tenure, count).await;
        let mut child = worker(&url, "w");
        for _ in &items {
            child.until("begun ");
        }
        let hungry = tenure.worker("hungry").handle("job", async |_: Job| Ok(Done::default()));
        let hungry = hungry.lease(LEASE).start().unwrap();
        for item in &items {
            let since = tenure.item(*item).await.unwrap().lease.expect("it is held").since;
            let far = since.after(LEASE * leases);
            until(&tenure, *item, |item| item.lease.as_ref().is_none_or(|lease| lease.heartbeat > far)).await;
        }
        for _ in &items {
            child.go_on();
        }
        for item in &items {
            let whole = tenure.wait(*item, PATIENCE).await.unwrap();
            assert_eq!((whole.item.fence.0, &**whole.item.state_name()), (1, "SUCCEEDED"));
        }
        assert_eq!(tenure.counters().swept(), 0);
        hungry.drain().await;
    });
}

// F9: the same name, the same machine; another incarnation.
// covers: K-11
#[test]
fn f9_a_worker_that_comes_back_under_its_name_does_not_adopt_what_it_held() {
    on_each_together(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        for _ in waves(sized(10, 200)) {
            killed_and_back(&tenure, &url).await;
        }
    });
}

/// One process that holds so many, so that they are all lost at once and all held again.
async fn killed_and_back(tenure: &Tenure, url: &str) {
    let items = jobs(tenure, WIDE).await;
    let mut child = worker(url, "same");
    let mut held = Vec::new();
    for _ in &items {
        child.until("begun ");
    }
    for item in &items {
        held.push(tenure.item(*item).await.unwrap().lease.expect("it is held"));
    }
    child.kill();
    let mut child = worker(url, "same");
    let mut begun: Vec<String> =
        items.iter().map(|_| child.until("begun ").pop().expect("it begins")).collect();
    begun.sort();
    let mut wanted: Vec<String> = items.iter().map(|item| format!("begun {item} 2")).collect();
    wanted.sort();
    assert_eq!(begun, wanted);
    for (item, held) in items.iter().zip(held) {
        let again = tenure.item(*item).await.unwrap().lease.expect("it is held again");
        assert_eq!(held.owner.id, again.owner.id);
        assert_ne!(held.owner, again.owner, "another incarnation is another owner");
        let history = tenure.history(*item).await.unwrap();
        assert_eq!(actions(&history), [Event::Create, Event::Lease, Event::Expire, Event::Lease]);
        assert!(again.since >= held.since.after(LEASE), "not before the old lease's end");
    }
    // What is done does not come back in the next wave.
    for _ in &items {
        child.go_on();
    }
    for item in &items {
        tenure.wait(*item, PATIENCE).await.unwrap();
    }
}
