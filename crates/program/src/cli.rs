//! The command line: every command, argument and help text, and what a wrong one ends with.

use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use tenure_core::hash::{Hash, NotAHash};
use tenure_core::id::{ItemId, NotAnId};
use tenure_core::lifecycle::diagram::Format;
use tenure_core::word::{NotAWord, Store};

use crate::outcome::USAGE;

/// Tenure is a durable work engine: one owner at a time, one committed effect ever.
/// What may happen to work stands in Markdown tables that people read and it runs.
#[derive(Parser, Debug)]
#[command(
    name = "tenure",
    version,
    verbatim_doc_comment,
    arg_required_else_help = true,
    max_term_width = 110
)]
#[command(after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Begin with `tenure lifecycle list`, take one as a template with
`tenure lifecycle show job`, and prove your own with `tenure check FILE`.

Exit codes: 0 done, 1 refused, 2 could not, 64 wrong usage.";

#[derive(Subcommand, Debug)]
pub enum Command {
    Check(Check),
    /// List, show and draw lifecycles
    #[command(subcommand, arg_required_else_help = true)]
    Lifecycle(Lifecycle),
    Log(Log),
    Export(Export),
    Verify(Verify),
    Replay(Replay),
    Backup(Backup),
    Migrate(Migrate),
    Bench(Bench),
    Chaos(Chaos),
    /// A process of `bench` or `chaos`; not for people
    #[command(subcommand, hide = true)]
    Part(Part),
}

/// Show what happened, oldest first
#[derive(Args, Debug)]
pub struct Log {
    #[command(flatten)]
    pub db: Db,
    /// Only this item's history
    #[arg(long, value_name = "ID", value_parser = item)]
    pub item: Option<ItemId>,
    /// The store that the item is in
    #[arg(long, default_value = "default", value_parser = store)]
    pub store: Store,
    /// Only what comes after this position; with --item, after this version
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub after: u64,
    /// At most so many entries
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    pub limit: usize,
    #[command(flatten)]
    pub form: Form,
}

/// Write the log as a file that anyone can verify, and that any Tenure can replay
///
/// Equal logs give equal bytes. The file holds every entry and the lifecycles they are under; payloads, outputs and
/// records are in it by hash. docs/export.md says how it is made.
#[derive(Args, Debug)]
pub struct Export {
    /// Where to; it appears under this name when it is whole. Standard output if it is left out, or `-`
    pub file: Option<String>,
    #[command(flatten)]
    pub db: Db,
}

/// Find whatever was changed in a log, in an exported file or in a database
///
/// Every entry is held against its hash, its item's chain and the lifecycle; in a database every item is held against
/// its entries, too. A log that somebody wrote anew as a whole is found with a head that was kept elsewhere.
#[derive(Args, Debug)]
pub struct Verify {
    /// An exported file, `-` for standard input, or the URL of a database, as in sqlite:tenure.db
    #[arg(value_name = "FILE|URL")]
    pub what: Option<String>,
    /// A head that was kept: the log must have had it, at its end or before
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub head: Option<Hash>,
    #[command(flatten)]
    pub db: Db,
    #[command(flatten)]
    pub form: Form,
}

/// Make a database from an exported log
///
/// The file is verified first: if anything is wrong with it, nothing is written. The database must be empty, or hold what
/// an interrupted replay of the same file has left there, which is then carried on.
#[derive(Args, Debug)]
pub struct Replay {
    pub file: String,
    /// The database, as in sqlite:tenure.db
    #[arg(long, value_name = "URL")]
    pub into: String,
}

/// Copy a database while it is in use
///
/// On SQLite the copy is a database, and it is verified; on PostgreSQL it is a dump for pg_restore.
#[derive(Args, Debug)]
pub struct Backup {
    /// Where to; nothing that exists is replaced
    pub file: String,
    #[command(flatten)]
    pub db: Db,
}

/// Bring a database's schema up to date
///
/// Every command that opens a database does so, too. Each step happens whole or not at all.
#[derive(Args, Debug)]
pub struct Migrate {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub db: Db,
    #[command(flatten)]
    pub form: Form,
}

