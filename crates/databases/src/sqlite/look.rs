//! Looking around an item of a SQLite file.

use rusqlite::{OptionalExtension, ToSql};
use tenure_core::id::{ItemId, RecordId};
use tenure_core::item::Item;
use tenure_core::time::Time;
use tenure_core::word::Store;
use tenure_core::world::{Lane, LaneKey, NameKey, Named, Record};

use super::fault::Fault;
use super::load::record;
use super::rows::{Context, id_bytes, id_from};
use super::{Sqlite, lanes, log, read};
use crate::look::{Ahead, DUE_MAX, Look, Outline, SetAside};
use crate::row::bytes::word;
use crate::row::{Damaged, name};
use crate::{Error, Order, PAGE_MAX, Place, Query};

/// Each index is named, so that no statistics ever make it a scan.
const READY: &str = "select count(*) from (select 1 from items indexed by items_ready \
    where queue = ?1 and slot = 2 and laned = 0 and (rank, id) < (?2, ?3) limit ?4)";
const NEXT_OF_KEYS: &str = "select count(*) from (select 1 from lanes indexed by lanes_next \
    where queue = ?1 and room > 0 and next_id is not null and (next_rank, next_id) < (?2, ?3) limit ?4)";
const DUE: &str = "select count(*) from (select rank, id, laned from items indexed by items_scheduled \
    where queue = ?1 and slot = 1 and run_at <= ?4 order by run_at, id limit ?5) \
    where laned = 0 and (rank, id) < (?2, ?3)";
const OF_KEY: &str = "select count(*) from (select 1 from items indexed by items_in_lane \
    where queue = ?1 and key = ?2 and slot = 2 and laned = 1 and (created, id) < (?3, ?4) limit ?5)";
const DUE_OF_KEY: &str = "select count(*) from (select key, created, id, laned from items indexed by items_scheduled \
    where queue = ?1 and slot = 1 and run_at <= ?5 order by run_at, id limit ?6) \
    where laned = 1 and key = ?2 and (created, id) < (?3, ?4)";
const LINKED: &str = "select item from linked where target = ?1 and item > ?2 order by item limit ?3";
const LINKED_NEWEST: &str =
    "select item from linked where target = ?1 and item < ?2 order by item desc limit ?3";
const SET_ASIDE: &str = "select q.kind, s.name, u.why, u.at from quarantine u join items i on i.id = u.item \
    join queues q on q.queue = i.queue left join states s on s.lifecycle = i.lifecycle and s.state = i.state \
    where u.item = ?1 and q.store = ?2";

impl Look for Sqlite {
    async fn now(&self) -> Result<Time, Error> {
        Ok((self.shared.clock)())
    }

    async fn latest(&self) -> Result<Time, Error> {
        self.readers.read(|context| log::latest(context.connection)).await
    }

    async fn ahead(&self, item: &Item, most: usize) -> Result<Ahead, Error> {
        let now = (self.shared.clock)();
        self.readers.read(|context| ahead(context, now, item, most)).await
    }

    async fn outlines(&self, query: &Query) -> Result<Vec<Outline>, Error> {
        self.readers.read(|context| read::outlines(context, query)).await
    }

    async fn lane(&self, key: &LaneKey) -> Result<Lane, Error> {
        let sql = "select running, open, latest, starts from lanes where queue = ?1 and key = ?2";
        let read = self.readers.read(|context| {
            let connection = context.connection;
            let Some(queue) = context.queues.number(connection, &key.store, &key.kind)? else {
                return Ok(Lane::default());
            };
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query((queue, key.key.as_str()))?;
            rows.next()?.map_or(Ok(Lane::default()), |row| lanes::read_lane(row, 0))
        });
        read.await
    }

    async fn named(&self, key: &NameKey) -> Result<Option<Named>, Error> {
        let sql = "select value from names where store = ?1 and scope = ?2 and name = ?3";
        let read = self.readers.read(|context| {
            let mut statement = context.connection.prepare_cached(sql)?;
            let columns = (key.store.as_str(), name::scope(key), key.name.as_str());
            let value: Option<Vec<u8>> = statement.query_row(columns, |row| row.get(0)).optional()?;
            Ok(value.map(|value| name::read(&value)).transpose()?)
        });
        read.await
    }

    async fn linked(
        &self,
        to: ItemId,
        order: Order,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<Vec<ItemId>, Error> {
        let read = self.readers.read(|context| {
            let (sql, first) = match order {
                Order::Oldest => (LINKED, ItemId(0)),
                Order::Newest => (LINKED_NEWEST, ItemId(u128::MAX)),
            };
            let mut statement = context.connection.prepare_cached(sql)?;
            let after = id_bytes(after.unwrap_or(first));
            let limit = i64::try_from(limit.min(PAGE_MAX)).unwrap_or(i64::MAX);
            let mut rows = statement.query((id_bytes(to), after, limit))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(id_from(row.get(0)?));
            }
            Ok(found)
        });
        read.await
    }

    async fn record(&self, id: RecordId) -> Result<Option<Record>, Error> {
        self.readers.read(|context| record(context.connection, id)).await
    }

    async fn set_aside(&self, store: &Store, id: ItemId) -> Result<Option<SetAside>, Error> {
        let read = self.readers.read(|context| {
            let mut statement = context.connection.prepare_cached(SET_ASIDE)?;
            let mut rows = statement.query((id_bytes(id), store.as_str()))?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let state: Option<String> = row.get(1)?;
            Ok(Some(SetAside {
                kind: word(&row.get::<_, String>(0)?)?,
                state: state.map(|state| word(&state)).transpose()?,
                why: row.get(2)?,
                at: Time::from_micros(row.get(3)?),
            }))
        });
        read.await
    }
}

fn ahead(context: &mut Context<'_>, now: Time, item: &Item, most: usize) -> Result<Ahead, Fault> {
    let connection = context.connection;
    let Some(queue) = context.queues.number(connection, &item.store, &item.table.kind)? else {
        return Ok(Ahead::default());
    };
    let now = now.micros();
    let (limit, looked_at) = (bound(most), bound(DUE_MAX));
    let Place { rank, id } = Place::of(item);
    let (rank, id) = (rank.micros(), id_bytes(id));
    let of_kind = count(context, READY, &[&queue, &rank, &id, &limit])?
        + count(context, NEXT_OF_KEYS, &[&queue, &rank, &id, &limit])?
        + count(context, DUE, &[&queue, &rank, &id, &now, &looked_at])?;
    let of_key = match item.lane_key() {
        Some(key) => {
            let (key, created) = (key.as_str(), item.created.micros());
            count(context, OF_KEY, &[&queue, &key, &created, &id, &limit])?
                + count(context, DUE_OF_KEY, &[&queue, &key, &created, &id, &now, &looked_at])?
        }
        None => 0,
    };
    Ok(Ahead { of_key: of_key.min(most), of_kind: of_kind.min(most) })
}

fn count(context: &Context<'_>, sql: &str, columns: &[&dyn ToSql]) -> Result<usize, Fault> {
    let counted: i64 = context.connection.prepare_cached(sql)?.query_row(columns, |row| row.get(0))?;
    usize::try_from(counted).map_err(|_| Fault::Row(Damaged::because("a count is below zero")))
}

fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
