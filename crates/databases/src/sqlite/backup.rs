//! A copy of the database while it is in use: one reader's snapshot, written to a file of its own.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::Connection;

use super::fault::error_of;
use super::open::make_private;
use crate::Error;

/// Copies what this connection sees. The copy appears whole or not at all, and replaces nothing.
pub(super) fn backup(connection: &Connection, to: &Path) -> Result<(), Error> {
    if to.exists() {
        return Err(Error::Statement(format!("{} exists already; name another file", to.display())));
    }
    let mut draft = to.as_os_str().to_owned();
    draft.push(format!(".{}.part", std::process::id()));
    let draft = Path::new(&draft);
    let copied = copy(connection, draft, to);
    if copied.is_err() {
        // Nothing is lost when this fails too: the name says what it is.
        let _ = std::fs::remove_file(draft);
    }
    copied
}

fn copy(connection: &Connection, draft: &Path, to: &Path) -> Result<(), Error> {
    let name = draft.to_str().ok_or_else(|| Error::Statement("the path is not UTF-8".to_string()))?;
    // What it is a copy of is its owner's alone, too.
    make_private(draft);
    connection.execute("vacuum into ?1", [name]).map_err(|error| error_of(&error))?;
    let failed = |error: io::Error| Error::Unavailable(format!("the backup {}: {error}", to.display()));
    File::open(draft).and_then(|file| file.sync_all()).map_err(failed)?;
    // A link, unlike a rename, refuses a name that was taken meanwhile.
    std::fs::hard_link(draft, to).and_then(|()| std::fs::remove_file(draft)).map_err(failed)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}
