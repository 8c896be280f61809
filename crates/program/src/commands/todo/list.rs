//! `tenure todo list` and `show`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use tenure_server::PAGE_MAX;
use tenure_systems::gate::Gate;
use tenure_systems::todos::receipt::{Drift, Now, Receipt};
use tenure_systems::todos::workspace::Workspace;

use super::desk::{Desk, todos};
use super::gates::{Deadline, artifact};
use super::shown::{Shown, WorkingCopy, table, whole};
use crate::cli::{TodoList, TodoOne};
use crate::client::{Reply, Target};
use crate::database::run as block_on;
use crate::outcome::{Error, Outcome};
use crate::output::{Output, grouped};

/// Whoever looks waits no longer than this for the files that proofs name. Of what was not read by then nothing is said.
const LOOK: Duration = Duration::from_secs(10);

/// As the service has it; what was fetched in several pages is shown as one.
#[derive(Serialize, Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
    total: Option<u64>,
}

impl Page {
    fn read(&self) -> Result<Vec<Shown>, Error> {
        let read = self.items.iter().map(|raw| serde_json::from_str::<Shown>(raw.get()));
        read.collect::<Result<_, _>>().map_err(unfit)
    }
}

fn unfit(why: serde_json::Error) -> Error {
    Error::Strange(format!("an answer that does not fit: {why}"))
}

/// A task as the service tells it, with what is found of its proof here.
fn with_drift(told: Box<RawValue>, found: &Shown) -> Result<Box<RawValue>, Error> {
    #[derive(Deserialize)]
    struct Stale {
        stale: Vec<String>,
    }
    if serde_json::from_str::<Stale>(told.get()).map_err(unfit)?.stale == found.stale {
        return Ok(told);
    }
    let stale = to_raw_value(&found.stale).map_err(unfit)?;
    let mut fields: BTreeMap<&str, &RawValue> = serde_json::from_str(told.get()).map_err(unfit)?;
    fields.insert("stale", &stale);
    to_raw_value(&fields).map_err(unfit)
}

/// What is asked for, in one state or in all.
fn asked(arguments: &TodoList, me: &str, state: Option<&str>) -> Target {
    let order = if arguments.all { "oldest" } else { "next" };
    todos()
        .with("state", state)
        .with("order", Some(order))
        .with("count", Some(true))
        .with("tag", arguments.tag.as_ref())
        .with("owner", arguments.mine.then_some(me))
        .with("ready", arguments.ready.then_some(true))
}

pub fn run(arguments: &TodoList, output: &mut Output) -> Result<Outcome, Error> {
    // What is worked on comes first; what is over is asked for.
    let states: Vec<Option<&str>> = match (&arguments.state, arguments) {
        (Some(state), _) => vec![Some(state)],
        (None, TodoList { all: true, .. }) => vec![None],
        (None, TodoList { mine: true, .. }) => vec![Some("Claimed")],
        (None, TodoList { ready: true, .. }) => vec![Some("Draft")],
        (None, _) => vec![Some("Claimed"), Some("Draft")],
    };
    let (mut page, items) = block_on(async {
        let desk = Desk::look(&arguments.at).await?;
        // Whose tasks are asked for by somebody whose session has ended, nobody can say.
        let me = if arguments.mine { desk.whose().await? } else { desk.attend().await };
        let me = me.unwrap_or_else(|| desk.me());
        let mut found = Page { items: Vec::new(), next_cursor: None, total: Some(0) };
        for state in states {
            fetch(&desk, &asked(arguments, &me, state), arguments.limit, &mut found).await?;
        }
        let items = here(&desk, found.read()?).await?;
        Ok((found, items))
    })?;
    if arguments.form.json {
        let told = std::mem::take(&mut page.items).into_iter().zip(&items);
        page.items = told.map(|(told, found)| with_drift(told, found)).collect::<Result<_, _>>()?;
        output.json(&page)?;
        return Ok(Outcome::Done);
    }
    if items.is_empty() {
        output.line("none")?;
        return Ok(Outcome::Done);
    }
    table(&items, output)?;
    let (shown, total) = (items.len() as u64, page.total.unwrap_or(0));
    if shown < total {
        output.line(format_args!("{} of {}; --limit NUMBER shows more", grouped(shown), grouped(total)))?;
    }
    Ok(Outcome::Done)
}

/// The same tasks, with what only the workspace knows of their proofs. Where there is none, nothing is said of it.
async fn here(desk: &Desk, todos: Vec<Shown>) -> Result<Vec<Shown>, Error> {
    // It starts processes: only where something was proved.
    let proved = desk.workspace.as_ref().filter(|_| todos.iter().any(|todo| todo.proved_tree.is_some()));
    let copy = proved.and_then(|workspace| working_copy(workspace, &todos).ok()).unwrap_or_default();
    let deadline = Deadline::new(LOOK);
    let mut told = Vec::with_capacity(todos.len());
    for todo in todos {
        let files = drifted(desk, &todo, deadline).await?;
        told.push(todo.on(&copy, files));
    }
    Ok(told)
}

