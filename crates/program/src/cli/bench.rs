//! The arguments of `tenure bench`, and what it can measure.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use super::Form;
use tenure_databases::url::SecretUrl;

/// Measure what this machine can do, and how much of it Tenure makes use of
///
/// Jobs are created and run through the engine as a program embeds it, with its default settings, every answer durable.
/// The limits of the machine are measured in the same run, because machines differ and are noisy: the ratio is what can
/// be compared. Everything is written to a scratch file or schema, which is removed at the end.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Bench {
    #[command(subcommand)]
    pub of: Option<BenchOf>,
    #[command(flatten)]
    pub on: BenchOn,
    /// Measure the service instead: a server in a process of its own, asked over sockets by this one
    #[arg(long)]
    pub http: bool,
    /// Only these measurements
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = named(&EndToEnd::ALL, EndToEnd::as_str))]
    pub only: Vec<EndToEnd>,
}

#[derive(Subcommand, Debug)]
pub enum BenchOf {
    Store(BenchStore),
    /// Measure claims: created, enqueued and decomposed, beside jobs that write the same records
    Claims(BenchSystem),
    /// Measure documents: thousands that wait, one that is stuck, and whether limits hold and memory grows
    Runs(BenchSystem),
    /// Measure how long commands about tasks take, as processes on a list of 10,000
    Todos(BenchTodos),
}

#[derive(Args, Debug)]
pub struct BenchTodos {
    /// A hundredth of the work: to see that it runs, not to judge by
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub form: Form,
}

/// What a bench of a system is asked with.
#[derive(Args, Debug)]
pub struct BenchSystem {
    #[command(flatten)]
    pub on: BenchOn,
}

/// Measure a database alone: how fast work is created, leased and committed, every answer durable
#[derive(Args, Debug)]
pub struct BenchStore {
    #[command(flatten)]
    pub on: BenchOn,
    /// Only these measurements
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = named(&Measurement::ALL, Measurement::as_str))]
    pub only: Vec<Measurement>,
}

#[derive(Args, Debug)]
pub struct BenchOn {
    /// `sqlite:` is a scratch file in this folder, sqlite:FOLDER one in another; postgres://… a schema of its own there
    #[arg(long, value_name = "URL", default_value = "sqlite:")]
    pub db: SecretUrl,
    /// A hundredth of the work: to see that it runs, not to judge by
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub form: Form,
}

/// What `tenure bench` measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndToEnd {
    Drain,
    DrainMillion,
    Create8,
    /// PostgreSQL only: a process creates, another runs.
    CreateAndRun,
    Latency,
    Idle,
    HttpCreate64,
    HttpCreate100,
    HttpDrain,
    HttpLatency,
    HttpWork,
    HttpIdle,
    HttpPolls,
}

impl EndToEnd {
    pub const ALL: [EndToEnd; 13] = [
        EndToEnd::Drain,
        EndToEnd::DrainMillion,
        EndToEnd::Create8,
        EndToEnd::CreateAndRun,
        EndToEnd::Latency,
        EndToEnd::Idle,
        EndToEnd::HttpCreate64,
        EndToEnd::HttpCreate100,
        EndToEnd::HttpDrain,
        EndToEnd::HttpLatency,
        EndToEnd::HttpWork,
        EndToEnd::HttpIdle,
        EndToEnd::HttpPolls,
    ];

    /// Asked of a server, as callers elsewhere do.
    pub fn is_over_http(self) -> bool {
        self.as_str().starts_with("http_")
    }

    pub fn as_str(self) -> &'static str {
        match self {
            EndToEnd::Drain => "drain",
            EndToEnd::DrainMillion => "drain_1m",
            EndToEnd::Create8 => "create_8",
            EndToEnd::CreateAndRun => "create_and_run",
            EndToEnd::Latency => "latency",
            EndToEnd::Idle => "idle",
            EndToEnd::HttpCreate64 => "http_create_64",
            EndToEnd::HttpCreate100 => "http_create_100",
            EndToEnd::HttpDrain => "http_drain",
            EndToEnd::HttpLatency => "http_latency",
            EndToEnd::HttpWork => "http_work",
            EndToEnd::HttpIdle => "http_idle",
            EndToEnd::HttpPolls => "http_polls",
        }
    }
}

/// What `tenure bench store` measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measurement {
    CreateOne,
    Create64,
    CreateBulk,
    Drain,
    AcquireDeep,
    DrainMillion,
    /// PostgreSQL only.
    Pinned,
}

impl Measurement {
    pub const ALL: [Measurement; 7] = [
        Measurement::CreateOne,
        Measurement::Create64,
        Measurement::CreateBulk,
        Measurement::Drain,
        Measurement::AcquireDeep,
        Measurement::DrainMillion,
        Measurement::Pinned,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Measurement::CreateOne => "create_one",
            Measurement::Create64 => "create_64",
            Measurement::CreateBulk => "create_bulk",
            Measurement::Drain => "drain",
            Measurement::AcquireDeep => "acquire_deep",
            Measurement::DrainMillion => "drain_1m",
            Measurement::Pinned => "pinned",
        }
    }
}

/// One of these, by its name.
fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|one| name(*one))).map(move |text| {
        let found = all.iter().find(|one| name(**one) == text);
        *found.expect("only these names are possible")
    })
}
