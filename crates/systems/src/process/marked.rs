//! Processes by a mark in their environment: whoever has left the group of the command that began them, as `timeout` does and the jobs
//! of a shell do, is found again.
//!
//! Only Linux tells what a process has in its environment; elsewhere nobody is found. Whoever has left the session too has left on
//! purpose, and whoever has thrown its environment away is not known any more.

use rustix::process::{Pid, Signal, kill_process};

/// The marks of the commands that a process is part of, the outermost first: what a command starts may start commands of its own.
pub const MARKS: &str = "TENURE_COMMAND";
/// Whoever is killed starts nobody any more, so each look finds fewer. One that can not die just now is not looked for longer.
const LOOKS: usize = 16;

/// A process that somebody looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    pub process: i32,
    pub group: i32,
}

/// The marks of whatever a command with this mark starts.
pub(super) fn marks(own: &str) -> String {
    match std::env::var(MARKS) {
        Ok(outer) if !outer.is_empty() => format!("{outer} {own}"),
        _ => own.to_string(),
    }
}

/// Kills whoever has this mark.
pub(super) fn kill(mark: &str) {
    let name = format!("{MARKS}=");
    let has_mark = |variable: &[u8]| {
        let marks = variable.strip_prefix(name.as_bytes());
        marks.is_some_and(|marks| marks.split(|byte| *byte == b' ').any(|one| one == mark.as_bytes()))
    };
    for _ in 0..LOOKS {
        let found = with(has_mark);
        if found.is_empty() {
            return;
        }
        for process in found.iter().filter_map(|found| Pid::from_raw(found.process)) {
            // One that has ended by itself is as dead.
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// The processes of this session that have such a variable in their environment, but for this one.
pub fn with(is_marked: impl Fn(&[u8]) -> bool) -> Vec<Found> {
    let (Ok(processes), Some((_, here))) = (std::fs::read_dir("/proc"), group_and_session("self")) else {
        return Vec::new();
    };
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let found = |name: &str| {
        let process = name.parse().ok().filter(|process| *process != own)?;
        let (group, session) = group_and_session(name)?;
        if session != here {
            return None;
        }
        let environment = std::fs::read(format!("/proc/{name}/environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(&is_marked).then_some(Found { process, group })
    };
    processes.flatten().filter_map(|process| found(process.file_name().to_str()?)).collect()
}

/// Of `PID (NAME) STATE PARENT GROUP SESSION …`; a name may hold anything.
fn group_and_session(process: &str) -> Option<(i32, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
