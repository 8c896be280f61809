//! D5, D6, S1, S2, S5: a disk on which one call fails, once, by half or from then on, at every place there is.
//!
//! The child does the same every time. When it is told of an error it waits, the disk is mended, and it asks for the same
//! again in the same process: it must get on by itself, and what it was answered before and after must be there.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tenure_core::draw::Draw;
use tenure_databases::sqlite::Sqlite;

use crate::child::sqlite_options;
use crate::kills::file_is_sound;
use crate::oracle::{Acks, check};
use crate::power::{FILES, at_worst};
use crate::program::Program;
use crate::script::TURNS;
use crate::shim::{Errno, Failing, How, Shim};
use crate::{on_two_threads, rounds};

/// What a caller is told by a disk that fails.
fn is_clear(error: &str) -> bool {
    let sort = error.starts_with("error unavailable ") || error.starts_with("error unknown ");
    let words = [
        "is damaged",
        "can not be read or written",
        "can not be written",
        "can not be opened",
        "no space is left",
    ];
    sort && words.iter().any(|words| error.contains(words))
}

/// Fails every chosen call of one sort in turn. Answers how many calls failed and how many errors callers were told.
fn sweep(failing: Failing) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let shim = Shim::build(folder.path());
    let all = {
        let (acks, _) = play(&shim, Failing { at: 0, ..failing });
        assert_eq!(acks.errors, [""; 0], "a disk that works");
        shim.calls()
    };
    assert!(all > 0, "there is such a call: {failing:?}");
    let mut errors = 0;
    let chosen = rounds::sample(all, rounds::failing_calls(), &mut Draw::new(rounds::seed()));
    for at in &chosen {
        let failing = Failing { at: *at, ..failing };
        let (acks, database) = play(&shim, failing);
        for error in &acks.errors {
            assert!(is_clear(error), "{failing:?}: {error}");
        }
        errors += acks.errors.len();
        let path = database.path().join("tenure.db");
        file_is_sound(&path);
        on_two_threads(async { check(&Sqlite::open(&path, sqlite_options()).unwrap(), &acks).await });
    }
    eprintln!("{failing:?}: {} of {all} calls failed, callers were told {errors} times", chosen.len());
    (chosen.len(), errors)
}

/// Plays the script to its end on a fresh database.
fn play(shim: &Shim, failing: Failing) -> (Acks, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    // It is there before: what happens while it is made is another test's.
    drop(Sqlite::open(&path, sqlite_options()).unwrap());
    let acks = played(shim, failing, &path, &shim.variables(failing));
    (acks, folder)
}

fn played(shim: &Shim, failing: Failing, path: &Path, variables: &[(&str, String)]) -> Acks {
    let told = format!("script sqlite:{}", path.display());
    let mut child = Program::start_with(&told, variables);
    let mut acks = Acks::default();
    let mut ended = false;
    while let Some(line) = child.line() {
        acks.hear(&line);
        ended |= line == "end";
        // SQLite takes a page that can not be read for one that is damaged. It is not written to any more by this
        // process; whoever opens the file next finds it sound.
        if failing.call == "read" && line.contains("is damaged") {
            acks.hear_all(&child.kill());
            return acks;
        }
        if line.starts_with("error ") {
            assert!(acks.errors.len() < 50, "it does not recover: {failing:?} {:?}", acks.errors.last());
            shim.mend();
            child.go_on();
        }
    }
    assert!(child.ended_well() && ended, "it goes on in the same process: {failing:?} {:?}", acks.errors);
    acks
}

const WAL: Failing = Failing { files: "-wal", call: "write", at: 0, how: How::Once, errno: Errno::NoSpace };

// covers: K-02, K-03, K-53
#[test]
fn d6_no_space_at_any_write_is_a_clean_error_and_ends_when_there_is_space() {
    for how in [How::Once, How::Always, How::Torn] {
        let (calls, errors) = sweep(Failing { how, ..WAL });
        assert!(errors >= calls / 2, "the callers are told");
    }
    sweep(Failing { files: "tenure.db", ..WAL });
    sweep(Failing { files: "-shm", ..WAL });
}

/// Every sync fails in turn, once or until somebody mends the disk. What was answered is judged by what syncs have confirmed and by
/// nothing else: a yes for what a failed sync was about would be missing there.
// covers: K-02, K-03, K-53
#[test]
fn d5_a_sync_that_fails_is_never_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let shim = Shim::build(folder.path());
    let failing = Failing { call: "sync", files: FILES, errno: Errno::Io, ..WAL };
    let all = {
        let (acks, ..) = play_for_the_worst(&shim, failing);
        assert_eq!(acks.errors, [""; 0], "a disk that works");
        shim.calls()
    };
    assert!(all > TURNS, "every batch is synced: {all}");
    let mut dice = Draw::new(rounds::seed());
    for how in [How::Once, How::Always] {
        let (mut told, chosen) = (0, rounds::sample(all, rounds::failing_syncs(), &mut dice));
        for at in &chosen {
            let failing = Failing { at: *at, how, ..failing };
            let (acks, path, _folder) = play_for_the_worst(&shim, failing);
            assert!(acks.errors.iter().all(|error| is_clear(error)), "{failing:?}: {:?}", acks.errors);
            told += usize::from(!acks.errors.is_empty());
            file_is_sound(&path);
            on_two_threads(async { check(&Sqlite::open(&path, sqlite_options()).unwrap(), &acks).await });
        }
        eprintln!("{how:?}: {} of {all} syncs failed, callers were told of {told}", chosen.len());
        // What fails once is settled and run again. While nothing can be synced there is no yes; but the last syncs, when all is
        // answered, are nobody's.
        assert!(
            how == How::Once || told * 2 >= chosen.len(),
            "the callers are told: {told} of {}",
            chosen.len()
        );
    }
}

/// As [`play`]; answers what is left of the file when all that was not confirmed by a sync is lost.
fn play_for_the_worst(shim: &Shim, failing: Failing) -> (Acks, PathBuf, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    drop(Sqlite::open(&path, sqlite_options()).unwrap());
    let before = std::fs::read(&path).unwrap();
    let acks = played(shim, failing, &path, &shim.variables_with_journal(failing));
    let place = folder.path().join("after");
    std::fs::create_dir(&place).unwrap();
    (acks, at_worst(&before, &shim.journal(), &place), folder)
}

// covers: K-02, K-03, K-53
#[test]
fn s1_a_write_that_fails_or_is_cut_short_leaves_nothing_by_half() {
    for (how, files) in [(How::Once, "-wal"), (How::Torn, "-wal"), (How::Always, "tenure.db,-wal")] {
        sweep(Failing { how, files, errno: Errno::Io, ..WAL });
    }
    sweep(Failing { call: "truncate", files: "tenure.db,-wal,-shm", errno: Errno::Io, ..WAL });
}

// covers: K-02, K-53
#[test]
fn s5_a_disk_that_becomes_read_only_is_an_error_until_it_is_not() {
    sweep(Failing {
        how: How::Always,
        files: "tenure.db,-wal,-shm",
        call: "any",
        errno: Errno::ReadOnly,
        ..WAL
    });
}

// covers: K-02, K-53
#[test]
fn s2_a_read_that_fails_is_an_error_and_no_answer() {
    for how in [How::Once, How::Always] {
        sweep(Failing { call: "read", files: "tenure.db,-wal", how, errno: Errno::Io, ..WAL });
    }
}
