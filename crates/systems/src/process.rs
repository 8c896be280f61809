//! A command, run within bounds: in a process group of its own, fed, listened to, and ended with all that it started.
//!
//! ```text
//! command ─▶ start ─▶ Group       dropped, or told to: all of it is ended
//!                └──▶ Running ─▶ end: what it said, whole, and how it ended
//! ```
//!
//! - What it wrote before it ended is heard, also when its end is noticed first.
//! - Whoever holds its output longer than it lives is killed with its group; whoever has left the group is not waited for.
//! - Ended before its own end, or outlived by somebody who holds its output, it is ended with those who have left the group, too
//!   ([`marked`]), unless they have left the session: that is done on purpose. Otherwise nobody looks for them: it costs a look at every
//!   process there is, and most commands leave nobody.
//! - How long it may take is for the caller to say: nobody waits any more, and the group is dropped.
//! - A process that is killed drops nothing: what it started is ended by whoever keeps it ([`kept_by`]), if somebody does.

pub mod marked;

use std::ffi::OsStr;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tenure::databases::outside::chance;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, Command};

use crate::time::within;

/// Who asks is not for what is started: no command acts for whoever runs it.
pub const SECRETS: [&str; 3] = ["TENURE_SESSION", "TENURE_TOKEN", "TENURE_TOKEN_FILE"];
/// Where a server keeps everything, maybe with a password: hidden from what servers start. The commands that people run go on
/// with it: `tenure validate` in a gate, or a worker's command that submits more, would otherwise make a database of their own.
pub const DATABASE: &str = "TENURE_DB";
/// What was written before the end is in a pipe, and read in no time. Whoever has left the group and still holds the pipe is not
/// listened to for longer.
const LISTEN_ON: Duration = Duration::from_secs(1);
/// As much as a pipe holds.
const CHUNK_BYTES: usize = 64 << 10;

/// A command without the secrets, ready to be started: it is fed by a pipe and heard by two.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for secret in SECRETS {
        command.env_remove(secret);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// A line for a shell. It has nothing to read, and no pipe for it: there are programs that read one instead of files.
pub fn shell(line: &str) -> Command {
    let mut command = command("sh");
    command.arg("-c").arg(line).stdin(Stdio::null());
    command
}

/// Whoever ends what this process has started, when it can not do so itself because it was killed.
pub trait Keeping: Send + Sync + std::fmt::Debug {
    /// A variable by which a command is known of which nobody could be told any more.
    fn mark(&self) -> (&str, &str);

    /// The group of this number has begun.
    fn begun(&self, group: u32);

    fn ended(&self, group: u32);
}

static KEEPER: OnceLock<Weak<dyn Keeping>> = OnceLock::new();

/// From now on whatever this process starts here is kept, for as long as the keeper lives. There is one a process: the first.
pub fn kept_by(keeper: &Arc<impl Keeping + 'static>) {
    let keeper: Weak<dyn Keeping> = Arc::downgrade(keeper) as Weak<dyn Keeping>;
    let _ = KEEPER.set(keeper);
}

/// A command and all that it started, but for whoever has left the session. Dropped, they are killed.
#[derive(Debug)]
pub struct Group {
    id: Option<Pid>,
    keeper: Option<Arc<dyn Keeping>>,
    /// By which those are known who have left the group.
    mark: String,
    /// It came to its end.
    has_ended: AtomicBool,
    /// Somebody has ended it, or was found to outlive it: others may be left.
    is_forced: AtomicBool,
}

impl Group {
    /// Its number, which is that of the command.
    pub fn number(&self) -> Option<u32> {
        self.id.and_then(|group| u32::try_from(group.as_raw_nonzero().get()).ok())
    }

    pub fn terminate(&self) {
        self.is_forced.store(true, Ordering::Relaxed);
        self.signal(Signal::TERM);
    }

    /// Ends all of it, also what it left when it came to its end.
    pub fn kill(&self) {
        self.is_forced.store(true, Ordering::Relaxed);
        self.signal(Signal::KILL);
    }

