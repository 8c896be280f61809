//! Where the bytes of documents are: a folder of files named by their SHA-256, a folder a store.
//!
//! ```text
//!   FILES/incoming/1f03…                 an upload that is under way
//!   FILES/pending/STORE~document~SHA…    it is about to have its place, its entry and its first run
//!   FILES/stores/STORE/ab/abcd…          the content
//!   FILES/stores/STORE/runs/RUN/STEP     what a step made that is too large for a record
//!   FILES/pending/STORE~erased~SHA…      its entry is about to be erased
//!   FILES/pending/STORE~erasure~ID…      a document is about to be erased, and then its runs
//!   FILES/places/ab                      locks: who is about to give content of this beginning its place, or to take it
//!   FILES/alive/…                        processes that work on runs of this folder
//! ```
//!
//! A file is complete, on the disk and in its place before anything refers to it: it is written under another name, synced, renamed, and
//! its folder is synced. A process that dies before the entry is written leaves a note in `pending`, by which [`sweep`] finds the file
//! that nobody refers to; and one that dies before the run is, by the same note, a document [without one](unfinished). Who writes holds a shared lock of its place meanwhile, and who removes an exclusive one: it never meets an
//! upload half-way. An erased entry takes its file with it, in the same manner: note, entry, file.

mod erase;
mod incoming;
mod sweep;
mod unfinished;

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tenure::core::id::ItemId;
use tenure::core::word::{Label, Store};
use tenure::databases::url::Url;

pub use incoming::{Arrived, Incoming};
pub use sweep::{AGE, Swept};
pub(super) use unfinished::{Unfinished, What};

/// A scanned report of some hundred pages has less. Steps hold a document in memory while they work on it.
pub const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
/// What a step makes of a document of that size is at most some times as large.
pub const ARTIFACT_BYTES_MAX: u64 = 256 << 20;
/// Beside a SQLite file the folder has its name and this.
const BESIDE: &str = "files";
/// In the current folder, where the database is none of this machine's files.
const ELSEWHERE: &str = "tenure.files";

/// Why nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum NotStored {
    #[error("a document has at most {DOCUMENT_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the document has no bytes")]
    Empty,
    #[error("the file was not written: {0}")]
    Failed(#[from] io::Error),
}

/// Why content can not be had. It was there once: this is for whoever runs the service.
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
    /// What clients are told as the type of the failure.
    pub fn code(&self) -> &'static str {
        match self {
            NotRead::Missing => "CONTENT_MISSING",
            NotRead::Damaged(_) => "CONTENT_DAMAGED",
            NotRead::Failed(_) => "CONTENT_UNREADABLE",
        }
    }
}

/// A folder of files. Clones are the same folder; nothing is made in it before the first upload.
#[derive(Clone, Debug)]
pub struct Files {
    folder: Arc<Path>,
    /// Removed with the last clone.
    _scratch: Option<Arc<tempfile::TempDir>>,
}

impl Files {
    pub fn at(folder: impl Into<PathBuf>) -> Files {
        Files { folder: folder.into().into(), _scratch: None }
    }

    /// As short-lived as a database in memory.
    pub fn scratch() -> io::Result<Files> {
        let folder = tempfile::Builder::new().prefix("tenure-files-").tempdir()?;
        Ok(Files { folder: folder.path().into(), _scratch: Some(Arc::new(folder)) })
    }

