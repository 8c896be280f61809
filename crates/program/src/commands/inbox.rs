//! `tenure inbox`: what waits for a person, and their word on it.

use serde::Deserialize;
use serde_json::json;

use super::ticket::person;
use crate::cli::{At, Inbox, InboxOf, InboxSaid};
use crate::client::{Client, Target};
use crate::commands::item::shown::to_the_second;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

#[derive(Debug, Deserialize)]
struct Waiting {
    id: String,
    state: String,
    title: String,
    question: String,
    since: String,
}

#[derive(Debug, Deserialize)]
struct Page {
    items: Vec<Waiting>,
    next_cursor: Option<String>,
}

pub fn run(arguments: &Inbox, output: &mut Output) -> Result<Outcome, Error> {
    match &arguments.of {
        None => list(arguments, output),
        Some(InboxOf::Approve(said)) => say(said, "approve", output),
        Some(InboxOf::Reject(said)) => say(said, "reject", output),
    }
}

async fn client(at: &At) -> Result<Client, Error> {
    Ok(Client::at(at, Access::Existing).await?.acting(person()))
}

fn list(arguments: &Inbox, output: &mut Output) -> Result<Outcome, Error> {
    let target = Target::new(["v1", "inbox"]).with("limit", Some(arguments.limit));
    let reply = block_on(async { client(&arguments.at).await?.get(target).await })?;
    if arguments.form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let page: Page = reply.read()?;
    if page.items.is_empty() {
        output.line("nothing waits for a person")?;
        return Ok(Outcome::Done);
    }
    let row = |waiting: &Waiting| {
        let Waiting { id, state, title, question, since } = waiting;
        [id.clone(), state.clone(), to_the_second(since), title.clone(), question.clone()]
    };
    output.table(["id", "state", "since", "ticket", "question"], page.items.iter().map(row))?;
    if page.next_cursor.is_some() {
        output.line("there are more; --limit NUMBER shows them")?;
    }
    output.line("answer with `tenure inbox approve ID` or `tenure inbox reject ID --note WHY`")?;
    Ok(Outcome::Done)
}

fn say(said: &InboxSaid, word: &str, output: &mut Output) -> Result<Outcome, Error> {
    let InboxSaid { id, note, at, form } = said;
    let target = Target::new(["v1", "inbox", id, word]);
    let body = json!({ "note": note });
    let reply = block_on(async { client(at).await?.post(target, &body).await })?;
    match form.json {
        true => output.line(&reply.text)?,
        false => {
            let waiting: Waiting = reply.read()?;
            output.line(format!("{} {} {}", waiting.id, waiting.state, waiting.title))?;
        }
    }
    Ok(Outcome::Done)
}
