//! The arguments of `tenure work`.

use clap::Args;

use super::{At, between};

/// Run a command for every item of a kind that comes up
///
/// The command gets the payload on standard input; what it writes to standard output is the output: JSON as it is, other
/// text as a JSON string. Exit code 0 commits it. 75 gives the item back to be tried later, at no cost. Any other is a failed
/// attempt, and the last lines of standard error say why.
///
/// In its environment are TENURE_WORKER, TENURE_ITEM, TENURE_EXECUTION, TENURE_ATTEMPT, TENURE_KIND, TENURE_KEY, TENURE_STORE,
/// TENURE_LEASE_EXPIRES_AT, and TENURE_TRACEPARENT (TRACEPARENT, TRACESTATE) where the item was created in a trace. The lease
/// is renewed while it runs. If the lease is lost, the item cancelled or the worker killed, the command and all that it started
/// (its process group) are ended. SIGTERM lets what runs finish within the grace. While commands are short, items are leased a
/// little ahead.
#[derive(Args, Debug)]
pub struct Work {
    /// The kind of items, as in `job`
    pub kind: String,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// How many run at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = between::<u16>(1, 1000))]
    pub concurrency: u16,
    /// How long a lease lasts without a sign of life; another worker takes over after it
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = between::<u64>(1, 3600))]
    pub lease: u64,
    /// How long a command may take to end when it is told to
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub grace: u64,
    /// When an item is tried again whose command ended with 75
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub later: u64,
    #[command(flatten)]
    pub at: At,
}
