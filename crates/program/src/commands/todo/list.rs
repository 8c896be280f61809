//! `tenure todo list` and `show`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure_server::PAGE_MAX;

use super::desk::{Desk, todos};
use super::shown::{Shown, table, whole};
use crate::cli::{TodoList, TodoOne};
use crate::client::{Reply, Target};
use crate::database::run as block_on;
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// As the service has it; what was fetched in several pages is shown as one.
#[derive(Serialize, Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

pub fn run(arguments: &TodoList, output: &mut Output) -> Result<Outcome, Error> {
    // What is worked on comes first; what is over is asked for.
    let states: Vec<Option<&str>> = match (&arguments.state, arguments.all) {
        (Some(state), _) => vec![Some(state)],
        (None, true) => vec![None],
        (None, false) => vec![Some("Claimed"), Some("Draft")],
    };
    let (page, tree) = block_on(async {
        let desk = Desk::look(&arguments.at).await?;
        desk.attend().await?;
        let mut found = Page { items: Vec::new(), next_cursor: None };
        for state in states {
            fetch(&desk, state, arguments.limit, &mut found).await?;
        }
        Ok((found, tree(&desk)))
    })?;
    if arguments.form.json {
        output.json(&page)?;
        return Ok(Outcome::Done);
    }
    if page.items.is_empty() {
        output.line("none")?;
        return Ok(Outcome::Done);
    }
    let read = page.items.iter().map(|raw| serde_json::from_str::<Shown>(raw.get()));
    let items: Result<Vec<Shown>, serde_json::Error> = read.collect();
    let items = items.map_err(|why| Error::Strange(format!("an answer that does not fit: {why}")))?;
    let tree = if items.iter().any(|todo| todo.proved_tree.is_some()) { tree() } else { None };
    let items: Vec<Shown> = items.into_iter().map(|todo| todo.on(tree.as_deref())).collect();
    table(&items, output)?;
    if page.next_cursor.is_some() {
        output.line("there are more; --limit NUMBER shows them")?;
    }
    Ok(Outcome::Done)
}

/// The tree of the working copy, computed when it is asked for: it starts processes.
fn tree(desk: &Desk) -> impl Fn() -> Option<String> + use<> {
    let workspace = desk.workspace.clone();
    // Where there is none, nothing is said of it.
    move || workspace.as_ref().and_then(|workspace| workspace.tree().ok())
}

async fn fetch(desk: &Desk, state: Option<&str>, most: u64, found: &mut Page) -> Result<(), Error> {
    let mut cursor: Option<String> = None;
    loop {
        let left = most.saturating_sub(found.items.len() as u64).min(PAGE_MAX as u64);
        if left == 0 {
            // One more than can be shown says that there are more.
            let page: Page = desk.client.get(asked(state, 1, cursor)).await?.read()?;
            found.next_cursor = page.items.first().and(Some("more".to_string())).or(found.next_cursor.take());
            return Ok(());
        }
        let page: Page = desk.client.get(asked(state, left, cursor)).await?.read()?;
        found.items.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

fn asked(state: Option<&str>, limit: u64, cursor: Option<String>) -> Target {
    todos().with("state", state).with("limit", Some(limit)).with("cursor", cursor)
}

pub async fn one(desk: &Desk, id: &str) -> Result<Reply, Error> {
    desk.client.get(Target::new(["v1", "todos", id])).await
}

pub fn show(arguments: &TodoOne, output: &mut Output) -> Result<Outcome, Error> {
    let TodoOne { id, at, form } = arguments;
    let (reply, titles, tree) = block_on(async {
        let desk = Desk::look(at).await?;
        desk.attend().await?;
        let reply = one(&desk, id).await?;
        let todo: Shown = reply.read()?;
        let mut titles = BTreeMap::new();
        for other in todo.depends.iter().chain(&todo.parent) {
            let other: Shown = one(&desk, other).await?.read()?;
            titles.insert(other.todo_id.clone(), format!("({}, {})", other.title, other.state));
        }
        Ok((reply, titles, tree(&desk)))
    })?;
    if form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let todo: Shown = reply.read()?;
    let tree = todo.proved_tree.as_ref().and_then(|_| tree());
    whole(&todo.on(tree.as_deref()), &titles, output)?;
    Ok(Outcome::Done)
}
