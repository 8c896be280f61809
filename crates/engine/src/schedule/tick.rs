//! Firing a tick: read its schedule, work out what is due, commit that and the next tick.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::body::Body;
use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::settings::Coalesce;
use tenure_core::request::{Create, EffectMove, Effects};
use tenure_core::time::Time;

use super::due::{Asked, Due, Next, Pause, due};
use super::plan::Plan;
use crate::loops::Parts;
use crate::worker::{Done, Failure, Handler, Job};

/// Items that one commit creates: a small transaction, so that nobody waits long for its locks.
const ROOM: usize = 200;

/// A tick's payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tick {
    pub schedule: ItemId,
    pub at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
}

/// A tick's output.
#[derive(Debug, Serialize)]
struct Fired {
    made: usize,
    dropped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Tick {
    /// The create of a tick. It has no name: one unfinished tick a schedule is what its lifecycle keeps.
    pub fn create(schedule: ItemId, plan: &Plan, next: Next) -> Result<Create, String> {
        let tick = Tick { schedule, at: next.at, left: next.left };
        let bytes = serde_json::to_vec(&tick).map_err(|why| why.to_string())?;
        let payload = Body::json(bytes).map_err(|problem| problem.detail.to_string())?;
        let mut create = Create::new(super::tick_kind(), payload);
        create.run_at = Some(plan.run_at(schedule, next.at));
        create.estimated = true;
        Ok(create)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Fire {
    pub parts: Parts,
}

impl Handler for Fire {
    fn run(&self, job: Job) -> Pin<Box<dyn Future<Output = Result<Done, Failure>> + Send>> {
        let parts = self.parts.clone();
        Box::pin(async move { fire(&parts, job).await })
    }
}

async fn fire(parts: &Parts, job: Job) -> Result<Done, Failure> {
    let tick: Tick = job.payload()?;
    let store = &job.item().store;
    let Some(whole) = parts.kept.whole(store, tick.schedule).await? else {
        return over("there is no such schedule");
    };
    let schedule = &whole.item;
    if &**schedule.state_name() != "ACTIVE" {
        return over(schedule.state_name());
    }
    let plan = whole.payload.as_ref().ok_or("its payload was erased".to_string()).and_then(Plan::read);
    let plan = plan.map_err(Failure::retry)?;
    let times = plan.times(schedule.created).map_err(Failure::retry)?;
    let mut pauses = match schedule.version {
        1 => Vec::new(),
        _ => pauses(&parts.kept.history(store, tick.schedule).await?),
    };
    // The database's clock, as it was when the tick was leased: no other is asked.
    let now = job.item().lease.as_ref().map_or(tick.at, |lease| lease.since);
    // It is not paused now: what ends later was resumed by a clock that was ahead.
    pauses.retain(|pause| pause.until.is_some_and(|until| until <= now));
    let due = due(Asked {
        times: &times,
        begins: plan.from,
        catch_up: plan.catch_up,
        pauses: &pauses,
        at: tick.at,
        now,
        jitter: Duration::from_millis(plan.jitter_ms),
        left: tick.left.unwrap_or(plan.catch_up_max),
        room: room(parts, &plan),
    });
    parts.counters.one_tick(due.make.len(), due.dropped);
    let effects = effects(schedule, &plan, &due).map_err(Failure::retry)?;
    let fired = Fired { made: due.make.len(), dropped: due.dropped, why: None };
    let mut done = Done::with(&fired)?;
    done.effects = effects;
    Ok(done)
}

/// The last tick: nothing is created, and no other follows.
fn over(why: &str) -> Result<Done, Failure> {
    Done::with(&Fired { made: 0, dropped: 0, why: Some(why.to_string()) })
}

/// Two creates on one key that coalesces can not stand in one commit: of such a kind each gets its own.
fn room(parts: &Parts, plan: &Plan) -> usize {
    let tables = parts.kept.tables();
    let coalesces = |kind| tables.current(kind).is_some_and(|table| table.settings.coalesce != Coalesce::No);
    if coalesces(&plan.creates.kind) { 1 } else { ROOM }
}

fn effects(schedule: &Item, plan: &Plan, due: &Due) -> Result<Effects, String> {
    let mut effects = Effects::default();
    for time in &due.make {
        let name = format!("{}@{time}", schedule.id).parse().map_err(|why| format!("{why}"))?;
        effects.creates.push(Create { name: Some(name), ..plan.creates.create()? });
    }
    let event = match due.next {
        Some(next) => {
            effects.creates.push(Tick::create(schedule.id, plan, next)?);
            "fire"
        }
        None => "end",
    };
    let event = event.parse().map_err(|why| format!("{why}"))?;
    effects.moves.push(EffectMove { item: schedule.id, event, reason: None });
    Ok(effects)
}

/// When it was paused, as its own log says.
pub(super) fn pauses(history: &[Sealed]) -> Vec<Pause> {
    let mut pauses: Vec<Pause> = Vec::new();
    for entry in history {
        match &entry.action {
            Event::Plain(event) if event.as_str() == "pause" => {
                pauses.push(Pause { from: entry.at, until: None });
            }
            Event::Plain(event) if event.as_str() == "resume" => {
                if let Some(pause) = pauses.last_mut() {
                    pause.until = Some(entry.at);
                }
            }
            _ => {}
        }
    }
    pauses
}
