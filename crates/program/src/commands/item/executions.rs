//! Every attempt at an item: who made it, and how it ended.

use serde::Deserialize;

use super::Of;
use super::shown::to_the_second;
use crate::cli::ItemOne;
use crate::client::Client;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, joined};

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
    /// The last that its worker said, as far as it was kept.
    #[serde(default)]
    lines: Vec<String>,
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
            output.table(headings, page.items.iter().map(row))?;
            for one in page.items.iter().filter(|one| !one.lines.is_empty()) {
                output.line(format_args!("\nattempt {} said last:", one.attempt))?;
                one.lines.iter().try_for_each(|line| output.line(format_args!("  {line}")))?;
            }
        }
    }
    Ok(Outcome::Done)
}

fn row(one: &Shown) -> [String; 7] {
    let time = |time: &Option<String>| time.as_deref().map_or(String::new(), to_the_second);
    [
        one.attempt.to_string(),
        one.status.clone(),
        one.lease_owner.clone(),
        time(&one.started_at),
        time(&one.finished_at),
        one.ended_by.clone().unwrap_or_default(),
        one.reason.as_deref().map(joined).unwrap_or_default(),
    ]
}
