//! Opening: what is refused and why, and the settings of a connection.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::fault::error_of;
use super::{Options, migrate, mounts};
use crate::Error;

/// Why a database was not opened, in words that say what to do.
#[derive(Debug)]
pub enum OpenError {
    /// The SQLite that this program was built with has a defect that loses data.
    TooOld(i32),
    NoFolder(PathBuf),
    Network {
        folder: PathBuf,
        file_system: String,
    },
    NotOurs(PathBuf),
    Newer {
        path: PathBuf,
        found: i32,
        known: i32,
    },
    Older {
        path: PathBuf,
        found: i32,
        known: i32,
    },
    /// A lifecycle in the file can not be read by this program.
    Lifecycle(String),
    Sqlite(rusqlite::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::TooOld(number) => {
                let (major, minor, patch) = (number / 1_000_000, number / 1_000 % 1_000, number % 1_000);
                write!(
                    f,
                    "SQLite {major}.{minor}.{patch} can lose a write-ahead log when two connections write (fixed in \
                     3.51.3); build Tenure with its own SQLite or a newer one"
                )
            }
            OpenError::NoFolder(folder) => {
                write!(f, "the folder {} does not exist; create it first", folder.display())
            }
            OpenError::Network { folder, file_system } => write!(
                f,
                "{} is on a network file system ({file_system}), where SQLite's locks do not hold; use a local disk, or \
                 PostgreSQL",
                folder.display()
            ),
            OpenError::NotOurs(path) => write!(
                f,
                "{} is not a Tenure database; name another file, or one that does not exist yet",
                path.display()
            ),
            OpenError::Newer { path, found, known } => write!(
                f,
                "{} has schema {found} and this program knows schemas up to {known}; use the newer Tenure that wrote it",
                path.display()
            ),
            OpenError::Older { path, found, known } => write!(
                f,
                "{} has schema {found} and this program has schema {known}; run `tenure migrate` first",
                path.display()
            ),
            OpenError::Lifecycle(why) => write!(f, "{why}"),
            OpenError::Sqlite(error) => write!(f, "the database can not be opened: {error}"),
        }
    }
}

impl OpenError {
    /// Whether another process holds a lock on the file.
    pub fn is_locked(&self) -> bool {
        matches!(self, OpenError::Sqlite(error) if matches!(error_of(error), Error::Locked(_)))
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Sqlite(error) => Some(error),
            OpenError::TooOld(_)
            | OpenError::NoFolder(_)
            | OpenError::Network { .. }
            | OpenError::NotOurs(_)
            | OpenError::Newer { .. }
            | OpenError::Older { .. }
            | OpenError::Lifecycle(_) => None,
        }
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> OpenError {
        OpenError::Sqlite(error)
    }
}

/// 3.7.0 to 3.51.2 can lose the write-ahead log when it is reset by two connections at once.
const SQLITE_MIN: i32 = 3_051_003;

pub fn check_version(number: i32) -> Result<(), OpenError> {
    if number < SQLITE_MIN { Err(OpenError::TooOld(number)) } else { Ok(()) }
}

/// As many links as the kernel itself follows before it takes them for a circle.
const LINKS_MAX: usize = 40;

/// A database by its own name, where the given one is a link to it. SQLite keeps its log beside the file itself, and so is
/// everything else: whoever comes by another link finds the same.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// What can be known before the file is touched. Answers its own name.
pub(super) fn check_place(path: &Path) -> Result<PathBuf, OpenError> {
    check_version(rusqlite::version_number())?;
    check_mounts(path, &mounts::list())
}

fn check_mounts(path: &Path, mounts: &str) -> Result<PathBuf, OpenError> {
    let path = real(path);
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Ok(folder) = folder.canonicalize() else { return Err(OpenError::NoFolder(folder.into())) };
    if !folder.is_dir() {
        return Err(OpenError::NoFolder(folder));
    }
    // A single file can be mounted, too.
    let file = path.file_name().map_or(folder.clone(), |name| folder.join(name));
    match mounts::network_file_system(mounts, &file) {
        Some(file_system) => Err(OpenError::Network { folder, file_system }),
        None => Ok(path),
    }
}

/// Bytes of a page; an item is a tenth of one, a segment many.
const PAGE_BYTES: i32 = 8_192;
/// Pages that the write-ahead log holds before they are put in their place: 16 MB. A page that changed ten times in it is
/// written once. A longer one saves little more, and as long as the file grows a sync costs twice as much: the sooner it
/// has its length, the better.
const CHECKPOINT_PAGES: i32 = 2_000;
/// How long the log gets before it is begun anew: its frames, and those of a batch that comes when it is nearly full.
pub(super) const LOG_BYTES_MAX: u64 =
    CHECKPOINT_PAGES.unsigned_abs() as u64 * PAGE_BYTES.unsigned_abs() as u64 * 9 / 8;
