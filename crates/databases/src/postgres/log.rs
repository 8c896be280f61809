//! The log: giving segments their place, reading them in order, walking an item's history, settling a commit.
//!
//! A segment is committed without a place. The sequencer, one at a time, takes committed segments in the order of `seq`
//! and gives them positions and the chain. Two segments with entries of one item never commit out of order of `seq`: it
//! is drawn while the item is locked. So what is placed stays in place, and each item's entries are in order.

use tenure_core::entry::Sealed;
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::time::Time;
use tenure_core::word::Store;

use super::Postgres;
use super::pool::{Ask, Connection};
use super::value::{self, Uuid, blobs, id, long, longs, text};
use crate::row::{Damaged, signed, unsigned};
use crate::{BatchId, Error, Head, PAGE_MAX, Settled, segment};

const TURN: &str = "select pg_try_advisory_xact_lock(hashtextextended('tenure sequencer ' || $1, 0))";
const LAST: &str = "select pos + entries - 1, chain, at from @.segments where pos is not null \
    order by pos desc limit 1";
/// At most so many entries, but at least one segment.
const WAITING: &str = "select s.segment, s.lines, s.entries, s.at from @.segments s where s.pos is null and s.entries > 0 \
    order by s.seq limit $1";
const PLACE: &str = "update @.segments s set pos = u.pos, chain = u.chain \
    from unnest($1, $2, $3) as u (segment, pos, chain) where s.segment = u.segment and s.pos is null";
const PAGE: &str = "select s.pos, s.lines from @.segments s where s.pos >= coalesce( \
    (select p.pos from @.segments p where p.pos <= $1 order by p.pos desc limit 1), 0) \
    and s.pos < $2 order by s.pos";
const STORE_AND_SEGMENT: &str =
    "select q.store, i.segment from @.items i join @.queues q on q.queue = i.queue where i.id = $1";
const SEGMENT: &str = "select lines from @.segments where segment = $1";
/// The clock was set back: later segments no longer say how far the log had come.
const NOTE_LATEST: &str = "update @.meta set value = greatest(value::bigint, $1)::text where name = 'latest' and value::bigint < $1";
const LATEST: &str = "select greatest((select value::bigint from @.meta where name = 'latest'), \
    (select at from @.segments where pos is not null order by pos desc limit 1), \
    (select max(at) from (select at from @.segments where pos is null and entries > 0 order by seq limit 256) s), 0)";
/// Waits for the transaction that has this batch's id, if there is one.
const SETTLE: &str = "insert into @.segments (segment, batch, seq, entries, at, lines) \
    values (nextval('@.segment_numbers'), $1, nextval('@.segment_order'), 0, 0, '') \
    on conflict (batch) do nothing";
const SETTLED: &str = "select entries from @.segments where batch = $1";

/// Segments that are held in memory at once while they are placed.
const SEGMENTS_MAX: i64 = 256;

impl Postgres {
    pub(super) async fn place_segments(&self, limit: usize) -> Result<usize, Error> {
        let lent = self.pool.lend().await?;
        let mut placed = 0;
        while placed < limit {
            let more = match self.place_some(&lent, limit - placed).await {
                Ok(more) => more,
                Err(error) => {
                    lent.roll_back();
                    return Err(error);
                }
            };
            if more == 0 {
                break;
            }
            placed += more;
        }
        Ok(placed)
    }

    /// One transaction's worth.
    async fn place_some(&self, connection: &Connection, limit: usize) -> Result<usize, Error> {
        let schema = &*self.schema;
        let limit = signed(limit as u64).min(SEGMENTS_MAX);
        let turn = connection.ask(vec![Ask::plain("begin"), Ask::rows(TURN, [text(schema)])]).await?;
        let mine = turn.last().and_then(|answer| answer.rows.first()).is_some_and(|row| row.get(0));
        if !mine {
            return connection.one(Ask::plain("rollback")).await.map(|_| 0);
        }
        // After the lock, so that the last one placed is seen.
        let answers = connection.ask(vec![Ask::rows(LAST, []), Ask::rows(WAITING, [long(limit)])]).await?;
        let [last, waiting] = &answers[..] else { return Ok(0) };
        let damaged = |why: Damaged| Error::Statement(format!("the log: {why}"));
        let mut head = head_of(last.rows.first()).map_err(damaged)?;
        let (mut numbers, mut positions) = (Vec::new(), Vec::new());
        let mut chains: Vec<[u8; 32]> = Vec::new();
        let first = head.position;
        let mut before = last.rows.first().map_or(0, |row| row.get::<_, i64>(2));
        let mut latest = None;
        for row in &waiting.rows {
            let at: i64 = row.get(3);
            if before > at {
                latest = latest.max(Some(before));
            }
            before = at;
            let entries = segment::read(row.get(1)).map_err(damaged)?;
            numbers.push(row.get::<_, i64>(0));
            positions.push(signed(head.position + 1));
            for kept in &entries {
                head.chain = head.chain.link(&Hash::of(&kept.line));
            }
            head.position += entries.len() as u64;
            chains.push(head.chain.0);
        }
        if numbers.is_empty() {
            return connection.one(Ask::plain("rollback")).await.map(|_| 0);
        }
        let planned = numbers.len() as u64;
        let chains = chains.iter().map(|chain| &chain[..]).collect();
        let place = Ask::count(PLACE, [longs(numbers), longs(positions), blobs(chains)]);
        let written = connection.one(place).await?.count;
        if written != planned {
            return Err(Error::Statement(format!("{written} of {planned} segments were placed")));
        }
        if let Some(latest) = latest {
            connection.one(Ask::count(NOTE_LATEST, [long(latest)])).await?;
        }
        connection.one(Ask::plain("commit")).await?;
        Ok(usize::try_from(head.position - first).unwrap_or(usize::MAX))
    }

