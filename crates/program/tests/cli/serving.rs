//! `tenure serve` and `tenure demo`, as processes that are spoken to, stopped and killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::kit::Place;
use crate::run::{folder, tenure};

/// A server, until it is stopped or dropped.
pub struct Server {
    process: Child,
    said: BufReader<ChildStdout>,
    pub address: String,
    pub greeting: String,
}

impl Server {
    pub fn start(db: &str) -> Server {
        Server::start_at(db, "127.0.0.1:0")
    }

    pub fn start_at(db: &str, address: &str) -> Server {
        Server::start_with(db, address, &[])
    }

    /// With a configuration file.
    pub fn configured(db: &str, config: &str) -> Server {
        Server::start_with(db, "127.0.0.1:0", &["--config", config])
    }

    pub fn start_with(db: &str, address: &str, more: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["serve", "--db", db, "--listen", address]).args(more);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut said = BufReader::new(process.stdout.take().expect("its output is a pipe"));
        let mut greeting = String::new();
        while !greeting.contains("item list") {
            assert!(said.read_line(&mut greeting).expect("it speaks UTF-8") > 0, "it ended: {greeting}");
        }
        let address = greeting.lines().find_map(|line| line.trim().strip_prefix("listening"));
        let address =
            address.expect("it says where it listens").trim().trim_start_matches("http://").to_string();
        Server { process, said, address, greeting }
    }

    /// One request over a connection of its own; the status and the body.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        self.asking(method, path, body).answer()
    }

    /// One request whose answer is read later.
    pub fn asking(&self, method: &str, path: &str, body: &str) -> Asking {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
            .expect("it reads");
        Asking(stream)
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("kill is everywhere");
        assert!(sent.success());
    }

    /// All that it still says: it is at its end when the process is.
    fn said_all(&mut self) -> String {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("it speaks UTF-8");
        rest
    }

    /// Told to end, it ends: its exit code and its last words.
    pub fn stop(mut self) -> (Option<i32>, String) {
        self.signal("-TERM");
        let rest = self.said_all();
        (self.process.wait().expect("it ends").code(), rest)
    }
}

/// A request that was sent.
pub struct Asking(TcpStream);

