//! Lanes as rows: what the kernel says of a key, how much room it has, and which item is the next behind it.
//!
//! A lane has a row while the kernel has something to say about it or an item waits behind it, ready or scheduled. A row that is missing can not be locked; it is inserted, and if somebody else was first the batch is tried
//! again and sees theirs.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::item::{Item, Slot};
use tenure_core::word::Kind;
use tenure_core::world::{Lane, LaneKey};

use super::claim::lane_of;
use super::load::lane;
use super::pool::{Answer, Ask};
use super::tx::PostgresTx;
use super::value::{
    Uuid, ids_or_null, int, ints, long, longs_or_null, owned_blobs, owned_blobs_or_null, owned_texts, texts,
    truths,
};
use crate::Error;
use crate::row::lane::{LaneRow, more_at_max};

const INSERT: &str = "insert into @.lanes (queue, key, running, open, latest, starts, room, more_at, over_at) \
    select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing";
const UPDATE: &str = "update @.lanes l set running = u.running, open = u.open, latest = u.latest, starts = u.starts, \
    room = u.room, more_at = u.more_at, over_at = u.over_at from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) \
    as u (queue, key, running, open, latest, starts, room, more_at, over_at) \
    where l.queue = u.queue and l.key = u.key";
const REMOVE: &str = "delete from @.lanes l using unnest($1, $2, $3) as u (queue, key, laned) \
    where l.queue = u.queue and l.key = u.key and l.running = '' and l.open is null and l.latest is null \
    and (l.over_at is null or l.over_at <= $4) \
    and not (u.laned and exists ( \
        select from @.items i where i.queue = u.queue and i.key = u.key and i.slot in (1, 4))) \
    returning l.queue, l.key";
/// Lanes that have more room by now, and those of which nothing has to be remembered.
const MORE: &str = "select l.key, l.running, l.open, l.latest, l.starts from @.lanes l \
    where l.queue = $1 and l.more_at between $2 and $3 and l.next_id is not null order by l.more_at limit 1000 \
    for update skip locked";
const OVER: &str = "delete from @.lanes l using (select o.key from @.lanes o where o.queue = $1 and o.over_at <= $2 \
        and o.next_id is null order by o.over_at limit 100 for update skip locked) o \
    where l.queue = $1 and l.key = o.key and l.running = '' and l.open is null and l.latest is null \
    and not exists (select from @.items i where i.queue = $1 and i.key = l.key and i.slot in (1, 4))";
const NEXT: &str = "update @.lanes l set next_id = n.id, next_rank = n.rank \
    from unnest($1, $2) as u (queue, key) left join lateral ( \
        select i.id, i.rank from @.items i where i.queue = u.queue and i.key = u.key and i.slot = 4 \
        order by i.created, i.id limit 1) n on true \
    where l.queue = u.queue and l.key = u.key";
const KEYS: &str = "select l.key from @.lanes l where l.queue = $1 and l.next_id is not null";

/// The lanes that a wave touches.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// What the kernel says they are from now on.
    changed: BTreeMap<LaneKey, Lane>,
    /// An item went into or out of what is behind them.
    moved: BTreeSet<LaneKey>,
    /// One of those must have a row.
    needed: BTreeSet<LaneKey>,
}

/// Those that are inserted must all be new.
pub(super) struct Planned {
    pub inserts: usize,
    /// How many of the wave's changes need no statement: a lane without a row that stays so.
    pub free: usize,
    pub extra: usize,
}

impl Touched {
    pub fn change(&mut self, key: &LaneKey, lane: &Lane) {
        self.changed.insert(key.clone(), lane.clone());
    }

    pub fn item(&mut self, item: &Item, slot: Slot) {
        if !item.table.is_laned() {
            return;
        }
        let Some(key) = lane_of(item) else { return };
        if matches!(slot, Slot::Scheduled | Slot::Ready) {
            self.needed.insert(key.clone());
        }
        self.moved.insert(key);
    }

    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.moved.is_empty()
    }

    /// The stores and kinds, whose numbers must be known.
    pub fn keys(&self) -> impl Iterator<Item = &LaneKey> {
        self.changed.keys().chain(&self.moved)
    }
}

/// One row of a lane's statement.
type Placed<'a> = (i32, &'a str, LaneRow);

