//! Cancelling and redriving many: page after page, an outcome each.

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tenure::BULK_MAX;

use super::Of;
use crate::cli::ItemBulk;
use crate::client::Client;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, grouped};

/// As the service has it; what was done in several pages is shown as one.
#[derive(Serialize, Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

/// What became of one.
#[derive(Deserialize)]
struct Became {
    id: String,
    status: u16,
    /// A dry run: what it would take.
    event: Option<String>,
    item: Option<Item>,
    problem: Option<Problem>,
}

#[derive(Deserialize)]
struct Item {
    id: String,
    state: String,
}

#[derive(Deserialize)]
struct Problem {
    code: String,
    #[serde(default)]
    detail: String,
}

/// A new item was made.
const CREATED: u16 = 201;

pub fn run(arguments: &ItemBulk, output: &mut Output) -> Result<Outcome, Error> {
    let page = block_on(all(arguments))?;
    let read = page.items.iter().map(|raw| serde_json::from_str(raw.get()));
    let became: Result<Vec<Became>, serde_json::Error> = read.collect();
    let became = became.map_err(|why| Error::Strange(format!("an answer that does not fit: {why}")))?;
    let refused = became.iter().filter(|one| one.problem.is_some()).count();
    if arguments.form.json {
        output.json(&page)?;
    } else if became.is_empty() {
        output.line("none")?;
    } else {
        let (moved, sums) = (became.len() - refused, arguments.dry_run);
        output.table(["id", "becomes", "reason"], became.into_iter().map(row))?;
        let what = if sums { "would" } else { "did" };
        output.line(format!(
            "{} {what} {}, {} stay as they are",
            grouped(moved as u64),
            arguments.event,
            grouped(refused as u64)
        ))?;
        if page.next_cursor.is_some() {
            output.line("there are more; without --limit all of them follow")?;
        }
    }
    Ok(if refused > 0 { Outcome::Refused } else { Outcome::Done })
}

/// Each page begins behind the one before, so that none is met twice, whatever became of it.
async fn all(arguments: &ItemBulk) -> Result<Page, Error> {
    let ItemBulk { event, kind, state, phase, key, reason, limit, dry_run, at, .. } = arguments;
    let client = Client::at(at, Access::Existing).await?;
    let most = limit.unwrap_or(u64::MAX);
    let mut found = Page { items: Vec::new(), next_cursor: None };
    loop {
        let body = json!({
            "filter": { "kind": kind, "state": state, "phase": phase, "key": key },
            "reason": reason,
            "dry_run": dry_run,
            "limit": (most - found.items.len() as u64).min(BULK_MAX as u64),
            "cursor": found.next_cursor.take(),
        });
        let page: Page = client.post(Of::Items.event("bulk", event), &body).await?.read()?;
        found.items.extend(page.items);
        found.next_cursor = page.next_cursor;
        if found.next_cursor.is_none() || found.items.len() as u64 >= most {
            return Ok(found);
        }
    }
}

fn row(one: Became) -> [String; 3] {
    let reason = one.problem.map(|problem| format!("{}: {}", problem.code, problem.detail));
    let becomes = match (one.event, one.item) {
        (Some(event), _) => format!("would {event}"),
        (None, Some(item)) if one.status == CREATED => format!("{} as {}", item.state, item.id),
        (None, Some(item)) => item.state,
        (None, None) => String::new(),
    };
    [one.id, becomes, reason.unwrap_or_default()]
}