impl Asking {
    /// The status and the body.
    pub fn answer(mut self) -> (u16, Value) {
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

// covers: K-50, K-54
#[test]
fn a_server_that_is_killed_has_kept_what_it_answered_and_one_that_is_stopped_ends_well() {
    let folder = folder("serve");
    let db = format!("sqlite:{}/t.db", folder.path());
    let mut server = Server::start(&db);
    for said in [
        "listening",
        "/openapi.json), and RPC as Connect, gRPC",
        &db,
        "t.db.files",
        "synchronous = FULL",
        "workers of claims, runs, tickets\n",
        "open to everybody on this machine",
        "curl",
    ] {
        assert!(server.greeting.contains(said), "{}", server.greeting);
    }
    let (status, job) = server.ask("POST", "/v1/items", r#"{"kind":"job","payload":{"to":"Ada"}}"#);
    assert_eq!(status, 201, "{job}");
    let refused = tenure(["serve", "--db", &db, "--listen", "127.0.0.1:0"]).code(1);
    assert!(refused.stderr.contains("is served already"), "{refused:?}");
    server.signal("-KILL");
    server.said_all();
    // Its note lies there still, and its process too: dead, and waited for by nobody yet. Whoever looks sees that nobody holds the note.
    let killed = server;
    let server = Server::start(&db);
    drop(killed);
    let (status, found) = server.ask("GET", &format!("/v1/items/{}", job["id"].as_str().unwrap()), "");
    assert_eq!((status, &found), (200, &job));
    let (code, last) = server.stop();
    assert_eq!((code, last.as_str()), (Some(0), "stopped; everything that was answered is kept\n"));
    assert!(!std::fs::exists(format!("{}/t.db.server", folder.path())).unwrap(), "the note is gone");
}

/// As in a container, where every server is the same process number under the same boot of the machine.
// fault: S6
#[test]
fn a_note_with_the_number_of_a_living_process_locks_no_server_out() {
    let folder = folder("serve-again");
    let db = format!("sqlite:{}/t.db", folder.path());
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let note = serde_json::json!({ "address": "http://127.0.0.1:1", "pid": std::process::id(), "boot": boot.trim() });
    folder.write("t.db.server", note.to_string());
    tenure(["job", "submit", "--db", &db]).code(0);
    let server = Server::start(&db);
    assert_eq!(server.ask("GET", "/v1/items", "").1["items"].as_array().map(Vec::len), Some(1));
}

// covers: K-07
#[test]
fn of_two_servers_that_start_at_once_on_a_file_one_goes_on() {
    let folder = folder("serve-both");
    let db = format!("sqlite:{}/t.db", folder.path());
    for _ in 0..3 {
        let start = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
            command.args(["serve", "--db", &db, "--listen", "127.0.0.1:0"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
        };
        let mut both = [start(), start()];
        // The first line of the one, or nothing from the one that was refused.
        let mut said = both.each_mut().map(|process| {
            let mut line = String::new();
            let mut out = BufReader::new(process.stdout.take().expect("its output is a pipe"));
            out.read_line(&mut line).expect("it speaks UTF-8");
            (line, out)
        });
        let lines = said.each_ref().map(|(line, _)| line.is_empty());
        assert!(lines == [true, false] || lines == [false, true], "{lines:?}");
        for (process, (line, _)) in both.iter_mut().zip(&mut said) {
            if line.is_empty() {
                let mut why = String::new();
                process.stderr.take().expect("it is a pipe").read_to_string(&mut why).expect("text");
                assert!(why.contains("is served already"), "{why}");
                assert_eq!(process.wait().expect("it ends").code(), Some(1));
            } else {
                process.kill().expect("it runs");
                process.wait().expect("it ends");
            }
        }
    }
}

// covers: K-07
#[test]
fn what_a_server_keeps_is_readable_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("serve-private");
    let db = format!("sqlite:{}/t.db", folder.path());
    let server = Server::start(&db);
    let (status, _) = server.ask("POST", "/v1/documents", r#"{"a": "document"}"#);
    assert_eq!(status, 201);
    tenure(["backup", &folder.file("copy.db"), "--db", &db]).code(0);
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.file_name().into_string().unwrap());
        let metadata = entry.metadata().unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o777, expected, "{names:?}");
    }
    names.sort();
    assert_eq!(names, ["copy.db", "t.db", "t.db-shm", "t.db-wal", "t.db.files", "t.db.server"]);
}

// covers: K-07
#[test]
fn an_address_that_others_can_reach_needs_tokens() {
    let folder = folder("serve-open");
    let db = format!("sqlite:{}/t.db", folder.path());
    let refused = tenure(["serve", "--db", &db, "--listen", "0.0.0.0:0"]).code(1);
    assert!(
        refused.stderr.contains("there is no token") && refused.stderr.contains("tenure token create"),
        "{refused:?}"
    );
    let refused = tenure(["serve", "--db", &db, "--listen", "nowhere"]).code(64);
    assert!(refused.stderr.contains("--listen 127.0.0.1:7878"), "{refused:?}");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "what was refused leaves nothing behind"
    );
    let db = format!("sqlite:{}/nowhere/t.db", folder.path());
    let refused = tenure(["serve", "--db", &db]).code(2);
    assert!(refused.stderr.contains("does not exist; create it first"), "{refused:?}");
}

// covers: K-07
// fault: A20
#[test]
fn a_token_is_made_on_the_machine_when_none_is_left() {
    for mut place in [Place::file("last_token_file"), Place::postgres("last_token_postgres")] {
        place.server = Some(Server::start(&place.db));
        let url = format!("http://{}", place.server.as_ref().expect("it is served").address);
        let create = ["token", "create", "boss", "--role", "admin", "--without-server", "--json"];
        let boss = |place: &Place| -> (String, String) {
            let made = place.json(&create);
            let text = |field: &str| made[field].as_str().expect("a text").to_string();
            (text("id"), text("token"))
        };
        let list = |token: &str| tenure(["item", "list", "--url", &url]).env("TENURE_TOKEN", token);
        let (id, first) = boss(&place);
        tenure(["token", "revoke", &id, "--url", &url]).env("TENURE_TOKEN", &first).code(0);
        for token in [first.as_str(), ""] {
            let refused = list(token).code(1);
            assert!(refused.stderr.contains("tenure token create NAME --role admin"), "{refused:?}");
        }
        let open = tenure(["item", "list", "--url", &url]).code(1);
        assert!(
            open.stderr.contains("UNAUTHENTICATED") && open.stderr.contains("--without-server"),
            "{open:?}"
        );
        let (_, second) = boss(&place);
        list(&second).code(0);
    }
}

// covers: K-12, K-21, K-50, R-05
#[test]
fn the_demonstration_shows_what_it_says() {
    let run = tenure(["demo"]).code(0);
    for said in [
        "kill -9",
        "as its second attempt",
        "LEASE_LOST:",
        "writes nothing",
        "expire",
        "every TruthBit is there, once",
        "the verdict: supported",
        "FAILED PROCESS_TERMINATED",
        "a new run: COMPLETED",
        "CLAIM_CONFLICT",
        "VERIFICATION_REQUIRED",
        "Verified, once",
        "shows as stale",
        "the ticket is DONE, with one run record",
        "What happened to the work order",
        "sound",
        "tenure serve",
    ] {
        assert!(run.stdout.contains(said), "{said}: {run:?}");
    }
}
