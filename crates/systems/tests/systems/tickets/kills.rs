//! Workers that are killed after any write, and others that go on.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use tenure::Tenure;
use tenure::databases::Whole;
use tenure_systems::tickets::{Settings, known, runner, start};

use super::kit::{Scene, payload, records, titled, willing};
use crate::kit::{PATIENCE, on_kept};

/// What a child is told.
const TOLD: &str = "TENURE_TICKETS_CHILD";
/// A lease that a killed worker held is over so soon.
const LEASE: Duration = Duration::from_millis(1_000);

/// Not told to be anything it is a test of its own: a child works until its input ends.
#[test]
fn a_child_works_on_tickets_until_its_input_ends() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(TOLD) {
        Ok(url) => runtime.block_on(work(&url)),
        Err(_) => {
            let folder = tempfile::tempdir().unwrap();
            let mut worker = Worker::start(&format!("sqlite:{}", folder.path().join("tenure.db").display()));
            drop(worker.child.stdin.take());
            assert!(worker.child.wait().unwrap().success());
        }
    }
}

/// All four workers, until the input ends.
async fn work(url: &str) {
    let tenure = known(Tenure::builder(url)).open().await.expect("it opens");
    let running = start(&tenure, Settings { lease: Some(LEASE), ..Settings::default() });
    let runner = runner(&tenure, "runner", willing).lease(LEASE).start().expect("it starts");
    println!("works");
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
    ended.await.expect("it is read");
    runner.drain().await;
    running.drain().await;
}

/// A process. Dropped, it is killed.
struct Worker {
    child: Child,
    /// Held, so that it can say what it likes.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start(url: &str) -> Worker {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "tickets::kills::a_child_works_on_tickets_until_its_input_ends";
        command.args(["--exact", name, "--nocapture"]).env(TOLD, url);
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

// covers: M-02, M-03, M-04, M-07
#[test]
fn workers_killed_after_any_write_leave_one_order_an_event_one_bundle_and_one_record_an_order() {
    on_kept(async |url| {
        let scene = Scene::on(known(Tenure::builder(&url)).without_loops().open().await.unwrap());
        for round in 0..rounds() {
            let mut tickets = Vec::new();
            for number in 0..2 {
                tickets.push(scene.approved(&titled(&format!("{round}/{number}"))).await);
            }
            let mut after = scene.tenure.head().await.unwrap().position;
            // Killed after the first entry that it makes visible, then after the second, and so on, until all is done.
            let mut kills = 1 + round % 3;
            let done = async || {
                for id in &tickets {
                    match scene.tenure.item(*id).await.unwrap().state_name().as_str() {
                        "DONE" => {}
                        // Its runners were killed three times in a row: it waits for a person, who lets it be tried again.
                        "BLOCKED" => {
                            scene.eva.resolve(*id, None).await.unwrap();
                            return false;
                        }
                        _ => return false,
                    }
                }
                true
            };
            let all = async {
                while !done().await {
                    let worker = Worker::start(&url);
                    let mut seen = 0;
                    while seen < kills && !done().await {
                        let page = scene.tenure.log_or_wait(after, 1, Duration::from_secs(1)).await.unwrap();
                        if let Some((position, _)) = page.last() {
                            (after, seen) = (*position, seen + 1);
                        }
                    }
                    drop(worker);
                    kills += 1;
                }
            };
            tokio::time::timeout(PATIENCE * 2, all).await.expect("they come to their end");
        }
        let events = scene.all("ticket_ready").await;
        let orders = scene.all("work_order").await;
        let gates = scene.all("gate").await;
        let tickets = scene.all("ticket").await.len();
        let (executed, failed): (Vec<&Whole>, Vec<&Whole>) =
            orders.iter().partition(|order| order.item.state_name().as_str() == "EXECUTED");
        assert_eq!((executed.len(), gates.len()), (tickets, tickets), "one output a ticket, judged once");
        assert_eq!((events.len(), orders.len()), (tickets + failed.len(), tickets + failed.len()));
        let mut named: Vec<String> =
            orders.iter().map(|order| payload(order)["event_id"].to_string()).collect();
        named.sort();
        named.dedup();
        assert_eq!(named.len(), orders.len(), "one work order an event");
        assert!(executed.iter().all(|order| records(order, "output_bundle").len() == 1));
        assert!(failed.iter().all(|order| order.item.state_name().as_str() == "FAILED"));
        assert!(failed.iter().all(|order| records(order, "output_bundle").is_empty()));
        assert!(gates.iter().all(|gate| records(gate, "run_record").len() == 1));
    });
}
