//! Workers: what they run, renew, lose and give back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::execution::Status;
use tenure::core::id::ItemId;
use tenure::core::request::{Acquire, Command, Commit, Create, Effects, Take, Terms};
use tenure::{Done, Failure, Job, New, Tenure};
use tokio::sync::{Notify, Semaphore};

use crate::{PATIENCE, on_each, until};

#[test]
fn what_is_created_is_run_once_and_its_output_kept() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let double = move |job: Job| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                let number: u64 = job.payload()?;
                Done::with(&(number * 2))
            }
        };
        let worker = tenure.worker("doubler").handle("job", double).start().unwrap();
        let jobs = tenure.create_all((0..300_u64).map(|number| New::job(&number))).await;
        for (number, job) in jobs.into_iter().enumerate() {
            let done = tenure.wait(job.unwrap().id, PATIENCE).await.unwrap();
            assert_eq!(&**done.item.state_name(), "SUCCEEDED");
            assert_eq!(done.output.unwrap().bytes(), (number * 2).to_string().as_bytes());
            assert_eq!(done.executions.iter().map(|one| one.status()).collect::<Vec<_>>(), [Status::Done]);
        }
        worker.drain().await;
        assert_eq!(runs.load(Ordering::SeqCst), 300);
        assert_eq!(tenure.counters().committed(), 300);
    });
}

/// Creates jobs one by one until one is held by the commit that makes it: until somebody has begun to wait.
async fn create_until_one_is_leased_at_once(tenure: &Tenure) -> ItemId {
    let create = || Create::new("job".parse().unwrap(), Body::json(*b"1").unwrap());
    loop {
        let reply = tenure.ask(Command::Create(create())).await.unwrap();
        let Answer::Created(item) = reply.answer else { panic!("it is created") };
        let done = tenure.wait(item.id, PATIENCE).await.unwrap();
        assert_eq!((&**done.item.state_name(), done.item.fence.0), ("SUCCEEDED", 1));
        if reply.leased_at_once {
            return item.id;
        }
    }
}

#[test]
fn a_worker_that_waits_has_a_job_by_the_commit_that_makes_it() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let work = async |_: Job| Ok(Done::default());
        let worker = tenure.worker("waits").handle("job", work).start().unwrap();
        let one = create_until_one_is_leased_at_once(&tenure);
        tokio::time::timeout(PATIENCE, one).await.expect("it waits where work is made");
        worker.drain().await;
    });
}

#[test]
fn a_handler_knows_the_trace_that_its_item_was_created_in() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let tell = async |job: Job| Done::with(&(job.traceparent(), job.tracestate()));
        let worker = tenure.worker("tracer").handle("job", tell).start().unwrap();
        let news = [
            (New::job(&1).trace(TRACE, "rojo=1"), format!(r#"["{TRACE}","rojo=1"]"#)),
            (New::job(&2).trace("nonsense", "rojo=1"), "[null,null]".to_string()),
            (New::job(&3), "[null,null]".to_string()),
        ];
        for (new, told) in news {
            let job = tenure.create(new).await.unwrap();
            let done = tenure.wait(job.id, PATIENCE).await.unwrap();
            assert_eq!(done.output.unwrap().bytes(), told.as_bytes());
        }
        worker.drain().await;
    });
}

#[test]
fn a_worker_elsewhere_that_waits_has_it_too() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let elsewhere = tenure.acting(tenure.store().clone(), "worker:far".parse().unwrap());
        let terms = Terms { start: true, ..Terms::default() };
        let acquire = Acquire { kinds: vec!["job".parse().unwrap()], max: 1, terms };
        let work = async {
            loop {
                let reply = elsewhere.lease(acquire.clone(), PATIENCE).await.unwrap();
                let Answer::Leased(leases) = reply.answer else { panic!("it may lease") };
                for granted in leases {
                    let commit = Commit {
                        execution: granted.execution,
                        output: None,
                        effects: Effects::default(),
                        finish: true,
                        session: None,
                        attests: Vec::new(),
                    };
                    elsewhere.ask(Command::Commit(commit)).await.unwrap();
                }
            }
        };
        tokio::select! {
            () = work => {}
            one = tokio::time::timeout(PATIENCE, create_until_one_is_leased_at_once(&tenure)) => {
                one.expect("it waits where work is made");
            }
        }
    });
}

