//! A command that is run to its end, within bounds. Whoever stops waiting for it ends it, and all that it started.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};

/// Of standard output so much is kept: as much as a body can have.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Of standard error the end is kept: it says what went wrong.
const SAID_BYTES_MAX: usize = 16 << 10;
/// What a command must not know: whose token it is run with, and whose repository git would take for its own.
const HIDDEN: [&str; 5] = ["TENURE_TOKEN", "TENURE_TOKEN_FILE", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

#[derive(Debug)]
pub(super) struct Ran {
    /// None: a signal ended it.
    pub code: Option<i32>,
    pub output: Vec<u8>,
    /// It wrote more than is kept.
    pub is_cut: bool,
    pub said: String,
}

/// A command, ready to be run in a group of its own.
pub(super) fn command(program: impl AsRef<OsStr>, folder: Option<&Path>) -> Command {
    let mut command = Command::new(program);
    for name in HIDDEN {
        command.env_remove(name);
    }
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// The group of a command. Dropped, all of it is ended.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // One that has ended by itself is as dead.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

pub(super) async fn run(mut command: Command, input: &[u8]) -> io::Result<Ran> {
    let mut child: Child = command.spawn()?;
    let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut output, mut said) = (Kept::first(OUTPUT_BYTES_MAX), Kept::last(SAID_BYTES_MAX));
    let listening = async { tokio::join!(feed(stdin, input), output.listen(stdout), said.listen(stderr)) };
    // Whoever it leaves behind with its output in hand is not waited for.
    let status = tokio::select! {
        biased;
        _ = listening => child.wait().await?,
        status = child.wait() => status?,
    };
    drop(group);
    let said = String::from_utf8_lossy(&said.bytes).into_owned();
    Ok(Ran { code: status.code(), output: output.bytes, is_cut: output.is_cut, said })
}

/// A command that does not read its input has closed it, which is its right.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

struct Kept {
    bytes: Vec<u8>,
    most: usize,
    keeps_end: bool,
    is_cut: bool,
}

impl Kept {
    fn first(most: usize) -> Kept {
        Kept { bytes: Vec::new(), most, keeps_end: false, is_cut: false }
    }

    fn last(most: usize) -> Kept {
        Kept { keeps_end: true, ..Kept::first(most) }
    }

    async fn listen(&mut self, from: Option<impl AsyncRead + Unpin>) {
        let Some(mut from) = from else { return };
        let mut chunk = vec![0; 16 << 10];
        while let Ok(count @ 1..) = from.read(&mut chunk).await {
            self.bytes.extend_from_slice(&chunk[..count]);
            let over = self.bytes.len().saturating_sub(self.most);
            if over > 0 {
                self.is_cut = true;
                match self.keeps_end {
                    true => drop(self.bytes.drain(..over)),
                    false => self.bytes.truncate(self.most),
                }
            }
        }
    }
}
