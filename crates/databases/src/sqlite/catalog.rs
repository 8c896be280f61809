//! The numbers that rows use for lifecycles and for queues (a store's items of one kind).
//!
//! Lifecycles are read again when their generation has changed, which every transaction looks at: another process may
//! have added one. A queue's number never changes once it is committed, so it is remembered for good, and only then.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use tenure_core::hash::Hash;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::lifecycle::{SharedTable, State, Table};
use tenure_core::word::{Kind, Store};

use super::fault::Fault;
use crate::row::Damaged;

/// Every lifecycle in the file, as of one generation.
#[derive(Debug, Default)]
pub(super) struct Lifecycles {
    generation: i64,
    pub tables: Arc<Tables>,
    numbers: HashMap<Hash, i64>,
    versions: HashMap<i64, SharedTable>,
    /// Those that this program can not read, by number.
    pub foreign: BTreeMap<i64, Kind>,
}

impl Lifecycles {
    /// Before the file was looked at: it may have these.
    pub fn expected(tables: &Tables) -> Lifecycles {
        Lifecycles { tables: Arc::new(tables.clone()), ..Lifecycles::default() }
    }

    pub fn has(&self, table: &Table) -> bool {
        self.numbers.contains_key(&table.hash())
    }

    /// The ones in force in this transaction: `known` if they still are.
    pub fn current(connection: &Connection, known: &Arc<Lifecycles>) -> Result<Arc<Lifecycles>, Fault> {
        let mut statement = connection.prepare_cached("select value from meta where name = 'lifecycles'")?;
        let generation: i64 = statement.query_row([], |row| row.get(0))?;
        if generation == known.generation {
            return Ok(known.clone());
        }
        Ok(Arc::new(Lifecycles::read(connection, generation, &known.tables)?))
    }

    fn read(connection: &Connection, generation: i64, known: &Tables) -> Result<Lifecycles, Fault> {
        let mut lifecycles = Lifecycles { generation, ..Lifecycles::default() };
        let mut tables = Tables::default();
        // Those in force come last: the one that is added last is the current one of its kind.
        let sql =
            "select lifecycle, hash, kind, source, in_force from lifecycles order by in_force, lifecycle";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (number, hash): (i64, [u8; 32]) = (row.get(0)?, row.get(1)?);
            let (kind, source): (String, String) = (row.get(2)?, row.get(3)?);
            let Some(table) = known.kept(&Hash(hash), &source) else {
                let kind: Kind = crate::row::bytes::word(&kind)?;
                if row.get(4)? {
                    tables.withdraw(&kind);
                }
                lifecycles.foreign.insert(number, kind);
                continue;
            };
            let table = tables.add(table);
            lifecycles.numbers.insert(table.hash(), number);
            lifecycles.versions.insert(number, table);
        }
        lifecycles.tables = Arc::new(tables);
        Ok(lifecycles)
    }

    pub fn table(&self, number: i64) -> Result<&SharedTable, Damaged> {
        self.versions.get(&number).ok_or_else(|| match self.foreign.get(&number) {
            Some(kind) => unreadable(kind, number),
            None => Damaged(format!("there is no lifecycle number {number}")),
        })
    }

    /// Whether some items of a kind can not be read.
    pub fn is_foreign(&self, kind: &Kind) -> bool {
        self.foreign.values().any(|foreign| foreign == kind)
    }

    /// The number of an item's lifecycle.
    pub fn number(&self, table: &Table) -> Result<i64, Fault> {
        let missing = || Fault::Row(Damaged(format!("the lifecycle {table:?} is not in this database")));
        self.numbers.get(&table.hash()).copied().ok_or_else(missing)
    }

    /// Every state that is wanted, as (lifecycle, state).
    pub fn states_of(&self, wants: impl Fn(&State) -> bool) -> Vec<(i64, u8)> {
        let mut found = Vec::new();
        for (number, table) in &self.versions {
            let wanted = table.state_ids().filter(|id| wants(table.state(*id)));
            found.extend(wanted.map(|id| (*number, id.0)));
        }
        found
    }
}

