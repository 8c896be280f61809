//! A step of one's own as a command.
//!
//! | it gets | where |
//! |---|---|
//! | the document's bytes | standard input |
//! | what the document is | `TENURE_DOCUMENT_ID`, `TENURE_DOCUMENT_NAME`, `TENURE_MEDIA_TYPE` |
//! | its own name | `TENURE_STEP` |
//! | what the steps before it made, as JSON by their names | the file that `TENURE_MADE` names; gone when the command ends |
//!
//! | its end | the step |
//! |---|---|
//! | 0 | succeeded with the JSON on its standard output; none is `null` |
//! | 75 (`EX_TEMPFAIL`) | failed, to be tried again |
//! | anything else | failed for good; the last lines of its standard error say why |
//!
//! It runs in a process group of its own. The group is killed when the command ends, takes too long or writes too much, and when the run
//! is over or dropped: nothing that it started outlives the step. Whoever keeps what a server started (`process::kept_by`) ends it when
//! the server itself was killed.

use std::io::Write;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tempfile::NamedTempFile;
use tokio::process::Command;

use super::builtin::{again, never, over, stopped};
use super::step::{Input, Step, StepFailed, Stepping};
use crate::process::{self, DATABASE, Heard, Keep, Ran};
use crate::time::within;

/// Several times what a text may have: whoever takes one apart says as much again.
pub const OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Half of a run's window, so that a second attempt has a chance.
const LIMIT_S: u64 = 55;
/// `EX_TEMPFAIL` of `sysexits.h`: "the user is invited to retry".
const TRY_AGAIN: i32 = 75;
/// Of standard error: what fits a screen.
const LAST_WORDS_BYTES: usize = 4 << 10;
const LAST_LINES: usize = 10;

/// As `tenure.toml` has it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSettings {
    /// The program and its arguments. No shell reads it.
    pub command: Vec<String>,
    /// How long one attempt may take.
    #[serde(default = "limit_s")]
    pub limit_s: u64,
}

fn limit_s() -> u64 {
    LIMIT_S
}

impl CommandSettings {
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> CommandSettings {
        CommandSettings { command: command.into_iter().map(Into::into).collect(), limit_s: LIMIT_S }
    }
}

/// The step.
#[derive(Clone, Debug)]
pub struct CommandStep {
    name: String,
    settings: CommandSettings,
}

impl CommandStep {
    pub fn new(name: &str, settings: CommandSettings) -> Result<CommandStep, String> {
        match settings.command.first() {
            Some(program) if !program.is_empty() && settings.limit_s > 0 => {
                Ok(CommandStep { name: name.to_string(), settings })
            }
            Some(_) | None => {
                Err(format!("the step {name:?} needs a command and a limit of a second or more"))
            }
        }
    }
}

impl Step for CommandStep {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, input: Input) -> Stepping {
        let step = self.clone();
        Box::pin(async move {
            let limit = Duration::from_secs(step.settings.limit_s);
            let stop = input.stop.clone();
            tokio::select! {
                made = within(limit, step.attempt(&input)) => {
                    made.unwrap_or_else(|_| Err(again("TOO_SLOW", format!("it was killed after {limit:?}"))))
                }
                () = stopped(stop) => Err(over()),
            }
        })
    }
}

impl CommandStep {
    async fn attempt(&self, input: &Input) -> Result<Value, StepFailed> {
        let made = made(input).map_err(|why| again("NO_FILE", format!("what was made before: {why}")))?;
        let (group, running) = process::start(self.command(input, &made)).map_err(|why| {
            let details = format!("{}: {why}", self.settings.command[0]);
            match why.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => {
                    never("NO_COMMAND", details)
                }
                _ => again("NO_COMMAND", details),
            }
        })?;
        let (output, words) = (Keep::All(OUTPUT_BYTES_MAX), Keep::Last(LAST_WORDS_BYTES));
        let ran = running.end(&group, &input.document.bytes, output, words).await;
        ended(ran.map_err(|why| again("COMMAND_FAILED", why.to_string()))?)
    }

    fn command(&self, input: &Input, made: &NamedTempFile) -> Command {
        let (program, rest) = self.settings.command.split_first().expect("there is one");
        let mut command = process::command(program);
        command.args(rest).env_remove(DATABASE);
        command.env("TENURE_DOCUMENT_ID", &input.document.id);
        command.env("TENURE_DOCUMENT_NAME", &input.document.name);
        command.env("TENURE_MEDIA_TYPE", &input.document.media_type).env("TENURE_STEP", &self.name);
        command.env("TENURE_MADE", made.path());
        command
    }
}

/// What the steps before made, as a file that only this user reads.
fn made(input: &Input) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("tenure-made-")?;
    serde_json::to_writer(&mut file, &*input.made)?;
    file.flush()?;
    Ok(file)
}

fn ended(ran: Ran) -> Result<Value, StepFailed> {
    let Ran { status, output, said } = ran;
    if output.is_cut {
        return Err(never("TOO_LARGE", format!("it wrote more than {OUTPUT_BYTES_MAX} bytes")));
    }
    match status.code() {
        Some(0) if output.bytes.trim_ascii().is_empty() => Ok(Value::Null),
        Some(0) => serde_json::from_slice(&output.bytes).map_err(|why| {
            never("NOT_JSON", after(&format!("its standard output is no JSON: {why}"), &said))
        }),
        Some(TRY_AGAIN) => Err(again("TRY_AGAIN", after("it asks to be tried again", &said))),
        Some(code) => Err(never("COMMAND_FAILED", after(&format!("exit code {code}"), &said))),
        // By somebody else, or for want of memory.
        None => Err(again("COMMAND_KILLED", after("it was killed", &said))),
    }
}

/// What happened, and the last lines that were said before.
fn after(what: &str, said: &Heard) -> String {
    let words = said.text();
    let lines: Vec<&str> = words.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    [&[what], last].concat().join("\n")
}
