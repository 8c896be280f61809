//! `tenure inbox`: what waits for a person, and their word on it.
//!
//! Where no place is named there may be two: the database of this folder, and the list of tasks of this repository. Both are looked
//! at; an answer goes to the one that has the item.

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tenure_systems::todos::Settings;

use super::asker::asker;
use super::todo::desk::decided;
use crate::cli::{Inbox, InboxAt, InboxOf, InboxSaid};
use crate::client::{Client, Loops, Target};
use crate::commands::item::shown::to_the_second;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::places;

#[derive(Debug, Deserialize)]
struct Waiting {
    id: String,
    kind: String,
    state: String,
    title: String,
    question: String,
    since: String,
}

/// As the service has it; what was found in several places is shown as one.
#[derive(Serialize, Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

pub fn run(arguments: &Inbox, output: &mut Output) -> Result<Outcome, Error> {
    match &arguments.of {
        None => list(arguments, output),
        Some(InboxOf::Approve(said)) => say(said, "approve", output),
        Some(InboxOf::Reject(said)) => say(said, "reject", output),
    }
}

/// A client for each of the [`places`]. In a task list, claims that have lapsed are ended before an answer.
async fn desks(at: &InboxAt, loops: Loops) -> Result<Vec<Client>, Error> {
    let InboxAt { there, agent, session: _ } = at;
    // A session goes with the word itself: the service knows whose it is.
    let who = asker(agent.as_deref(), None);
    let mut desks = Vec::new();
    for place in places::of(&there.reach, there.store.as_ref(), Access::Existing)? {
        let is_list = place.reach.is_named && !there.reach.is_named;
        let loops = if is_list { loops } else { Loops::LeftToOthers };
        let client = Client::with(&place.reach, place.store, Access::Existing, loops, Settings::default());
        let client = client.await.map_err(|error| if is_list { error.of_tasks() } else { error })?;
        desks.push(client.acting(&who));
    }
    Ok(desks)
}

fn list(arguments: &Inbox, output: &mut Output) -> Result<Outcome, Error> {
    let page = block_on(async {
        let mut found = Page { items: Vec::new(), next_cursor: None };
        for client in desks(&arguments.at, Loops::LeftToOthers).await? {
            fetch(&client, arguments.limit, &mut found).await?;
        }
        Ok(found)
    })?;
    if arguments.form.json {
        output.json(&page)?;
        return Ok(Outcome::Done);
    }
    if page.items.is_empty() {
        output.line("nothing waits for a person")?;
        return Ok(Outcome::Done);
    }
    let read = page.items.iter().map(|raw| serde_json::from_str::<Waiting>(raw.get()));
    let items: Result<Vec<Waiting>, serde_json::Error> = read.collect();
    let items = items.map_err(|why| Error::Strange(format!("an answer that does not fit: {why}")))?;
    let row = |waiting: &Waiting| {
        let Waiting { id, kind, state, title, question, since } = waiting;
        [id.clone(), kind.clone(), state.clone(), to_the_second(since), title.clone(), question.clone()]
    };
    output.table(["id", "kind", "state", "since", "title", "question"], items.iter().map(row))?;
    if page.next_cursor.is_some() {
        output.line("there are more; --limit NUMBER shows them")?;
    }
    output.line("answer with `tenure inbox approve ID` or `tenure inbox reject ID --note WHY`")?;
    Ok(Outcome::Done)
}

/// As many as are wanted: a page may be short and have others behind it.
async fn fetch(client: &Client, most: u64, found: &mut Page) -> Result<(), Error> {
    let mut cursor: Option<String> = None;
    loop {
        let left = most.saturating_sub(found.items.len() as u64);
        // One more than can be shown says that there are more.
        let target =
            Target::new(["v1", "inbox"]).with("limit", Some(left.max(1))).with("cursor", cursor.as_ref());
        let page: Page = client.get(target).await?.read()?;
        match (left, page.items.is_empty()) {
            (0, false) => found.next_cursor = Some("more".to_string()),
            (0, true) => {}
            (_, _) => found.items.extend(page.items),
        }
        cursor = page.next_cursor;
        if cursor.is_none() || found.next_cursor.is_some() {
            return Ok(());
        }
    }
}

/// Whoever works in a session says so wherever the item is: an agent's word is never taken for a person's. Where the session is not
/// known, it is refused.
fn say(said: &InboxSaid, word: &str, output: &mut Output) -> Result<Outcome, Error> {
    let InboxSaid { id, note, gate, at, form } = said;
    decided(id)?;
    let reply = block_on(async {
        let mut desks = desks(at, Loops::Once).await?.into_iter().peekable();
        let body = json!({ "note": note, "gate": gate, "session": at.session });
        while let Some(client) = desks.next() {
            let answered = client.post(Target::new(["v1", "inbox", id, word]), &body).await;
            match answered {
                Err(Error::Refused(no)) if no.code == "NOT_FOUND" && desks.peek().is_some() => {}
                answered => return answered,
            }
        }
        Err(Error::NoRepository)
    })?;
    match form.json {
        true => output.line(&reply.text)?,
        false => {
            let waiting: Waiting = reply.read()?;
            output.line(format!("{} {} {}", waiting.id, waiting.state, waiting.title))?;
        }
    }
    Ok(Outcome::Done)
}
