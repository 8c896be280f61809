//! What the doctor asks of a SQLite database: questions beside the writer, and the file, its wall, its disk and its neighbours.
//!
//! What a setting means is judged by [`Facts::judge`], which reads nothing. How durable a commit is can not be asked: that is a
//! setting of the connection that writes, and whoever opens it relaxed says so in its own health.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tenure_core::id::ItemId;
use tenure_core::time::Time;

use super::fault::error_of;
use super::{Sqlite, check_version, migrate, mounts, side};
use crate::Error;
use crate::doctor::{Check, Examined, Found, Limits, Patient, Row, Value, spoken};

const DIALECT: [(&str, &str); 6] = [
    // Otherwise a planner without statistics may read the whole table.
    ("/*items_active*/", "indexed by items_active"),
    ("{behind}", "i.slot = 2 and i.laned = 1"),
    ("{in_lane}", "instr(l.running, x.id) > 0"),
    ("{log}", "(select segment as pos, entries, lines, chain from segments)"),
    ("{segments}", "(select segment as pos, entries from segments order by segment desc limit {rows})"),
    // Anybody writes there, in any form; what is no time is never late.
    ("{posted}", "cast(unixepoch(p.created_at) as integer) * 1000000"),
];

impl Patient for Sqlite {
    async fn ask(&self, sql: &str) -> Result<Vec<Row>, Error> {
        let sql = spoken(sql, &DIALECT, "");
        self.readers.outside(|connection| rows(connection, &sql).map_err(|error| error_of(&error))).await
    }

    fn literal(id: ItemId) -> String {
        format!("x'{:032x}'", id.0)
    }

    async fn now(&self) -> Result<Time, Error> {
        Ok((self.shared.clock)())
    }

    async fn own(&self, limits: &Limits) -> Vec<Examined> {
        let mut all = Vec::new();
        let wall =
            self.readers.outside(|connection| wall(connection).map_err(|error| error_of(&error))).await;
        all.push(Examined::of(WALL, wall));
        match self.readers.outside(|connection| Ok(Facts::read(connection, self.path()))).await {
            Ok(facts) => all.extend(facts.judge(limits)),
            Err(why) => all.push(Examined::of(JOURNAL, Err(why))),
        }
        let quick = self.readers.outside(|connection| quick_check(connection, self.path(), limits)).await;
        all.push(Examined::of(QUICK_CHECK, quick));
        all
    }
}

fn rows(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut found = statement.query([])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(
            (0..columns).map(|column| Ok(value(row.get_ref(column)?))).collect::<rusqlite::Result<Row>>()?,
        );
    }
    Ok(rows)
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Number(number),
        ValueRef::Real(number) => Value::Text(number.to_string()),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

const WALL: Check = Check::wrong(
    "the second wall stands",
    "K-02, K-05, K-21",
    "somebody took constraints, triggers or indexes away: `tenure verify` the database, then `tenure export` it and `tenure replay` it into a new one",
);
const QUICK_CHECK: Check = Check::wrong(
    "the file is not damaged",
    "K-53",
    "stop everything that uses it, keep a copy, and restore the last backup",
);
const JOURNAL: Check = Check::wrong(
    "the journal is a write-ahead log",
    "K-03",
    "somebody changed it; any command that writes, and the server, sets it back: pragma journal_mode = wal",
);
const CHECKPOINT: Check = Check::wrong(
    "the write-ahead log is put in its place",
    "K-55",
    "a reader never ends and keeps it: look which process holds the file open (lsof FILE-wal) and end its transaction",
);
const DISK: Check =
    Check::wrong("the disk has room", "K-53", "make room, or move the database to a larger disk");
const PLACE: Check = Check::wrong(
    "the file is on a disk of this machine",
    "K-53",
    "SQLite's locks do not hold there: move it to a local disk, or use PostgreSQL",
);
const VERSION: Check =
    Check::wrong("SQLite is new enough", "K-53", "build Tenure with its own SQLite or a newer one");
const NOTE: Check = Check::note(
    "a note of a server that is gone",
    "K-55",
    "it is not believed, and the next server writes its own; if nobody starts one, remove the file",
);

/// What stands beside the rows, compared with a database that was made just now.
fn wall(connection: &Connection) -> rusqlite::Result<Examined> {
    const SQL: &str = "select type || ' ' || name, sql from sqlite_schema where sql is not null order by 1";
    let fresh = Connection::open_in_memory()?;
    for migration in migrate::MIGRATIONS {
        fresh.execute_batch(migration.sql)?;
    }
    let there = rows(connection, SQL)?;
    let meant = rows(&fresh, SQL)?;
    let mut found = Vec::new();
    for row in &meant {
        match there.iter().find(|there| there[0] == row[0]) {
            None => found.push(Found::new(row[0].text(), "is gone")),
            Some(there) if there[1] != row[1] => found.push(Found::new(row[0].text(), "was changed")),
            Some(_) => {}
        }
    }
    Ok(Examined::new(WALL, meant.len() as u64, found))
}

