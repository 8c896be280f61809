//! The lines that a handler leaves about its attempt: the last ones, so many and no more, kept as a record when it ends.
//!
//! They are written together with the commit, the failure or the release, in the same transaction. What a process that is
//! killed had said is lost with it: to keep every line as it is said would be a write a line. What must survive that is
//! `Job::progress`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tenure_core::actor::Actor;
use tenure_core::id::ExecutionId;
use tenure_core::request::{Command, Progress, Request};
use tenure_core::word::Store;

use super::outcome::record;

/// A screenful or two: enough to see what went on before the end.
pub const LINES_MAX: usize = 100;
/// Beside an output of a few hundred bytes even this is much.
pub const LINES_BYTES_MAX: usize = 16 << 10;

/// What is kept of an attempt's lines.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lines {
    /// Earlier lines that are not kept.
    #[serde(default)]
    pub dropped: u64,
    pub lines: VecDeque<String>,
}

impl Lines {
    /// The label of the records that they are kept as; the name is the attempt's number.
    pub const LABEL: &str = "log";

    fn bytes(&self) -> usize {
        self.lines.iter().map(String::len).sum()
    }

    /// Adds a line; the earliest ones make room for it.
    pub fn push(&mut self, line: &str) {
        let end = (0..=line.len().min(LINES_BYTES_MAX)).rev().find(|end| line.is_char_boundary(*end));
        self.lines.push_back(line[..end.unwrap_or(0)].to_string());
        while self.lines.len() > LINES_MAX || self.bytes() > LINES_BYTES_MAX {
            self.lines.pop_front();
            self.dropped += 1;
        }
    }
}

/// The lines of a running attempt, shared by its handler and whoever ends it.
#[derive(Clone, Debug, Default)]
pub(super) struct Said(Arc<Mutex<Lines>>);

impl Said {
    pub fn push(&self, line: &str) {
        self.0.lock().expect("nobody panics while holding it").push(line);
    }

    /// What is to be asked before the attempt ends, if it said anything.
    pub fn request(&self, execution: ExecutionId, store: &Store, actor: &Actor) -> Option<Request> {
        let lines = self.0.lock().expect("nobody panics while holding it").clone();
        if lines.lines.is_empty() {
            return None;
        }
        let records = vec![record(Lines::LABEL, &execution.fence.to_string(), &lines).ok()?];
        let progress = Progress { execution, records, opens: Vec::new(), closes: Vec::new() };
        Some(Request { store: store.clone(), actor: actor.clone(), command: Command::Progress(progress) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_the_others_counted() {
        let mut lines = Lines::default();
        for number in 0..250 {
            lines.push(&format!("line {number}"));
        }
        assert_eq!((lines.lines.len(), lines.dropped), (LINES_MAX, 150));
        assert_eq!(lines.lines[0], "line 150");
        lines.push(&"ü".repeat(LINES_BYTES_MAX));
        assert_eq!(lines.lines.len(), 1, "one that fills all of it");
        assert_eq!((lines.bytes(), lines.dropped), (LINES_BYTES_MAX, 250));
        lines.push("short");
        assert_eq!(lines.lines, ["short"], "and goes whole");
    }
}
