//! What is being done right now, on standard error: one line that changes on a terminal, else a line each.

use std::io::{self, Write};

#[derive(Debug)]
pub struct Progress {
    /// None: nobody looks at a terminal.
    columns: Option<usize>,
}

impl Progress {
    pub fn new() -> Progress {
        let size = terminal_size::terminal_size_of(io::stderr());
        Progress { columns: size.map(|(width, _)| usize::from(width.0)) }
    }

    /// For what goes on for long: every second on a terminal, else every tenth.
    pub fn now_and_then(&self, line: &str, second: u64) {
        if self.columns.is_some() || second.is_multiple_of(10) {
            self.say(line);
        }
    }

    pub fn say(&self, line: &str) {
        let mut err = io::stderr().lock();
        // A line that can not be shown is missed by nobody.
        let _ = match self.columns {
            // A line that wraps could not be taken back.
            Some(columns) => {
                let line: String = line.chars().take(columns.saturating_sub(1)).collect();
                write!(err, "\r\x1b[K{line}").and_then(|()| err.flush())
            }
            None => writeln!(err, "{line}"),
        };
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.columns.is_some() {
            let mut err = io::stderr().lock();
            let _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }
}
