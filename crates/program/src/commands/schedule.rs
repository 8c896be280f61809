//! `tenure schedule`: work that comes at its times.

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::item::new;
use crate::cli::{Schedule, ScheduleCreate, ScheduleList, ScheduleOne};
use crate::client::{Client, Reply, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// As the service shows it.
#[derive(Deserialize)]
struct Shown {
    name: String,
    state: String,
    times: String,
    zone: Option<String>,
    creates: String,
    next_at: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Shown>,
}

pub fn run(command: Schedule, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Schedule::Create(arguments) => create(&arguments, output),
        Schedule::List(arguments) => list(&arguments, output),
        Schedule::Pause(arguments) => advance(&arguments, "pause", output),
        Schedule::Resume(arguments) => advance(&arguments, "resume", output),
        Schedule::Remove(arguments) => remove(&arguments, output),
    }
}

fn schedules() -> Target {
    Target::new(["v1", "schedules"])
}

/// As the service takes it; the payload goes as it was written.
#[derive(Serialize)]
struct Order<'a> {
    name: &'a str,
    times: &'a str,
    zone: Option<&'a str>,
    catch_up: &'a str,
    catch_up_max: Option<u32>,
    from: Option<&'a str>,
    jitter_ms: u128,
    creates: Creates<'a>,
}

#[derive(Serialize)]
struct Creates<'a> {
    kind: &'a str,
    payload: &'a RawValue,
    key: Option<&'a str>,
    priority: Option<i8>,
    max_attempts: Option<u32>,
}

fn create(arguments: &ScheduleCreate, output: &mut Output) -> Result<Outcome, Error> {
    let payload = new::payload(arguments.payload.as_deref())?;
    let body = Order {
        name: &arguments.name,
        times: &arguments.times,
        zone: arguments.zone.as_deref(),
        catch_up: &arguments.catch_up,
        catch_up_max: arguments.catch_up_max,
        from: arguments.from.as_deref(),
        jitter_ms: arguments.jitter.map_or(0, |jitter| jitter.as_millis()),
        creates: Creates {
            kind: &arguments.kind,
            payload: &payload,
            key: arguments.key.as_deref(),
            priority: arguments.priority,
            max_attempts: arguments.max_attempts,
        },
    };
    let reply = block_on(async {
        let client = Client::at(&arguments.at, Access::MayCreate).await?;
        client.post(schedules(), &body).await
    })?;
    told(&reply, arguments.form.json, output)
}

fn list(arguments: &ScheduleList, output: &mut Output) -> Result<Outcome, Error> {
    let reply =
        block_on(async { Client::at(&arguments.at, Access::Existing).await?.get(schedules()).await })?;
    if arguments.form.json {
        output.line(reply.text)?;
        return Ok(Outcome::Done);
    }
    let page: Page = reply.read()?;
    match page.items.is_empty() {
        true => output.line("none")?,
        false => {
            output.table(["name", "state", "creates", "next", "times"], page.items.into_iter().map(row))?
        }
    }
    Ok(Outcome::Done)
}

fn row(schedule: Shown) -> [String; 5] {
    let times = match schedule.zone {
        Some(zone) => format!("{} ({zone})", schedule.times),
        None => schedule.times,
    };
    [schedule.name, schedule.state, schedule.creates, schedule.next_at.unwrap_or_default(), times]
}

fn advance(arguments: &ScheduleOne, event: &str, output: &mut Output) -> Result<Outcome, Error> {
    let ScheduleOne { name, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.post(Target::new(["v1", "schedules", name, event]), &json!({})).await
    })?;
    told(&reply, form.json, output)
}

fn remove(arguments: &ScheduleOne, output: &mut Output) -> Result<Outcome, Error> {
    let ScheduleOne { name, at, form } = arguments;
    block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.delete(Target::new(["v1", "schedules", name]), &json!({})).await
    })?;
    match form.json {
        true => output.json(&json!({ "name": name, "removed": true }))?,
        false => output.line(format!("{name} is removed; what it has created stays"))?,
    }
    Ok(Outcome::Done)
}

fn told(reply: &Reply, json: bool, output: &mut Output) -> Result<Outcome, Error> {
    if json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let Shown { name, state, creates, next_at, .. } = reply.read()?;
    match next_at {
        Some(next) => output.line(format!("{name} {state}: the next {creates} comes at {next}"))?,
        None => output.line(format!("{name} {state}: no {creates} comes before it is resumed"))?,
    }
    Ok(Outcome::Done)
}
