//! The arguments of `tenure doc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{At, Form};

#[derive(Subcommand, Debug)]
pub enum Doc {
    /// Add documents: each is stored, and its first run is queued
    Add(DocAdd),
    /// List documents, oldest first
    List(DocList),
    /// Show a document
    Show(DocOne),
    /// List the runs of a document, oldest first, with their steps
    Runs(DocOne),
    /// Process a document again, as a new run
    Reprocess(DocOne),
    /// Show what the steps of a document's latest run made of it
    Result(DocResult),
    /// Write out what was added, byte for byte
    Content(DocContent),
    /// Wait until the latest run of a document is over; the exit code is 0 only if it completed
    Wait(DocWait),
}

#[derive(Args, Debug)]
pub struct DocAdd {
    #[arg(required = true, value_name = "FILE")]
    pub documents: Vec<PathBuf>,
    /// Repeated with the same key, it is the same document; for one file
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct DocList {
    /// Newest first
    #[arg(long)]
    pub newest: bool,
    /// How many at most, up to 100
    #[arg(long, value_name = "NUMBER", default_value = "20", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub limit: u64,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct DocOne {
    /// The document
    pub id: String,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct DocResult {
    /// The document
    pub id: String,
    /// Of this step alone, such as `extract` or `interpret`
    #[arg(long, value_name = "NAME")]
    pub step: Option<String>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct DocContent {
    /// The document
    pub id: String,
    /// Into this file, which must not be there; otherwise to standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub at: At,
}

#[derive(Args, Debug)]
pub struct DocWait {
    /// The document
    pub id: String,
    /// Give up after so many seconds; the run goes on
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}
