//! What waits in a SQLite file.

use rusqlite::Row;
use tenure_core::word::Store;

use super::Sqlite;
use super::fault::Fault;
use crate::Error;
use crate::backlog::{Backlog, Backlogs, COUNT_MAX, Counted, FIRSTS};
use crate::row::signed;

/// Each count reads one partial index and ends at the bound. A retry that was put off by a clock that was ahead is due now.
const BACKLOG: &str = "select q.store, q.kind, \
    (select count(*) from (select 1 from items where queue = q.queue and slot = 2 and laned = 0 limit ?2)), \
    (select count(*) from (select 1 from items where queue = q.queue and slot = 2 and laned = 1 limit ?2)), \
    (select count(*) from (select 1 from items where queue = q.queue and slot = 1 limit ?2)), \
    (select count(*) from (select 1 from items where queue = q.queue and slot = 3 limit ?2)), \
    (select count(*) from (select 1 from items where queue = q.queue and slot = 0 and rank < 0 and rank = -1 limit ?2)), \
    (select count(*) from (select 1 from items where queue = q.queue and slot = 0 and rank < 0 and rank = -2 limit ?2)), \
    (select min(since) from (select max(run_at, updated) as since from items \
        where queue = q.queue and slot = 2 and laned = 0 order by rank, id limit ?3)), \
    (select min(since) from (select max(i.run_at, i.updated) as since from lanes l join items i on i.id = l.next_id \
        where l.queue = q.queue and l.room > 0 and l.next_id is not null order by l.next_rank, l.next_id limit ?3)), \
    case when exists (select 1 from items where queue = q.queue and slot = 1 and wait is not null and run_at - wait > ?4) then ?4 \
        else (select run_at from items where queue = q.queue and slot = 1 order by run_at, id limit 1) end \
    from queues q where ?1 is null or q.store = ?1 order by q.store, q.kind";

impl Backlogs for Sqlite {
    async fn backlog(&self, store: Option<&Store>) -> Result<Vec<Backlog>, Error> {
        let now = (self.shared.clock)().micros();
        let read = self.readers.read(|context| {
            let mut statement = context.connection.prepare_cached(BACKLOG)?;
            let mut rows =
                statement.query((store.map(Store::as_str), signed(COUNT_MAX), signed(FIRSTS), now))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(backlog(row)?);
            }
            Ok(found)
        });
        read.await
    }
}

fn backlog(row: &Row<'_>) -> Result<Backlog, Fault> {
    let counts = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?];
    let firsts = [row.get(8)?, row.get(9)?, row.get(10)?];
    Ok(Counted { counts, firsts }.of(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?)?)
}
