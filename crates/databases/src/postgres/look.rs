//! Looking around an item of a PostgreSQL database.

use tenure_core::id::{ItemId, RecordId};
use tenure_core::item::Item;
use tenure_core::time::Time;
use tenure_core::word::Store;
use tenure_core::world::{Lane, LaneKey, NameKey, Named, Record};
use tokio_postgres::Row;

use super::pool::{Answer, Ask};
use super::value::{Uuid, id, int, ints, long, long_or_null, text};
use super::{Postgres, load};
use crate::look::{Ahead, DUE_MAX, Look, Outline, SetAside};
use crate::row::bytes::word;
use crate::row::{Damaged, name};
use crate::{Error, Order, PAGE_MAX, Place, Query};

const NOW: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
/// Each of the parts goes over an index of its own, in its order, and stops at the bound. Of what is due and was not moved over yet
/// [`DUE_MAX`] rows are looked at.
const OF_KIND: &str = "select count(*) from ( \
    (select from @.items i where i.queue = $1 and i.slot = 2 and (i.rank, i.id) < ($2, $3) \
        order by i.rank, i.id limit #) \
    union all \
    (select from @.lanes l where l.queue = $1 and l.room > 0 and l.next_id is not null \
        and (l.next_rank, l.next_id) < ($2, $3) order by l.next_rank, l.next_id limit #) \
    union all \
    (select from (select i.rank, i.id, i.key is not null and i.lifecycle = any($4) as laned from @.items i \
        where i.queue = $1 and i.slot = 1 \
        and i.run_at <= coalesce($5, (extract(epoch from statement_timestamp()) * 1000000)::bigint) \
        order by i.run_at, i.id limit $6) d where not d.laned and (d.rank, d.id) < ($2, $3))) a";
/// Of one key all are in one index, scheduled or ready.
const OF_KEY: &str = "select count(*) from ( \
    (select from @.items i where i.queue = $1 and i.key = $2 and i.slot = 4 \
        and (i.created, i.id) < ($3, $4) order by i.created, i.id limit #) \
    union all \
    (select from (select i.created, i.id, i.run_at from @.items i where i.queue = $1 and i.key = $2 and i.slot = 1 \
        and i.lifecycle = any($5) order by i.created, i.id limit $7) d where (d.created, d.id) < ($3, $4) \
        and d.run_at <= coalesce($6, (extract(epoch from statement_timestamp()) * 1000000)::bigint))) a";
const LANE: &str = "select running, open, latest, starts from @.lanes where queue = $1 and key = $2";
const NAME: &str = "select value from @.names where store = $1 and scope = $2 and name = $3";
const LINKED: &str = "select item from @.linked where target = $1 and item > $2 order by item limit #";
const LINKED_NEWEST: &str =
    "select item from @.linked where target = $1 and item < $2 order by item desc limit #";
const RECORD: &str =
    "select id, item, fence, label, name, hash, version, at, body from @.records where id = $1";
const SET_ASIDE: &str = "select q.kind, s.name, u.why, u.at from @.quarantine u join @.items i on i.id = u.item \
    join @.queues q on q.queue = i.queue \
    left join @.states s on s.lifecycle = i.lifecycle and s.state = i.state where u.item = $1 and q.store = $2";

impl Look for Postgres {
    async fn now(&self) -> Result<Time, Error> {
        if let Some(clock) = &self.clock {
            return Ok(clock());
        }
        let found = self.pool.lend().await?.one(Ask::rows(NOW, [])).await?;
        let now = found.rows.first().map(|row| Time::from_micros(row.get(0)));
        now.ok_or_else(|| Error::Statement("the server did not tell its time".to_string()))
    }

    async fn latest(&self) -> Result<Time, Error> {
        self.read_latest().await
    }

