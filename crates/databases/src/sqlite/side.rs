//! The side file `<database>.server`: where a running server of this database can be reached.
//!
//! A command prefers the server to the file. The server holds a lock on the note for as long as it lives, and the system takes
//! the lock back with the process, however that ends: a note that nobody holds is that of a dead server and is not believed. Process
//! ids say nothing here. In a container the next server has the number of the last one, and a number may by now be another's.
//!
//! ```text
//!   claim ─▶ Seat (locked, empty) ─▶ advertise (locked, with an address) ─▶ dropped (gone)
//!                                                    └─ killed ─▶ left behind (not locked): the next claim takes it over
//! ```
//!
//! Readers look with a shared lock that they hold for an instant, so a server that finds the note taken looks again before it says
//! by whom.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::open::real;

/// What the note says. Notes of older versions say more, which is not looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Server {
    pub address: String,
    /// For people: nothing is concluded from it.
    pub pid: u32,
}

impl Server {
    /// This process, reachable at an address.
    pub fn here(address: impl Into<String>) -> Server {
        Server { address: address.into(), pid: std::process::id() }
    }
}

/// The place of the one server of a database. Dropped, it is free, and the note is gone.
#[derive(Debug)]
pub struct Seat {
    path: PathBuf,
    note: File,
}

/// What came of asking for the seat.
#[derive(Debug)]
pub enum Claimed {
    Ours(Seat),
    /// Another server lives. None: it has not said yet where it listens.
    Theirs(Option<Server>),
}

/// A reader holds its shared lock for a few microseconds. So many of them in a row are no accident, and whoever meets
/// them is told so.
const LOOKS_MAX: u32 = 100_000;

