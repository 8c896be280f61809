//! A part that outlives a worker of `tenure work` by a moment, to end the commands that the worker can not end any more.
//!
//! It hears of every command that begins (`+GROUP`) and ends (`-GROUP`). A worker that ends says `.`; one that does not say so was
//! killed, and its commands are killed with all that they started. A worker may have been killed between starting a command
//! and telling of it: on Linux such a one is known by the mark in its environment.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tenure_systems::process::marked;

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
        groups_with(&arguments.mark).into_iter().for_each(kill);
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

/// Groups in which somebody has this in its environment.
fn groups_with(mark: &str) -> BTreeSet<i32> {
    let found = marked::with(|variable| variable == mark.as_bytes());
    found.into_iter().map(|found| found.group).collect()
}
