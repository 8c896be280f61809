//! Verify: is a log what was written?
//!
//! [`file`] finds every line of an export that was changed, taken out, put in, doubled, moved or cut off, and says which.
//! [`database`] does the same with the log of a database, and compares every item and its names with what its entries say, and every
//! lane with what the log makes of it. A log that
//! somebody wrote anew as a whole is sound in itself: that is found with a head that was kept elsewhere.
//!
//! One fault makes others: an entry that was taken out leaves the next one hanging. What follows from a fault that was
//! told is passed over where that can be known, so the number of faults is near the number of changes.

mod lanes;
mod lines;
mod pass;
mod rows;

use std::fmt;
use std::io::{self, BufRead};

use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::item::Item;

use crate::export::line::{self, Line};
use crate::export::{page, sequence};
use crate::look::Look;
use crate::{Database, Error};
pub(crate) use lines::{Found, Lines};
pub(crate) use pass::Pass;

/// So many faults are told in full, the first ones; the others are counted. A reader mends or restores, whatever they say.
pub const FAULTS_MAX: usize = 20;
/// A sign of life every so many lines.
pub(crate) const PROGRESS_LINES: u64 = 10_000;

/// Where a fault is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum At {
    /// A line of a file, from 1.
    Line(u64),
    /// A place in a database's log, from 1.
    Position(u64),
    /// An item of a database.
    Item,
    /// The log as a whole.
    Log,
}

/// Something that is not as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub at: At,
    pub item: Option<ItemId>,
    pub version: Option<u64>,
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            At::Line(number) => write!(f, "line {number}: ")?,
            At::Position(number) => write!(f, "entry {number}: ")?,
            At::Item | At::Log => {}
        }
        match (self.item, self.version) {
            (Some(item), Some(version)) => write!(f, "item {item}, version {version}: ")?,
            (Some(item), None) => write!(f, "item {item}: ")?,
            (None, _) => {}
        }
        f.write_str(&self.what)
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    pub entries: u64,
    pub items: u64,
    pub lifecycles: u64,
    /// The head of the log. None where an entry can not be read.
    pub chain: Option<Hash>,
    /// After which entry the log had the head that was given by hand.
    pub head_at: Option<u64>,
    /// By place, at most [`FAULTS_MAX`].
    pub faults: Vec<Fault>,
    /// Faults that are not among these.
    pub more: u64,
}

impl Report {
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Verifies an export. Keeps what the log says of each item and the names of its records, and no entries.
pub fn file(reader: impl BufRead, head: Option<Hash>, progress: impl FnMut(u64)) -> io::Result<Report> {
    Ok(read(reader, head, &[], progress)?.finish(head))
}

/// As [`file`], with everything that was learned. `marks` are positions whose chain is wanted.
pub(crate) fn read(
    reader: impl BufRead,
    head: Option<Hash>,
    marks: &[u64],
    mut progress: impl FnMut(u64),
) -> io::Result<Pass> {
    let mut pass = Pass::of_file(head, marks);
    let mut lines = Lines::new(reader);
    while let Some((text, found)) = lines.next()? {
        match found {
            Found::TooLong => pass.unreadable(line::Unreadable {
                what: format!("is longer than any line is ({} bytes)", line::LINE_BYTES_MAX),
                is_entry: false,
                about: None,
            }),
            Found::Cut | Found::Whole => match line::read(text) {
                Ok(Line::Header(header)) if header.format != line::FORMAT => {
                    pass.line(Line::Header(header));
                    return Ok(pass);
                }
                Ok(line) => {
                    pass.line(line);
                    if found == Found::Cut {
                        pass.cut();
                    }
                }
                Err(unreadable) => pass.unreadable(unreadable),
            },
        }
        if pass.place().is_multiple_of(PROGRESS_LINES) {
            progress(pass.place());
        }
    }
    pass.end_of_file();
    Ok(pass)
}

/// Verifies a database: its log up to now, then every item, whatever is written meanwhile. Keeps what [`file`] keeps.
pub async fn database<D: Database + Look>(
    database: &D,
    head: Option<Hash>,
    mut progress: impl FnMut(u64),
) -> Result<Report, Error> {
    sequence(database).await?;
    let said = database.head().await?;
    let mut pass = Pass::of_log(database.tables(), head);
    let mut position = 0;
    while position < said.position {
        let entries = page(database, position, said.position).await?;
        let Some((last, _)) = entries.last() else { break };
        position = *last;
        pass.tables(database.tables());
        for (position, entry) in &entries {
            pass.entry(*position, entry);
        }
        progress(position);
    }
    pass.compare(said);
    // What a log comes to that does not fit together nobody knows.
    let is_sound = pass.is_sound();
    let lanes = rows::compare(database, &mut pass, said.position, progress).await?;
    if is_sound {
        lanes::compare(database, &mut pass, said.position, lanes).await?;
    }
    Ok(pass.finish(head))
}

/// Holds one item against its own entries. What was removed meanwhile has no faults.
pub async fn item<D: Database + Look>(database: &D, item: &Item) -> Result<Vec<String>, Error> {
    Ok(rows::item(database, item, |_, _| None).await?.unwrap_or_default())
}
