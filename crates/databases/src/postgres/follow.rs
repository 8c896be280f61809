//! Marks, single messages and standing items of a PostgreSQL database.

use tenure_core::id::ItemId;
use tenure_core::word::{Key, Kind, Store};
use tenure_core::world::Message;
use tokio_postgres::Row;

use super::pool::Ask;
use super::value::{Uuid, id, int, long, text};
use super::{Postgres, load};
use crate::follow::{Follow, MessageId};
use crate::row::bytes::word;
use crate::row::{Damaged, signed, unsigned};
use crate::{Error, PAGE_MAX};

const MARK: &str = "select value from @.marks where name = $1";
const SET_MARK: &str = "insert into @.marks as m (name, value) values ($1, $2) \
    on conflict (name) do update set value = excluded.value where excluded.value > m.value";
const FORGET_MARK: &str = "delete from @.marks where name = $1";
const SECRET: &str = "select value from @.meta where name = 'secret'";
const MESSAGE: &str = "select o.label, o.body from @.outbox o join @.items i on i.id = o.item \
    join @.queues q on q.queue = i.queue \
    where o.item = $1 and o.version = $2 and o.ordinal = $3 and q.store = $4";
const STANDING: &str = "select l.key, l.open from @.lanes l \
    where l.queue = (select queue from @.queues where store = $1 and kind = $2) \
    and l.open is not null and l.key > $3 order by l.key limit $4";

impl Follow for Postgres {
    async fn mark(&self, name: &Key) -> Result<Option<u64>, Error> {
        let found = self.pool.lend().await?.one(Ask::rows(MARK, [text(name)])).await?;
        found.rows.first().map(|row| unsigned(row.get(0)).map_err(damaged)).transpose()
    }

    async fn set_mark(&self, name: &Key, value: u64) -> Result<(), Error> {
        let params = [text(name), long(signed(value))];
        self.pool.lend().await?.one(Ask::count(SET_MARK, params)).await.map(drop)
    }

    async fn forget_mark(&self, name: &Key) -> Result<(), Error> {
        self.pool.lend().await?.one(Ask::count(FORGET_MARK, [text(name)])).await.map(drop)
    }

    async fn secret(&self) -> Result<String, Error> {
        let found = self.pool.lend().await?.one(Ask::rows(SECRET, [])).await?;
        let secret = found.rows.first().map(|row| row.get(0));
        secret.ok_or_else(|| Error::Statement("the database has lost its secret".to_string()))
    }

    async fn message(&self, store: &Store, message: MessageId) -> Result<Option<Message>, Error> {
        let MessageId { item, version, ordinal } = message;
        let place = i32::try_from(ordinal).unwrap_or(i32::MAX);
        let params = [id(item.into()), long(signed(version)), int(place), text(store)];
        let found = self.pool.lend().await?.one(Ask::rows(MESSAGE, params)).await?;
        let read = |row: &Row| {
            let (label, body) = (word(row.get(0))?, load::body(row.get(1))?);
            Ok(Message { item, version, ordinal, label, body })
        };
        found.rows.first().map(read).transpose().map_err(damaged)
    }

    async fn standing(
        &self,
        store: &Store,
        kind: &Kind,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, ItemId)>, Error> {
        let limit = i64::try_from(limit.min(PAGE_MAX)).unwrap_or(i64::MAX);
        let params = [text(store), text(kind), text(after.map_or("", Key::as_str)), long(limit)];
        let found = self.pool.lend().await?.one(Ask::rows(STANDING, params)).await?;
        let read = |row: &Row| Ok((word(row.get(0))?, ItemId::from(row.get::<_, Uuid>(1))));
        found.rows.iter().map(|row| read(row).map_err(damaged)).collect()
    }
}

fn damaged(why: Damaged) -> Error {
    Error::Statement(why.to_string())
}
