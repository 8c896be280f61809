//! The inbox: rows that somebody's own transaction left, to become items in the order in which they came.

use tenure_core::body::BODY_BYTES_MAX;
use tenure_core::code::Problem;
use tenure_core::time::Time;
use tokio_postgres::Row;

use super::pool::Ask;
use super::tx::PostgresTx;
use super::value::{long, longs, owned_texts};
use crate::batch::inbox::{TURN_BYTES_MAX, WORD_CHARACTERS_MAX, too_long};
use crate::{Error, Posted};

/// One reader at a time; who does not get the row gets nothing, and does not wait.
const TURN: &str = "select 1 from @.meta where name = 'inbox' for update skip locked";
/// Of payloads only the length is looked at where they are longer than any, and of all together no more is read than one turn takes
/// (`$2` each, `$3` together). No moment after the year 9999 is known here, and later ones do not even fit a number. `-infinity` is at
/// once, as nothing is.
const WAITING: &str = "with first as materialized (select w.id, w.bytes, \
        coalesce(sum(case when w.bytes <= $2 then w.bytes end) over (order by w.id), 0) as so_far \
        from (select b.id, octet_length(b.payload)::bigint as bytes from @.tenure_inbox b \
            where b.error is null order by b.id limit $1) w) \
    select b.id, left(b.store, #), left(b.kind, #), case when octet_length(b.payload) <= $2 then b.payload end, \
        left(b.idempotency_key, #), left(b.key, #), b.priority, \
        case when isfinite(b.run_at) and b.run_at < timestamptz '10000-01-01 00:00:00+00' \
            then (extract(epoch from b.run_at) * 1000000)::bigint end, \
        octet_length(b.payload)::bigint, case when b.run_at >= timestamptz '10000-01-01 00:00:00+00' then b.run_at::text end \
    from first f join @.tenure_inbox b on b.id = f.id where b.error is null and f.so_far <= $3 order by b.id for update of b";
const TAKEN: &str = "delete from @.tenure_inbox where id = any($1)";
const KEPT: &str = "update @.tenure_inbox b set error = u.error from unnest($1, $2) as u (id, error) \
    where b.id = u.id";

impl PostgresTx<'_> {
    pub(super) async fn read_inbox(&mut self, limit: usize) -> Result<Vec<Posted>, Error> {
        if self.one(Ask::rows(TURN, [])).await?.rows.is_empty() {
            return Ok(Vec::new());
        }
        let limits = [limit, BODY_BYTES_MAX, TURN_BYTES_MAX];
        let params = limits.map(|limit| long(i64::try_from(limit).unwrap_or(i64::MAX)));
        let found = self.one(Ask::some_rows(WAITING, WORD_CHARACTERS_MAX, params)).await?;
        Ok(found.rows.iter().map(posted).collect())
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

fn posted(row: &Row) -> Posted {
    let too_long = row.get::<_, Option<i64>>(8).and_then(too_long);
    let too_late = || {
        let run_at: Option<&str> = row.get(9);
        Some(Problem::invalid(format!("run_at is {}; the latest is {}", run_at?, Time::LATEST)))
    };
    Posted {
        id: row.get(0),
        store: row.get(1),
        kind: row.get(2),
        payload: row.get(3),
        idempotency_key: row.get(4),
        key: row.get(5),
        priority: row.get(6),
        run_at: row.get(7),
        wrong: too_long.or_else(too_late),
    }
}
