//! Noticing that somebody wrote to the file, in this process or another. Asking costs one look at shared memory.

use rusqlite::Connection;

use super::fault::error_of;
use super::{Sqlite, open};
use crate::Error;

#[derive(Debug)]
pub struct Watch {
    connection: Connection,
    seen: i64,
}

impl Sqlite {
    pub fn watch(&self) -> Result<Watch, Error> {
        let connection = open::reader(&self.shared.path).map_err(|error| error_of(&error))?;
        let mut watch = Watch { connection, seen: 0 };
        watch.has_changed()?;
        Ok(watch)
    }
}

impl Watch {
    /// Whether anything was written since it was last asked.
    pub fn has_changed(&mut self) -> Result<bool, Error> {
        let read = self.connection.prepare_cached("pragma data_version");
        let version: i64 = read
            .and_then(|mut read| read.query_row([], |row| row.get(0)))
            .map_err(|error| error_of(&error))?;
        Ok(std::mem::replace(&mut self.seen, version) != version)
    }
}
