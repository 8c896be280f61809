//! A map of item ids that costs next to nothing to look into.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use tenure_core::id::ItemId;

pub(crate) type IdMap<V> = HashMap<ItemId, V, BuildHasherDefault<IdHasher>>;

/// The low half of an id is drawn at random, and is its own hash.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u128(&mut self, id: u128) {
        self.0 = id as u64;
    }
}
