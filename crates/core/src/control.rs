//! Control: what holds the items of one kind in one store back, beside the lifecycle's own rows.
//!
//! ```text
//!   lifecycle: concurrency, rate, retry budget, breaker ─┐
//!   operator:  paused? other limits?                     ├─▶ allowance: how many may be leased now, and if none, until when
//!   engine:    starts, failures, breaker; active items ──┘
//!
//!   breaker    closed ──failures──▶ open ──its pause is over──▶ one probe at a time ──it commits──▶ closed
//!                                    ▲                                  └──it fails──▶ open
//! ```
//!
//! Operational state, as a heartbeat is: nothing of it is in the log, and a replay begins without it. The slots of a limit
//! are not here: they are the items that are active, counted, so none can leak.

use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::actor::Actor;
use crate::id::ExecutionId;
use crate::lifecycle::Table;
use crate::lifecycle::settings::{Breaker, Rate};
use crate::pace::Pace;
use crate::time::Time;
use crate::word::{Kind, Store};

/// A store's items of one kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueKey {
    pub store: Store,
    pub kind: Kind,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Control {
    /// Nothing is leased while this stands.
    pub pause: Option<Said>,
    /// Instead of the lifecycle's own.
    pub limits: Option<Limits>,
    pub starts: Pace,
    /// Retries, at the time at which each becomes due.
    pub retries: Pace,
    /// The clock when the last of them was planned.
    pub retried: Option<Time>,
    pub failures: Pace,
    pub trip: Option<Trip>,
    /// How often the breaker has opened.
    pub trips: u64,
    /// How many retries were put off because the budget was spent.
    pub deferred: u64,
}

/// Who said so, when and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    pub by: Actor,
    pub at: Time,
    pub why: String,
}

/// An operator's limits for a kind. What is None is as the lifecycle says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    pub concurrency: Option<u32>,
    pub rate: Option<Rate>,
    pub said: Said,
}

/// The breaker has opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trip {
    pub until: Time,
    /// The one that was let through after that, to see whether it works again.
    pub probe: Option<ExecutionId>,
}

impl Trip {
    /// Whether its pause is over, also if a clock that was ahead has set its end.
    pub fn is_over(&self, pause: Duration, now: Time) -> bool {
        Time::is_over(self.until.before(pause), self.until, now)
    }
}

/// What has become of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// There is none, or it ended without an answer.
    Missing,
    Running,
    Committed,
}

/// What is in force for a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    pub concurrency: Option<u32>,
    pub rate: Option<Rate>,
    pub retry_budget: Option<Rate>,
    pub breaker: Option<Breaker>,
}

impl Rules {
    pub fn of(table: &Table, control: &Control) -> Rules {
        let (settings, limits) = (&table.settings, control.limits.as_ref());
        Rules {
            concurrency: limits.and_then(|limits| limits.concurrency).or(settings.concurrency.kind),
            rate: limits.and_then(|limits| limits.rate).or(settings.rate.kind),
            retry_budget: settings.retry_budget,
            breaker: settings.breaker,
        }
    }
}

/// How many items of a kind may be leased now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allowance {
    pub count: u32,
    /// What it is that allows no more.
    pub bound: Option<(Bound, Option<Time>)>,
}

/// What holds leases back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    Paused,
    Concurrency(u32),
    Rate(Rate),
    Breaker,
    KeyConcurrency(u32),
    KeyRate(Rate),
}

/// A lease that was not given, or fewer than were asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldBack {
    pub kind: Kind,
    pub by: Bound,
    /// When it may be worth asking again. None: when something ends, or somebody says so.
    pub until: Option<Time>,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Paused => f.write_str("it is paused"),
            Bound::Concurrency(limit) => write!(f, "{limit} of it run already"),
            Bound::Rate(rate) => write!(f, "{} were started in {:?}", rate.count, rate.per),
            Bound::Breaker => f.write_str("its breaker is open"),
            Bound::KeyConcurrency(limit) => write!(f, "{limit} of its key run already"),
            Bound::KeyRate(rate) => write!(f, "{} of its key were started in {:?}", rate.count, rate.per),
        }
    }
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is held back: {}", self.kind, self.by)?;
        match self.until {
            Some(until) => write!(f, "; ask again at {until}"),
            None => Ok(()),
        }
    }
}

