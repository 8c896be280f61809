//! Removing items, and loading what that is decided on: their entries, the names in these, what is linked to them, messages.

use std::collections::BTreeSet;

use rusqlite::Connection;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::replay::names;
use tenure_core::world::{NameKey, World};

use super::fault::Fault;
use super::held::Touched;
use super::load::known;
use super::read::messages;
use super::rows::{id_bytes, id_from};
use super::tx::Parts;
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

/// The item and everything that hangs on it. The schema lets nothing go that is not marked first.
pub(super) fn remove(parts: &mut Parts<'_>, was: u64, item: &Item) -> Result<usize, Fault> {
    let connection = parts.context.connection;
    let (id, was) = (id_bytes(item.id), signed(was));
    let is_there =
        connection.prepare_cached("select 1 from items where id = ?1 and version = ?2")?.exists((id, was))?;
    if !is_there {
        return Ok(0);
    }
    parts.scratch.touched.push(Touched::Otherwise(item.id));
    let segment = parts.scratch.last.next();
    let sql = "insert into leaving (item, version, segment) values (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute((id, was, segment))?;
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
    Ok(connection.prepare_cached("delete from items where id = ?1 and version = ?2")?.execute((id, was))?)
}