/// Reads the tree, and the paths that the proofs of these tasks depend on.
fn working_copy(workspace: &Workspace, todos: &[Shown]) -> Result<WorkingCopy, Error> {
    let trees = workspace.trees()?;
    let tree = trees.now()?;
    let declared = todos.iter().flat_map(|todo| &todo.proved_paths).map(|one| one.path.clone()).collect();
    let entries = trees.entries(&tree, &declared)?;
    Ok(WorkingCopy { tree: Some(tree), entries })
}

/// A task whose proof is not current any more.
#[derive(Debug, Serialize)]
pub struct Stale {
    pub todo_id: String,
    pub title: String,
    pub stale: Vec<String>,
}

/// All tasks that are Verified and stale.
pub async fn stale(desk: &Desk) -> Result<Vec<Stale>, Error> {
    let mut found = Page { items: Vec::new(), next_cursor: None, total: Some(0) };
    let verified = todos().with("state", Some("Verified")).with("order", Some("oldest"));
    fetch(desk, &verified, u64::MAX, &mut found).await?;
    let stale = here(desk, found.read()?).await?.into_iter().filter(|todo| !todo.stale.is_empty());
    Ok(stale.map(|Shown { todo_id, title, stale, .. }| Stale { todo_id, title, stale }).collect())
}

/// The files that its newest proof names and that are not as they were. The tree does not tell: what git ignores is not in it.
async fn drifted(desk: &Desk, todo: &Shown, deadline: Deadline) -> Result<Vec<Drift>, Error> {
    let looks_at_a_file = |gate: &String| gate.parse::<Gate>().is_ok_and(|gate| gate.path().is_some());
    let looks = todo.proved_tree.is_some() && todo.gates.iter().any(looks_at_a_file);
    let Some(workspace) = desk.workspace.as_ref().filter(|_| looks) else { return Ok(Vec::new()) };
    let target = Target::new(["v1", "todos", &todo.todo_id, "receipt"]);
    let Receipt { proof, proved_at, .. } = desk.client.get(target).await?.read()?;
    let mut artifacts = BTreeMap::new();
    for path in proof.artifacts.iter().map(|one| &one.path) {
        if let Ok(found) = artifact(workspace, path, deadline).await {
            artifacts.insert(path.clone(), found.map(|found| found.sha256));
        }
    }
    // Its age and its plan are told with the task.
    let (at, entries) = (proved_at, BTreeMap::new());
    Ok(proof.drift(at, &Now { at, tree: None, entries: &entries, artifacts: &artifacts, plan: None }))
}

/// As many as are wanted, and how many there are.
async fn fetch(desk: &Desk, asked: &Target, most: u64, found: &mut Page) -> Result<(), Error> {
    let (before, mut cursor) = (found.total.unwrap_or(0), None::<String>);
    loop {
        let left = most.saturating_sub(found.items.len() as u64).min(PAGE_MAX as u64) as usize;
        // Where no more can be shown it is still told how many there are.
        let target = asked.clone().with("limit", Some(left.max(1))).with("cursor", cursor.as_ref());
        let page: Page = desk.client.get(target).await?.read()?;
        found.total = page.total.map(|total| before + total);
        let has_more = page.next_cursor.is_some() || page.items.len() > left;
        found.items.extend(page.items.into_iter().take(left));
        cursor = page.next_cursor;
        let is_full = found.items.len() as u64 >= most;
        if is_full && has_more {
            found.next_cursor = Some("more".to_string());
        }
        if is_full || cursor.is_none() {
            return Ok(());
        }
    }
}

pub async fn one(desk: &Desk, id: &str) -> Result<Reply, Error> {
    desk.client.get(Target::new(["v1", "todos", id])).await
}

pub fn show(arguments: &TodoOne, output: &mut Output) -> Result<Outcome, Error> {
    let TodoOne { id, at, form } = arguments;
    let (reply, titles, todo) = block_on(async {
        let desk = Desk::look(at).await?;
        desk.attend().await;
        let reply = one(&desk, id).await?;
        let todo: Shown = reply.read()?;
        let mut titles = BTreeMap::new();
        for other in todo.depends.iter().chain(&todo.parent).filter(|_| !form.json) {
            let other: Shown = one(&desk, other).await?.read()?;
            titles.insert(other.todo_id.clone(), format!("({}, {})", other.title, other.state));
        }
        Ok((reply, titles, here(&desk, vec![todo]).await?))
    })?;
    for todo in &todo {
        match form.json {
            true => output.line(with_drift(reply.read()?, todo)?)?,
            false => whole(todo, &titles, output)?,
        }
    }
    Ok(Outcome::Done)
}