impl Control {
    /// How many may be leased now: the least that pause, breaker, concurrency and rate allow.
    pub fn allowance(
        &self,
        rules: &Rules,
        active: impl FnOnce() -> u32,
        probe: impl FnOnce(ExecutionId) -> Probe,
        now: Time,
    ) -> Allowance {
        let mut allowance = Allowance { count: u32::MAX, bound: None };
        let mut lower = |count: u32, bound: Bound, until: Option<Time>| {
            if count < allowance.count {
                allowance = Allowance { count, bound: Some((bound, until)) };
            }
        };
        if self.pause.is_some() {
            lower(0, Bound::Paused, None);
        }
        if let (Some(trip), Some(breaker)) = (self.trip, rules.breaker) {
            let probed = trip.probe.map_or(Probe::Missing, probe);
            match probed {
                _ if !trip.is_over(breaker.pause, now) => lower(0, Bound::Breaker, Some(trip.until)),
                Probe::Missing => lower(1, Bound::Breaker, None),
                Probe::Running => lower(0, Bound::Breaker, None),
                Probe::Committed => {}
            }
        }
        if let Some(limit) = rules.concurrency {
            lower(limit.saturating_sub(active()), Bound::Concurrency(limit), None);
        }
        if let Some(rate) = rules.rate {
            let until = self.starts.more_at(rate, now);
            lower(self.starts.room(rate, now), Bound::Rate(rate), until);
        }
        allowance
    }

    /// One was leased. `probe` says what has become of the last one.
    pub fn started(
        &mut self,
        rules: &Rules,
        execution: ExecutionId,
        probe: impl FnOnce(ExecutionId) -> Probe,
        at: Time,
    ) {
        if let Some(rate) = rules.rate {
            self.starts.forget(at);
            self.starts.take(rate.per, at);
        }
        if let Some(trip) = &mut self.trip {
            let probed = trip.probe.map_or(Probe::Missing, probe);
            if probed == Probe::Committed || rules.breaker.is_none() {
                self.trip = None;
            } else {
                trip.probe = Some(execution);
            }
        }
    }

    /// One failed. Enough of them, or a probe that does, open the breaker.
    pub fn failed(&mut self, rules: &Rules, execution: ExecutionId, now: Time) {
        let Some(breaker) = rules.breaker else { return };
        self.failures.forget(now);
        self.failures.take(breaker.within, now);
        let probe = self.trip.is_some_and(|trip| trip.probe == Some(execution));
        let closed = self.trip.is_none();
        if probe || (closed && self.failures.count(breaker.within, now) >= breaker.failures) {
            self.trip = Some(Trip { until: now.after(breaker.pause), probe: None });
            self.trips = self.trips.saturating_add(1);
            self.failures = Pace::default();
        }
    }

    /// When a retry that wants to be due at a time may be, and that it will be.
    pub fn retry_at(&mut self, rules: &Rules, wanted: Time, now: Time) -> Time {
        let Some(budget) = rules.retry_budget else { return wanted };
        // Planned by a clock that was ahead: kept, these times would put off every retry until the clock is there again.
        if self.retried.is_some_and(|last| last > now.after(budget.per)) {
            self.retries = Pace::default();
        }
        self.retried = Some(now);
        self.retries.forget(now);
        let at = self.retries.next(budget, wanted);
        self.retries.take(budget.per, at);
        if at > wanted {
            self.deferred = self.deferred.saturating_add(1);
        }
        at
    }
}
