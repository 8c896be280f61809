//! The schema, brought up to date: numbered files, applied in order, never edited.
//!
//! All that are missing are applied in one transaction under a lock, so that of two processes one does it and the other
//! finds it done. A schema that is newer than this program is refused.

use super::OpenError;
use super::pool::{Ask, Connection, Pool};
use super::url::Address;
use super::value::{int, text};
use crate::Error;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Migration {
    pub number: i32,
    pub name: &'static str,
    pub sql: &'static str,
}

macro_rules! migrations {
    ($($number:literal $name:literal;)*) => {
        /// Every migration, in order.
        pub const MIGRATIONS: &[Migration] = &[$(Migration {
            number: $number,
            name: $name,
            sql: include_str!(concat!("../../migrations/postgres/", $name, ".sql")),
        }),*];
    };
}

migrations! {
    1 "0001_tables";
    2 "0002_wall";
    3 "0003_controls";
    4 "0004_marks";
    5 "0005_prune";
    6 "0006_secret";
    7 "0007_lifecycles";
    8 "0008_wall";
    9 "0009_waits";
}

/// The migrations that a database does not have yet. One that is not there has none.
pub async fn pending(url: &str) -> Result<Vec<Migration>, OpenError> {
    let address = Address::parse(url)?;
    let pool = Pool::new(&address, 1);
    let connection = pool.lend().await?;
    missing(&connection, &address).await
}

/// Applies what is pending. Answers what that was.
pub async fn apply(url: &str) -> Result<Vec<Migration>, OpenError> {
    let address = Address::parse(url)?;
    let pool = Pool::new(&address, 1);
    let connection = pool.lend().await?;
    bring_up(&connection, &address).await
}

pub(super) async fn bring_up(
    connection: &Connection,
    address: &Address,
) -> Result<Vec<Migration>, OpenError> {
    if missing(connection, address).await?.is_empty() {
        return Ok(Vec::new());
    }
    let applied = apply_missing(connection, address).await;
    if applied.is_err() {
        connection.roll_back();
    }
    applied
}

async fn apply_missing(connection: &Connection, address: &Address) -> Result<Vec<Migration>, OpenError> {
    const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended('tenure migrations ' || $1, 0))";
    connection.ask(vec![Ask::plain("begin"), Ask::rows(LOCK, [text(&address.schema)])]).await?;
    // Somebody else may have applied them while we waited.
    let missing = missing(connection, address).await?;
    connection.script("create schema if not exists @").await?;
    connection
        .script(
            "create table if not exists @.migrations (number integer primary key, name text not null, \
             applied_at timestamptz not null default now())",
        )
        .await?;
    for migration in &missing {
        connection.script(migration.sql).await?;
        const NOTE: &str = "insert into @.migrations (number, name) values ($1, $2)";
        connection.one(Ask::count(NOTE, [int(migration.number), text(migration.name)])).await?;
    }
    if address.is_default {
        connection.script(OFFER_INBOX).await?;
    }
    connection.one(Ask::plain("commit")).await?;
    Ok(missing)
}

/// `tenure_inbox` where everybody looks, if the name is free and we may. Whoever may not names the schema: it is a convenience, and
/// that it can not be made is no reason not to open the database. In the same transaction as the rest, since later nothing is missing.
const OFFER_INBOX: &str = "do $$ begin if to_regclass('public.tenure_inbox') is null then \
    create view public.tenure_inbox as select * from @.tenure_inbox; end if; \
    exception when others then null; end $$";

pub(super) async fn missing(connection: &Connection, address: &Address) -> Result<Vec<Migration>, OpenError> {
    // Not `to_regclass`: it remembers that there was none, and would not see what another process made while we waited.
    const THERE: &str = "select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace \
                         where n.nspname::text = $1 and c.relname = 'migrations')";
    let schema = address.schema.trim_matches('"');
    let found = connection.one(Ask::rows(THERE, [text(schema)])).await?;
    let there = found.rows.first().is_some_and(|row| row.get(0));
    if !there {
        return Ok(MIGRATIONS.to_vec());
    }
    let done = connection.one(Ask::rows("select number, name from @.migrations", [])).await?;
    let done: Vec<(i32, String)> = done.rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (number, name) in &done {
        if !MIGRATIONS.iter().any(|known| known.number == *number && known.name == name) {
            return Err(OpenError::Newer(format!("migration {name}")));
        }
    }
    let is_missing = |known: &&Migration| !done.iter().any(|(number, _)| known.number == *number);
    Ok(MIGRATIONS.iter().filter(is_missing).copied().collect())
}

impl From<Error> for OpenError {
    fn from(error: Error) -> OpenError {
        OpenError::Database(error)
    }
}
