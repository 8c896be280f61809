//! Locking and loading what requests need, in few round trips.
//!
//! ```text
//! names ─▶ the items they stand for ─▶ controls ─▶ lanes ─▶ the items in them ─▶ items, records, the clock ─▶ what hangs on them
//! ```
//!
//! A step that has nothing to do sends nothing. The usual commit is one round trip, the usual create is one.

use std::borrow::Cow;
use std::collections::BTreeSet;

use tenure_core::body::Body;
use tenure_core::execution::Execution;
use tenure_core::id::{ExecutionId, Fence, ItemId, RecordId};
use tenure_core::item::{Item, Slot};
use tenure_core::request::Need;
use tenure_core::time::Time;
use tenure_core::word::Key;
use tenure_core::world::{Lane, LaneKey, NameKey, Named, Record, World};
use tokio_postgres::Row;

use super::catalog::Known;
use super::moment::{MOMENT, Moment};
use super::pool::{Answer, Ask};
use super::tx::PostgresTx;
use super::value::{self, Uuid, ids, ints, longs, owned_texts, texts};
use crate::Error;
use crate::row::bytes::word;
use crate::row::item::ItemRow;
use crate::row::{Damaged, Memo, execution, name, signed, unsigned};

/// The columns of an item that are read, in the order in which [`item`] reads them.
macro_rules! columns {
    () => {
        "i.id, i.queue, i.lifecycle, i.state, i.version, i.fence, i.run_at, i.created, i.updated, i.key, i.owner, \
         i.heartbeat, i.expires, i.window_ends, i.session, i.committed, i.segment, i.head, i.payload_hash, \
         i.payload, i.rest, i.wait"
    };
}
pub(super) use columns;

/// How many columns that is; what a statement adds comes after them.
pub(super) const COLUMNS: usize = 22;

const NAMES: &str = "select n.store, n.scope, n.name, n.value \
    from unnest($1, $2, $3) as u (store, scope, name) \
    join @.names n on n.store = u.store and n.scope = u.scope and n.name = u.name \
    order by n.store, n.scope, n.name for update of n";
/// The lanes that are named, and those of the items that are.
const LANES: &str = "with wanted (queue, key) as materialized ( \
        select * from unnest($1, $2) \
        union select i.queue, i.key from @.items i \
        where i.id = any($3) and i.key is not null and i.lifecycle = any($4)) \
    select l.queue, l.key, l.running, l.open, l.latest, l.starts \
    from wanted w join @.lanes l on l.queue = w.queue and l.key = w.key \
    order by l.queue, l.key for update of l";
const ITEMS: &str =
    concat!("select ", columns!(), " from @.items i where i.id = any($1) order by i.id for update");
const LINKED: &str = concat!("select ", columns!(), " from @.items i where i.id = any($1)");
const RECORDS: &str = "select id, item, fence, label, name, hash, version, at, body from @.records \
    where id = any($1)";
const PAYLOADS: &str = "select item, body from @.bodies where item = any($1) and part = 0";
const EXECUTIONS: &str = "select e.item, e.fence, e.rest from unnest($1, $2) as u (item, seat) \
    join @.executions e on e.item = u.item and e.seat = u.seat";

fn moment_in(answer: &Answer) -> Option<Moment> {
    answer.rows.first().map(Moment::of)
}

