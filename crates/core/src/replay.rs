//! Replay: a world from its log.
//!
//! The same projection that wrote the rows makes them again. What the log does not hold does not come back: bodies
//! (their hashes do; somebody may have kept them elsewhere), heartbeats and expiries (a lease held at export counts as expired), undelivered messages.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::body::Body;
use crate::decide::{Draft, Unlogged, record_marks};
use crate::entry::{Entry, Facts, Sealed};
use crate::hash::Hash;
use crate::id::{ItemId, RecordId};
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::lifecycle::tables::Tables;
use crate::project::Broken;
use crate::request::Need;
use crate::world::{Change, LaneKey, NameKey, NameScope, World};

/// What one entry adds to a world that holds everything before it. An entry that is there already adds nothing; one
/// with the same place and other content is refused, and so is one whose event the lifecycle does not know.
pub fn replay(world: &World, entry: impl Into<Sealed>) -> Result<Vec<Change>, Broken> {
    replay_with(world, entry, &|_| None)
}

/// The same, with the bodies that were kept elsewhere: an entry names them by hash.
pub fn replay_with(
    world: &World,
    entry: impl Into<Sealed>,
    bodies: &dyn Fn(&Hash) -> Option<Body>,
) -> Result<Vec<Change>, Broken> {
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
    let bodies = bodies_of(&entry).iter().filter_map(bodies).collect();
    draft.append(entry, Unlogged { bodies, ..Unlogged::default() })?;
    Ok(draft.into_changes())
}

/// The bodies that an entry names.
fn bodies_of(entry: &Entry) -> Vec<Hash> {
    let mut named: Vec<Hash> = record_marks(&entry.facts).iter().map(|mark| mark.sha256).collect();
    match &entry.facts {
        Facts::Create(birth) => named.push(birth.payload),
        Facts::Commit(committed) => named.extend(committed.output),
        Facts::Lease(_) | Facts::Progress(_) | Facts::End(_) | Facts::Cancel(_) => {}
        Facts::Move(_) | Facts::Note(_) | Facts::Link(_) | Facts::Bare(_) => {}
    }
    named
}

/// What must be locked and loaded before an entry can be replayed, as `Request::needs` says it of a request. The lane of
/// an item that is there already is added by whoever loads the item.
pub fn needs(entry: &Entry, tables: &Tables, need: &mut Need) {
    need.items.insert(entry.item);
    let records = record_marks(&entry.facts).iter();
    need.records.extend(records.map(|mark| RecordId::of(entry.item, &mark.label, &mark.name)));
    match &entry.facts {
        Facts::Create(birth) => {
            let shares = tables.version(&birth.lifecycle).is_some_and(|table| table.uses_lanes());
            let (store, kind) = (&entry.store, &birth.kind);
            need.lanes.extend(birth.key.iter().filter(|_| shares).map(|key| LaneKey {
                store: store.clone(),
                kind: kind.clone(),
                key: key.clone(),
            }));
            need.names.extend(birth.name.iter().map(|name| NameKey {
                store: store.clone(),
                scope: NameScope::Create(kind.clone()),
                name: name.clone(),
            }));
        }
        Facts::Lease(grant) => need.names.extend(grant.request.iter().map(|name| NameKey {
            store: entry.store.clone(),
            scope: NameScope::Acquire(entry.actor.owner()),
            name: name.clone(),
        })),
        // A folded create is named under the kind of its item, which an entry does not say; nobody else writes meanwhile.
        Facts::Note(_) => {}
        Facts::Progress(_) | Facts::Commit(_) | Facts::End(_) | Facts::Cancel(_) => {}
        Facts::Bare(_) if entry.action == Event::Prune => {
            need.removals.insert(entry.item);
        }
        Facts::Move(_) | Facts::Link(_) | Facts::Bare(_) => {}
    }
}

/// The names that an item's entries gave, to it or to its leases. Those of an item in a final state do not change any more.
pub fn names<'e>(history: impl IntoIterator<Item = &'e Entry>) -> BTreeSet<NameKey> {
    let mut kind = None;
    let mut names = BTreeSet::new();
    for entry in history {
        let (scope, name) = match &entry.facts {
            Facts::Create(birth) => {
                kind = Some(birth.kind.clone());
                (kind.clone().map(NameScope::Create), birth.name.clone())
            }
            Facts::Note(noted) => {
                let folded = noted.folded.as_ref();
                (kind.clone().map(NameScope::Create), folded.map(|folded| folded.name.clone()))
            }
            Facts::Lease(grant) => (Some(NameScope::Acquire(entry.actor.owner())), grant.request.clone()),
            _ => (None, None),
        };
        let key = scope.zip(name);
        names.extend(key.map(|(scope, name)| NameKey { store: entry.store.clone(), scope, name }));
    }
    names
}

/// An item is what its entries say. There is none after an entry that removed it.
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
        why: "there is no such item: it has no entries, or the last of them removed it".to_string(),
    })
}
