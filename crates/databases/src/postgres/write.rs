//! Writing a wave: one statement a sort of row, all sent together.
//!
//! Rows are found by their primary key and nothing else, whatever else must hold is a condition on the row that was found.
//! A name or a lane that turns out to be somebody else's is a lost race; any other count that is short is the caller's
//! to judge.

use std::collections::HashMap;

use tenure_core::body::Body;
use tenure_core::control::{Control, QueueKey};
use tenure_core::id::ItemId;
use tenure_core::item::{Item, Slot};
use tenure_core::world::{Change, Message, NameKey, Named, Record};

use super::lanes::Touched;
use super::pool::Ask;
use super::tx::PostgresTx;
use super::value::{
    Param, Uuid, blobs, blobs_or_null, ids, ids_or_null, ints, long, longs, longs_or_null, owned_texts,
    shorts, texts, texts_or_null,
};
use crate::Error;
use crate::batch::TORN;
use crate::row::execution::{self, ExecutionRow};
use crate::row::item::{INLINE_BYTES_MAX, ItemRow};
use crate::row::{name, signed, slot_number, status_number};

/// A wave of at most so many changes may travel with COMMIT. Of more, the round trip that it saves is nothing.
const TOGETHER_MAX: usize = 32;

/// Ready, but behind its lane.
const BEHIND_LANE: i16 = 4;

macro_rules! insert {
    () => {
        "insert into @.items (id, queue, lifecycle, state, slot, rank, version, fence, run_at, created, updated, key, \
         exclusive, owner, heartbeat, expires, window_ends, session, committed, segment, head, payload_hash, payload, \
         rest, wait) select "
    };
}
// Arrays are unnested in the select list: in `from` each of them would be written to a store of its own and read back.
macro_rules! unnested {
    () => {
        "unnest($1), unnest($2), unnest($3), unnest($4), unnest($5), unnest($6), unnest($7), unnest($8), unnest($9), \
         unnest($10), unnest($11), unnest($12), unnest($13), unnest($14), unnest($15), unnest($16), unnest($17), \
         unnest($18), unnest($19), unnest($20), unnest($21), unnest($22), unnest($23), unnest($24), unnest($25)"
    };
}
// One row: to unnest it costs more than to write it.
macro_rules! single {
    () => {
        "$1[1], $2[1], $3[1], $4[1], $5[1], $6[1], $7[1], $8[1], $9[1], $10[1], $11[1], $12[1], $13[1], $14[1], $15[1], \
         $16[1], $17[1], $18[1], $19[1], $20[1], $21[1], $22[1], $23[1], $24[1], $25[1]"
    };
}
macro_rules! append {
    ($($value:expr),+) => {
        concat!(
            "insert into @.segments (segment, batch, at, lines, entries, seq) values (",
            $($value, ", ",)+
            "nextval('@.segment_order'))"
        )
    };
}
// With lifecycles that are not in force any more it fails.
macro_rules! in_force {
    ($entries:literal, $catalog:literal) => {
        concat!(
            $entries,
            " / ((select value::bigint from @.meta where name = 'catalog') = ",
            $catalog,
            ")::integer"
        )
    };
}
macro_rules! create {
    () => {
        concat!(
            "with log as (",
            append!("$26", "$27", "$28", "$29", in_force!("$30", "$31")),
            ") ",
            insert!()
        )
    };
}
const INSERT: &str = concat!(insert!(), unnested!());
const INSERT_ONE: &str = concat!(insert!(), single!());
/// The segment of the log.
pub(super) const APPEND: &str = append!("$1", "$2", "$3", "$4", "$5");
/// The same where nobody has looked whether the lifecycles are in force still.
pub(super) const APPEND_IN_FORCE: &str = append!("$1", "$2", "$3", "$4", in_force!("$5", "$6"));
/// New items and their segment in one statement, which is a transaction by itself.
const CREATE: &str = concat!(create!(), unnested!());
const CREATE_ONE: &str = concat!(create!(), single!());
macro_rules! update {
    () => {
        "update @.items i set state = u.state, slot = u.slot, rank = u.rank, version = u.version, fence = u.fence, run_at \
    = u.run_at, updated = u.updated, exclusive = u.exclusive, owner = u.owner, heartbeat = u.heartbeat, expires = \
    u.expires, window_ends = u.window_ends, session = u.session, committed = u.committed, segment = u.segment, head \
    = u.head, rest = u.rest, wait = u.wait from (select unnest($1) as id, unnest($2) as was, unnest($3) as state, unnest($4) as \
    slot, unnest($5) as rank, unnest($6) as version, unnest($7) as fence, unnest($8) as run_at, unnest($9) as \
    updated, unnest($10) as exclusive, unnest($11) as owner, unnest($12) as heartbeat, unnest($13) as expires, \
    unnest($14) as window_ends, unnest($15) as session, unnest($16) as committed, unnest($17) as segment, \
    unnest($18) as head, unnest($19) as rest, unnest($20) as wait) u where i.id = u.id and i.version = u.was"
    };
}
const UPDATE: &str = update!();
/// All of them or an error: for a COMMIT that is sent along with it and can not wait for the count.
const UPDATE_ALL: &str = concat!(
    "with written as (",
    update!(),
    " returning 1) select 1 / (count(*) = $21)::integer from written"
);
const RENEW: &str = "update @.items i set heartbeat = u.heartbeat, expires = u.expires \
    from unnest($1, $2, $3, $4) as u (id, fence, heartbeat, expires) \
    where i.id = u.id and i.fence = u.fence and i.owner is not null";
