//! The command line: every command, argument and help text, and what a wrong one ends with.

mod at;
mod bench;
mod chaos;
mod claim;
mod doc;
mod inbox;
mod item;
mod keep;
mod lifecycle;
mod limit;
mod look;
#[cfg(test)]
mod page;
mod part;
mod pause;
mod runner;
mod schedule;
mod serve;
mod ticket;
mod todo;
mod token;
mod webhook;
mod work;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use tenure_core::hash::{Hash, NotAHash};
use tenure_core::word::{NotAWord, Store};
use tenure_databases::url::masked;

use crate::config::Config;
use crate::outcome::{Error, USAGE};
use crate::output::Output;

pub use at::{At, DEFAULT, Db, OtherDb, Place, Reach, There};
pub use bench::{Bench, BenchOf, BenchStore, BenchSystem, BenchTodos, EndToEnd, Measurement};
pub use chaos::Chaos;
pub use claim::{Claim, ClaimCreate, ClaimEnqueue, ClaimValidate, ClaimVerdict};
pub use doc::{Doc, DocAdd, DocContent, DocList, DocOne, DocResult, DocWait};
pub use inbox::{Inbox, InboxAt, InboxOf, InboxSaid};
pub use item::{
    Item, ItemBulk, ItemCreate, ItemList, ItemLog, ItemMove, ItemOne, ItemReceipt, ItemSaid, ItemShow, Job,
    JobList, JobSubmit, JobWait, New, Which,
};
pub use keep::{Backup, Doctor, Export, Migrate, Replay, Verify};
pub use lifecycle::{Add, Check, Draw, Lifecycle, List, Show};
pub use limit::{Limit, LimitList, LimitReset, LimitSet};
pub use look::{Explain, Log};
pub use part::{
    Part, PartClerk, PartIdle, PartKeeper, PartLoader, PartNode, PartProducer, PartReader, PartRunner,
    PartWorker,
};
pub use pause::{Pause, PauseOf, Resume};
pub use runner::Runner;
pub use schedule::{Schedule, ScheduleCreate, ScheduleList, ScheduleOne};
pub use serve::{SYSTEMS, Serve};
pub use ticket::{Asking, Ticket, TicketBlock, TicketCreate, TicketSaid};
pub use todo::{
    Guarded, Session, SessionOf, Todo, TodoAdd, TodoAt, TodoAttest, TodoDepend, TodoDone, TodoExport,
    TodoImport, TodoJoin, TodoList, TodoNext, TodoOne, TodoPlan, TodoReceipt, TodoSaid, Validate,
};
pub use token::{Token, TokenCreate, TokenList, TokenRevoke};
pub use webhook::{Webhook, WebhookCreate, WebhookList, WebhookOne};
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
    /// List, show and draw lifecycles, and put your own in force
    #[command(subcommand, arg_required_else_help = true)]
    Lifecycle(Lifecycle),
    /// Submit, show, list, cancel, retry and wait for jobs
    #[command(subcommand, arg_required_else_help = true)]
    Job(Job),
    /// Create, show, list, enqueue, validate claims, and show their verdicts
    #[command(subcommand, arg_required_else_help = true)]
    Claim(Claim),
    /// Add documents, and look at their runs: every pass over a document, step by step
    #[command(subcommand, arg_required_else_help = true)]
    Doc(Doc),
    /// Create, show, list, move, cancel and erase items of any kind
    #[command(subcommand, arg_required_else_help = true)]
    Item(Item),
    /// Add, claim and finish tasks that are proved done, in this git repository or on a server
    #[command(subcommand, arg_required_else_help = true)]
    Todo(Todo),
    /// Begin, show and end the session in which tasks are claimed
    #[command(subcommand, arg_required_else_help = true)]
    Session(Session),
    Validate(Validate),
    Work(Work),
    /// Create, show, list, approve, block, resolve and explain tickets
    #[command(subcommand, arg_required_else_help = true)]
    Ticket(Ticket),
    Runner(Runner),
    Inbox(Inbox),
    /// Create, list, pause, resume and remove schedules: work that comes at its times
    #[command(subcommand, arg_required_else_help = true)]
    Schedule(Schedule),
    /// Create, list, pause, resume and remove webhooks: who outside is told of messages
    #[command(subcommand, arg_required_else_help = true)]
    Webhook(Webhook),
    /// List, set and reset what holds kinds back
    #[command(subcommand, arg_required_else_help = true, alias = "limits")]
    Limit(Limit),
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

/// A number between two others, which are told in words to whoever missed them.
fn between<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy + Send + Sync + 'static,
{
    move |text: &str| match text.parse() {
        Ok(number) if least <= number && number <= most => Ok(number),
        Ok(_) | Err(_) => Err(format!("a number from {least} to {most}")),
    }
}

