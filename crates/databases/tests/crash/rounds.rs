//! How often each fault is tried: small by default, in full with `TENURE_ROUNDS=full`. The one place with these numbers for this folder.
//!
//! A failing run prints its seed; `TENURE_SEED` gives it again. The instant of a kill is the machine's, so a seed repeats
//! what was asked, not when it was cut off. A seed that failed once is kept in `seeds.txt` with the name of its test, which
//! then runs with it first, in a process of its own, before it draws another.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use tenure_core::draw::Draw;

macro_rules! rounds {
    ($($(#[$doc:meta])* $name:ident: $ci:literal, $full:literal;)*) => {
        $($(#[$doc])* pub fn $name() -> usize { crate::sized::sized($ci, $full) })*
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
    /// D6: calls of each sort that fail, out of all there are.
    failing_calls: 2, 100_000;
    /// D5: syncs that fail, once and from then on.
    failing_syncs: 5, 100_000;
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
    /// F1: items that 32 claimers fight for.
    claims: 100, 10_000;
    /// F4: leases that 32 callers end at once.
    ends: 20, 2_000;
    /// F12: queues of 32 runs on a few keys, each asked for 256 times until it is empty. In full that is a million claims on SQLite.
    sqlite_queues: 4, 4_000;
    /// The same on PostgreSQL, where a claim costs a few trips to the server: a hundred thousand.
    postgres_queues: 1, 400;
    /// F12: runs of one key that processes share.
    hot: 120, 4_000;
}

const SEED: &str = "TENURE_SEED";
/// Those that failed once.
const KEPT: &str = include_str!("seeds.txt");

/// The seed of this run of a test, the same however often it asks, printed for whoever has to repeat it.
pub fn seed() -> u64 {
    static DRAWN: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
    if let Ok(given) = std::env::var(SEED) {
        return given.parse().expect("TENURE_SEED is a number");
    }
    let test = test_name();
    if let Some(seed) = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).get(&test) {
        return *seed;
    }
    for kept in kept(KEPT, &test) {
        assert!(runs_with(&test, kept), "{test} fails again with {SEED}={kept}, as it once did");
    }
    let seed = RandomState::new().hash_one("seed") >> 16;
    eprintln!("{SEED}={seed} repeats this; if it fails, `{test} {seed}` belongs into tests/crash/seeds.txt");
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner).insert(test, seed);
    seed
}

/// The name of the test that asks, which its thread has; a test that is run alone may have the first thread.
fn test_name() -> String {
    let thread = std::thread::current().name().map(str::to_string).filter(|name| name != "main");
    let argument = || std::env::args().skip_while(|argument| argument != "--exact").nth(1);
    thread.or_else(argument).expect("a test has a name")
}

/// Seeds that were kept for a test. A line is `TEST SEED`, and what follows them is why; one that begins with `#` says nothing.
fn kept(text: &str, test: &str) -> Vec<u64> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    words
        .filter_map(|words| match words[..] {
            [name, seed, ..] => {
                (name == test).then(|| seed.parse().expect("the second word of a line is a seed"))
            }
            _ => panic!("a line of seeds.txt is `TEST SEED why`: {words:?}"),
        })
        .collect()
}

/// The same test with this seed: did it pass?
fn runs_with(test: &str, seed: u64) -> bool {
    eprintln!("{test} once failed with {SEED}={seed}");
    let program = std::env::current_exe().expect("the test has a program");
    let run =
        Command::new(program).args(["--exact", test, "--nocapture"]).env(SEED, seed.to_string()).status();
    run.expect("the test starts").success()
}

#[test]
fn a_seed_that_failed_is_kept_for_its_test() {
    let text = "# a comment\n\nkills::d1 7 a lost row\nkills::d2 8\nkills::d1 9\n";
    assert_eq!((kept(text, "kills::d1"), kept(text, "kills::d3")), (vec![7, 9], Vec::new()));
    assert!(kept(KEPT, "nothing").is_empty(), "the file can be read");
    // Asked twice it is one seed, or no seed would repeat a test that asks twice.
    assert_eq!(seed(), seed());
    assert_eq!(test_name(), "rounds::a_seed_that_failed_is_kept_for_its_test");
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
