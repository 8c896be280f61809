//! The command line: every command, argument and help text, and what a wrong one ends with.

mod at;
mod bench;
mod chaos;
mod item;
mod part;
mod pause;
mod serve;
mod token;
mod work;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use tenure_core::hash::{Hash, NotAHash};
use tenure_core::id::{ItemId, NotAnId};
use tenure_core::lifecycle::diagram::Format;
use tenure_core::word::{NotAWord, Store};

use crate::config::Config;
use crate::outcome::USAGE;
use crate::output::Output;

pub use at::{At, Place, Reach};
pub use bench::{Bench, BenchOf, BenchStore, EndToEnd, Measurement};
pub use chaos::Chaos;
pub use item::{
    Item, ItemCreate, ItemList, ItemMove, ItemSaid, ItemShow, Job, JobList, JobRetry, JobSubmit, JobWait,
    New, Which,
};
pub use part::{
    Part, PartClerk, PartExec, PartIdle, PartLoader, PartNode, PartProducer, PartRunner, PartWorker,
};
pub use pause::{Pause, PauseOf, Resume};
pub use serve::Serve;
pub use token::{Token, TokenCreate, TokenList, TokenRevoke};
pub use work::Work;

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
    /// The configuration, instead of the current folder's tenure.toml
    #[arg(long, global = true, value_name = "FILE", env = "TENURE_CONFIG", hide_env = true)]
    config: Option<String>,
}

const AFTER_HELP: &str = "\
Begin with `tenure demo`, then `tenure serve`. What may happen to work is in
`tenure lifecycle list`; prove a table of your own with `tenure check FILE`.

Exit codes: 0 done, 1 refused, 2 could not, 64 wrong usage.";

#[derive(Subcommand, Debug)]
pub enum Command {
    Serve(Serve),
    Demo(Demo),
    Check(Check),
    /// List, show and draw lifecycles
    #[command(subcommand, arg_required_else_help = true)]
    Lifecycle(Lifecycle),
    /// Submit, show, list, cancel, retry and wait for jobs
    #[command(subcommand, arg_required_else_help = true)]
    Job(Job),
    /// Create, show, list, move, cancel and erase items of any kind
    #[command(subcommand, arg_required_else_help = true)]
    Item(Item),
    Work(Work),
    /// Make, list and revoke tokens: who may ask a server for what
    #[command(subcommand, arg_required_else_help = true)]
    Token(Token),
    Explain(Explain),
    Pause(Pause),
    Resume(Resume),
    Log(Log),
    Export(Export),
    Verify(Verify),
    Doctor(Doctor),
    Replay(Replay),
    Backup(Backup),
    Migrate(Migrate),
    Bench(Bench),
    Chaos(Chaos),
    Completions(Completions),
    /// A process of another command; not for people
    #[command(subcommand, hide = true)]
    Part(Part),
}

/// See it work: letters, clerks that are killed and stopped, and a log that tells all of it
#[derive(Args, Debug)]
pub struct Demo {
    /// Leave the scratch database where it is
    #[arg(long)]
    pub keep: bool,
}

/// Say why an item is where it is, and how it moves on
///
/// What it waits for and for whom, who holds it, how it ended; what happens by itself, and what somebody can type.
#[derive(Args, Debug)]
pub struct Explain {
    #[arg(value_name = "ID", value_parser = item)]
    pub item: ItemId,
    #[command(flatten)]
    pub db: Db,
    /// The store that the item is in
    #[arg(long, default_value = "default", value_parser = store)]
    pub store: Store,
    #[command(flatten)]
    pub form: Form,
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
    /// All there are, and then each as it comes
    #[arg(long, conflicts_with_all = ["item", "limit"])]
    pub follow: bool,
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

/// Ask a live database whether everything holds that should, and what endangers it
///
/// It reads bounded slices, locks nothing and writes nothing, so it can be asked at any time. `verify` reads everything.
/// Ends with 0 where all is well, with 1 where something is wrong, with 2 where it could not look.
#[derive(Args, Debug)]
pub struct Doctor {
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

/// `90s`, `15m`, `12h`, `30d`.
fn span(text: &str) -> Result<Duration, String> {
    let wrong = || "a span is a number and its unit: 90s, 15m, 12h or 30d".to_string();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    Ok(Duration::from_secs(seconds * u64::from(number)))
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

/// Print what a shell needs to complete the command line
///
/// bash: `tenure completions bash > ~/.local/share/bash-completion/completions/tenure`; zsh: into a file `_tenure` of your $fpath.
#[derive(Args, Debug)]
pub struct Completions {
    pub shell: Shell,
}

/// The completions of a shell, as its own script.
pub fn completions(shell: Shell, to: &mut impl io::Write) {
    clap_complete::generate(shell, &mut Cli::command(), "tenure", to);
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

/// Reads the command line and, beneath it, the environment and the configuration. Help, the version and whatever is wrong
/// are printed here and end with the exit code returned.
pub fn read() -> Result<Command, ExitCode> {
    let cli = parse(Cli::command())?;
    match Config::read(cli.config.as_deref()) {
        Ok(None) => Ok(cli.command),
        Ok(Some(config)) => parse(config.beneath(Cli::command())).map(|cli| cli.command),
        Err(error) => {
            Output::standard().complain(&error);
            Err(ExitCode::from(USAGE))
        }
    }
}

fn parse(command: clap::Command) -> Result<Cli, ExitCode> {
    let read = command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    read.map_err(|error| {
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

    #[test]
    fn the_tree_of_commands_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// What documents tell people to type is something that can be typed.
    #[test]
    fn every_command_in_the_documents_is_a_command() {
        let documents = [
            include_str!("../../../README.md"),
            include_str!("../../../docs/start.md"),
            include_str!("../../../docs/operating.md"),
        ];
        let mut found = 0;
        for line in documents.iter().flat_map(|text| text.lines()) {
            let typed = line.strip_prefix("cargo run --release -- ").or_else(|| line.strip_prefix("tenure "));
            let Some(typed) = typed else { continue };
            // As a shell splits it: quotes keep words together, and what is written elsewhere is not the command's.
            let typed = typed.split(" > ").next().unwrap_or(typed);
            let mut words = vec!["tenure".to_string()];
            for (index, part) in typed.split('\'').enumerate() {
                match index % 2 {
                    0 => words.extend(part.split_whitespace().map(str::to_string)),
                    _ => words.push(part.to_string()),
                }
            }
            let words = words
                .into_iter()
                .map(|word| if word == "ID" { "01M7HWQRJ60000MEBB15B51XNF".to_string() } else { word });
            let words: Vec<String> = words.collect();
            if let Err(error) = Cli::try_parse_from(&words) {
                panic!("{line}: {error}");
            }
            found += 1;
        }
        assert!(found > 15, "{found} commands");
    }
}
