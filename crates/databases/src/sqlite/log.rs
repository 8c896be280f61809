//! The log: one segment a transaction. Under the write lock its place is known at once: a segment's number is the position
//! of its first entry, and the chain goes on from the last one's.

use rusqlite::{Connection, OptionalExtension, params};
use tenure_core::entry::Sealed;
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::time::Time;
use tenure_core::word::Store;

use super::fault::Fault;
use super::lanes::settle_lanes;
use super::remove;
use super::rows::{Context, id_bytes};
use super::tx::{Last, Parts};
use crate::row::{Damaged, signed, unsigned};
use crate::segment::{self, Kept, Pressed};
use crate::{BatchId, Head, PAGE_MAX};

/// Where the log ends.
pub(super) fn last(connection: &Connection) -> Result<Last, Fault> {
    let sql = "select segment + entries - 1, chain, at from segments order by segment desc limit 1";
    let columns = |row: &rusqlite::Row<'_>| {
        Ok(Last { position: row.get(0)?, chain: Hash(row.get(1)?), at: Time::from_micros(row.get(2)?) })
    };
    let last = connection.prepare_cached(sql)?.query_row([], columns).optional()?;
    Ok(last.unwrap_or(Last::NONE))
}

pub(super) fn append(parts: &mut Parts<'_>, batch: BatchId, entries: &[Sealed]) -> Result<(), Fault> {
    settle_lanes(parts)?;
    if entries.is_empty() {
        assert!(parts.scratch.leaving.is_empty(), "what is removed is in the log");
        return Ok(());
    }
    if parts.scratch.leaving.is_empty() {
        remove::forget_marks(parts.context.connection)?;
    }
    let last = parts.scratch.last;
    let segment = last.next();
    let chain = entries.iter().fold(last.chain, |chain, entry| chain.link(&entry.hash()));
    // An entry follows what was found of its item, or another entry of this very segment.
    let previous = |entry: &Sealed| {
        let found = parts.scratch.known.get(&entry.item).filter(|known| known.version + 1 == entry.version);
        let previous = found.map_or(segment, |known| known.segment);
        (entry.version > 1).then_some(previous.unsigned_abs())
    };
    let pressed = parts.scratch.pressed.take().unwrap_or_else(|| Pressed::of(entries));
    let lines = segment::write(entries, &pressed, previous);
    // `or rollback`, as for the rows: without it SQLite copies the page that it goes to, in case that only this statement is undone.
    let sql = "insert or rollback into segments (segment, batch, entries, at, lines, chain) \
        values (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = parts.context.connection.prepare_cached(sql)?;
    let at = entries.iter().map(|entry| entry.at).fold(parts.scratch.now, Time::max);
    let (batch, count) = (batch.0.to_be_bytes(), entries.len() as i64);
    statement.execute(params![segment, batch, count, at.micros(), lines, chain.0])?;
    if last.at > at {
        note_latest(parts.context.connection, last.at)?;
    }
    parts.scratch.last = Last { position: last.position + count, chain, at };
    let leaving = std::mem::take(&mut parts.scratch.leaving);
    leaving.iter().try_for_each(|item| remove::delete(parts.context.connection, item))
}

/// The clock was set back: later segments no longer say how far the log had come.
fn note_latest(connection: &Connection, at: Time) -> Result<(), rusqlite::Error> {
    let sql = "update meta set value = ?1 where name = 'latest' and value < ?1";
    connection.prepare_cached(sql)?.execute([at.micros()]).map(drop)
}

/// The latest time in the log.
pub(super) fn latest(connection: &Connection) -> Result<Time, Fault> {
    let sql = "select cast(value as integer) from meta where name = 'latest'";
    let noted: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(last(connection)?.at.max(Time::from_micros(noted)))
}

pub(super) fn head(connection: &Connection) -> Result<Head, Fault> {
    let last = last(connection)?;
    Ok(Head { position: unsigned(last.position)?, chain: last.chain })
}

/// Whether a batch is in the log, at a position or behind it.
pub(super) fn has_batch(connection: &Connection, batch: BatchId, from: i64) -> Result<bool, rusqlite::Error> {
    let sql = "select 1 from segments where segment >= ?1 and batch = ?2";
    connection.prepare_cached(sql)?.exists((from, batch.0.to_be_bytes()))
}

/// An item's entries, oldest first, found by walking back from its last.
pub(super) fn history(context: &mut Context<'_>, store: &Store, id: ItemId) -> Result<Vec<Sealed>, Fault> {
    let connection = context.connection;
    let sql = "select queue, segment, version from items where id = ?1";
    let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Option<(i64, i64, i64)> =
        connection.prepare_cached(sql)?.query_row([id_bytes(id)], columns).optional()?;
    let Some((queue, segment, version)) = found else { return Ok(Vec::new()) };
    if context.queues.place(connection, queue)?.0 != *store {
        return Ok(Vec::new());
    }
    walk(connection, id, segment, version).map_err(|fault| match fault {
        Fault::Row(damaged) => Fault::Item(id, damaged),
        Fault::Sql(_) | Fault::Item(..) => fault,
    })
}

fn walk(connection: &Connection, id: ItemId, segment: i64, version: i64) -> Result<Vec<Sealed>, Fault> {
    let mut backwards: Vec<Sealed> = Vec::new();
    let mut next = Some(segment);
    let name = id.to_string();
    let mut statement = connection.prepare_cached("select lines from segments where segment = ?1")?;
    while let Some(segment) = next {
        let lines: Option<Vec<u8>> = statement.query_row([segment], |row| row.get(0)).optional()?;
        let lines = lines.ok_or_else(|| Damaged(format!("the log has no segment {segment}")))?;
        next = None;
        for kept in segment::read(&lines)?.iter().rev().filter(|kept| names(kept, &name)) {
            let entry = kept.read()?;
            if entry.item == id {
                next = kept.previous.map(signed);
                backwards.push(entry);
            }
        }
        // Backwards only: the first entry of an item in a segment follows one of an earlier segment.
        if next.is_some_and(|next| next >= segment) || backwards.is_empty() {
            return Err(Damaged::because("its history leads nowhere").into());
        }
    }
    backwards.reverse();
    if backwards.len() as i64 != version {
        return Err(Damaged(format!("its history has {} entries of {version}", backwards.len())).into());
    }
    Ok(backwards)
}

/// Whether a line could be about an item: most of a segment is about others, and need not be read for that.
fn names(kept: &Kept, name: &str) -> bool {
    std::str::from_utf8(&kept.line).is_ok_and(|line| line.contains(name))
}

/// The log after a position.
pub(super) fn log(connection: &Connection, after: u64, limit: usize) -> Result<Vec<(u64, Sealed)>, Fault> {
    let limit = limit.min(PAGE_MAX);
    let sql = "select segment, lines from segments where segment >= \
        (select segment from segments where segment <= ?1 order by segment desc limit 1) order by segment";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([signed(after.saturating_add(1))])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let first = unsigned(row.get(0)?)?;
        let lines: &[u8] =
            row.get_ref(1)?.as_blob().map_err(|_| Damaged::because("a segment has no lines"))?;
        for (position, kept) in (first..).zip(segment::read(lines)?) {
            if entries.len() == limit {
                return Ok(entries);
            }
            if position > after {
                entries.push((position, kept.read()?));
            }
        }
    }
    Ok(entries)
}
