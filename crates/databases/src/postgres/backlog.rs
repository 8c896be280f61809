//! What waits in a PostgreSQL database.

use tenure_core::word::Store;
use tokio_postgres::Row;

use super::Postgres;
use super::pool::Ask;
use super::value::{long, long_or_null, text};
use crate::Error;
use crate::backlog::{Backlog, Backlogs, COUNT_MAX, Counted, FIRSTS};
use crate::row::{Damaged, signed};

/// Each count reads one partial index and ends at the bound. A retry that was put off by a clock that was ahead is due now. No store is named by the empty text.
const BACKLOG: &str = "select q.store, q.kind, \
    (select count(*) from (select 1 from @.items where queue = q.queue and slot = 2 limit $2) n), \
    (select count(*) from (select 1 from @.items where queue = q.queue and slot = 4 and slot in (1, 4) \
        and key is not null limit $2) n), \
    (select count(*) from (select 1 from @.items where queue = q.queue and slot = 1 limit $2) n), \
    (select count(*) from (select 1 from @.items where queue = q.queue and slot = 3 limit $2) n), \
    (select count(*) from (select 1 from @.items where queue = q.queue and slot = 0 and rank < 0 and rank = -1 limit $2) n), \
    (select count(*) from (select 1 from @.items where queue = q.queue and slot = 0 and rank < 0 and rank = -2 limit $2) n), \
    (select min(since) from (select greatest(run_at, updated) as since from @.items \
        where queue = q.queue and slot = 2 order by rank, id limit $3) n), \
    (select min(since) from (select greatest(i.run_at, i.updated) as since from @.lanes l join @.items i on i.id = l.next_id \
        where l.queue = q.queue and l.room > 0 and l.next_id is not null order by l.next_rank, l.next_id limit $3) n), \
    case when exists (select from @.items where queue = q.queue and slot = 1 and wait is not null and run_at - wait > c.now) \
        then c.now else (select run_at from @.items where queue = q.queue and slot = 1 order by run_at, id limit 1) end \
    from @.queues q, (select coalesce($4, (extract(epoch from statement_timestamp()) * 1000000)::bigint) as now) c where $1 = '' or q.store = $1 order by q.store, q.kind";

impl Backlogs for Postgres {
    async fn backlog(&self, store: Option<&Store>) -> Result<Vec<Backlog>, Error> {
        let now = self.clock.as_ref().map(|clock| clock().micros());
        let store = text(store.map_or("", Store::as_str));
        let params = [store, long(signed(COUNT_MAX)), long(signed(FIRSTS)), long_or_null(now)];
        let found = self.pool.lend().await?.one(Ask::rows(BACKLOG, params)).await?;
        let damaged = |why: Damaged| Error::Statement(why.to_string());
        found.rows.iter().map(|row| backlog(row).map_err(damaged)).collect()
    }
}

fn backlog(row: &Row) -> Result<Backlog, Damaged> {
    let counts = [row.get(2), row.get(3), row.get(4), row.get(5), row.get(6), row.get(7)];
    Counted { counts, firsts: [row.get(8), row.get(9), row.get(10)] }.of(row.get(0), row.get(1))
}
