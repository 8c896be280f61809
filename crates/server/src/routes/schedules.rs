//! Schedules: standing orders that create work at their times.

use axum::Json as Shown;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::Duration;
use tenure::core::id::ItemId;
use tenure::{CatchUp, New, Schedule, Scheduled, Tenure};
use utoipa::ToSchema;

use crate::caller::{Admin, Caller};
use crate::extract::{Json, Name};
use crate::once;
use crate::page::Page;
use crate::problem::Problem;
use crate::shape::create::time;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleBody {
    name: String,
    /// A cron expression (`0 3 * * *`) or an interval (`every 90 s`).
    times: String,
    /// Whose clock a cron expression goes by: `Europe/Berlin`. UTC unless said.
    zone: Option<String>,
    /// What becomes of times that passed while nothing ran: `skip`, `one` (the default) or `all`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    catch_up: CatchUp,
    /// How many `all` makes up for: 100 unless said, at most 1,000.
    catch_up_max: Option<u32>,
    /// It counts from this moment on and not from its creation.
    from: Option<String>,
    /// Each time is put off by up to this much, always by the same for the same time.
    #[serde(default)]
    jitter_ms: u64,
    creates: CreatesBody,
}

/// What is created every time.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatesBody {
    kind: String,
    #[schema(value_type = serde_json::Value)]
    payload: Box<RawValue>,
    key: Option<String>,
    priority: Option<i8>,
    max_attempts: Option<u32>,
}

impl CreatesBody {
    fn into_new(self) -> New {
        let mut new = New::of(self.kind, &self.payload);
        if let Some(key) = self.key {
            new = new.key(key);
        }
        if let Some(priority) = self.priority {
            new = new.priority(priority);
        }
        match self.max_attempts {
            Some(attempts) => new.max_attempts(attempts),
            None => new,
        }
    }
}

impl ScheduleBody {
    fn schedule(self) -> Result<Schedule, Problem> {
        let mut schedule = Schedule::new(self.name, self.times).catch_up(self.catch_up);
        schedule = schedule.jitter(Duration::from_millis(self.jitter_ms)).creates(self.creates.into_new());
        if let Some(zone) = self.zone {
            schedule = schedule.zone(zone);
        }
        if let Some(most) = self.catch_up_max {
            schedule = schedule.catch_up_max(most);
        }
        if let Some(from) = self.from {
            schedule = schedule.from(time("from", &from)?);
        }
        Ok(schedule)
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduleView {
    pub id: String,
    pub name: String,
    /// ACTIVE or PAUSED.
    pub state: String,
    pub times: String,
    pub zone: Option<String>,
    /// The kind of what it creates.
    pub creates: String,
    /// When it creates next. Null while it is paused.
    pub next_at: Option<String>,
}

impl From<&Scheduled> for ScheduleView {
    fn from(scheduled: &Scheduled) -> ScheduleView {
        ScheduleView {
            id: scheduled.id.to_string(),
            name: scheduled.name.to_string(),
            state: scheduled.state.to_string(),
            times: scheduled.times.clone(),
            zone: scheduled.zone.clone(),
            creates: scheduled.creates.to_string(),
            next_at: scheduled.next.map(|at| at.to_string()),
        }
    }
}

async fn view(tenure: &Tenure, id: ItemId) -> Result<ScheduleView, Problem> {
    let all = tenure.schedules().await?;
    let one = all.iter().find(|scheduled| scheduled.id == id);
    one.map(ScheduleView::from).ok_or_else(|| Problem::not_found(format!("the schedule {id} was removed")))
}

/// The engine looks after the schedules and webhooks of one store: elsewhere one would stand and never do anything.
pub fn looked_after(caller: &Caller, kind: &str) -> Result<(), Problem> {
    caller.may_use(&kind.parse()?)?;
    let store = caller.app.tenure.store();
    match caller.store == *store {
        true => Ok(()),
        false => Err(Problem::wrong("store", format!("a {kind} is in the store {store}"))),
    }
}

const KIND: &str = "schedule";

/// A token that is for other kinds has nothing to do with schedules.
fn may_use(caller: &Caller) -> Result<(), Problem> {
    caller.may_use(&KIND.parse()?)
}

/// Give a standing order
///
/// The same under the same name again is the same schedule; another under that name is refused until that one is removed.
#[utoipa::path(post, path = "/v1/schedules", tag = "schedules", request_body = ScheduleBody, extensions(("x-access" = json!("admin"))),
    responses((status = 201, body = ScheduleView), (status = 200, description = "it stands already", body = ScheduleView), (status = 403)))]
pub async fn create(
    Admin(caller): Admin,
    Json(body): Json<ScheduleBody>,
) -> Result<(StatusCode, Shown<ScheduleView>), Problem> {
    looked_after(&caller, KIND)?;
    caller.may_use(&body.creates.kind.parse()?)?;
    let before = caller.tenure.schedules().await?;
    let item = caller.tenure.schedule(body.schedule()?).await?;
    let stood = before.iter().any(|scheduled| scheduled.id == item.id);
    Ok((once::status(!stood), Shown(view(&caller.tenure, item.id).await?)))
}

/// List the schedules
#[utoipa::path(get, path = "/v1/schedules", tag = "schedules", extensions(("x-access" = json!("admin"))),
    responses((status = 200, body = Page<ScheduleView>), (status = 403)))]
pub async fn list(Admin(caller): Admin) -> Result<Shown<Page<ScheduleView>>, Problem> {
    may_use(&caller)?;
    let all = caller.tenure.schedules().await?;
    Ok(Shown(Page { items: all.iter().map(ScheduleView::from).collect(), next_cursor: None }))
}

/// Call a schedule off
///
/// What it has created stays; its name is free again.
#[utoipa::path(delete, path = "/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)),
    extensions(("x-access" = json!("admin"))), responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(Admin(caller): Admin, Name(name): Name) -> Result<StatusCode, Problem> {
    may_use(&caller)?;
    caller.tenure.remove_schedule(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a schedule
///
/// Times that pass until it is resumed are not made up for.
#[utoipa::path(post, path = "/v1/schedules/{name}/pause", tag = "schedules", params(("name" = String, Path)),
    extensions(("x-access" = json!("admin"))), responses((status = 200, body = ScheduleView), (status = 403), (status = 404)))]
pub async fn pause(Admin(caller): Admin, Name(name): Name) -> Result<Shown<ScheduleView>, Problem> {
    may_use(&caller)?;
    let item = caller.tenure.pause_schedule(&name).await?;
    view(&caller.tenure, item.id).await.map(Shown)
}

/// Resume a schedule
#[utoipa::path(post, path = "/v1/schedules/{name}/resume", tag = "schedules", params(("name" = String, Path)),
    extensions(("x-access" = json!("admin"))), responses((status = 200, body = ScheduleView), (status = 403), (status = 404)))]
pub async fn resume(Admin(caller): Admin, Name(name): Name) -> Result<Shown<ScheduleView>, Problem> {
    may_use(&caller)?;
    let item = caller.tenure.resume_schedule(&name).await?;
    view(&caller.tenure, item.id).await.map(Shown)
}
