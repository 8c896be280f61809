//! What uploads and runs of dead processes have left: files that nothing refers to.
//!
//! It goes by the notes that they left, never by all the files, so a turn costs what went wrong and not what is kept.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure::core::actor::{Actor, Role};
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::Phase;
use tenure::core::word::Store;
use tenure::databases::Query;
use tenure::{Error, Tenure};

use super::{Files, beside};
use crate::runs::DOCUMENT;

/// Longer than any upload takes, whose last write may still be on its way when whoever sent it has gone.
pub const AGE: Duration = Duration::from_secs(3_600);
/// Of one turn. Each is one upload that was cut off.
pub(super) const NOTES_MAX: usize = 1_000;
/// Documents with the same content that are looked at together.
const ALIKE: usize = 100;

/// What a sweep did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Files that are gone now.
    pub removed: usize,
    /// Notes of which the entry was there after all.
    pub kept: usize,
}

/// What became of a note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Settled {
    Removed,
    Kept,
    /// Somebody is at it. The note stays.
    NotNow,
}

/// Whether something refers to what a note is about.
enum Found {
    Yes,
    No,
    /// Its run is under way, and may still commit.
    NotYet,
}

/// What a note says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Note {
    /// It got its place, and its entry may be written or not.
    Document {
        store: Store,
        sha256: Hash,
    },
    /// Its entry is erased, or about to be.
    Erased {
        store: Store,
        sha256: Hash,
    },
    Run {
        store: Store,
        run: ItemId,
    },
}

impl Note {
    pub(super) fn read(name: &str) -> Option<Note> {
        let mut parts = name.split('~');
        let (store, what, which) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        match what {
            "document" => Some(Note::Document { store, sha256: which.parse().ok()? }),
            "erased" => Some(Note::Erased { store, sha256: which.parse().ok()? }),
            "run" => Some(Note::Run { store, run: which.parse().ok()? }),
            _ => None,
        }
    }

    /// What its entry says now it says for good, or it says that it is not over. An upload's may come late.
    fn is_certain(&self) -> bool {
        !matches!(self, Note::Document { .. })
    }

    fn content(&self, files: &Files) -> PathBuf {
        match self {
            Note::Document { store, sha256 } | Note::Erased { store, sha256 } => files.content(store, sha256),
            Note::Run { store, run } => files.artifacts(store, *run),
        }
    }

    /// Whose place is locked while it is looked for and removed. What a run made is its own.
    fn sha256(&self) -> Option<&Hash> {
        match self {
            Note::Document { sha256, .. } | Note::Erased { sha256, .. } => Some(sha256),
            Note::Run { .. } => None,
        }
    }
}