/// As many as there are, and at least one.
fn one_or_more(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|number| *number >= 1).ok_or_else(|| "a number, 1 or more".to_string())
}

/// As the kernel has it.
fn priority(text: &str) -> Result<i8, String> {
    between(-100, 100)(text)
}

fn store(text: &str) -> Result<Store, String> {
    text.parse().map_err(|error: NotAWord| error.to_string())
}

/// `90s`, `15m`, `12h`, `30d`.
pub fn span(text: &str) -> Result<Duration, String> {
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

/// Whether `--json` was asked for, also of a command that came to nothing. What stands behind `--` is another program's.
fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

/// Tells an error in the form that the command line asks for.
pub fn complain(output: &mut Output, error: &Error) {
    match wants_json() {
        true => output.complain_json(error),
        false => output.complain(error),
    }
}

/// What a command prints for.
#[derive(Args, Clone, Copy, Debug)]
pub struct Form {
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

/// Reads the command line and, beneath it, the environment and the configuration. Help, the version and whatever is wrong
/// are printed here and end with the exit code returned.
pub fn read() -> Result<Command, ExitCode> {
    let cli = parse(command())?;
    match Config::read(cli.config.as_deref()) {
        Ok(None) => Ok(cli.command),
        Ok(Some(config)) => {
            let mut command = parse(config.beneath(command()))?.command;
            // What has parts of its own is no argument.
            if let Command::Serve(serve) = &mut command {
                (serve.claims, serve.steps) = (config.claims, config.runs.steps);
            }
            Ok(command)
        }
        Err(error) => {
            complain(&mut Output::standard(), &error);
            Err(ExitCode::from(USAGE))
        }
    }
}

/// Every command and argument. Help shows no value of the environment: it may be a token, or a URL with a password.
fn command() -> clap::Command {
    without_values(Cli::command())
}

fn without_values(command: clap::Command) -> clap::Command {
    let hidden = |argument: clap::Arg| argument.hide_env_values(true);
    command.mut_args(hidden).mut_subcommands(without_values)
}

fn parse(command: clap::Command) -> Result<Cli, ExitCode> {
    let read = command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    read.map_err(|error| {
        let error = if names_a_server(&error) { wants_none() } else { error };
        let is_asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        match !is_asked_for && wants_json() {
            true => Output::standard().complain_json(&in_parts(&error)),
            false => print(&error),
        }
        if is_asked_for { ExitCode::SUCCESS } else { ExitCode::from(USAGE) }
    })
}

/// Prints help, or what is wrong with a command line. A failure to print has no other place to be reported.
fn print(error: &clap::Error) {
    let words = error.render().to_string();
    let shown = masked(&words);
    match shown == words {
        true => drop(error.print()),
        // A password that was typed in the wrong place stays out of logs and screens.
        false => drop(write!(io::stderr(), "{shown}")),
    }
}

/// What is wrong with a command line, and what is right: the first paragraph of its words, and the others.
fn in_parts(error: &clap::Error) -> Error {
    let words = masked(&error.render().to_string());
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Who leaves out the command is shown the help.
    let (what, then) = match words.strip_prefix("error: ") {
        Some(words) => words.split_once("\n\n").unwrap_or((words, "")),
        None => ("a command is missing", words.as_str()),
    };
    let then = then.split("\n\n").map(line).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    Error::NotPossible { what: line(what), then }
}

/// Somebody gave --url to a command that has none.
fn names_a_server(error: &clap::Error) -> bool {
    let named = |context: &ContextValue| matches!(context, ContextValue::String(name) if name == "--url");
    error.kind() == ErrorKind::UnknownArgument && error.get(ContextKind::InvalidArg).is_some_and(named)
}

fn wants_none() -> clap::Error {
    let words =
        "this command asks no server; where it works on a database, it takes --db or --into with its URL\n";
    clap::Error::raw(ErrorKind::UnknownArgument, words)
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
            include_str!("../../../docs/lifecycles.md"),
            include_str!("../../../docs/claims.md"),
            include_str!("../../../docs/todos.md"),
            include_str!("../../../docs/tickets.md"),
            include_str!("../../../docs/http.md"),
            include_str!("../../../docs/runs.md"),
            include_str!("../../../docs/export.md"),
            include_str!("../../../docs/schedules.md"),
            include_str!("../../../docs/webhooks.md"),
        ];
        let mut found = 0;
        for line in documents.iter().flat_map(|text| text.lines()) {
            let typed = line.strip_prefix("cargo run --release -- ").or_else(|| line.strip_prefix("tenure "));
            // `tenure = …` is a dependency, and no command.
            let Some(typed) = typed.filter(|typed| !typed.starts_with("= ")) else { continue };
            // As a shell splits it: quotes keep words together, and what is written elsewhere is not the command's.
            let typed = typed.split(" # ").next().unwrap_or(typed);
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
