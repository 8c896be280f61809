//! Runs of processes that are killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tenure::core::actor::Actor;
use tenure::core::answer::Answer;
use tenure::core::request::{Acquire, Command as Ask, Commit, Effects, Terms};
use tenure_systems::runs::Settings;
use tenure_systems::runs::step::Input;

use super::{Desk, does, reading, steps_of};
use crate::kit::{on_kept, on_postgres, on_sqlite};

/// What a child is told: the database, and the folder of the files.
const TOLD: &str = "TENURE_TEST_RUNS";
/// Short, for the dead; and long enough that a busy machine renews it in time.
const LEASE: Duration = Duration::from_secs(5);

/// A process that works on runs and never comes to an end.
struct Process {
    child: Child,
    says: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Process {
    fn start(url: &str, desk: &Desk) -> Process {
        let told = format!("{url} {}", desk.library.files.folder().display());
        let name = "runs::processes::a_process_works_on_runs_until_it_is_killed";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(TOLD, told)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap()).lines();
        Process { child, says }
    }

    /// The document that it has begun with.
    fn begun(&mut self) -> String {
        let begun =
            self.says.find_map(|line| line.unwrap().split_once("begun ").map(|(_, id)| id.to_string()));
        begun.expect("it begins")
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Told nothing, it is a test that has nothing to do.
#[test]
fn a_process_works_on_runs_until_it_is_killed() {
    let Ok(told) = std::env::var(TOLD) else { return };
    let (url, folder) = told.split_once(' ').unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut desk = Desk::open(url).await;
        desk.library = tenure_systems::runs::Library::new(tenure_systems::runs::files::Files::at(folder));
        let hangs = does("hang", async |input: Input| -> Result<Value, _> {
            println!("begun {}", input.document.id);
            std::future::pending().await
        });
        let settings = Settings { concurrency: 1, lease: Some(LEASE), ..desk.settings.clone() };
        let _running = desk.start_with(vec![hangs], settings).await;
        std::future::pending::<()>().await;
    });
}

//
#[test]
fn the_runs_of_a_killed_process_fail_when_the_next_one_starts() {
    on_sqlite(async |url| {
        let desk = Desk::open(&url).await;
        let (dies, lives) = (desk.upload("dies").await, desk.upload("lives").await);
        let mut first = Process::start(&url, &desk);
        assert_eq!(first.begun(), dies.document_id.to_string());
        let mut second = Process::start(&url, &desk);
        assert_eq!(second.begun(), lives.document_id.to_string());
        first.kill();
        // Nobody sweeps here: it is the start that ends it.
        let running = desk.start(reading()).await;
        let run = desk.ended(dies.run_id).await;
        assert_eq!((run.state.as_str(), run.failure_type.as_deref()), ("FAILED", Some("PROCESS_TERMINATED")));
        assert_eq!(steps_of(&run), [("hang", "FAILED", 1, Some("PROCESS_TERMINATED"))]);
        let events = desk.events(dies.run_id).await;
        assert_eq!(events[3..], ["STEP_FAILED hang", "RUN_RECOVERED_AS_FAILED"]);
        let counted = desk.library.counted();
        assert!(counted.contains(&("RUN_RECOVERED_AS_FAILED", 1)), "{counted:?}");
        assert_eq!(desk.documents.run(lives.run_id).await.unwrap().state, "RUNNING", "its process lives");
        assert_eq!(desk.ended(desk.reprocess(dies.document_id).await).await.state, "COMPLETED");
        assert_eq!(desk.documents.run(lives.run_id).await.unwrap().state, "RUNNING");
        second.kill();
        running.drain().await;
    });
}

//
#[test]
fn where_processes_may_be_anywhere_the_end_of_the_lease_says_that_one_is_gone() {
    on_postgres(async |url| {
        let desk = Desk::open(&url).await;
        let (dies, lives) = (desk.upload("dies").await, desk.upload("lives").await);
        let mut first = Process::start(&url, &desk);
        assert_eq!(first.begun(), dies.document_id.to_string());
        let mut second = Process::start(&url, &desk);
        assert_eq!(second.begun(), lives.document_id.to_string());
        first.kill();
        let run = desk.ended(dies.run_id).await;
        assert_eq!((run.state.as_str(), run.failure_type.as_deref()), ("FAILED", Some("PROCESS_TERMINATED")));
        assert_eq!(desk.events(dies.run_id).await.last().unwrap(), "RUN_RECOVERED_AS_FAILED");
        assert_eq!(desk.documents.run(lives.run_id).await.unwrap().state, "RUNNING", "its lease is renewed");
        second.kill();
    });
}

//
#[test]
fn a_worker_of_ones_own_takes_runs_by_the_same_contract() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let uploaded = desk.upload("x").await;
        let store = desk.tenure.store().clone();
        let acting = |name: &str| desk.tenure.acting(store.clone(), name.parse::<Actor>().unwrap());
        let take = || {
            let terms = Terms { start: true, ..Terms::default() };
            Ask::Acquire(Acquire { kinds: vec!["run".parse().unwrap()], max: 1, terms })
        };
        let Answer::Leased(leases) = acting("worker:w/1").ask(take()).await.unwrap().answer else { panic!() };
        let execution = leases[0].execution;
        // It is this worker's: no service of this process starts it a second time, and nobody else commits it.
        let running = desk.start(reading()).await;
        let commit = || {
            Ask::Commit(Commit {
                execution,
                output: None,
                effects: Effects::default(),
                finish: true,
                session: None,
                attests: Vec::new(),
            })
        };
        let no = acting("worker:w/2").ask(commit()).await.unwrap().answer;
        assert!(matches!(no, Answer::LeaseLost(_)), "{no:?}");
        assert!(matches!(acting("worker:w/1").ask(commit()).await.unwrap().answer, Answer::Ran(_)));
        assert_eq!(desk.documents.run(uploaded.run_id).await.unwrap().state, "COMPLETED");
        // One that fails says why in its own words.
        running.drain().await;
        let second = desk.reprocess(uploaded.document_id).await;
        let Answer::Leased(leases) = acting("worker:w/1").ask(take()).await.unwrap().answer else { panic!() };
        let fail = tenure::core::request::Fail {
            execution: leases[0].execution,
            reason: "the printer is on fire".to_string(),
            permanent: true,
            retry_after: None,
            offers: Effects::default(),
        };
        assert!(matches!(acting("worker:w/1").ask(Ask::Fail(fail)).await.unwrap().answer, Answer::Ran(_)));
        let run = desk.ended(second).await;
        assert_eq!(run.failure_type.as_deref(), Some("the printer is on fire"));
    });
}
