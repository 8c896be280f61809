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
//! is over or dropped: nothing that it started outlives the step. It does outlive a server that is itself killed.

use std::io::Write;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::Value;
use tempfile::NamedTempFile;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::builtin::{again, never, over, stopped};
use super::step::{Input, Step, StepFailed, Stepping};
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
/// Whoever has left the group and still holds its output is not listened to for longer once the command has ended.
const LISTEN_ON: Duration = Duration::from_secs(1);

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

/// A command and all that it started. Dropped, they are killed.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Group {
        Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    fn kill(&self) {
        if let Some(group) = self.0 {
            // One that has ended by itself is as dead.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

impl CommandStep {
    async fn attempt(&self, input: &Input) -> Result<Value, StepFailed> {
        let made = made(input).map_err(|why| again("NO_FILE", format!("what was made before: {why}")))?;
        let mut child = self.start(input, &made)?;
        let group = Group::of(&child);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (mut output, mut words) = (Output::default(), LastWords::default());
        let status = {
            let feed = async {
                if let Some(mut stdin) = stdin {
                    // A command that does not read it has closed it, which is its right.
                    let _ = stdin.write_all(&input.document.bytes).await;
                }
            };
            let said = async { tokio::join!(feed, output.read(stdout, &group), words.read(stderr)) };
            let mut said = std::pin::pin!(said);
            tokio::select! {
                // It may close its ends and go on.
                _ = &mut said => child.wait().await,
                status = child.wait() => {
                    group.kill();
                    let _ = within(LISTEN_ON, &mut said).await;
                    status
                }
            }
        };
        drop(group);
        let status = status.map_err(|why| again("COMMAND_FAILED", why.to_string()))?;
        ended(status, output, &words)
    }

    fn start(&self, input: &Input, made: &NamedTempFile) -> Result<Child, StepFailed> {
        let (program, rest) = self.settings.command.split_first().expect("there is one");
        let mut start = Command::new(program);
        start.args(rest);
        start.env("TENURE_DOCUMENT_ID", &input.document.id).env("TENURE_DOCUMENT_NAME", &input.document.name);
        start.env("TENURE_MEDIA_TYPE", &input.document.media_type).env("TENURE_STEP", &self.name);
        start.env("TENURE_MADE", made.path());
        // What the server may do is not for what it starts.
        start.env_remove("TENURE_TOKEN").env_remove("TENURE_TOKEN_FILE").env_remove("TENURE_DB");
        start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        start.process_group(0).kill_on_drop(true).spawn().map_err(|why| {
            let details = format!("{program}: {why}");
            match why.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => {
                    never("NO_COMMAND", details)
                }
                _ => again("NO_COMMAND", details),
            }
        })
    }
}

/// What the steps before made, as a file that only this user reads.
fn made(input: &Input) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("tenure-made-")?;
    serde_json::to_writer(&mut file, &*input.made)?;
    file.flush()?;
    Ok(file)
}

/// Standard output, as far as it is kept.
#[derive(Default)]
struct Output(Vec<u8>);

impl Output {
    /// With more than fits there is no use in going on.
    async fn read(&mut self, from: Option<impl AsyncRead + Unpin>, group: &Group) {
        let Some(from) = from else { return };
        let most = OUTPUT_BYTES_MAX as u64 + 1;
        let _ = from.take(most).read_to_end(&mut self.0).await;
        if self.is_too_much() {
            group.kill();
        }
    }

    fn is_too_much(&self) -> bool {
        self.0.len() > OUTPUT_BYTES_MAX
    }
}

/// The end of standard error.
#[derive(Default)]
struct LastWords(Vec<u8>);

impl LastWords {
    async fn read(&mut self, from: Option<impl AsyncRead + Unpin>) {
        let Some(mut from) = from else { return };
        let mut chunk = [0; LAST_WORDS_BYTES];
        while let Ok(count @ 1..) = from.read(&mut chunk).await {
            self.0.extend_from_slice(&chunk[..count]);
            let early = self.0.len().saturating_sub(LAST_WORDS_BYTES);
            self.0.drain(..early);
        }
    }

    fn after(&self, what: &str) -> String {
        let words = String::from_utf8_lossy(&self.0);
        let lines: Vec<&str> = words.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        [&[what], last].concat().join("\n")
    }
}

fn ended(status: ExitStatus, output: Output, words: &LastWords) -> Result<Value, StepFailed> {
    if output.is_too_much() {
        return Err(never("TOO_LARGE", format!("it wrote more than {OUTPUT_BYTES_MAX} bytes")));
    }
    match status.code() {
        Some(0) if output.0.trim_ascii().is_empty() => Ok(Value::Null),
        Some(0) => serde_json::from_slice(&output.0)
            .map_err(|why| never("NOT_JSON", words.after(&format!("its standard output is no JSON: {why}")))),
        Some(TRY_AGAIN) => Err(again("TRY_AGAIN", words.after("it asks to be tried again"))),
        Some(code) => Err(never("COMMAND_FAILED", words.after(&format!("exit code {code}")))),
        // By somebody else, or for want of memory.
        None => Err(again("COMMAND_KILLED", words.after("it was killed"))),
    }
}