const ERASE: &str = "update @.items set payload = null where id = any($1)";
const ERASE_BODIES: &str = "delete from @.bodies where item = any($1)";
const ERASE_RECORDS: &str = "update @.records set body = null where item = any($1)";
const BODIES: &str = "insert into @.bodies (item, part, body) select * from unnest($1, $2, $3) \
    on conflict (item, part) do update set body = excluded.body";
const EXECUTIONS: &str = "insert into @.executions (item, seat, fence, status, rest) \
    select unnest($1), unnest($2), unnest($3), unnest($4), unnest($5)";
/// One that committed before is done now.
const DONE: &str = "update @.executions e set status = u.status, rest = u.rest \
    from (select unnest($1) as item, unnest($2) as seat, unnest($3) as fence, unnest($4) as status, \
    unnest($5) as rest) u where e.item = u.item and e.seat = u.seat and e.fence = u.fence and e.status = 3";
const NEW_NAMES: &str = "insert into @.names (store, scope, name, value) select * from unnest($1, $2, $3, $4) \
    on conflict do nothing";
const NAMES: &str = "update @.names n set value = u.value from unnest($1, $2, $3, $4) as u (store, scope, name, value) \
    where n.store = u.store and n.scope = u.scope and n.name = u.name";
const RECORDS: &str = "insert into @.records (id, item, fence, label, name, hash, version, at, body) \
    select * from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing";
const MESSAGES: &str = "insert into @.outbox (item, version, ordinal, label, body) \
    select * from unnest($1, $2, $3, $4, $5) on conflict do nothing";