/// Takes the seat of a database's server, for as long as the answer lives. Of any number who ask at once one gets it.
pub fn claim(database: &Path) -> io::Result<Claimed> {
    let path = side_file(database);
    for _ in 0..LOOKS_MAX {
        // Its owner's alone, as the database is.
        let mut options = OpenOptions::new();
        let note = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        match note.try_lock() {
            // Who left just now took the note away, and this lock is on nothing that others can find.
            Ok(()) if !is_at(&note, &path)? => {}
            Ok(()) => {
                // What a dead server said is not believed again because a new one holds the lock.
                note.set_len(0)?;
                return Ok(Claimed::Ours(Seat { path, note }));
            }
            Err(TryLockError::WouldBlock) => {
                if let Look::Held(server) = look(note)? {
                    return Ok(Claimed::Theirs(server));
                }
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        std::thread::yield_now();
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, format!("others look at {} all the time", path.display())))
}

impl Seat {
    /// Says where the server listens.
    pub fn advertise(&mut self, server: &Server) -> io::Result<()> {
        // One write, so that nobody reads half of it.
        let text = serde_json::to_vec(server)?;
        self.note.set_len(0)?;
        self.note.rewind()?;
        self.note.write_all(&text)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // While it is still locked, so that nobody else's note is taken away. One that stays is held by nobody.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The server of this database, if one is running.
pub fn read(database: &Path) -> io::Result<Option<Server>> {
    match open(database)?.map(look).transpose()? {
        Some(Look::Held(server)) => Ok(server),
        Some(Look::LeftBehind(_)) | None => Ok(None),
    }
}

/// The note of a server that is gone.
pub(super) fn read_left_behind(database: &Path) -> io::Result<Option<Server>> {
    match open(database)?.map(look).transpose()? {
        Some(Look::LeftBehind(server)) => Ok(server),
        Some(Look::Held(_)) | None => Ok(None),
    }
}

enum Look {
    Held(Option<Server>),
    LeftBehind(Option<Server>),
}

fn look(mut note: File) -> io::Result<Look> {
    let is_held = match note.try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(error)) => return Err(error),
    };
    let mut bytes = Vec::new();
    note.read_to_end(&mut bytes)?;
    // What can not be read says nothing; while it is held, it is not written yet.
    let server = serde_json::from_slice(&bytes).ok();
    Ok(if is_held { Look::Held(server) } else { Look::LeftBehind(server) })
}

fn open(database: &Path) -> io::Result<Option<File>> {
    match File::open(side_file(database)) {
        Ok(note) => Ok(Some(note)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether this is the file that is found under this name.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Beside the file itself, by whatever link it was named: a database has one server.
fn side_file(database: &Path) -> PathBuf {
    let mut name = real(database).into_os_string();
    name.push(".server");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};
    use std::sync::Barrier;

    use super::*;

    /// A database's path in a folder of its own.
    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("tenure.db");
        (folder, database)
    }

    #[track_caller]
    fn ours(database: &Path) -> Seat {
        match claim(database).unwrap() {
            Claimed::Ours(seat) => seat,
            Claimed::Theirs(server) => panic!("{server:?} has it"),
        }
    }

    #[track_caller]
    fn theirs(database: &Path) -> Option<Server> {
        match claim(database).unwrap() {
            Claimed::Ours(_) => panic!("nobody had it"),
            Claimed::Theirs(server) => server,
        }
    }

    /// As a process leaves it that was killed.
    fn leave_behind(database: &Path, pid: u32) {
        let note = Server { pid, ..Server::here("127.0.0.1:7171") };
        std::fs::write(side_file(database), serde_json::to_vec(&note).unwrap()).unwrap();
        assert_eq!(read_left_behind(database).unwrap(), Some(note));
    }

    #[test]
    fn a_server_is_found_until_it_is_gone() {
        let (folder, database) = scratch();
        assert_eq!(read(&database).unwrap(), None);
        let mut seat = ours(&database);
        assert_eq!(
            (read(&database).unwrap(), theirs(&database)),
            (None, None),
            "it has not said where it is"
        );
        let server = Server::here("127.0.0.1:7171");
        seat.advertise(&server).unwrap();
        assert_eq!(read(&database).unwrap(), Some(server.clone()));
        assert_eq!(theirs(&database), Some(server.clone()));
        assert_eq!(read_left_behind(&database).unwrap(), None, "it is there");
        let moved = Server { address: "[::1]:1".into(), ..server };
        seat.advertise(&moved).unwrap();
        assert_eq!(read(&database).unwrap(), Some(moved), "a shorter note leaves nothing of a longer one");
        let mode = std::fs::metadata(side_file(&database)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(seat);
        assert_eq!(read(&database).unwrap(), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
        drop(ours(&database));
    }

    /// A number is nobody's proof of life: it is another's, or that of who looks, or of a process that only waits to be buried.
    // fault: S6
    #[test]
    fn a_note_that_nobody_holds_is_not_believed_whatever_process_has_its_number() {
        let (_folder, database) = scratch();
        let mut living = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let mut zombie = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        zombie.kill().unwrap();
        for pid in [living.id(), zombie.id(), std::process::id(), 1, u32::MAX] {
            leave_behind(&database, pid);
            assert_eq!(read(&database).unwrap(), None, "process {pid}");
            let seat = ours(&database);
            assert_eq!(read(&database).unwrap(), None, "the old address is not the new server's");
            drop(seat);
        }
        for half in ["", "{\"address\":"] {
            std::fs::write(side_file(&database), half).unwrap();
            assert_eq!(read(&database).unwrap(), None, "half a note is none");
            drop(ours(&database));
        }
        living.kill().unwrap();
        living.wait().unwrap();
        zombie.wait().unwrap();
    }

    #[test]
    fn a_link_to_a_database_is_no_second_place_for_a_server() {
        let (folder, database) = scratch();
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink("tenure.db", &link).unwrap();
        let mut seat = ours(&link);
        let here = Server::here("127.0.0.1:7171");
        seat.advertise(&here).unwrap();
        assert_eq!(theirs(&database).as_ref(), Some(&here));
        assert_eq!(read(&database).unwrap().as_ref(), Some(&here));
        drop(seat);
        let seat = ours(&database);
        assert_eq!(theirs(&link), None);
        drop(seat);
        drop(ours(&link));
    }

    #[test]
    fn of_many_that_start_at_once_one_is_the_server_also_while_others_look() {
        const MANY: usize = 8;
        let (_folder, database) = scratch();
        for round in 0..50 {
            if round % 2 == 0 {
                leave_behind(&database, std::process::id());
            }
            let (begin, end) = (Barrier::new(MANY + 1), Barrier::new(MANY));
            let winners: usize = std::thread::scope(|scope| {
                scope.spawn(|| {
                    begin.wait();
                    (0..200).for_each(|_| drop(read(&database).unwrap()));
                });
                let claims = (0..MANY).map(|_| {
                    scope.spawn(|| {
                        begin.wait();
                        let claimed = claim(&database).unwrap();
                        // Nobody leaves before all have asked.
                        end.wait();
                        usize::from(matches!(claimed, Claimed::Ours(_)))
                    })
                });
                let claims: Vec<_> = claims.collect();
                claims.into_iter().map(|claim| claim.join().unwrap()).sum()
            });
            assert_eq!(winners, 1, "round {round}");
        }
    }

    /// One that leaves takes its note away while the next one already has the file open.
    #[test]
    fn servers_that_come_and_go_never_overlap() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let (_folder, database) = scratch();
        let (inside, seats) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        if let Claimed::Ours(seat) = claim(&database).unwrap() {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                            inside.fetch_sub(1, Ordering::SeqCst);
                            seats.fetch_add(1, Ordering::SeqCst);
                            drop(seat);
                        }
                    }
                });
            }
        });
        // A claim is refused only while another one is granted.
        assert!(seats.load(Ordering::SeqCst) > 0, "no claim was granted");
        assert!(matches!(claim(&database).unwrap(), Claimed::Ours(_)), "all have gone");
    }
}
