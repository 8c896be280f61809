//! What is read to explain an item. All the reading is here; what it comes to is a function of it.

use std::sync::Arc;

use tenure_core::control::{Control, QueueKey};
use tenure_core::entry::Sealed;
use tenure_core::execution::Execution;
use tenure_core::id::ItemId;
use tenure_core::item::SharedItem;
use tenure_core::lifecycle::Phase;
use tenure_core::word::Store;
use tenure_core::world::{LaneKey, NameKey, NameScope, Named, World};
use tenure_databases::look::{Ahead, Look, SetAside};
use tenure_databases::{Database, Error, Whole};

use crate::redrive::retry_name;
use crate::refused::Refused;

/// So many that come before an item are counted; beyond that it is a long queue, whatever the number.
pub const AHEAD_MAX: usize = 1_000;

/// An item and what is around it, as it was read.
#[derive(Clone, Debug)]
pub struct Facts {
    pub id: ItemId,
    pub store: Store,
    /// The time, the item, those it is linked to or waits for, its lane, and what holds its kind back.
    pub world: World,
    /// None: its row can not be read.
    pub known: Option<Known>,
    pub set_aside: Option<SetAside>,
    /// Writes that were refused to others, the latest last. No database knows them: whoever asks through an engine has its own.
    pub refused: Vec<Refused>,
}

/// What is known of an item whose row can be read.
#[derive(Clone, Debug)]
pub struct Known {
    pub item: SharedItem,
    /// Those that committed or ended, oldest first.
    pub executions: Vec<Execution>,
    /// Oldest first, up to the entry that made the item what it is here.
    pub history: Vec<Sealed>,
    /// It has an output, and its bytes are there.
    pub has_output: bool,
    /// Of one that is ready.
    pub ahead: Ahead,
    /// The item that was made to try this one again.
    pub retried_as: Option<ItemId>,
}

impl Facts {
    /// None: there is no such item in this store. What is read one after the other may have moved in between; the item itself is
    /// of one moment, and what is newer than it is left out.
    pub async fn read<D: Database + Look>(
        database: &D,
        store: &Store,
        id: ItemId,
    ) -> Result<Option<Facts>, Error> {
        let set_aside = database.set_aside(store, id).await?;
        let whole = match database.whole(store, id).await {
            // It is known that it can not be read, and why.
            Err(Error::Statement(_)) if set_aside.is_some() => None,
            whole => whole?,
        };
        if whole.is_none() && set_aside.is_none() {
            return Ok(None);
        }
        let mut world = World::new(database.tables());
        world.now = database.now().await?;
        let known = match whole {
            Some(whole) => Some(known(database, whole, &mut world).await?),
            None => None,
        };
        Ok(Some(Facts { id, store: store.clone(), world, known, set_aside, refused: Vec::new() }))
    }
}

async fn known<D: Database + Look>(database: &D, whole: Whole, world: &mut World) -> Result<Known, Error> {
    let item = Arc::new(whole.item);
    world.items.insert(item.id, item.clone());
    world.payloads.extend(whole.payload.map(|payload| (item.id, payload)));
    let mut history = database.history(&item.store, item.id).await?;
    history.retain(|entry| entry.version <= item.version);
    let mut around: Vec<ItemId> = item.links.iter().map(|link| link.to).collect();
    let mut ahead = Ahead::default();
    if item.phase() == Phase::Ready {
        ahead = database.ahead(&item, AHEAD_MAX).await?;
        around.extend(what_holds_back(database, &item, world).await?);
    }
    for id in around {
        // One of another store is nobody's here.
        if let Some(found) = database.item(&item.store, id).await? {
            world.items.entry(id).or_insert_with(|| Arc::new(found));
        }
    }
    let retried_as = match item.phase() {
        Phase::Failed | Phase::Stopped => retried_as(database, &item).await?,
        Phase::Waiting | Phase::Ready | Phase::Active | Phase::Succeeded => None,
    };
    let (executions, has_output) = (whole.executions, whole.output.is_some());
    Ok(Known { item, executions, history, has_output, ahead, retried_as })
}

/// The lane of its key and the control of its kind. Answers the items that they name.
async fn what_holds_back<D: Database + Look>(
    database: &D,
    item: &SharedItem,
    world: &mut World,
) -> Result<Vec<ItemId>, Error> {
    let (store, kind) = (item.store.clone(), item.table.kind.clone());
    let mut named = Vec::new();
    if let Some(key) = item.lane_key().cloned() {
        let key = LaneKey { store: store.clone(), kind: kind.clone(), key };
        let lane = database.lane(&key).await?;
        named.extend(lane.running.iter().copied());
        world.lanes.insert(key, lane);
    }
    let key = QueueKey { store, kind };
    let (control, active) = database.control(&key).await?;
    world.active.insert(key.clone(), active);
    if control != Control::default() {
        named.extend(control.trip.and_then(|trip| trip.probe).map(|probe| probe.item));
        world.controls.insert(key, control);
    }
    Ok(named)
}

async fn retried_as<D: Look>(database: &D, item: &SharedItem) -> Result<Option<ItemId>, Error> {
    let scope = NameScope::Create(item.table.kind.clone());
    let key = NameKey { store: item.store.clone(), scope, name: retry_name(item.id) };
    Ok(match database.named(&key).await? {
        Some(Named::Created { item, .. } | Named::Folded { item, .. }) => Some(item),
        Some(Named::Leased(_)) | None => None,
    })
}
