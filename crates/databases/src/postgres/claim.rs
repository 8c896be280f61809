//! Offering what is ready, in rank order, skipping what others have locked. Never waits.
//!
//! Scheduled items whose time has come are promoted first, in bounded steps. Items of an exclusive kind that have a key
//! stand behind their lane, which knows the oldest of them, so a key with a million of them costs as much as one with
//! two. Everything else stands in the ready index.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Lane, LaneKey, World};
use tokio_postgres::Row;

use super::hints::{Hints, Start};
use super::load::{COLUMNS, Hanging, Held, columns, lane};
use super::pool::{Answer, Ask};
use super::tx::PostgresTx;
use super::value::{Uuid, id, ids, int, ints, long, owned_texts, texts};
use crate::{Error, Place};

/// How often one claim looks again because it took rows out of the way.
const LOOKS_MAX: usize = 100;
/// One statement of each size. What is pulled through both limits is what is locked.
const READY: &str = concat!(
    "select * from (select ",
    columns!(),
    ", i.rank from @.items i where i.queue = $1 and i.slot = 2 and (i.rank, i.id) > ($2, $3) \
     order by i.rank, i.id limit # for update skip locked) c limit $4"
);
/// Of every free lane the one that is next.
const NEXT_BEHIND: &str = concat!(
    "with free as materialized (select l.next_id, l.running, l.open, l.latest, l.starts from @.lanes l \
     where l.queue = $1 and l.room > 0 and l.next_id is not null and (l.next_rank, l.next_id) > ($2, $3) \
     order by l.next_rank, l.next_id limit # for update skip locked) select ",
    columns!(),
    ", i.rank, f.running, f.open, f.latest, f.starts from (select * from free limit $4) f \
     join @.items i on i.id = f.next_id where i.slot = 4 order by i.rank, i.id for update of i skip locked"
);
/// Of every free lane as many as it has room for, none before an older one. Lanes are in the order of their first items, so
/// as many of them as items are wanted, beside those that were offered before, have them all.
const ALL_BEHIND: &str = concat!(
    "with free as materialized (select l.key, l.room, l.running, l.open, l.latest, l.starts from @.lanes l \
     where l.queue = $1 and l.room > 0 and l.next_id is not null \
     order by l.next_rank, l.next_id limit # for update skip locked), \
     ranked as materialized (select n.id, n.place, f.running, f.open, f.latest, f.starts from free f \
     cross join lateral (select i.id, max(i.rank) over (order by i.created, i.id) as place from @.items i \
        where i.queue = $1 and i.key = f.key and i.slot = 4 order by i.created, i.id limit f.room) n \
     where (n.place, n.id) > ($2, $3) order by n.place, n.id limit $4) select ",
    columns!(),
    ", r.place, r.running, r.open, r.latest, r.starts from ranked r join @.items i on i.id = r.id \
     where i.slot = 4 order by r.place, i.id for update of i skip locked"
);
const ANY_DUE: &str = "select exists (select from @.items i where i.queue = $1 and i.slot = 1 and i.run_at <= $2), \
    exists (select from @.items i where i.queue = $1 and i.slot = 1 and i.wait is not null and i.run_at - i.wait > $2)";
/// Derived columns alone: no version, no entry. An item that goes behind a lane needs that lane, which nobody waits for.
macro_rules! promote {
    ($due:literal) => {
        concat!(
            "with due as materialized (select i.id, i.key, i.lifecycle = any($3) as laned \
             from @.items i where i.queue = $1 and i.slot = 1 and ",
            $due,
            " limit 1000 for update skip locked), \
             lane as materialized (select l.key from @.lanes l where l.queue = $1 \
                and l.key in (select d.key from due d where d.laned) order by l.key for update skip locked) \
             update @.items i set slot = case when d.laned and d.key is not null then 4 else 2 end \
             from due d where i.id = d.id and (not d.laned or d.key is null or d.key in (select key from lane)) \
             returning i.rank, case when d.laned then i.key end"
        )
    };
}
const PROMOTE: &str = promote!("i.run_at <= $2 order by i.run_at, i.id");
/// Retries that were put off by a clock that was ahead: see `Item::is_early`.
const PROMOTE_PUT_OFF: &str =
    promote!("i.wait is not null and i.run_at - i.wait > $2 order by i.run_at - i.wait");
/// Moved over by a clock that was ahead: their time has not come after all.
const PUT_BACK: &str = "update @.items set slot = 1 where id = any($1) and slot in (2, 4)";
const LANES_SEEN: &str = "select l.key from @.lanes l where l.queue = $1 and l.key = any($2)";
const LANES_FREE: &str = "select l.key, l.running, l.open, l.latest, l.starts from @.lanes l \
    where l.queue = $1 and l.key = any($2) order by l.key for update skip locked";
