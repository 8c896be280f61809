//! `tenure verify`: is a log what was written, in a file or in a database?

use std::fs::File;
use std::io::{self, BufReader, Read};

use serde::Serialize;
use tenure_core::hash::Hash;
use tenure_databases::look::Look;
use tenure_databases::verify::{self, At, Fault, Report};
use tenure_databases::{Database, Error as DatabaseError};

use super::todo::checked_receipt;
use crate::cli::Verify;
use crate::database::{self, Access, Work};
use crate::outcome::{Error, Outcome};
use crate::output::{BAD, FAINT, GOOD, Output, Progress, STRONG, count, styled};
use crate::source::STDIN;

pub fn run(arguments: &Verify, output: &mut Output) -> Result<Outcome, Error> {
    let given = match &arguments.what {
        Some(given) => given.clone(),
        None => arguments.db.url(Access::Existing)?,
    };
    let given = &given;
    let name = if given.reveal() == STDIN { "<stdin>".to_string() } else { given.to_string() };
    let report = match given.reveal() {
        url if url.starts_with("http://") || url.starts_with("https://") => {
            return Err(Error::WantsDatabase { url: given.clone() });
        }
        url if database::is_url(url) || arguments.what.is_none() => {
            database::with(given, Access::Existing, Live { head: arguments.head })?
        }
        STDIN => file(STDIN, io::stdin().lock(), arguments.head)?,
        path if is_sqlite(path) => return Err(Error::IsDatabase { file: path.to_string() }),
        path => {
            if let Some(outcome) = checked_receipt(path, arguments.form.json, output)? {
                return Ok(outcome);
            }
            let opened = File::open(path).map_err(|why| unreadable(&name, why))?;
            file(&name, BufReader::with_capacity(1 << 16, opened), arguments.head)?
        }
    };
    if arguments.form.json {
        output.json(&Shown::of(&name, &report))?;
    } else {
        output.text(&text(&name, &report))?;
    }
    Ok(if report.is_sound() { Outcome::Done } else { Outcome::Refused })
}

/// By its first bytes. What can not be read is told when it is.
fn is_sqlite(path: &str) -> bool {
    const BEGINNING: &[u8; 16] = b"SQLite format 3\0";
    let mut bytes = [0; BEGINNING.len()];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut bytes).is_ok() && bytes == *BEGINNING)
}

fn file(path: &str, reader: impl io::BufRead, head: Option<Hash>) -> Result<Report, Error> {
    let mut progress = Progress::new("lines verified");
    verify::file(reader, head, |lines| progress.tell(lines)).map_err(|why| unreadable(path, why))
}

pub fn unreadable(path: &str, why: io::Error) -> Error {
    Error::Unreadable { file: path.to_string(), why, near: None }
}

struct Live {
    head: Option<Hash>,
}

impl Work for Live {
    type Done = Report;

    async fn run<D: Database + Look>(self, database: &D) -> Result<Report, Error> {
        let mut progress = Progress::new("entries and items verified");
        let report: Result<Report, DatabaseError> =
            verify::database(database, self.head, |number| progress.tell(number)).await;
        Ok(report?)
    }
}

fn text(name: &str, report: &Report) -> String {
    let mut text = String::new();
    for fault in &report.faults {
        text.push_str(&format!("{}\n", told(name, fault)));
    }
    if report.more > 0 {
        text.push_str(&format!("… and {} more\n", report.more));
    }
    let faults = report.faults.len() + report.more as usize;
    let verdict = match faults {
        0 => styled(GOOD, "sound"),
        faults => format!("{} · {}", styled(BAD, "not sound"), count(faults, "fault")),
    };
    text.push_str(&format!(
        "{}: {verdict} · {}",
        styled(STRONG, name),
        sums(report.entries, report.items, report.lifecycles)
    ));
    if let Some(chain) = report.chain.filter(|_| report.is_sound()) {
        text.push_str(&format!(" · head {}", styled(FAINT, chain)));
    }
    if let Some(at) = report.head_at {
        text.push_str(&format!(
            "\nthe head that was given stands after entry {at}: nothing up to there was changed"
        ));
    }
    text.push('\n');
    text
}

/// In the form that terminals open: FILE:LINE: WHAT.
fn told(name: &str, fault: &Fault) -> String {
    let place = match fault.at {
        At::Line(line) => format!("{name}:{line}: "),
        At::Position(position) => format!("{name}: entry {position}: "),
        At::Item | At::Log => format!("{name}: "),
    };
    let about = match (fault.item, fault.version) {
        (Some(item), Some(version)) => format!("item {item}, version {version}: "),
        (Some(item), None) => format!("item {item}: "),
        (None, _) => String::new(),
    };
    format!("{place}{about}{}", fault.what)
}

pub fn sums(entries: u64, items: u64, lifecycles: u64) -> String {
    let entries = match entries {
        1 => "1 entry".to_string(),
        entries => count(entries as usize, "entrie"),
    };
    format!("{entries}, {}, {}", count(items as usize, "item"), count(lifecycles as usize, "lifecycle"))
}

#[derive(Serialize)]
struct Shown<'a> {
    entries: u64,
    faults: Vec<ShownFault<'a>>,
    head: Option<Hash>,
    head_at: Option<u64>,
    items: u64,
    lifecycles: u64,
    more: u64,
    name: &'a str,
    sound: bool,
}

#[derive(Serialize)]
struct ShownFault<'a> {
    item: Option<String>,
    line: Option<u64>,
    position: Option<u64>,
    version: Option<u64>,
    what: &'a str,
}

impl<'a> Shown<'a> {
    fn of(name: &'a str, report: &'a Report) -> Shown<'a> {
        let fault = |fault: &'a Fault| ShownFault {
            item: fault.item.map(|item| item.to_string()),
            line: match fault.at {
                At::Line(line) => Some(line),
                At::Position(_) | At::Item | At::Log => None,
            },
            position: match fault.at {
                At::Position(position) => Some(position),
                At::Line(_) | At::Item | At::Log => None,
            },
            version: fault.version,
            what: &fault.what,
        };
        Shown {
            entries: report.entries,
            faults: report.faults.iter().map(fault).collect(),
            head: report.chain,
            head_at: report.head_at,
            items: report.items,
            lifecycles: report.lifecycles,
            more: report.more,
            name,
            sound: report.is_sound(),
        }
    }
}
