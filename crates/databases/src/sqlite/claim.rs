//! Offering candidates: ready, due items in rank order, with what a decision about them needs.
//!
//! Two indexes hold them: items that wait for no key, and of every key whose turn is free the one that is next. A queue
//! with a million rows of one busy key costs a claim nothing.

use std::collections::BTreeSet;

use rusqlite::params;
use tenure_core::id::ItemId;
#[cfg(doc)]
use tenure_core::item::Item;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::World;

use super::fault::Fault;
use super::lanes::{let_time_pass, settle_lanes};
use super::load::{Hanging, enter, load_hanging};
use super::rows::{FoundItem, Read, id_bytes, read_item};
use super::tx::Parts;
use super::write::note_lane;
use crate::Place;

/// Due rows that one claim moves over to the ready ones. More would make everyone wait for a claim of one item; the rest
/// comes with the next.
const PROMOTE_MAX: i64 = 1_000;
/// How often one claim puts items back that are not due. There are such items only after a correction of the clock.
const PUT_BACK_MAX: usize = 100;

pub(super) fn claim(
    parts: &mut Parts<'_>,
    world: &mut World,
    (store, kind): (&Store, &Kind),
    after: Option<Place>,
    limit: usize,
) -> Result<Vec<Place>, Fault> {
    let context = &mut parts.context;
    let Some(queue) = context.queues.number(context.connection, store, kind)? else {
        return Ok(Vec::new());
    };
    if context.lifecycles.is_foreign(kind) {
        return Ok(Vec::new());
    }
    promote(parts, queue)?;
    let_time_pass(parts, queue)?;
    // A row that can not be read, or is not due, is taken out of the way and the rest is looked at again.
    let mut left = PUT_BACK_MAX;
    loop {
        settle_lanes(parts)?;
        match offer(parts, world, (queue, kind), after, limit) {
            // More are left for the next claim.
            Ok(None) if left == 0 => return Ok(Vec::new()),
            Ok(None) => left -= 1,
            Ok(Some(offered)) => return Ok(offered),
            Err(Fault::Item(item, damaged)) => {
                let now = parts.scratch.now;
                quarantine(parts, item, &damaged.0, now)?;
                parts.scratch.quarantined.push((item, damaged.0));
            }
            Err(fault) => return Err(fault),
        }
    }
}

/// Rows whose time has come.
const DUE: &str = "from items indexed by items_scheduled where queue = ?1 and slot = 1 and run_at <= ?2";
/// Retries that were put off by a clock that was ahead: see [`Item::is_early`].
pub(super) const PUT_OFF: &str = "from items indexed by items_retried where queue = ?1 and slot = 1 and wait is not null and run_at - wait > ?2";

/// Moves rows whose time has come to where claims look. Only the derived columns change.
fn promote(parts: &mut Parts<'_>, queue: i64) -> Result<(), Fault> {
    for due in [DUE, PUT_OFF] {
        // Mostly there are none, and asking is cheaper than the update that finds none.
        let sql = format!("select 1 {due}");
        if parts.context.connection.prepare_cached(&sql)?.exists((queue, parts.scratch.now.micros()))? {
            promote_some(parts, queue, due)?;
        }
    }
    Ok(())
}

fn promote_some(parts: &mut Parts<'_>, queue: i64, due: &str) -> Result<(), Fault> {
    let sql = format!(
        "update items set slot = 2 where rowid in (select rowid {due} order by run_at, id limit ?3) returning laned, key"
    );
    let sql = &sql;
    let mut statement = parts.context.connection.prepare_cached(sql)?;
    let mut rows = statement.query((queue, parts.scratch.now.micros(), PROMOTE_MAX))?;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(0)? == 1 {
            parts.scratch.stale_lanes.insert((queue, row.get(1)?));
        }
    }
    Ok(())
}

/// Takes an item out of every index, with the reason beside it.
pub(super) fn quarantine(parts: &mut Parts<'_>, item: ItemId, why: &str, at: Time) -> Result<(), Fault> {
    let connection = parts.context.connection;
    let sql = "update items set slot = -1 where id = ?1 and slot between 1 and 2 returning queue, laned, key";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id_bytes(item)])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(1)? == 1 {
            parts.scratch.stale_lanes.insert((row.get(0)?, row.get(2)?));
        }
    }
    let sql = "insert into quarantine (item, why, at) values (?1, ?2, ?3) on conflict do nothing";
    connection.prepare_cached(sql)?.execute(params![id_bytes(item), why, at.micros()])?;
    Ok(())
}

