//! What a check says about one file, as text and as JSON, and about all of them together.

use std::fmt::{self, Display, Write};
use std::time::Duration;

use serde::Serialize;
use tenure_core::check::Report;
use tenure_core::lifecycle::Table;
use tenure_core::lifecycle::parse::Fault;

use crate::outcome::Outcome;
use crate::output::{BAD, FAINT, GOOD, STRONG, count, seconds, styled};
use crate::source::Source;

/// One file's result. What is not known of a file that could not be understood is null in JSON.
#[derive(Serialize, Debug)]
pub struct Verdict {
    file: String,
    kind: Option<String>,
    sound: bool,
    states: Option<usize>,
    rows: Option<usize>,
    explored: Option<Explored>,
    faults: Vec<Told>,
}

/// How much was looked at.
#[derive(Serialize, Debug)]
struct Explored {
    states: usize,
    steps: usize,
    /// Differs from run to run, so programs that compare results do not get it.
    #[serde(skip)]
    took: Duration,
}

#[derive(Serialize, Debug)]
struct Told {
    line: u32,
    what: String,
    /// The shortest way there; empty where reading the table is enough.
    trace: Vec<String>,
}

impl Verdict {
    pub fn faulty(source: &Source, faults: Vec<Fault>) -> Verdict {
        let told = |fault: Fault| Told { line: fault.line, what: fault.what, trace: Vec::new() };
        Verdict {
            file: source.file.clone(),
            kind: None,
            sound: false,
            states: None,
            rows: None,
            explored: None,
            faults: faults.into_iter().map(told).collect(),
        }
    }

    pub fn explored(source: &Source, table: &Table, report: Report, took: Duration) -> Verdict {
        let (sound, states, steps) = (report.is_sound(), report.states, report.steps);
        let findings = report.findings.into_iter();
        Verdict {
            file: source.file.clone(),
            kind: Some(table.kind.to_string()),
            sound,
            states: Some(table.states.len()),
            rows: Some(table.rows.len()),
            explored: Some(Explored { states, steps, took }),
            faults: findings.map(|it| Told { line: it.line, what: it.what, trace: it.trace }).collect(),
        }
    }

    /// Every fault with its line of the file, then the verdict in one line.
    pub fn shown(&self, source: &Source) -> String {
        let mut text = String::new();
        // What a person sees at one look at a line is told together; a trace belongs to its own fault.
        let at_one_look =
            |one: &Told, next: &Told| one.line == next.line && one.trace.is_empty() && next.trace.is_empty();
        for faults in self.faults.chunk_by(at_one_look) {
            self.show_line(source, faults, &mut text);
        }
        text.push_str(&self.summary());
        text
    }

    /// The faults of one line, and the line itself once.
    fn show_line(&self, source: &Source, faults: &[Told], text: &mut String) {
        let mut push = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        for fault in faults {
            let place = styled(STRONG, format_args!("{}:{}:", self.file, fault.line));
            push(format!("{place} {}", fault.what));
        }
        let Some(Told { line, .. }) = faults.first() else { return };
        if let Some(excerpt) = source.line(*line) {
            push(styled(FAINT, format_args!("  {line} | {excerpt}")));
        }
        for fault in faults.iter().filter(|fault| !fault.trace.is_empty()) {
            push("  The shortest way there:".to_string());
            for (number, step) in (1..).zip(&fault.trace) {
                push(format!("  {number:>3}. {step}"));
            }
        }
    }

    fn summary(&self) -> String {
        let mut text = match self.sound {
            true => format!("{}: {}", self.file, styled(GOOD, "sound")),
            false => {
                format!("{}: {} · {}", self.file, styled(BAD, "not sound"), count(self.faults.len(), "fault"))
            }
        };
        match (self.states, self.rows, &self.explored) {
            (Some(states), Some(rows), Some(Explored { states: seen, steps, took })) => {
                let size = format!("{}, {}", count(states, "state"), count(rows, "row"));
                let seen = format!("{}, {}", count(*seen, "state"), count(*steps, "step"));
                let _ = write!(text, " · {size} · explored {seen} in {}", seconds(*took));
            }
            _ => text.push_str(" · explored once mended"),
        }
        text.push('\n');
        text
    }
}

/// All files together.
#[derive(Default, Debug)]
pub struct Tally {
    sound: usize,
    unsound: usize,
    pub unreadable: usize,
}

impl Tally {
    pub fn add(&mut self, verdict: &Verdict) {
        match verdict.sound {
            true => self.sound += 1,
            false => self.unsound += 1,
        }
    }

    pub fn files(&self) -> usize {
        self.sound + self.unsound + self.unreadable
    }

    /// Not being able to tell weighs more than a no.
    pub fn outcome(&self) -> Outcome {
        match (self.unreadable, self.unsound) {
            (0, 0) => Outcome::Done,
            (0, _) => Outcome::Refused,
            _ => Outcome::CouldNot,
        }
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = count(self.files(), "file");
        if self.outcome() == Outcome::Done {
            return write!(f, "{files}: all {}", styled(GOOD, "sound"));
        }
        let parts = [(self.sound, "sound"), (self.unsound, "not sound"), (self.unreadable, "not readable")];
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts.map(|(number, what)| format!("{number} {what}")).collect();
        write!(f, "{files}: {}", parts.join(", "))
    }
}