    /// The folder that is named, or else the one that goes with the database.
    pub fn of(database: &Url, named: Option<&Path>) -> io::Result<Files> {
        match (named, database) {
            (Some(folder), _) => Ok(Files::at(folder)),
            (None, Url::Sqlite(file)) => {
                let mut name = file.clone().into_os_string();
                name.push(format!(".{BESIDE}"));
                Ok(Files::at(PathBuf::from(name)))
            }
            (None, Url::Postgres(_)) => Ok(Files::at(ELSEWHERE)),
            (None, Url::Memory) => Files::scratch(),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn incoming(&self) -> PathBuf {
        self.folder.join("incoming")
    }

    fn pending(&self) -> PathBuf {
        self.folder.join("pending")
    }

    pub(super) fn alive(&self) -> PathBuf {
        self.folder.join("alive")
    }

    fn of_store(&self, store: &Store) -> PathBuf {
        self.folder.join("stores").join(store.as_str())
    }

    /// Where content of this hash is. The hash is of our own making: 64 hexadecimal digits.
    fn content(&self, store: &Store, sha256: &str) -> PathBuf {
        self.of_store(store).join(sha256.get(..2).unwrap_or("00")).join(sha256)
    }

    fn artifacts(&self, store: &Store, run: ItemId) -> PathBuf {
        self.of_store(store).join("runs").join(run.to_string())
    }

    /// Held shared from before content of this hash gets its place until its entry is written, and alone by who removes it.
    fn place(&self, sha256: &str) -> io::Result<File> {
        let folder = self.folder.join("places");
        make_folder(&folder)?;
        File::options().create(true).append(true).open(folder.join(sha256.get(..2).unwrap_or("00")))
    }

    /// Held while something is written under a name that nobody looks for.
    fn lock(&self) -> io::Result<File> {
        make_folder(&self.folder)?;
        File::options().create(true).append(true).open(self.folder.join("lock"))
    }

    /// The bytes of a document, as they were uploaded or not at all.
    pub async fn read(&self, store: &Store, sha256: &str, size: u64) -> Result<Vec<u8>, NotRead> {
        let (path, sha256) = (self.content(store, sha256), sha256.to_string());
        beside(move || read_whole(&path, &sha256, size, DOCUMENT_BYTES_MAX)).await
    }

    /// The file of a document, at its beginning, once its bytes were found to be those that were uploaded.
    pub async fn open(&self, store: &Store, sha256: &str, size: u64) -> Result<File, NotRead> {
        let (path, sha256) = (self.content(store, sha256), sha256.to_string());
        beside(move || open_whole(&path, &sha256, size)).await
    }

    /// What a step made and a record only names.
    pub async fn artifact(
        &self,
        store: &Store,
        run: ItemId,
        step: &Label,
        sha256: &str,
        size: u64,
    ) -> Result<Vec<u8>, NotRead> {
        let (path, sha256) = (self.artifacts(store, run).join(step.as_str()), sha256.to_string());
        beside(move || read_whole(&path, &sha256, size, ARTIFACT_BYTES_MAX)).await
    }
}

fn open_at(path: &Path) -> Result<File, NotRead> {
    File::open(path).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => NotRead::Missing,
        _ => NotRead::Failed(why),
    })
}

fn read_whole(path: &Path, sha256: &str, size: u64, most: u64) -> Result<Vec<u8>, NotRead> {
    let file = open_at(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(most)).unwrap_or_default());
    // One byte more shows that there are too many.
    file.take(size.min(most) + 1).read_to_end(&mut bytes).map_err(NotRead::Failed)?;
    judge(bytes.len() as u64, &hex(&Sha256::digest(&bytes)), sha256, size)?;
    Ok(bytes)
}

fn open_whole(path: &Path, sha256: &str, size: u64) -> Result<File, NotRead> {
    let mut file = open_at(path)?;
    let mut hasher = Sha256::new();
    let mut part = vec![0; 64 << 10];
    let mut found = 0;
    loop {
        match file.read(&mut part).map_err(NotRead::Failed)? {
            0 => break,
            count => {
                found += count as u64;
                hasher.update(&part[..count]);
            }
        }
    }
    judge(found, &hex(&hasher.finalize()), sha256, size)?;
    io::Seek::rewind(&mut file).map_err(NotRead::Failed)?;
    Ok(file)
}

fn judge(found: u64, hash: &str, sha256: &str, size: u64) -> Result<(), NotRead> {
    match (found == size, hash == sha256) {
        (true, true) => Ok(()),
        (false, _) => Err(NotRead::Damaged(format!("it had {size} bytes and has not"))),
        (true, false) => Err(NotRead::Damaged(format!("its SHA-256 was {sha256} and is {hash}"))),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What blocks is done on a thread that may.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => std::panic::resume_unwind(ended.into_panic()),
    }
}

/// A new name in a folder is on the disk once the folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Folders for their owner alone: documents are nobody else's to read.
pub(super) fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// A folder that is there also after the power failed.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_folder(above)?;
    }
    match private().create(folder) {
        Ok(()) => {}
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
        Err(why) => return Err(why),
    }
    match folder.parent() {
        Some(above) if !above.as_os_str().is_empty() => sync_folder(above),
        _ => sync_folder(Path::new(".")),
    }
}