    /// It came to its end: whoever stays in its group is ended.
    fn ended(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.id {
            // One that has ended by itself is as dead.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if *self.is_forced.get_mut() || !*self.has_ended.get_mut() {
            marked::kill(&self.mark);
        }
        if let (Some(keeper), Some(number)) = (&self.keeper, self.number()) {
            keeper.ended(number);
        }
    }
}

/// What is kept of what a command writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The first so many bytes. The rest is read and dropped.
    First(usize),
    /// The last so many bytes.
    Last(usize),
    /// All of it, up to so many bytes. With more there is no use in going on: the group is killed.
    All(usize),
}

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub output: Heard,
    /// Its standard error.
    pub said: Heard,
}

/// Runs a command to its end. Whoever stops waiting for it ends it.
pub async fn run(command: Command, input: &[u8], output: Keep, said: Keep) -> io::Result<Ran> {
    let (group, running) = start(command)?;
    running.end(&group, input, output, said).await
}

pub fn start(mut command: Command) -> io::Result<(Group, Running)> {
    let keeper = KEEPER.get().and_then(Weak::upgrade);
    if let Some((name, value)) = keeper.as_ref().map(|keeper| keeper.mark()) {
        command.env(name, value);
    }
    let mark = format!("{:016x}", chance());
    command.env(marked::MARKS, marked::marks(&mark));
    let child = command.spawn()?;
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (has_ended, is_forced) = (AtomicBool::new(false), AtomicBool::new(false));
    let group = Group { id, keeper, mark, has_ended, is_forced };
    if let (Some(keeper), Some(number)) = (&group.keeper, group.number()) {
        keeper.begun(number);
    }
    Ok((group, Running(child)))
}

/// A command that was started, to be fed and listened to.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Waits for its end. Whatever it leaves running is ended, too.
    pub async fn end(self, group: &Group, input: &[u8], output: Keep, said: Keep) -> io::Result<Ran> {
        let mut said = Heard::new(said);
        let (status, output) = self
            .end_heard(group, input, output, async |stderr: ChildStderr| said.listen(stderr, group).await)
            .await?;
        Ok(Ran { status, output, said })
    }

    /// The same, with somebody else to hear its standard error.
    pub async fn end_heard(
        mut self,
        group: &Group,
        input: &[u8],
        output: Keep,
        hear: impl AsyncFnOnce(ChildStderr),
    ) -> io::Result<(ExitStatus, Heard)> {
        let (stdin, stdout, stderr) = (self.0.stdin.take(), self.0.stdout.take(), self.0.stderr.take());
        let (stdout, stderr) = (stdout.expect("it is a pipe"), stderr.expect("it is a pipe"));
        let mut output = Heard::new(output);
        let status = {
            let all = async { tokio::join!(feed(stdin, input), output.listen(stdout, group), hear(stderr)) };
            let mut all = std::pin::pin!(all);
            tokio::select! {
                // It may close its ends and go on.
                _ = &mut all => {
                    let status = self.0.wait().await;
                    group.ended();
                    status
                }
                status = self.0.wait() => {
                    group.ended();
                    if within(LISTEN_ON, &mut all).await.is_err() {
                        group.kill();
                    }
                    status
                }
            }
        };
        Ok((status?, output))
    }
}

/// A command that does not read its input has closed it, which is its right.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

/// What was kept of what a command wrote.
#[derive(Debug)]
pub struct Heard {
    pub bytes: Vec<u8>,
    /// It wrote more than is kept.
    pub is_cut: bool,
    keep: Keep,
}

impl Heard {
    fn new(keep: Keep) -> Heard {
        Heard { bytes: Vec::new(), is_cut: false, keep }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    async fn listen(&mut self, mut from: impl AsyncRead + Unpin, group: &Group) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = from.read(&mut chunk).await {
            self.bytes.extend_from_slice(&chunk[..count]);
            let (Keep::First(most) | Keep::Last(most) | Keep::All(most)) = self.keep;
            let over = self.bytes.len().saturating_sub(most);
            if over == 0 {
                continue;
            }
            self.is_cut = true;
            match self.keep {
                Keep::First(_) => self.bytes.truncate(most),
                Keep::Last(_) => drop(self.bytes.drain(..over)),
                Keep::All(_) => return group.kill(),
            }
        }
    }
}
