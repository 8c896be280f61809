//! Workers that are killed after any write, and others that go on: all four in one process, and each in a process of its own.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use tenure::Tenure;
use tenure::core::id::ItemId;
use tenure::databases::Whole;
use tenure_systems::tickets::{Part, Settings, known, runner, start};

use super::kit::{Scene, payload, records, titled, willing};
use crate::kit::{PATIENCE, on_kept};

/// What a child is told.
const TOLD: &str = "TENURE_TICKETS_CHILD";
/// Who a child can be: all of them, or one.
const ALL: &str = "all";
const EACH: [&str; 4] = ["readiness", "scheduler", "runner", "gate"];
/// A lease that a killed worker held is over so soon.
const LEASE: Duration = Duration::from_millis(1_000);

/// Not told to be anything it is a test of its own: a child works until its input ends.
#[test]
fn a_child_works_on_tickets_until_its_input_ends() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(TOLD) {
        Ok(told) => {
            let (who, url) = told.split_once(' ').expect("who it is, and where");
            runtime.block_on(work(who, url));
        }
        Err(_) => {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}", folder.path().join("tenure.db").display());
            for who in [ALL].into_iter().chain(EACH) {
                let mut worker = Worker::start(who, &url);
                drop(worker.child.stdin.take());
                assert!(worker.child.wait().unwrap().success());
            }
        }
    }
}

/// All four workers or one of them, until the input ends.
async fn work(who: &str, url: &str) {
    let tenure = known(Tenure::builder(url)).open().await.expect("it opens");
    let parts = match who {
        ALL => Part::ALL.to_vec(),
        "readiness" => vec![Part::Readiness],
        "scheduler" => vec![Part::Scheduler],
        "gate" => vec![Part::Gate],
        _ => Vec::new(),
    };
    let settings = Settings { parts, lease: Some(LEASE), ..Settings::default() };
    let running = (!settings.parts.is_empty()).then(|| start(&tenure, settings));
    let runner = [ALL, "runner"]
        .contains(&who)
        .then(|| runner(&tenure, "runner", willing).lease(LEASE).start().expect("it starts"));
    println!("works");
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
    ended.await.expect("it is read");
    if let Some(runner) = runner {
        runner.drain().await;
    }
    if let Some(running) = running {
        running.drain().await;
    }
}

/// A process. Dropped, it is killed.
struct Worker {
    child: Child,
    /// Held, so that it can say what it likes.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start(who: &str, url: &str) -> Worker {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "tickets::kills::a_child_works_on_tickets_until_its_input_ends";
        command.args(["--exact", name, "--nocapture"]).env(TOLD, format!("{who} {url}"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.is_ok_and(|line| line.ends_with("works"))), "it began");
        Worker { child, _said: said }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn rounds() -> u64 {
    if std::env::var("TENURE_ROUNDS").is_ok_and(|rounds| rounds == "full") { 50 } else { 2 }
}

/// Whether all of them are done. Whose runners were killed three times in a row waits for a person, who lets it be tried again.
async fn done(scene: &Scene, tickets: &[ItemId]) -> bool {
    for id in tickets {
        match scene.tenure.item(*id).await.unwrap().state_name().as_str() {
            "DONE" => {}
            "BLOCKED" => {
                scene.eva.resolve(*id, None).await.unwrap();
                return false;
            }
            _ => return false,
        }
    }
    true
}

/// Waits until so many entries more are visible, or all is done.
async fn written(scene: &Scene, tickets: &[ItemId], after: &mut u64, count: u64) {
    let mut seen = 0;
    while seen < count && !done(scene, tickets).await {
        let page = scene.tenure.log_or_wait(*after, 1, Duration::from_secs(1)).await.unwrap();
        if let Some((position, _)) = page.last() {
            (*after, seen) = (*position, seen + 1);
        }
    }
}

/// Two tickets that were approved, and where the log is.
async fn two(scene: &Scene, round: u64) -> (Vec<ItemId>, u64) {
    let mut tickets = Vec::new();
    for number in 0..2 {
        tickets.push(scene.approved(&titled(&format!("{round}/{number}"))).await);
    }
    (tickets, scene.tenure.head().await.unwrap().position)
}

/// One order an event, one bundle and one record an order, however often anybody was killed.
async fn is_as_if_nobody_was_killed(scene: &Scene) {
    let events = scene.all("ticket_ready").await;
    let orders = scene.all("work_order").await;
    let gates = scene.all("gate").await;
    let tickets = scene.all("ticket").await.len();
    let (executed, failed): (Vec<&Whole>, Vec<&Whole>) =
        orders.iter().partition(|order| order.item.state_name().as_str() == "EXECUTED");
    assert_eq!((executed.len(), gates.len()), (tickets, tickets), "one output a ticket, judged once");
    assert_eq!((events.len(), orders.len()), (tickets + failed.len(), tickets + failed.len()));
    let mut named: Vec<String> = orders.iter().map(|order| payload(order)["event_id"].to_string()).collect();
    named.sort();
    named.dedup();
    assert_eq!(named.len(), orders.len(), "one work order an event");
    assert!(executed.iter().all(|order| records(order, "output_bundle").len() == 1));
    assert!(failed.iter().all(|order| order.item.state_name().as_str() == "FAILED"));
    assert!(failed.iter().all(|order| records(order, "output_bundle").is_empty()));
    assert!(gates.iter().all(|gate| records(gate, "run_record").len() == 1));
}

// covers: M-02, M-03, M-04, M-07
#[test]
fn workers_killed_after_any_write_leave_one_order_an_event_one_bundle_and_one_record_an_order() {
    on_kept(async |url| {
        let scene = Scene::on(known(Tenure::builder(&url)).without_loops().open().await.unwrap());
        for round in 0..rounds() {
            let (tickets, mut after) = two(&scene, round).await;
            // Killed after the first entry that it makes visible, then after the second, and so on, until all is done.
            let mut kills = 1 + round % 3;
            let all = async {
                while !done(&scene, &tickets).await {
                    let worker = Worker::start(ALL, &url);
                    written(&scene, &tickets, &mut after, kills).await;
                    drop(worker);
                    kills += 1;
                }
            };
            tokio::time::timeout(PATIENCE * 2, all).await.expect("they come to their end");
        }
        is_as_if_nobody_was_killed(&scene).await;
    });
}

// covers: M-07
#[test]
fn each_of_the_four_is_killed_between_any_two_writes_while_the_others_go_on() {
    on_kept(async |url| {
        let scene = Scene::on(known(Tenure::builder(&url)).without_loops().open().await.unwrap());
        let mut workers: Vec<Worker> = EACH.iter().map(|who| Worker::start(who, &url)).collect();
        for round in 0..rounds() {
            let (tickets, mut after) = two(&scene, round).await;
            // After every entry the next of them, in turn; with every round another begins.
            let mut next = usize::try_from(round).unwrap_or_default() % EACH.len();
            let all = async {
                while !done(&scene, &tickets).await {
                    written(&scene, &tickets, &mut after, 1).await;
                    // Dropped first: there are never two of one.
                    drop(workers.remove(next));
                    workers.insert(next, Worker::start(EACH[next], &url));
                    next = (next + 1) % EACH.len();
                }
            };
            tokio::time::timeout(PATIENCE * 2, all).await.expect("they come to their end");
        }
        is_as_if_nobody_was_killed(&scene).await;
    });
}
