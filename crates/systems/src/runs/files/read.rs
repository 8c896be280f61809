//! Reading a file below the folder.
//!
//! The path is built from parsed values (`Store`, `Hash`, `ItemId`, `Label`). Each of its folders is opened below the one before it, no
//! symbolic link is followed, and only a regular file of the expected size is read. At most [`READERS_MAX`] threads read at once; a
//! reader whose caller is gone stops after the piece that it is reading.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::word::{Label, Store};
use tokio::sync::Semaphore;

use super::{ARTIFACT_BYTES_MAX, DOCUMENT_BYTES_MAX, Files, beside};

/// Threads that read files of one folder at once. More callers wait for their turn, without a thread.
pub const READERS_MAX: usize = 16;
/// Read in about a millisecond. Between two pieces a reader checks whether its caller is still there.
const PIECE_BYTES: usize = 1 << 20;

/// Why the content of a document could not be read. The operator has to look at the folder of files.
#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    #[error("the file of the document is gone")]
    Missing,
    #[error("the file of the document is not what was uploaded: {0}")]
    Damaged(String),
    #[error("the file of the document could not be read: {0}")]
    Failed(io::Error),
}

impl NotRead {
    /// The failure type that clients see.
    pub fn code(&self) -> &'static str {
        match self {
            NotRead::Missing => "CONTENT_MISSING",
            NotRead::Damaged(_) => "CONTENT_DAMAGED",
            NotRead::Failed(_) => "CONTENT_UNREADABLE",
        }
    }
}

impl From<io::Error> for NotRead {
    fn from(error: io::Error) -> NotRead {
        match error.kind() {
            io::ErrorKind::NotFound => NotRead::Missing,
            _ => NotRead::Failed(error),
        }
    }
}

/// The places for threads that read.
#[derive(Clone, Debug)]
pub(super) struct Readers(Arc<Semaphore>);

impl Default for Readers {
    fn default() -> Readers {
        Readers(Arc::new(Semaphore::new(READERS_MAX)))
    }
}

/// Tells a reader to stop when its caller is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Readers {
    /// Runs `read` on a thread that may block. `read` gets the flag that tells it to stop.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&AtomicBool) -> Result<T, NotRead> + Send + 'static,
    ) -> Result<T, NotRead> {
        let permit = self.0.clone().acquire_owned().await.expect("the semaphore is never closed");
        let caller = StopOnDrop(Arc::default());
        let stop = caller.0.clone();
        // The thread keeps the permit: a caller that is gone frees no place before its reader has stopped.
        let read = beside(move || (read(&stop), drop(permit)).0).await;
        drop(caller);
        read
    }
}

/// The size and the hash that a file must have.
#[derive(Clone, Copy, Debug)]
struct Expected {
    sha256: Hash,
    size: u64,
}

impl Files {
    /// Reads the bytes of a document. They are compared with the uploaded hash.
    pub async fn read(&self, store: &Store, sha256: Hash, size: u64) -> Result<Vec<u8>, NotRead> {
        let (files, path) = (self.clone(), self.content(store, &sha256));
        let expected = Expected { sha256, size };
        self.readers.read(move |stop| files.whole(&path, expected, DOCUMENT_BYTES_MAX, stop)).await
    }

    /// Opens the file of a document at its beginning, after comparing its bytes with the uploaded hash.
    pub async fn open(&self, store: &Store, sha256: Hash, size: u64) -> Result<File, NotRead> {
        let (files, path) = (self.clone(), self.content(store, &sha256));
        self.readers.read(move |stop| files.checked(&path, Expected { sha256, size }, stop)).await
    }

    /// The output of a step whose record only names it.
    pub async fn artifact(
        &self,
        store: &Store,
        run: ItemId,
        step: &Label,
        sha256: Hash,
        size: u64,
    ) -> Result<Vec<u8>, NotRead> {
        let (files, path) = (self.clone(), self.artifacts(store, run).join(step.as_str()));
        let expected = Expected { sha256, size };
        self.readers.read(move |stop| files.whole(&path, expected, ARTIFACT_BYTES_MAX, stop)).await
    }

