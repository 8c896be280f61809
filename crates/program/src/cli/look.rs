//! The arguments of `tenure log` and `tenure explain`.

use clap::Args;

use super::{At, Form};

/// Say why an item is where it is, and how it moves on
///
/// What it waits for and for whom, who holds it, how it ended; what happens by itself, and what somebody can type.
#[derive(Args, Debug)]
pub struct Explain {
    #[arg(value_name = "ID")]
    pub item: String,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// Show what happened last, oldest first
///
/// Followed, it begins now and goes on by itself where it was when its server comes back.
#[derive(Args, Debug)]
pub struct Log {
    #[command(flatten)]
    pub at: At,
    /// Only this item's history
    #[arg(long, value_name = "ID")]
    pub item: Option<String>,
    /// The last so many entries. Left out: 50, and none before those that --follow waits for
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["after", "all"])]
    pub last: Option<usize>,
    /// What comes after this position; with --item, after this version
    #[arg(long, value_name = "NUMBER")]
    pub after: Option<u64>,
    /// All there are, from the first
    #[arg(long, conflicts_with = "after")]
    pub all: bool,
    /// At most so many entries
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// And then each as it comes
    #[arg(long, conflicts_with = "item")]
    pub follow: bool,
    #[command(flatten)]
    pub form: Form,
}
