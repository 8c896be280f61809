//! A database that falls silent, connections that are cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure::core::lifecycle::event::Event;
use tenure::core::time::Time;
use tenure::databases::outside::chance;
use tenure::{Done, Job, New, Tenure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::place::{PATIENCE, actions, is_sound, jobs, on_postgres, until};
use crate::program::Program;
use crate::schema;
use crate::sized::sized;

/// A network between a process and its server, which can fall silent: nothing is closed, nothing comes through.
struct Network {
    port: u16,
    silent: Arc<AtomicBool>,
    heard: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Network {
    async fn to(server: String) -> Network {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (silent, heard): (Arc<AtomicBool>, Arc<Notify>) = Default::default();
        let mut tasks = JoinSet::new();
        let (is_silent, changed) = (silent.clone(), heard.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&server).await else { return };
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                connections.spawn(carry(from_client, to_server, is_silent.clone(), changed.clone()));
                connections.spawn(carry(from_server, to_client, is_silent.clone(), changed.clone()));
            }
        });
        Network { port, silent, heard, _tasks: tasks }
    }

    fn be_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }

    fn be_open(&self) {
        self.silent.store(false, Ordering::SeqCst);
        self.heard.notify_waiters();
    }
}

async fn carry(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    silent: Arc<AtomicBool>,
    changed: Arc<Notify>,
) {
    let mut bytes = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        loop {
            let mut open = std::pin::pin!(changed.notified());
            open.as_mut().enable();
            if !silent.load(Ordering::SeqCst) {
                break;
            }
            open.await;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

// F7: the worker gives up by its own clock before the database's lets another have it; PostgreSQL runs on this machine, so
// its clock and the child's are one.
// covers: K-13, K-53
#[test]
fn f7_a_worker_that_hears_nothing_stops_before_another_may_begin() {
    // A tenth of it is left between the two, and a busy machine may need some of that.
    const LEASE: Duration = Duration::from_secs(10);
    on_postgres(async |url| {
        let (before, address) = url.split_once('@').unwrap();
        let (server, rest) = address.split_once('/').unwrap();
        let network = Network::to(server.to_string()).await;
        let through = format!("{before}@127.0.0.1:{}/{rest}", network.port);
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let [item] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        let mut child = Program::start(&format!("worker {through} w {}", LEASE.as_millis()));
        child.until("begun ");
        network.be_silent();
        let mut said = child.until("stopped ");
        let stopped = said.pop().unwrap();
        let stopped = Time::from_micros(stopped.split(' ').nth(2).unwrap().parse().unwrap());
        let worker =
            tenure.worker("other").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        let whole = tenure.wait(item, PATIENCE).await.unwrap();
        let [lost, done] = &whole.executions[..] else { panic!("{:?}", whole.executions) };
        assert!(stopped < lost.lease_expires_at, "{stopped} is before {}", lost.lease_expires_at);
        assert!(lost.lease_expires_at <= done.leased_at);
        // Its handler and its counters are told at once: either may speak first.
        if said.is_empty() {
            said = child.until("thrown away");
        }
        assert_eq!(said, ["thrown away 1"]);
        // The network is back, and so is the worker, by itself.
        worker.drain().await;
        network.be_open();
        let [next] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        // A lease that it had asked for in the silence counts from then: that one may be over when it is heard of.
        let begun = child.until("begun ").pop().unwrap();
        let attempt: u64 =
            begun.strip_prefix(&format!("begun {next} ")).expect("it is that one").parse().unwrap();
        let attempts = tenure.executions(next).await.unwrap();
        assert_eq!(attempts.last().map(|one| one.attempt), Some(attempt));
        for over in &attempts[..attempts.len() - 1] {
            assert_eq!(over.ended_by.as_deref(), Some("expire"), "{over:?}");
        }
    });
}

// The database says nothing any more while a worker ends: it is waited for as long as was said and a little, and not for ever.
// covers: K-54
#[test]
fn a_drain_ends_with_its_grace_also_where_the_database_is_silent() {
    on_postgres(async |url| {
        let (before, address) = url.split_once('@').unwrap();
        let (server, rest) = address.split_once('/').unwrap();
        let network = Network::to(server.to_string()).await;
        let through = format!("{before}@127.0.0.1:{}/{rest}", network.port);
        let tenure = Tenure::builder(through).without_loops().open().await.unwrap();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let begun = std::sync::Mutex::new(Some(begun));
        let endless = move |_: Job| {
            let begun = begun.lock().unwrap().take();
            async move {
                begun.expect("it begins once").send(()).unwrap();
                std::future::pending().await
            }
        };
        let worker =
            tenure.worker("w").grace(Duration::from_millis(100)).handle("job", endless).start().unwrap();
        jobs(&tenure, 1).await;
        begins.await.unwrap();
        network.be_silent();
        tokio::time::timeout(PATIENCE, worker.drain()).await.expect("it ends");
        network.be_open();
    });
}

/// Ends every connection that calls itself so.
async fn cut(name: &str) -> i64 {
    let text = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = $1";
    schema::raw().await.query_one(text, &[&name]).await.unwrap().get(0)
}

// N4: whoever asks is told to ask again or gets an answer; nothing is lost and nothing doubled; the engine goes on.
// covers: K-30, K-51, K-53
#[test]
fn n4_connections_are_cut_again_and_again_and_all_work_is_done_once() {
    on_postgres(async |url| {
        let name = format!("cut{:x}", chance());
        let tenure = Tenure::open(format!("{url}&application_name={name}")).await.unwrap();
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        let (mut cuts, mut waves) = (0, 0);
        while cuts < sized(60, 1_000) {
            cuts += created_while_cut(&tenure, &name, waves).await;
            waves += 1;
        }
        eprintln!("{cuts} connections were cut");
        let mut query = tenure::databases::Query { limit: 1_000, ..Default::default() };
        let mut all = 0;
        loop {
            let page = tenure.list(query.clone()).await.unwrap();
            let Some(last) = page.last() else { break };
            query.after = Some(last.id);
            all += page.len();
        }
        assert_eq!(all, waves * JOBS, "nothing was created twice");
        worker.drain().await;
        drop(tenure);
        is_sound(&url).await;
    });
}

/// Jobs of one wave.
const JOBS: usize = 60;

/// Creates jobs while connections are cut, and waits until they are done. Answers how many were cut.
async fn created_while_cut(tenure: &Tenure, name: &str, wave: usize) -> usize {
    let mut callers = JoinSet::new();
    for number in 0..JOBS {
        let tenure = tenure.clone();
        callers.spawn(async move {
            let new = New::job(&number).idempotency_key(format!("n{wave}-{number}"));
            loop {
                match tenure.create(new.clone()).await {
                    Ok(job) => return job.id,
                    Err(error) => assert!(error.is_retryable(), "{error}"),
                }
            }
        });
    }
    let mut ids = std::collections::BTreeSet::new();
    let mut cuts = 0;
    while let Some(id) = callers.join_next().await {
        ids.insert(id.unwrap());
        cuts += usize::try_from(cut(name).await).unwrap();
    }
    assert_eq!(ids.len(), JOBS, "a key is an item");
    for id in &ids {
        let item = until_read(tenure, *id).await;
        assert_eq!(&**item.state_name(), "SUCCEEDED");
    }
    cuts
}

/// A reader whose connection was cut asks again.
async fn until_read(tenure: &Tenure, id: tenure::core::id::ItemId) -> tenure::core::item::Item {
    loop {
        match tenure.wait(id, PATIENCE).await {
            Ok(whole) => return whole.item,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

// covers: K-51
#[test]
fn a_loop_that_loses_its_connection_takes_its_next_turn() {
    on_postgres(async |url| {
        let name = format!("loops{:x}", chance());
        let tenure = Tenure::open(format!("{url}&application_name={name}")).await.unwrap();
        let [item] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        let mut child = Program::start(&format!("worker {url} w 1000"));
        child.until("begun ");
        child.kill();
        // Until a turn has failed of it: a sweep, the inbox or the sequence.
        let failed = async {
            while tenure.counters().failed_turns() == 0 {
                cut(&name).await;
            }
        };
        tokio::time::timeout(PATIENCE, failed).await.expect("a turn fails");
        assert!(tenure.counters().last_failure().is_some());
        // The next turn did it, once. It is the log that says so: the answer may have been cut off before it was counted.
        until(&tenure, item, |item| item.lease.is_none()).await;
        let whole = Tenure::open(url).await.unwrap();
        let history = whole.history(item).await.unwrap();
        assert_eq!(actions(&history).iter().filter(|action| **action == Event::Expire).count(), 1);
    });
}
