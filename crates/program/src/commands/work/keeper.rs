//! Whoever ends the commands of a worker or a server that was killed: a process that is told of them (`commands/part/keeper`).

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_systems::process::{Group, Keeping};

/// This very program, also when its file was replaced meanwhile.
const SELF: &str = "/proc/self/exe";
/// What a command has in its environment.
pub const MARK: &str = "TENURE_WORKER";

#[derive(Debug)]
pub struct Keeper {
    pub worker: String,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    process: Child,
    input: Option<ChildStdin>,
    groups: BTreeSet<u32>,
}

impl Keeper {
    pub fn start(worker: &str) -> io::Result<Keeper> {
        let (process, input) = start(worker)?;
        let kept = Mutex::new(Kept { process, input, groups: BTreeSet::new() });
        Ok(Keeper { worker: worker.to_string(), kept })
    }

    /// A command has begun.
    pub fn keeps(self: &Arc<Keeper>, group: Group) -> KeptGroup {
        group.number().into_iter().for_each(|number| self.begun(number));
        let _keeper = Told { number: group.number(), keeper: self.clone() };
        KeptGroup { group, _keeper }
    }

    /// The group of this number has begun.
    fn begun(&self, group: u32) {
        let mut kept = self.kept();
        kept.groups.insert(group);
        if kept.say(&format!("+{group}")).is_err() {
            self.again(&mut kept);
        }
    }

    fn ended(&self, group: u32) {
        let mut kept = self.kept();
        kept.groups.remove(&group);
        if kept.say(&format!("-{group}")).is_err() {
            self.again(&mut kept);
        }
    }

    /// Somebody has killed the keeper. Another one is told of all that runs; where there can be none, the worker goes on without.
    fn again(&self, kept: &mut Kept) {
        let _ = kept.process.wait();
        if let Ok((process, input)) = start(&self.worker) {
            (kept.process, kept.input) = (process, input);
            let groups: String = kept.groups.iter().map(|group| format!("+{group}\n")).collect();
            let _ = kept.say(groups.trim_end());
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nobody panics while holding it")
    }
}

impl Keeping for Keeper {
    fn mark(&self) -> (&str, &str) {
        (MARK, &self.worker)
    }

    fn begun(&self, group: u32) {
        Keeper::begun(self, group);
    }

    fn ended(&self, group: u32) {
        Keeper::ended(self, group);
    }
}

/// A group that the keeper knows of. Dropped, it is killed, and then over.
#[derive(Debug)]
pub struct KeptGroup {
    pub group: Group,
    /// Dropped after the group: until that is dead, somebody must end it.
    _keeper: Told,
}

/// Says that a group is over.
#[derive(Debug)]
struct Told {
    number: Option<u32>,
    keeper: Arc<Keeper>,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.number.into_iter().for_each(|number| self.keeper.ended(number));
    }
}

impl Kept {
    fn say(&mut self, line: &str) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(format!("{line}\n").as_bytes()),
            None => Ok(()),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.say(".");
        self.input = None;
        let _ = self.process.wait();
    }
}

fn start(worker: &str) -> io::Result<(Child, Option<ChildStdin>)> {
    let program = if cfg!(target_os = "linux") { SELF.into() } else { std::env::current_exe()? };
    let mut command = Command::new(program);
    command.args(["part", "keeper", "--mark", &format!("{MARK}={worker}")]);
    // A group of its own: what a terminal sends to the worker's is not for it.
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn()?;
    let input = process.stdin.take();
    Ok((process, input))
}
