//! How a command ends: the outcomes with their exit codes, and the errors with what to do about them.

use std::io;
use std::process::ExitCode;

use serde::Deserialize;
use tenure_core::lifecycle::parse::{Fault, SOURCE_BYTES_MAX};
use tenure_databases::export::Failed;
use tenure_databases::replay::Stopped;
use tenure_databases::sqlite::side::Server;
use tenure_databases::url::{NotAUrl, SecretUrl};

use crate::cli::DEFAULT;

/// How a command ended, mildest first: of several, the last counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    Done,
    /// The answer is no: something is not sound, not there or not allowed.
    Refused,
    /// There is no answer: the world did not play along.
    CouldNot,
    /// What was asked for made no sense.
    Usage,
}

/// As in `sysexits.h`. Not 2, so that a script can tell a misspelt option from a disk that failed.
pub const USAGE: u8 = 64;

impl Outcome {
    fn title(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Refused => "refused",
            Outcome::CouldNot => "could not",
            Outcome::Usage => "wrong usage",
        }
    }

    pub fn exit_code(self) -> ExitCode {
        match self {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::Refused => ExitCode::from(1),
            Outcome::CouldNot => ExitCode::from(2),
            Outcome::Usage => ExitCode::from(USAGE),
        }
    }
}

impl From<&Error> for Outcome {
    fn from(error: &Error) -> Outcome {
        match error {
            Error::NoLifecycle { .. } | Error::Faulty { .. } => Outcome::Refused,
            Error::NoTokens { .. } | Error::Served { .. } => Outcome::Refused,
            Error::Export(Failed::NoSource { .. } | Failed::OtherHead { .. }) => Outcome::Refused,
            Error::Export(Failed::Database(_) | Failed::Output(_)) => Outcome::CouldNot,
            Error::Replay { stopped, .. } => match stopped {
                Stopped::Unsound(_) | Stopped::NotEmpty { .. } => Outcome::Refused,
                Stopped::Changed { .. } | Stopped::OtherHead { .. } => Outcome::Refused,
                Stopped::File(_) | Stopped::Database { .. } => Outcome::CouldNot,
            },
            Error::Refused(_) | Error::NotSucceeded { .. } | Error::NotProcessed { .. } => Outcome::Refused,
            Error::NotJson { .. } | Error::NotAServer { .. } | Error::Config { .. } | Error::Steps(_) => {
                Outcome::Usage
            }
            Error::NotAUrl(_) | Error::NotInto(_) | Error::IsDatabase { .. } => Outcome::Usage,
            Error::Listen { why, .. } if why.kind() == io::ErrorKind::InvalidInput => Outcome::Usage,
            Error::Exists { .. } => Outcome::Refused,
            Error::WantsDatabase { .. } | Error::NoRepository | Error::NotPossible { .. } => Outcome::Usage,
            Error::Diverged { .. } | Error::Unproved { .. } => Outcome::Refused,
            Error::NotAdded { error, .. } => Outcome::from(&**error),
            Error::NoServer { .. }
            | Error::Unavailable { .. }
            | Error::Strange(_)
            | Error::StillOpen { .. }
            | Error::StillHeld { .. }
            | Error::Command { .. }
            | Error::Unreadable { .. }
            | Error::TooLong { .. }
            | Error::NotText { .. }
            | Error::NothingInside { .. }
            | Error::NoDatabase { .. }
            | Error::Sqlite(_)
            | Error::Postgres(_)
            | Error::Unsound { .. }
            | Error::Database(_)
            | Error::Unwritable { .. }
            | Error::Git(_)
            | Error::Open(_)
            | Error::Engine(_)
            | Error::Listen { .. }
            | Error::Bench(_)
            | Error::Scratch(_)
            | Error::Part(_)
            | Error::Interrupted
            | Error::Output(_) => Outcome::CouldNot,
        }
    }
}

/// A no of the service: the parts of its problem document that a person can use.
#[derive(Debug, Default, Deserialize)]
pub struct Refused {
    pub code: String,
    #[serde(default)]
    pub detail: String,
    /// What could be done instead.
    #[serde(default)]
    pub allowed: Vec<String>,
    pub state: Option<String>,
    /// The command that makes it possible.
    pub fix: Option<String>,
    /// What is not proved, each with why.
    #[serde(default)]
    pub failing: Vec<String>,
    /// The cause of a wait that was too long.
    pub which: Option<String>,
    /// Whose it is, and until when.
    pub owner_id: Option<String>,
    pub lease_expires_at: Option<String>,
}

