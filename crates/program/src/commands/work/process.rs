//! A command as processes: started in a group of its own, fed, listened to, and ended with all that it started.
//!
//! The command and all that it started dies with this process, however that ends: a keeper is told of it (`keeper`).

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tenure::Lines;
use tenure_core::body::BODY_BYTES_MAX;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::keeper::{Keeper, MARK};
use super::told::Ended;

/// Once a command is dead, so is its group: whoever has left the group and still holds its output is not listened to for longer.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// A line that has no end is cut here.
const LINE_BYTES_MAX: usize = 4 << 10;

/// The group of a command and all that it started.
#[derive(Clone, Copy, Debug)]
pub struct Group(Option<Pid>);

impl Group {
    pub fn terminate(self) {
        self.signal(Signal::TERM);
    }

    pub fn kill(self) {
        self.signal(Signal::KILL);
    }

    fn signal(self, signal: Signal) {
        if let Some(group) = self.0 {
            // One that has ended by itself is as dead.
            let _ = kill_process_group(group, signal);
        }
    }
}

#[derive(Debug)]
pub struct Process {
    child: Child,
    pub group: Group,
    payload: Vec<u8>,
    /// Before every line of standard error that is passed on.
    name: String,
    _kept: Kept,
}

/// A group that the keeper knows of. Dropped, it is over.
#[derive(Debug)]
struct Kept(Arc<Keeper>, Option<u32>);

impl Drop for Kept {
    fn drop(&mut self) {
        self.1.iter().for_each(|group| self.0.ended(*group));
    }
}

impl Process {
    pub fn start(
        command: &[String],
        variables: &[(&str, &str)],
        payload: Vec<u8>,
        name: &str,
        keeper: &Arc<Keeper>,
        folder: Option<&Path>,
    ) -> std::io::Result<Process> {
        let (program, rest) = command.split_first().expect("the command line demands one");
        let mut start = Command::new(program);
        start.args(rest).envs(variables.iter().copied()).env(MARK, &keeper.worker);
        start.env_remove("TENURE_TOKEN").env_remove("TENURE_TOKEN_FILE");
        if let Some(folder) = folder {
            start.current_dir(folder);
        }
        start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = start.process_group(0).kill_on_drop(true).spawn()?;
        let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
        child.id().into_iter().for_each(|group| keeper.begun(group));
        let kept = Kept(keeper.clone(), child.id());
        Ok(Process { child, group, payload, name: name.to_string(), _kept: kept })
    }

    /// Waits for its end. Whatever it leaves running is ended, too.
    pub async fn end(mut self) -> std::io::Result<Ended> {
        let (stdin, stdout) = (self.child.stdin.take(), self.child.stdout.take().expect("it is a pipe"));
        let stderr = self.child.stderr.take().expect("it is a pipe");
        let (output, lines) = (Mutex::new(Vec::new()), Mutex::new(Lines::default()));
        let mut listening = std::pin::pin!(async {
            tokio::join!(
                feed(stdin, &self.payload),
                keep(stdout, &output, self.group),
                listen(stderr, &lines, &self.name)
            );
        });
        let status = tokio::select! {
            // It may close its ends and go on.
            () = &mut listening => self.child.wait().await?,
            status = self.child.wait() => {
                self.group.kill();
                let _ = timeout(LAST_WORDS, &mut listening).await;
                status?
            }
        };
        self.group.kill();
        let lines = held(&lines).clone();
        let output = std::mem::take(&mut *held(&output));
        let output = (output.len() <= BODY_BYTES_MAX).then_some(output);
        Ok(Ended { status, output, lines })
    }
}

/// A command that does not read its input has closed it, which is its right.
async fn feed(stdin: Option<ChildStdin>, payload: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(payload).await;
    }
}

/// Keeps what fits. With more than that there is no use in going on.
async fn keep(mut stdout: impl AsyncRead + Unpin, output: &Mutex<Vec<u8>>, group: Group) {
    let mut chunk = vec![0; 64 << 10];
    while let Ok(count @ 1..) = stdout.read(&mut chunk).await {
        let mut output = held(output);
        output.extend_from_slice(&chunk[..count]);
        if output.len() > BODY_BYTES_MAX {
            return group.kill();
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

/// Keeps the last lines, and passes all of them on.
async fn listen(mut stderr: impl AsyncRead + Unpin, lines: &Mutex<Lines>, name: &str) {
    let say = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        eprintln!("{name}: {line}");
        held(lines).push(&line);
    };
    let (mut chunk, mut line) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        for byte in &chunk[..count] {
            match byte {
                b'\n' => say(&std::mem::take(&mut line)),
                _ => line.push(*byte),
            }
            if line.len() == LINE_BYTES_MAX {
                say(&std::mem::take(&mut line));
            }
        }
    }
    if !line.is_empty() {
        say(&line);
    }
}
