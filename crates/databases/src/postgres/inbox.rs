//! The inbox: rows that somebody's own transaction left, to become items in the order in which they came.

use super::pool::Ask;
use super::tx::PostgresTx;
use super::value::{long, longs, owned_texts};
use crate::{Error, Posted};

/// One reader at a time; who does not get the row gets nothing, and does not wait.
const TURN: &str = "select 1 from @.meta where name = 'inbox' for update skip locked";
const WAITING: &str = "select id, store, kind, payload, idempotency_key, key, priority, \
    case when isfinite(run_at) then (extract(epoch from run_at) * 1000000)::bigint end \
    from @.tenure_inbox where error is null order by id limit $1 for update";
const TAKEN: &str = "delete from @.tenure_inbox where id = any($1)";
const KEPT: &str = "update @.tenure_inbox b set error = u.error from unnest($1, $2) as u (id, error) \
    where b.id = u.id";

impl PostgresTx<'_> {
    pub(super) async fn read_inbox(&mut self, limit: usize) -> Result<Vec<Posted>, Error> {
        if self.one(Ask::rows(TURN, [])).await?.rows.is_empty() {
            return Ok(Vec::new());
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = self.one(Ask::rows(WAITING, [long(limit)])).await?;
        let posted = found.rows.iter().map(|row| Posted {
            id: row.get(0),
            store: row.get(1),
            kind: row.get(2),
            payload: row.get(3),
            idempotency_key: row.get(4),
            key: row.get(5),
            priority: row.get(6),
            run_at: row.get(7),
        });
        Ok(posted.collect())
    }

    pub(super) async fn judge_inbox(&mut self, rows: &[(i64, Option<String>)]) -> Result<(), Error> {
        let taken: Vec<i64> = rows.iter().filter(|(_, why)| why.is_none()).map(|(id, _)| *id).collect();
        let kept = rows.iter().filter_map(|(id, why)| Some((*id, why.clone()?)));
        let (kept, why): (Vec<i64>, Vec<String>) = kept.unzip();
        let planned = rows.len();
        let asks = vec![Ask::count(TAKEN, [longs(taken)]), Ask::count(KEPT, [longs(kept), owned_texts(why)])];
        let written: u64 = self.ask(asks).await?.iter().map(|answer| answer.count).sum();
        if written != planned as u64 {
            return Err(Error::Statement(format!("{written} of {planned} rows of the inbox were judged")));
        }
        Ok(())
    }
}
