//! Settings: the numbers of a lifecycle. Every one has a default and a bound, and each says why.
//!
//! How they are written in a file is in `settings/spelling.rs`, spans of time in `settings/span.rs`.

mod span;
mod spelling;
mod value;

pub use spelling::NotASetting;

use alloc::string::String;
use core::time::Duration;

use crate::word::Label;

/// The settings of one lifecycle, as its Settings table gives them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How long a lease lasts when the worker does not say: long enough for a worker to miss two heartbeats.
    pub lease: Duration,
    /// The longest a worker may ask for.
    pub lease_max: Duration,
    /// How long one execution may take, whatever its heartbeats say. None: no limit.
    pub window: Option<Duration>,
    /// How many executions may fail or expire before the item does. None: unlimited.
    pub attempts: Option<u32>,
    pub backoff: Backoff,
    /// How often an execution may be given back at no cost, so that deploys burn no attempts. From then on a release is a
    /// failure, where the table has a row for one: an item that nobody ever keeps does not go round for ever.
    /// None: unlimited.
    pub interruptions: Option<u32>,
    /// JSON pointer into the payload: where an item's key is found.
    pub key: Option<String>,
    pub coalesce: Coalesce,
    /// Only execution events move the item: its state is a function of its executions.
    pub derived: bool,
    pub concurrency: Limit<u32>,
    pub rate: Limit<Rate>,
    /// How many retries of this kind may start in a span; past it they wait.
    pub retry_budget: Option<Rate>,
    pub breaker: Option<Breaker>,
    /// How long finished items are kept. None: for ever.
    pub retention: Option<Duration>,
    pub priority: i8,
    /// How much earlier one step of priority makes an item: bounded, so nothing starves.
    pub head_start: Duration,
    /// What claim records call items of this kind; by default the kind in upper case.
    pub resource_type: Option<Label>,
}

pub const LEASE_MIN: Duration = Duration::from_secs(1);
/// Past an hour a dead worker's item would look alive for too long.
pub const LEASE_MAX: Duration = Duration::from_secs(3600);
/// Past a month an execution is a process of its own, with states of its own.
pub const WINDOW_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
pub const ATTEMPTS_MAX: u32 = 1_000;
/// More drains than this is `unlimited`.
pub const INTERRUPTIONS_MAX: u32 = 10_000;
/// A failed item that waits longer than a day waits for a person, and that is a state.
pub const BACKOFF_MAX: Duration = Duration::from_secs(24 * 3600);
/// Both ways; with the default head start the highest priority is 100 minutes ahead.
pub const PRIORITY_MAX: i8 = 100;
/// With the greatest priority a hundred days ahead: more would be starving with another name.
pub const HEAD_START_MAX: Duration = Duration::from_secs(24 * 3600);
/// Limits are counted in the acquiring transaction; past a million the count costs more than it protects.
pub const LIMIT_MAX: u32 = 1_000_000;
/// Of one key: its lane names every one that runs.
pub const KEY_CONCURRENCY_MAX: u32 = 1_000;
/// Spans of rates and breakers. Under a second the clock of a busy database is too coarse; past a day nobody waits.
pub const PACE_MIN: Duration = Duration::from_secs(1);
pub const PACE_MAX: Duration = Duration::from_secs(24 * 3600);
/// Shorter, and an item could be gone before its creator has read the answer.
pub const RETENTION_MIN: Duration = Duration::from_secs(60);
/// Longer than ten years is `forever`.
pub const RETENTION_MAX: Duration = Duration::from_secs(3650 * 24 * 3600);

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            lease: Duration::from_secs(60),
            lease_max: LEASE_MAX,
            window: None,
            attempts: Some(5),
            backoff: Backoff::default(),
            // A hundred deploys during one job: past that something else is wrong.
            interruptions: Some(100),
            key: None,
            coalesce: Coalesce::No,
            derived: false,
            concurrency: Limit::default(),
            rate: Limit::default(),
            retry_budget: None,
            breaker: None,
            retention: None,
            priority: 0,
            head_start: Duration::from_secs(60),
            resource_type: None,
        }
    }
}

/// How long a failed item waits: `first`, doubled with every failure, never more than `most`. Up to a fifth is added
/// at random, so that what failed together does not come back together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    pub first: Duration,
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { first: Duration::from_secs(1), most: Duration::from_secs(600) }
    }
}

impl Backoff {
    /// The longest wait, without its jitter.
    pub fn longest(&self) -> Duration {
        self.most.max(self.first)
    }

    /// The wait after the `failures`-th failure, without its jitter.
    pub fn after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.most)
    }
}

/// What a create on a key does when such an item is there: answers that item instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coalesce {
    No,
    /// One that is ready.
    Ready,
    /// One that has not ended.
    Unfinished,
}

/// A limit for the kind as a whole, for each key, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit<T> {
    pub kind: Option<T>,
    pub key: Option<T>,
}

impl<T> Default for Limit<T> {
    fn default() -> Limit<T> {
        Limit { kind: None, key: None }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    pub count: u32,
    pub per: Duration,
}

/// After `failures` within a span, the kind pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Breaker {
    pub failures: u32,
    pub within: Duration,
    pub pause: Duration,
}
