//! What rows name by number: lifecycles, and queues, which are a store's items of one kind.
//!
//! Both are written by transactions of their own and never change once they are committed, so they are remembered. Which
//! lifecycle is in force can change: a number in `meta` grows with it, and every batch looks at that number.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, RwLock};

use tenure_core::hash::Hash;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::lifecycle::{SharedTable, State, Table};
use tenure_core::word::{Kind, Store};

use super::pool::{Ask, Connection, Pool};
use super::value::{bytes, int, shorts, text, texts};
use crate::Error;
use crate::row::Damaged;
use crate::row::bytes::word;

/// What is known at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Which change of the lifecycles this knows of.
    pub version: i64,
    pub tables: Arc<Tables>,
    pub lifecycles: HashMap<i32, SharedTable>,
    pub numbers: HashMap<Hash, i32>,
    /// Those whose items share lanes.
    pub laned: Vec<i32>,
    /// Those whose ready items wait behind their lane.
    pub behind: Vec<i32>,
    /// Those that this program can not read.
    pub foreign: BTreeMap<i32, Kind>,
    pub queues: HashMap<i32, (Store, Kind)>,
    queue_numbers: HashMap<Store, HashMap<Kind, i32>>,
}

impl Known {
    pub fn queue(&self, store: &Store, kind: &Kind) -> Option<i32> {
        self.queue_numbers.get(store)?.get(kind).copied()
    }

    pub fn lifecycle(&self, number: i32) -> Result<&SharedTable, Damaged> {
        self.lifecycles.get(&number).ok_or_else(|| match self.foreign.get(&number) {
            Some(kind) => Damaged(format!(
                "its lifecycle {kind} (number {number}) is not one that this program can read"
            )),
            None => Damaged(format!("there is no lifecycle {number}")),
        })
    }

    /// Whether it need not be asked what a number means.
    pub fn has_lifecycle(&self, number: i32) -> bool {
        self.lifecycles.contains_key(&number) || self.foreign.contains_key(&number)
    }

    /// Whether some items of a kind can not be read.
    pub fn is_foreign(&self, kind: &Kind) -> bool {
        self.foreign.values().any(|foreign| foreign == kind)
    }

    pub fn store(&self, queue: i32) -> Result<&Store, Damaged> {
        let found = self.queues.get(&queue).map(|(store, _)| store);
        found.ok_or_else(|| Damaged(format!("there is no queue {queue}")))
    }

    pub fn is_laned(&self, kind: &Kind) -> bool {
        self.tables.laned(kind).is_some()
    }

    pub fn uses_lanes(&self, kind: &Kind) -> bool {
        self.tables.versions().any(|table| table.kind == *kind && table.uses_lanes())
    }
}

/// Its connection is its own: a batch that holds one of the others may have to ask.
#[derive(Debug)]
pub(super) struct Catalog {
    known: RwLock<Arc<Known>>,
    pool: Pool,
}

impl Catalog {
    /// Of a database that may have these lifecycles.
    pub fn new(pool: Pool, tables: &Tables) -> Catalog {
        let known = Known { tables: Arc::new(tables.clone()), ..Known::default() };
        Catalog { known: RwLock::new(Arc::new(known)), pool }
    }

    pub fn known(&self) -> Arc<Known> {
        self.known.read().expect("nobody panics while holding it").clone()
    }

    /// Reads everything again.
    pub async fn refresh(&self) -> Result<Arc<Known>, Error> {
        let connection = self.pool.lend().await?;
        let known = Arc::new(read(&connection, &self.known().tables).await?);
        let mut kept = self.known.write().expect("nobody panics while holding it");
        if kept.version <= known.version && kept.queues.len() <= known.queues.len() {
            *kept = known.clone();
        }
        Ok(known)
    }

    /// The number of a queue, if there is one.
    pub async fn find(&self, store: &Store, kind: &Kind) -> Result<Option<i32>, Error> {
        if let Some(queue) = self.known().queue(store, kind) {
            return Ok(Some(queue));
        }
        const FIND: &str = "select queue from @.queues where store = $1 and kind = $2";
        let connection = self.pool.lend().await?;
        let found = connection.one(Ask::rows(FIND, [text(store), text(kind)])).await?;
        let queue = found.rows.first().map(|row| row.get(0));
        if let Some(queue) = queue {
            self.learn(queue, store, kind);
        }
        Ok(queue)
    }