const SET_ASIDE: &str = "update @.items set slot = -1 where id = any($1)";
const SAY_WHY: &str = "insert into @.quarantine (item, why, at) select u.*, $3 from unnest($1, $2) as u \
    on conflict do nothing";

/// The statements with which a claim looks for candidates, as they are prepared for so many of them in a schema: for whoever asks the
/// server for their plans.
pub fn claim_statements(schema: &str, limit: usize) -> Vec<(&'static str, String)> {
    let all = [
        ("ready", READY),
        ("one behind", NEXT_BEHIND),
        ("all behind", ALL_BEHIND),
        ("any due", ANY_DUE),
        ("promote", PROMOTE),
        ("promote put off", PROMOTE_PUT_OFF),
    ];
    let limit = limit.next_power_of_two().to_string();
    all.into_iter().map(|(name, text)| (name, text.replace('@', schema).replace('#', &limit))).collect()
}

/// What was claimed in this transaction, for the hints.
#[derive(Debug, Default)]
pub(super) struct Claimed {
    queues: HashMap<i32, Vec<Place>>,
    starts: HashMap<i32, Start>,
    leased: HashSet<ItemId>,
}

impl Claimed {
    fn begin(&mut self, queue: i32, start: Start) {
        self.starts.insert(queue, start);
        self.queues.insert(queue, Vec::new());
    }

    /// A claimed item is written in another slot: it is no longer ready.
    pub fn lease(&mut self, item: ItemId) {
        if !self.starts.is_empty() {
            self.leased.insert(item);
        }
    }

    /// Committed: the next claim starts at the first that was left, or at the last that was leased.
    pub fn leased_for_good(&mut self, hints: &Hints) {
        for (queue, places) in self.queues.drain() {
            let left = places.iter().find(|place| !self.leased.contains(&place.id));
            let (Some(start), Some(next)) = (self.starts.get(&queue), left.or(places.last())) else {
                continue;
            };
            hints.forward(queue, *start, next.rank.micros());
        }
    }

    /// Not committed, or left: what was claimed is ready still.
    pub fn give_back(&mut self, hints: &Hints) {
        for (queue, places) in self.queues.drain() {
            if let Some(first) = places.first() {
                hints.back(queue, first.rank.micros());
            }
        }
    }
}

/// Which scheduled items of a queue are to be promoted: an answer to [`ANY_DUE`].
#[derive(Clone, Copy, Default)]
struct Due {
    by_time: bool,
    put_off: bool,
}

impl Due {
    fn read(answer: Option<Answer>) -> Due {
        let row = answer.as_ref().and_then(|answer| answer.rows.first());
        row.map_or_else(Due::default, |row| Due { by_time: row.get(0), put_off: row.get(1) })
    }
}

/// A candidate with what its row holds.
struct Candidate {
    place: Place,
    item: Item,
    held: Held,
    /// Its lane, where it came from one.
    lane: Option<Lane>,
}