/// What the log is cut back to afterwards.
const JOURNAL_BYTES_MAX: i32 = 32 << 20;
/// In KiB, for the writer: the ready end of the queue and the pages of a batch. More costs more: after pages were split
/// SQLite looks through all that it keeps, with every commit.
const CACHE_KIB: i32 = 16 << 10;
const READER_CACHE_KIB: i32 = 8 << 10;
/// Statements that a connection keeps prepared; there are fewer.
const STATEMENTS_MAX: usize = 96;
/// A reader waits for nobody but a checkpoint's end.
const READER_BUSY: Duration = Duration::from_secs(5);

/// Makes a file that nobody but its owner can read or write, unless there is one. What SQLite keeps beside it (the write-ahead log)
/// gets the same rights from SQLite. Never opened here: whoever closes a file takes the locks away that SQLite holds on it.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn make_private(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    // Where it can not be made SQLite says why.
    let _ = mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0);
}

/// The same where only a directory can be made without opening it: nobody has opened a file that is new.
#[cfg(target_vendor = "apple")]
pub(super) fn make_private(path: &Path) {
    use std::os::unix::fs::OpenOptionsExt;
    let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
}

/// The one connection that writes. Brings the schema up to date.
pub(super) fn writer(path: &Path, options: &Options) -> Result<Connection, OpenError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    make_private(path);
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(options.busy)?;
    shape(&connection, path)?;
    settings(&connection)?;
    connection.pragma_update(None, "synchronous", if options.relaxed { "normal" } else { "full" })?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_BYTES_MAX)?;
    if cfg!(target_os = "macos") {
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    }
    migrate::run(&mut connection, path, migrate::MIGRATIONS)?;
    // From now on it is the writer who waits for its turn.
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

/// What the file itself keeps, whoever opens it: the size of its pages, which is chosen once, and its journal.
pub(super) fn shape(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    if schema(connection, path)? == 0 {
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    }
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        connection.pragma_update(None, "journal_mode", "wal")?;
    }
    Ok(())
}

/// The schema that a file has; 0 for an empty one.
fn schema(connection: &Connection, path: &Path) -> Result<i32, OpenError> {
    migrate::version(connection, path, migrate::MIGRATIONS).map_err(|error| match error {
        // One that is damaged, or whose disk fails, is still a database.
        OpenError::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            OpenError::NotOurs(path.into())
        }
        other => other,
    })
}

/// A reader of a file whose schema is the one that this program has. Where the file is was looked at, or does not matter.
pub(super) fn looker(path: &Path) -> Result<Connection, OpenError> {
    let connection = reader(path)?;
    let found = schema(&connection, path)?;
    let known = migrate::MIGRATIONS.last().map_or(0, |migration| migration.number);
    match found == known {
        true => Ok(connection),
        false => Err(OpenError::Older { path: path.into(), found, known }),
    }
}

pub(super) fn reader(path: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(READER_BUSY)?;
    settings(&connection)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

fn settings(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // A plan does not depend on what is bound. Otherwise SQLite prepares a claim anew each time, which costs more than it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "foreign_keys", true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_that_loses_its_log_is_refused() {
        assert!(check_version(3_051_003).is_ok());
        assert!(check_version(3_054_001).is_ok());
        let refused = check_version(3_051_002).unwrap_err().to_string();
        assert!(refused.starts_with("SQLite 3.51.2 can lose"), "{refused}");
        assert!(check_version(rusqlite::version_number()).is_ok(), "ours is new enough");
    }

    #[test]
    fn a_link_into_a_network_file_system_is_no_way_around_the_refusal() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let mounts = format!(
            "22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:26 / {} rw - nfs4 server:/share rw\n\
             31 22 0:26 /x {} rw - nfs4 server:/share/x rw\n",
            at("share").display(),
            at("mounted.db").display()
        );
        std::fs::create_dir(at("share")).unwrap();
        std::fs::write(at("share/there.db"), "").unwrap();
        symlink(at("share/there.db"), at("link.db")).unwrap();
        symlink("link.db", at("again.db")).unwrap();
        symlink("share/not-yet.db", at("dangling.db")).unwrap();
        symlink("share", at("folder")).unwrap();
        for name in ["share/there.db", "link.db", "again.db", "dangling.db", "folder/new.db", "mounted.db"] {
            let refused = check_mounts(&at(name), &mounts);
            assert!(matches!(refused, Err(OpenError::Network { .. })), "{name}: {refused:?}");
        }
        symlink("here.db", at("local.db")).unwrap();
        symlink("circle.db", at("circle.db")).unwrap();
        assert_eq!(check_mounts(&at("local.db"), &mounts).unwrap(), at("here.db"), "by its own name");
        assert_eq!(check_mounts(&at("here.db"), &mounts).unwrap(), at("here.db"));
        assert!(check_mounts(&at("circle.db"), &mounts).is_ok(), "what that is SQLite says");
        assert!(matches!(check_mounts(&at("none/x.db"), &mounts), Err(OpenError::NoFolder(_))));
    }
}
