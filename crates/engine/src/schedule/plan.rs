//! What a schedule says: as a program writes it, and as its payload keeps it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure_core::actor::{Actor, Role};
use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::shipped::has_own_create;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::{Command, Create, Request};
use tenure_core::time::Time;
use tenure_core::word::{Key, Kind, Store};
use tenure_core::world::World;

use super::due::CatchUp;
use super::times::Times;
use crate::tenure::New;

/// What is made up for after downtime, unless a schedule says otherwise.
const CATCH_UP: u32 = 100;
/// More than this is a backlog that somebody should look at.
pub(crate) const CATCH_UP_MAX: u32 = 1_000;
/// Jitter spreads what would begin together; past an hour it is another time.
pub(crate) const JITTER_MAX: Duration = Duration::from_secs(3600);

/// A standing order, before it is given.
#[derive(Clone, Debug)]
pub struct Schedule {
    name: String,
    times: String,
    zone: Option<String>,
    catch_up: CatchUp,
    catch_up_max: u32,
    from: Option<Time>,
    jitter: Duration,
    creates: Option<New>,
}

impl Schedule {
    /// `times` is a cron expression (`0 3 * * *`) or an interval (`every 90 s`).
    pub fn new(name: impl Into<String>, times: impl Into<String>) -> Schedule {
        Schedule {
            name: name.into(),
            times: times.into(),
            zone: None,
            catch_up: CatchUp::default(),
            catch_up_max: CATCH_UP,
            from: None,
            jitter: Duration::ZERO,
            creates: None,
        }
    }

    /// Whose clock a cron expression goes by: `Europe/Berlin`. UTC unless said.
    pub fn zone(mut self, zone: impl Into<String>) -> Schedule {
        self.zone = Some(zone.into());
        self
    }

    /// What becomes of times that passed while nothing ran.
    pub fn catch_up(mut self, rule: CatchUp) -> Schedule {
        self.catch_up = rule;
        self
    }

    /// How many [`CatchUp::All`] makes up for: 100 unless said, at most 1,000.
    pub fn catch_up_max(mut self, most: u32) -> Schedule {
        self.catch_up_max = most;
        self
    }

    /// It counts from this moment on and not from its creation. One that has passed is made up for by the rule.
    pub fn from(mut self, moment: Time) -> Schedule {
        self.from = Some(moment);
        self
    }

    /// Each time is put off by up to this much, always by the same for the same time.
    pub fn jitter(mut self, jitter: Duration) -> Schedule {
        self.jitter = jitter;
        self
    }

    /// What is created every time. Its idempotency key is the schedule's to give, and so is its time.
    pub fn creates(mut self, new: New) -> Schedule {
        self.creates = Some(new);
        self
    }

    /// The plan, if it is one. `now` is any recent moment: what has no time after it is refused.
    pub(super) fn plan(self, tables: &Tables, store: &Store, now: Time) -> Result<Plan, String> {
        let new = self.creates.ok_or("it does not say what it creates")?;
        let create = new.into_create().map_err(|error| error.to_string())?;
        if create.name.is_some() || create.run_at.is_some() {
            return Err(
                "what it creates has no idempotency key and no time of its own: the schedule gives both"
                    .into(),
            );
        }
        let plan = Plan {
            name: self.name.parse().map_err(|why| format!("its name is {why}"))?,
            times: self.times,
            zone: self.zone,
            catch_up: self.catch_up,
            catch_up_max: self.catch_up_max,
            from: self.from,
            jitter_ms: u64::try_from(self.jitter.as_millis()).unwrap_or(u64::MAX),
            creates: Template::of(&create)?,
        };
        plan.check(tables, store, now)?;
        Ok(plan)
    }
}

/// A schedule's payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    pub name: Key,
    pub times: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    #[serde(default)]
    pub catch_up: CatchUp,
    #[serde(default = "catch_up_max")]
    pub catch_up_max: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter_ms: u64,
    pub creates: Template,
}

