//! Migrations: the schema, step by step, all pending steps in one transaction with the number they lead to.
//!
//! A file has the old schema or the new one, never something between; a process that dies on the way leaves the old.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{OpenError, open};

/// One numbered step. Never edited once it was released.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The `user_version` it leads to.
    pub number: i32,
    pub name: &'static str,
    pub sql: &'static str,
}

macro_rules! migrations {
    ($($number:literal $name:literal $file:literal;)*) => {
        /// Every migration, in order.
        pub const MIGRATIONS: &[Migration] = &[$(Migration {
            number: $number,
            name: $name,
            sql: include_str!(concat!("../../migrations/sqlite/", $file, ".sql")),
        }),*];
    };
}

migrations! {
    1 "first" "0001_first";
    2 "controls" "0002_controls";
    3 "marks" "0003_marks";
    4 "prune" "0004_prune";
    5 "secret" "0005_secret";
    6 "replace" "0006_replace";
    7 "readers" "0007_readers";
    8 "wall" "0008_wall";
    9 "waits" "0009_waits";
}

/// `tenu`, so that `file` and we know whose database it is.
pub const APPLICATION: i32 = 0x7465_6e75;

/// A migration waits this long for whoever is writing.
const BUSY: Duration = Duration::from_secs(30);

/// The steps that a file still needs. A file that does not exist needs all of them. Refuses a place where none may be opened.
pub fn pending(path: &Path) -> Result<Vec<Migration>, OpenError> {
    let path = &open::check_place(path)?;
    if !path.exists() {
        return Ok(MIGRATIONS.to_vec());
    }
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found = version(&connection, path, MIGRATIONS)?;
    Ok(MIGRATIONS.iter().filter(|migration| migration.number > found).copied().collect())
}

/// Brings a file up to date and says which steps that took. Refuses a place where none may be opened.
pub fn apply(path: &Path) -> Result<Vec<Migration>, OpenError> {
    let path = &open::check_place(path)?;
    open::make_private(path);
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    open::shape(&connection, path)?;
    run(&mut connection, path, MIGRATIONS)
}

/// The schema that a file has; 0 for an empty one. Refuses what is not ours and what is newer than we know.
pub(super) fn version(
    connection: &Connection,
    path: &Path,
    migrations: &[Migration],
) -> Result<i32, OpenError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let application = number("application_id")?;
    let found = number("user_version")?;
    let tables: i64 = connection.query_row("select count(*) from sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (application != 0 || found != 0 || tables != 0) {
        return Err(OpenError::NotOurs(path.into()));
    }
    let known = migrations.last().map_or(0, |migration| migration.number);
    if found > known {
        return Err(OpenError::Newer { path: path.into(), found, known });
    }
    Ok(found)
}

/// Runs what is pending of a list. Whoever comes second finds nothing left to do.
pub fn run(
    connection: &mut Connection,
    path: &Path,
    migrations: &[Migration],
) -> Result<Vec<Migration>, OpenError> {
    let done = version(connection, path, migrations)?;
    if migrations.iter().all(|migration| migration.number <= done) {
        return Ok(Vec::new());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction, path, migrations)?;
    let pending: Vec<Migration> =
        migrations.iter().filter(|migration| migration.number > found).copied().collect();
    for migration in &pending {
        transaction.execute_batch(migration.sql)?;
        transaction.pragma_update(None, "user_version", migration.number)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.commit()?;
    Ok(pending)
}