    pub(super) async fn read_head(&self) -> Result<Head, Error> {
        let lent = self.pool.lend().await?;
        let found = lent.one(Ask::rows(LAST, [])).await?;
        head_of(found.rows.first()).map_err(|why| Error::Statement(format!("the log: {why}")))
    }

    pub(super) async fn read_latest(&self) -> Result<Time, Error> {
        let lent = self.pool.lend().await?;
        let found = lent.one(Ask::rows(LATEST, [])).await?;
        Ok(Time::from_micros(found.rows.first().map_or(0, |row| row.get(0))))
    }

    pub(super) async fn read_log(&self, after: u64, limit: usize) -> Result<Vec<(u64, Sealed)>, Error> {
        let limit = limit.min(PAGE_MAX);
        let from = signed(after.saturating_add(1));
        let to = from.saturating_add(signed(limit as u64));
        let lent = self.pool.lend().await?;
        let found = lent.one(Ask::rows(PAGE, [long(from), long(to)])).await?;
        let mut page = Vec::new();
        for row in &found.rows {
            let damaged = |why: Damaged| Error::Statement(format!("the log: {why}"));
            let first = unsigned(row.get(0)).map_err(damaged)?;
            for (position, kept) in (first..).zip(segment::read(row.get(1)).map_err(damaged)?) {
                if position > after && page.len() < limit {
                    page.push((position, kept.read().map_err(damaged)?));
                }
            }
        }
        Ok(page)
    }

    /// Back from the item's last segment, each entry naming the segment of the one before it.
    pub(super) async fn read_history(&self, store: &Store, item: ItemId) -> Result<Vec<Sealed>, Error> {
        let lent = self.pool.lend().await?;
        let found = lent.one(Ask::rows(STORE_AND_SEGMENT, [id(item.into())])).await?;
        let Some(row) = found.rows.first() else { return Ok(Vec::new()) };
        if row.get::<_, &str>(0) != &**store {
            return Ok(Vec::new());
        }
        let mut next: Option<i64> = Some(row.get(1));
        let mut history: Vec<Sealed> = Vec::new();
        while let Some(number) = next.take() {
            let found = lent.one(Ask::rows(SEGMENT, [long(number)])).await?;
            let missing = || Error::Statement(format!("item {item}: segment {number} is missing"));
            let row = found.rows.first().ok_or_else(missing)?;
            let damaged = |why: Damaged| Error::Statement(format!("segment {number}: {why}"));
            // Newest first, as the walk goes.
            for kept in segment::read(row.get(0)).map_err(damaged)?.iter().rev() {
                let entry = kept.read().map_err(damaged)?;
                if entry.item != item {
                    continue;
                }
                next = kept.previous.map(signed).filter(|previous| *previous != number);
                history.push(entry);
            }
        }
        history.reverse();
        Ok(history)
    }

    pub(super) async fn settle_batch(&self, batch: BatchId) -> Result<Settled, Error> {
        let lent = self.pool.lend().await?;
        let batch = || [id(Uuid(batch.0))];
        if lent.one(Ask::count(SETTLE, batch())).await?.count == 1 {
            return Ok(Settled::NeverWill);
        }
        // There is one: the batch itself, or the mark of an earlier settlement.
        let found = lent.one(Ask::rows(SETTLED, batch())).await?;
        let entries: Option<i32> = found.rows.first().map(|row| row.get(0));
        match entries {
            Some(0) => Ok(Settled::NeverWill),
            Some(_) => Ok(Settled::Committed),
            None => Err(Error::Statement("a segment has disappeared".to_string())),
        }
    }
}

fn head_of(row: Option<&tokio_postgres::Row>) -> Result<Head, Damaged> {
    let Some(row) = row else { return Ok(Head { position: 0, chain: Hash::ZERO }) };
    Ok(Head { position: unsigned(row.get(0))?, chain: value::hash(row.get(1))? })
}