// covers: K-33, J-03
#[test]
fn failures_panics_and_permanent_errors_are_told_apart() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let work = async |job: Job| match (job.payload::<String>()?.as_str(), job.attempt()) {
            ("fails once", 1) => Err(std::io::Error::other("the mail server is away").into()),
            ("panics once", 1) => panic!("a bug"),
            ("never", _) => Err(Failure::permanent("there is no such address")),
            ("not yet", 1) => Err(Failure::snooze(Duration::from_millis(1), "it is night there")),
            ("always fails", _) => Err(Failure::retry("the mail server refuses it")),
            _ => Ok(Done::default()),
        };
        let worker = tenure.worker("mailer").handle("job", work).start().unwrap();
        let mut jobs = Vec::new();
        for payload in ["fails once", "panics once", "never", "not yet", "always fails"] {
            jobs.push(tenure.create(New::job(&payload).max_attempts(2)).await.unwrap().id);
        }
        let mut states = Vec::new();
        for job in &jobs {
            let whole = tenure.wait(*job, PATIENCE).await.unwrap();
            states.push((whole.item.state_name().to_string(), whole.item.failures));
        }
        let expected = [("SUCCEEDED", 1), ("SUCCEEDED", 1), ("FAILED", 1), ("SUCCEEDED", 0), ("FAILED", 2)];
        assert_eq!(states, expected.map(|(state, failures)| (state.to_string(), failures)));
        let reasons: Vec<String> =
            tenure.whole(jobs[1]).await.unwrap().executions.iter().filter_map(reason).collect();
        assert_eq!(reasons, ["the handler panicked: a bug"]);
        worker.drain().await;
        let counters = tenure.counters();
        assert_eq!((counters.panicked(), counters.released()), (1, 1));
        // Two by failing for good and by the last attempt; three that were tried again, the panic among them.
        assert_eq!((counters.failed_for_good(), counters.failed()), (2, 3));
        assert!(counters.acquires() > 0 && counters.leased() == 9 && counters.committed() == 3);
    });
}

// covers: K-55
#[test]
fn a_last_attempt_that_a_sweep_ends_counts_as_failed_for_good() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let job = tenure.create(New::job(&()).max_attempts(1)).await.unwrap();
        let gone = tenure.acting(tenure.store().clone(), "worker:gone".parse().unwrap());
        let terms = Terms { lease: Some(Duration::from_secs(1)), ..Terms::default() };
        gone.ask(Command::Take(Take { item: job.id, terms })).await.unwrap();
        let whole = tenure.wait(job.id, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "FAILED");
        let counters = tenure.counters();
        until(|| counters.failed_for_good() == 1).await;
        assert_eq!((counters.swept(), counters.failed()), (1, 0));
    });
}

fn reason(execution: &tenure::core::execution::Execution) -> Option<String> {
    execution.ended.as_ref()?.reason.clone()
}

// covers: K-28, K-37
#[test]
fn children_and_records_come_with_the_commit_and_what_comes_after_it_after_it() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let told = Arc::new(Notify::new());
        let tell = told.clone();
        let work = move |job: Job| {
            let tell = tell.clone();
            async move {
                if job.payload::<u32>()? == 0 {
                    return Ok(Done::default());
                }
                job.progress("step", "half", &"half of it").await?;
                let done = Done::default().create(New::job(&0).idempotency_key("child"))?;
                Ok(done.after(move || async move { tell.notify_one() }))
            }
        };
        let worker = tenure.worker("w").handle("job", work).start().unwrap();
        let job = tenure.create(New::job(&1)).await.unwrap();
        let whole = tenure.wait(job.id, PATIENCE).await.unwrap();
        assert_eq!(whole.records.len(), 1);
        tokio::time::timeout(PATIENCE, told.notified()).await.unwrap();
        // The child is there: the same key finds it.
        let child = tenure.create(New::job(&0).idempotency_key("child")).await.unwrap();
        tenure.wait(child.id, PATIENCE).await.unwrap();
        assert_eq!(tenure.item(child.id).await.unwrap().origin, Some(job.id));
        worker.drain().await;
    });
}