/// None: look again.
fn offer(
    parts: &mut Parts<'_>,
    world: &mut World,
    (queue, kind): (i64, &Kind),
    after: Option<Place>,
    limit: usize,
) -> Result<Option<Vec<Place>>, Fault> {
    // The index is named, so that no statistics and no planner ever make it a scan.
    let free = items_from!(
        "items i indexed by items_ready",
        "i.queue = ?1 and i.slot = 2 and i.laned = 0 and (i.rank, i.id) > (?2, ?3) order by i.rank, i.id limit ?4"
    );
    let found = candidates(parts, free, queue, after, limit)?;
    let mut found: Vec<(Place, FoundItem)> =
        found.into_iter().map(|found| (Place::of(&found.item), found)).collect();
    let in_turn = behind_lanes(parts, (queue, kind), after, limit)?;
    if !in_turn.is_empty() {
        found.extend(in_turn);
        found.sort_by_key(|(place, _)| *place);
        found.truncate(limit);
    }
    if put_back(parts, queue, &found)? {
        return Ok(None);
    }
    let mut offered = Vec::with_capacity(found.len());
    for (place, found) in found {
        let id = found.item.id;
        let mut hanging = Hanging::default();
        hanging.note(&found.item);
        enter(parts, world, found)?;
        // What can not be read beside it keeps a decision about it from being made, so it is as if itself could not.
        load_hanging(parts, world, hanging).map_err(|fault| match fault {
            Fault::Item(_, damaged) => Fault::Item(id, damaged),
            Fault::Row(damaged) => Fault::Item(id, damaged),
            Fault::Sql(_) => fault,
        })?;
        offered.push(place);
    }
    debug_assert_eq!(
        offered.iter().map(|place| place.id).collect::<BTreeSet<_>>().len(),
        offered.len(),
        "no item is offered twice"
    );
    Ok(Some(offered))
}

/// Items whose time has not come after all, because a clock that was ahead moved them over, are scheduled again.
fn put_back(parts: &mut Parts<'_>, queue: i64, found: &[(Place, FoundItem)]) -> Result<bool, Fault> {
    let now = parts.scratch.now;
    let mut has_put_back = false;
    for (_, early) in found.iter().filter(|(_, found)| found.item.is_early(now)) {
        let sql = "update items set slot = 1 where rowid = ?1 and slot = 2";
        let written = parts.context.connection.prepare_cached(sql)?.execute([early.rowid])?;
        has_put_back |= written > 0;
        note_lane(parts, queue, &early.item);
    }
    parts.scratch.has_put_back |= has_put_back;
    Ok(has_put_back)
}

/// Of every lane with room the oldest items, as many as it has room for. Lanes are walked in the order of their first items,
/// until no further one can have anything that comes sooner than what was found.
fn behind_lanes(
    parts: &mut Parts<'_>,
    (queue, kind): (i64, &Kind),
    after: Option<Place>,
    limit: usize,
) -> Result<Vec<(Place, FoundItem)>, Fault> {
    let Some(table) = parts.context.lifecycles.tables.laned(kind) else { return Ok(Vec::new()) };
    if table.is_exclusive() {
        let next = items_from!(
            "lanes l indexed by lanes_next cross join items i",
            "i.id = l.next_id and l.queue = ?1 and l.room > 0 and l.next_id is not null
             and (l.next_rank, l.next_id) > (?2, ?3) order by l.next_rank, l.next_id limit ?4"
        );
        let found = candidates(parts, next, queue, after, limit)?;
        return Ok(found.into_iter().map(|found| (Place::of(&found.item), found)).collect());
    }
    let sql = "select key, room, next_rank from lanes indexed by lanes_next \
        where queue = ?1 and room > 0 and next_id is not null order by next_rank, next_id";
    let mut lanes = parts.context.connection.prepare_cached(sql)?;
    let oldest = items_where!(
        "i.queue = ?1 and i.key = ?2 and i.slot = 2 and i.laned = 1 order by i.created, i.id limit ?3"
    );
    let mut oldest = parts.context.connection.prepare_cached(oldest)?;
    let mut rows = lanes.query([queue])?;
    let mut found: Vec<(Place, FoundItem)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (key, room, first): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if found.len() >= limit {
            found.sort_by_key(|(place, _)| *place);
            found.truncate(limit);
            if found.last().is_some_and(|(last, _)| last.rank.micros() < first) {
                break;
            }
        }
        let mut rank = Time::from_micros(i64::MIN);
        let mut items = oldest.query((queue, &key, room))?;
        while let Some(row) = items.next()? {
            let item = read_item(row, &mut parts.context, Read::Payload)?;
            rank = rank.max(item.item.rank());
            let place = Place { rank, id: item.item.id };
            if after.is_none_or(|after| place > after) {
                found.push((place, item));
            }
        }
    }
    Ok(found)
}

fn candidates(
    parts: &mut Parts<'_>,
    sql: &str,
    queue: i64,
    after: Option<Place>,
    limit: usize,
) -> Result<Vec<FoundItem>, Fault> {
    let mut statement = parts.context.connection.prepare_cached(sql)?;
    // Before every place there is: nothing ranks lower, and no id is empty.
    let rank = after.map_or(i64::MIN, |after| after.rank.micros());
    let id = after.map(|after| id_bytes(after.id));
    let id: &[u8] = id.as_ref().map_or(&[], |id| id);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![queue, rank, id, limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_item(row, &mut parts.context, Read::Payload)?);
    }
    Ok(found)
}
