//! Reading: one item, all of an item, lists, and what is due. Plain reads that lock nothing.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::id::{Fence, ItemId};
use tenure_core::item::Item;
use tenure_core::request::Due;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::Message;
use tokio_postgres::Row;

use super::Postgres;
use super::catalog::Known;
use super::load::{self, Held, columns};
use super::pool::Ask;
use super::value::{Param, Uuid, id, ints, ints_or_null, long, long_or_null, text, text_or_null, texts};
use crate::look::Outline;
use crate::row::bytes::word;
use crate::row::{Damaged, Memo, unsigned};
use crate::{Error, Found, Order, Overdue, PAGE_MAX, Query, Shelf, Whole};

const ITEM: &str = concat!("select ", columns!(), " from @.items i where i.id = $1");
const EXECUTIONS: &str = "select item, fence, rest from @.executions where item = $1 order by fence";
const RECORDS: &str = "select id, item, fence, label, name, hash, version, at, body from @.records \
    where item = $1 order by id";
const MESSAGES: &str = "select version, ordinal, label, body from @.outbox where item = $1 \
    order by version, ordinal";
const BODIES: &str = "select part, body from @.bodies where item = $1";
/// What a list asks of an item, beside its place in it.
macro_rules! asked {
    () => {
        "i.queue = any($1) and ($2::int[] is null or i.lifecycle * 256 + i.state = any($2)) \
         and ($3::text is null or i.key = $3) and ($4::text is null or i.owner = $4)"
    };
}
/// In the order of ids, which is that of the primary key.
macro_rules! list {
    ($also:literal, $after:literal, $order:literal) => {
        concat!(
            "select ",
            columns!(),
            " from @.items i where i.id ",
            $after,
            " $5 and ",
            asked!(),
            $also,
            " order by i.id",
            $order,
            " limit $6"
        )
    };
}
/// What failed or was stopped has an index by queue: a page of each queue, and of these the first.
macro_rules! list_by_queue {
    ($after:literal, $order:literal) => {
        concat!(
            "select ",
            columns!(),
            " from unnest($1) as q (queue) cross join lateral (select * from @.items i where i.queue = q.queue \
             and i.slot = 0 and i.rank < 0 and i.rank = $7 and i.id ",
            $after,
            " $5 and ",
            asked!(),
            " order by i.queue, i.rank, i.id",
            $order,
            " limit $6) i order by i.id",
            $order,
            " limit $6"
        )
    };
}
const OLDEST: &str = list!("", ">", "");
const NEWEST: &str = list!("", "<", " desc");
const OLDEST_ACTIVE: &str = list!(" and i.slot = 3", ">", "");
const NEWEST_ACTIVE: &str = list!(" and i.slot = 3", "<", " desc");
const OLDEST_ENDED: &str = list_by_queue!(">", "");
const NEWEST_ENDED: &str = list_by_queue!("<", " desc");
macro_rules! outlines {
    ($slot:literal) => {
        concat!(
            "select i.id, i.rank, i.id in (select item from @.linked), i.lifecycle from @.items i where i.slot ",
            $slot,
            " and ",
            asked!()
        )
    };
}
/// What is set aside is in no list.
const OUTLINES: &str = outlines!(">= 0");
const OUTLINES_ACTIVE: &str = outlines!("= 3");
/// What is over: a lease, or the window of one that has not committed.
const OVERDUE: &str = "select i.id, i.queue, i.fence from @.queues q cross join lateral ( \
        select i.id, i.queue, i.fence from @.items i where i.queue = q.queue and i.slot = 3 and i.id > $1 \
        and i.lifecycle <> all($4) \
        and (i.expires <= coalesce($2, (extract(epoch from statement_timestamp()) * 1000000)::bigint) \
        or (i.committed is null \
            and i.window_ends <= coalesce($2, (extract(epoch from statement_timestamp()) * 1000000)::bigint)) \
        or (i.heartbeat > coalesce($2, (extract(epoch from statement_timestamp()) * 1000000)::bigint) \
            and 2 * i.heartbeat - least(i.expires, case when i.committed is null then i.window_ends end) \
                > coalesce($2, (extract(epoch from statement_timestamp()) * 1000000)::bigint))) \
        order by i.id limit $3) i \
    order by i.id limit $3";
const LAPSED: &str = "select i.id, i.queue, i.fence, i.session from @.items i \
    where i.session is not null and i.id > $1 and i.lifecycle <> all($3) \
    and not exists (select from @.items s where s.id = i.session and s.owner is not null) \
    order by i.id limit $2";
