//! Chance as a parameter: the same seed draws the same ids and the same jitter.

use core::time::Duration;

use crate::id::ItemId;
use crate::time::Time;

/// A seeded source of numbers (SplitMix64). Ids need to be unlike each other, not secret; nothing here is a key.
#[derive(Clone, Debug)]
pub struct Draw {
    state: u64,
    /// Stands between the moment and the random part of the next id, so that ids of one moment sort in the order they were drawn in.
    ordinal: u16,
}

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw::numbered(seed, 0)
    }

    /// For the request with this number in its batch: what earlier ones create sorts before what it creates.
    pub fn numbered(seed: u64, ordinal: u16) -> Draw {
        Draw { state: seed, ordinal }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A new id: the moment, down to its microsecond, then the order within it, then 54 random bits. A ULID has room for the
    /// millisecond alone; two calls may come within one, and what was created first should be listed first.
    pub fn id(&mut self, at: Time) -> ItemId {
        let within = at.micros().rem_euclid(1_000).unsigned_abs();
        let rest =
            u128::from(within) << 70 | u128::from(self.ordinal) << 54 | u128::from(self.number() >> 10);
        self.ordinal = self.ordinal.saturating_add(1);
        ItemId(ulid::Ulid::from_parts(at.ulid_millis(), rest).0)
    }

    /// The span and up to a fifth more.
    pub fn jittered(&mut self, span: Duration) -> Duration {
        let most = u64::try_from((longest_jittered(span) - span).as_micros()).unwrap_or(u64::MAX);
        let extra = if most == 0 { 0 } else { self.number() % most };
        span.saturating_add(Duration::from_micros(extra))
    }
}

/// The longest span that a jitter returns: a fifth more.
pub(crate) fn longest_jittered(span: Duration) -> Duration {
    span.saturating_add(span / 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: K-32
    #[test]
    fn ids_of_one_moment_sort_in_the_order_they_were_drawn_in() {
        let at = Time::from_micros(1_794_774_300_000_000);
        let mut draw = Draw::new(9);
        let first: alloc::vec::Vec<ItemId> = (0..1_000).map(|_| draw.id(at)).collect();
        assert!(first.is_sorted());
        assert!(Draw::numbered(1, 4).id(at) < Draw::numbered(2, 5).id(at));
        assert_ne!(Draw::new(1).id(at), Draw::new(2).id(at));
        let next = Time::from_micros(at.micros() + 1);
        for seed in 0..100 {
            assert!(
                Draw::numbered(seed, u16::MAX).id(at) < Draw::new(seed + 7).id(next),
                "a microsecond later"
            );
        }
    }
}
