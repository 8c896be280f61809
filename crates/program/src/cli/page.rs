//! docs/cli.md, made from the command line itself: a command that is not in it, or not as it is, fails a test.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

const BEGINNING: &str = "\
# The command line

Made from `tenure --help`; `tenure COMMAND --help` says more of each, and `tenure completions SHELL` teaches your shell.

| Exit code | |
|---|---|
| 0 | done |
| 1 | refused: what was asked for is not so, or not allowed. The code that is printed is in [errors.md](errors.md) |
| 2 | could not: a file, a disk, a database or a network did not play along |
| 64 | wrong usage |

Results are on standard output, complaints and progress on standard error. `--json` prints JSON, one object a line, and tells an error as
one, too (`title`, `detail`, `advice`, and the `code` of a no). Colours are for terminals, and never with `NO_COLOR`. A reader that goes away (`| head -1`) is no error.

## Where work is

Commands on work take one of these, the nearest wins (the command line over the environment over `tenure.toml`):

| | Environment | |
|---|---|---|
| `--db URL` | `TENURE_DB` | a database: `sqlite:FILE` or `postgres://…`. Where nothing is said: `sqlite:tenure.db`, and for what is not there the task list of the git repository, `.tenure/todo.db`; what creates a database creates the first. If a server runs on that file, it is asked |
| `--url URL` | `TENURE_URL` | a server: `http://127.0.0.1:7878` |
| `--store NAME` | `TENURE_STORE` | the namespace |
| `--token TOKEN` | `TENURE_TOKEN` | who asks a server |
| `--token-file FILE` | `TENURE_TOKEN_FILE` | the same, in a file |
| `--files DIR` | `TENURE_FILES` | the folder with the files of documents, where it is not beside the database; a server has its own |
| `--config FILE` | `TENURE_CONFIG` | instead of the current folder's `tenure.toml`, which has `db`, `url`, `store`, `token_file`, `files`, `listen`, `lifecycles`, `protected`, `without`, `claim_retries`, `[claims]` ([claims.md](claims.md)) and `[[runs.steps]]` ([runs.md](runs.md)) |

Commands on tasks (`todo`, `session`, `validate`) work on the list of the git repository that they are run in, unless one of the above is
named. They take these too ([todos.md](todos.md)):

| | Environment | |
|---|---|---|
| `--session TOKEN` | `TENURE_SESSION` | the session, as `tenure session acquire` gives it |
| `--agent NAME` | `TENURE_AGENT` | an agent asks, and not a person |
| `--protected PATTERNS` | `TENURE_PROTECTED` | branches from which nothing is changed; `serve` takes it too |
| `--guard-adding` | | from those no task is added either; `serve` takes it too |

Where the table below says *database*, a command works on the database itself and asks no server: give it `--db`. Where it says
*either*, it takes both. A command that is run in a trace (`TRACEPARENT`) hands it on to what it creates.

## Commands

| Command | | Where | Its own options |
|---|---|---|---|
";

/// These are told once, above.
const SHARED: [&str; 13] = [
    "db",
    "url",
    "store",
    "token",
    "token-file",
    "files",
    "config",
    "json",
    "help",
    "session",
    "agent",
    "protected",
    "guard-adding",
];

/// The whole page.
fn page(root: &Command) -> String {
    let mut page = BEGINNING.to_string();
    root.get_subcommands().for_each(|command| rows(command, "tenure", &mut page));
    page
}

fn rows(command: &Command, before: &str, page: &mut String) {
    if command.is_hide_set() {
        return;
    }
    let name = format!("{before} {}", command.get_name());
    if !command.is_subcommand_required_set() {
        row(command, &name, page);
    }
    command.get_subcommands().for_each(|inner| rows(inner, &name, page));
}

fn row(command: &Command, name: &str, page: &mut String) {
    let words: String =
        command.get_positionals().map(|argument| format!(" {}", positional(argument))).collect();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let cell = |text: String| text.replace('|', "\\|");
    writeln!(
        page,
        "| `{}` | {} | {} | {} |",
        cell(format!("{name}{words}")),
        cell(about),
        place(command),
        options(command)
    )
    .expect("a text has room");
}

fn positional(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let name = names.first().map_or_else(|| argument.get_id().to_string(), ToString::to_string);
    let before = if argument.is_last_set() { "-- " } else { "" };
    let many = if matches!(argument.get_action(), ArgAction::Append) { "…" } else { "" };
    match argument.is_required_set() {
        true => format!("{before}{name}{many}"),
        false => format!("[{before}{name}{many}]"),
    }
}

fn place(command: &Command) -> &'static str {
    let find = |name: &str| command.get_arguments().find(|argument| argument.get_long() == Some(name));
    match (find("db"), find("url")) {
        (Some(_), Some(url)) if !url.is_hide_set() => "either",
        (Some(_), _) => "database",
        (None, _) => "",
    }
}

fn options(command: &Command) -> String {
    // A token's `--store` is what it is for, not where it is.
    let is_shared = |argument: &&Arg| {
        let is_told = argument.get_long().is_none_or(|long| SHARED.contains(&long));
        is_told && !(argument.get_long() == Some("store") && argument.get_env().is_none())
    };
    let own = command.get_arguments().filter(|argument| !is_shared(argument)).filter_map(Arg::get_long);
    own.map(|long| format!("`--{long}`")).collect::<Vec<_>>().join(" ")
}

mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");

    #[test]
    fn every_command_is_in_its_document_as_it_is() {
        let page = page(&Cli::command());
        if std::env::var_os("TENURE_UPDATE").is_some() {
            std::fs::write(FILE, &page).expect("the page is written");
        }
        let kept = std::fs::read_to_string(FILE).unwrap_or_default();
        assert!(kept == page, "docs/cli.md is not what the program does; TENURE_UPDATE=1 makes it anew");
    }

    #[test]
    fn every_variable_is_in_the_document() {
        fn variables(command: &Command, found: &mut Vec<String>) {
            let names = command.get_arguments().filter_map(Arg::get_env);
            found.extend(names.map(|name| name.to_string_lossy().into_owned()));
            command.get_subcommands().for_each(|inner| variables(inner, found));
        }
        let mut found = Vec::new();
        variables(&Cli::command(), &mut found);
        // Those of `serve` are told by its own help.
        let told = ["TENURE_LISTEN", "TENURE_LIFECYCLES", "TENURE_WITHOUT", "TENURE_CLAIM_RETRIES"];
        found.retain(|name| !told.contains(&name.as_str()));
        assert!(found.len() > 5);
        for name in found {
            assert!(BEGINNING.contains(&format!("`{name}`")), "{name}");
        }
    }
}
