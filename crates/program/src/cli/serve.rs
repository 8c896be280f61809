//! The arguments of `tenure serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tenure_systems::runs::builtin::StepSettings;

use super::at::Kept;
use super::{Guarded, between};
use crate::config::Claims;

/// Those that have workers of their own.
pub const SYSTEMS: [&str; 3] = ["claims", "runs", "tickets"];

/// Serve a database over HTTP, and run everything that has to happen by itself
///
/// On this machine's own address it is open to everybody here as long as there is no token; on any other it asks for one.
#[derive(Args, Debug)]
pub struct Serve {
    #[command(flatten)]
    pub db: Kept,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", env = "TENURE_LISTEN", default_value = "127.0.0.1:7878")]
    pub listen: String,
    /// Lifecycles of your own, put in force beside those that ship: a folder, or a file
    #[arg(long, value_name = "DIR", env = "TENURE_LIFECYCLES")]
    pub lifecycles: Vec<String>,
    /// Where the files of documents are; beside a SQLite database unless this says otherwise. Servers of one database share it
    #[arg(long, value_name = "DIR", env = "TENURE_FILES")]
    pub files: Option<String>,
    /// The steps of runs, from tenure.toml
    #[arg(skip)]
    pub steps: Vec<StepSettings>,
    /// A git repository in which the patches of tickets are checked, and the commands are run that approved tickets name
    #[arg(long, value_name = "DIR")]
    pub repository: Option<PathBuf>,
    /// A line for every request on standard error: `human` or `json`
    #[arg(long, value_name = "FORM", value_parser = PossibleValuesParser::new(["human", "json"]))]
    pub log: Option<String>,
    /// A system, or a part of one, that does not run here; others may run it on the same database
    #[arg(long, value_name = "PART", env = "TENURE_WITHOUT", value_delimiter = ',', value_parser = PossibleValuesParser::new(PARTS))]
    pub without: Vec<String>,
    /// How often a claim whose decomposition failed is tried again, each time after twice as long; 0 is never
    #[arg(long, value_name = "NUMBER", env = "TENURE_CLAIM_RETRIES", default_value = "3", value_parser = between::<u8>(0, 20))]
    pub claim_retries: u8,
    /// What tenure.toml says of claims.
    #[arg(skip)]
    pub claims: Claims,
    /// For the lists of tasks.
    #[command(flatten)]
    pub guarded: Guarded,
    /// How many seconds requests and workers inside have to finish when it is told to stop
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    pub grace: Duration,
}

/// Each system, followed by its parts.
const PARTS: [&str; 9] = [
    "claims",
    "orchestrator",
    "decomposers",
    "verdicts",
    "runs",
    "tickets",
    "readiness",
    "scheduler",
    "gate",
];

impl Serve {
    /// Whether the workers of a system run here, or a part of them.
    pub fn runs(&self, part: &str) -> bool {
        !self.without.iter().any(|without| without == part)
    }

    /// Which of its parts run here.
    pub fn parts_of<P>(&self, system: &str, parts: impl IntoIterator<Item = (&'static str, P)>) -> Vec<P> {
        match self.runs(system) {
            true => parts.into_iter().filter(|(name, _)| self.runs(name)).map(|(_, part)| part).collect(),
            false => Vec::new(),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 0..=3_600) => Ok(Duration::from_secs(seconds)),
        _ => Err("a number of seconds, at most 3600".to_string()),
    }
}
