//! S3, S4, S6–S8: what people and programs do to the files beside and under a running database.

use std::path::{Path, PathBuf};

use tenure_core::answer::Answer;
use tenure_core::draw::Draw;
use tenure_databases::sqlite::{Sqlite, side};
use tenure_databases::{Database, Error, batch};

use crate::child::sqlite_options;
use crate::kills::file_is_sound;
use crate::oracle::{Acks, check, items};
use crate::program::Program;
use crate::requests::*;
use crate::{on_two_threads, rounds};

/// A database that a writer worked on and was killed over, with what it was answered.
pub fn left_behind(folder: &Path, seed: u64) -> (PathBuf, Acks) {
    let path = folder.join("tenure.db");
    let mut child = Program::start(&format!("writer sqlite:{} {seed} 1", path.display()));
    let mut acks = Acks::default();
    for _ in 0..120 {
        acks.hear(&child.line().expect("it works until it is killed"));
    }
    acks.hear_all(&child.kill());
    (path, acks)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

// covers: K-03, K-50
#[test]
fn s4_a_lost_index_of_the_log_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, acks) = left_behind(folder.path(), rounds::seed());
    assert!(beside(&path, "-wal").exists(), "the writer was killed over its log");
    std::fs::remove_file(beside(&path, "-shm")).unwrap();
    on_two_threads(async { check(&Sqlite::open(&path, sqlite_options()).unwrap(), &acks).await });
    // One that is wrong is made again too.
    let (path, acks) = left_behind(folder.path(), Draw::new(rounds::seed()).number());
    std::fs::write(beside(&path, "-shm"), vec![0x5a; 32 << 10]).unwrap();
    on_two_threads(async { check(&Sqlite::open(&path, sqlite_options()).unwrap(), &acks).await });
}

/// Whoever copies the file of a database that is not in use has all of it.
#[test]
fn a_database_that_was_closed_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, acks) = left_behind(folder.path(), rounds::seed());
    on_two_threads(async { check(&Sqlite::open(&path, sqlite_options()).unwrap(), &acks).await });
    assert!(!beside(&path, "-wal").exists() && !beside(&path, "-shm").exists(), "nothing is left beside it");
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    on_two_threads(async { check(&Sqlite::open(&copy, sqlite_options()).unwrap(), &acks).await });
}

/// With the log go the writes that are only there. What is left is an older state, and whole.
#[test]
fn s3_without_its_log_a_database_is_older_and_sound_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = left_behind(folder.path(), rounds::seed());
    std::fs::remove_file(beside(&path, "-wal")).unwrap();
    on_two_threads(async {
        let database = Sqlite::open(&path, sqlite_options()).expect("it opens");
        check(&database, &Acks::default()).await;
    });
}

#[test]
fn s6_a_note_of_a_server_that_was_killed_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, acks) = left_behind(folder.path(), rounds::seed());
    // The number is that of a living process, and still nobody holds the note.
    let gone = side::Server::here("127.0.0.1:7171");
    std::fs::write(beside(&path, ".server"), serde_json::to_vec(&gone).unwrap()).unwrap();
    assert_eq!(side::read(&path).unwrap(), None);
    on_two_threads(async { check(&Sqlite::open(&path, sqlite_options()).unwrap(), &acks).await });
}

// covers: K-03, K-08, K-45
#[test]
fn s7_two_processes_write_one_file_and_neither_harms_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    let url = format!("sqlite:{}", path.display());
    let seed = rounds::seed();
    // Both find no file: one makes it, the other finds it made.
    let mut children = [seed, seed + 1].map(|seed| Program::start(&format!("writer {url} {seed} 1")));
    let mut all = Acks::default();
    for _ in 0..40 {
        for child in &mut children {
            all.hear_all(&child.until("leased "));
        }
    }
    for child in children {
        all.hear_all(&child.kill());
    }
    assert!(all.errors.iter().all(|error| error.contains("is busy")), "{:?}", all.errors);
    file_is_sound(&path);
    on_two_threads(async { check(&Sqlite::open(&path, sqlite_options()).unwrap(), &all).await });
}

// covers: K-51
#[test]
fn s8_an_impossible_row_is_put_aside_and_the_rest_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    on_two_threads(async {
        let database = Sqlite::open(&path, sqlite_options()).unwrap();
        let mut draw = Draw::new(rounds::seed());
        let mut made = Vec::new();
        for _ in 0..3 {
            let replies = batch::run(&database, &[create(new("job", "{}"))], &mut draw).await;
            let Answer::Created(item) = &replies[0].as_ref().unwrap().answer else { panic!("{replies:?}") };
            made.push(item.id);
        }
        // The first in the queue gets a rest that is none, by somebody who has taken the wall down.
        let raw = rusqlite::Connection::open(&path).unwrap();
        let bad = made[0].0.to_be_bytes();
        assert_eq!(raw.execute("update items set rest = x'ff' where id = ?1", [bad]).unwrap(), 1);
        let acquire = request("worker:w/1", acquire(&["job"], 3));
        let replies = batch::run(&database, &[acquire], &mut draw).await;
        let leased = leases(replies[0].as_ref().unwrap().answer.clone());
        assert_eq!(ids(&leased), made[1..], "the rest runs");
        let why: String =
            raw.query_row("select why from quarantine where item = ?1", [bad], |row| row.get(0)).unwrap();
        assert!(!why.is_empty());
        // Asked for by name it is an error that names it, and costs nobody else anything.
        let asked = [request("worker:w/1", take(made[0])), create(new("job", "{}"))];
        let replies = batch::run(&database, &asked, &mut draw).await;
        let Err(Error::Statement(words)) = &replies[0] else { panic!("{replies:?}") };
        assert!(words.contains(&made[0].to_string()), "{words}");
        assert!(matches!(&replies[1], Ok(reply) if reply.answer.is_yes()), "{replies:?}");
        assert_eq!(items(&database).await.len(), 3, "a list has all but that one");
        assert!(database.item(&store(), made[0]).await.is_err(), "and it is no item");
    });
}
