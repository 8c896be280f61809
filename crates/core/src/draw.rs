//! Chance as a parameter: the same seed draws the same ids and the same jitter.

use core::time::Duration;

use crate::id::ItemId;
use crate::time::Time;

/// A seeded source of numbers (SplitMix64). Ids need to be unlike each other, not secret; nothing here is a key.
#[derive(Clone, Debug)]
pub struct Draw {
    state: u64,
}

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw { state: seed }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A new id that begins with the moment.
    pub fn id(&mut self, at: Time) -> ItemId {
        let random = u128::from(self.number()) << 64 | u128::from(self.number());
        ItemId(ulid::Ulid::from_parts(at.ulid_millis(), random).0)
    }

    /// The span and up to a fifth more.
    pub fn jittered(&mut self, span: Duration) -> Duration {
        let most = u64::try_from(span.as_micros() / 5).unwrap_or(u64::MAX);
        let extra = if most == 0 { 0 } else { self.number() % most };
        span.saturating_add(Duration::from_micros(extra))
    }
}