impl PostgresTx<'_> {
    pub(super) async fn lock_and_load(&mut self, need: &Need) -> Result<World, Error> {
        let mut world = World::new(self.tables());
        let mut hanging = Hanging::default();
        let controls = self.controls_of(need).await?;
        // Rows of the inbox are refused for good, so they are judged by the lifecycles that are in force, however that is asked.
        if !self.is_open()
            && controls.is_empty()
            && need.is_only_controls()
            && let Some(moment) = self.database.spare.take()
        {
            self.spare = true;
            self.take_moment(Some(moment), &mut world).await?;
            return Ok(world);
        }
        let mut items = need.items.clone();
        let mut names = Cow::Borrowed(&need.names);
        if !need.removals.is_empty() {
            names.to_mut().extend(self.load_entries(&need.removals, &mut world).await?);
        }
        let mut moment: Option<Moment> = None;
        if !names.is_empty() {
            let mut asks = vec![names_of(&names)];
            if need.lanes.is_empty() && items.is_empty() && controls.is_empty() {
                asks.push(Ask::rows(MOMENT, []));
            }
            let mut answers = self.ask(asks).await?.into_iter();
            self.take_names(&names, answers.next().unwrap_or_default(), &mut world, &mut items)?;
            moment = answers.next().as_ref().and_then(moment_in);
        }
        hanging.others.extend(self.lock_controls(controls, &mut world).await?);
        let with_lanes = items.iter().any(|item| !self.database.laneless.has(*item));
        if !need.lanes.is_empty() || (with_lanes && !self.known.laned.is_empty()) {
            let found = self.lock_lanes(need, &items).await?;
            self.take_lanes(found, &mut world, &mut items).await?;
        }
        let mut rows = Vec::new();
        if moment.is_none() || !items.is_empty() {
            let mut asks = Vec::new();
            if !items.is_empty() {
                asks.push(Ask::rows(ITEMS, [ids(uuids(&items))]));
            }
            if !need.records.is_empty() {
                let wanted = need.records.iter().map(|id| Uuid(id.0)).collect();
                asks.push(Ask::rows(RECORDS, [ids(wanted)]));
            }
            asks.push(Ask::rows(MOMENT, []));
            // Where nothing was locked there is nothing to hold together yet.
            let locks = asks.len() > 1 || self.is_open();
            let answers = if locks { self.ask(asks).await } else { self.lent.ask(asks).await };
            let mut answers = answers?.into_iter();
            if !items.is_empty() {
                rows = answers.next().unwrap_or_default().rows;
            }
            if !need.records.is_empty() {
                take_records(answers.next().unwrap_or_default(), &mut world)?;
            }
            moment = answers.next().as_ref().and_then(moment_in);
        }
        self.take_moment(moment, &mut world).await?;
        if !need.removals.is_empty() {
            self.load_needed(&need.removals, &mut world).await?;
            hanging.others.extend(world.linked.iter().map(|(_, from)| *from));
        }
        if !need.followed.is_empty() {
            hanging.others.extend(self.load_followers(need, &mut world).await?);
        }
        hanging.executions.extend(need.executions.iter().copied());
        for row in rows {
            let (item, held) = self.read(&row).await?;
            self.locked.insert(item.id, held.segment);
            hanging.add(&item, &held);
            held.into_world(item, &mut world);
        }
        self.load_hanging(hanging, &mut world).await?;
        Ok(world)
    }

    /// The time is read once more before anything is leased: a lease is judged by the server's clock and no other.
    pub(super) async fn look_at_clock(&mut self, world: &mut World) -> Result<(), Error> {
        if std::mem::take(&mut self.spare) {
            let answer = self.lent.one(Ask::rows(MOMENT, [])).await?;
            // What was written before refers to the segment that it has.
            let segment = self.segment;
            self.take_moment(moment_in(&answer), world).await?;
            self.segment = segment;
        }
        Ok(())
    }

    async fn take_moment(&mut self, moment: Option<Moment>, world: &mut World) -> Result<(), Error> {
        let moment = moment.ok_or_else(|| Error::Statement("the server has no clock".to_string()))?;
        self.now = match &self.database.clock {
            Some(clock) => clock(),
            None => Time::from_micros(moment.now),
        };
        self.segment = moment.segment;
        if moment.catalog.is_some_and(|version| version > self.in_force) {
            self.refresh().await?;
            return Err(Error::LostRace("another lifecycle came into force".to_string()));
        }
        world.now = self.now;
        Ok(())
    }

    fn take_names(
        &mut self,
        names: &BTreeSet<NameKey>,
        found: Answer,
        world: &mut World,
        items: &mut BTreeSet<ItemId>,
    ) -> Result<(), Error> {
        let mut by_columns: std::collections::HashMap<(&str, String, &str), &NameKey> =
            names.iter().map(|key| ((&*key.store, name::scope(key), &*key.name), key)).collect();
        for row in &found.rows {
            let columns: (&str, String, &str) = (row.get(0), row.get(1), row.get(2));
            let Some(key) = by_columns.remove(&columns) else { continue };
            let damaged = |why: Damaged| Error::Statement(format!("the name {}: {why}", key.name));
            let named = name::read(row.get(3)).map_err(damaged)?;
            match &named {
                Named::Created { item, .. } | Named::Folded { item, .. } => {
                    items.insert(*item);
                }
                Named::Leased(leases) => items.extend(leases.iter().map(|lease| lease.item)),
            }
            self.names.insert(key.clone());
            world.names.insert(key.clone(), named);
        }
        Ok(())
    }

    async fn lock_lanes(&mut self, need: &Need, items: &BTreeSet<ItemId>) -> Result<Answer, Error> {
        let mut wanted: Vec<(i32, &str)> = Vec::new();
        for key in &need.lanes {
            let queue = match self.known.queue(&key.store, &key.kind) {
                Some(queue) => Some(queue),
                None => self.database.catalog.find(&key.store, &key.kind).await?,
            };
            wanted.extend(queue.map(|queue| (queue, &*key.key)));
        }
        let (queues, keys) = wanted.into_iter().unzip();
        let laned = self.known.laned.clone();
        self.one(Ask::rows(LANES, [ints(queues), texts(keys), ids(uuids(items)), ints(laned)])).await
    }

    async fn take_lanes(
        &mut self,
        found: Answer,
        world: &mut World,
        items: &mut BTreeSet<ItemId>,
    ) -> Result<(), Error> {
        for row in &found.rows {
            let key = self.lane_key(row.get(0), row.get(1)).await?;
            let lane = lane(row, 2)?;
            items.extend(lane.items());
            self.know_lane(key, lane, world);
        }
        Ok(())
    }

    /// A lane that was locked just now. Its row may be there for the sake of its ready items alone.
    pub(super) fn know_lane(&mut self, key: LaneKey, lane: Lane, world: &mut World) {
        if lane == Lane::default() {
            world.lanes.remove(&key);
        } else {
            world.lanes.insert(key.clone(), lane.clone());
        }
        self.lanes.insert(key, lane);
    }

    pub(super) async fn lane_key(&mut self, queue: i32, key: &str) -> Result<LaneKey, Error> {
        if !self.known.queues.contains_key(&queue) {
            self.refresh().await?;
        }
        let damaged = |why: Damaged| Error::Statement(format!("a lane of queue {queue}: {why}"));
        let missing = || Damaged(format!("there is no queue {queue}"));
        let (store, kind) = self.known.queues.get(&queue).cloned().ok_or_else(missing).map_err(damaged)?;
        Ok(LaneKey { store, kind, key: word::<Key>(key).map_err(damaged)? })
    }

    /// An item from its row; what it names by an unknown number is asked for once.
    pub(super) async fn read(&mut self, row: &Row) -> Result<(Item, Held), Error> {
        self.try_read(row).await?.map_err(|why| {
            let id: Uuid = row.get(0);
            Error::Statement(format!("item {}: {why}", ItemId::from(id)))
        })
    }

    pub(super) async fn try_read(&mut self, row: &Row) -> Result<Result<(Item, Held), Damaged>, Error> {
        let (queue, lifecycle): (i32, i32) = (row.get(1), row.get(2));
        if !self.known.queues.contains_key(&queue) || !self.known.has_lifecycle(lifecycle) {
            self.refresh().await?;
        }
        Ok(item(row, &self.known, &mut self.memo))
    }

    /// Linked items, which are read and never locked; then bodies and executions of all.
    pub(super) async fn load_hanging(
        &mut self,
        mut hanging: Hanging,
        world: &mut World,
    ) -> Result<(), Error> {
        hanging.others.retain(|item| !world.items.contains_key(item));
        if !hanging.others.is_empty() {
            let others = ids(uuids(&hanging.others));
            let found = self.one(Ask::rows(LINKED, [others])).await?;
            for row in &found.rows {
                let (item, held) = self.read(row).await?;
                hanging.add_unlocked(&item, &held);
                held.into_world(item, world);
            }
        }
        hanging.executions.retain(|id| !world.executions.contains_key(id) && may_be_kept(world, *id));
        let mut asks = Vec::new();
        if !hanging.bodies.is_empty() {
            asks.push(Ask::rows(PAYLOADS, [ids(uuids(&hanging.bodies))]));
        }
        if !hanging.executions.is_empty() {
            // The one that committed has seat 0, an aborted one its fence: whichever it is.
            let mut seats: Vec<(Uuid, i64)> = Vec::new();
            for id in &hanging.executions {
                seats.extend([(id.item.into(), 0), (id.item.into(), signed(id.fence.0))]);
            }
            seats.sort_unstable();
            seats.dedup();
            let (items, seats) = seats.into_iter().unzip();
            asks.push(Ask::rows(EXECUTIONS, [ids(items), longs(seats)]));
        }
        let mut answers = self.ask(asks).await?.into_iter();
        if !hanging.bodies.is_empty() {
            for row in &answers.next().unwrap_or_default().rows {
                let id = ItemId::from(row.get::<_, Uuid>(0));
                let body = body(row.get(1)).map_err(|why| Error::Statement(format!("item {id}: {why}")))?;
                world.payloads.entry(id).or_insert(body);
            }
        }
        if !hanging.executions.is_empty() {
            for row in &answers.next().unwrap_or_default().rows {
                let execution = ended(row, &mut self.memo)?;
                if hanging.executions.contains(&execution.id) {
                    world.executions.entry(execution.id).or_insert_with(|| execution.into());
                }
            }
        }
        Ok(())
    }

    fn tables(&self) -> std::sync::Arc<tenure_core::lifecycle::tables::Tables> {
        crate::Tx::tables(self)
    }
}

