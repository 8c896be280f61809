//! What SQLite and the disk under it can do: a bare table in the same journal mode, and the disk alone.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use rusqlite::Connection;

use super::Sample;
use crate::commands::bench::measure::rate;
use crate::commands::bench::work::payload;
use crate::outcome::Error;
use crate::time::Stopwatch;

pub const COMMIT_1: &str = "commit_1";
pub const COMMIT_100: &str = "commit_100";
const FDATASYNC: &str = "fdatasync";

/// Samples every limit once. `n` is how many commits of one row that means; of larger ones fewer are needed.
pub fn sample(folder: &Path, n: usize) -> Result<Vec<Sample>, Error> {
    let many = n.div_ceil(10);
    Ok(vec![
        Sample { name: COMMIT_1, callers: 1, batch: 1, n, rate: commits(folder, n, 1).map_err(failed)? },
        Sample {
            name: COMMIT_100,
            callers: 1,
            batch: 100,
            n: 100 * many,
            rate: commits(folder, many, 100).map_err(failed)?,
        },
        Sample { name: FDATASYNC, callers: 1, batch: 1, n, rate: appends(folder, n)? },
    ])
}

fn failed(error: rusqlite::Error) -> Error {
    Error::Bench(error.to_string())
}

/// Rows a second.
fn commits(folder: &Path, commits: usize, rows: usize) -> rusqlite::Result<f64> {
    let path = folder.join("bare.db");
    let connection = Connection::open(&path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection
        .execute_batch("drop table if exists bare; create table bare (id integer primary key, body text)")?;
    let watch = Stopwatch::start();
    let mut insert = connection.prepare("insert into bare (body) values (?1)")?;
    for commit in 0..commits {
        connection.prepare_cached("begin immediate")?.execute([])?;
        for row in 0..rows {
            insert.execute([payload(commit * rows + row)])?;
        }
        connection.prepare_cached("commit")?.execute([])?;
    }
    Ok(rate(commits * rows, watch.elapsed()))
}

/// Appends of a page, each with its sync.
fn appends(folder: &Path, n: usize) -> Result<f64, Error> {
    let path = folder.join("bare.log");
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&path)?;
    let page = [7; 4_096];
    let watch = Stopwatch::start();
    for _ in 0..n {
        file.write_all(&page)?;
        file.sync_data()?;
    }
    Ok(rate(n, watch.elapsed()))
}
