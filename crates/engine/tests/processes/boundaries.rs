//! A worker's process is killed at every boundary of an execution.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::core::execution::Status;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::event::Event;
use tenure::{Done, Job, New, Tenure};

use crate::place::{PATIENCE, actions, is_sound, jobs, on_each, on_each_together, until};
use crate::program::Program;
use crate::sized::sized;

/// Lets a worker come this far. They are started together: a lease does not wait for the others.
fn go(child: &mut Program, steps: usize) {
    child.until("leased ");
    for step in ["started", "prepared", "committed"].iter().take(steps) {
        child.go_on();
        assert_eq!(child.line().as_deref(), Some(*step));
    }
}

/// Steps after which a worker is killed: before the start, in prepare, between prepare and commit, after COMMITTED and before DONE.
const BOUNDARIES: usize = 4;
/// So many of each at once: each process has its connections, and a server has a hundred.
const WIDE: usize = 3;

// C2, C3, L1, L2.
// covers: J-07, K-25, K-28, K-50
#[test]
fn a_worker_killed_at_any_boundary_leaves_the_right_outcome() {
    on_each(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        // In full a thousand are killed at each boundary.
        for _ in 0..sized(1, 1_000).div_ceil(WIDE) {
            killed_everywhere(&tenure, &url).await;
        }
        drop(tenure);
        is_sound(&url).await;
    });
}

async fn killed_everywhere(tenure: &Tenure, url: &str) {
    let items = jobs(tenure, BOUNDARIES * WIDE).await;
    let start = |item: &ItemId| Program::start(&format!("steps {url} w {item}"));
    let mut children: Vec<Program> = items.iter().map(start).collect();
    children.iter_mut().enumerate().for_each(|(number, child)| go(child, number % BOUNDARIES));
    for child in children {
        assert_eq!(child.kill(), [""; 0], "it had nothing more to say");
    }
    let runs: Arc<Mutex<BTreeMap<ItemId, usize>>> = Arc::default();
    let counted = runs.clone();
    let again = move |job: Job| {
        *counted.lock().unwrap().entry(job.id()).or_default() += 1;
        async move { Done::with(&"again")?.record("effect", &job.attempt().to_string(), &1) }
    };
    let worker = tenure.worker("again").handle("job", again).start().unwrap();
    for (number, item) in items.iter().enumerate() {
        let steps = number % BOUNDARIES;
        let whole = tenure.wait(*item, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "SUCCEEDED", "after {steps} steps");
        let ends: Vec<Status> = whole.executions.iter().map(|one| one.status()).collect();
        let has = |label: &str| whole.records.iter().filter(|record| &*record.label == label).count();
        assert_eq!(has("effect"), 1, "an effect is there once");
        let (output, run) = (whole.output.as_ref().unwrap().bytes(), runs.lock().unwrap().get(item).copied());
        match steps {
            // What committed is finished for its worker, and nobody does it again.
            3 => {
                assert_eq!((&ends[..], run), (&[Status::Done][..], None));
                assert_eq!(output, b"\"by steps\"");
                let history = tenure.history(*item).await.unwrap();
                assert_eq!(actions(&history).last(), Some(&Event::Finish));
            }
            _ => {
                assert_eq!((&ends[..], run), (&[Status::Aborted, Status::Done][..], Some(1)));
                assert_eq!(output, b"\"again\"");
                // What was prepared is kept, and is no output.
                assert_eq!(has("prepared"), usize::from(steps == 2));
            }
        }
    }
    worker.drain().await;
}

// C5: while it runs it is asked to stop and stops; once it committed nobody can call it off.
// covers: K-25, K-35
#[test]
fn a_cancel_reaches_another_process_and_comes_too_late_after_the_commit() {
    on_each_together(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let [item] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        let mut child = Program::start(&format!("steps {url} w {item}"));
        go(&mut child, 3);
        let refused = tenure.cancel(item, "too late").await.unwrap_err();
        assert_eq!(refused.code().map(|code| code.to_string()).as_deref(), Some("TRANSITION_REFUSED"));
        child.kill();
        assert_eq!(&**until(&tenure, item, |item| item.phase().is_ended()).await.state_name(), "SUCCEEDED");

        let mut child = Program::start(&format!("worker {url} w 3000"));
        let [second] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        child.until("begun ");
        tenure.cancel(second, "not needed").await.unwrap();
        assert!(child.until("stopped ").last().unwrap().contains(&second.to_string()), "its handler is told");
        let whole = tenure.wait(second, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "CANCELLED");
        assert_eq!(whole.executions.iter().map(|one| one.status()).collect::<Vec<_>>(), [Status::Aborted]);
    });
}

// C4: a payload that kills every process that touches it.
// covers: K-33, K-51
#[test]
fn a_poisoned_payload_ends_its_job_and_no_other() {
    on_each_together(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let poison = tenure.create(New::job(&"poison").max_attempts(2)).await.unwrap();
        let good = tenure.create(New::job(&"good")).await.unwrap();
        let mut deaths = 0;
        while !tenure.item(poison.id).await.unwrap().phase().is_ended() {
            let mut child = Program::start(&format!("fatal {url}"));
            assert_eq!(child.line().as_deref(), Some("open"));
            // It dies of the payload; if that has had its attempts, somebody ends the process.
            let ended = until_dead_or(&tenure, poison.id, &mut child).await;
            deaths += usize::from(ended);
        }
        assert_eq!(deaths, 2, "as many as it had attempts");
        let whole = tenure.whole(poison.id).await.unwrap();
        assert_eq!((&**whole.item.state_name(), whole.executions.len()), ("FAILED", 2));
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        let whole = tenure.wait(good.id, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "SUCCEEDED");
        worker.drain().await;
    });
}

/// True: the child died by itself.
async fn until_dead_or(tenure: &Tenure, item: ItemId, child: &mut Program) -> bool {
    let mut looks = tokio::time::interval(Duration::from_millis(10));
    loop {
        looks.tick().await;
        if child.has_ended() {
            // Its lease ends before the next one is started: each process meets the payload once.
            until(tenure, item, |item| item.lease.is_none()).await;
            return true;
        }
        if tenure.item(item).await.unwrap().phase().is_ended() {
            return false;
        }
    }
}