/// In the order of the indexes of what is scheduled and of keys that wait for their rate, so that one entry of each is read.
const UPCOMING: &str = "select q.kind, \
    min(n.at) - coalesce($3, (extract(epoch from statement_timestamp()) * 1000000)::bigint) \
    from @.queues q cross join lateral ( \
        (select i.run_at as at from @.items i \
            where i.queue = q.queue and i.slot = 1 order by i.run_at, i.id limit 1) \
        union all (select l.more_at from @.lanes l \
            where l.queue = q.queue and l.more_at is not null and l.next_id is not null \
            order by l.more_at limit 1) \
        union all (select 0 where exists (select from @.items i \
            where i.queue = q.queue and i.slot = 1 and i.wait is not null and i.run_at - i.wait \
                > coalesce($3, (extract(epoch from statement_timestamp()) * 1000000)::bigint)))) n \
    where q.store = $1 and q.kind = any($2) group by q.kind";

impl Postgres {
    pub(super) async fn read_item(&self, store: &Store, item: ItemId) -> Result<Option<Item>, Error> {
        let lent = self.pool.lend().await?;
        let found = lent.one(Ask::rows(ITEM, [id(item.into())])).await?;
        let Some(row) = found.rows.first() else { return Ok(None) };
        let known = self.known_for(std::slice::from_ref(row)).await?;
        let (item, _) = read(row, &known, &mut Memo::default())?;
        Ok(Some(item).filter(|item| item.store == *store))
    }

    pub(super) async fn read_whole(&self, store: &Store, item: ItemId) -> Result<Option<Whole>, Error> {
        let lent = self.pool.lend().await?;
        let of = || [id(Uuid::from(item))];
        let answers = lent
            .ask(vec![
                Ask::plain("begin isolation level repeatable read, read only"),
                Ask::rows(ITEM, of()),
                Ask::rows(BODIES, of()),
                Ask::rows(EXECUTIONS, of()),
                Ask::rows(RECORDS, of()),
                Ask::rows(MESSAGES, of()),
                Ask::plain("commit"),
            ])
            .await?;
        let [_, items, bodies, executions, records, messages, _] = &answers[..] else { return Ok(None) };
        let Some(row) = items.rows.first() else { return Ok(None) };
        let known = self.known_for(std::slice::from_ref(row)).await?;
        let mut memo = Memo::default();
        let (found, held) = read(row, &known, &mut memo)?;
        if found.store != *store {
            return Ok(None);
        }
        let damaged = |why: Damaged| Error::Statement(format!("item {item}: {why}"));
        let (mut payload, mut output) = (held.payload, None);
        for row in &bodies.rows {
            let body = load::body(row.get(1)).map_err(damaged)?;
            match row.get::<_, i16>(0) {
                0 => payload = Some(body),
                _ => output = Some(body),
            }
        }
        let message = |row: &Row| {
            Ok(Message {
                item,
                version: unsigned(row.get(0)).map_err(damaged)?,
                ordinal: u32::try_from(row.get::<_, i32>(1)).unwrap_or_default(),
                label: word(row.get(2)).map_err(damaged)?,
                body: load::body(row.get(3)).map_err(damaged)?,
            })
        };
        let executions =
            executions.rows.iter().map(|row| load::ended(row, &mut memo)).collect::<Result<_, Error>>()?;
        Ok(Some(Whole {
            item: found,
            payload,
            output,
            executions,
            records: records.rows.iter().map(load::record).collect::<Result<_, Error>>()?,
            messages: messages.rows.iter().map(message).collect::<Result<_, Error>>()?,
        }))
    }

    pub(super) async fn read_list(&self, query: &Query) -> Result<Vec<Item>, Error> {
        let known = self.catalog.refresh().await?;
        let owner = query.owner.as_ref().map(ToString::to_string);
        let after = match (query.order, query.after) {
            (_, Some(after)) => Uuid::from(after),
            (Order::Oldest, None) => Uuid(0),
            (Order::Newest, None) => Uuid(u128::MAX),
        };
        let mut params = asked(&known, query, owner.as_deref());
        params.extend([id(after), long(count(query.limit))]);
        let list = match (query.shelf(&known.tables), query.order) {
            (Shelf::All, Order::Oldest) => OLDEST,
            (Shelf::All, Order::Newest) => NEWEST,
            (Shelf::Active, Order::Oldest) => OLDEST_ACTIVE,
            (Shelf::Active, Order::Newest) => NEWEST_ACTIVE,
            (Shelf::EndedBadly { rank }, order) => {
                params.push(long(rank));
                if order == Order::Oldest { OLDEST_ENDED } else { NEWEST_ENDED }
            }
        };
        let lent = self.pool.lend().await?;
        let found = lent.one(Ask::rows(list, params)).await?;
        let known = self.known_for(&found.rows).await?;
        let mut memo = Memo::default();
        // What this program can not read is left out: the rest of the list is still true.
        let readable = found.rows.iter().filter(|row| !known.foreign.contains_key(&row.get::<_, i32>(2)));
        readable.map(|row| read(row, &known, &mut memo).map(|(item, _)| item)).collect()
    }