fn unreadable(kind: &Kind, number: i64) -> Damaged {
    Damaged(format!("its lifecycle {kind} (number {number}) is not one that this program can read"))
}

/// Adds a lifecycle or a new version of one and puts it in force. One that is known already is put in force again, with
/// this text of it.
pub(super) fn add_table(connection: &Connection, table: &Table) -> Result<(), rusqlite::Error> {
    let (hash, kind) = (table.hash().0, table.kind.as_str());
    connection.execute("update lifecycles set in_force = 0 where kind = ?1 and in_force = 1", [kind])?;
    let found: Option<i64> = connection
        .query_row("select lifecycle from lifecycles where hash = ?1", [hash], |row| row.get(0))
        .optional()?;
    if let Some(number) = found {
        let sql = "update lifecycles set in_force = 1, source = ?2 where lifecycle = ?1";
        connection.execute(sql, params![number, &*table.source])?;
    } else {
        let sql = "insert into lifecycles (hash, kind, source, in_force, complete) values (?1, ?2, ?3, 1, 0)";
        connection.execute(sql, params![hash, kind, &*table.source])?;
        let number = connection.last_insert_rowid();
        add_moves(connection, number, table)?;
        // From here on the schema lets nobody add to it.
        connection.execute("update lifecycles set complete = 1 where lifecycle = ?1", [number])?;
    }
    connection.execute("update meta set value = value + 1 where name = 'lifecycles'", [])?;
    Ok(())
}

fn add_moves(connection: &Connection, number: i64, table: &Table) -> Result<(), rusqlite::Error> {
    for (state, id) in table.states.iter().zip(table.state_ids()) {
        connection.execute(
            "insert into states (lifecycle, state, name, phase) values (?1, ?2, ?3, ?4)",
            params![number, id.0, state.name.as_str(), state.phase.as_str()],
        )?;
    }
    for (from, to) in table.moves() {
        let sql = "insert into moves (lifecycle, from_state, to_state) values (?1, ?2, ?3)";
        connection.execute(sql, params![number, from.0, to.0])?;
    }
    Ok(())
}

/// Queue numbers, both ways.
#[derive(Debug, Default)]
pub(super) struct Queues {
    numbers: HashMap<(Store, Kind), i64>,
    places: HashMap<i64, (Store, Kind)>,
}

impl Queues {
    pub fn remember(&mut self, place: (Store, Kind), number: i64) {
        self.places.insert(number, place.clone());
        self.numbers.insert(place, number);
    }

    pub fn forget(&mut self, place: &(Store, Kind)) {
        if let Some(number) = self.numbers.remove(place) {
            self.places.remove(&number);
        }
    }

    /// The number of a queue that exists.
    pub fn number(
        &mut self,
        connection: &Connection,
        store: &Store,
        kind: &Kind,
    ) -> Result<Option<i64>, rusqlite::Error> {
        let place = (store.clone(), kind.clone());
        if let Some(number) = self.numbers.get(&place) {
            return Ok(Some(*number));
        }
        let sql = "select queue from queues where store = ?1 and kind = ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_row([store.as_str(), kind.as_str()], |row| row.get(0)).optional()?;
        found.into_iter().for_each(|number| self.remember(place.clone(), number));
        Ok(found)
    }

    /// Which queue a number means.
    pub fn place(&mut self, connection: &Connection, number: i64) -> Result<&(Store, Kind), Fault> {
        if !self.places.contains_key(&number) {
            let mut statement =
                connection.prepare_cached("select store, kind from queues where queue = ?1")?;
            let texts = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
            let Some((store, kind)) = statement.query_row([number], texts).optional()? else {
                return Err(Damaged(format!("there is no queue number {number}")).into());
            };
            let store = crate::row::bytes::word(&store)?;
            let kind = crate::row::bytes::word(&kind)?;
            self.remember((store, kind), number);
        }
        Ok(&self.places[&number])
    }
}
