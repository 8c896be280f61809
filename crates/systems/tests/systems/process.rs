//! Commands within bounds: all that they said is heard, nobody waits for what they leave behind, and no secret reaches them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tenure_systems::process::{DATABASE, Keep, Ran, SECRETS, command, run, shell, start};
use tenure_systems::runs::command::{CommandSettings, CommandStep};
use tenure_systems::runs::step::{Input, Step};
use tenure_systems::tickets::{Errand, Executor, Patch, Program, check};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::documents::made;
use crate::kit::PATIENCE;

const MIB: usize = 1 << 20;

async fn ran(line: &str, output: Keep, said: Keep) -> Ran {
    timeout(PATIENCE, run(shell(line), b"", output, said)).await.unwrap().unwrap()
}

#[tokio::test]
async fn what_a_command_writes_right_before_its_end_is_heard() {
    for round in 0..100 {
        let mut head = command("head");
        head.args(["-c", &MIB.to_string(), "/dev/zero"]);
        let ran = run(head, b"", Keep::First(2 * MIB), Keep::Last(MIB)).await.unwrap();
        assert_eq!((ran.output.bytes.len(), ran.output.is_cut), (MIB, false), "round {round}");
    }
    // As much as a pipe holds: it is gone before anybody reads.
    for round in 0..100 {
        let ran =
            ran("head -c 65536 /dev/zero; head -c 65536 /dev/zero >&2", Keep::All(MIB), Keep::Last(MIB))
                .await;
        assert_eq!((ran.output.bytes.len(), ran.said.bytes.len()), (65536, 65536), "round {round}");
    }
}

#[tokio::test]
async fn of_what_a_command_says_the_beginning_or_the_end_is_kept() {
    let said = ran("seq 100000; seq 100000 >&2", Keep::First(6), Keep::Last(7)).await;
    assert_eq!((said.output.text().as_str(), said.output.is_cut), ("1\n2\n3\n", true));
    assert_eq!((said.said.text().as_str(), said.said.is_cut), ("100000\n", true));
    assert!(said.status.success(), "it came to its end");
    let said = ran("exec yes", Keep::All(MIB), Keep::Last(1)).await;
    assert_eq!((said.output.is_cut, said.status.code()), (true, None), "it was killed");
}

#[tokio::test]
async fn who_holds_the_output_of_a_command_that_has_ended_keeps_nobody_waiting() {
    let left = ran("sleep 1000 & echo done", Keep::All(MIB), Keep::Last(MIB)).await;
    assert_eq!((left.output.text().as_str(), left.status.code()), ("done\n", Some(0)));
    // One that has left the group can not be killed with it. It does not hold its caller up either.
    let away = ran("setsid sleep 1000 & echo $!", Keep::All(MIB), Keep::Last(MIB)).await;
    let away = away.output.text().trim().parse().ok().and_then(Pid::from_raw).expect("a number");
    kill_process(away, Signal::KILL).expect("it is alive, and nobody waited for it");
}

/// A named pipe: who runs says so in it, and it ends when all who hold it are dead.
struct Life(tempfile::TempDir);

impl Life {
    fn new() -> Life {
        let life = Life(tempfile::tempdir().unwrap());
        assert!(Command::new("mkfifo").arg(life.path()).status().unwrap().success());
        life
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("life")
    }

    /// Somebody who lives until he is killed, in a group of his own as `timeout` makes one.
    fn away(&self) -> String {
        let lives = format!("exec 3>{}; echo up >&3; exec sleep 1000", self.path().display());
        format!("timeout 1000 sh -c '{lives}'")
    }

    /// Waits until he runs.
    async fn begun(&self) -> BufReader<File> {
        let path = self.path();
        let begun = move || {
            let mut pipe = BufReader::new(File::open(path).unwrap());
            let mut line = String::new();
            pipe.read_line(&mut line).unwrap();
            assert_eq!(line, "up\n");
            pipe
        };
        tokio::task::spawn_blocking(begun).await.unwrap()
    }
}

/// Waits until all are dead who had the pipe.
async fn dead(mut pipe: BufReader<File>) {
    let dead = move || pipe.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(tokio::task::spawn_blocking(dead).await.unwrap(), 0);
}