/// The changes of a wave, by sort.
#[derive(Default)]
pub(super) struct Wave<'a> {
    inserts: Vec<(&'a Item, ItemRow<'a>, Option<&'a Body>)>,
    updates: Vec<(i64, &'a Item, ItemRow<'a>)>,
    renewals: Vec<(Uuid, i64, i64, i64)>,
    erased: Vec<Uuid>,
    bodies: Vec<(Uuid, i16, &'a [u8])>,
    executions: Vec<ExecutionRow>,
    done: Vec<ExecutionRow>,
    names: Vec<(&'a NameKey, Vec<u8>)>,
    new_names: Vec<(&'a NameKey, Vec<u8>)>,
    records: Vec<&'a Record>,
    messages: Vec<&'a Message>,
    controls: Vec<(&'a QueueKey, &'a Control)>,
    touched: Touched,
    pub(super) linked: Vec<(Uuid, Uuid)>,
    pub(super) unnamed: Vec<&'a NameKey>,
    /// Items that are removed, and the version that each must have.
    pub(super) removed: Vec<(i64, &'a Item)>,
}

/// What the answer to a statement is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// So many rows were planned, and none of them may be somebody else's.
    Fresh(usize),
    /// Its rows are rows of the wave.
    Rows,
    /// It belongs to rows that another statement counts.
    Beside,
    Removed,
}

impl PostgresTx<'_> {
    /// Writes a wave, or keeps it for COMMIT: see [`PostgresTx::last_asks`].
    pub(super) async fn write_wave(&mut self, changes: &[Change]) -> Result<usize, Error> {
        self.write_kept().await?;
        let can_wait = |change: &Change| {
            matches!(change, Change::Insert { .. } | Change::Update { .. } | Change::Execution(_))
        };
        if changes.len() > TOGETHER_MAX || !changes.iter().all(can_wait) {
            return self.write_now(changes).await;
        }
        let wave = self.sort(changes);
        if !wave.touched.is_empty() || !wave.done.is_empty() {
            return self.write_now(changes).await;
        }
        self.number_queues(&wave).await?;
        self.written(&wave);
        self.kept = changes.to_vec();
        Ok(changes.len())
    }

    /// Writes what was kept for COMMIT: something else is asked before it.
    pub(super) async fn write_kept(&mut self) -> Result<(), Error> {
        let kept = std::mem::take(&mut self.kept);
        let written = if kept.is_empty() { 0 } else { self.write_now(&kept).await? };
        match written == kept.len() {
            true => Ok(()),
            false => Err(Error::Statement(format!("{written} of {} rows were written: {TORN}", kept.len()))),
        }
    }

    /// What was kept, as statements that need no count: each writes all of its rows or fails, and a transaction in which
    /// one has failed is rolled back by its COMMIT.
    pub(super) fn last_asks<'a>(&self, wave: &'a Wave<'a>) -> Result<Vec<Ask<'a>>, Error> {
        let mut asks = Vec::new();
        if !wave.inserts.is_empty() {
            asks.push(self.insert(wave)?);
        }
        if !wave.updates.is_empty() {
            let mut columns = self.update_columns(wave);
            columns.push(long(signed(wave.updates.len() as u64)));
            asks.push(Ask::rows(UPDATE_ALL, columns));
        }
        other_asks(wave, &mut asks, &mut Vec::new());
        Ok(asks)
    }

    async fn write_now(&mut self, changes: &[Change]) -> Result<usize, Error> {
        let wave = self.sort(changes);
        self.number_queues(&wave).await?;
        let mut asks: Vec<Ask<'_>> = Vec::new();
        let mut counts: Vec<Counts> = Vec::new();
        name_asks(&wave, &mut asks, &mut counts);
        asks.extend(self.control_asks(&wave.controls)?);
        counts.resize(asks.len(), Counts::Beside);
        let (mut written, mut extra) = (0, 0);
        if !wave.touched.is_empty() {
            let planned = self.lane_asks(&wave.touched, &mut asks)?;
            (written, extra) = (planned.free, planned.extra);
            if planned.inserts > 0 {
                counts.push(Counts::Fresh(planned.inserts));
            }
            counts.resize(asks.len(), Counts::Rows);
        }
        self.item_asks(&wave, &mut asks, &mut counts)?;
        other_asks(&wave, &mut asks, &mut counts);
        self.removal_asks(&wave, &mut asks, &mut counts);
        written += wave.linked.len();
        if !wave.touched.is_empty() {
            self.lane_ends(&wave.touched, &mut asks)?;
            counts.push(Counts::Removed);
            counts.resize(asks.len(), Counts::Beside);
        }
        let answers = self.ask(asks).await?;
        let mut removed = None;
        for (answer, counts) in answers.into_iter().zip(counts) {
            let count = usize::try_from(answer.count).unwrap_or(usize::MAX);
            match counts {
                Counts::Fresh(planned) if count < planned => {
                    return Err(Error::LostRace("somebody else was first with a name or a key".to_string()));
                }
                Counts::Fresh(_) | Counts::Rows => written += count,
                Counts::Beside => {}
                Counts::Removed => removed = Some(answer),
            }
        }
        if let Some(removed) = removed {
            self.lanes_written(&wave.touched, &removed).await?;
        }
        for key in &wave.unnamed {
            self.names.remove(*key);
        }
        self.names.extend(wave.new_names.iter().map(|(key, _)| (*key).clone()));
        self.written(&wave);
        // They were locked, and what is not there any more was taken away.
        written += wave.controls.len();
        Ok(written.saturating_sub(extra))
    }

    pub(super) fn sort<'a>(&self, changes: &'a [Change]) -> Wave<'a> {
        let mut wave = Wave::default();
        for change in changes {
            match change {
                Change::Insert { item, payload } => {
                    let row = ItemRow::of(item, self.now);
                    wave.touched.item(item, row.slot);
                    let payload = payload.as_ref();
                    if let Some(body) = payload.filter(|body| body.bytes().len() > INLINE_BYTES_MAX) {
                        wave.bodies.push((item.id.into(), 0, body.bytes()));
                    }
                    wave.inserts.push((item, row, payload));
                }
                Change::Update { was, item, output } => {
                    let row = ItemRow::of(item, self.now);
                    wave.touched.item(item, row.slot);
                    wave.bodies.extend(output.as_ref().map(|body| (item.id.into(), 1, body.bytes())));
                    wave.updates.push((signed(*was), item, row));
                }
                Change::Renew { execution, heartbeat, expires } => {
                    let fence = signed(execution.fence.0);
                    wave.renewals.push((execution.item.into(), fence, heartbeat.micros(), expires.micros()));
                }
                Change::Erase(item) => wave.erased.push((*item).into()),
                Change::Linked { to, from } => wave.linked.push(((*to).into(), (*from).into())),
                Change::Unname(key) => wave.unnamed.push(key),
                Change::Remove { was, item } => wave.removed.push((signed(*was), item)),
                Change::Execution(execution) if execution::is_there(execution) => {
                    wave.done.push(ExecutionRow::of(execution));
                }
                Change::Execution(execution) => wave.executions.push(ExecutionRow::of(execution)),
                Change::Name(key, named) => self.sort_name(&mut wave, key, named),
                Change::Lane(key, lane) => wave.touched.change(key, lane),
                Change::Control(key, control) => wave.controls.push((key, control)),
                Change::Record(record) => wave.records.push(record),
                Change::Message(message) => wave.messages.push(message),
                Change::Entry(_) => {}
            }
        }
        // Whoever locks or inserts several of them does it in one order.
        wave.new_names.sort_by_cached_key(|(key, _)| (key.store.clone(), name::scope(key), key.name.clone()));
        wave
    }

    fn sort_name<'a>(&self, wave: &mut Wave<'a>, key: &'a NameKey, named: &Named) {
        let value = name::write(named);
        if self.names.contains(key) {
            wave.names.push((key, value));
        } else {
            wave.new_names.push((key, value));
        }
    }

    /// Every queue of the wave gets its number, in transactions of their own.
    async fn number_queues(&mut self, wave: &Wave<'_>) -> Result<(), Error> {
        let inserted = wave.inserts.iter().map(|(item, ..)| (&item.store, &item.table.kind));
        let lanes = wave.touched.keys().map(|key| (&key.store, &key.kind));
        let lanes = lanes.chain(wave.controls.iter().map(|(key, _)| (&key.store, &key.kind)));
        let mut missing =
            inserted.chain(lanes).filter(|(store, kind)| self.known.queue(store, kind).is_none());
        if missing.next().is_none() {
            return Ok(());
        }
        let inserted = wave.inserts.iter().map(|(item, ..)| (&item.store, &item.table.kind));
        let controls = wave.controls.iter().map(|(key, _)| (&key.store, &key.kind));
        let lanes = wave.touched.keys().map(|key| (&key.store, &key.kind));
        for (store, kind) in inserted.chain(lanes).chain(controls) {
            self.database.catalog.intern(store, kind).await?;
        }
        self.known = self.database.catalog.known();
        Ok(())
    }

    fn item_asks<'a>(
        &self,
        wave: &'a Wave<'a>,
        asks: &mut Vec<Ask<'a>>,
        counts: &mut Vec<Counts>,
    ) -> Result<(), Error> {
        if !wave.inserts.is_empty() {
            asks.push(self.insert(wave)?);
            counts.push(Counts::Rows);
        }
        if !wave.updates.is_empty() {
            asks.push(Ask::count(UPDATE, self.update_columns(wave)));
            counts.push(Counts::Rows);
        }
        Ok(())
    }

    /// What was kept and its segment as one statement, if it is nothing but new items.
    pub(super) fn create_ask<'a>(
        &self,
        wave: &'a Wave<'a>,
        kept: usize,
        segment: impl FnOnce() -> [Param<'a>; 5],
    ) -> Result<Option<Ask<'a>>, Error> {
        if wave.inserts.is_empty() || wave.inserts.len() < kept || !wave.bodies.is_empty() {
            return Ok(None);
        }
        let text = if wave.inserts.len() == 1 { CREATE_ONE } else { CREATE };
        let mut columns = self.insert_columns(wave)?;
        columns.extend(segment());
        columns.push(long(self.in_force));
        Ok(Some(Ask::count(text, columns)))
    }

    fn insert<'a>(&self, wave: &'a Wave<'a>) -> Result<Ask<'a>, Error> {
        let text = if wave.inserts.len() == 1 { INSERT_ONE } else { INSERT };
        Ok(Ask::count(text, self.insert_columns(wave)?))
    }

    fn insert_columns<'a>(&self, wave: &'a Wave<'a>) -> Result<Vec<Param<'a>>, Error> {
        let rows = &wave.inserts;
        let mut queues = Vec::with_capacity(rows.len());
        let mut lifecycles = Vec::with_capacity(rows.len());
        for (item, ..) in rows {
            let number = self.known.numbers.get(&item.table.hash()).copied();
            let queue = self.known.queue(&item.store, &item.table.kind);
            let (Some(number), Some(queue)) = (number, queue) else {
                return Err(Error::Statement(format!("the lifecycle of {} is not kept", item.id)));
            };
            lifecycles.push(number);
            queues.push(queue);
        }
        let inline =
            |body: Option<&'a Body>| body.map(Body::bytes).filter(|bytes| bytes.len() <= INLINE_BYTES_MAX);
        let (items, columns): (Vec<&Item>, Vec<&'a ItemRow<'a>>) =
            rows.iter().map(|(item, row, _)| (*item, row)).unzip();
        Ok(vec![
            ids(columns.iter().map(|row| row.id.into()).collect()),
            ints(queues),
            ints(lifecycles),
            shorts(columns.iter().map(|row| i16::from(row.state)).collect()),
            shorts(items.iter().zip(&columns).map(|(item, row)| slot(item, row)).collect()),
            longs(columns.iter().map(|row| row.rank).collect()),
            longs(columns.iter().map(|row| row.version).collect()),
            longs(columns.iter().map(|row| row.fence).collect()),
            longs(columns.iter().map(|row| row.run_at).collect()),
            longs(columns.iter().map(|row| row.created).collect()),
            longs(columns.iter().map(|row| row.updated).collect()),
            texts_or_null(columns.iter().map(|row| row.key.as_deref()).collect()),
            texts_or_null(columns.iter().map(|row| row.exclusive.as_deref()).collect()),
            texts_or_null(columns.iter().map(|row| row.owner.as_deref()).collect()),
            longs_or_null(columns.iter().map(|row| row.heartbeat).collect()),
            longs_or_null(columns.iter().map(|row| row.expires).collect()),
            longs_or_null(columns.iter().map(|row| row.window_ends).collect()),
            ids_or_null(columns.iter().map(|row| row.session.map(Uuid::from)).collect()),
            longs_or_null(columns.iter().map(|row| row.committed).collect()),
            longs(vec![self.segment; columns.len()]),
            blobs(columns.iter().map(|row| &row.head.0[..]).collect()),
            blobs(columns.iter().map(|row| &row.payload.0[..]).collect()),
            blobs_or_null(rows.iter().map(|(.., body)| inline(*body)).collect()),
            blobs(columns.iter().map(|row| &*row.rest).collect()),
            longs_or_null(columns.iter().map(|row| row.wait).collect()),
        ])
    }

    fn update_columns<'a>(&self, wave: &'a Wave<'a>) -> Vec<Param<'a>> {
        let rows = &wave.updates;
        vec![
            ids(rows.iter().map(|(_, _, row)| row.id.into()).collect()),
            longs(rows.iter().map(|(was, ..)| *was).collect()),
            shorts(rows.iter().map(|(_, _, row)| i16::from(row.state)).collect()),
            shorts(rows.iter().map(|(_, item, row)| slot(item, row)).collect()),
            longs(rows.iter().map(|(_, _, row)| row.rank).collect()),
            longs(rows.iter().map(|(_, _, row)| row.version).collect()),
            longs(rows.iter().map(|(_, _, row)| row.fence).collect()),
            longs(rows.iter().map(|(_, _, row)| row.run_at).collect()),
            longs(rows.iter().map(|(_, _, row)| row.updated).collect()),
            texts_or_null(rows.iter().map(|(_, _, row)| row.exclusive.as_deref()).collect()),
            texts_or_null(rows.iter().map(|(_, _, row)| row.owner.as_deref()).collect()),
            longs_or_null(rows.iter().map(|(_, _, row)| row.heartbeat).collect()),
            longs_or_null(rows.iter().map(|(_, _, row)| row.expires).collect()),
            longs_or_null(rows.iter().map(|(_, _, row)| row.window_ends).collect()),
            ids_or_null(rows.iter().map(|(_, _, row)| row.session.map(Uuid::from)).collect()),
            longs_or_null(rows.iter().map(|(_, _, row)| row.committed).collect()),
            longs(vec![self.segment; rows.len()]),
            blobs(rows.iter().map(|(_, _, row)| &row.head.0[..]).collect()),
            blobs(rows.iter().map(|(_, _, row)| &*row.rest).collect()),
            longs_or_null(rows.iter().map(|(_, _, row)| row.wait).collect()),
        ]
    }

    /// What was written is known: which items are ready again, which are not any more.
    fn written(&mut self, wave: &Wave<'_>) {
        let mut ready: HashMap<i32, i64> = HashMap::new();
        let mut laneless: Vec<ItemId> = Vec::new();
        let inserted = wave.inserts.iter().map(|(item, row, _)| (*item, row));
        for (item, row) in inserted.chain(wave.updates.iter().map(|(_, item, row)| (*item, row))) {
            if row.slot == Slot::Ready {
                let Some(queue) = self.known.queue(&item.store, &item.table.kind) else { continue };
                let lowest = ready.entry(queue).or_insert(row.rank);
                *lowest = row.rank.min(*lowest);
            } else {
                self.claimed.lease(item.id);
            }
            if row.slot == Slot::Active && !(item.table.uses_lanes() && item.key.is_some()) {
                laneless.push(item.id);
            }
        }
        for (queue, rank) in ready {
            self.ready_at(queue, rank);
        }
        self.database.laneless.add(laneless);
        for (item, ..) in &wave.inserts {
            self.locked.insert(item.id, self.segment);
        }
    }
}

