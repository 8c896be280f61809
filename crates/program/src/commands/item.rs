//! `tenure item`: items of any kind. What is written here for them, `tenure job` does for jobs.

mod bulk;
pub mod executions;
pub mod list;
pub mod new;
pub mod shown;
pub mod wait;

use std::io::Write;

use serde_json::json;

use super::export::whole;
use super::log;
use crate::cli::{Item, ItemCreate, ItemList, ItemLog, ItemMove, ItemReceipt, ItemSaid, ItemShow};
use crate::client::{Client, Reply, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::source::STDIN;

/// Items of any kind, or those of one: where they are in the service.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    Items,
    Jobs,
}

impl Of {
    /// All of them.
    pub fn all(self) -> Target {
        Target::new(["v1", self.word()])
    }

    pub fn one(self, id: &str) -> Target {
        Target::new(["v1", self.word(), id])
    }

    /// Something of it, or that is done to it.
    pub fn event(self, id: &str, event: &str) -> Target {
        Target::new(["v1", self.word(), id, event])
    }

    fn word(self) -> &'static str {
        match self {
            Of::Items => "items",
            Of::Jobs => "jobs",
        }
    }
}

pub fn run(command: Item, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Item::Create(arguments) => create(&arguments, output),
        Item::Show(arguments) => show(Of::Items, &arguments, output),
        Item::List(arguments) => list(&arguments, output),
        Item::Move(arguments) => advance(&arguments, output),
        Item::Cancel(arguments) => cancel(Of::Items, &arguments, output),
        Item::Bulk(arguments) => bulk::run(&arguments, output),
        Item::Erase(arguments) => erase(&arguments, output),
        Item::Executions(arguments) => executions::run(Of::Items, &arguments, output),
        Item::Log(arguments) => history(&arguments, output),
        Item::Receipt(arguments) => receipt(&arguments, output),
    }
}

fn create(arguments: &ItemCreate, output: &mut Output) -> Result<Outcome, Error> {
    let ItemCreate { kind, new, at, form } = arguments;
    let reply = new::create(Of::Items, Some(kind), new, at)?;
    told(&reply, form.json, output)
}

pub fn show(of: Of, arguments: &ItemShow, output: &mut Output) -> Result<Outcome, Error> {
    let ItemShow { id, wait, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        match wait {
            Some(seconds) => wait::at_rest(&client, of, id, Some(*seconds)).await,
            None => client.get(of.one(id)).await,
        }
    })?;
    match form.json {
        true => output.line(reply.text)?,
        false => shown::whole(&reply.read()?, output)?,
    }
    Ok(Outcome::Done)
}

fn list(arguments: &ItemList, output: &mut Output) -> Result<Outcome, Error> {
    let ItemList { kind, which, at, form } = arguments;
    let target = Of::Items.all().with("kind", kind.as_ref());
    list::run(&target, kind.as_deref(), which, at, form.json, output)
}

fn advance(arguments: &ItemMove, output: &mut Output) -> Result<Outcome, Error> {
    let ItemMove { id, event, reason, expected_version, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        let body = json!({ "reason": reason, "expected_version": expected_version });
        client.post(Of::Items.event(id, event), &body).await
    })?;
    told(&reply, form.json, output)
}

pub fn cancel(of: Of, arguments: &ItemSaid, output: &mut Output) -> Result<Outcome, Error> {
    let ItemSaid { id, reason, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.post(of.event(id, "cancel"), &json!({ "reason": reason })).await
    })?;
    told(&reply, form.json, output)
}

fn erase(arguments: &ItemSaid, output: &mut Output) -> Result<Outcome, Error> {
    let ItemSaid { id, reason, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.delete(Of::Items.event(id, "body"), &json!({ "reason": reason })).await
    })?;
    told(&reply, form.json, output)
}

fn history(arguments: &ItemLog, output: &mut Output) -> Result<Outcome, Error> {
    let ItemLog { id, after, limit, at, form } = arguments;
    log::history(id, at, log::Which::After { position: *after, most: *limit }, form.json, output)
}

fn receipt(arguments: &ItemReceipt, output: &mut Output) -> Result<Outcome, Error> {
    let ItemReceipt { id, file, at } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.get(Of::Items.event(id, "receipt")).await
    })?;
    match file.as_deref() {
        None | Some(STDIN) => output.text(&reply.text)?,
        Some(file) => {
            whole(file, |out| Ok(out.write_all(reply.text.as_bytes())?))?;
            output
                .line(format_args!("{file}: the whole history of {id}; `tenure verify {file}` checks it"))?;
        }
    }
    Ok(Outcome::Done)
}

/// What became of it, in a line.
pub fn told(reply: &Reply, json: bool, output: &mut Output) -> Result<Outcome, Error> {
    match json {
        true => output.line(&reply.text)?,
        false => output.line(shown::brief(&reply.read()?))?,
    }
    Ok(Outcome::Done)
}
