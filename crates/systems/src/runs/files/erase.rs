//! An erased entry takes its file with it.
//!
//! ```text
//! note ─▶ the entry says that it is erased ─▶ the file is gone ─▶ the note is gone
//! ```
//!
//! Whoever dies in between leaves the note, and the next sweep goes on from there. Content is shared: it goes with the last document of
//! its store that has it.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::word::Store;
use tenure::databases::outside::chance;
use tenure::{Error, Tenure};

use super::incoming::{Arrived, leave_note};
use super::sweep::{Note, Settled};
use super::{Files, beside};
use crate::time::pause;

/// Somebody uploads the same content, or some of the same place: that takes milliseconds. Afterwards a sweep does it.
const TRIES_MAX: usize = 50;
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// What is about to be erased has a file. It is to be [settled](Files::settle_erasure) once its entry was erased, or was not.
#[derive(Debug)]
pub(in crate::runs) struct Erasure {
    path: PathBuf,
    note: Note,
}

impl Files {
    /// The note on a document's content.
    pub(in crate::runs) async fn erasing(&self, store: &Store, sha256: Hash) -> io::Result<Erasure> {
        let name = format!("{store}~erased~{sha256}~{:016x}", chance());
        self.noted(name, Note::Erased { store: store.clone(), sha256 }).await
    }

    /// The note on what the steps of a run have made.
    pub(in crate::runs) async fn erasing_run(&self, store: &Store, run: ItemId) -> io::Result<Erasure> {
        let name = format!("{store}~run~{run}~{:016x}", chance());
        self.noted(name, Note::Run { store: store.clone(), run }).await
    }

    async fn noted(&self, name: String, note: Note) -> io::Result<Erasure> {
        let path = self.pending().join(name);
        let left = path.clone();
        beside(move || leave_note(&left)).await?;
        Ok(Erasure { path, note })
    }

    /// Removes the file if nothing refers to it any more. Where that can not be done now the note stays.
    pub(in crate::runs) async fn settle_erasure(
        &self,
        tenure: &Tenure,
        erasure: Erasure,
    ) -> Result<(), Error> {
        let Erasure { path, note } = erasure;
        for _ in 0..TRIES_MAX {
            match self.settle(tenure, path.clone(), &note).await? {
                Settled::Removed | Settled::Kept => return Ok(()),
                Settled::NotNow => pause(TRY_AGAIN).await,
            }
        }
        Ok(())
    }

    /// What has arrived belongs to a document that was there before, and stays if that one still has its content.
    pub(in crate::runs) async fn settle_arrived(
        &self,
        tenure: &Tenure,
        arrived: Arrived,
    ) -> Result<(), Error> {
        let (path, sha256) = (arrived.note.clone(), arrived.sha256);
        let erasing = self.erasing(tenure.store(), sha256).await;
        // Its place is free for whoever removes.
        drop(arrived);
        beside(move || drop(fs::remove_file(path))).await;
        match erasing {
            Ok(erasure) => self.settle_erasure(tenure, erasure).await,
            // A file that can not be looked after now is found by the next erasure of its document.
            Err(_) => Ok(()),
        }
    }

    /// Nothing was erased.
    pub(in crate::runs) async fn not_erased(&self, erasure: Erasure) {
        beside(move || drop(fs::remove_file(erasure.path))).await;
    }
}