/// Whether an execution can have a row: one that is still live has none, and one without its item neither.
fn may_be_kept(world: &World, id: ExecutionId) -> bool {
    world.items.get(&id.item).is_some_and(|item| {
        id.fence <= item.fence && (item.committed.is_some() || item.lease.is_none() || id.fence < item.fence)
    })
}

/// What hangs on items and is loaded after them.
#[derive(Debug, Default)]
pub(super) struct Hanging {
    pub others: BTreeSet<ItemId>,
    pub executions: BTreeSet<ExecutionId>,
    bodies: BTreeSet<ItemId>,
}

impl Hanging {
    pub fn add(&mut self, item: &Item, held: &Held) {
        self.others.extend(item.links.iter().map(|link| link.to));
        self.add_unlocked(item, held);
    }

    fn add_unlocked(&mut self, item: &Item, held: &Held) {
        self.executions.extend(item.committed.map(|fence| ExecutionId { item: item.id, fence }));
        if held.payload.is_none() && !item.erased {
            self.bodies.insert(item.id);
        }
    }
}

/// What a row holds beside its item.
#[derive(Debug)]
pub(super) struct Held {
    pub segment: i64,
    pub payload: Option<Body>,
}

impl Held {
    pub fn into_world(self, item: Item, world: &mut World) {
        if let Some(payload) = self.payload {
            world.payloads.insert(item.id, payload);
        }
        world.items.insert(item.id, item.into());
    }
}