// covers: K-54
#[test]
fn a_drain_lets_handlers_finish_and_gives_back_the_rest_without_an_attempt() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let (begun, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let (starts, waits) = (begun.clone(), go_on.clone());
        let work = move |job: Job| {
            let (starts, waits) = (starts.clone(), waits.clone());
            async move {
                starts.add_permits(1);
                match job.payload::<bool>()? {
                    true => waits.notified().await,
                    false => std::future::pending().await,
                }
                Ok(Done::default())
            }
        };
        let worker =
            tenure.worker("w").handle("job", work).grace(Duration::from_millis(300)).start().unwrap();
        let good = tenure.create(New::job(&true)).await.unwrap();
        let endless = tenure.create(New::job(&false)).await.unwrap();
        begun.acquire_many(2).await.unwrap().forget();
        go_on.notify_one();
        worker.drain().await;
        assert_eq!(&**tenure.item(good.id).await.unwrap().state_name(), "SUCCEEDED");
        let left = tenure.item(endless.id).await.unwrap();
        assert_eq!((&**left.state_name(), left.failures, left.lease.is_some()), ("PENDING", 0, false));
        assert_eq!(tenure.counters().released(), 1);
    });
}

// covers: K-13, K-14
#[test]
fn what_a_handler_holds_is_renewed_for_as_long_as_it_runs() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let watching = tenure.clone();
        let work = move |job: Job| {
            let tenure = watching.clone();
            async move {
                // Until the lease has been prolonged beyond what it was at first, twice.
                let first = job.item().lease.as_ref().map(|lease| lease.expires);
                loop {
                    let lease = tenure.item(job.id()).await?.lease;
                    if lease.map(|lease| lease.heartbeat) > first {
                        return Ok(Done::default());
                    }
                }
            }
        };
        // Long enough for a machine that is busy with other tests to renew it in time.
        let worker = tenure.worker("w").handle("job", work).lease(Duration::from_secs(4)).start().unwrap();
        let job = tenure.create(New::job(&())).await.unwrap();
        let whole = tenure.wait(job.id, PATIENCE).await.unwrap();
        assert_eq!((whole.item.failures, whole.executions.len()), (0, 1), "nobody took it over");
        assert_eq!(tenure.counters().lost(), 0);
        worker.drain().await;
    });
}

// covers: K-25
#[test]
fn what_a_process_held_that_is_gone_is_run_by_another() {
    on_each(async |url| {
        if url == "memory:" {
            return;
        }
        let gone = Tenure::open(url.clone()).await.unwrap();
        let begun = Arc::new(Semaphore::new(0));
        let starts = begun.clone();
        let endless = move |_: Job| {
            starts.add_permits(1);
            std::future::pending()
        };
        // Not so short that a busy machine loses it before its process is gone.
        let worker = gone.worker("w").handle("job", endless).lease(Duration::from_secs(3)).start().unwrap();
        let job = gone.create(New::job(&())).await.unwrap();
        begun.acquire().await.unwrap().forget();
        // As if it had been killed: its threads end where they are.
        drop((worker, gone));

        let tenure = Tenure::open(url).await.unwrap();
        let quick = async |_: Job| Ok(Done::default());
        let worker = tenure.worker("w").handle("job", quick).start().unwrap();
        let whole = tenure.wait(job.id, PATIENCE).await.unwrap();
        let ends: Vec<Status> = whole.executions.iter().map(|one| one.status()).collect();
        assert_eq!(ends, [Status::Aborted, Status::Done]);
        assert_eq!(tenure.counters().swept(), 1);
        worker.drain().await;
    });
}
