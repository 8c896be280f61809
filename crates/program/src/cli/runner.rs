//! The arguments of `tenure runner`.

use std::path::PathBuf;

use clap::Args;

use super::At;

/// Carry out the work orders of tickets with a command, in a git repository
///
/// Each order is worked on in a worktree of its own, on a branch of its own (tenure/ORDER), which begins at --base. The command runs
/// there with the order and its context snapshot as JSON on standard input. What it changes is the patch: it is committed to the
/// branch, checked in a clean copy together with the commands that the ticket names, and stored in the output bundle. The worktree
/// is removed, also when a runner was killed; the branch stays.
///
/// In its environment are TENURE_WORK_ORDER, TENURE_TICKET, TENURE_EVENT, TENURE_BUDGET_MS, TENURE_NUMBER, TENURE_TITLE and
/// TENURE_WORKER. When the budget ends, the lease is lost or the runner is killed, the command and all that it started are ended.
/// SIGTERM lets what runs finish; a second one ends it.
#[derive(Args, Debug)]
pub struct Runner {
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// The git repository to work in
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repository: PathBuf,
    /// The commit, branch or tag that work begins at
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    pub base: String,
    /// How long a lease lasts without a sign of life; another runner takes over after it
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=120))]
    pub lease: u64,
    /// End after so many work orders
    #[arg(long, value_name = "NUMBER")]
    pub count: Option<u64>,
    #[command(flatten)]
    pub at: At,
}
