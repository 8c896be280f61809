//! The arguments of `tenure ticket`.

use clap::{Args, Subcommand};

use super::{At, Form, ItemOne, JobList};

#[derive(Subcommand, Debug)]
pub enum Ticket {
    /// Create a ticket; it waits for a person's approval
    Create(TicketCreate),
    /// Show a ticket, who approved it and what blocks it
    Show(ItemOne),
    /// List tickets, oldest first
    List(JobList),
    /// Approve a ticket: from now on machines may work on it
    Approve(TicketSaid),
    /// Block a ticket that is TODO
    Block(TicketBlock),
    /// Close what blocks a ticket, and let it be worked on again
    Resolve(TicketSaid),
    /// Explain what has become of a ticket, run by run, from what its workers left
    Explain(ItemOne),
}

#[derive(Args, Debug)]
pub struct TicketCreate {
    /// What is to be done, in a line
    pub title: String,
    /// What is to be done, at length
    #[arg(long, value_name = "WORDS")]
    pub description: Option<String>,
    /// What must hold of the result: cmd:COMMAND, test:COMMAND, or human:WHAT TO LOOK AT
    #[arg(long = "gate", value_name = "GATE")]
    pub gates: Vec<String>,
    /// How long a work order may take, as in 90s or 15m; 10 minutes if it is left out
    #[arg(long, value_name = "SPAN", value_parser = super::span)]
    pub budget: Option<std::time::Duration>,
    /// Repeated with the same key it is the same ticket, and not a second one
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    #[command(flatten)]
    pub asking: Asking,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// Which one, and what is said to it.
#[derive(Args, Debug)]
pub struct TicketSaid {
    pub id: String,
    /// Kept with who said it, and when
    #[arg(long, value_name = "WORDS")]
    pub note: Option<String>,
    #[command(flatten)]
    pub asking: Asking,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct TicketBlock {
    pub id: String,
    /// Why; whoever resolves it reads this
    #[arg(long, value_name = "WORDS")]
    pub reason: String,
    #[command(flatten)]
    pub asking: Asking,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// Who asks, if it is no person.
#[derive(Args, Debug)]
pub struct Asking {
    /// The name of the agent who asks. Left out it is a person: you
    #[arg(long, value_name = "NAME", env = "TENURE_AGENT")]
    pub agent: Option<String>,
    /// The session that an agent works in: its words are not a person's
    #[arg(long, value_name = "TOKEN", env = "TENURE_SESSION", hide = true)]
    pub session: Option<String>,
}
