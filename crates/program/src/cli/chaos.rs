//! The arguments of `tenure chaos`.

use clap::Args;

use super::Form;
use tenure_databases::url::SecretUrl;

/// Kill and stop real processes of Tenure on this machine, then show what came of it
///
/// Nodes, workers and loaders run on a scratch database that is removed afterwards; nothing that exists is touched. The
/// seed decides who is struck, how and when. After the faults everything must come to its end; then every answer is held
/// against the log. Any violation is told and ends with exit code 1.
#[derive(Args, Debug)]
pub struct Chaos {
    /// sqlite:FOLDER for a scratch file in this folder, postgres://… for a schema of its own there; else a temporary file
    #[arg(long, value_name = "URL")]
    pub db: Option<SecretUrl>,
    /// How many minutes of faults
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub minutes: u64,
    /// How many seconds of faults; 30 if neither is given
    #[arg(long, value_name = "NUMBER")]
    pub seconds: Option<u64>,
    /// The seed of an earlier run; drawn if it is left out
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Processes that sweep; at least one
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    pub nodes: usize,
    /// Processes that run handlers; at least two
    #[arg(long, value_name = "NUMBER", default_value_t = 12)]
    pub workers: usize,
    /// How many seconds beyond its lease a takeover may take, at the 99th of a hundred
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub grace: u64,
    /// Leave the database there
    #[arg(long)]
    pub keep: bool,
    #[command(flatten)]
    pub form: Form,
}

/// Of faults, unless somebody says otherwise.
const SECONDS: u64 = 30;

impl Chaos {
    pub fn seconds(&self) -> u64 {
        self.seconds.unwrap_or(if self.minutes == 0 { SECONDS } else { 0 })
    }

    /// The command line of the same run. The URL may hold a password, so it is not in it.
    pub fn again(&self, seed: u64) -> String {
        let db = if self.db.is_some() { " --db URL" } else { "" };
        let seconds = self.minutes * 60 + self.seconds();
        format!(
            "tenure chaos{db} --seconds {seconds} --seed {seed} --nodes {} --workers {}",
            self.nodes, self.workers
        )
    }
}
