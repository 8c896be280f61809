//! Replay: a database from an exported log.
//!
//! ```text
//! verify the whole file ─▶ add its lifecycles ─▶ a few hundred entries at a time: lock, load, replay, write, append, COMMIT
//! ```
//!
//! Nothing is written before the whole file was found sound, so a file that is broken anywhere changes nothing. The
//! database must be empty. The one exception is a replay that was interrupted: a database whose log is how this very file
//! begins, which its head proves, is carried on from there.
//!
//! What comes back is what the log holds: states, versions, fences, records, hashes. Bodies do not, unless somebody kept them
//! beside it, and a lease that was held counts as expired.

use std::io::{self, BufRead, Seek, SeekFrom};

use tenure_core::body::Body;
use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::hash::Hash;
use tenure_core::replay::{needs, replay_with as project};
use tenure_core::request::Need;

use crate::batch::patience::Patience;
use crate::batch::{Plan, settle};
use crate::export::line::{self, Line};
use crate::export::sequence;
use crate::verify::{self, Found, Lines, Report};
use crate::{BatchId, Commit, Database, Error, Head, Query, Settled, Tx};

/// So many entries in one transaction: enough that a commit costs little an entry, few enough to be held in memory with
/// the items they are about.
const ENTRIES_MAX: usize = 500;

/// Why a log was not replayed, or not to its end.
#[derive(Debug)]
pub enum Stopped {
    /// The file is not sound; nothing was written.
    Unsound(Box<Report>),
    /// The database holds something else than the beginning of this file; nothing was written.
    NotEmpty {
        found: u64,
    },
    /// The file was changed between being verified and being replayed. What was written is the beginning of what it was.
    Changed {
        line: u64,
        why: String,
    },
    /// Somebody else wrote into the database meanwhile: its log is not the file's.
    OtherHead {
        found: Head,
        wanted: Head,
    },
    File(io::Error),
    /// What was written so far stays; running the same replay again carries it on.
    Database {
        error: Error,
        written: u64,
    },
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stopped::Unsound(report) => match report.faults.first() {
                Some(first) => write!(f, "the file is not sound: {first}"),
                None => f.write_str("the file is not sound"),
            },
            Stopped::NotEmpty { found } => {
                write!(
                    f,
                    "the database is not empty: it has {found} entries that are not the beginning of this file"
                )
            }
            Stopped::Changed { line, why } => {
                write!(f, "the file was changed while it was read: line {line}: {why}")
            }
            Stopped::OtherHead { found, wanted } => write!(
                f,
                "somebody else wrote into the database: its log has {} entries with the head {}, the file's {} and {}",
                found.position, found.chain, wanted.position, wanted.chain
            ),
            Stopped::File(error) => write!(f, "can not read the file: {error}"),
            Stopped::Database { error, written } => write!(f, "after {written} entries: {error}"),
        }
    }
}

impl std::error::Error for Stopped {}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Stopped {
        Stopped::File(error)
    }
}

/// What a replay did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replayed {
    pub head: Head,
    /// Entries that were there already, from a replay that was interrupted.
    pub known: u64,
    pub lifecycles: u64,
    pub items: u64,
}

/// What a long replay is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Lines verified.
    Verified(u64),
    /// Entries written.
    Written(u64),
}

/// Bodies that were kept beside a log, by their hash.
pub type Bodies<'a> = &'a (dyn Fn(&Hash) -> Option<Body> + Sync);

/// Replays a file. `draw` names the transactions.
pub async fn replay<D: Database>(
    reader: impl BufRead + Seek,
    database: &D,
    draw: &mut Draw,
    progress: impl FnMut(Progress),
) -> Result<Replayed, Stopped> {
    replay_with(reader, database, draw, &|_| None, progress).await
}

