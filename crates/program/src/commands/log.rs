//! `tenure log`: the log of a database, or the history of one item, as a table or as the lines themselves.

use std::time::Duration;

use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::word::Store;
use tenure_databases::Database;
use tenure_databases::export::line;

use crate::cli::Log;
use crate::database::{self, Access, Work};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::time::pause;

/// How soon somebody who follows sees what is new.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);
/// What is read at once of a log that is followed.
const FOLLOW_PAGE: usize = 1_000;

pub fn run(arguments: &Log, output: &mut Output) -> Result<Outcome, Error> {
    if arguments.follow {
        return database::with(&arguments.db.url, Access::Existing, Follow { arguments, output });
    }
    let entries = database::with(&arguments.db.url, Access::Existing, Page { arguments })?;
    if arguments.form.json {
        for (position, entry) in &entries {
            output.line(text(*position, entry))?;
        }
    } else if entries.is_empty() {
        output.line("no entries")?;
    } else {
        output.table(["#", "time", "item", "version", "event", "state", "actor"], entries.iter().map(row))?;
    }
    Ok(Outcome::Done)
}

fn text(position: Option<u64>, entry: &Sealed) -> String {
    let text = match position {
        Some(position) => line::entry(position, entry),
        None => entry.text().to_vec(),
    };
    String::from_utf8_lossy(&text).into_owned()
}

fn row((position, entry): &(Option<u64>, Sealed)) -> [String; 7] {
    [
        position.map_or(String::new(), |position| position.to_string()),
        entry.at.to_string(),
        entry.item.to_string(),
        entry.version.to_string(),
        entry.shown().to_string(),
        entry.state.to_string(),
        entry.actor.to_string(),
    ]
}

/// Goes on until its reader has gone, or it is interrupted.
struct Follow<'a> {
    arguments: &'a Log,
    output: &'a mut Output,
}

impl Work for Follow<'_> {
    type Done = Outcome;

    async fn run<D: Database>(self, database: &D) -> Result<Outcome, Error> {
        let Follow { arguments, output } = self;
        let mut after = arguments.after;
        while !output.is_closed() {
            // The order of the log is made by whoever serves the database. Where nobody does, it is made here.
            database.sequence(FOLLOW_PAGE).await?;
            let page = database.log(after, FOLLOW_PAGE).await?;
            if page.is_empty() {
                pause(FOLLOW_EVERY).await;
            }
            for (position, entry) in page {
                after = position;
                match arguments.form.json {
                    true => output.line(text(Some(position), &entry))?,
                    false => output.line(row(&(Some(position), entry)).join("  "))?,
                }
            }
        }
        Ok(Outcome::Done)
    }
}

struct Page<'a> {
    arguments: &'a Log,
}

impl Work for Page<'_> {
    /// An item's history has versions and no positions.
    type Done = Vec<(Option<u64>, Sealed)>;

    async fn run<D: Database>(self, database: &D) -> Result<Self::Done, Error> {
        let Log { item, store, after, limit, .. } = self.arguments;
        match item {
            Some(item) => history(database, store, *item, *after, *limit).await,
            None => log(database, *after, *limit).await,
        }
    }
}

async fn history<D: Database>(
    database: &D,
    store: &Store,
    item: ItemId,
    after: u64,
    limit: usize,
) -> Result<Vec<(Option<u64>, Sealed)>, Error> {
    let history = database.history(store, item).await?;
    if history.is_empty() {
        return Err(Error::NoItem { item, store: store.clone() });
    }
    Ok(history
        .into_iter()
        .filter(|entry| entry.version > after)
        .take(limit)
        .map(|entry| (None, entry))
        .collect())
}

async fn log<D: Database>(
    database: &D,
    after: u64,
    limit: usize,
) -> Result<Vec<(Option<u64>, Sealed)>, Error> {
    let mut entries: Vec<(Option<u64>, Sealed)> = Vec::new();
    let mut after = after;
    while entries.len() < limit {
        let page = database.log(after, limit - entries.len()).await?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        entries.extend(page.into_iter().map(|(position, entry)| (Some(position), entry)));
    }
    Ok(entries)
}
