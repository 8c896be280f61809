//! A gate worker with a repository goes by what it has seen itself.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use tenure_systems::tickets::{Checked, Errand, Made, NewTicket, Settings, start};

use super::kit::{Scene, records, titled};
use crate::kit::on_memory;

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]).args(arguments);
    let said = git.current_dir(folder).output().unwrap();
    assert!(said.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
}

/// A repository with one commit and one file.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"]);
    std::fs::write(folder.path().join("README.md"), "# a project\n").unwrap();
    git(folder.path(), &["add", "--all"]);
    git(folder.path(), &["commit", "--quiet", "--message", "first"]);
    folder
}

/// Says of every command that it has passed, and makes no patch.
async fn boastful(errand: Errand) -> Result<Made, tenure_systems::tickets::NotExecuted> {
    let gates = errand.work_order.gates.iter().map(ToString::to_string);
    let checks = gates.map(|gate| Checked {
        gate,
        passed: true,
        detail: "trust me".to_string(),
        exit_code: Some(0),
        output_sha256: None,
    });
    Ok(Made { checks: checks.collect(), ..Made::output(json!("trust me")) })
}

// covers: M-04
#[test]
fn with_a_repository_a_runner_is_not_believed_also_where_it_made_no_patch() {
    on_memory(async |url| {
        let folder = repository();
        let scene = Scene::open(&url).await;
        let repository = Some(folder.path().to_path_buf());
        let workers = start(&scene.tenure, Settings { repository, ..Settings::default() });
        let runner = scene.run(boastful);
        let gated = |gate: &str| NewTicket { gates: vec![gate.to_string()], ..titled(gate) };
        let untrue = scene.approved(&gated("test:false")).await;
        scene.until(untrue, "BLOCKED").await;
        let judged = scene.all("gate").await;
        assert_eq!(judged.len(), 3, "each of its work orders was judged");
        for gate in &judged {
            let found = records(gate, "run_record").remove(0);
            assert_eq!(found["verdict"], "FAIL", "{found}");
            let last = found["gates"].as_array().unwrap().last().unwrap().clone();
            assert_eq!((&last["gate"], &last["detail"]), (&json!("test:false"), &json!("exit code 1")));
        }
        // What holds of the repository as it is, holds.
        let true_there = scene.approved(&gated("test:grep -q project README.md")).await;
        scene.until(true_there, "DONE").await;
        runner.drain().await;
        workers.drain().await;
    });
}