/// The slot's number. Ready items that wait behind their lane are not in the ready index.
fn slot(item: &Item, row: &ItemRow<'_>) -> i16 {
    if row.slot == Slot::Ready && item.lane_key().is_some() {
        return BEHIND_LANE;
    }
    slot_number(row.slot)
}

fn name_asks<'a>(wave: &'a Wave<'a>, asks: &mut Vec<Ask<'a>>, counts: &mut Vec<Counts>) {
    let columns = |rows: &'a [(&'a NameKey, Vec<u8>)]| {
        [
            texts(rows.iter().map(|(key, _)| &*key.store).collect()),
            owned_texts(rows.iter().map(|(key, _)| name::scope(key)).collect()),
            texts(rows.iter().map(|(key, _)| &*key.name).collect()),
            blobs(rows.iter().map(|(_, value)| &value[..]).collect()),
        ]
    };
    if !wave.new_names.is_empty() {
        asks.push(Ask::count(NEW_NAMES, columns(&wave.new_names)));
        counts.push(Counts::Fresh(wave.new_names.len()));
    }
    if !wave.names.is_empty() {
        asks.push(Ask::count(NAMES, columns(&wave.names)));
        counts.push(Counts::Rows);
    }
}

/// Everything that hangs on items. Erasing comes first: a record of the same wave is written after it.
fn other_asks<'a>(wave: &'a Wave<'a>, asks: &mut Vec<Ask<'a>>, counts: &mut Vec<Counts>) {
    let mut ask = |ask: Ask<'a>, what: Counts| {
        asks.push(ask);
        counts.push(what);
    };
    if !wave.renewals.is_empty() {
        let rows = &wave.renewals;
        let columns = [
            ids(rows.iter().map(|row| row.0).collect()),
            longs(rows.iter().map(|row| row.1).collect()),
            longs(rows.iter().map(|row| row.2).collect()),
            longs(rows.iter().map(|row| row.3).collect()),
        ];
        ask(Ask::count(RENEW, columns), Counts::Rows);
    }
    if !wave.erased.is_empty() {
        ask(Ask::count(ERASE, [ids(wave.erased.clone())]), Counts::Rows);
        ask(Ask::count(ERASE_BODIES, [ids(wave.erased.clone())]), Counts::Beside);
        ask(Ask::count(ERASE_RECORDS, [ids(wave.erased.clone())]), Counts::Beside);
    }
    if !wave.bodies.is_empty() {
        let rows = &wave.bodies;
        let columns = [
            ids(rows.iter().map(|row| row.0).collect()),
            shorts(rows.iter().map(|row| row.1).collect()),
            blobs(rows.iter().map(|row| row.2).collect()),
        ];
        ask(Ask::count(BODIES, columns), Counts::Beside);
    }
    if !wave.executions.is_empty() {
        ask(Ask::count(EXECUTIONS, execution_columns(&wave.executions)), Counts::Rows);
    }
    if !wave.done.is_empty() {
        ask(Ask::count(DONE, execution_columns(&wave.done)), Counts::Rows);
    }
    if !wave.records.is_empty() {
        ask(Ask::count(RECORDS, record_columns(&wave.records)), Counts::Rows);
    }
    if !wave.messages.is_empty() {
        let rows = &wave.messages;
        let columns = [
            ids(rows.iter().map(|message| message.item.into()).collect()),
            longs(rows.iter().map(|message| signed(message.version)).collect()),
            ints(rows.iter().map(|message| i32::try_from(message.ordinal).unwrap_or(i32::MAX)).collect()),
            texts(rows.iter().map(|message| &*message.label).collect()),
            blobs(rows.iter().map(|message| message.body.bytes()).collect()),
        ];
        ask(Ask::count(MESSAGES, columns), Counts::Rows);
    }
}

