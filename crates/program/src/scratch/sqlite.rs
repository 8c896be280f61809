//! A scratch folder for SQLite.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tenure_databases::sqlite::OpenError;

use crate::outcome::Error;
use tenure_databases::url::SecretUrl;

#[derive(Debug)]
pub struct Folder {
    scratch: TempDir,
    made: usize,
}

impl Folder {
    /// A scratch folder inside this one; the current one where it has no name.
    pub fn new(folder: &str, command: &str) -> Result<Folder, Error> {
        let folder = if folder.is_empty() { "." } else { folder };
        let folder = fs::canonicalize(folder).map_err(|_| OpenError::NoFolder(folder.into()))?;
        let scratch = tempfile::Builder::new().prefix(&format!(".tenure-{command}-")).tempdir_in(folder)?;
        Ok(Folder { scratch, made: 0 })
    }

    pub fn path(&self) -> &Path {
        self.scratch.path()
    }

    pub fn place(&mut self) -> SecretUrl {
        self.made += 1;
        format!("sqlite:{}", self.path().join(format!("{}.db", self.made)).display()).into()
    }

    pub fn clear(&mut self) -> Result<(), Error> {
        for entry in fs::read_dir(self.path())? {
            let path = entry?.path();
            // The files of documents are in a folder beside their database.
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        Ok(())
    }

    pub fn remove(self) -> Result<(), Error> {
        Ok(self.scratch.close()?)
    }

    pub fn keep(self) {
        let _ = self.scratch.keep();
    }

    /// The sort of file system, if it is one that forgets.
    pub fn in_memory(&self) -> Option<String> {
        // Where there is no such list nothing is known, and nothing is refused.
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let mounts = mounts.lines().filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        });
        let around = mounts.filter(|(place, _)| self.path().starts_with(place));
        let (_, sort) = around.max_by_key(|(place, _)| place.len())?;
        ["tmpfs", "ramfs"].contains(&sort).then(|| sort.to_string())
    }
}
