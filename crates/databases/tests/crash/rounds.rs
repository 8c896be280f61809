//! How often each fault is tried: small by default, in full with `TENURE_ROUNDS=full`. The one place with these numbers; races on PostgreSQL have theirs beside them.
//!
//! A failing run prints its seed; `TENURE_SEED` gives it again. The instant of a kill is the machine's, so a seed repeats
//! what was asked, not when it was cut off.

use std::hash::{BuildHasher, RandomState};

use tenure_core::draw::Draw;

macro_rules! rounds {
    ($($(#[$doc:meta])* $name:ident: $ci:literal, $full:literal;)*) => {
        $($(#[$doc])* pub fn $name() -> usize { if is_full() { $full } else { $ci } })*
    };
}

rounds! {
    /// D1: the process that writes to SQLite is killed.
    sqlite_kills: 8, 100;
    /// D2: the process that writes to PostgreSQL is killed.
    postgres_kills: 4, 50;
    /// D2: the PostgreSQL server is killed.
    server_kills: 2, 20;
    /// D3: the power is cut, and what was not synced is lost.
    power_cuts: 4, 200;
    /// D5, D6: calls of each sort that fail, out of all there are.
    failing_calls: 2, 100_000;
    /// D7: places at which a migration is killed, out of all there are.
    migration_kills: 4, 100_000;
    /// D8: backups under load.
    backups: 2, 50;
    /// D8: dumps under load.
    dumps: 1, 20;
    /// D9: bytes changed, one at a time.
    flips: 30, 200;
    /// The process that takes in the inbox is killed.
    inbox_kills: 3, 30;
    /// F1, F4, F12: what 32 claimers fight for.
    races: 3, 1_000;
}

pub fn is_full() -> bool {
    std::env::var("TENURE_ROUNDS").is_ok_and(|size| size == "full")
}

/// The seed of this run, printed for whoever has to repeat it.
pub fn seed() -> u64 {
    let given = std::env::var("TENURE_SEED").ok().map(|text| text.parse().expect("TENURE_SEED is a number"));
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one("seed") >> 16);
    eprintln!("TENURE_SEED={seed}");
    seed
}

/// At most `most` of the numbers 1 to `all`, one of each stretch, by the dice: what one run leaves out another takes.
pub fn sample(all: usize, most: usize, dice: &mut Draw) -> Vec<usize> {
    let most = most.min(all);
    let stretch = |n: usize| (n * all / most, (n + 1) * all / most);
    (0..most)
        .map(stretch)
        .map(|(from, to)| 1 + from + (dice.number() % (to - from) as u64) as usize)
        .collect()
}