fn execution_columns(rows: &[ExecutionRow]) -> Vec<Param<'_>> {
    vec![
        ids(rows.iter().map(|row| row.item.into()).collect()),
        longs(rows.iter().map(|row| row.seat).collect()),
        longs(rows.iter().map(|row| row.fence).collect()),
        shorts(rows.iter().map(|row| status_number(row.status)).collect()),
        blobs(rows.iter().map(|row| &row.rest[..]).collect()),
    ]
}

fn record_columns<'a>(rows: &'a [&'a Record]) -> Vec<Param<'a>> {
    vec![
        ids(rows.iter().map(|record| record.id.into()).collect()),
        ids(rows.iter().map(|record| record.item.into()).collect()),
        longs_or_null(rows.iter().map(|record| record.fence.map(|fence| signed(fence.0))).collect()),
        texts(rows.iter().map(|record| &*record.label).collect()),
        texts(rows.iter().map(|record| &*record.name).collect()),
        blobs(rows.iter().map(|record| &record.hash.0[..]).collect()),
        longs(rows.iter().map(|record| signed(record.version)).collect()),
        longs(rows.iter().map(|record| record.at.micros()).collect()),
        blobs_or_null(rows.iter().map(|record| record.body.as_ref().map(Body::bytes)).collect()),
    ]
}