/// Why a command has no result. [`Error::what_to_do`] goes with each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no lifecycle `{name}`{}", instead(.near))]
    NoLifecycle { name: String, near: Option<String> },
    #[error("{file}:{first}")]
    Faulty { file: String, first: Fault, others: usize },
    #[error("can not read {file}: {}", in_words(.why))]
    Unreadable { file: String, why: io::Error, near: Option<String> },
    #[error("can not read {file}: it has more than {SOURCE_BYTES_MAX} bytes")]
    TooLong { file: String },
    #[error("can not read {file}: it is not UTF-8 text")]
    NotText { file: String },
    #[error("{folder} has no file that ends with .md")]
    NothingInside { folder: String },
    #[error("there is no database {url}")]
    NoDatabase { url: SecretUrl },
    #[error(transparent)]
    NotAUrl(#[from] NotAUrl),
    #[error("--into: {0}")]
    NotInto(NotAUrl),
    #[error("{file} is a database and not an exported log")]
    IsDatabase { file: String },
    #[error("{file} exists already")]
    Exists { file: String, may_force: bool },
    #[error(transparent)]
    Sqlite(#[from] tenure_databases::sqlite::OpenError),
    #[error(transparent)]
    Postgres(#[from] tenure_databases::postgres::OpenError),
    #[error("{file} is not sound: {fault}")]
    Unsound { file: String, fault: String },
    #[error(transparent)]
    Database(#[from] tenure_databases::Error),
    #[error(transparent)]
    Export(#[from] Failed),
    #[error("{file} was not replayed: {stopped}")]
    Replay { file: String, stopped: Stopped },
    #[error("can not write {file}: {}", in_words(.why))]
    Unwritable { file: String, why: io::Error },
    #[error(transparent)]
    Open(#[from] tenure::OpenError),
    #[error(transparent)]
    Engine(#[from] tenure::Error),
    #[error("can not listen at {address}: {}", in_words(.why))]
    Listen { address: String, why: io::Error },
    #[error("there is no token, and {address} can be reached from other machines")]
    NoTokens { address: String, url: SecretUrl },
    #[error("{url} is served already{}", whereabouts(.server))]
    Served { url: String, server: Option<Server> },
    #[error("can not measure: {0}")]
    Bench(String),
    #[error("no scratch database: {0}")]
    Scratch(String),
    #[error("a process of this run failed: {0}")]
    Part(String),
    #[error("interrupted; what was written for it is removed")]
    Interrupted,
    #[error("can not write the output: {0}")]
    Output(#[from] io::Error),
    #[error("{}: {}", .0.code, .0.detail)]
    Refused(Box<Refused>),
    #[error("{code}: {}{detail}", first_word(.which))]
    Unavailable {
        code: String,
        /// The cause of a wait that was too long: `timeout` or `lock`.
        which: Option<String>,
        detail: String,
    },
    #[error("no server at {url}: {why}")]
    NoServer { url: String, why: String },
    #[error("{url} is not the address of a server: {why}")]
    NotAServer { url: SecretUrl, why: String },
    #[error("this works on a database itself, and {url} is a server")]
    WantsDatabase { url: SecretUrl },
    #[error("{0}")]
    Strange(String),
    #[error("can not run {program}: {why}")]
    Command { program: String, why: String },
    #[error("{what} is not JSON: {why}")]
    NotJson { what: String, why: String },
    #[error("item {item} is {state}{}", because(.reason))]
    NotSucceeded { item: String, state: String, reason: Option<String> },
    #[error("document {document} is {state}{}", because(.reason))]
    NotProcessed { document: String, state: String, reason: Option<String> },
    /// Something that was asked for, or is configured, can not be; and what can be done about it.
    #[error("{what}")]
    NotPossible { what: String, then: String },
    #[error("item {item} is still {state}; only the waiting has ended")]
    StillOpen { item: String, state: String },
    #[error("{active} of {kind} are still held; only the waiting has ended")]
    StillHeld { kind: String, active: u64 },
    #[error("[[runs.steps]] of tenure.toml: {0}")]
    Steps(String),
    #[error("this is no git repository, and nobody named a server or a database")]
    NoRepository,
    #[error(transparent)]
    Git(#[from] tenure_systems::todos::workspace::NotGit),
    #[error("{file} and {url} have gone different ways at line {position}: there {there}, here {here}")]
    Diverged { file: String, url: SecretUrl, position: u64, here: String, there: String },
    #[error("{file} proves nothing: {}", .faults.join("; "))]
    Unproved { file: String, faults: Vec<String> },
    #[error("{file} was not added: {error}")]
    NotAdded { file: String, error: Box<Error> },
    #[error("{file}:{line}: {what}")]
    Config { file: String, line: usize, what: String },
}

/// The code of a task list that did not answer in time.
pub const TIMEOUT_OR_LOCK: &str = "VALIDATE_TIMEOUT_OR_LOCK";
/// Another process holds what was waited for.
pub const LOCK: &str = "lock";

impl Error {
    /// The same error of a command about tasks: a locked list has its own code.
    pub fn of_tasks(self) -> Error {
        let is_locked = match &self {
            Error::Database(error)
            | Error::Engine(tenure::Error::Database(error))
            | Error::Replay { stopped: Stopped::Database { error, written: 0 }, .. } => {
                matches!(error, tenure_databases::Error::Locked(_))
            }
            Error::Sqlite(error) | Error::Open(tenure::OpenError::Sqlite(error)) => error.is_locked(),
            _ => false,
        };
        if !is_locked {
            return self;
        }
        let detail = format!("{self}; nothing was changed");
        Error::Unavailable { code: TIMEOUT_OR_LOCK.into(), which: Some(LOCK.into()), detail }
    }

    /// The world failed and may come back: whoever asked before may ask again.
    pub fn may_pass(&self) -> bool {
        matches!(self, Error::NoServer { .. } | Error::Unavailable { .. })
    }

    /// The error as one object on one line. A no of the service is told in the names of its problem documents.
    pub fn document(&self) -> String {
        let mut document = serde_json::json!({
            "title": Outcome::from(self).title(),
            "detail": self.to_string(),
            "advice": self.what_to_do(),
        });
        match self {
            Error::Refused(refused) => {
                let Refused {
                    code,
                    detail,
                    allowed,
                    state,
                    fix,
                    failing,
                    which: _,
                    owner_id,
                    lease_expires_at,
                } = &**refused;
                (document["code"], document["detail"]) = (code.as_str().into(), detail.as_str().into());
                let until = ("lease_expires_at", lease_expires_at);
                let more = [("state", state), ("fix", fix), ("owner_id", owner_id), until];
                for (name, text) in more.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)))
                {
                    document[name] = text.into();
                }
                for (name, texts) in [("allowed", allowed), ("failing", failing)] {
                    if !texts.is_empty() {
                        document[name] = texts.as_slice().into();
                    }
                }
            }
            Error::NotAdded { file, error } => {
                document["file"] = file.as_str().into();
                if let Error::Refused(refused) = &**error {
                    document["code"] = refused.code.as_str().into();
                }
            }
            Error::Unavailable { code, which, detail } => {
                (document["code"], document["detail"]) = (code.as_str().into(), detail.as_str().into());
                if let Some(which) = which {
                    document["which"] = which.as_str().into();
                }
            }
            _ => {}
        }
        document.to_string()
    }

    /// The next step for whoever reads the error.
    pub fn what_to_do(&self) -> String {
        match self {
            Error::NoLifecycle { .. } => {
                "`tenure lifecycle list` shows those that there are; name a file of your own by its path, as in ./NAME.md"
                    .into()
            }
            Error::Faulty { file, others: 0, .. } => format!("mend it, then run `tenure check {file}`"),
            Error::Faulty { file, others, .. } => {
                format!("it has {others} more; `tenure check {file}` tells them all")
            }
            Error::Unreadable { near: Some(kind), .. } => {
                format!("a lifecycle `{kind}` ships with Tenure; `tenure lifecycle show {kind}` prints it")
            }
            Error::Unreadable { why, .. } => match why.kind() {
                io::ErrorKind::NotFound => "look for a slip in the path; it begins at the current folder".into(),
                io::ErrorKind::PermissionDenied => "ask its owner for the right to read it".into(),
                io::ErrorKind::IsADirectory => {
                    "name one file; of the commands only `tenure check` takes a whole folder".into()
                }
                _ => "try again, or copy the file elsewhere".into(),
            },
            Error::TooLong { .. } => "a lifecycle is a document that people read; is this the right file?".into(),
            Error::NotText { .. } => "save it as UTF-8; or is this the wrong file?".into(),
            Error::NothingInside { .. } => "name a folder with lifecycle files, or the files themselves".into(),
            Error::NoDatabase { url } if url.reveal() == DEFAULT => {
                "`tenure serve` or `tenure job submit` creates it here; `tenure todo add` creates the task list of a git repository".into()
            }
            Error::NoDatabase { url } if url.reveal().starts_with("memory:") => {
                "it ends with the process that uses it; name a file or a server, as in --db sqlite:FILE".into()
            }
            Error::NoDatabase { url } => {
                format!("check the path; `tenure serve --db {url}` creates a database there")
            }
            Error::NotAUrl(_) => "for example --db sqlite:tenure.db".into(),
            Error::NotInto(_) => "for example --into sqlite:copy.db".into(),
            Error::IsDatabase { file } => format!("`tenure verify sqlite:{file}` verifies a database"),
            Error::Exists { may_force: true, .. } => "name another file, or replace it with --force".into(),
            Error::Exists { may_force: false, .. } => "nothing was written; name another file".into(),
            Error::Sqlite(_) => "nothing was changed; mend what it says and try again".into(),
            Error::Postgres(_) => "nothing was changed; look whether the server runs and the URL is right".into(),
            Error::Unsound { .. } => "`tenure verify` tells all that is wrong with the database it came from".into(),
            Error::Database(error) if error.is_retryable() => {
                "try again; if it stays so, look whether the database runs and has room".into()
            }
            Error::Database(_) => "`tenure verify` tells whether the database is sound".into(),
            Error::Export(Failed::NoSource { .. }) => {
                "add the lifecycle's file to the database again, then export".into()
            }
            Error::Export(Failed::OtherHead { .. }) => "`tenure verify` tells what was changed".into(),
            Error::Export(Failed::Database(_)) => "try again; nothing was kept of this export".into(),
            Error::Export(Failed::Output(_)) => "make room or choose another place, then run the command again".into(),
            Error::Replay { file, stopped } => match stopped {
                Stopped::Unsound(_) => {
                    format!("nothing was written; `tenure verify {file}` tells all that is wrong with it")
                }
                Stopped::NotEmpty { .. } => "nothing was written; replay into a database that is empty".into(),
                Stopped::Changed { .. } => "copy the file to where nobody writes it, and replay into a new database".into(),
                Stopped::OtherHead { .. } => "stop whoever uses the database, and replay into a new one".into(),
                Stopped::File(_) => "try again, or copy the file elsewhere".into(),
                Stopped::Database { .. } => "run the same command again: it carries on where it stopped".into(),
            },
            Error::Unwritable { .. } => "choose another place, or ask for the right to write there".into(),
            Error::Open(_) => "nothing was changed; mend what it says and try again".into(),
            Error::Engine(_) => "try again; if it stays so, look whether the database runs and has room".into(),
            Error::Listen { why, .. } if why.kind() == io::ErrorKind::AddrInUse => {
                "somebody listens there already; name another place with --listen, as in --listen 127.0.0.1:7879".into()
            }
            Error::Listen { .. } => "name a place of this machine with --listen, as in --listen 127.0.0.1:7878".into(),
            Error::NoTokens { url, .. } => {
                format!("make one with `tenure token create NAME --role admin --db {url}`, or listen at 127.0.0.1")
            }
            Error::Served { .. } => "talk to that one, or stop it first; on PostgreSQL several servers share a database".into(),
            Error::Bench(_) => "give it a disk or a server that it may write to, then run it again".into(),
            Error::Scratch(_) => "name a folder, as in --db sqlite:/var/tmp, or a server that may make schemas".into(),
            Error::Part(_) => "run it again; if it stays so, look whether the machine has room for its processes".into(),
            Error::Interrupted => "run it again when there is time".into(),
            Error::Output(_) => "make room or choose another place, then run the command again".into(),
            Error::Refused(refused) => refused.what_to_do(),
            Error::Unavailable { which: Some(which), .. } if which == LOCK => {
                "try again when the other process has ended, or end it".into()
            }
            Error::Unavailable { code, .. } if code == TIMEOUT_OR_LOCK => {
                "make what it waited for faster, or give it more time with --timeout".into()
            }
            Error::Unavailable { .. } => "try again; if it stays so, look whether the database runs and has room".into(),
            Error::NoServer { .. } => {
                "look whether `tenure serve` runs there; --url and TENURE_URL say where, --db does without a server".into()
            }
            Error::NotAServer { .. } => "for example --url http://127.0.0.1:7878".into(),
            Error::WantsDatabase { .. } => {
                "run it where the database can be reached, with --db URL; a server is asked with `tenure log --json` for its log, with `tenure item receipt ID` for the proof of an item".into()
            }
            Error::Strange(_) => "try again; if it stays so, `tenure verify` tells whether the database is sound".into(),
            Error::Command { .. } => "look for a slip in its name; a program of this folder is named ./NAME".into(),
            Error::NotJson { .. } => r#"JSON is like {"n": 1} or "text"; a shell takes it in single quotes"#.into(),
            Error::NotSucceeded { item, .. } => format!("`tenure item show {item}` shows all of it"),
            Error::NotProcessed { document, .. } => {
                format!("`tenure doc runs {document}` shows which step failed, and why")
            }
            Error::NotPossible { then, .. } => then.clone(),
            Error::StillOpen { .. } => "wait again, or look whether a worker for its kind runs".into(),
            Error::StillHeld { .. } => {
                "it stays paused; wait again, or look with `tenure item list --phase active` who has it".into()
            }
            Error::Steps(_) => "mend the step; docs/runs.md says what one has".into(),
            Error::NoRepository => "work in a git repository (`git init` makes one), or name a place with --url or --db".into(),
            Error::Git(_) => "look whether `git status` works here".into(),
            Error::Diverged { .. } => {
                "nothing was changed; keep one of the two, and add again what only the other has".into()
            }
            Error::NotAdded { .. } => {
                "correct it and run the same command again: what was added before is not added twice".into()
            }
            Error::Unproved { .. } => "it was changed, or it was never whole; ask for it again with `tenure todo receipt ID`".into(),
            Error::Config { .. } => "mend that line, or name another file with --config".into(),
        }
    }
}

impl Refused {
    fn what_to_do(&self) -> String {
        match (self.code.as_str(), &self.fix) {
            // There is a token, as a rule; its fix is for when none is left.
            ("UNAUTHENTICATED", Some(fix)) => {
                return format!(
                    "give a token as TENURE_TOKEN; if none is left, `{fix}` makes one where the database is"
                );
            }
            (_, Some(fix)) => return format!("nothing was changed; run {fix}"),
            (_, None) => {}
        }
        match self.code.as_str() {
            "VERIFICATION_REQUIRED" => "nothing was changed; make its gates pass, then try again".into(),
            "UNAUTHENTICATED" => {
                "give a token as TENURE_TOKEN; if none is left, `tenure token create NAME --role admin --without-server` makes one where the database is".into()
            }
            "FORBIDDEN" => "ask somebody who may, or for a token of another role".into(),
            // Whoever asked named a kind, or an event without the why that its row asks for.
            _ if self.detail.contains("there is no lifecycle") => {
                "nothing was changed; `tenure lifecycle list` shows those that ship, with --db or --url those in force there".into()
            }
            "INVALID_REQUEST" if self.detail == "a reason is needed" => {
                "nothing was changed; say why with --reason WORDS, it is kept in the history".into()
            }
            "NOT_FOUND" => "look for a slip in the name; --store names another store".into(),
            "IDEMPOTENCY_CONFLICT" => "repeat the first request as it was, or use another key".into(),
            "RATE_LIMITED" => "try again later".into(),
            "CLAIM_CONFLICT" | "LEASE_LOST" => "another has it; let them finish".into(),
            "PAYLOAD_TOO_LARGE" => "keep it elsewhere, and send where it is".into(),
            "SCHEMA_VIOLATION" => "`tenure lifecycle show KIND` shows what its payload looks like".into(),
            _ => match (&self.allowed[..], &self.state) {
                ([], Some(state)) => format!("nothing was changed; it is {state}, and nothing leads on from there"),
                ([], None) => "nothing was changed; mend what it says and try again".into(),
                (allowed, _) => format!("nothing was changed; possible now: {}", allowed.join(", ")),
            },
        }
    }
}

fn whereabouts(server: &Option<Server>) -> String {
    match server {
        Some(server) => format!(", at {} by process {}", server.address, server.pid),
        None => ", by one that has just begun".into(),
    }
}

fn first_word(which: &Option<String>) -> String {
    which.as_ref().map_or(String::new(), |which| format!("{which}: "))
}

fn because(reason: &Option<String>) -> String {
    reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"))
}

/// The usual reasons without the system's number for them.
fn in_words(why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "it is not yours to read".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::AddrInUse => "the address is in use".into(),
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".into(),
        _ => why.to_string(),
    }
}

fn instead(near: &Option<String>) -> String {
    near.as_ref().map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}
