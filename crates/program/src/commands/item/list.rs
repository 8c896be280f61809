//! Listing: page after page, as far as was asked for.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure_server::PAGE_MAX;

use super::shown::{Shown, row};
use crate::cli::{At, Which};
use crate::client::{Client, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// As the service has it; what was fetched in several pages is shown as one.
#[derive(Default, Serialize, Deserialize)]
pub struct Page {
    items: Vec<Box<RawValue>>,
    pub next_cursor: Option<String>,
}

impl Page {
    /// What was fetched next.
    pub fn add(&mut self, page: Page) {
        self.items.extend(page.items);
        self.next_cursor = page.next_cursor;
    }

    pub fn read<T: DeserializeOwned>(&self) -> Result<Vec<T>, Error> {
        let read = self.items.iter().map(|raw| serde_json::from_str(raw.get()));
        let items: Result<Vec<T>, serde_json::Error> = read.collect();
        items.map_err(|why| Error::Strange(format!("an answer that does not fit: {why}")))
    }
}

/// A no where there is no such kind. Who may not ask is not told.
pub async fn is_kind(client: &Client, kind: &str) -> Result<(), Error> {
    match client.get(Target::new(["v1", "lifecycles", kind])).await {
        Err(Error::Refused(refused)) if refused.code != "NOT_FOUND" => Ok(()),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

pub fn run(
    target: &Target,
    kind: Option<&str>,
    which: &Which,
    at: &At,
    json: bool,
    output: &mut Output,
) -> Result<Outcome, Error> {
    let page = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        fetch(&client, target, which).await
    })?;
    if json {
        output.json(&page)?;
        return Ok(Outcome::Done);
    }
    if page.items.is_empty() {
        // Nothing of a kind that there is is an answer; a slip in its name is none.
        if let Some(kind) = kind {
            block_on(async { is_kind(&Client::at(at, Access::Existing).await?, kind).await })?;
        }
        output.line("none")?;
        return Ok(Outcome::Done);
    }
    let items: Vec<Shown> = page.read()?;
    output.table(["id", "kind", "state", "attempt", "key", "updated", "reason"], items.iter().map(row))?;
    if page.next_cursor.is_some() {
        output.line("there are more; --limit NUMBER or --all shows them")?;
    }
    Ok(Outcome::Done)
}

pub async fn fetch(client: &Client, target: &Target, which: &Which) -> Result<Page, Error> {
    let most = if which.all { u64::MAX } else { which.limit };
    let target = target.clone().with("state", which.state.as_ref()).with("phase", which.phase.as_ref());
    let target = target.with("key", which.key.as_ref()).with("order", which.newest.then_some("newest"));
    let mut found = Page::default();
    loop {
        let limit = (most - found.items.len() as u64).min(PAGE_MAX as u64);
        let asked = target.clone().with("limit", Some(limit)).with("cursor", found.next_cursor.take());
        let page: Page = client.get(asked).await?.read()?;
        found.add(page);
        if found.next_cursor.is_none() || found.items.len() as u64 >= most {
            return Ok(found);
        }
    }
}