impl PostgresTx<'_> {
    /// Before the items: the rows of the lanes, sorted, those that are missing first.
    pub(super) fn lane_asks<'a>(
        &self,
        touched: &'a Touched,
        asks: &mut Vec<Ask<'a>>,
    ) -> Result<Planned, Error> {
        let mut missing: Vec<Placed<'a>> = Vec::new();
        let mut known: Vec<Placed<'a>> = Vec::new();
        let mut planned = Planned { inserts: 0, free: 0, extra: 0 };
        for (key, lane) in &touched.changed {
            if self.lanes.contains_key(key) {
                known.push(self.placed(key, lane)?);
            } else if *lane != Lane::default() || touched.needed.contains(key) {
                missing.push(self.placed(key, lane)?);
            } else {
                planned.free += 1;
            }
        }
        for key in &touched.needed {
            if !self.lanes.contains_key(key) && !touched.changed.contains_key(key) {
                missing.push(self.placed(key, &Lane::default())?);
                planned.extra += 1;
            }
        }
        missing.sort_unstable_by_key(|(queue, key, _)| (*queue, *key));
        planned.inserts = missing.len();
        if !missing.is_empty() {
            asks.push(lane_rows(INSERT, missing));
        }
        if !known.is_empty() {
            asks.push(lane_rows(UPDATE, known));
        }
        Ok(planned)
    }

    /// After the items: lanes that nobody needs go, the others learn what is next behind them.
    pub(super) fn lane_ends<'a>(&self, touched: &'a Touched, asks: &mut Vec<Ask<'a>>) -> Result<(), Error> {
        let all: BTreeSet<&LaneKey> = touched.keys().collect();
        let mut may_go: Vec<(i32, &str, bool)> = Vec::new();
        for key in all {
            let lane = touched.changed.get(key).or_else(|| self.lanes.get(key));
            if lane.is_none_or(Lane::is_idle) {
                may_go.push((self.queue(key)?, &key.key, self.known.is_laned(&key.kind)));
            }
        }
        // Always asked, so that its answer has its place.
        let queues = may_go.iter().map(|row| row.0).collect();
        let keys = may_go.iter().map(|row| row.1).collect();
        let laned = may_go.iter().map(|row| row.2).collect();
        let now = long(self.now.micros());
        asks.push(Ask::rows(REMOVE, [ints(queues), texts(keys), truths(laned), now]));
        if !touched.moved.is_empty() {
            let mut moved: Vec<(i32, &str)> = Vec::new();
            for key in &touched.moved {
                moved.push((self.queue(key)?, &key.key));
            }
            let (queues, keys) = moved.into_iter().unzip();
            asks.push(Ask::count(NEXT, [ints(queues), texts(keys)]));
        }
        Ok(())
    }

    /// What was written is what is known.
    pub(super) async fn lanes_written(&mut self, touched: &Touched, removed: &Answer) -> Result<(), Error> {
        for (key, lane) in &touched.changed {
            if self.lanes.contains_key(key) || *lane != Lane::default() || touched.needed.contains(key) {
                self.lanes.insert(key.clone(), lane.clone());
            }
        }
        for key in &touched.needed {
            self.lanes.entry(key.clone()).or_default();
        }
        for row in &removed.rows {
            let key = self.lane_key(row.get(0), row.get(1)).await?;
            self.lanes.remove(&key);
        }
        Ok(())
    }

    fn placed<'a>(&self, key: &'a LaneKey, lane: &Lane) -> Result<Placed<'a>, Error> {
        let row = LaneRow::of(lane, &key.kind, &self.known.tables, self.now);
        Ok((self.queue(key)?, &key.key, row))
    }

    /// Lanes that have more room by now learn of it, and those that are over go.
    pub(super) async fn let_time_pass(&mut self, queue: i32, kind: &Kind) -> Result<(), Error> {
        let Some(rate) = self.known.tables.laned(kind).and_then(|table| table.settings.rate.key) else {
            return Ok(());
        };
        let now = self.now.micros();
        let more = |from: i64, to: i64| Ask::rows(MORE, [int(queue), long(from), long(to)]);
        // Those that were given a time by a clock that was ahead, too.
        let beyond = more_at_max(rate, self.now).micros().saturating_add(1);
        let over = Ask::count(OVER, [int(queue), long(now)]);
        let answers = self.ask(vec![over, more(i64::MIN, now), more(beyond, i64::MAX)]).await?;
        let mut due: Vec<(LaneKey, Lane)> = Vec::new();
        for row in answers.iter().skip(1).flat_map(|answer| &answer.rows) {
            due.push((self.lane_key(queue, row.get(0)).await?, lane(row, 1)?));
        }
        if due.is_empty() {
            return Ok(());
        }
        due.sort_by(|one, other| one.0.cmp(&other.0));
        let rows = due.iter().map(|(key, lane)| self.placed(key, lane)).collect::<Result<_, Error>>()?;
        self.one(lane_rows(UPDATE, rows)).await.map(drop)
    }

    fn queue(&self, key: &LaneKey) -> Result<i32, Error> {
        let found = self.known.queue(&key.store, &key.kind);
        found
            .ok_or_else(|| Error::Statement(format!("the queue {} of {} has no number", key.kind, key.store)))
    }

    /// Lanes whose ready items were promoted or set aside.
    pub(super) async fn renew_lanes(&mut self, queue: i32, keys: Vec<String>) -> Result<(), Error> {
        let queues = vec![queue; keys.len()];
        self.one(Ask::count(NEXT, [ints(queues), owned_texts(keys)])).await.map(drop)
    }

    pub(super) async fn renew_all_lanes(&mut self, queue: i32) -> Result<(), Error> {
        let found = self.one(Ask::rows(KEYS, [int(queue)])).await?;
        let keys = found.rows.iter().map(|row| row.get(0)).collect();
        self.renew_lanes(queue, keys).await
    }
}

fn lane_rows<'a>(text: &'static str, rows: Vec<Placed<'a>>) -> Ask<'a> {
    let ids = |of: fn(&LaneRow) -> Option<tenure_core::id::ItemId>| {
        ids_or_null(rows.iter().map(|row| of(&row.2).map(Uuid::from)).collect())
    };
    let (open, latest) = (ids(|lane| lane.open), ids(|lane| lane.latest));
    let queues = ints(rows.iter().map(|row| row.0).collect());
    let keys = texts(rows.iter().map(|row| row.1).collect());
    let room = ints(rows.iter().map(|row| row.2.room).collect());
    let more_at = longs_or_null(rows.iter().map(|row| row.2.more_at).collect());
    let over_at = longs_or_null(rows.iter().map(|row| row.2.over_at).collect());
    let (running, starts) = rows.into_iter().map(|(.., row)| (row.running, row.starts)).unzip();
    let (running, starts) = (owned_blobs(running), owned_blobs_or_null(starts));
    Ask::count(text, [queues, keys, running, open, latest, starts, room, more_at, over_at])
}