/// The same, with the bodies that were kept beside the file.
pub async fn replay_with<D: Database>(
    mut reader: impl BufRead + Seek,
    database: &D,
    draw: &mut Draw,
    bodies: Bodies<'_>,
    mut progress: impl FnMut(Progress),
) -> Result<Replayed, Stopped> {
    let start = head(database).await.map_err(|error| Stopped::Database { error, written: 0 })?;
    let pass =
        verify::read(&mut reader, None, &[start.position], |lines| progress(Progress::Verified(lines)))?;
    let is_prefix = pass.chain_at(start.position) == Some(start.chain);
    if !pass.is_sound() {
        return Err(Stopped::Unsound(Box::new(pass.finish(None))));
    }
    let is_ours = start.position > 0
        || has_no_items(database).await.map_err(|error| Stopped::Database { error, written: 0 })?;
    if !is_prefix || !is_ours {
        return Err(Stopped::NotEmpty { found: start.position });
    }
    let (sources, report) = pass.into_parts();
    let wanted = Head { position: report.entries, chain: report.chain.expect("a sound file has a head") };
    let mut writer = Writer { database, draw, bodies, head: start, batch: Vec::new() };
    for source in &sources {
        database.add_table(source).await.map_err(|error| writer.stopped(error))?;
    }
    reader.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::new(reader);
    let mut position = 0;
    while let Some((text, found)) = lines.next()? {
        let read = if found == Found::Whole {
            line::read(text).map_err(|it| it.what)
        } else {
            Err("was cut".into())
        };
        let read = read.map_err(|why| Stopped::Changed { line: lines.number, why })?;
        let Line::Entry(placed) = read else { continue };
        position += 1;
        if position > start.position {
            writer.batch.push((lines.number, placed.entry));
        }
        if writer.batch.len() == ENTRIES_MAX {
            writer.write(wanted).await?;
            progress(Progress::Written(writer.head.position));
        }
    }
    writer.write(wanted).await?;
    let found = head(database).await.map_err(|error| writer.stopped(error))?;
    if found != wanted {
        return Err(Stopped::OtherHead { found, wanted });
    }
    Ok(Replayed { head: found, known: start.position, lifecycles: report.lifecycles, items: report.items })
}

async fn head<D: Database>(database: &D) -> Result<Head, Error> {
    sequence(database).await?;
    database.head().await
}

async fn has_no_items<D: Database>(database: &D) -> Result<bool, Error> {
    Ok(database.list(&Query { limit: 1, ..Query::default() }).await?.is_empty())
}

struct Writer<'a, D> {
    database: &'a D,
    draw: &'a mut Draw,
    bodies: Bodies<'a>,
    /// What was written so far.
    head: Head,
    /// Entries to be written, each with its line.
    batch: Vec<(u64, Sealed)>,
}

/// Why one transaction did not happen.
enum Failed {
    Error(Error),
    Broken { line: u64, why: String },
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Error(error)
    }
}

impl<D: Database> Writer<'_, D> {
    fn stopped(&self, error: Error) -> Stopped {
        Stopped::Database { error, written: self.head.position }
    }

    /// Writes the entries that are waiting. The last of them must lead to the head that the file was verified with.
    async fn write(&mut self, wanted: Head) -> Result<(), Stopped> {
        let Some((line, _)) = self.batch.last() else { return Ok(()) };
        let position = self.head.position + self.batch.len() as u64;
        let chain =
            self.batch.iter().fold(self.head.chain, |chain: Hash, (_, entry)| chain.link(&entry.hash()));
        let next = Head { position, chain };
        if position > wanted.position || (position == wanted.position && next != wanted) {
            let why = "the entries are not those that were verified".to_string();
            return Err(Stopped::Changed { line: *line, why });
        }
        let mut patience = Patience::new();
        loop {
            match self.attempt().await {
                Ok(()) => break,
                Err(Failed::Error(Error::LostRace(_))) if patience.wait(self.database, self.draw).await => {}
                Err(Failed::Error(error)) => return Err(self.stopped(error)),
                Err(Failed::Broken { line, why }) => return Err(Stopped::Changed { line, why }),
            }
        }
        self.head = next;
        self.batch.clear();
        Ok(())
    }

    /// One transaction, which happens whole or not at all.
    async fn attempt(&mut self) -> Result<(), Failed> {
        let id = BatchId(u128::from(self.draw.number()) << 64 | u128::from(self.draw.number()));
        let mut tx = self.database.begin(id).await?;
        let tables = tx.tables();
        let mut need = Need::default();
        for (_, entry) in &self.batch {
            needs(entry, &tables, &mut need);
        }
        let mut world = tx.lock(&need).await?;
        let mut plan = Plan::default();
        for (line, entry) in &self.batch {
            let changes = project(&world, entry.clone(), self.bodies)
                .map_err(|broken| Failed::Broken { line: *line, why: broken.to_string() })?;
            plan.add(&mut world, changes);
            // An entry that comes once more is known by itself.
            world.entries.insert((entry.item, entry.version), entry.clone());
        }
        plan.write(&mut tx).await?;
        tx.append(&plan.entries).await?;
        match tx.commit().await {
            Commit::Done => Ok(()),
            Commit::Not(error) => Err(error.into()),
            Commit::Unknown => match settle(self.database, id).await? {
                Settled::Committed => Ok(()),
                Settled::NeverWill => Err(Error::LostRace("the commit never happened".to_string()).into()),
            },
        }
    }
}
