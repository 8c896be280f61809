//! D3, D4, D5: the power is cut. What was written and not synced is lost, whole or by sectors; so is, for ever, what a sync
//! that failed was about, since a system may forget that it never reached the disk.
//!
//! The disk is the journal that the child's calls left: every state it could have been in at that moment is one choice of
//! what got there.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tenure_core::draw::Draw;
use tenure_databases::Database;
use tenure_databases::sqlite::Sqlite;

use crate::child::sqlite_options;
use crate::kills::file_is_sound;
use crate::oracle::{Acks, check};
use crate::program::Program;
use crate::requests::store;
use crate::shim::{Errno, Failing, How, Shim};
use crate::{on_two_threads, rounds};

/// What a disk writes in one piece.
const SECTOR: usize = 512;
const LINES_MAX: u64 = 150;
/// In the order in which the journal numbers them.
pub const FILES: &str = "tenure.db,tenure.db-wal";

#[derive(Debug)]
struct Call {
    what: What,
    /// It is on the disk, whatever happens.
    durable: bool,
}

#[derive(Debug)]
enum What {
    Write { at: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

/// What was done to each file, and which of it was synced.
fn journal(path: &Path) -> [Vec<Call>; 2] {
    let mut files: [Vec<Call>; 2] = Default::default();
    // Until the next sync; a sync that failed is never made up for.
    let mut since = [0, 0];
    let bytes = std::fs::read(path).expect("the child left a journal");
    let mut rest = &bytes[..];
    // The process may have been killed in the middle of a record: what that was about is not synced.
    while let Some((head, tail)) = rest.split_at_checked(18) {
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap()) as usize;
        let (sort, file) = (head[0], usize::from(head[1]) - 1);
        let (offset, length) = (number(2), number(10));
        rest = tail;
        let calls = &mut files[file];
        match sort {
            b'W' => {
                let Some((bytes, tail)) = rest.split_at_checked(length) else { break };
                rest = tail;
                calls.push(Call { what: What::Write { at: offset, bytes: bytes.to_vec() }, durable: false });
            }
            b'T' => calls.push(Call { what: What::Truncate { length: offset }, durable: false }),
            b'S' => {
                calls[since[file]..].iter_mut().for_each(|call| call.durable = true);
                since[file] = calls.len();
            }
            b'F' => since[file] = calls.len(),
            _ => panic!("a record of the sort {sort}"),
        }
    }
    files
}

/// The file as it is found afterwards.
fn after_the_cut(mut file: Vec<u8>, calls: &[Call], dice: &mut Draw) -> Vec<u8> {
    let put = |file: &mut Vec<u8>, at: usize, bytes: &[u8]| {
        file.resize(file.len().max(at + bytes.len()), 0);
        file[at..at + bytes.len()].copy_from_slice(bytes);
    };
    // Up to some call all of it got there, synced or not; after that the dice say.
    let whole = (dice.number() % (calls.len() as u64 + 1)) as usize;
    for (number, call) in calls.iter().enumerate() {
        let fate = if call.durable || number < whole { 0 } else { dice.number() % 3 };
        match (&call.what, fate) {
            (What::Write { at, bytes }, 0) => put(&mut file, *at, bytes),
            (What::Truncate { length }, 0) => file.resize(*length, 0),
            // Some of its sectors got there.
            (What::Write { at, bytes }, 1) => {
                for (sector, piece) in bytes.chunks(SECTOR).enumerate() {
                    if dice.number().is_multiple_of(2) {
                        put(&mut file, at + sector * SECTOR, piece);
                    }
                }
            }
            (What::Write { .. } | What::Truncate { .. }, _) => {}
        }
    }
    file
}

/// The files as they are found in the worst case: nothing is there but what a sync has confirmed.
pub fn at_worst(before: &[u8], journal_file: &Path, place: &Path) -> PathBuf {
    let synced = |mut calls: Vec<Call>| {
        calls.retain(|call| call.durable);
        calls
    };
    let [database, log] = journal(journal_file).map(synced);
    // All that is left is durable: the dice have nothing to say.
    let mut dice = Draw::new(0);
    std::fs::write(place.join("tenure.db"), after_the_cut(before.to_vec(), &database, &mut dice)).unwrap();
    std::fs::write(place.join("tenure.db-wal"), after_the_cut(Vec::new(), &log, &mut dice)).unwrap();
    place.join("tenure.db")
}

/// Lets a writer work, ends it and cuts the power. Answers what it was answered and where what is left is.
fn cut(sort: &str, seed: u64, failing: Failing) -> (Acks, PathBuf, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let shim = Shim::build(folder.path());
    let path = folder.path().join("tenure.db");
    drop(Sqlite::open(&path, sqlite_options()).unwrap());
    let before = std::fs::read(&path).unwrap();
    let mut dice = Draw::new(seed);
    let told = format!("{sort} sqlite:{} {seed} 1", path.display());
    let mut child = Program::start_with(&told, &shim.variables_with_journal(failing));
    let mut acks = Acks::default();
    for _ in 0..1 + dice.number() % LINES_MAX {
        let line = child.line().expect("it works until it is killed");
        acks.hear(&line);
        if line.starts_with("error ") {
            child.go_on();
        }
    }
    acks.hear_all(&child.kill());
    let [database, log] = journal(&shim.journal());
    let place = folder.path().join("after");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("tenure.db"), after_the_cut(before, &database, &mut dice)).unwrap();
    std::fs::write(place.join("tenure.db-wal"), after_the_cut(Vec::new(), &log, &mut dice)).unwrap();
    let path = place.join("tenure.db");
    file_is_sound(&path);
    (acks, path, folder)
}

