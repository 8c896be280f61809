//! The same few batches every time, so that the n-th call to the disk is the same call in every run.

use tenure_databases::Database;
use tenure_databases::url::Url;

use crate::voice::Voice;
use crate::writer::Worker;

/// Any will do, as long as it stays the same.
const SEED: u64 = 7;
pub const TURNS: usize = 8;
/// After this many the write-ahead log is put in its place, as it is at some time in every database's life.
const CHECKPOINT_AFTER: usize = 5;

pub async fn play<D: Database>(database: &D, voice: &Voice, url: &str) {
    let mut worker = Worker::new(database, voice, SEED, 0);
    for turn in 1..=TURNS {
        worker.turn().await;
        if turn == CHECKPOINT_AFTER
            && let Ok(Url::Sqlite(path)) = url.parse()
        {
            let checkpoint = |connection: rusqlite::Connection| {
                connection.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get::<_, i64>(0))
            };
            match rusqlite::Connection::open(path).and_then(checkpoint) {
                Ok(busy) => voice.say(&format!("checkpoint {busy}")),
                // Nothing depends on it: what is not put in its place yet stays where it is.
                Err(error) => voice.say(&format!("checkpoint failed: {error}")),
            }
        }
    }
}
