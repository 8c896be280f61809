//! Marks, single messages and standing items of a SQLite file.

use rusqlite::{Connection, OptionalExtension};
use tenure_core::body::Body;
use tenure_core::id::ItemId;
use tenure_core::word::{Key, Kind, Store};
use tenure_core::world::Message;

use super::Sqlite;
use super::fault::Fault;
use super::rows::id_bytes;
use crate::follow::{Follow, MessageId};
use crate::row::bytes::word;
use crate::row::{Damaged, signed, unsigned};
use crate::{Commit, Error, PAGE_MAX};

impl Sqlite {
    async fn write_mark(
        &self,
        write: impl FnOnce(&Connection) -> Result<usize, rusqlite::Error>,
    ) -> Result<(), Error> {
        let mut writer = self.writer().await;
        writer.begin()?;
        if let Err(error) = write(&writer.connection) {
            writer.roll_back();
            return Err(writer.judge(Fault::Sql(error)));
        }
        match writer.commit() {
            Commit::Done => Ok(()),
            Commit::Not(error) => Err(error),
            Commit::Unknown => Err(Error::Unknown("the mark may have been moved or not".to_string())),
        }
    }
}

impl Follow for Sqlite {
    async fn mark(&self, name: &Key) -> Result<Option<u64>, Error> {
        let sql = "select value from marks where name = ?1";
        let read = self.readers.read(|context| {
            let mut statement = context.connection.prepare_cached(sql)?;
            let value: Option<i64> = statement.query_row([name.as_str()], |row| row.get(0)).optional()?;
            Ok(value.map(unsigned).transpose()?)
        });
        read.await
    }

    async fn set_mark(&self, name: &Key, value: u64) -> Result<(), Error> {
        // No upsert: the schema lets nobody insert a mark that is there.
        const GROW: &str = "update marks set value = ?2 where name = ?1 and value < ?2";
        const SET: &str = "insert into marks (name, value) select ?1, ?2 \
                           where not exists (select 1 from marks where name = ?1)";
        let value = signed(value);
        self.write_mark(|connection| {
            connection.prepare_cached(GROW)?.execute((name.as_str(), value))?;
            connection.prepare_cached(SET)?.execute((name.as_str(), value))
        })
        .await
    }

    async fn forget_mark(&self, name: &Key) -> Result<(), Error> {
        let sql = "delete from marks where name = ?1";
        self.write_mark(|connection| connection.prepare_cached(sql)?.execute([name.as_str()])).await
    }

    async fn secret(&self) -> Result<String, Error> {
        let sql = "select value from meta where name = 'secret'";
        self.readers.read(|context| Ok(context.connection.query_row(sql, [], |row| row.get(0))?)).await
    }

    async fn message(&self, store: &Store, id: MessageId) -> Result<Option<Message>, Error> {
        let sql = "select o.label, o.body from outbox o join items i on i.id = o.item \
                   join queues q on q.queue = i.queue \
                   where o.item = ?1 and o.version = ?2 and o.ordinal = ?3 and q.store = ?4";
        let read = self.readers.read(|context| {
            let mut statement = context.connection.prepare_cached(sql)?;
            let mut rows =
                statement.query((id_bytes(id.item), signed(id.version), id.ordinal, store.as_str()))?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let body = Body::json(row.get::<_, Vec<u8>>(1)?);
            Ok(Some(Message {
                item: id.item,
                version: id.version,
                ordinal: id.ordinal,
                label: word(&row.get::<_, String>(0)?)?,
                body: body.map_err(|_| Damaged::because("a message is not JSON"))?,
            }))
        });
        read.await
    }

    async fn standing(
        &self,
        store: &Store,
        kind: &Kind,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, ItemId)>, Error> {
        let sql = "select key, open from lanes \
                   where queue = (select queue from queues where store = ?1 and kind = ?2) \
                   and open is not null and key > ?3 order by key limit ?4";
        let limit = i64::try_from(limit.min(PAGE_MAX)).unwrap_or(i64::MAX);
        let after = after.map_or("", Key::as_str);
        let read = self.readers.read(|context| {
            let mut statement = context.connection.prepare_cached(sql)?;
            let mut rows = statement.query((store.as_str(), kind.as_str(), after, limit))?;
            let mut standing = Vec::new();
            while let Some(row) = rows.next()? {
                let item: [u8; 16] = row.get(1)?;
                standing.push((word(&row.get::<_, String>(0)?)?, ItemId(u128::from_be_bytes(item))));
            }
            Ok(standing)
        });
        read.await
    }
}
