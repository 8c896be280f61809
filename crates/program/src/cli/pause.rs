//! The arguments of `tenure pause` and `tenure resume`.

use clap::Args;

use super::{At, Form};

/// Lease no more of a kind, on any node; what is held goes on
#[derive(Args, Debug)]
pub struct Pause {
    #[command(flatten)]
    pub said: PauseOf,
    /// And wait until nobody holds any more of it. The kind stays paused
    #[arg(long)]
    pub drain: bool,
    /// Give up waiting after so long; the kind stays paused
    #[arg(long, value_name = "SECONDS", requires = "drain")]
    pub timeout: Option<u64>,
}

/// Lease a kind again that was paused
#[derive(Args, Debug)]
pub struct Resume {
    #[command(flatten)]
    pub said: PauseOf,
}

#[derive(Args, Debug)]
pub struct PauseOf {
    /// The kind, as in `job`
    pub kind: String,
    /// Why, for whoever looks later
    #[arg(long, default_value = "said on the command line")]
    pub reason: String,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}