impl PostgresTx<'_> {
    pub(super) async fn offer(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<Place>, Error> {
        if limit == 0
            || self.known.is_foreign(kind)
            || !self.known.tables.versions().any(|table| table.kind == *kind)
        {
            return Ok(Vec::new());
        }
        let Some(queue) = self.database.catalog.find(store, kind).await? else { return Ok(Vec::new()) };
        let behind = match self.known.tables.laned(kind) {
            None => Behind::Nothing,
            Some(table) if table.is_exclusive() => Behind::OneOfALane,
            Some(_) => Behind::SomeOfALane { offered: self.offered.get(&queue).copied().unwrap_or(0) },
        };
        self.let_time_pass(queue, kind).await?;
        let from = From { queue, after, limit, behind };
        let mut left = LOOKS_MAX;
        let mut candidates = loop {
            match self.candidates(&from).await? {
                Some(candidates) => break candidates,
                // Some were damaged and are set aside, or were not due and are put back. More are left for the next claim.
                None if left == 0 => return Ok(Vec::new()),
                None => left -= 1,
            }
        };
        assert!(candidates.len() <= limit, "a claim offers at most what was asked for");
        if self.known.uses_lanes(kind) {
            self.lock_lanes_of(queue, &mut candidates, world).await?;
        }
        let mut hanging = Hanging::default();
        let mut offered = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            offered.push(candidate.place);
            // What is locked is newest in the world: only this batch changes it.
            match self.locked.entry(candidate.item.id) {
                Entry::Vacant(locked) => {
                    locked.insert(candidate.held.segment);
                    hanging.add(&candidate.item, &candidate.held);
                    candidate.held.into_world(candidate.item, world);
                }
                Entry::Occupied(_) => {
                    let links = world.items.get(&candidate.item.id).into_iter().flat_map(|item| &item.links);
                    hanging.others.extend(links.map(|link| link.to));
                }
            }
        }
        for lane in self.lanes_of(&offered, world) {
            hanging.others.extend(lane.items());
        }
        self.load_hanging(hanging, world).await?;
        *self.offered.entry(queue).or_default() += offered.len();
        Ok(offered)
    }

    /// None: look again.
    async fn candidates(&mut self, from: &From) -> Result<Option<Vec<Candidate>>, Error> {
        let rows = match from.behind {
            Behind::Nothing => self.ready(from).await?,
            Behind::OneOfALane | Behind::SomeOfALane { .. } => self.both(from).await?,
        };
        let mut candidates = Vec::with_capacity(rows.len());
        let mut damaged: Vec<(Uuid, String)> = Vec::new();
        let mut early: Vec<Item> = Vec::new();
        for (row, lane) in rows {
            match self.try_read(&row).await? {
                Ok((item, _)) if item.is_early(self.now) => early.push(item),
                Ok((item, held)) => {
                    let rank = Time::from_micros(row.get(COLUMNS));
                    candidates.push(Candidate { place: Place { rank, id: item.id }, item, held, lane });
                }
                Err(why) => damaged.push((row.get(0), why.to_string())),
            }
        }
        if !early.is_empty() {
            self.put_back(from.queue, &early).await?;
            return Ok(None);
        }
        if damaged.is_empty() {
            candidates.sort_by_key(|candidate| candidate.place);
            candidates.truncate(from.limit);
            return Ok(Some(candidates));
        }
        let (items, why): (Vec<Uuid>, Vec<String>) = damaged.into_iter().unzip();
        let now = long(self.now.micros());
        self.ask(vec![
            Ask::count(SET_ASIDE, [ids(items.clone())]),
            Ask::count(SAY_WHY, [ids(items), owned_texts(why), now]),
        ])
        .await?;
        self.has_set_aside = true;
        if from.behind != Behind::Nothing {
            self.renew_all_lanes(from.queue).await?;
        }
        Ok(None)
    }

    async fn put_back(&mut self, queue: i32, early: &[Item]) -> Result<(), Error> {
        let items = early.iter().map(|item| item.id.into()).collect();
        self.one(Ask::count(PUT_BACK, [ids(items)])).await?;
        self.has_set_aside = true;
        let mut keys: Vec<String> =
            early.iter().filter_map(lane_of).map(|lane| lane.key.to_string()).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() { Ok(()) } else { self.renew_lanes(queue, keys).await }
    }

    /// The ready index, from where this process knows that it begins.
    async fn ready(&mut self, from: &From) -> Result<Vec<(Row, Option<Lane>)>, Error> {
        let (queue, now) = (from.queue, self.now);
        let start = match from.after {
            Some(_) => None,
            None => Some(self.database.hints.start(queue, now)),
        };
        let rank = start.map_or(i64::MIN, |start| start.rank);
        let mut asks = self.look_for_control(queue);
        asks.push(Ask::rows(ANY_DUE, [int(queue), long(now.micros())]));
        asks.push(from.ask(READY, rank));
        let mut answers = self.ask(asks).await?.into_iter();
        if !self.has_no_control(queue, &mut answers)? {
            return Ok(Vec::new());
        }
        let due = Due::read(answers.next());
        let mut rows = answers.next().unwrap_or_default().rows;
        let promoted = self.promote(queue, due).await? > 0;
        let again = start.is_some_and(|start| !start.is_beginning()) && rows.len() < from.limit;
        if promoted || again {
            rows = self.one(from.ask(READY, i64::MIN)).await?.rows;
        }
        if let Some(start) = start {
            self.claimed.begin(queue, start);
        }
        let places = self.claimed.queues.entry(queue).or_default();
        for row in &rows {
            let place = Place { rank: Time::from_micros(row.get(COLUMNS)), id: row.get::<_, Uuid>(0).into() };
            places.push(place);
        }
        if let Some(last) = places.last() {
            self.database.hints.saw(queue, last.rank.micros());
        }
        Ok(rows.into_iter().map(|row| (row, None)).collect())
    }

    /// Behind the lanes and, for items without a key, in the ready index.
    async fn both(&mut self, from: &From) -> Result<Vec<(Row, Option<Lane>)>, Error> {
        let mut asks = self.look_for_control(from.queue);
        asks.push(Ask::rows(ANY_DUE, [int(from.queue), long(self.now.micros())]));
        let mut answers = self.ask(asks).await?.into_iter();
        if !self.has_no_control(from.queue, &mut answers)? {
            return Ok(Vec::new());
        }
        self.promote(from.queue, Due::read(answers.next())).await?;
        let asks = vec![from.ask_lanes(), from.ask(READY, i64::MIN)];
        let mut answers = self.ask(asks).await?.into_iter();
        let mut found = Vec::new();
        for row in answers.next().unwrap_or_default().rows {
            let lane = lane(&row, COLUMNS + 1)?;
            found.push((row, Some(lane)));
        }
        found.extend(answers.next().unwrap_or_default().rows.into_iter().map(|row| (row, None)));
        Ok(found)
    }

    async fn promote(&mut self, queue: i32, due: Due) -> Result<usize, Error> {
        let mut promoted = 0;
        if due.by_time {
            promoted += self.promote_some(queue, PROMOTE).await?;
        }
        if due.put_off {
            promoted += self.promote_some(queue, PROMOTE_PUT_OFF).await?;
        }
        Ok(promoted)
    }

    async fn promote_some(&mut self, queue: i32, which: &'static str) -> Result<usize, Error> {
        let behind = self.known.behind.clone();
        let params = [int(queue), long(self.now.micros()), ints(behind)];
        let promoted = self.one(Ask::rows(which, params)).await?;
        let mut keys: Vec<String> = Vec::new();
        for row in &promoted.rows {
            self.ready_at(queue, row.get(0));
            keys.extend(row.get::<_, Option<String>>(1));
        }
        keys.sort_unstable();
        keys.dedup();
        if !keys.is_empty() {
            self.renew_lanes(queue, keys).await?;
        }
        Ok(promoted.rows.len())
    }

    /// An item of this rank was made ready here.
    pub(super) fn ready_at(&mut self, queue: i32, rank: i64) {
        let lowest = self.readied.entry(queue).or_insert(rank);
        *lowest = rank.min(*lowest);
        self.database.hints.back(queue, rank);
    }

    /// Locks the lanes of candidates. One whose lane somebody else has is not offered.
    async fn lock_lanes_of(
        &mut self,
        queue: i32,
        candidates: &mut Vec<Candidate>,
        world: &mut World,
    ) -> Result<(), Error> {
        let mut missing: Vec<LaneKey> = Vec::new();
        for candidate in candidates.iter() {
            let Some(key) = lane_of(&candidate.item).filter(|key| !self.lanes.contains_key(key)) else {
                continue;
            };
            match &candidate.lane {
                Some(lane) => self.know_lane(key, lane.clone(), world),
                None => missing.push(key),
            }
        }
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let keys: Vec<&str> = missing.iter().map(|key| &*key.key).collect();
        let answers = self
            .ask(vec![
                Ask::rows(LANES_SEEN, [int(queue), texts(keys.clone())]),
                Ask::rows(LANES_FREE, [int(queue), texts(keys)]),
            ])
            .await?;
        let [seen, free] = &answers[..] else { return Ok(()) };
        let mut busy: HashSet<&str> = seen.rows.iter().map(|row| row.get(0)).collect();
        for row in &free.rows {
            busy.remove(row.get::<_, &str>(0));
            let key = self.lane_key(queue, row.get(0)).await?;
            self.know_lane(key, lane(row, 1)?, world);
        }
        candidates.retain(|candidate| {
            lane_of(&candidate.item)
                .is_none_or(|key| self.lanes.contains_key(&key) || !busy.contains(&*key.key))
        });
        Ok(())
    }

    fn lanes_of(&self, items: &[Place], world: &World) -> Vec<Lane> {
        let items = items.iter().filter_map(|place| world.items.get(&place.id));
        items.filter_map(|item| lane_of(item)).filter_map(|key| world.lanes.get(&key)).cloned().collect()
    }
}

