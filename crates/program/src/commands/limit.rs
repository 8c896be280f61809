//! `tenure limit`: what holds kinds back.

use serde::Deserialize;
use serde_json::json;

use crate::cli::{Limit, LimitList, LimitReset, LimitSet};
use crate::client::{Client, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, seconds};

/// As the service shows it.
#[derive(Deserialize)]
struct Shown {
    kind: String,
    active: u32,
    concurrency: Option<u32>,
    rate: Option<Rate>,
    paused: Option<Said>,
    limited: Option<Said>,
    breaker_open_until: Option<String>,
}

#[derive(Deserialize)]
struct Rate {
    count: u32,
    per_ms: u64,
}

#[derive(Deserialize)]
struct Said {
    by: String,
    reason: String,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Shown>,
}

pub fn run(command: Limit, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Limit::List(arguments) => list(&arguments, output),
        Limit::Set(arguments) => set(&arguments, output),
        Limit::Reset(arguments) => reset(&arguments, output),
    }
}

fn limits() -> Target {
    Target::new(["v1", "limits"])
}

const HEADINGS: [&str; 5] = ["kind", "active", "at once", "rate", "held back by"];

fn list(arguments: &LimitList, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async { Client::at(&arguments.at, Access::Existing).await?.get(limits()).await })?;
    if arguments.form.json {
        output.line(reply.text)?;
        return Ok(Outcome::Done);
    }
    let page: Page = reply.read()?;
    match page.items.is_empty() {
        true => output.line("none")?,
        false => output.table(HEADINGS, page.items.into_iter().map(row))?,
    }
    Ok(Outcome::Done)
}

fn set(arguments: &LimitSet, output: &mut Output) -> Result<Outcome, Error> {
    let LimitSet { kind, concurrency, rate, reason, at, form } = arguments;
    let rate = rate.map(|pace| json!({ "count": pace.count, "per_ms": pace.per.as_millis() as u64 }));
    let body = json!({ "kind": kind, "concurrency": concurrency, "rate": rate, "reason": reason });
    let reply = block_on(async { Client::at(at, Access::Existing).await?.post(limits(), &body).await })?;
    match form.json {
        true => output.line(reply.text)?,
        false => output.table(HEADINGS, [row(reply.read()?)])?,
    }
    Ok(Outcome::Done)
}

fn reset(arguments: &LimitReset, output: &mut Output) -> Result<Outcome, Error> {
    let LimitReset { kind, at, form } = arguments;
    block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.delete(Target::new(["v1", "limits", kind]), &json!({})).await
    })?;
    match form.json {
        true => output.json(&json!({ "kind": kind, "reset": true }))?,
        false => output.line(format!("{kind} has its lifecycle's own limits"))?,
    }
    Ok(Outcome::Done)
}

fn row(limit: Shown) -> [String; 5] {
    let said = |what: &str, said: Said| format!("{what} by {}: {}", said.by, said.reason);
    let held = [
        limit.paused.map(|pause| said("paused", pause)),
        limit.breaker_open_until.map(|until| format!("its breaker, until {until}")),
        limit.limited.map(|limited| said("limited", limited)),
    ];
    let rate = limit
        .rate
        .map(|rate| format!("{} in {}", rate.count, seconds(std::time::Duration::from_millis(rate.per_ms))));
    [
        limit.kind,
        limit.active.to_string(),
        limit.concurrency.map_or_else(|| "any".to_string(), |most| most.to_string()),
        rate.unwrap_or_else(|| "any".to_string()),
        held.into_iter().flatten().collect::<Vec<_>>().join("; "),
    ]
}
