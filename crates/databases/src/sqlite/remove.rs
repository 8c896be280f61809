//! Removing items, and loading what that is decided on: their entries, the names in these, what is linked to them, messages.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};
use tenure_core::follower::WEBHOOK;
use tenure_core::id::ItemId;
use tenure_core::item::{Item, SharedItem};
use tenure_core::replay::names;
use tenure_core::request::Need;
use tenure_core::world::{NameKey, World};

use super::fault::Fault;
use super::held::Touched;
use super::load::known;
use super::read::messages;
use super::rows::{id_bytes, id_from};
use super::tx::Parts;
use crate::row::bytes::word;
use crate::row::{Damaged, name, signed, unsigned};
use crate::segment::Walk;

/// Loads what hangs on items that may be removed. Answers the names to be loaded with them.
pub(super) fn load(
    parts: &mut Parts<'_>,
    removals: &BTreeSet<ItemId>,
    world: &mut World,
) -> Result<BTreeSet<NameKey>, Fault> {
    let mut walk = Walk::default();
    for item in removals {
        if let Some(known) = known(parts, *item)? {
            walk.add(*item, unsigned(known.segment)?);
        }
    }
    let connection = parts.context.connection;
    let mut lines = connection.prepare_cached("select lines from segments where segment = ?1")?;
    while let Some(segment) = walk.wanted().pop() {
        let mut rows = lines.query([signed(segment)])?;
        let missing = || Damaged(format!("the log has no segment {segment}"));
        let row = rows.next()?.ok_or_else(missing)?;
        let lines = row.get_ref(0)?.as_blob().map_err(|_| Damaged::because("a segment has no lines"))?;
        walk.take(segment, lines)?;
    }
    for entry in walk.into_entries() {
        world.entries.insert((entry.item, entry.version), entry);
    }
    let mut wanted = BTreeSet::new();
    let mut linked = connection.prepare_cached("select item from linked where target = ?1")?;
    for item in removals {
        wanted.extend(names(world.history(*item)));
        world.messages.extend(messages(connection, *item)?);
        let mut rows = linked.query([id_bytes(*item)])?;
        while let Some(row) = rows.next()? {
            world.linked.insert((*item, id_from(row.get(0)?)));
        }
    }
    Ok(wanted)
}

/// Who follows the log, and where in it the items are. Answers the webhooks that stand.
pub(super) fn load_followers(
    parts: &mut Parts<'_>,
    need: &Need,
    world: &mut World,
) -> Result<Vec<ItemId>, Fault> {
    let connection = parts.context.connection;
    let mut marks = connection.prepare_cached("select name, value from marks")?;
    let mut rows = marks.query([])?;
    while let Some(row) = rows.next()? {
        world.marks.insert(word(&row.get::<_, String>(0)?)?, unsigned(row.get(1)?)?);
    }
    // A segment's number is the place of its first entry.
    let sql = "select s.segment + s.entries - 1 from items i join segments s on s.segment = i.segment where i.id = ?1";
    let mut place = connection.prepare_cached(sql)?;
    for item in &need.removals {
        let found: Option<i64> = place.query_row([id_bytes(*item)], |row| row.get(0)).optional()?;
        if let Some(found) = found {
            world.places.insert(*item, unsigned(found)?);
        }
    }
    let sql = "select open from lanes where queue = (select queue from queues where store = ?1 and kind = ?2) \
        and open is not null";
    let mut standing = connection.prepare_cached(sql)?;
    let mut webhooks = Vec::new();
    for store in &need.followed {
        let mut rows = standing.query((store.as_str(), WEBHOOK))?;
        while let Some(row) = rows.next()? {
            webhooks.push(id_from(row.get(0)?));
        }
    }
    Ok(webhooks)
}

pub(super) fn link(connection: &Connection, to: ItemId, from: ItemId) -> Result<usize, Fault> {
    let sql = "insert into linked (target, item) values (?1, ?2) on conflict do nothing";
    connection.prepare_cached(sql)?.execute((id_bytes(to), id_bytes(from)))?;
    Ok(1)
}

pub(super) fn unname(connection: &Connection, key: &NameKey) -> Result<usize, Fault> {
    let sql = "delete from names where store = ?1 and scope = ?2 and name = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.execute((key.store.as_str(), name::scope(key), key.name.as_str()))?)
}

/// Marks an item that goes. It and everything that hangs on it are deleted once the log says so: [`delete`].
pub(super) fn remove(parts: &mut Parts<'_>, was: u64, item: &SharedItem) -> Result<usize, Fault> {
    let connection = parts.context.connection;
    let (id, was) = (id_bytes(item.id), signed(was));
    let is_there =
        connection.prepare_cached("select 1 from items where id = ?1 and version = ?2")?.exists((id, was))?;
    if !is_there {
        return Ok(0);
    }
    if parts.scratch.leaving.is_empty() {
        forget_marks(connection)?;
    }
    let segment = parts.scratch.last.next();
    let sql = "insert into leaving (item, version, segment) values (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute((id, was, segment))?;
    parts.scratch.touched.push(Touched::Otherwise(item.id));
    parts.scratch.leaving.push(item.clone());
    Ok(1)
}

/// Marks that somebody else left behind: the segment that comes next is not theirs.
pub(super) fn forget_marks(connection: &Connection) -> Result<(), Fault> {
    // Asked first: a delete would write a page, also where there is nothing to delete.
    if connection.prepare_cached("select 1 from leaving limit 1")?.exists([])? {
        connection.execute("delete from leaving", [])?;
    }
    Ok(())
}

/// Deletes what was marked. The schema lets nothing go before the segment that says so is there.
pub(super) fn delete(connection: &Connection, item: &Item) -> Result<(), Fault> {
    let id = id_bytes(item.id);
    for sql in [
        "delete from executions where item = ?1",
        "delete from records where item = ?1",
        "delete from bodies where item = ?1",
        "delete from outbox where item = ?1",
        "delete from linked where target = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([id])?;
    }
    let mut unlink = connection.prepare_cached("delete from linked where target = ?1 and item = ?2")?;
    for link in &item.links {
        unlink.execute((id_bytes(link.to), id))?;
    }
    connection.prepare_cached("delete from items where id = ?1")?.execute([id])?;
    Ok(())
}