fn quick_check(connection: &Connection, path: &Path, limits: &Limits) -> Result<Examined, Error> {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    if bytes > limits.quick_check_bytes {
        let words = format!(
            "nothing: the file has {}, and more than {} is not read through",
            megabytes(bytes),
            megabytes(limits.quick_check_bytes)
        );
        return Ok(Examined::new(QUICK_CHECK, 0, Vec::new()).only(Some(words)));
    }
    let said = rows(connection, "pragma quick_check(1)").map_err(|error| error_of(&error))?;
    let found = said.iter().map(|row| row[0].text()).filter(|said| *said != "ok");
    let found = found.map(|said| Found::new(path.display(), said)).collect();
    let pages = rows(connection, "pragma page_count").map_err(|error| error_of(&error))?;
    Ok(Examined::new(QUICK_CHECK, pages.first().map_or(0, |row| row[0].number().unsigned_abs()), found))
}

/// What is so around a database.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Facts {
    journal_mode: String,
    wal_bytes: u64,
    /// None: it can not be asked.
    free_bytes: Option<u64>,
    network: Option<String>,
    sqlite: i32,
    leftover: Option<side::Server>,
}

impl Facts {
    fn read(connection: &Connection, path: &Path) -> Facts {
        let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get(0));
        let mut wal = path.as_os_str().to_owned();
        wal.push("-wal");
        let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
        let folder = folder.unwrap_or_default();
        let disk = rustix::fs::statvfs(&folder).ok();
        Facts {
            journal_mode: mode.unwrap_or_default(),
            wal_bytes: std::fs::metadata(PathBuf::from(wal)).map_or(0, |file| file.len()),
            free_bytes: disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
            network: mounts::network_file_system(&mounts::list(), &folder),
            sqlite: rusqlite::version_number(),
            leftover: side::read_left_behind(path).ok().flatten(),
        }
    }

    fn judge(&self, limits: &Limits) -> Vec<Examined> {
        let found =
            |is: bool, id: &str, what: String| if is { vec![Found::new(id, what)] } else { Vec::new() };
        let journal = format!("is `{}`: readers and the writer wait for each other", self.journal_mode);
        let wal = format!("has {}", megabytes(self.wal_bytes));
        let free = self.free_bytes.unwrap_or(u64::MAX);
        let network = self.network.clone().unwrap_or_default();
        let version = check_version(self.sqlite).err().map(|error| error.to_string());
        let leftover = self.leftover.iter();
        let leftover = leftover.map(|server| {
            Found::new(format!("process {}", server.pid), format!("was at {}", server.address))
        });
        vec![
            Examined::new(JOURNAL, 1, found(self.journal_mode != "wal", "journal_mode", journal)),
            Examined::new(
                CHECKPOINT,
                1,
                found(self.wal_bytes > limits.wal_bytes, "the write-ahead log", wal),
            ),
            Examined::new(
                DISK,
                u64::from(self.free_bytes.is_some()),
                found(free < limits.free_bytes, "the disk", format!("has {} left", megabytes(free))),
            ),
            Examined::new(PLACE, 1, found(self.network.is_some(), "the file", format!("is on {network}"))),
            Examined::new(
                VERSION,
                1,
                found(version.is_some(), "SQLite", version.clone().unwrap_or_default()),
            ),
            Examined::new(NOTE, 1, leftover.collect()),
        ]
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    fn well() -> Facts {
        Facts {
            journal_mode: "wal".to_string(),
            wal_bytes: 16 << 20,
            free_bytes: Some(10 << 30),
            network: None,
            sqlite: 3_054_001,
            leftover: None,
        }
    }

    /// The one check that finds something, and what.
    fn told(facts: Facts) -> Vec<(&'static str, Verdict, String)> {
        let judged = facts.judge(&Limits::default()).into_iter().filter(|one| one.verdict != Verdict::Well);
        judged
            .map(|one| (one.check.name, one.verdict, format!("{} {}", one.found[0].id, one.found[0].what)))
            .collect()
    }

    // covers: K-03, K-53, K-55
    #[test]
    fn each_setting_that_endangers_a_file_is_told_alone() {
        assert_eq!(told(well()), []);
        assert_eq!(told(Facts { free_bytes: None, ..well() }), [], "what can not be asked is not told");
        let gone = side::Server { address: "127.0.0.1:7171".into(), pid: 7 };
        for (facts, check, verdict, what) in [
            (
                Facts { journal_mode: "delete".into(), ..well() },
                JOURNAL,
                Verdict::Wrong,
                "journal_mode is `delete`: readers and the writer wait for each other",
            ),
            (
                Facts { wal_bytes: 129 << 20, ..well() },
                CHECKPOINT,
                Verdict::Wrong,
                "the write-ahead log has 129 MB",
            ),
            (
                Facts { free_bytes: Some(511 << 20), ..well() },
                DISK,
                Verdict::Wrong,
                "the disk has 511 MB left",
            ),
            (Facts { network: Some("nfs4".into()), ..well() }, PLACE, Verdict::Wrong, "the file is on nfs4"),
            (
                Facts { leftover: Some(gone), ..well() },
                NOTE,
                Verdict::Noted,
                "process 7 was at 127.0.0.1:7171",
            ),
        ] {
            assert_eq!(told(facts), [(check.name, verdict, what.to_string())]);
        }
        let old = told(Facts { sqlite: 3_051_002, ..well() });
        assert_eq!((old.len(), old[0].0), (1, VERSION.name));
    }
}
