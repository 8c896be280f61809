//! A scratch folder for SQLite, on a disk: in memory nothing is durable and nothing would be measured.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tenure_core::lifecycle::shipped;
use tenure_databases::gather::{Gather, Options, Writers};
use tenure_databases::sqlite::{self, Sqlite};

use crate::commands::bench::store::Stage;
use crate::outcome::Error;
use tenure_databases::outside::chance;

#[derive(Debug)]
pub struct Folder {
    scratch: TempDir,
    made: usize,
}

impl Folder {
    /// A scratch folder inside this one; the current one where it has no name.
    pub fn new(folder: &str) -> Result<Folder, Error> {
        let folder = fs::canonicalize(if folder.is_empty() { "." } else { folder })?;
        if let Some(sort) = file_system_in_memory(&folder) {
            let folder = folder.display();
            return Err(Error::Bench(format!("{folder} is in memory ({sort}), where nothing is durable")));
        }
        let scratch = tempfile::Builder::new().prefix(".tenure-bench-").tempdir_in(folder)?;
        Ok(Folder { scratch, made: 0 })
    }

    pub fn path(&self) -> &Path {
        self.scratch.path()
    }

    pub fn clear(&mut self) -> Result<(), Error> {
        for entry in fs::read_dir(self.path())? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    pub fn make(&mut self) -> Result<Stage, Error> {
        self.made += 1;
        let path = self.path().join(format!("{}.db", self.made));
        let options = sqlite::Options { tables: shipped::tables(), ..sqlite::Options::default() };
        let database = Sqlite::open(&path, options)?;
        let gather = Gather::start(Arc::new(database), Options::new(Writers::Thread, chance()));
        Ok(Stage { gather })
    }

    pub fn remove(self) -> Result<(), Error> {
        Ok(self.scratch.close()?)
    }
}

/// The sort of file system, if it is one that forgets.
fn file_system_in_memory(folder: &Path) -> Option<String> {
    // Where there is no such list nothing is known, and nothing is refused.
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let around = mounts.filter(|(place, _)| folder.starts_with(place));
    let (_, sort) = around.max_by_key(|(place, _)| place.len())?;
    ["tmpfs", "ramfs"].contains(&sort).then(|| sort.to_string())
}