pub(super) fn lane_of(item: &Item) -> Option<LaneKey> {
    let key = item.key.clone().filter(|_| item.table.uses_lanes())?;
    Some(LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key })
}

/// What a claim asks for.
struct From {
    queue: i32,
    after: Option<Place>,
    limit: usize,
    behind: Behind,
}

/// Where else than in the ready index items of a kind may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Nothing,
    OneOfALane,
    /// So many were offered before, in this transaction.
    SomeOfALane {
        offered: usize,
    },
}

impl From {
    fn ask_lanes<'a>(&self) -> Ask<'a> {
        let mut ask = match self.behind {
            Behind::Nothing | Behind::OneOfALane => return self.ask(NEXT_BEHIND, i64::MIN),
            Behind::SomeOfALane { .. } => self.ask(ALL_BEHIND, i64::MIN),
        };
        if let Behind::SomeOfALane { offered } = self.behind {
            ask = ask.sized(self.limit + offered);
        }
        ask
    }

    fn ask<'a>(&self, text: &'static str, rank: i64) -> Ask<'a> {
        let (rank, last) = self.after.map_or((rank, Uuid(0)), |after| (after.rank.micros(), after.id.into()));
        let limit = long(i64::try_from(self.limit).unwrap_or(i64::MAX));
        Ask::some_rows(text, self.limit, [int(self.queue), long(rank), id(last), limit])
    }
}