/// Everything that was answered is there. Answers how much that was.
fn nothing_is_lost(seed: u64, failing: Failing) -> usize {
    let (acks, path, _folder) = cut("writer", seed, failing);
    on_two_threads(async { check(&Sqlite::open(&path, sqlite_options()).unwrap(), &acks).await });
    acks.lines
}

const WORKING: Failing = Failing { files: FILES, call: "sync", at: 0, how: How::Once, errno: Errno::Io };

// covers: K-02, K-03, K-50
#[test]
fn d3_a_power_cut_takes_nothing_that_was_answered() {
    let seed = rounds::seed();
    let rounds = 0..rounds::power_cuts() as u64;
    let answers: usize = rounds.map(|round| nothing_is_lost(seed + round, WORKING)).sum();
    eprintln!("{answers} answers");
}

/// What is lost are the last ones; before them nothing is missing. (That something is lost shows that a cut is one.)
#[test]
fn d4_a_relaxed_database_loses_its_end_and_nothing_else() {
    let seed = rounds::seed();
    let (mut kept, mut lost) = (0, 0);
    for round in 0..rounds::power_cuts() as u64 {
        let (acks, path, _folder) = cut("relaxed", seed + round, WORKING);
        on_two_threads(async {
            let database = Sqlite::open(&path, sqlite_options()).unwrap();
            check(&database, &Acks::default()).await;
            let mut there = Vec::new();
            for item in &acks.order {
                there.push(database.item(&store(), *item).await.unwrap().is_some());
            }
            assert!(there.is_sorted_by(|before, after| before >= after), "a gap: {there:?}");
            kept += there.iter().filter(|there| **there).count();
            lost += there.iter().filter(|there| !**there).count();
        });
    }
    eprintln!("{kept} kept, {lost} lost");
    assert!(lost > 0, "the power was cut");
}

// covers: K-02, K-03, K-53
#[test]
fn d5_what_a_failed_sync_was_about_is_answered_only_once_it_is_on_the_disk() {
    let seed = rounds::seed();
    for round in 0..rounds::power_cuts() {
        let failing = Failing { at: 1 + round % 8, ..WORKING };
        nothing_is_lost(seed + round as u64, failing);
    }
}