impl Files {
    /// Removes what nothing refers to and is as old as this, and at once what was erased. What somebody is at comes in the next turn.
    pub async fn sweep(&self, tenure: &Tenure, age: Duration) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        let files = self.clone();
        // A folder that can not be looked at is told of by the next upload.
        let notes = beside(move || files.leftovers(age)).await.unwrap_or_default();
        for (path, note) in notes {
            match self.settle(tenure, path, &note).await? {
                Settled::Removed => swept.removed += 1,
                Settled::Kept => swept.kept += 1,
                Settled::NotNow => {}
            }
        }
        Ok(swept)
    }

    /// Removes what a note is about if nothing refers to it, and then the note.
    pub(super) async fn settle(&self, tenure: &Tenure, path: PathBuf, note: &Note) -> Result<Settled, Error> {
        let (files, which) = (self.clone(), note.clone());
        // Held until the file is gone: no upload of the same content comes in between.
        let Some(lock) = beside(move || files.alone(&which)).await else { return Ok(Settled::NotNow) };
        let content = match self.reference(tenure, note).await? {
            Found::NotYet => return Ok(Settled::NotNow),
            Found::Yes => None,
            Found::No => Some(note.content(self)),
        };
        let settled = if content.is_some() { Settled::Removed } else { Settled::Kept };
        beside(move || {
            // What can not be removed keeps its note.
            let gone = content.as_deref().is_none_or(|content| remove(content).is_ok());
            let _ = gone.then(|| fs::remove_file(path));
            drop(lock);
        })
        .await;
        Ok(settled)
    }

    /// Nobody is giving this content its place, nor may have: an upload that was cut off may still get its entry.
    fn alone(&self, note: &Note) -> Option<Option<File>> {
        let Some(sha256) = note.sha256() else { return Some(None) };
        let lock = self.place(sha256).ok()?;
        lock.try_lock().ok()?;
        let is_of_it = |entry: &DirEntry| match entry.file_name().to_str().and_then(Note::read) {
            Some(Note::Document { store, sha256 }) => *note == Note::Erased { store, sha256 },
            _ => false,
        };
        let mut others = fs::read_dir(self.pending()).ok()?.filter_map(Result::ok);
        (!others.any(|entry| is_of_it(&entry))).then_some(Some(lock))
    }

    /// Notes that are due. Uploads that came to nothing are removed on the way, unless somebody uploads.
    fn leftovers(&self, age: Duration) -> io::Result<Vec<(PathBuf, Note)>> {
        if !self.folder.is_dir() {
            return Ok(Vec::new());
        }
        let lock = self.lock()?;
        match lock.try_lock() {
            Ok(()) => {
                for draft in old(&self.incoming(), age)? {
                    let _ = fs::remove_file(draft.path());
                }
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(why)) => return Err(why),
        }
        drop(lock);
        if !self.pending().is_dir() {
            return Ok(Vec::new());
        }
        let due = |entry: DirEntry| {
            let note = Note::read(entry.file_name().to_str()?)?;
            (note.is_certain() || is_old(&entry, age)).then(|| (entry.path(), note))
        };
        Ok(fs::read_dir(self.pending())?.filter_map(Result::ok).filter_map(due).take(NOTES_MAX).collect())
    }

    async fn reference(&self, tenure: &Tenure, note: &Note) -> Result<Found, Error> {
        let (Note::Document { store, .. } | Note::Erased { store, .. } | Note::Run { store, .. }) = note;
        let reader = Actor::new(Role::Api, "runs".parse()?);
        let tenure = tenure.acting(store.clone(), reader);
        match note {
            Note::Document { sha256, .. } | Note::Erased { sha256, .. } => has(&tenure, sha256).await,
            Note::Run { run, .. } => match tenure.item(*run).await {
                Ok(run) if run.erased => Ok(Found::No),
                Ok(run) => Ok(match run.phase() {
                    Phase::Succeeded => Found::Yes,
                    Phase::Failed | Phase::Stopped => Found::No,
                    Phase::Waiting | Phase::Ready | Phase::Active => Found::NotYet,
                }),
                Err(Error::NotFound(_)) => Ok(Found::No),
                Err(error) => Err(error),
            },
        }
    }
}

/// Whether a document has this content that was not erased.
async fn has(tenure: &Tenure, sha256: &Hash) -> Result<Found, Error> {
    let (kind, key) = (Some(DOCUMENT.parse()?), Some(sha256.to_string().parse()?));
    let mut query = Query { kind, key, limit: ALIKE, ..Query::default() };
    loop {
        let page = tenure.list(query.clone()).await?;
        match page.last() {
            _ if page.iter().any(|document| !document.erased) => return Ok(Found::Yes),
            Some(last) if page.len() == ALIKE => query.after = Some(last.id),
            _ => return Ok(Found::No),
        }
    }
}

/// What has lain in a folder for so long.
fn old(folder: &Path, age: Duration) -> io::Result<Vec<DirEntry>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?.filter_map(Result::ok).filter(|entry| is_old(entry, age));
    Ok(entries.take(NOTES_MAX).collect())
}

fn is_old(entry: &DirEntry, age: Duration) -> bool {
    let changed = entry.metadata().and_then(|found| found.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|since| since >= age))
}

fn remove(content: &Path) -> io::Result<()> {
    let removed = match content.is_dir() {
        true => fs::remove_dir_all(content),
        false => fs::remove_file(content),
    };
    match removed {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
