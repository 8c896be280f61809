//! The arguments of `tenure item` and `tenure job`: the same things, of any kind or of one.

use clap::{ArgGroup, Args, Subcommand};

use super::{At, Form, one_or_more, priority};

const PHASES: [&str; 6] = ["waiting", "ready", "active", "succeeded", "failed", "stopped"];

#[derive(Subcommand, Debug)]
pub enum Item {
    /// Create an item
    Create(ItemCreate),
    /// Show an item with its payload and its output
    Show(ItemShow),
    /// List items, oldest first
    List(ItemList),
    /// Move an item by an event of its lifecycle
    Move(ItemMove),
    /// Cancel an item: at once if nobody holds it, else its worker is asked to stop
    Cancel(ItemSaid),
    /// Cancel or redrive all that a filter finds, each for itself
    Bulk(ItemBulk),
    /// Erase an item's payload, outputs and records for good; its history stays and still verifies
    Erase(ItemSaid),
    /// List an item's executions: every attempt, who made it and how it ended
    Executions(ItemOne),
    /// Show an item's history, oldest first
    Log(ItemLog),
    /// Write an item's receipt: its whole history as a file that `tenure verify` checks without a server
    Receipt(ItemReceipt),
}

#[derive(Subcommand, Debug)]
pub enum Job {
    /// Submit a job
    Submit(JobSubmit),
    /// Show a job with its payload and its output
    Show(ItemShow),
    /// List jobs, oldest first
    List(JobList),
    /// Cancel a job: at once if nobody holds it, else its worker is asked to stop
    Cancel(ItemSaid),
    /// List a job's executions: every attempt, who made it and how it ended
    Executions(ItemOne),
    /// Submit a failed or cancelled job once more, as a new one
    Retry(ItemOne),
    /// Wait until a job has come to rest; the exit code is 0 only if it succeeded
    Wait(JobWait),
}

#[derive(Args, Debug)]
pub struct ItemCreate {
    /// The name of a lifecycle, as in `job`
    pub kind: String,
    #[command(flatten)]
    pub new: New,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct JobSubmit {
    #[command(flatten)]
    pub new: New,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// What is new.
#[derive(Args, Debug)]
pub struct New {
    /// JSON; `-` reads it from standard input, `@FILE` from a file. Left out it is {}
    #[arg(value_name = "PAYLOAD|-|@FILE", allow_hyphen_values = true)]
    pub payload: Option<String>,
    /// What it is about; some kinds run one of a key at a time
    #[arg(long)]
    pub key: Option<String>,
    /// Higher is sooner, from -100 to 100
    #[arg(long, allow_hyphen_values = true, value_parser = priority)]
    pub priority: Option<i8>,
    /// Not before this time, as in 2026-11-15T20:25:00Z, or not before so long has passed, as in 10m
    #[arg(long, value_name = "TIME|SPAN")]
    pub run_at: Option<String>,
    /// Repeated with the same key it is the same item, and not a second one
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// How often it may fail before it is given up
    #[arg(long, value_name = "NUMBER")]
    pub max_attempts: Option<u32>,
}

#[derive(Args, Debug)]
pub struct ItemShow {
    pub id: String,
    /// Wait for it to come to rest, at most so long
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct ItemList {
    /// Only of this kind
    #[arg(long)]
    pub kind: Option<String>,
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct JobList {
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// Which ones, and how many.
#[derive(Args, Debug)]
pub struct Which {
    /// Only in this state
    #[arg(long)]
    pub state: Option<String>,
    /// Only in this phase
    #[arg(long, value_parser = PHASES)]
    pub phase: Option<String>,
    /// Only with this key
    #[arg(long)]
    pub key: Option<String>,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = one_or_more)]
    pub limit: u64,
    /// Newest first
    #[arg(long)]
    pub newest: bool,
    /// All there are, however many
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

#[derive(Args, Debug)]
pub struct ItemMove {
    pub id: String,
    /// The event, in lower case with hyphens, as in `time-out`
    pub event: String,
    /// Why; it is kept in the history
    #[arg(long, value_name = "WORDS")]
    pub reason: Option<String>,
    /// Only if it is still at this version
    #[arg(long, value_name = "NUMBER")]
    pub expected_version: Option<u64>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// Which one, and why: what is cancelled or erased.
#[derive(Args, Debug)]
pub struct ItemSaid {
    pub id: String,
    /// Why; it is kept in the history
    #[arg(long, value_name = "WORDS")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// Cancel or redrive all that a filter finds, each for itself
///
/// A redrive is about those that failed, where the filter says nothing else: one that its lifecycle lets go on goes on, of one that is
/// final a new one is made. What stays as it is is told with the reason, and ends the command with 1.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("filter").args(["kind", "state", "phase", "key", "all"]).required(true).multiple(true))]
pub struct ItemBulk {
    #[arg(value_parser = ["cancel", "redrive"])]
    pub event: String,
    /// Only of this kind
    #[arg(long)]
    pub kind: Option<String>,
    /// Only in this state
    #[arg(long)]
    pub state: Option<String>,
    /// Only in this phase
    #[arg(long, value_parser = PHASES)]
    pub phase: Option<String>,
    /// Only with this key
    #[arg(long)]
    pub key: Option<String>,
    /// Every one of the store
    #[arg(long, conflicts_with_all = ["kind", "state", "phase", "key"])]
    pub all: bool,
    /// Why; it is kept in the history
    #[arg(long, value_name = "WORDS")]
    pub reason: String,
    /// At most so many. Left out: all that there are
    #[arg(long, value_name = "NUMBER", value_parser = one_or_more)]
    pub limit: Option<u64>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct ItemLog {
    pub id: String,
    /// Only what comes after this version
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub after: u64,
    /// At most so many entries
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    pub limit: usize,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct ItemReceipt {
    pub id: String,
    /// Where to; it appears under this name when it is whole. Standard output if it is left out, or `-`
    pub file: Option<String>,
    #[command(flatten)]
    pub at: At,
}

/// Which one.
#[derive(Args, Debug)]
pub struct ItemOne {
    pub id: String,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct JobWait {
    pub id: String,
    /// Give up waiting after so long; the job goes on
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}