    async fn ahead(&self, item: &Item, most: usize) -> Result<Ahead, Error> {
        let Some(queue) = self.catalog.find(&item.store, &item.table.kind).await? else {
            return Ok(Ahead::default());
        };
        let laned = || ints(self.catalog.known().behind.clone());
        let now = self.clock.as_ref().map(|clock| clock().micros());
        let looked_at = i64::try_from(DUE_MAX).unwrap_or(i64::MAX);
        let Place { rank, id: own } = Place::of(item);
        let mut params = vec![int(queue), long(rank.micros()), id(own.into())];
        params.extend([laned(), long_or_null(now), long(looked_at)]);
        let mut asks = vec![Ask::some_rows(OF_KIND, most, params)];
        if let Some(key) = item.lane_key() {
            let mut params = vec![int(queue), text(key), long(item.created.micros()), id(own.into())];
            params.extend([laned(), long_or_null(now), long(looked_at)]);
            asks.push(Ask::some_rows(OF_KEY, most, params));
        }
        let answers = self.pool.lend().await?.ask(asks).await?;
        let counted = |answer: Option<&Answer>| {
            let count = answer.and_then(|answer| answer.rows.first()).map_or(0, |row| row.get::<_, i64>(0));
            usize::try_from(count).unwrap_or(usize::MAX).min(most)
        };
        Ok(Ahead { of_kind: counted(answers.first()), of_key: counted(answers.get(1)) })
    }

    async fn outlines(&self, query: &Query) -> Result<Vec<Outline>, Error> {
        self.read_outlines(query).await
    }

    async fn lane(&self, key: &LaneKey) -> Result<Lane, Error> {
        let Some(queue) = self.catalog.find(&key.store, &key.kind).await? else {
            return Ok(Lane::default());
        };
        let found = self.pool.lend().await?.one(Ask::rows(LANE, [int(queue), text(&key.key)])).await?;
        found.rows.first().map_or(Ok(Lane::default()), |row| load::lane(row, 0))
    }

    async fn named(&self, key: &NameKey) -> Result<Option<Named>, Error> {
        let scope = name::scope(key);
        let params = [text(&key.store), text(&scope), text(&key.name)];
        let found = self.pool.lend().await?.one(Ask::rows(NAME, params)).await?;
        found.rows.first().map(|row| name::read(row.get(0)).map_err(damaged)).transpose()
    }

    async fn linked(
        &self,
        to: ItemId,
        order: Order,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<Vec<ItemId>, Error> {
        let (sql, first) = match order {
            Order::Oldest => (LINKED, ItemId(0)),
            Order::Newest => (LINKED_NEWEST, ItemId(u128::MAX)),
        };
        let params = [id(to.into()), id(after.unwrap_or(first).into())];
        let ask = Ask::some_rows(sql, limit.min(PAGE_MAX), params);
        let found = self.pool.lend().await?.one(ask).await?;
        // The limit in its text is rounded up.
        Ok(found.rows.iter().take(limit).map(|row| row.get::<_, Uuid>(0).into()).collect())
    }

    async fn record(&self, record: RecordId) -> Result<Option<Record>, Error> {
        let found = self.pool.lend().await?.one(Ask::rows(RECORD, [id(Uuid(record.0))])).await?;
        found.rows.first().map(load::record).transpose()
    }

    async fn set_aside(&self, store: &Store, item: ItemId) -> Result<Option<SetAside>, Error> {
        let params = [id(item.into()), text(store)];
        let found = self.pool.lend().await?.one(Ask::rows(SET_ASIDE, params)).await?;
        let read = |row: &Row| {
            let state: Option<&str> = row.get(1);
            Ok(SetAside {
                kind: word(row.get(0))?,
                state: state.map(word).transpose()?,
                why: row.get(2),
                at: Time::from_micros(row.get(3)),
            })
        };
        found.rows.first().map(|row| read(row).map_err(damaged)).transpose()
    }
}

fn damaged(why: Damaged) -> Error {
    Error::Statement(why.to_string())
}
