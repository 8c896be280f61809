//! `tenure log`: the log, or the history of one item, as a table or as the lines themselves.

mod follow;
mod shown;

use serde::Deserialize;
use serde_json::value::RawValue;
use tenure_server::PAGE_MAX;

use crate::cli::{At, Log};
use crate::client::{Client, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use shown::{HEADINGS, HISTORY, Kinds, Shown};

/// A screen of them.
const LAST: usize = 50;

pub fn run(arguments: &Log, output: &mut Output) -> Result<Outcome, Error> {
    let Log { at, item, form, .. } = arguments;
    match item {
        Some(item) => history(item, at, Which::of(arguments), form.json, output),
        None if arguments.follow => follow::run(arguments, output),
        None => everything(at, Which::of(arguments), form.json, output),
    }
}

fn log() -> Target {
    Target::new(["v1", "log"])
}

/// Which entries are shown, oldest first.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    Last(usize),
    /// From behind a position, or behind a version of an item.
    After {
        position: u64,
        most: usize,
    },
}

impl Which {
    fn of(arguments: &Log) -> Which {
        let most = arguments.limit.unwrap_or(usize::MAX);
        match (arguments.after, arguments.all) {
            (Some(position), _) => Which::After { position, most },
            (None, true) => Which::After { position: 0, most },
            (None, false) => Which::Last(arguments.last.or(arguments.limit).unwrap_or(LAST).min(most)),
        }
    }
}

/// As the service has it.
#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

type Entries = Vec<Box<RawValue>>;

/// Entries after a position, at most so many, page after page.
async fn after(client: &Client, target: &Target, position: u64, most: usize) -> Result<Entries, Error> {
    let mut entries = Vec::new();
    let mut after = position.to_string();
    while entries.len() < most {
        let limit = (most - entries.len()).min(PAGE_MAX);
        let asked = target.clone().with("after", Some(&after)).with("limit", Some(limit));
        let page: Page = client.get(asked).await?.read()?;
        entries.extend(page.items);
        match page.next_cursor {
            Some(next) => after = next,
            None => break,
        }
    }
    Ok(entries)
}

/// The position of the newest entry.
async fn head(client: &Client) -> Result<u64, Error> {
    #[derive(Deserialize)]
    struct Stats {
        log_position: u64,
    }
    let stats: Stats = client.get(Target::new(["v1", "stats"])).await?.read()?;
    Ok(stats.log_position)
}

/// The last so many that the caller sees. Others may stand between them, so it begins further back until there are enough.
async fn last(client: &Client, most: usize) -> Result<Entries, Error> {
    let head = head(client).await?;
    let mut span = most as u64;
    loop {
        let from = head.saturating_sub(span);
        let mut entries = after(client, &log(), from, usize::MAX).await?;
        if entries.len() >= most || from == 0 {
            entries.drain(..entries.len().saturating_sub(most));
            return Ok(entries);
        }
        span = span.saturating_mul(8);
    }
}

fn everything(at: &At, which: Which, json: bool, output: &mut Output) -> Result<Outcome, Error> {
    let (entries, kinds) = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        let entries = match which {
            Which::Last(most) => last(&client, most).await?,
            Which::After { position, most } => after(&client, &log(), position, most).await?,
        };
        let mut kinds = Kinds::default();
        if !json {
            kinds.learn(&client, &read(&entries)?).await?;
        }
        Ok((entries, kinds))
    })?;
    if json {
        entries.iter().try_for_each(|entry| output.line(entry.get()))?;
    } else if entries.is_empty() {
        output.line("no entries")?;
    } else {
        output.table(HEADINGS, read(&entries)?.into_iter().map(|entry| entry.row(&kinds)))?;
    }
    Ok(Outcome::Done)
}

/// What happened to one item.
pub fn history(item: &str, at: &At, which: Which, json: bool, output: &mut Output) -> Result<Outcome, Error> {
    let target = Target::new(["v1", "items", item, "log"]);
    let entries = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        match which {
            Which::Last(most) => {
                let mut entries = after(&client, &target, 0, usize::MAX).await?;
                entries.drain(..entries.len().saturating_sub(most));
                Ok(entries)
            }
            Which::After { position, most } => after(&client, &target, position, most).await,
        }
    })?;
    if json {
        entries.iter().try_for_each(|entry| output.line(entry.get()))?;
    } else if entries.is_empty() {
        output.line("no entries")?;
    } else {
        output.table(HISTORY, read(&entries)?.into_iter().map(Shown::of_one))?;
    }
    Ok(Outcome::Done)
}

fn read(entries: &Entries) -> Result<Vec<Shown>, Error> {
    entries.iter().map(|entry| Shown::read(entry.get())).collect()
}