fn names_of<'a>(names: &'a BTreeSet<NameKey>) -> Ask<'a> {
    let stores = names.iter().map(|key| &*key.store).collect();
    let scopes = names.iter().map(name::scope).collect();
    let words = names.iter().map(|key| &*key.name).collect();
    Ask::rows(NAMES, [texts(stores), owned_texts(scopes), texts(words)])
}

pub(super) fn uuids<'a>(ids: impl IntoIterator<Item = &'a ItemId>) -> Vec<Uuid> {
    ids.into_iter().map(|id| Uuid::from(*id)).collect()
}

/// A lane from running, open, latest and starts.
pub(super) fn lane(row: &Row, from: usize) -> Result<Lane, Error> {
    let id = |column: usize| row.get::<_, Option<Uuid>>(column).map(ItemId::from);
    let starts = row.get::<_, Option<&[u8]>>(from + 3);
    let read = crate::row::lane::read(row.get(from), id(from + 1), id(from + 2), starts);
    read.map_err(|why| Error::Statement(format!("a lane: {why}")))
}

/// An item from the columns of [`columns!`].
pub(super) fn item(row: &Row, known: &Known, memo: &mut Memo) -> Result<(Item, Held), Damaged> {
    let (queue, lifecycle): (i32, i32) = (row.get(1), row.get(2));
    let state = u8::try_from(row.get::<_, i16>(3)).map_err(|_| Damaged::because("its state is no number"))?;
    let columns = ItemRow {
        id: row.get::<_, Uuid>(0).into(),
        state,
        // Derived, and not read back.
        slot: Slot::None,
        rank: 0,
        exclusive: None,
        version: row.get(4),
        fence: row.get(5),
        run_at: row.get(6),
        wait: row.get(21),
        created: row.get(7),
        updated: row.get(8),
        key: row.get::<_, Option<&str>>(9).map(Into::into),
        owner: row.get::<_, Option<&str>>(10).map(Into::into),
        heartbeat: row.get(11),
        expires: row.get(12),
        window_ends: row.get(13),
        session: row.get::<_, Option<Uuid>>(14).map(ItemId::from),
        committed: row.get(15),
        head: value::hash(row.get(17))?,
        payload: value::hash(row.get(18))?,
        rest: row.get::<_, &[u8]>(20).into(),
    };
    let item = columns.read(known.store(queue)?.clone(), known.lifecycle(lifecycle)?.clone(), memo)?;
    let changed = || Damaged::because("its payload is not the one that it was created with");
    let payload = row.get::<_, Option<&[u8]>>(19);
    let payload = payload.map(|bytes| Body::kept(bytes, &item.payload).ok_or_else(changed)).transpose()?;
    Ok((item, Held { segment: row.get(16), payload }))
}

