//! What uploads and runs of dead processes have left: files that nothing refers to.
//!
//! It goes by the notes that they left, never by all the files, so a turn costs what went wrong and not what is kept.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure::core::actor::{Actor, Role};
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
const NOTES_MAX: usize = 1_000;

/// What a sweep did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Files that are gone now.
    pub removed: usize,
    /// Notes of which the entry was there after all.
    pub kept: usize,
}

/// Whether something refers to what a note is about.
enum Found {
    Yes,
    No,
    /// Its run is under way, and may still commit.
    NotYet,
}

/// The lock, as long as they are looked at, and the notes with their files.
type Leftovers = (File, Vec<(PathBuf, Note)>);

/// What a note says.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Note {
    Document { store: Store, sha256: String },
    Run { store: Store, run: ItemId },
}

impl Note {
    fn read(name: &str) -> Option<Note> {
        let mut parts = name.split('~');
        let (store, what, which) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        match what {
            "document" => {
                let good = which.len() == 64 && which.bytes().all(|byte| byte.is_ascii_hexdigit());
                good.then(|| Note::Document { store, sha256: which.to_string() })
            }
            "run" => Some(Note::Run { store, run: which.parse().ok()? }),
            _ => None,
        }
    }
}

impl Files {
    /// Removes what nothing refers to and is as old as this. While somebody uploads nothing is done: the next turn comes.
    pub async fn sweep(&self, tenure: &Tenure, age: Duration) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        let files = self.clone();
        let found = beside(move || files.leftovers(age)).await;
        // A folder that can not be looked at is told of by the next upload.
        let Ok(Some((_lock, notes))) = found else { return Ok(swept) };
        for (path, note) in notes {
            let content = match (&note, self.reference(tenure, &note).await?) {
                (_, Found::NotYet) => continue,
                (_, Found::Yes) => None,
                (Note::Document { store, sha256 }, Found::No) => Some(self.content(store, sha256)),
                (Note::Run { store, run }, Found::No) => Some(self.artifacts(store, *run)),
            };
            match content {
                Some(_) => swept.removed += 1,
                None => swept.kept += 1,
            }
            beside(move || {
                // What can not be removed keeps its note.
                let gone = content.as_deref().is_none_or(|content| remove(content).is_ok());
                gone.then(|| fs::remove_file(path))
            })
            .await;
        }
        Ok(swept)
    }

    /// The old notes, under a lock that keeps uploads away. None: somebody uploads.
    fn leftovers(&self, age: Duration) -> io::Result<Option<Leftovers>> {
        if !self.folder.is_dir() {
            return Ok(None);
        }
        let lock = self.lock()?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(why)) => return Err(why),
        }
        for draft in old(&self.incoming(), age)? {
            let _ = fs::remove_file(draft.path());
        }
        let note = |entry: DirEntry| Some((entry.path(), Note::read(entry.file_name().to_str()?)?));
        let notes = old(&self.pending(), age)?.into_iter().filter_map(note).collect();
        Ok(Some((lock, notes)))
    }

    async fn reference(&self, tenure: &Tenure, note: &Note) -> Result<Found, Error> {
        let (Note::Document { store, .. } | Note::Run { store, .. }) = note;
        let reader = Actor::new(Role::Api, "runs".parse()?);
        let tenure = tenure.acting(store.clone(), reader);
        match note {
            Note::Document { sha256, .. } => {
                let (kind, key) = (Some(DOCUMENT.parse()?), Some(sha256.parse()?));
                let found = tenure.list(Query { kind, key, limit: 1, ..Query::default() }).await?;
                Ok(if found.is_empty() { Found::No } else { Found::Yes })
            }
            Note::Run { run, .. } => match tenure.item(*run).await {
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

/// What has lain in a folder for so long.
fn old(folder: &Path, age: Duration) -> io::Result<Vec<DirEntry>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let is_old = |entry: &DirEntry| {
        let changed = entry.metadata().and_then(|found| found.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|since| since >= age))
    };
    let entries = fs::read_dir(folder)?.filter_map(Result::ok).filter(is_old);
    Ok(entries.take(NOTES_MAX).collect())
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
