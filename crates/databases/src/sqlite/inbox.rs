//! The inbox: rows that somebody's own transaction left, to become items.
//!
//! Any driver writes them, so any type can stand in any column. What can not be read as what it should be is judged here,
//! in words for whoever wrote it; everything else is judged by the kernel.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use tenure_core::time::Time;

use crate::Posted;

/// The oldest rows that were not judged yet.
pub(super) fn waiting(connection: &Connection, limit: usize) -> Result<Vec<Posted>, rusqlite::Error> {
    let sql = "select id, store, kind, payload, idempotency_key, key, priority, run_at from tenure_inbox \
        where error is null order by id limit ?1";
    let mut bad = Vec::new();
    let mut posted = Vec::new();
    {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([i64::try_from(limit).unwrap_or(i64::MAX)])?;
        while let Some(row) = rows.next()? {
            match read(row)? {
                Ok(row) => posted.push(row),
                Err(why) => bad.push((row.get(0)?, Some(why))),
            }
        }
    }
    judged(connection, &bad)?;
    Ok(posted)
}

pub(super) fn judged(connection: &Connection, rows: &[(i64, Option<String>)]) -> Result<(), rusqlite::Error> {
    for (id, why) in rows {
        match why {
            None => connection.prepare_cached("delete from tenure_inbox where id = ?1")?.execute([id])?,
            Some(why) => {
                let sql = "update tenure_inbox set error = ?2 where id = ?1";
                connection.prepare_cached(sql)?.execute((id, why))?
            }
        };
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Result<Posted, String>, rusqlite::Error> {
    let mut wrong = None;
    let mut text = |index: usize, name: &str| -> Result<Option<String>, rusqlite::Error> {
        let value = row.get_ref(index)?;
        let text = match value {
            ValueRef::Null => return Ok(None),
            ValueRef::Integer(number) => Some(number.to_string()),
            ValueRef::Real(number) => Some(number.to_string()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                std::str::from_utf8(bytes).ok().map(str::to_string)
            }
        };
        if text.is_none() {
            wrong = Some(format!("{name} is not UTF-8 text"));
        }
        Ok(text)
    };
    let id = row.get(0)?;
    let (store, kind, payload) = (text(1, "store")?, text(2, "kind")?, text(3, "payload")?);
    let (idempotency_key, key) = (text(4, "idempotency_key")?, text(5, "key")?);
    let priority = match row.get_ref(6)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number),
        ValueRef::Text(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
            wrong = Some("priority is not an integer".to_string());
            None
        }
    };
    let run_at = match row.get_ref(7)? {
        ValueRef::Null => None,
        ValueRef::Integer(micros) => Some(micros),
        ValueRef::Text(bytes) if time(bytes).is_some() => time(bytes).map(Time::micros),
        ValueRef::Text(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
            wrong = Some(
                "run_at is neither microseconds since 1970 nor a time like 2026-11-15T20:25:00Z".to_string(),
            );
            None
        }
    };
    let posted = Posted { id, store, kind, payload, idempotency_key, key, priority, run_at };
    Ok(wrong.map_or(Ok(posted), Err))
}

/// RFC 3339, or what SQLite's own `datetime()` gives, which is UTC.
fn time(bytes: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}