    /// The number of a queue. Committed at once, apart from any batch, so that no batch waits for another's.
    pub async fn intern(&self, store: &Store, kind: &Kind) -> Result<i32, Error> {
        if let Some(queue) = self.find(store, kind).await? {
            return Ok(queue);
        }
        const INTERN: &str = "insert into @.queues (store, kind) values ($1, $2) on conflict do nothing";
        let connection = self.pool.lend().await?;
        connection.one(Ask::count(INTERN, [text(store), text(kind)])).await?;
        drop(connection);
        let found = self.find(store, kind).await?;
        found.ok_or_else(|| Error::Statement(format!("the queue {kind} of {store} was not kept")))
    }

    fn learn(&self, queue: i32, store: &Store, kind: &Kind) {
        let mut kept = self.known.write().expect("nobody panics while holding it");
        let mut known = Known::clone(&kept);
        known.add_queue(queue, store.clone(), kind.clone());
        *kept = Arc::new(known);
    }

    /// Keeps a lifecycle and puts it in force, unless only unknown ones are to be added.
    pub async fn add(&self, table: &Table, how: Adding) -> Result<(), Error> {
        if table.source.is_empty() {
            return Err(Error::Statement(format!("the lifecycle {} has no source to keep", table.kind)));
        }
        let connection = self.pool.lend().await?;
        let added = add(&connection, table, how).await;
        if added.is_err() {
            connection.roll_back();
        }
        added
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Adding {
    /// In force from now on.
    InForce,
    /// Only if this version was never added: one that was stays as it is, also where another is in force by now.
    IfUnknown,
}

async fn add(connection: &Connection, table: &Table, how: Adding) -> Result<(), Error> {
    // One after another: two that make a lifecycle of one kind would meet in its index.
    const LOCK: &str = "select value from @.meta where name = 'catalog' for update";
    const KNOWN: &str = "select from @.lifecycles where hash = $1";
    let hash = table.hash();
    let answers = connection
        .ask(vec![Ask::plain("begin"), Ask::rows(LOCK, []), Ask::rows(KNOWN, [bytes(&hash.0)])])
        .await?;
    let is_known = answers.last().is_some_and(|answer| !answer.rows.is_empty());
    if is_known && how == Adding::IfUnknown {
        return connection.one(Ask::plain("rollback")).await.map(drop);
    }
    const RETIRE: &str =
        "update @.lifecycles set in_force = false where kind = $1 and in_force and hash <> $2";
    const KEEP: &str = "insert into @.lifecycles (hash, kind, source, in_force) values ($1, $2, $3, true) \
                        on conflict (hash) do update set source = excluded.source, in_force = true \
                        returning lifecycle, complete";
    let answers = connection
        .ask(vec![
            Ask::count(RETIRE, [text(&table.kind), bytes(&hash.0)]),
            Ask::rows(KEEP, [bytes(&hash.0), text(&table.kind), text(&table.source)]),
        ])
        .await?;
    let (number, is_complete): (i32, bool) = answers
        .last()
        .and_then(|answer| answer.rows.first())
        .map(|row| (row.get(0), row.get(1)))
        .ok_or_else(|| Error::Statement("the lifecycle was not kept".to_string()))?;
    let mut asks = Vec::new();
    if !is_complete {
        asks.extend(parts(number, table));
    }
    const GROW: &str = "update @.meta set value = (value::bigint + 1)::text where name = 'catalog'";
    asks.extend([Ask::count(GROW, []), Ask::plain("commit")]);
    connection.ask(asks).await.map(drop)
}

/// What makes a lifecycle whole. After that the schema lets nobody add to it.
fn parts(number: i32, table: &Table) -> [Ask<'_>; 3] {
    let states: Vec<i16> = (0..).take(table.states.len()).collect();
    let names: Vec<&str> = table.states.iter().map(|state| state.name.as_str()).collect();
    let phases: Vec<&str> = table.states.iter().map(|state| state.phase.as_str()).collect();
    let (from, to): (Vec<i16>, Vec<i16>) =
        table.moves().into_iter().map(|(from, to)| (i16::from(from.0), i16::from(to.0))).unzip();
    const STATES: &str = "insert into @.states select $1, * from unnest($2, $3, $4) on conflict do nothing";
    const MOVES: &str = "insert into @.moves select $1, * from unnest($2, $3) on conflict do nothing";
    const COMPLETE: &str = "update @.lifecycles set complete = true where lifecycle = $1";
    [
        Ask::count(STATES, [int(number), shorts(states), texts(names), texts(phases)]),
        Ask::count(MOVES, [int(number), shorts(from), shorts(to)]),
        Ask::count(COMPLETE, [int(number)]),
    ]
}

async fn read(connection: &Connection, expected: &Tables) -> Result<Known, Error> {
    const LIFECYCLES: &str =
        "select lifecycle, hash, source, kind, in_force from @.lifecycles order by in_force, lifecycle";
    let answers = connection
        .ask(vec![
            Ask::rows("select value::bigint from @.meta where name = 'catalog'", []),
            Ask::rows(LIFECYCLES, []),
            Ask::rows("select queue, store, kind from @.queues", []),
        ])
        .await?;
    let [version, lifecycles, queues] = &answers[..] else {
        return Err(Error::Statement("the catalog could not be read".to_string()));
    };
    let version = version.rows.first().map_or(0, |row| row.get(0));
    let mut known = Known { version, ..Known::default() };
    let mut tables = Tables::default();
    for row in &lifecycles.rows {
        let (number, hash, source): (i32, &[u8], &str) = (row.get(0), row.get(1), row.get(2));
        let hash = hash.try_into().map(Hash).ok();
        let Some(table) = hash.and_then(|hash| expected.kept(&hash, source)) else {
            let damaged = |why: Damaged| Error::Statement(format!("lifecycle {number}: {why}"));
            let kind: Kind = word(row.get(3)).map_err(damaged)?;
            if row.get(4) {
                tables.withdraw(&kind);
            }
            known.foreign.insert(number, kind);
            continue;
        };
        let table = tables.add(table);
        known.add_lifecycle(number, table);
    }
    known.tables = Arc::new(tables);
    for row in &queues.rows {
        let damaged = |why: Damaged| Error::Statement(format!("queues: {why}"));
        let store = word(row.get(1)).map_err(damaged)?;
        let kind = word(row.get(2)).map_err(damaged)?;
        known.add_queue(row.get(0), store, kind);
    }
    Ok(known)
}

impl Known {
    fn add_lifecycle(&mut self, number: i32, table: SharedTable) {
        self.numbers.insert(table.hash(), number);
        self.laned.extend(table.uses_lanes().then_some(number));
        self.behind.extend(table.is_laned().then_some(number));
        self.lifecycles.insert(number, table);
    }

    fn add_queue(&mut self, queue: i32, store: Store, kind: Kind) {
        self.queues.insert(queue, (store.clone(), kind.clone()));
        self.queue_numbers.entry(store).or_default().insert(kind, queue);
    }

    /// Every state that is wanted, as one number: the lifecycle's times 256, and the state's.
    pub fn states_of(&self, wants: impl Fn(&State) -> bool) -> Vec<i32> {
        let mut found = Vec::new();
        for (number, table) in &self.lifecycles {
            let wanted = table.state_ids().filter(|id| wants(table.state(*id)));
            found.extend(wanted.map(|id| number * 256 + i32::from(id.0)));
        }
        found
    }

    /// The queues of a store, of a kind, or of both; none named: all.
    pub fn queues_of(&self, store: Option<&Store>, kind: Option<&Kind>) -> Vec<i32> {
        let matches = |of: &(Store, Kind)| {
            store.is_none_or(|store| of.0 == *store) && kind.is_none_or(|kind| of.1 == *kind)
        };
        self.queues.iter().filter(|(_, of)| matches(of)).map(|(queue, _)| *queue).collect()
    }
}
