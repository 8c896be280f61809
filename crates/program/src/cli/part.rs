//! The arguments of `tenure part`: what `bench`, `chaos`, `demo` and `work` tell their processes.

use clap::{Args, Subcommand};
use tenure_databases::url::SecretUrl;

#[derive(Subcommand, Debug)]
pub enum Part {
    Node(PartNode),
    Worker(PartWorker),
    Loader(PartLoader),
    Producer(PartProducer),
    Runner(PartRunner),
    Idle(PartIdle),
    Clerk(PartClerk),
    Reader(PartReader),
    Keeper(PartKeeper),
}

/// Ends the commands of a worker that was killed.
#[derive(Args, Debug)]
pub struct PartKeeper {
    /// What they have in their environment.
    #[arg(long)]
    pub mark: String,
}

#[derive(Args, Debug)]
pub struct PartNode {
    #[arg(long, env = "TENURE_DB")]
    pub db: SecretUrl,
}

#[derive(Args, Debug)]
pub struct PartWorker {
    #[arg(long, env = "TENURE_DB")]
    pub db: SecretUrl,
    #[arg(long)]
    pub name: String,
    #[arg(long)]
    pub lease_ms: u64,
}

#[derive(Args, Debug)]
pub struct PartLoader {
    #[arg(long, env = "TENURE_DB")]
    pub db: SecretUrl,
    #[arg(long)]
    pub name: String,
    #[arg(long)]
    pub seed: u64,
    /// Jobs a second.
    #[arg(long)]
    pub rate: u32,
}

#[derive(Args, Debug)]
pub struct PartProducer {
    #[arg(long, env = "TENURE_DB")]
    pub db: SecretUrl,
    #[arg(long)]
    pub callers: usize,
    /// Jobs, of all callers together.
    #[arg(long)]
    pub jobs: usize,
}

#[derive(Args, Debug)]
pub struct PartRunner {
    #[arg(long, env = "TENURE_DB")]
    pub db: SecretUrl,
    #[arg(long)]
    pub jobs: usize,
}

#[derive(Args, Debug)]
pub struct PartClerk {
    #[arg(long, env = "TENURE_DB")]
    pub db: SecretUrl,
    #[arg(long)]
    pub name: String,
    #[arg(long)]
    pub kind: String,
    #[arg(long)]
    pub lease_ms: u64,
    /// How long a letter takes.
    #[arg(long)]
    pub takes_ms: u64,
}

#[derive(Args, Debug)]
pub struct PartReader {
    #[arg(long, env = "TENURE_DB")]
    pub db: SecretUrl,
}

#[derive(Args, Debug)]
pub struct PartIdle {
    #[arg(long, env = "TENURE_DB")]
    pub db: SecretUrl,
    /// Before anything is read.
    #[arg(long)]
    pub settle_ms: u64,
    /// What is read over so long.
    #[arg(long)]
    pub span_ms: u64,
}
