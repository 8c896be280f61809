//! The arguments of `tenure part`: what `bench`, `chaos`, `demo` and `work` tell their processes.

use clap::{Args, Subcommand};

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
    #[arg(long)]
    pub db: String,
}

#[derive(Args, Debug)]
pub struct PartWorker {
    #[arg(long)]
    pub db: String,
    #[arg(long)]
    pub name: String,
    #[arg(long)]
    pub lease_ms: u64,
}

#[derive(Args, Debug)]
pub struct PartLoader {
    #[arg(long)]
    pub db: String,
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
    #[arg(long)]
    pub db: String,
    #[arg(long)]
    pub callers: usize,
    /// Jobs, of all callers together.
    #[arg(long)]
    pub jobs: usize,
}

#[derive(Args, Debug)]
pub struct PartRunner {
    #[arg(long)]
    pub db: String,
    #[arg(long)]
    pub jobs: usize,
}

#[derive(Args, Debug)]
pub struct PartClerk {
    #[arg(long)]
    pub db: String,
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
    #[arg(long)]
    pub db: String,
}

#[derive(Args, Debug)]
pub struct PartIdle {
    #[arg(long)]
    pub db: String,
    /// Before anything is read.
    #[arg(long)]
    pub settle_ms: u64,
    /// What is read over so long.
    #[arg(long)]
    pub span_ms: u64,
}
