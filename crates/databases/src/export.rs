//! Export: the log as a file.
//!
//! Equal logs give equal bytes, whatever database they are in and however they were batched. The file needs nothing beside
//! it: each lifecycle stands right before the first item that was created under it. It goes up to the entry that was the
//! last when the export began, so it is one moment of the log although others go on writing, and it is read by pages, so
//! a log of any length is exported in little memory.

pub mod line;

use std::collections::BTreeSet;
use std::io::{self, Write};

use tenure_core::entry::{Facts, Sealed};
use tenure_core::hash::Hash;
use tenure_core::lifecycle::tables::Tables;

use crate::{Database, Error, Head, PAGE_MAX};
use line::End;

/// Why there is no export. What was written so far is no file to keep.
#[derive(Debug)]
pub enum Failed {
    Database(Error),
    Output(io::Error),
    /// Items were created under a lifecycle whose source is not known here.
    NoSource {
        lifecycle: Hash,
        position: u64,
    },
    /// What the log holds does not come to the head that the database says: one of them was changed.
    OtherHead {
        found: Head,
        said: Head,
    },
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failed::Database(error) => error.fmt(f),
            Failed::Output(error) => write!(f, "can not write the export: {error}"),
            Failed::NoSource { lifecycle, position } => {
                write!(f, "entry {position} is under lifecycle {lifecycle}, whose source is not known here")
            }
            Failed::OtherHead { found, said } => write!(
                f,
                "the log has {} entries with the head {}, but the database says {} and {}: it was changed",
                found.position, found.chain, said.position, said.chain
            ),
        }
    }
}

impl std::error::Error for Failed {}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Database(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Output(error)
    }
}

/// Writes the log and answers with its last line. `progress` is told how many entries were written, now and then.
pub async fn export<D: Database>(
    database: &D,
    out: &mut impl Write,
    mut progress: impl FnMut(u64),
) -> Result<End, Failed> {
    sequence(database).await?;
    let said = database.head().await?;
    let mut written = Written::new(out)?;
    let mut after = 0;
    while after < said.position {
        let page = page(database, after, said.position).await?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        for (_, entry) in &page {
            written.entry(&database.tables(), entry)?;
        }
        progress(written.end.entries);
    }
    let found = Head { position: written.end.entries, chain: written.end.chain };
    if found != said {
        return Err(Failed::OtherHead { found, said });
    }
    written.finish()
}

/// Writes the history of one item as a file of its own, which `verify` takes as it takes a whole log. Its entries are numbered
/// from 1: their hashes and what chains them are as in the log, their positions are not.
pub fn item(tables: &Tables, history: &[Sealed], out: &mut impl Write) -> Result<End, Failed> {
    let mut written = Written::new(out)?;
    for entry in history {
        written.entry(tables, entry)?;
    }
    written.finish()
}

/// Gives every committed entry its place in the log.
pub(crate) async fn sequence<D: Database>(database: &D) -> Result<(), Error> {
    while database.sequence(PAGE_MAX).await? == PAGE_MAX {}
    Ok(())
}

/// The next entries of the log, none of them past a position.
pub(crate) async fn page<D: Database>(
    database: &D,
    after: u64,
    to: u64,
) -> Result<Vec<(u64, Sealed)>, Error> {
    let left = usize::try_from(to.saturating_sub(after)).unwrap_or(PAGE_MAX);
    let page = database.log(after, left.min(PAGE_MAX)).await?;
    Ok(page.into_iter().filter(|(position, _)| *position > after && *position <= to).collect())
}

struct Written<'a, W> {
    out: &'a mut W,
    lifecycles: BTreeSet<Hash>,
    end: End,
}

impl<'a, W: Write> Written<'a, W> {
    fn new(out: &'a mut W) -> Result<Written<'a, W>, Failed> {
        let end = End { chain: Hash::ZERO, entries: 0, items: 0, lifecycles: 0, sources: Hash::ZERO };
        let mut written = Written { out, lifecycles: BTreeSet::new(), end };
        written.line(line::header())?;
        Ok(written)
    }

    fn line(&mut self, mut line: Vec<u8>) -> Result<(), Failed> {
        line.push(b'\n');
        Ok(self.out.write_all(&line)?)
    }

    fn entry(&mut self, tables: &Tables, entry: &Sealed) -> Result<(), Failed> {
        let position = self.end.entries + 1;
        if let Facts::Create(birth) = &entry.facts {
            self.end.items += 1;
            if self.lifecycles.insert(birth.lifecycle) {
                let table = tables.version(&birth.lifecycle).filter(|table| !table.source.is_empty());
                let table = table.ok_or(Failed::NoSource { lifecycle: birth.lifecycle, position })?;
                self.end.lifecycles += 1;
                self.end.sources = self.end.sources.link(&Hash::of(table.source.as_bytes()));
                self.line(line::lifecycle(table))?;
            }
        }
        self.end.entries = position;
        self.end.chain = self.end.chain.link(&entry.hash());
        self.line(line::entry(position, entry))
    }

    fn finish(mut self) -> Result<End, Failed> {
        self.line(line::end(&self.end))?;
        self.out.flush()?;
        Ok(self.end)
    }
}