    pub(super) async fn read_outlines(&self, query: &Query) -> Result<Vec<Outline>, Error> {
        let known = self.catalog.refresh().await?;
        let owner = query.owner.as_ref().map(ToString::to_string);
        let outlines = match query.shelf(&known.tables) {
            Shelf::Active => OUTLINES_ACTIVE,
            Shelf::All | Shelf::EndedBadly { .. } => OUTLINES,
        };
        let lent = self.pool.lend().await?;
        let found = lent.one(Ask::rows(outlines, asked(&known, query, owner.as_deref()))).await?;
        let readable = found.rows.iter().filter(|row| !known.foreign.contains_key(&row.get::<_, i32>(3)));
        let outline = |row: &Row| Outline {
            id: row.get::<_, Uuid>(0).into(),
            rank: Some(row.get(1)).filter(|rank| *rank >= 0).map(Time::from_micros),
            is_linked: row.get(2),
        };
        Ok(readable.map(outline).collect())
    }

    pub(super) async fn read_due(
        &self,
        what: Overdue,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<Vec<Found>, Error> {
        let after = id(after.map_or(Uuid(0), Uuid::from));
        let limit = long(count(limit));
        let now = self.clock.as_ref().map(|clock| clock().micros());
        // They are swept by who can read them.
        let foreign = ints(self.catalog.known().foreign.keys().copied().collect());
        let lent = self.pool.lend().await?;
        let ask = match what {
            Overdue::Time => Ask::rows(OVERDUE, [after, long_or_null(now), limit, foreign]),
            Overdue::Lapsed => Ask::rows(LAPSED, [after, limit, foreign]),
        };
        let found = lent.one(ask).await?;
        let mut known = self.catalog.known();
        if found.rows.iter().any(|row| !known.queues.contains_key(&row.get::<_, i32>(1))) {
            known = self.catalog.refresh().await?;
        }
        let read = |row: &Row| {
            Ok::<Found, Damaged>(Found {
                store: known.store(row.get(1))?.clone(),
                item: row.get::<_, Uuid>(0).into(),
                fence: Fence(unsigned(row.get(2))?),
                due: match what {
                    Overdue::Time => Due::Time,
                    Overdue::Lapsed => Due::Lapsed { session: row.get::<_, Uuid>(3).into() },
                },
            })
        };
        let damaged = |why: Damaged| Error::Statement(why.to_string());
        found.rows.iter().map(|row| read(row).map_err(damaged)).collect()
    }

    pub(super) async fn read_upcoming(
        &self,
        store: &Store,
        kinds: &[Kind],
    ) -> Result<Vec<(Kind, Duration)>, Error> {
        let now = self.clock.as_ref().map(|clock| clock().micros());
        let names: Vec<&str> = kinds.iter().map(|kind| &**kind).collect();
        let lent = self.pool.lend().await?;
        let found = lent.one(Ask::rows(UPCOMING, [text(store), texts(names), long_or_null(now)])).await?;
        let read = |row: &Row| {
            let kind = word(row.get(0)).map_err(|why| Error::Statement(why.to_string()))?;
            let micros = u64::try_from(row.get::<_, i64>(1)).unwrap_or(0);
            Ok((kind, Duration::from_micros(micros)))
        };
        found.rows.iter().map(read).collect()
    }

    /// What is known, asked for anew when a row names something that is not.
    async fn known_for(&self, rows: &[Row]) -> Result<Arc<Known>, Error> {
        let known = self.catalog.known();
        let is_known =
            |row: &Row| known.queues.contains_key(&row.get::<_, i32>(1)) && known.has_lifecycle(row.get(2));
        if rows.iter().all(is_known) { Ok(known) } else { self.catalog.refresh().await }
    }
}

/// What a query asks of an item, as [`asked!`] numbers it. Others may have added queues: who asks for everything needs to know them all.
fn asked<'a>(known: &Known, query: &'a Query, owner: Option<&'a str>) -> Vec<Param<'a>> {
    let is_asked = query.state.is_some() || query.phase.is_some();
    vec![
        ints(known.queues_of(query.store.as_ref(), query.kind.as_ref())),
        ints_or_null(is_asked.then(|| known.states_of(|state| query.wants(state)))),
        text_or_null(query.key.as_deref()),
        text_or_null(owner),
    ]
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit.min(PAGE_MAX)).unwrap_or(i64::MAX)
}

fn read(row: &Row, known: &Known, memo: &mut Memo) -> Result<(Item, Held), Error> {
    load::item(row, known, memo).map_err(|why| {
        let id: Uuid = row.get(0);
        Error::Statement(format!("item {}: {why}", ItemId::from(id)))
    })
}
