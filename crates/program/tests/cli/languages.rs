//! Workers in other languages drain jobs while their server is killed and started again.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::kit::Place;
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

fn example(program: &str, file: &str, arguments: &[&str], address: &str) -> Worker {
    let file = format!("{}/../../docs/examples/{file}", env!("CARGO_MANIFEST_DIR"));
    // The example finds this build of the program as it would find one that is installed.
    let ours = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().expect("it is in a folder").to_str().unwrap();
    let path = format!("{ours}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.arg(file).args(arguments).env("TENURE_URL", format!("http://{address}")).env("PATH", path);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Worker(command.spawn().unwrap_or_else(|why| panic!("{program}: {why}; ./check sees to it")))
}

fn python(address: &str) -> Worker {
    example("python3", "worker.py", &["job"], address)
}

fn shell(address: &str) -> Worker {
    example("sh", "worker.sh", &["job", "--lease", "15"], address)
}

/// All that succeeded.
fn done(server: &Server) -> Vec<Value> {
    let (_, page) = server.ask("GET", "/v1/items?phase=succeeded&limit=1000", "");
    page["items"].as_array().cloned().unwrap_or_default()
}

/// The workers start with the first server and outlive all but the last.
fn drain(name: &str, start: impl Fn(&str) -> Vec<Worker>) {
    let folder = folder(name);
    let db = format!("sqlite:{}/t.db", folder.path());
    let mut server = Server::start(&db);
    let address = server.address.clone();
    let jobs: Vec<String> =
        (0..JOBS).map(|number| format!(r#"{{"kind":"job","payload":{number}}}"#)).collect();
    let (status, created) = server.ask("POST", "/v1/items", &format!("[{}]", jobs.join(",")));
    assert_eq!(status, 200, "{created}");
    let workers = start(&address);
    // Killed whenever some more are done, and started again at the same place.
    for kill in 1..=KILLS {
        while done(&server).len() < kill * JOBS / (KILLS + 1) {}
        server.signal("-KILL");
        drop(server);
        server = Server::start_at(&db, &address);
    }
    while done(&server).len() < JOBS {}
    drop(workers);
    let mut greeted: Vec<u64> = Vec::new();
    for item in done(&server) {
        let path = format!("/v1/items/{}", item["id"].as_str().unwrap());
        let (_, whole) = server.ask("GET", &path, "");
        assert_eq!(whole["output"]["hello"], whole["payload"], "{whole}");
        greeted.push(whole["payload"].as_u64().unwrap());
        // What the log says is what has happened.
        let (_, log) = server.ask("GET", &format!("{path}/log"), "");
        let commits = log["items"].as_array().unwrap().iter().filter(|entry| entry["action"] == "commit");
        assert_eq!(commits.count(), 1, "{log}");
    }
    greeted.sort_unstable();
    assert_eq!(greeted, (0..JOBS as u64).collect::<Vec<_>>());
    assert_eq!(server.stop().0, Some(0));
    tenure(["verify", &db]).code(0);
}

// covers: K-18, K-50
#[test]
fn a_worker_in_python_loses_nothing_and_does_nothing_twice_while_its_server_is_killed() {
    drain("languages_python", |address| vec![python(address), python(address)]);
}

// covers: K-34
// fault: F13
#[test]
fn a_worker_in_python_ends_its_work_with_the_window() {
    let place = Place::served("languages_window");
    place.add_parcel();
    let id = place.parcel();
    // The first attempt never comes to its end by itself.
    let script = "import time, worker\n\
                  worker.work(lambda lease: lease['attempt'] > 1 or time.sleep(1000), 'parcel')";
    let mut command = Command::new("python3");
    command.args(["-c", script]).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples"));
    let address = &place.server.as_ref().expect("it is served").address;
    command.env("TENURE_URL", format!("http://{address}")).stderr(Stdio::null());
    let _worker = Worker(command.spawn().expect("python3 is there; ./check sees to it"));
    let parcel = place.at_rest(&id);
    assert_eq!((&parcel["output"], &parcel["attempt"]), (&true.into(), &2.into()), "{parcel}");
}

// covers: K-18, K-50
#[test]
fn a_worker_in_a_shell_shares_the_jobs_with_one_in_python_while_their_server_is_killed() {
    drain("languages_shell", |address| vec![shell(address), shell(address), python(address)]);
}
