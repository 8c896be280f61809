//! `tenure todo list` and `show`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure_server::PAGE_MAX;
use tenure_systems::gate::Gate;
use tenure_systems::todos::receipt::{Drift, Now, Receipt};

use super::desk::{Desk, todos};
use super::gates::artifact;
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

impl Page {
    fn read(&self) -> Result<Vec<Shown>, Error> {
        let read = self.items.iter().map(|raw| serde_json::from_str::<Shown>(raw.get()));
        read.collect::<Result<_, _>>()
            .map_err(|why| Error::Strange(format!("an answer that does not fit: {why}")))
    }
}

pub fn run(arguments: &TodoList, output: &mut Output) -> Result<Outcome, Error> {
    // What is worked on comes first; what is over is asked for.
    let states: Vec<Option<&str>> = match (&arguments.state, arguments.all) {
        (Some(state), _) => vec![Some(state)],
        (None, true) => vec![None],
        (None, false) => vec![Some("Claimed"), Some("Draft")],
    };
    let (page, items) = block_on(async {
        let desk = Desk::look(&arguments.at).await?;
        desk.attend().await?;
        let mut found = Page { items: Vec::new(), next_cursor: None };
        for state in states {
            fetch(&desk, state, arguments.limit, &mut found).await?;
        }
        let items = if arguments.form.json { Vec::new() } else { here(&desk, found.read()?).await? };
        Ok((found, items))
    })?;
    if arguments.form.json {
        output.json(&page)?;
        return Ok(Outcome::Done);
    }
    if items.is_empty() {
        output.line("none")?;
        return Ok(Outcome::Done);
    }
    table(&items, output)?;
    if page.next_cursor.is_some() {
        output.line("there are more; --limit NUMBER shows them")?;
    }
    Ok(Outcome::Done)
}

/// The same tasks, with what only the workspace knows of their proofs. Where there is none, nothing is said of it.
async fn here(desk: &Desk, todos: Vec<Shown>) -> Result<Vec<Shown>, Error> {
    // It starts processes: only where something was proved.
    let proved = desk.workspace.as_ref().filter(|_| todos.iter().any(|todo| todo.proved_tree.is_some()));
    let tree = proved.and_then(|workspace| workspace.tree().ok());
    let mut told = Vec::with_capacity(todos.len());
    for todo in todos {
        let files = drifted(desk, &todo).await?;
        told.push(todo.on(tree.as_deref(), files));
    }
    Ok(told)
}

/// The files that its newest proof names and that are not as they were. The tree does not tell: what git ignores is not in it.
async fn drifted(desk: &Desk, todo: &Shown) -> Result<Vec<Drift>, Error> {
    let looks_at_a_file = |gate: &String| gate.parse::<Gate>().is_ok_and(|gate| gate.path().is_some());
    let looks = todo.proved_tree.is_some() && todo.gates.iter().any(looks_at_a_file);
    let Some(workspace) = desk.workspace.as_ref().filter(|_| looks) else { return Ok(Vec::new()) };
    let target = Target::new(["v1", "todos", &todo.todo_id, "receipt"]);
    let Receipt { proof, proved_at, .. } = desk.client.get(target).await?.read()?;
    let found = |path: &String| artifact(workspace, path).map(|artifact| artifact.sha256);
    let artifacts = proof.artifacts.iter().map(|one| (one.path.clone(), found(&one.path))).collect();
    // Its age and its plan are told with the task.
    Ok(proof.drift(proved_at, &Now { at: proved_at, tree: None, artifacts: &artifacts, plan: None }))
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
    let (reply, titles, todo) = block_on(async {
        let desk = Desk::look(at).await?;
        desk.attend().await?;
        let reply = one(&desk, id).await?;
        let todo: Shown = reply.read()?;
        let mut titles = BTreeMap::new();
        for other in todo.depends.iter().chain(&todo.parent) {
            let other: Shown = one(&desk, other).await?.read()?;
            titles.insert(other.todo_id.clone(), format!("({}, {})", other.title, other.state));
        }
        let todo = if form.json { Vec::new() } else { here(&desk, vec![todo]).await? };
        Ok((reply, titles, todo))
    })?;
    if form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    todo.iter().try_for_each(|todo| whole(todo, &titles, output))?;
    Ok(Outcome::Done)
}
