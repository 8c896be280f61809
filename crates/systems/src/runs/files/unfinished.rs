//! Notes of what takes more than one write: uploads until their run is there, and erasures until the runs are erased.
//!
//! Whoever is killed in between leaves the note, by which the rest is found and done, however much has come since.

use std::fs::{self, DirEntry};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::word::Store;
use tenure::databases::outside::chance;

use super::incoming::leave_note;
use super::sweep::{NOTES_MAX, Note};
use super::{Files, beside};

/// Something that was begun, and whose end is not known.
#[derive(Debug)]
pub(in crate::runs) struct Unfinished {
    path: PathBuf,
    pub store: Store,
    pub what: What,
    /// How long ago it was begun.
    pub ago: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::runs) enum What {
    /// Of a document with this content. Its note is taken away by the sweep, which has to do with its file.
    Upload { sha256: Hash },
    /// Of a document, and then of its runs.
    Erasure { document: ItemId },
}

impl Unfinished {
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Nobody needs the note any more.
    pub async fn done(&self) {
        let path = self.path.clone();
        // One that stays is found again.
        beside(move || drop(fs::remove_file(path))).await;
    }

    fn read(entry: &DirEntry) -> Option<Unfinished> {
        let name = entry.file_name();
        let (store, what) = read(name.to_str()?)?;
        let ago = entry.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
        Some(Unfinished { path: entry.path(), store, what, ago })
    }
}

fn read(name: &str) -> Option<(Store, What)> {
    if let Some(Note::Document { store, sha256 }) = Note::read(name) {
        return Some((store, What::Upload { sha256 }));
    }
    let mut parts = name.split('~');
    let (store, what, which) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    (what == ERASURE).then_some(())?;
    Some((store, What::Erasure { document: which.parse().ok()? }))
}

const ERASURE: &str = "erasure";

impl Files {
    /// Erasures, and uploads that were begun at least so long ago. What is under way may be among them.
    pub(in crate::runs) async fn unfinished(&self, age: Duration) -> Vec<Unfinished> {
        let pending = self.pending();
        beside(move || {
            let entries = fs::read_dir(pending).into_iter().flatten().filter_map(Result::ok);
            let found = entries.filter_map(|entry| Unfinished::read(&entry));
            let is_due = |one: &Unfinished| one.ago >= age || matches!(one.what, What::Erasure { .. });
            found.filter(is_due).take(NOTES_MAX).collect()
        })
        .await
    }

    /// The note that a document is about to be erased with its runs.
    pub(in crate::runs) async fn erasing_all_of(
        &self,
        store: &Store,
        document: ItemId,
    ) -> io::Result<Unfinished> {
        let path = self.pending().join(format!("{store}~{ERASURE}~{document}~{:016x}", chance()));
        let (left, store) = (path.clone(), store.clone());
        beside(move || leave_note(&left)).await?;
        Ok(Unfinished { path, store, what: What::Erasure { document }, ago: Duration::ZERO })
    }
}
