//! D9: one byte of a database file is changed. Every answer is right or an error, and `verify` finds what was changed in
//! the log.

use std::collections::BTreeMap;

use tenure_core::draw::Draw;
use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_databases::sqlite::Sqlite;
use tenure_databases::{Database, verify};

use crate::child::sqlite_options;
use crate::files::left_behind;
use crate::oracle::items;
use crate::requests::store;
use crate::{on_two_threads, rounds};

/// What the log says, and each item's history: the data of events.
type Truth = (Vec<(u64, Sealed)>, BTreeMap<ItemId, Vec<Sealed>>);

async fn truth(database: &Sqlite) -> Truth {
    let log = database.log(0, 1_000).await.unwrap();
    let mut histories = BTreeMap::new();
    for item in items(database).await {
        histories.insert(item.id, database.history(&store(), item.id).await.unwrap());
    }
    (log, histories)
}

/// What became of one flip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Came {
    Refused,
    Found,
    /// Nothing that is read has changed.
    Harmless,
}

async fn judge(database: &Sqlite, (log, histories): &Truth) -> Came {
    let mut wrong = false;
    let mut failed = false;
    match database.log(0, 1_000).await {
        Ok(read) => wrong |= read != *log,
        Err(_) => failed = true,
    }
    for (item, history) in histories {
        match database.history(&store(), *item).await {
            // An item whose row is gone has no history; the log still has it, and so `verify` misses it.
            Ok(read) => wrong |= read != *history,
            Err(_) => failed = true,
        }
    }
    let verified = verify::database(database, None, |_| {}).await;
    let found = verified.as_ref().map_or(true, |report| !report.is_sound());
    assert!(found || !wrong, "event data was changed and nobody says so: {failed} {verified:?}");
    if failed || found { Came::Found } else { Came::Harmless }
}

// covers: K-43
#[test]
fn d9_a_byte_that_was_changed_is_found_or_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let seed = rounds::seed();
    let (path, _) = left_behind(folder.path(), seed);
    let mut dice = Draw::new(seed);
    let mut came: BTreeMap<Came, usize> = BTreeMap::new();
    on_two_threads(async {
        // Opened and closed, all of it is in the one file.
        let truth = truth(&Sqlite::open(&path, sqlite_options()).unwrap()).await;
        let sound = std::fs::read(&path).unwrap();
        for round in 0..rounds::flips() {
            let mut bytes = sound.clone();
            let at = (dice.number() % bytes.len() as u64) as usize;
            let bit = 1 << (dice.number() % 8);
            bytes[at] ^= bit;
            let place = folder.path().join(format!("flipped-{round}.db"));
            std::fs::write(&place, bytes).unwrap();
            eprintln!("bit {bit} of byte {at}");
            let what = match Sqlite::open(&place, sqlite_options()) {
                Ok(database) => judge(&database, &truth).await,
                Err(_) => Came::Refused,
            };
            *came.entry(what).or_default() += 1;
            std::fs::remove_file(place).unwrap();
        }
    });
    eprintln!("{came:?}");
}

// covers: K-43
#[test]
fn d9_a_file_that_was_cut_short_is_refused_or_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = left_behind(folder.path(), rounds::seed());
    on_two_threads(async {
        let truth = truth(&Sqlite::open(&path, sqlite_options()).unwrap()).await;
        let sound = std::fs::read(&path).unwrap();
        for part in [1, 3, 7] {
            let place = folder.path().join(format!("cut-{part}.db"));
            std::fs::write(&place, &sound[..sound.len() * part / 8]).unwrap();
            if let Ok(database) = Sqlite::open(&place, sqlite_options()) {
                assert_eq!(judge(&database, &truth).await, Came::Found);
            }
        }
    });
}
