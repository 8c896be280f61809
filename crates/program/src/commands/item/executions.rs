//! Every attempt at an item: who made it, and how it ended.

use serde::Deserialize;

use super::Of;
use super::shown::to_the_second;
use crate::cli::ItemOne;
use crate::client::Client;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// As the service has them.
#[derive(Deserialize)]
struct Page {
    items: Vec<Shown>,
}

#[derive(Deserialize)]
struct Shown {
    attempt: u64,
    status: String,
    lease_owner: String,
    started_at: Option<String>,
    finished_at: Option<String>,
    ended_by: Option<String>,
    reason: Option<String>,
}

pub fn run(of: Of, arguments: &ItemOne, output: &mut Output) -> Result<Outcome, Error> {
    let ItemOne { id, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.get(of.event(id, "executions")).await
    })?;
    if form.json {
        output.line(reply.text)?;
        return Ok(Outcome::Done);
    }
    let page: Page = reply.read()?;
    match page.items.is_empty() {
        true => output.line("none yet")?,
        false => {
            let headings = ["attempt", "status", "owner", "started", "ended", "by", "reason"];
            output.table(headings, page.items.into_iter().map(row))?;
        }
    }
    Ok(Outcome::Done)
}

fn row(one: Shown) -> [String; 7] {
    let time = |time: Option<String>| time.as_deref().map_or(String::new(), to_the_second);
    [
        one.attempt.to_string(),
        one.status,
        one.lease_owner,
        time(one.started_at),
        time(one.finished_at),
        one.ended_by.unwrap_or_default(),
        one.reason.unwrap_or_default(),
    ]
}
