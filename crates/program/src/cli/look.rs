//! The arguments of `tenure log` and `tenure explain`.

use clap::Args;
use tenure_core::id::ItemId;

use super::{At, Form, item};

/// Say why an item is where it is, and how it moves on
///
/// What it waits for and for whom, who holds it, how it ended; what happens by itself, and what somebody can type.
#[derive(Args, Debug)]
pub struct Explain {
    #[arg(value_name = "ID", value_parser = item)]
    pub item: ItemId,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// Show what happened, oldest first
///
/// Followed, it goes on by itself where it was when its server comes back.
#[derive(Args, Debug)]
pub struct Log {
    #[command(flatten)]
    pub at: At,
    /// Only this item's history
    #[arg(long, value_name = "ID", value_parser = item)]
    pub item: Option<ItemId>,
    /// Only what comes after this position; with --item, after this version
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub after: u64,
    /// At most so many entries
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    pub limit: usize,
    /// All there are, and then each as it comes
    #[arg(long, conflicts_with_all = ["item", "limit"])]
    pub follow: bool,
    #[command(flatten)]
    pub form: Form,
}
