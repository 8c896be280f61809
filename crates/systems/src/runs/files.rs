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
mod read;
mod sweep;
mod unfinished;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::word::Store;
use tenure::databases::url::Url;

use read::Readers;

pub use incoming::{Arrived, Incoming};
pub use read::{NotRead, READERS_MAX};
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

/// A folder of files. Clones are the same folder; nothing is made in it before the first upload.
#[derive(Clone, Debug)]
pub struct Files {
    folder: Arc<Path>,
    readers: Readers,
    /// Removed with the last clone.
    _scratch: Option<Arc<tempfile::TempDir>>,
}

impl Files {
    pub fn at(folder: impl Into<PathBuf>) -> Files {
        Files { folder: folder.into().into(), readers: Readers::default(), _scratch: None }
    }

    /// As short-lived as a database in memory.
    pub fn scratch() -> io::Result<Files> {
        let folder = tempfile::Builder::new().prefix("tenure-files-").tempdir()?;
        let files = Files::at(folder.path());
        Ok(Files { _scratch: Some(Arc::new(folder)), ..files })
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

    /// The path of the content with this hash. A `Hash` is 32 bytes, so the name is 64 hexadecimal digits and nothing else.
    fn content(&self, store: &Store, sha256: &Hash) -> PathBuf {
        self.of_store(store).join(beginning(sha256)).join(sha256.to_string())
    }

    fn artifacts(&self, store: &Store, run: ItemId) -> PathBuf {
        self.of_store(store).join("runs").join(run.to_string())
    }

    /// Held shared from before content of this hash gets its place until its entry is written, and alone by who removes it.
    fn place(&self, sha256: &Hash) -> io::Result<File> {
        let folder = self.folder.join("places");
        make_folder(&folder)?;
        File::options().create(true).append(true).open(folder.join(beginning(sha256)))
    }

    /// Held while something is written under a name that nobody looks for.
    fn lock(&self) -> io::Result<File> {
        make_folder(&self.folder)?;
        File::options().create(true).append(true).open(self.folder.join("lock"))
    }
}

/// The folder of a hash: its first two digits.
fn beginning(sha256: &Hash) -> String {
    format!("{:02x}", sha256.0[0])
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
