//! Replay: a world from its log.
//!
//! The same projection that wrote the rows makes them again. What the log does not hold does not come back: bodies
//! (their hashes do), heartbeats and expiries (a lease held at export counts as expired), undelivered messages.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::decide::{Draft, Unlogged};
use crate::entry::Sealed;
use crate::id::ItemId;
use crate::item::Item;
use crate::lifecycle::tables::Tables;
use crate::project::Broken;
use crate::world::{Change, World};

/// What one entry adds to a world that holds everything before it. An entry that is there already adds nothing; one
/// with the same place and other content is refused, and so is one whose event the lifecycle does not know.
pub fn replay(world: &World, entry: impl Into<Sealed>) -> Result<Vec<Change>, Broken> {
    let entry = entry.into();
    if let Some(known) = world.entries.get(&(entry.item, entry.version)) {
        return match *known == entry {
            true => Ok(Vec::new()),
            false => {
                let why = format!("event {} is there already with other content", known.event_id());
                Err(Broken { item: entry.item, version: entry.version, why })
            }
        };
    }
    let mut draft = Draft::new(world);
    draft.append(entry, Unlogged::default())?;
    Ok(draft.into_changes())
}

/// An item is what its entries say.
pub fn fold<'a, E>(entries: &'a [E], tables: &Arc<Tables>) -> Result<Item, Broken>
where
    Sealed: From<&'a E>,
{
    let mut world = World::new(tables.clone());
    let mut last = ItemId(0);
    for entry in entries {
        let entry = Sealed::from(entry);
        last = entry.item;
        let changes = replay(&world, entry)?;
        world.apply(changes);
    }
    world.items.remove(&last).map(Arc::unwrap_or_clone).ok_or_else(|| Broken {
        item: last,
        version: 0,
        why: "an item has at least one entry".to_string(),
    })
}