/// What is created.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Template {
    pub kind: Kind,
    /// Exactly as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Key>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
}

fn catch_up_max() -> u32 {
    CATCH_UP
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Template {
    fn of(create: &Create) -> Result<Template, String> {
        let payload = serde_json::from_slice(create.payload.bytes()).map_err(|why| why.to_string())?;
        Ok(Template {
            kind: create.kind.clone(),
            payload: Some(payload),
            key: create.key.clone(),
            priority: create.priority,
            max_attempts: create.attempts,
        })
    }

    pub fn create(&self) -> Result<Create, String> {
        let payload = self.payload.as_ref().map_or("null", |payload| payload.get());
        let payload = Body::json(payload).map_err(|problem| problem.detail.to_string())?;
        let mut create = Create::new(self.kind.clone(), payload);
        create.key = self.key.clone();
        create.priority = self.priority;
        create.attempts = self.max_attempts;
        Ok(create)
    }
}

impl Plan {
    pub fn read(payload: &Body) -> Result<Plan, String> {
        serde_json::from_slice(payload.bytes()).map_err(|why| format!("its payload is no schedule: {why}"))
    }

    pub fn body(&self) -> Result<Body, String> {
        let bytes = serde_json::to_vec(self).map_err(|why| why.to_string())?;
        Body::json(bytes).map_err(|problem| problem.detail.to_string())
    }

    /// `created` is where an interval counts from, unless the plan says.
    pub fn times(&self, created: Time) -> Result<Times, String> {
        let zone = self.zone.as_deref().unwrap_or("UTC");
        Times::parse(&self.times, zone, self.from.unwrap_or(created))
    }

    /// Its first time, given when it was created and when it was last resumed. From a moment that was named, that moment counts.
    pub fn first(&self, created: Time, resumed: Option<Time>) -> Result<Option<Time>, String> {
        let times = self.times(created)?;
        Ok(match (resumed, self.from) {
            (Some(resumed), Some(from)) if from > resumed => times.from(from),
            (Some(resumed), _) => times.after(resumed),
            (None, Some(from)) => times.from(from),
            (None, None) => times.after(created),
        })
    }

    /// When a tick for a time is due: later by a jitter that every node works out alike.
    pub fn run_at(&self, schedule: ItemId, at: Time) -> Time {
        if self.jitter_ms == 0 {
            return at;
        }
        let Hash(drawn) = Hash::of(format!("{schedule}@{at}").as_bytes());
        let drawn = u64::from_be_bytes(drawn[..8].try_into().expect("eight bytes are eight bytes"));
        at.after(Duration::from_micros(drawn % (self.jitter_ms * 1_000)))
    }

    fn check(&self, tables: &Tables, store: &Store, now: Time) -> Result<(), String> {
        if !(1..=CATCH_UP_MAX).contains(&self.catch_up_max) {
            return Err(format!("catching up is bounded by a number from 1 to {CATCH_UP_MAX}"));
        }
        if Duration::from_millis(self.jitter_ms) > JITTER_MAX {
            return Err("jitter is at most an hour".to_string());
        }
        if self.first(now, None)?.is_none() {
            return Err(format!("`{}` has no time left: it would never fire", self.times));
        }
        self.rehearse(tables, store)
    }

    /// Creates it in an empty world: what the kernel would say every time, it says now.
    fn rehearse(&self, tables: &Tables, store: &Store) -> Result<(), String> {
        let create = self.creates.create()?;
        if has_own_create(&create.kind) {
            return Err(format!("no schedule creates a {}", create.kind));
        }
        let roles =
            tables.current(&create.kind).map(|table| table.roles_of(&Event::Create)).unwrap_or_default();
        // A tick writes in the name of the engine: nobody gets by it what they could not create themselves.
        if !roles.is_empty() && !roles.allow(Role::Api) {
            return Err(format!(
                "a schedule creates what the role api may create, and a {} is for {roles}",
                create.kind
            ));
        }
        let role = if roles.names(Role::System) { Role::System } else { Role::Api };
        let actor = Actor::new(role, "cron".parse().expect("a valid id"));
        let request = Request { store: store.clone(), actor, command: Command::Create(create) };
        let world = World::new(std::sync::Arc::new(tables.clone()));
        match decide(&world, &request, &mut Draw::new(0)).answer {
            Answer::Created(_) => Ok(()),
            no => Err(format!("what it creates would be refused: {}", crate::error::words(&no))),
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::lifecycle::shipped;

    use super::*;

    fn plan(schedule: Schedule) -> Result<Plan, String> {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        schedule.plan(&shipped::tables(), &"default".parse().unwrap(), now)
    }

    #[test]
    fn a_schedule_that_can_not_work_is_refused_with_the_reason() {
        let good = || Schedule::new("n", "0 3 * * *").creates(New::job(&1));
        assert!(plan(good()).is_ok());
        let ticket = New::of("ticket", &serde_json::json!({"title": "t"}));
        assert!(plan(good().creates(ticket)).is_ok(), "the API creates what the engine may not");
        for (schedule, why) in [
            (Schedule::new("n", "0 3 * * *"), "what it creates"),
            (Schedule::new("", "0 3 * * *").creates(New::job(&1)), "its name is not a key"),
            (Schedule::new("n", "0 0 30 2 *").creates(New::job(&1)), "would never fire"),
            (Schedule::new("n", "0 0 0 1 1 * 2025").creates(New::job(&1)), "would never fire"),
            (good().catch_up_max(0), "from 1 to 1000"),
            (good().catch_up_max(1001), "from 1 to 1000"),
            (good().jitter(Duration::from_secs(3601)), "at most an hour"),
            (good().zone("Mars/Olympus"), "no time zone"),
            (good().creates(New::job(&1).idempotency_key("k")), "the schedule gives both"),
            (good().creates(New::job(&1).run_at(Time::default())), "the schedule gives both"),
            (good().creates(New::of("nothing", &1)), "there is no lifecycle"),
            (good().creates(New::of("session", &1)), "what the role api may create"),
            (good().creates(New::of("work_order", &1)), "what the role api may create"),
            (good().creates(New::of("tick", &1)), "no schedule creates a tick"),
            (good().creates(New::of("webhook", &1)), "no schedule creates a webhook"),
            (good().creates(New::of("ticket", &1)), "does not fit"),
            (good().creates(New::job(&1).priority(101)), "priority"),
        ] {
            let refused = plan(schedule).unwrap_err();
            assert!(refused.contains(why), "{why}: {refused}");
        }
    }

    #[test]
    fn a_payload_is_kept_as_it_was_given() {
        let exact: Box<RawValue> =
            serde_json::from_str(r#"{"z": 12345678901234567890123, "a": 1.50}"#).unwrap();
        let kept = plan(Schedule::new("n", "every 90 s").creates(New::job(&exact))).unwrap().body().unwrap();
        let create = Plan::read(&kept).unwrap().creates.create().unwrap();
        assert_eq!(create.payload.bytes(), exact.get().as_bytes());
    }

    #[test]
    fn jitter_is_bounded_and_the_same_for_the_same_time() {
        let plan =
            plan(Schedule::new("n", "every 90 s").jitter(Duration::from_secs(5)).creates(New::job(&1)))
                .unwrap();
        let at: Time = "2026-01-01T00:00:00Z".parse().unwrap();
        let put_off: Vec<Time> = (0..100).map(|id| plan.run_at(ItemId(id), at)).collect();
        assert!(put_off.iter().all(|time| (at..at.after(Duration::from_secs(5))).contains(time)));
        assert!(put_off.iter().any(|time| *time != put_off[0]));
        assert_eq!(put_off[7], plan.run_at(ItemId(7), at));
    }
}
