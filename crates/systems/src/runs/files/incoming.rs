//! Bytes on their way to their place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::word::{Label, Store};
use tenure::databases::outside::chance;
use tokio::io::AsyncWriteExt;

use super::{DOCUMENT_BYTES_MAX, Files, NotStored, beside, make_folder, sync_folder};

/// So much of the beginning is kept at hand: enough to see what a document is.
const HEAD_BYTES: usize = 64 << 10;

/// A document that arrives. Dropped, it was never there.
#[derive(Debug)]
pub struct Incoming {
    files: Files,
    store: Store,
    file: tokio::fs::File,
    draft: Draft,
    hasher: Sha256,
    size: u64,
    head: Vec<u8>,
    lock: File,
}

/// A file under a name that nobody looks for. Removed unless it was moved to its place.
#[derive(Debug)]
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        // What can not be removed now is removed by a sweep.
        let _ = fs::remove_file(&self.0);
    }
}

/// The bytes are in their place; nothing refers to them yet.
#[derive(Debug)]
pub struct Arrived {
    pub sha256: Hash,
    pub size: u64,
    /// The beginning of it.
    pub head: Vec<u8>,
    pub(super) note: PathBuf,
    _place: File,
}

impl Arrived {
    /// Something refers to them now, and is on the disk. The note is not needed any more.
    pub async fn is_referred_to(self) {
        let note = self.note;
        // One that stays only makes the next sweep look.
        beside(move || drop(fs::remove_file(note))).await;
    }
}

impl Files {
    /// Begins a document of a store.
    pub async fn receive(&self, store: &Store) -> Result<Incoming, NotStored> {
        let files = self.clone();
        let begun = beside(move || {
            let lock = files.lock()?;
            lock.lock_shared()?;
            make_folder(&files.incoming())?;
            let draft = Draft(files.incoming().join(format!("{:016x}", chance())));
            let file = File::create_new(&draft.0)?;
            Ok::<_, io::Error>((lock, draft, file))
        });
        let (lock, draft, file) = begun.await?;
        Ok(Incoming {
            files: self.clone(),
            store: store.clone(),
            file: file.into(),
            draft,
            hasher: Sha256::new(),
            size: 0,
            head: Vec::new(),
            lock,
        })
    }

    /// Writes what a step made, and answers its note. A run that does not complete leaves nothing of it behind.
    pub(in crate::runs) async fn keep_artifact(
        &self,
        store: &Store,
        run: ItemId,
        step: &Label,
        bytes: Vec<u8>,
    ) -> io::Result<PathBuf> {
        let (files, store, step) = (self.clone(), store.clone(), step.clone());
        beside(move || {
            let lock = files.lock()?;
            lock.lock_shared()?;
            let note = files.pending().join(format!("{store}~run~{run}"));
            leave_note(&note)?;
            let folder = files.artifacts(&store, run);
            make_folder(&files.incoming())?;
            let draft = Draft(files.incoming().join(format!("{:016x}", chance())));
            let mut file = File::create_new(&draft.0)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            moved(&draft.0, &folder, step.as_str())?;
            Ok(note)
        })
        .await
    }

    /// The run has committed: what its record names stays.
    pub(in crate::runs) async fn artifacts_are_referred_to(note: PathBuf) {
        beside(move || drop(fs::remove_file(note))).await;
    }
}

impl Incoming {
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), NotStored> {
        self.size += bytes.len() as u64;
        if self.size > DOCUMENT_BYTES_MAX {
            return Err(NotStored::TooLarge);
        }
        let left = HEAD_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(left)]);
        self.hasher.update(bytes);
        Ok(self.file.write_all(bytes).await?)
    }

    /// That was all of it. What is answered is on the disk.
    pub async fn finish(mut self) -> Result<Arrived, NotStored> {
        if self.size == 0 {
            return Err(NotStored::Empty);
        }
        self.file.flush().await?;
        self.file.sync_all().await?;
        let Incoming { files, store, draft, hasher, size, head, lock: _lock, .. } = self;
        let sha256 = Hash(hasher.finalize().into());
        let done = beside(move || {
            let place = files.place(&sha256)?;
            place.lock_shared()?;
            let note = files.pending().join(format!("{store}~document~{sha256}~{:016x}", chance()));
            leave_note(&note)?;
            let folder = files.content(&store, &sha256);
            let folder = folder.parent().ok_or(io::ErrorKind::InvalidInput)?;
            // Content that is there already is replaced by the same: had it been damaged, it is whole again.
            moved(&draft.0, folder, &sha256.to_string())?;
            Ok::<_, io::Error>(Arrived { sha256, size, head, note, _place: place })
        });
        Ok(done.await?)
    }
}

pub(super) fn leave_note(note: &Path) -> io::Result<()> {
    let folder = note.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_folder(folder)?;
    File::create(note)?;
    sync_folder(folder)
}

fn moved(draft: &Path, folder: &Path, name: &str) -> io::Result<()> {
    make_folder(folder)?;
    fs::rename(draft, folder.join(name))?;
    sync_folder(folder)
}
