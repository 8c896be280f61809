//! A part that outlives a worker of `tenure work` by a moment, to end the commands that the worker can not end any more.
//!
//! It hears of every command that begins (`+GROUP`) and ends (`-GROUP`). A worker that ends says `.`; one that does not say so was
//! killed, and its commands are killed with all that they started. A worker may have been killed between starting a command
//! and telling of it: on Linux such a one is known by the mark in its environment.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::cli::PartKeeper;
use crate::outcome::{Error, Outcome};
use crate::time::block;

/// A command that was just being started has its mark a moment later.
const LOOKS: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

pub fn run(arguments: &PartKeeper) -> Result<Outcome, Error> {
    let mut groups = BTreeSet::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match (line.get(..1), line.get(1..).and_then(|group| group.parse::<i32>().ok())) {
            (Some("+"), Some(group)) => drop(groups.insert(group)),
            (Some("-"), Some(group)) => drop(groups.remove(&group)),
            (Some("."), _) => return Ok(Outcome::Done),
            _ => {}
        }
    }
    groups.into_iter().for_each(kill);
    for look in 0..LOOKS {
        marked(&arguments.mark).into_iter().for_each(kill);
        if look + 1 < LOOKS {
            block(LOOK_AGAIN);
        }
    }
    Ok(Outcome::Done)
}

fn kill(group: i32) {
    // One that has ended by itself is as dead. A group of its own is never number one.
    if let Some(group) = Pid::from_raw(group).filter(|group| group.as_raw_nonzero().get() > 1) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Groups in which somebody has this in its environment. Whoever has left the worker's session has left on purpose.
fn marked(mark: &str) -> Vec<i32> {
    let (Ok(processes), Some((_, here))) = (std::fs::read_dir("/proc"), group_and_session("self")) else {
        return Vec::new();
    };
    let marked = |process: &str| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).ok()?;
        let (group, session) = group_and_session(process)?;
        let is_marked = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
        (is_marked && session == here).then_some(group)
    };
    processes.flatten().filter_map(|process| marked(process.file_name().to_str()?)).collect()
}

/// Of `PID (NAME) STATE PARENT GROUP SESSION …`; a name may hold anything.
fn group_and_session(process: &str) -> Option<(i32, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
