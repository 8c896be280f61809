//! The arguments of `tenure inbox`.

use clap::{Args, Subcommand};

use super::{At, Form};

/// List everything that waits for a person, and say yes or no to it
///
/// Tickets that are to be approved, tickets that are blocked, outputs that a `human:` gate asks a person to look at, tasks that
/// somebody holds and whose plan has such a gate, and items of your own lifecycles in states that only people lead out of. Where no
/// database or server is named, it is looked in the database of this folder and in the list of tasks of this git repository.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Inbox {
    #[command(subcommand)]
    pub of: Option<InboxOf>,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub limit: u64,
    #[command(flatten)]
    pub at: InboxAt,
    #[command(flatten)]
    pub form: Form,
}

/// Where it is, and who asks.
#[derive(Args, Clone, Debug)]
pub struct InboxAt {
    #[command(flatten)]
    pub there: At,
    /// The name of the agent who asks. Left out it is a person: you
    #[arg(long, value_name = "NAME", env = "TENURE_AGENT")]
    pub agent: Option<String>,
    /// The session that an agent works in: its words are not a person's
    #[arg(long, value_name = "TOKEN", env = "TENURE_SESSION", hide = true)]
    pub session: Option<String>,
}

#[derive(Subcommand, Debug)]
pub enum InboxOf {
    /// Say yes: a new ticket is approved, a blocked one resolved, an output or a task passes
    Approve(InboxSaid),
    /// Say no: an output or a task does not pass, a new ticket is not to be worked on
    Reject(InboxSaid),
}

#[derive(Args, Debug)]
pub struct InboxSaid {
    /// As the list shows it
    pub id: String,
    /// Kept with who said it, and when; whoever says no to a task says why
    #[arg(long, value_name = "WORDS")]
    pub note: Option<String>,
    /// Of a task with several `human:` gates: the one that it is about. Left out: all that wait
    #[arg(long, value_name = "GATE")]
    pub gate: Option<String>,
    #[command(flatten)]
    pub at: InboxAt,
    #[command(flatten)]
    pub form: Form,
}