pub(super) fn body(bytes: &[u8]) -> Result<Body, Damaged> {
    Body::json(bytes).map_err(|_| Damaged::because("a body of it is no JSON"))
}

/// An execution from item, fence and rest.
pub(super) fn ended(row: &Row, memo: &mut Memo) -> Result<Execution, Error> {
    let item: ItemId = row.get::<_, Uuid>(0).into();
    execution::read(item, row.get(1), row.get(2), memo)
        .map_err(|why| Error::Statement(format!("an execution of {item}: {why}")))
}

fn take_records(found: Answer, world: &mut World) -> Result<(), Error> {
    for row in &found.rows {
        let record = record(row)?;
        world.records.insert(record.id, record);
    }
    Ok(())
}

pub(super) fn record(row: &Row) -> Result<Record, Error> {
    let read = || {
        Ok::<Record, Damaged>(Record {
            id: RecordId(row.get::<_, Uuid>(0).0),
            item: row.get::<_, Uuid>(1).into(),
            fence: row.get::<_, Option<i64>>(2).map(unsigned).transpose()?.map(Fence),
            label: word(row.get(3))?,
            name: word(row.get(4))?,
            hash: value::hash(row.get(5))?,
            version: unsigned(row.get(6))?,
            at: Time::from_micros(row.get(7)),
            body: row.get::<_, Option<&[u8]>>(8).map(body).transpose()?,
        })
    };
    read().map_err(|why| Error::Statement(format!("a record: {why}")))
}
