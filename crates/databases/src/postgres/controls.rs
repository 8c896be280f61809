//! Controls: what holds kinds back. Locked after the names and before the lanes.
//!
//! A kind whose lifecycle limits it, or that an operator said something about, has a row, and whoever leases items of it has
//! that row locked. Most kinds have none. Leasing of those shares a lock in the server's memory that an operator's order takes for
//! itself, and looks for a row along with the claim: that costs no round trip, and no lease is given after an order
//! that does not see it.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::control::{Control, QueueKey, Rules};
use tenure_core::id::ItemId;
use tenure_core::request::Need;
use tenure_core::world::World;

use super::Postgres;
use super::load::uuids;
use super::pool::{Answer, Ask, held};
use super::tx::PostgresTx;
use super::value::{ids, int, ints, owned_texts};
use crate::Error;
use crate::row::control;

const QUEUES: &str = "select distinct i.queue from @.items i where i.id = any($1)";
const ALONE: &str = "select pg_advisory_xact_lock(hashtext('tenure controls @'), $1)";
const SHARED: &str = "select pg_advisory_xact_lock_shared(hashtext('tenure controls @'), $1)";
const TRY_SHARED: &str = "select pg_try_advisory_xact_lock_shared(hashtext('tenure controls @'), $1)";
const PRESENT: &str = "select c.queue from @.controls c where c.queue = any($1)";
const LOCK: &str =
    "select c.queue, c.value from @.controls c where c.queue = any($1) order by c.queue for update";
/// So that there is something to lock.
const PREPARE: &str = "insert into @.controls (queue, value) select unnest($1), '{\"trips\":0,\"deferred\":0}' \
    on conflict do nothing";
/// All of them: an operator may have set the limit below what runs, and what ends in this batch is taken off.
const ACTIVE: &str = "select u.queue, (select count(*) from @.items i where i.queue = u.queue and i.slot = 3) \
    from unnest($1) as u (queue)";
const WRITE: &str = "insert into @.controls (queue, value) select unnest($1), unnest($2) \
    on conflict (queue) do update set value = excluded.value";
const REMOVE: &str = "delete from @.controls where queue = any($1)";
const READ: &str = "select value from @.controls where queue = $1";
const COUNT: &str = "select count(*) from @.items i where i.queue = $1 and i.slot = 3";

/// What a transaction does with a control.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Use {
    /// Leases something of a kind that has no row, as far as is known.
    Share,
    /// Needs the row, if there is one.
    Row,
    /// Needs the row: the lifecycle has limits.
    Must,
}

/// The queues whose controls are to be locked.
#[derive(Debug, Default)]
pub(super) struct Controls {
    uses: BTreeMap<i32, Use>,
    orders: BTreeSet<i32>,
}

impl Controls {
    pub fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    fn add(&mut self, queue: i32, how: Use) {
        let kept = self.uses.entry(queue).or_insert(how);
        *kept = how.max(*kept);
    }
}

