//! `tenure check FILE…`: are these lifecycles sound?
//!
//! Every file is read first, so that files given together know each other's kinds; then each is explored. A file that
//! can not be read is complained about and does not keep the others from being checked.

mod verdict;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_core::check::check;
use tenure_core::lifecycle::parse::{Fault, parse};
use tenure_core::lifecycle::tables::Tables;
use tenure_core::lifecycle::{SharedTable, shipped};
use tenure_core::word::Kind;

use crate::cli::Check;
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::source::{Source, expand};
use verdict::{Tally, Verdict};

pub fn run(arguments: &Check, output: &mut Output) -> Result<Outcome, Error> {
    let mut tally = Tally::default();
    let mut sources = Vec::new();
    for file in expand(&arguments.files) {
        match file.and_then(|file| Source::read(&file)) {
            Ok(source) => sources.push(source),
            Err(error) => {
                output.complain(&error);
                tally.unreadable += 1;
            }
        }
    }
    let (known, parsed) = parse_all(&sources);
    for (source, parsed) in sources.iter().zip(parsed) {
        let progress = format!("exploring {}…", source.file);
        let verdict = output.meanwhile(&progress, || judge(source, parsed, &known));
        tally.add(&verdict);
        if arguments.form.json {
            output.json(&verdict)?;
        } else {
            output.text(&verdict.shown(source))?;
        }
    }
    if !arguments.form.json && tally.files() > 1 {
        output.line(&tally)?;
    }
    Ok(tally.outcome())
}

type Parsed = Result<SharedTable, Vec<Fault>>;

/// Reads every text, and adds the tables to those that ship. A user's `job` takes the place of the shipped one.
fn parse_all(sources: &[Source]) -> (Tables, Vec<Parsed>) {
    let mut known = shipped::tables();
    let mut homes: BTreeMap<Kind, &str> = BTreeMap::new();
    let parsed = sources.iter().map(|source| {
        let table = parse(&source.text)?;
        match homes.get(&table.kind) {
            Some(home) => Err(vec![second_home(source, &table.kind, home)]),
            None => {
                homes.insert(table.kind.clone(), &source.file);
                Ok(known.add(table))
            }
        }
    });
    let parsed = parsed.collect();
    (known, parsed)
}

fn second_home(source: &Source, kind: &Kind, home: &str) -> Fault {
    let is_title = |line: &&str| line.starts_with("# ");
    let before_title = source.text.lines().take_while(|line| !is_title(line)).count();
    // A title that is written otherwise is rare, and the first line is near enough.
    let line = if source.text.lines().any(|line| is_title(&line)) { before_title as u32 + 1 } else { 1 };
    Fault { line, what: format!("`{kind}` is described in {home} already; a kind has one file") }
}

fn judge(source: &Source, parsed: Parsed, known: &Tables) -> Verdict {
    match parsed {
        Ok(table) => {
            let (report, took) = timed(|| check(&table, known));
            Verdict::explored(source, &table, report, took)
        }
        Err(faults) => Verdict::faulty(source, faults),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a check took is for the person who waited; nothing depends on it"
)]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let done = work();
    (done, started.elapsed())
}
