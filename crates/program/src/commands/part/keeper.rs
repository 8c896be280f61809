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
    for look in 0..LOOKS {
        groups.extend(marked(&arguments.mark));
        for group in std::mem::take(&mut groups) {
            kill(group);
        }
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
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let here = rustix::process::getsid(None).ok();
    let group = |name: &str| {
        let process = Pid::from_raw(name.parse().ok()?)?;
        let environment = std::fs::read(format!("/proc/{name}/environ")).ok()?;
        let is_marked = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
        let is_here = rustix::process::getsid(Some(process)).ok() == here;
        (is_marked && is_here).then(|| rustix::process::getpgid(Some(process)).ok())?
    };
    let groups = processes.flatten().filter_map(|process| group(process.file_name().to_str()?));
    groups.map(|group| group.as_raw_nonzero().get()).collect()
}
