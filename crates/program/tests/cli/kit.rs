//! Processes that run beside a test: workers, a server or none, and pipes that tell when their commands live and when they are dead.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::run::{Folder, Run, folder, tenure};
use crate::schema;
use crate::serving::Server;

/// What a command must not see.
pub const SECRET: &str = "not for commands";

/// Where the work of a test is.
pub struct Place {
    pub folder: Folder,
    pub db: String,
    pub server: Option<Server>,
    _schema: Option<Schema>,
}

/// Of a PostgreSQL server; dropped with its test.
struct Schema(String);

impl Drop for Schema {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(schema::drop(&self.0));
    }
}

impl Place {
    /// A database file. Every command opens it itself.
    pub fn file(name: &str) -> Place {
        let folder = folder(name);
        let db = format!("sqlite:{}", folder.file("work.db"));
        Place { folder, db, server: None, _schema: None }
    }

    /// A schema of the PostgreSQL server. Every command opens it itself.
    pub fn postgres(name: &str) -> Place {
        let schema = schema::fresh();
        Place { db: schema::url(&schema), _schema: Some(Schema(schema)), ..Place::file(name) }
    }

    /// The same, with a server on it. Commands find it by the file.
    pub fn served(name: &str) -> Place {
        let mut place = Place::file(name);
        place.server = Some(Server::start(&place.db));
        place
    }

    pub fn both(name: &str) -> [Place; 2] {
        [Place::file(&format!("{name}_file")), Place::served(&format!("{name}_served"))]
    }

    pub fn all(name: &str) -> [Place; 3] {
        let [file, served] = Place::both(name);
        [file, served, Place::postgres(&format!("{name}_postgres"))]
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        tenure(arguments).env("TENURE_DB", &self.db)
    }

    /// Adds the kind `parcel`: a job whose window ends after two seconds, and whose next attempt comes some seconds later.
    pub fn add_parcel(&self) {
        let parcel = include_str!("../../../../lifecycles/job.md").replace("# job\n", "# parcel\n");
        let parcel = parcel.replace("| window   | none ", "| window   | 2 s  ");
        let parcel = parcel.replace("1 s doubling to 10 min", "4 s doubling to 10 min");
        std::fs::write(self.folder.file("parcel.md"), parcel).expect("it is written");
        self.run(&["lifecycle", "add", &self.folder.file("parcel.md")]).code(0);
    }

    /// Creates a parcel.
    #[track_caller]
    pub fn parcel(&self) -> String {
        let parcel = self.json(&["item", "create", "parcel", "{}", "--json"]);
        parcel["id"].as_str().expect("an id").to_string()
    }

    /// The one object that a command prints.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let run = self.run(arguments).code(0);
        serde_json::from_str(&run.stdout).unwrap_or_else(|why| panic!("{why}: {run:?}"))
    }

    /// Follows the log, from its beginning: whatever comes after this is in it.
    pub fn follow(&self) -> Process {
        Process::start(&["log", "--follow", "--all", "--db", &self.db], None)
    }

    #[track_caller]
    pub fn submit(&self, payload: &str) -> String {
        let job = self.json(&["job", "submit", payload, "--max-attempts", "2", "--json"]);
        job["id"].as_str().expect("an id").to_string()
    }

    #[track_caller]
    pub fn item(&self, id: &str) -> Value {
        self.json(&["item", "show", id, "--json"])
    }

    #[track_caller]
    pub fn at_rest(&self, id: &str) -> Value {
        self.json(&["item", "show", id, "--wait", "60", "--json"])
    }

    /// A worker for jobs, with a shell's script as its command.
    pub fn work(&self, options: &[&str], script: &str) -> Process {
        self.work_on("job", options, script)
    }

    /// The same for another kind.
    pub fn work_on(&self, kind: &str, options: &[&str], script: &str) -> Process {
        let mut arguments = vec!["work", kind, "--db", &self.db];
        arguments.extend(options);
        arguments.extend(["--", "sh", "-c", script]);
        // Who opens the file needs none. Whoever it is for, a command does not get it.
        let token = self.server.is_none().then_some(SECRET);
        let mut worker = Process::start(&arguments, token);
        worker.until(&format!("working on {kind}"));
        worker
    }

    /// Tells the server to end, and starts it again at the same place: the exit code of the first, and its last words.
    pub fn stop_server(&mut self) -> (Option<i32>, String) {
        let server = self.server.take().expect("it is served");
        let address = server.address.clone();
        let ended = server.stop();
        self.server = Some(Server::start_at(&self.db, &address));
        ended
    }

    /// Kills the server; commands open the file again.
    pub fn kill_server(&mut self) {
        self.server.as_ref().expect("it is served").signal("-KILL");
        self.server = None;
    }
}

/// Dropped, it is killed.
pub struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(arguments: &[&str], token: Option<&str>) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        command.env_remove("TENURE_TOKEN").envs(token.map(|token| ("TENURE_TOKEN", token)));
        command.env("TENURE_SESSION", SECRET);
        let mut child = command.spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Process { child, stdout }
    }

    /// The next line with these words.
    #[track_caller]
    pub fn until(&mut self, words: &str) -> String {
        self.lines_until(words).pop().expect("the last has them")
    }

    /// All lines up to the next one with these words.
    #[track_caller]
    pub fn lines_until(&mut self, words: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let count = self.stdout.read_line(&mut line).expect("it prints text");
            assert!(count > 0, "it ended without saying `{words}`");
            lines.push(line);
            if lines.last().is_some_and(|line| line.contains(words)) {
                return lines;
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a small number")).expect("not zero");
        kill_process(pid, signal).expect("it is there");
    }

    pub fn is_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_some()
    }

    /// Its exit code, once it has ended by itself.
    pub fn ended(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A named pipe that the command of a worker opens for writing: it says when it runs, and ends when all who hold it are dead.
pub struct Life {
    path: String,
}

impl Life {
    pub fn new(folder: &Folder, name: &str) -> Life {
        let path = folder.file(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
        Life { path }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// The beginning of a script.
    pub fn script(&self, rest: &str) -> String {
        format!("exec 3>{}; echo up >&3; {rest}", self.path)
    }

    /// Waits until the command runs.
    pub fn begun(&self) -> Living {
        let mut pipe = BufReader::new(File::open(&self.path).expect("the pipe is there"));
        let mut line = String::new();
        pipe.read_line(&mut line).expect("a line");
        assert_eq!(line, "up\n");
        Living(pipe)
    }
}

pub struct Living(BufReader<File>);

impl Living {
    /// Waits until all are dead who had it.
    pub fn dead(mut self) -> String {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).expect("text");
        rest
    }
}
