//! `tenure log`: the log, or the history of one item, as a table or as the lines themselves.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tenure_server::PAGE_MAX;

use crate::cli::{At, Log};
use crate::client::{Client, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::time::pause;

/// How soon a server that is away is asked again.
const AGAIN: Duration = Duration::from_secs(1);

pub fn run(arguments: &Log, output: &mut Output) -> Result<Outcome, Error> {
    let Log { at, item, after, limit, follow, form } = arguments;
    match (item, follow) {
        (Some(item), _) => {
            let target = Target::new(["v1", "items", &item.to_string(), "log"]);
            page(&target, at, (*after, *limit), form.json, output)
        }
        (None, false) => page(&log(), at, (*after, *limit), form.json, output),
        (None, true) => self::follow(arguments, output),
    }
}

fn log() -> Target {
    Target::new(["v1", "log"])
}

/// As the service has it.
#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

/// The fields of an entry that a table has room for.
#[derive(Deserialize)]
struct Shown {
    position: Option<u64>,
    occurred_at: String,
    item: String,
    version: u64,
    action: String,
    /// The domain's own name for the action.
    #[serde(rename = "as")]
    alias: Option<String>,
    state: String,
    actor: String,
}

const HEADINGS: [&str; 7] = ["#", "time", "item", "version", "event", "state", "actor"];

fn row(text: &str) -> Result<[String; 7], Error> {
    let entry: Shown = serde_json::from_str(text)
        .map_err(|why| Error::Strange(format!("an entry that does not fit: {why}")))?;
    Ok([
        entry.position.map_or(String::new(), |position| position.to_string()),
        entry.occurred_at,
        entry.item,
        entry.version.to_string(),
        entry.alias.unwrap_or(entry.action),
        entry.state,
        entry.actor,
    ])
}

/// Entries after a position, at most so many, page after page.
pub fn page(
    target: &Target,
    at: &At,
    (after, limit): (u64, usize),
    json: bool,
    output: &mut Output,
) -> Result<Outcome, Error> {
    let entries = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        let mut entries = Vec::new();
        let mut after = after.to_string();
        while entries.len() < limit {
            let most = (limit - entries.len()).min(PAGE_MAX);
            let asked = target.clone().with("after", Some(&after)).with("limit", Some(most));
            let page: Page = client.get(asked).await?.read()?;
            entries.extend(page.items);
            match page.next_cursor {
                Some(next) => after = next,
                None => break,
            }
        }
        Ok(entries)
    })?;
    if json {
        entries.iter().try_for_each(|entry| output.line(entry.get()))?;
    } else if entries.is_empty() {
        output.line("no entries")?;
    } else {
        let rows = entries.iter().map(|entry| row(entry.get())).collect::<Result<Vec<_>, _>>()?;
        output.table(HEADINGS, rows)?;
    }
    Ok(Outcome::Done)
}

/// Goes on until its reader has gone, or it is interrupted. A server that goes away is waited for: it is asked for what came after
/// the last entry that was shown. Only one that was never there is an error.
fn follow(arguments: &Log, output: &mut Output) -> Result<Outcome, Error> {
    let mut follower = Follower { after: arguments.after, was_there: false };
    block_on(async {
        loop {
            match follower.listen(arguments, output).await {
                Ok(()) if output.is_closed() => return Ok(Outcome::Done),
                Ok(()) => {}
                Err(error) if follower.was_there && error.may_pass() => {
                    output.remark(format_args!("{error}; asking again"));
                }
                Err(error) => return Err(error),
            }
            pause(AGAIN).await;
        }
    })
}

struct Follower {
    after: u64,
    was_there: bool,
}

impl Follower {
    /// Until the stream is cut. The place is looked at anew each time: a server may come back elsewhere, or not at all.
    async fn listen(&mut self, arguments: &Log, output: &mut Output) -> Result<(), Error> {
        let client = Client::at(&arguments.at, Access::Existing).await?;
        let mut events = client.stream(Target::new(["v1", "log", "stream"]), self.after).await?;
        self.was_there = true;
        while let Some(event) = events.next().await {
            self.after = event.position;
            let Some(entry) = event.data else { continue };
            match arguments.form.json {
                true => output.line(entry)?,
                false => output.line(row(&entry)?.join("  "))?,
            }
            if output.is_closed() {
                return Ok(());
            }
        }
        Ok(())
    }
}
