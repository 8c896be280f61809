//! Items that are known to share no lane. An item's kind and key never change, so what was true once stays true.
//!
//! A batch that commits what this process leased need not ask the server which lanes to lock.

use std::collections::HashSet;
use std::sync::Mutex;

use tenure_core::id::ItemId;

use super::pool::held;

/// Two generations of so many ids are kept: a few seconds of leases at full speed, in a few megabytes.
const GENERATION: usize = 65_536;

#[derive(Debug, Default)]
pub(super) struct Laneless(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashSet<ItemId>,
    old: HashSet<ItemId>,
}

impl Laneless {
    pub fn has(&self, item: ItemId) -> bool {
        let kept = held(&self.0);
        kept.young.contains(&item) || kept.old.contains(&item)
    }

    pub fn add(&self, items: Vec<ItemId>) {
        let mut kept = held(&self.0);
        if kept.young.len() + items.len() > GENERATION {
            kept.old = std::mem::take(&mut kept.young);
        }
        kept.young.extend(items);
    }
}