#[tokio::test]
async fn a_command_that_is_ended_takes_along_who_has_left_its_group() {
    let life = Life::new();
    let (group, running) = start(shell(&format!("{}; true", life.away()))).unwrap();
    let began = life.begun().await;
    drop((running, group));
    dead(began).await;
}

#[tokio::test]
async fn who_has_left_the_group_of_a_command_and_holds_its_output_is_ended_after_it() {
    let life = Life::new();
    let line = format!("{} & cat > /dev/null < {}.told; echo done", life.away(), life.path().display());
    let told = format!("{}.told", life.path().display());
    assert!(Command::new("mkfifo").arg(&told).status().unwrap().success());
    let (group, running) = start(shell(&line)).unwrap();
    let began = life.begun().await;
    // It comes to its end only now.
    drop(File::create(&told).unwrap());
    let ran = running.end(&group, b"", Keep::All(MIB), Keep::Last(MIB)).await.unwrap();
    assert_eq!((ran.output.text().as_str(), ran.status.code()), ("done\n", Some(0)));
    drop(group);
    dead(began).await;
}

#[tokio::test]
async fn what_a_gate_of_a_ticket_started_ends_with_it_wherever_its_output_goes() {
    let (folder, life) = (tempfile::tempdir().unwrap(), Life::new());
    let base = repository(folder.path());
    let patch = Patch { base, branch: "main".to_string(), diff: String::new() };
    let quiet = format!(
        "mkfifo told; {} > told 2>&1 & read -r line < told",
        life.away().replace(">&3;", ">&3; echo up;")
    );
    let gate = format!("cmd:{quiet}").parse().unwrap();
    let gates = [gate];
    let (checked, began) = tokio::join!(check(folder.path(), &patch, &gates), life.begun());
    assert!(checked.iter().all(|check| check.passed), "{checked:?}");
    dead(began).await;
}

/// Set where this test is run again, by itself, with secrets.
const AGAIN: &str = "TENURE_TEST_SECRETS";

#[tokio::test]
async fn no_secret_reaches_a_step_a_gate_or_an_executor() {
    if std::env::var_os(AGAIN).is_some() {
        return with_secrets().await;
    }
    let name = "process::no_secret_reaches_a_step_a_gate_or_an_executor";
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([name, "--exact"]).env(AGAIN, "1").env("GIT_DIR", "/nowhere");
    for secret in SECRETS.into_iter().chain([DATABASE]) {
        again.env(secret, "a secret");
    }
    let said = again.output().unwrap();
    let told = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && told.contains("1 passed"), "{told}");
}

async fn with_secrets() {
    let seen = "env | grep -c 'a secret' || true";
    let (_keep, stop) = watch::channel(false);
    let input = Input { document: Arc::new(made("a.txt", "a")), made: Arc::default(), stop };
    let step = CommandStep::new("own", CommandSettings::new(["sh", "-c", seen])).unwrap();
    assert_eq!(step.run(input).await.unwrap(), json!(0), "a step");
    let command = ["sh", "-c", seen].map(str::to_string).to_vec();
    let executed = Program { command, folder: None }.execute(errand()).await.unwrap();
    assert_eq!(executed.output, Some(json!(0)), "an executor");
    let folder = tempfile::tempdir().unwrap();
    let base = repository(folder.path());
    let patch = Patch { base, branch: "main".to_string(), diff: String::new() };
    let gate = "cmd:! env | grep 'a secret'".parse().unwrap();
    let checked = check(folder.path(), &patch, &[gate]).await;
    assert!(checked.len() == 2 && checked.iter().all(|check| check.passed), "a gate: {checked:?}");
}

fn errand() -> Errand {
    let id = "00000000000000000000000001";
    let of = json!({ "event_id": id, "ticket_id": id, "number": 1, "budget_ms": 1, "gates": [] });
    let with = |more: serde_json::Value| {
        let mut all = of.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let order = with(json!({ "context_snapshot_id": id }));
    let snapshot = with(json!({ "title": "t", "earlier": [] }));
    Errand {
        work_order_id: id.parse().unwrap(),
        work_order: serde_json::from_value(order).unwrap(),
        context_snapshot: serde_json::from_value(snapshot).unwrap(),
    }
}

/// With one commit, which is answered.
fn repository(folder: &Path) -> String {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(arguments);
        let said = git.current_dir(folder).env_remove("GIT_DIR").output().unwrap();
        assert!(said.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_string()
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
    git(&["rev-parse", "HEAD"])
}