    fn whole(
        &self,
        path: &Path,
        expected: Expected,
        bytes_max: u64,
        stop: &AtomicBool,
    ) -> Result<Vec<u8>, NotRead> {
        let mut file = self.regular(path, expected.size)?;
        if expected.size > bytes_max {
            return Err(NotRead::Damaged(format!(
                "it has {} bytes; at most {bytes_max} are read",
                expected.size
            )));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(expected.size).unwrap_or_default());
        pieces(&mut file, expected, stop, |piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }

    fn checked(&self, path: &Path, expected: Expected, stop: &AtomicBool) -> Result<File, NotRead> {
        let mut file = self.regular(path, expected.size)?;
        pieces(&mut file, expected, stop, |_| {})?;
        file.rewind().map_err(NotRead::Failed)?;
        Ok(file)
    }

    /// Opens a regular file of this size. The folder itself may be a symbolic link; nothing below it may.
    fn regular(&self, path: &Path, size: u64) -> Result<File, NotRead> {
        let below = path.strip_prefix(&self.folder).map_err(|_| NotRead::Missing)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        let folder = flags | OFlags::DIRECTORY;
        // A pipe without a writer is not waited for.
        let file = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut parts = below.components().peekable();
        let mut at = openat(CWD, &*self.folder, folder, Mode::empty()).map_err(not_opened)?;
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { return Err(NotRead::Missing) };
            let flags = if parts.peek().is_some() { folder | OFlags::NOFOLLOW } else { file };
            at = openat(&at, name, flags, Mode::empty()).map_err(not_opened)?;
        }
        let file = File::from(at);
        let found = file.metadata().map_err(NotRead::Failed)?;
        match found.is_file() {
            false => Err(NotRead::Damaged("it is no regular file".to_string())),
            true if found.len() != size => Err(another_size(size)),
            true => Ok(file),
        }
    }
}

fn not_opened(error: Errno) -> NotRead {
    match error {
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO => NotRead::Damaged("it is no regular file".to_string()),
        other => io::Error::from(other).into(),
    }
}

fn another_size(size: u64) -> NotRead {
    NotRead::Damaged(format!("it had {size} bytes and has not"))
}

/// Reads exactly as many bytes as are expected, piece by piece, and compares their hash.
fn pieces(
    file: &mut File,
    expected: Expected,
    stop: &AtomicBool,
    mut take: impl FnMut(&[u8]),
) -> Result<(), NotRead> {
    let Expected { sha256, size } = expected;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(size).unwrap_or(PIECE_BYTES))];
    let mut left = size;
    while left > 0 {
        if stop.load(Ordering::Relaxed) {
            return Err(NotRead::Failed(io::Error::other("the caller is gone")));
        }
        let most = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match file.read(&mut piece[..most]) {
            // It was cut since it was opened.
            Ok(0) => return Err(another_size(size)),
            Ok(count) => {
                hasher.update(&piece[..count]);
                take(&piece[..count]);
                left -= count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(NotRead::Failed(error)),
        }
    }
    match Hash(hasher.finalize().into()) {
        found if found == sha256 => Ok(()),
        found => Err(NotRead::Damaged(format!("its SHA-256 was {sha256} and is {found}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::task::JoinSet;

    use super::*;

    fn endless(stop: &AtomicBool) -> Result<(), NotRead> {
        let mut zero = File::open("/dev/zero").unwrap();
        pieces(&mut zero, Expected { sha256: Hash::ZERO, size: u64::MAX }, stop, |_| {})
    }

    //
    // fault: R10
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_reader_ends_with_its_caller_and_the_number_of_readers_is_bounded() {
        let readers = Readers::default();
        let (reading, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut callers = JoinSet::new();
        for _ in 0..3 * READERS_MAX {
            let (readers, reading, most) = (readers.clone(), reading.clone(), most.clone());
            callers.spawn(async move {
                let read = move |stop: &AtomicBool| {
                    most.fetch_max(reading.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let read = endless(stop);
                    reading.fetch_sub(1, Ordering::SeqCst);
                    read
                };
                readers.read(read).await
            });
        }
        while reading.load(Ordering::SeqCst) < READERS_MAX {
            tokio::task::yield_now().await;
        }
        callers.abort_all();
        while let Some(ended) = callers.join_next().await {
            assert!(ended.unwrap_err().is_cancelled());
        }
        // Every place is free again only once every reader has stopped.
        let places = u32::try_from(READERS_MAX).unwrap();
        let all = readers.0.acquire_many(places).await.unwrap();
        assert_eq!((reading.load(Ordering::SeqCst), most.load(Ordering::SeqCst)), (0, READERS_MAX));
        drop(all);
    }
}