/// Which database.
#[derive(Args, Clone, Debug)]
pub struct Db {
    /// The database, as in sqlite:tenure.db
    #[arg(long = "db", value_name = "URL", env = "TENURE_DB", default_value = "sqlite:tenure.db")]
    pub url: String,
}

fn item(text: &str) -> Result<ItemId, String> {
    text.parse().map_err(|error: NotAnId| error.to_string())
}

fn store(text: &str) -> Result<Store, String> {
    text.parse().map_err(|error: NotAWord| error.to_string())
}

fn hash(text: &str) -> Result<Hash, String> {
    text.parse().map_err(|NotAHash| "a head is 64 hexadecimal digits in lower case".to_string())
}

/// Read lifecycle files and explore everything that can happen to their items
///
/// A fault is told as FILE:LINE: WHAT. Exploring runs every order of events that workers, crashes, expiry and repeated
/// requests can produce; a promise that breaks is told with the shortest way to get there. Files that are given
/// together may name each other's kinds, and those that ship with Tenure.
#[derive(Args, Debug)]
pub struct Check {
    /// Lifecycle files; a folder stands for every .md file in it, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Subcommand, Debug)]
pub enum Lifecycle {
    /// List the lifecycles that ship with Tenure
    List(List),
    /// Print a lifecycle as it is written: a good template for your own
    Show(Show),
    /// Draw a lifecycle as a diagram
    Draw(Draw),
}

#[derive(Args, Debug)]
pub struct List {
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct Show {
    /// The name of a shipped lifecycle, as in `job`, or the path of a file, as in ./expense.md; `-` is standard input
    pub kind: String,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct Draw {
    /// The name of a shipped lifecycle, as in `job`, or the path of a file, as in ./expense.md; `-` is standard input
    pub kind: String,
    /// mermaid is drawn by GitHub, dot by graphviz; svg is a picture: `tenure lifecycle draw job --format svg > job.svg`
    #[arg(long, default_value = Format::Mermaid.as_str(), value_parser = format())]
    pub format: Format,
}

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
    /// Only these measurements
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = named(&EndToEnd::ALL, EndToEnd::as_str))]
    pub only: Vec<EndToEnd>,
}

#[derive(Subcommand, Debug)]
pub enum BenchOf {
    Store(BenchStore),
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
    pub db: String,
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
}

impl EndToEnd {
    pub const ALL: [EndToEnd; 6] = [
        EndToEnd::Drain,
        EndToEnd::DrainMillion,
        EndToEnd::Create8,
        EndToEnd::CreateAndRun,
        EndToEnd::Latency,
        EndToEnd::Idle,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            EndToEnd::Drain => "drain",
            EndToEnd::DrainMillion => "drain_1m",
            EndToEnd::Create8 => "create_8",
            EndToEnd::CreateAndRun => "create_and_run",
            EndToEnd::Latency => "latency",
            EndToEnd::Idle => "idle",
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

/// Kill, stop and cut off real processes of Tenure on your machine, then show what came of it
///
/// Nodes, workers and loaders run on a scratch database that is removed afterwards; nothing that exists is touched. The
/// seed decides who is struck, how and when. After the faults everything must come to its end; then every answer is held
/// against the log. Any violation is told and ends with exit code 1.
#[derive(Args, Debug)]
pub struct Chaos {
    /// sqlite:FOLDER for a scratch file in this folder, postgres://… for a schema of its own there; else a temporary file
    #[arg(long, value_name = "URL")]
    pub db: Option<String>,
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

#[derive(Subcommand, Debug)]
pub enum Part {
    Node(PartNode),
    Worker(PartWorker),
    Loader(PartLoader),
    Producer(PartProducer),
    Runner(PartRunner),
    Idle(PartIdle),
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

/// What a command prints for.
#[derive(Args, Clone, Copy, Debug)]
pub struct Form {
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::as_str)).try_map(|name| name.parse::<Format>())
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

/// Reads the command line. Help, the version and wrong usage are printed here and end with the exit code returned.
pub fn read() -> Result<Command, ExitCode> {
    Cli::try_parse().map(|cli| cli.command).map_err(|error| {
        // Nobody is left to tell when this can not be printed.
        let _ = error.print();
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
            _ => ExitCode::from(USAGE),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_tree_of_commands_is_well_formed() {
        Cli::command().debug_assert();
    }
}
