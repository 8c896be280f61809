//! Replay: a world from its log.
//!
//! The same projection that wrote the rows makes them again. What the log does not hold does not come back: bodies
//! (their hashes do), heartbeats and expiries (a lease held at export counts as expired), undelivered messages.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::decide::{Draft, Unlogged};
use crate::entry::Entry;
use crate::id::ItemId;
use crate::item::Item;
use crate::lifecycle::tables::Tables;
use crate::project::Broken;
use crate::world::{Change, World};

/// What one entry adds to a world that holds everything before it. An entry that is there already adds nothing; one
/// with the same place and other content is refused, and so is one whose event the lifecycle does not know.
pub fn replay(world: &World, entry: &Entry) -> Result<Vec<Change>, Broken> {
    if let Some(known) = world.entries.get(&(entry.item, entry.version)) {
        return match known == entry {
            true => Ok(Vec::new()),
            false => {
                let why = format!("event {} is there already with other content", known.event_id());
                Err(Broken { item: entry.item, version: entry.version, why })
            }
        };
    }
    let mut draft = Draft::new(world);
    draft.append(entry.clone(), Unlogged::default())?;
    Ok(draft.into_changes())
}

/// An item is what its entries say.
pub fn fold(entries: &[Entry], tables: &Arc<Tables>) -> Result<Item, Broken> {
    let mut world = World::new(tables.clone());
    for entry in entries {
        let changes = replay(&world, entry)?;
        world.apply(changes);
    }
    let last = entries.last();
    let item = last.and_then(|entry| world.items.remove(&entry.item));
    item.ok_or_else(|| Broken {
        item: last.map_or(ItemId(0), |entry| entry.item),
        version: 0,
        why: "an item has at least one entry".to_string(),
    })
}
