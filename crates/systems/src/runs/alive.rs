//! Which processes work on the runs of a folder. Each holds a lock on a file of its own, and the system takes the lock back with the
//! process: a file that can be locked is that of a dead one.
//!
//! This holds where all of them see the same files with the same locks: for a SQLite database, whose processes are on one machine. A
//! PostgreSQL database may have processes anywhere; there the end of a lease says the same, later.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tenure::core::word::Who;

use super::files::private;

/// This process is alive as long as this is.
#[derive(Debug)]
pub struct Alive {
    path: PathBuf,
    _lock: File,
}

impl Drop for Alive {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Processes that were killed, with the files that say so.
#[derive(Debug, Default)]
pub struct Dead(Vec<(Who, PathBuf)>);

impl Dead {
    pub fn has(&self, who: &Who) -> bool {
        self.0.iter().any(|(dead, _)| dead == who)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What they held was ended: nobody has to know of them any more.
    pub fn forget(self) {
        for (_, path) in self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

impl Alive {
    /// Says that this process is alive, and finds those that are not.
    pub fn begin(folder: &Path, incarnation: &Who) -> io::Result<(Alive, Dead)> {
        private().recursive(true).create(folder)?;
        // Locked before it has its name: whoever finds it finds it locked.
        let draft = folder.join(format!(".{incarnation}"));
        let lock = File::create(&draft)?;
        lock.lock()?;
        let path = folder.join(incarnation.as_str());
        fs::rename(&draft, &path)?;
        let mut dead = Vec::new();
        for entry in fs::read_dir(folder)?.filter_map(Result::ok).filter(|entry| entry.path() != path) {
            let name = entry.file_name();
            let Some(who) =
                name.to_str().filter(|name| !name.starts_with('.')).and_then(|name| name.parse().ok())
            else {
                continue;
            };
            // Otherwise it lives; or it has just ended by itself.
            if File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
                dead.push((who, entry.path()));
            }
        }
        Ok((Alive { path, _lock: lock }, Dead(dead)))
    }
}
