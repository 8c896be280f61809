//! Workers in other languages drain jobs while their server is killed and started again.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::run::{folder, tenure};
use crate::serving::Server;

const JOBS: usize = 120;
const KILLS: usize = 3;

/// Dropped, it is killed.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn python(address: &str) -> Worker {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/worker.py");
    let mut command = Command::new("python3");
    command.arg(script).env("TENURE_URL", format!("http://{address}")).stderr(Stdio::null());
    Worker(command.spawn().expect("python3 is installed; ./check sees to it"))
}

// covers: K-18, K-50
#[test]
fn a_worker_in_python_loses_nothing_and_does_nothing_twice_while_its_server_is_killed() {
    let folder = folder("languages");
    let db = format!("sqlite:{}/t.db", folder.path());
    let mut server = Server::start(&db);
    let address = server.address.clone();
    let jobs: Vec<String> =
        (0..JOBS).map(|number| format!(r#"{{"kind":"job","payload":{number}}}"#)).collect();
    let (status, created) = server.ask("POST", "/v1/items", &format!("[{}]", jobs.join(",")));
    assert_eq!(status, 200, "{created}");
    let workers = [python(&address), python(&address)];
    let done = |server: &Server| -> Vec<Value> {
        let (_, page) = server.ask("GET", "/v1/items?phase=succeeded&limit=1000", "");
        page["items"].as_array().cloned().unwrap_or_default()
    };
    // Killed whenever some more are done, and started again at the same place.
    for kill in 1..=KILLS {
        while done(&server).len() < kill * JOBS / (KILLS + 1) {}
        server.signal("-KILL");
        drop(server);
        server = Server::start_at(&db, &address);
    }
    while done(&server).len() < JOBS {}
    drop(workers);
    let ids: BTreeSet<String> = done(&server).iter().map(|item| item["id"].to_string()).collect();
    assert_eq!(ids.len(), JOBS);
    for item in done(&server) {
        let path = format!("/v1/items/{}/executions", item["id"].as_str().unwrap());
        let (_, attempts) = server.ask("GET", &path, "");
        let committed =
            attempts["items"].as_array().unwrap().iter().filter(|one| one["status"] == "DONE").count();
        assert_eq!(committed, 1, "{attempts}");
    }
    assert_eq!(server.stop().0, Some(0));
    tenure(["verify", &db]).code(0);
}
