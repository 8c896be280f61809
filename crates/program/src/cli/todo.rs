//! The arguments of `tenure todo`, `tenure session` and `tenure validate`.

use std::time::Duration;

use clap::{Args, Subcommand};
use tenure_core::word::Store;

use super::{Form, OtherDb, There, one_or_more, priority, span, store};

/// Where the list is, and who asks.
#[derive(Args, Clone, Debug)]
pub struct TodoAt {
    /// The list of this git repository, in .tenure, unless a server or a database is named
    #[command(flatten)]
    pub there: There,
    /// The namespace; nothing crosses it
    #[arg(long, value_name = "NAME", env = "TENURE_STORE", value_parser = store)]
    pub store: Option<Store>,
    /// The session, as `tenure session acquire` gives it
    #[arg(long, value_name = "TOKEN", env = "TENURE_SESSION")]
    pub session: Option<String>,
    /// The name of the agent who asks. Left out it is a person: you
    #[arg(long, value_name = "NAME", env = "TENURE_AGENT")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub guarded: Guarded,
}

/// What nobody changes directly.
#[derive(Args, Clone, Debug)]
pub struct Guarded {
    /// Branches from which nothing is changed, with commas between them
    #[arg(
        long,
        value_name = "PATTERNS",
        env = "TENURE_PROTECTED",
        default_value = "main,master,production,stable,release/*,hotfix/*"
    )]
    pub protected: String,
    /// From protected branches no task is added either
    #[arg(long)]
    pub guard_adding: bool,
}

/// One change or look, and how it is told.
#[derive(Args, Debug)]
pub struct TodoOne {
    /// The task, by its id: `tenure todo list` shows them
    pub id: String,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoSaid {
    /// The task, by its id: `tenure todo list` shows them
    pub id: String,
    /// Why; it is kept in the history
    #[arg(long, value_name = "WORDS")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Subcommand, Debug)]
pub enum Todo {
    /// Add a task
    Add(TodoAdd),
    /// List tasks: those that are worked on, then those that wait, as `next` would take them
    List(TodoList),
    /// Show a task with its plan and its proof
    Show(TodoOne),
    /// Claim the best task that there is for you
    Next(TodoNext),
    /// Claim a task: it is yours for as long as your session lives
    Claim(TodoOne),
    /// Give a task back
    Release(TodoSaid),
    /// Run a task's gates here and finish it with the proof
    Done(TodoDone),
    /// Give a task up, for ever
    Abandon(TodoSaid),
    /// Say what a task depends on
    Depend(TodoDepend),
    /// Say yes to a `human:` gate
    Attest(TodoAttest),
    /// Give a task another plan: a new version
    Plan(TodoPlan),
    /// Write the proof of a task as a file that `tenure verify` checks without a server
    Receipt(TodoReceipt),
    /// Add the open boxes of a Markdown checklist as tasks, once each
    Import(TodoImport),
    /// Write the log of this repository's list as a file that can be committed
    Export(TodoExport),
    /// Take over what a log has that this repository's list has not
    Join(TodoJoin),
}

#[derive(Args, Debug)]
pub struct TodoAdd {
    /// What is to be done, in one line
    pub title: String,
    /// More about it
    #[arg(long, value_name = "WORDS")]
    pub description: Option<String>,
    /// What must pass before it is done, as in `cmd:make test`, `file_exists:docs/a.md` or `human:reads well`; once for each
    #[arg(long = "gate", value_name = "GATE")]
    pub gates: Vec<String>,
    /// Higher is sooner, by a day for each step; from -100 to 100
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = priority)]
    pub priority: Option<i8>,
    /// A task that must be verified first
    #[arg(long = "depends", value_name = "ID")]
    pub depends: Vec<String>,
    /// A word to find it by; once for each
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// The task that it is a part of
    #[arg(long, value_name = "ID")]
    pub parent: Option<String>,
    /// What it is called elsewhere; adding it again is the same task
    #[arg(long, value_name = "WORDS")]
    pub external_reference: Option<String>,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoList {
    /// Only in this state
    #[arg(long, value_parser = ["Draft", "Claimed", "Verified", "Abandoned"])]
    pub state: Option<String>,
    /// In every state, oldest first
    #[arg(long, conflicts_with = "state")]
    pub all: bool,
    /// Only with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Only what you hold, or the agent who asks
    #[arg(long, conflicts_with_all = ["all", "state", "ready"])]
    pub mine: bool,
    /// Only what can be claimed now: nobody has it, and all is verified that it depends on
    #[arg(long, conflicts_with_all = ["all", "state"])]
    pub ready: bool,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = one_or_more)]
    pub limit: u64,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoNext {
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoDone {
    /// The task, by its id: `tenure todo list` shows them
    pub id: String,
    /// All of it together may take so long
    #[arg(long, value_name = "SPAN", default_value = "120s", value_parser = span)]
    pub timeout: Duration,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoDepend {
    /// The task, by its id: `tenure todo list` shows them
    pub id: String,
    /// A task that must be verified first
    #[arg(long = "on", value_name = "ID", required_unless_present = "remove")]
    pub add: Vec<String>,
    /// One that need not be any more
    #[arg(long = "remove", value_name = "ID")]
    pub remove: Vec<String>,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoAttest {
    /// The task, by its id: `tenure todo list` shows them
    pub id: String,
    /// Which gate. Left out: the only one that waits
    #[arg(long)]
    pub gate: Option<String>,
    /// What you looked at
    #[arg(long, value_name = "WORDS")]
    pub note: Option<String>,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoPlan {
    /// The task, by its id: `tenure todo list` shows them
    pub id: String,
    /// A gate of the new plan. None: `validate` alone
    #[arg(long = "gate", value_name = "GATE")]
    pub gates: Vec<String>,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoReceipt {
    /// The task, by its id: `tenure todo list` shows them
    pub id: String,
    /// Where to. Standard output if it is left out, or `-`
    pub file: Option<String>,
    #[command(flatten)]
    pub at: TodoAt,
}

#[derive(Args, Debug)]
pub struct TodoImport {
    /// A Markdown file with `- [ ] boxes`
    pub file: String,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoExport {
    /// Where to. Left out: .tenure/todo.jsonl of the repository
    pub file: Option<String>,
    #[command(flatten)]
    pub db: OtherDb,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TodoJoin {
    /// A log, as `tenure todo export` writes it. Left out: .tenure/todo.jsonl of the repository
    pub file: Option<String>,
    #[command(flatten)]
    pub db: OtherDb,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Subcommand, Debug)]
pub enum Session {
    /// Begin a session, or show the live one: `eval "$(tenure session acquire)"`
    Acquire(SessionOf),
    /// Show the session
    Show(SessionOf),
    /// End the session; what was claimed in it is on the list again
    Release(SessionOf),
}

#[derive(Args, Debug)]
pub struct SessionOf {
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}

/// Is the list of tasks sound, and may anything be changed from here?
///
/// The workspace, a receipt for every Verified task, store boundaries, the chain of the log and the hashes of the receipts. Ends
/// with 0 where all is well and with 1 where something is not.
#[derive(Args, Debug)]
pub struct Validate {
    /// It may take so long
    #[arg(long, value_name = "SPAN", default_value = "120s", value_parser = span)]
    pub timeout: Duration,
    #[command(flatten)]
    pub at: TodoAt,
    #[command(flatten)]
    pub form: Form,
}
