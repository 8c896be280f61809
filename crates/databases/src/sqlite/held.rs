//! Items that this process leased a moment ago: whoever holds them will come back soon, and they need not be read again.
//!
//! What another process could have changed is never believed. SQLite counts, for every connection, the commits of all others;
//! as soon as that count moved everything here is forgotten. What this connection writes itself is noted as it commits.

use rusqlite::Connection;
use tenure_core::id::ItemId;
use tenure_core::item::SharedItem;

use super::tx::Known;
use crate::id_map::IdMap;

/// So many items are kept: about 10 MB. Whatever is beyond is read from the file, as everything was before.
const HELD_MAX: usize = 16_384;

#[derive(Default)]
pub(super) struct Held {
    items: IdMap<(SharedItem, Known)>,
    /// SQLite's count of what others committed, when it was last looked at.
    others: Option<i64>,
}

/// What a transaction did to an item.
pub(super) enum Touched {
    /// A step of it was written.
    Written(SharedItem, Known),
    /// Something else in its row.
    Otherwise(ItemId),
}

impl Held {
    /// Forgets everything if anybody else has written, and says so. Asked under the write lock nobody does so meanwhile.
    pub fn look(&mut self, connection: &Connection) -> Result<bool, rusqlite::Error> {
        let mut statement = connection.prepare_cached("pragma data_version")?;
        let others = Some(statement.query_row([], |row| row.get(0))?);
        if self.others == others {
            return Ok(false);
        }
        self.items.clear();
        Ok(std::mem::replace(&mut self.others, others).is_some())
    }

    pub fn get(&self, id: ItemId) -> Option<&(SharedItem, Known)> {
        self.items.get(&id)
    }

    /// A transaction has committed. One that was rolled back has changed nothing.
    pub fn committed(&mut self, touched: Vec<Touched>) {
        for touched in touched {
            match touched {
                // A payload that guards look into is read with its item.
                Touched::Written(item, known) if item.lease.is_some() && !item.table.reads_payload() => {
                    let id = item.id;
                    if self.items.len() < HELD_MAX || self.items.contains_key(&id) {
                        self.items.insert(id, (item, known));
                    }
                }
                Touched::Written(item, _) => {
                    self.items.remove(&item.id);
                }
                Touched::Otherwise(id) => {
                    self.items.remove(&id);
                }
            }
        }
    }
}
