//! The side file `<database>.server`: where a running server of this database can be reached.
//!
//! A command prefers the server to the file. The note may be left over from a server that was killed, so whoever reads it
//! asks whether that process is still there: a process id means nothing after the machine was started again, which is why
//! the note holds the boot it was written in.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Server {
    pub address: String,
    pub pid: u32,
    /// Which start of the machine the process belongs to.
    pub boot: String,
}

impl Server {
    /// This process, reachable at an address.
    pub fn here(address: impl Into<String>) -> Server {
        Server { address: address.into(), pid: std::process::id(), boot: this_boot() }
    }

    /// The process that wrote the note is gone.
    pub fn is_stale(&self) -> bool {
        self.boot != this_boot() || !Path::new("/proc").join(self.pid.to_string()).exists()
    }
}

fn this_boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_string()
}

fn side_file(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".server");
    PathBuf::from(name)
}

/// Leaves the note. It is written beside its place and moved there, so that nobody reads half of it.
pub fn advertise(database: &Path, server: &Server) -> io::Result<()> {
    let place = side_file(database);
    let draft = place.with_extension(format!("server.{}", server.pid));
    std::fs::write(&draft, serde_json::to_vec(server)?)?;
    std::fs::rename(&draft, &place)
}

/// Takes the note away, if it is still ours.
pub fn withdraw(database: &Path, server: &Server) -> io::Result<()> {
    match read_note(database)? {
        Some(found) if found == *server => std::fs::remove_file(side_file(database)),
        Some(_) | None => Ok(()),
    }
}

/// The server of this database, if one is running.
pub fn read(database: &Path) -> io::Result<Option<Server>> {
    Ok(read_note(database)?.filter(|server| !server.is_stale()))
}

/// The note as it was left, also where nobody is there any more.
pub(super) fn read_note(database: &Path) -> io::Result<Option<Server>> {
    match std::fs::read(side_file(database)) {
        // A note that can not be read is nobody's.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_until_it_withdraws() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("tenure.db");
        assert_eq!(read(&database).unwrap(), None);
        let server = Server::here("127.0.0.1:7171");
        advertise(&database, &server).unwrap();
        assert_eq!(read(&database).unwrap(), Some(server.clone()));
        withdraw(&database, &Server { address: "127.0.0.1:1".into(), ..server.clone() }).unwrap();
        assert_eq!(read(&database).unwrap(), Some(server.clone()), "nobody withdraws another's");
        withdraw(&database, &server).unwrap();
        assert_eq!(read(&database).unwrap(), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn a_note_of_a_process_that_is_gone_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("tenure.db");
        let here = Server::here("127.0.0.1:7171");
        // Linux has no process with this number.
        let gone = [Server { pid: u32::MAX, ..here.clone() }, Server { boot: "before".into(), ..here }];
        for server in gone {
            advertise(&database, &server).unwrap();
            assert_eq!(read(&database).unwrap(), None);
        }
        std::fs::write(side_file(&database), b"{\"address\":").unwrap();
        assert_eq!(read(&database).unwrap(), None, "half a note is none");
    }
}
