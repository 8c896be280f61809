//! The arguments of `tenure inbox`.

use clap::{Args, Subcommand};

use super::{At, Form};

/// List everything that waits for a person, and say yes or no to it
///
/// Tickets that are to be approved, tickets that are blocked, and outputs that a `human:` gate asks a person to look at.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Inbox {
    #[command(subcommand)]
    pub of: Option<InboxOf>,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub limit: u64,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Subcommand, Debug)]
pub enum InboxOf {
    /// Say yes: a new ticket is approved, a blocked one resolved, an output passes
    Approve(InboxSaid),
    /// Say no: an output does not pass, a new ticket is not to be worked on
    Reject(InboxSaid),
}

#[derive(Args, Debug)]
pub struct InboxSaid {
    /// As the list shows it
    pub id: String,
    /// Kept with who said it, and when
    #[arg(long, value_name = "WORDS")]
    pub note: Option<String>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}
