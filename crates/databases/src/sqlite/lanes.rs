//! Lanes as rows: what the kernel says of a key, and which item is the next behind it; and what holds a kind back.

use rusqlite::{OptionalExtension, params};
use tenure_core::control::{Control, QueueKey};
use tenure_core::lifecycle::settings::Rate;
use tenure_core::word::{Key, Kind};
use tenure_core::world::{Lane, LaneKey};

use super::fault::Fault;
use super::rows::{id_bytes, id_from};
use super::tx::Parts;
use super::write::queue_for;
use crate::row::bytes::word;
use crate::row::lane::{self, LaneRow};
use crate::row::{Damaged, control};

/// Lanes that one claim looks at again because of the time, at most; and lanes that it takes away.
const MORE_MAX: i64 = 1_000;
const OVER_MAX: i64 = 100;

pub(super) fn write_lane(parts: &mut Parts<'_>, key: &LaneKey, lane: &Lane) -> Result<usize, Fault> {
    let queue = queue_for(parts, &key.store, &key.kind)?;
    let row = LaneRow::of(lane, &key.kind, &parts.context.lifecycles.tables, parts.scratch.now);
    let sql = "insert into lanes (queue, key, running, open, latest, starts, room, more_at, over_at) \
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) on conflict (queue, key) do update set running = excluded.running, \
        open = excluded.open, latest = excluded.latest, starts = excluded.starts, room = excluded.room, \
        more_at = excluded.more_at, over_at = excluded.over_at";
    let mut statement = parts.context.connection.prepare_cached(sql)?;
    let (open, latest) = (row.open.map(id_bytes), row.latest.map(id_bytes));
    let written = statement.execute(params![
        queue,
        key.key.as_str(),
        row.running,
        open,
        latest,
        row.starts,
        row.room,
        row.more_at,
        row.over_at
    ])?;
    parts.scratch.stale_lanes.insert((queue, key.key.to_string()));
    Ok(written)
}

/// Finds out which item is next in every lane that was touched. A lane with nothing in it goes.
pub(super) fn settle_lanes(parts: &mut Parts<'_>) -> Result<(), Fault> {
    let connection = parts.context.connection;
    for (queue, key) in std::mem::take(&mut parts.scratch.stale_lanes) {
        let sql = "select id, rank from items where queue = ?1 and key = ?2 and slot = 2 and laned = 1 \
            order by created, id limit 1";
        let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let next: Option<([u8; 16], i64)> =
            connection.prepare_cached(sql)?.query_row((queue, &key), columns).optional()?;
        let (id, rank) = next.unzip();
        let (_, kind) = parts.context.queues.place(connection, queue)?;
        let new = LaneRow::of(&Lane::default(), kind, &parts.context.lifecycles.tables, parts.scratch.now);
        let sql = "insert into lanes (queue, key, next_id, next_rank, room) values (?1, ?2, ?3, ?4, ?5) \
            on conflict (queue, key) do update set next_id = excluded.next_id, next_rank = excluded.next_rank";
        connection.prepare_cached(sql)?.execute(params![queue, key, id, rank, new.room])?;
        let sql = "delete from lanes where queue = ?1 and key = ?2 and running = x'' and open is null \
            and latest is null and next_id is null and coalesce(over_at, 0) <= ?3";
        connection.prepare_cached(sql)?.execute((queue, &key, parts.scratch.now.micros()))?;
    }
    Ok(())
}

/// Lanes that have more room by now learn of it, and those that are over go.
pub(super) fn let_time_pass(parts: &mut Parts<'_>, queue: i64) -> Result<(), Fault> {
    let (connection, now) = (parts.context.connection, parts.scratch.now);
    let (store, kind) = parts.context.queues.place(connection, queue)?;
    let (store, kind) = (store.clone(), kind.clone());
    let Some(rate) = rate_of_keys(parts, &kind) else { return Ok(()) };
    let sql = "delete from lanes where (queue, key) in (select queue, key from lanes indexed by lanes_over \
        where queue = ?1 and over_at is not null and next_id is null and over_at <= ?2 and running = x'' \
        and open is null and latest is null order by over_at limit ?3)";
    connection.prepare_cached(sql)?.execute((queue, now.micros(), OVER_MAX))?;
    let sql = "select key, running, open, latest, starts from lanes indexed by lanes_more \
        where queue = ?1 and more_at is not null and next_id is not null and more_at between ?2 and ?3 \
        order by more_at limit ?4";
    let mut statement = connection.prepare_cached(sql)?;
    let mut due: Vec<(LaneKey, Lane)> = Vec::new();
    // Those that were given a time by a clock that was ahead, too.
    let beyond = lane::more_at_max(rate, now).micros().saturating_add(1);
    for (from, to) in [(i64::MIN, now.micros()), (beyond, i64::MAX)] {
        let mut rows = statement.query((queue, from, to, MORE_MAX))?;
        while let Some(row) = rows.next()? {
            let key: Key = word(&row.get::<_, String>(0)?)?;
            due.push((LaneKey { store: store.clone(), kind: kind.clone(), key }, read_lane(row, 1)?));
        }
    }
    for (key, lane) in due {
        write_lane(parts, &key, &lane)?;
    }
    Ok(())
}

fn rate_of_keys(parts: &Parts<'_>, kind: &Kind) -> Option<Rate> {
    parts.context.lifecycles.tables.laned(kind)?.settings.rate.key
}

/// A lane from running, open, latest and starts.
pub(super) fn read_lane(row: &rusqlite::Row<'_>, from: usize) -> Result<Lane, Fault> {
    let id = |index| -> rusqlite::Result<_> { Ok(row.get::<_, Option<[u8; 16]>>(index)?.map(id_from)) };
    let starts: Option<Vec<u8>> = row.get(from + 3)?;
    let (open, latest) = (id(from + 1)?, id(from + 2)?);
    Ok(lane::read(&row.get::<_, Vec<u8>>(from)?, open, latest, starts.as_deref())?)
}

pub(super) fn write_control(
    parts: &mut Parts<'_>,
    key: &QueueKey,
    control: &Control,
) -> Result<usize, Fault> {
    let queue = queue_for(parts, &key.store, &key.kind)?;
    let connection = parts.context.connection;
    if *control == Control::default() {
        connection.prepare_cached("delete from controls where queue = ?1")?.execute([queue])?;
        return Ok(1);
    }
    let sql = "insert into controls (queue, value) values (?1, ?2) \
        on conflict (queue) do update set value = excluded.value";
    Ok(connection.prepare_cached(sql)?.execute((queue, control::write(control)))?)
}

pub(super) fn read_control(connection: &rusqlite::Connection, queue: i64) -> Result<Option<Control>, Fault> {
    let mut statement = connection.prepare_cached("select value from controls where queue = ?1")?;
    let value: Option<String> = statement.query_row([queue], |row| row.get(0)).optional()?;
    let damaged = |why: Damaged| Damaged(format!("what holds queue {queue} back: {}", why.0));
    Ok(value.map(|value| control::read(&value)).transpose().map_err(damaged)?)
}

/// The held items of a kind.
pub(super) fn count_active(connection: &rusqlite::Connection, queue: i64) -> Result<u32, Fault> {
    let sql = "select count(*) from items indexed by items_active where queue = ?1 and slot = 3";
    Ok(connection.prepare_cached(sql)?.query_row([queue], |row| row.get(0))?)
}