impl PostgresTx<'_> {
    /// Which controls a batch has to lock. Takes no locks itself: the queue of an item never changes.
    pub(super) async fn controls_of(&mut self, need: &Need) -> Result<Controls, Error> {
        let mut controls = Controls::default();
        for key in &need.orders {
            let queue = self.intern(key).await?;
            controls.add(queue, self.use_of(queue, key, Use::Row));
            controls.orders.insert(queue);
        }
        for key in &need.takes {
            let queue = self.intern(key).await?;
            controls.add(queue, self.use_of(queue, key, Use::Share));
        }
        for key in &need.controls {
            // A plain kind is looked at with its claim.
            let queue = match (self.known.queue(&key.store, &key.kind), self.is_governed(key)) {
                (Some(queue), _) => queue,
                (None, true) => self.intern(key).await?,
                (None, false) => continue,
            };
            match self.use_of(queue, key, Use::Share) {
                Use::Share => {}
                row => controls.add(queue, row),
            }
        }
        self.controls_of_items(need, &mut controls).await?;
        Ok(controls)
    }

    async fn controls_of_items(&mut self, need: &Need, controls: &mut Controls) -> Result<(), Error> {
        let counts = self.known.tables.iter().any(|table| table.counts_failures());
        let failing = need.failing.iter().filter(|_| counts);
        let items: BTreeSet<ItemId> = need.payloads.iter().chain(failing).copied().collect();
        if items.is_empty() {
            return Ok(());
        }
        let found = self.one(Ask::rows(QUEUES, [ids(uuids(&items))])).await?;
        for row in &found.rows {
            let queue: i32 = row.get(0);
            let key = self.queue_key(queue).await?;
            match self.use_of(queue, &key, Use::Share) {
                Use::Share if need.payloads.is_empty() => {}
                how => controls.add(queue, how),
            }
        }
        Ok(())
    }

    async fn intern(&mut self, key: &QueueKey) -> Result<i32, Error> {
        let queue = self.database.catalog.intern(&key.store, &key.kind).await?;
        self.known = self.database.catalog.known();
        Ok(queue)
    }

    async fn queue_key(&mut self, queue: i32) -> Result<QueueKey, Error> {
        if !self.known.queues.contains_key(&queue) {
            self.refresh().await?;
        }
        let found = self.known.queues.get(&queue).cloned();
        let (store, kind) = found.ok_or_else(|| Error::Statement(format!("there is no queue {queue}")))?;
        Ok(QueueKey { store, kind })
    }

    fn is_governed(&self, key: &QueueKey) -> bool {
        self.known.tables.current(&key.kind).is_some_and(|table| table.is_governed())
    }

    fn use_of(&self, queue: i32, key: &QueueKey, least: Use) -> Use {
        if self.is_governed(key) {
            return Use::Must;
        }
        if self.database.governed.has(queue) { least.max(Use::Row) } else { least }
    }

    /// Locks and loads, with the number of held items where it is limited. Answers the probes of breakers.
    pub(super) async fn lock_controls(
        &mut self,
        mut controls: Controls,
        world: &mut World,
    ) -> Result<Vec<ItemId>, Error> {
        if controls.is_empty() {
            return Ok(Vec::new());
        }
        self.share(&mut controls).await?;
        let rows = controls.uses.iter().filter(|(_, how)| **how >= Use::Row).map(|(queue, _)| *queue);
        let rows: Vec<i32> = rows.collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.one(Ask::rows(LOCK, [ints(rows.clone())])).await?;
        let there: BTreeSet<i32> = found.rows.iter().map(|row| row.get(0)).collect();
        let is_missing = |(queue, how): &(&i32, &Use)| **how == Use::Must && !there.contains(queue);
        let missing: Vec<i32> = controls.uses.iter().filter(is_missing).map(|(queue, _)| *queue).collect();
        if !missing.is_empty() {
            let asks = vec![Ask::count(PREPARE, [ints(missing)]), Ask::rows(LOCK, [ints(rows.clone())])];
            found = self.ask(asks).await?.pop().unwrap_or_default();
        }
        let mut probes = Vec::new();
        for row in &found.rows {
            let queue: i32 = row.get(0);
            let key = self.queue_key(queue).await?;
            let damaged = |why| Error::Statement(format!("what holds {} back: {why}", key.kind));
            let control = control::read(row.get(1)).map_err(damaged)?;
            probes.extend(control.trip.and_then(|trip| trip.probe).map(|probe| probe.item));
            self.controls.insert(queue);
            if control != Control::default() {
                world.controls.insert(key, control);
            }
        }
        for queue in rows.iter().filter(|queue| !self.controls.contains(queue)) {
            match controls.uses.get(queue) {
                // Somebody took it away while we waited, and nobody can have put it back.
                Some(Use::Must) => return Err(Error::LostRace("a limit was just lifted".to_string())),
                _ => self.database.governed.forget(*queue),
            }
        }
        // Whoever gives an order has the kind to itself: if there is no row none comes but its own, which is no news to its batch.
        self.controls.extend(&controls.orders);
        self.count_active(&controls.orders, world).await?;
        Ok(probes)
    }

    /// Takes the locks in memory, all in one order, and finds out who has a row after all.
    async fn share(&mut self, controls: &mut Controls) -> Result<(), Error> {
        let shared: Vec<i32> =
            controls.uses.iter().filter(|(_, how)| **how == Use::Share).map(|(queue, _)| *queue).collect();
        let mut asks: Vec<Ask<'_>> = Vec::new();
        for queue in controls.uses.keys() {
            if controls.orders.contains(queue) {
                asks.push(Ask::rows(ALONE, [int(*queue)]));
            } else if shared.contains(queue) {
                asks.push(Ask::rows(SHARED, [int(*queue)]));
            }
        }
        if shared.is_empty() {
            return self.ask(asks).await.map(drop);
        }
        asks.push(Ask::rows(PRESENT, [ints(shared.clone())]));
        let present = self.ask(asks).await?.pop().unwrap_or_default();
        self.shared.extend(shared);
        for row in &present.rows {
            self.database.governed.add(row.get(0));
            controls.add(row.get(0), Use::Row);
        }
        Ok(())
    }

    async fn count_active(&mut self, orders: &BTreeSet<i32>, world: &mut World) -> Result<(), Error> {
        let mut limited: Vec<(i32, QueueKey)> = Vec::new();
        for queue in self.controls.iter().copied().collect::<Vec<_>>() {
            let key = self.queue_key(queue).await?;
            let plain = Control::default();
            let control = world.controls.get(&key).unwrap_or(&plain);
            let rules = self.known.tables.current(&key.kind).map(|table| Rules::of(table, control));
            // What is not limited is not counted, and nobody asks for it; but an order may limit it for the rest of its batch.
            match rules.and_then(|rules| rules.concurrency) {
                None if !orders.contains(&queue) => drop(world.active.insert(key, 0)),
                _ => limited.push((queue, key)),
            }
        }
        if limited.is_empty() {
            return Ok(());
        }
        let queues = ints(limited.iter().map(|(queue, _)| *queue).collect());
        let counted = self.one(Ask::rows(ACTIVE, [queues])).await?;
        for row in &counted.rows {
            let queue: i32 = row.get(0);
            let Some((_, key)) = limited.iter().find(|(known, _)| *known == queue) else { continue };
            world.active.insert(key.clone(), u32::try_from(row.get::<_, i64>(1)).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// Writes them. They are locked: what is not there to be removed was never written.
    pub(super) fn control_asks<'a>(&self, rows: &[(&QueueKey, &Control)]) -> Result<Vec<Ask<'a>>, Error> {
        let (mut gone, mut queues, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (key, control) in rows {
            let queue = self.known.queue(&key.store, &key.kind);
            let queue = queue.ok_or_else(|| Error::Statement(format!("{} has no number", key.kind)))?;
            if **control == Control::default() {
                gone.push(queue);
            } else {
                queues.push(queue);
                values.push(control::write(control));
            }
        }
        let mut asks = Vec::new();
        if !gone.is_empty() {
            asks.push(Ask::count(REMOVE, [ints(gone)]));
        }
        if !queues.is_empty() {
            asks.push(Ask::count(WRITE, [ints(queues), owned_texts(values)]));
        }
        Ok(asks)
    }

    /// What goes along with the first claim of a kind that is not known to have a row.
    pub(super) fn look_for_control<'a>(&self, queue: i32) -> Vec<Ask<'a>> {
        match self.controls.contains(&queue) || self.shared.contains(&queue) {
            true => Vec::new(),
            false => vec![Ask::rows(TRY_SHARED, [int(queue)]), Ask::rows(PRESENT, [ints(vec![queue])])],
        }
    }

    /// False: an order is on its way, and nothing of the kind is leased meanwhile.
    pub(super) fn has_no_control(
        &mut self,
        queue: i32,
        answers: &mut impl Iterator<Item = Answer>,
    ) -> Result<bool, Error> {
        if self.controls.contains(&queue) || self.shared.contains(&queue) {
            return Ok(true);
        }
        let (shared, present) = (answers.next().unwrap_or_default(), answers.next().unwrap_or_default());
        if !present.rows.is_empty() {
            self.database.governed.add(queue);
            return Err(Error::LostRace("somebody has said something about the kind".to_string()));
        }
        let shared = shared.rows.first().is_some_and(|row| row.get(0));
        if shared {
            self.shared.insert(queue);
        }
        Ok(shared)
    }
}

impl Postgres {
    pub(super) async fn read_control(&self, key: &QueueKey) -> Result<(Control, u32), Error> {
        let Some(queue) = self.catalog.find(&key.store, &key.kind).await? else {
            return Ok((Control::default(), 0));
        };
        let lent = self.pool.lend().await?;
        let answers = lent.ask(vec![Ask::rows(READ, [int(queue)]), Ask::rows(COUNT, [int(queue)])]).await?;
        let [found, counted] = &answers[..] else { return Ok((Control::default(), 0)) };
        let damaged = |why| Error::Statement(format!("what holds {} back: {why}", key.kind));
        let control = found.rows.first().map(|row| control::read(row.get(0))).transpose().map_err(damaged)?;
        let active = counted.rows.first().map_or(0, |row| row.get::<_, i64>(0));
        Ok((control.unwrap_or_default(), u32::try_from(active).unwrap_or(u32::MAX)))
    }
}

/// The plain kinds that are known to have a row. A hint: what is not known here is found with the claim.
#[derive(Debug, Default)]
pub(super) struct Governed(std::sync::Mutex<BTreeSet<i32>>);

impl Governed {
    fn has(&self, queue: i32) -> bool {
        held(&self.0).contains(&queue)
    }

    fn add(&self, queue: i32) {
        held(&self.0).insert(queue);
    }

    fn forget(&self, queue: i32) {
        held(&self.0).remove(&queue);
    }
}
