//! add, next, claim, release, abandon, depend, attest, plan: one call each.

use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::{Desk, todos};
use super::shown::{Shown, brief};
use crate::cli::{Form, TodoAdd, TodoAt, TodoAttest, TodoDepend, TodoNext, TodoOne, TodoPlan, TodoSaid};
use crate::client::{Reply, Target};
use crate::database::run as block_on;
use crate::outcome::{Error, Outcome};
use crate::output::{FAINT, Output, styled};

pub fn add(arguments: &TodoAdd, output: &mut Output) -> Result<Outcome, Error> {
    let more = json!({
        "title": arguments.title,
        "description": arguments.description,
        "priority": arguments.priority,
        "tags": arguments.tags,
        "depends": arguments.depends,
        "parent": arguments.parent,
        "external_reference": arguments.external_reference,
        "gates": arguments.gates,
    });
    let reply = block_on(async {
        let desk = Desk::open(&arguments.at).await?;
        desk.post(todos(), &desk.by(more)).await
    })?;
    told(&reply, arguments.form, output)
}

#[derive(Deserialize)]
struct Next {
    todo: Option<Shown>,
}

pub fn next(arguments: &TodoNext, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async {
        let desk = Desk::open(&arguments.at).await?;
        desk.post(Target::new(["v1", "todos", "next"]), &desk.by(Value::Null)).await
    })?;
    let next: Next = reply.read()?;
    match (&next.todo, arguments.form.json) {
        (_, true) => output.line(&reply.text)?,
        (Some(todo), false) => shown(todo, output)?,
        (None, false) => output.line("nothing can be claimed now")?,
    }
    Ok(if next.todo.is_some() { Outcome::Done } else { Outcome::Refused })
}

pub fn claim(arguments: &TodoOne, output: &mut Output) -> Result<Outcome, Error> {
    let TodoOne { id, at, form } = arguments;
    changed(at, id, "claim", Value::Null, *form, output)
}

pub fn said(what: &str, arguments: &TodoSaid, output: &mut Output) -> Result<Outcome, Error> {
    let TodoSaid { id, reason, at, form } = arguments;
    changed(at, id, what, json!({ "reason": reason }), *form, output)
}

pub fn depend(arguments: &TodoDepend, output: &mut Output) -> Result<Outcome, Error> {
    let TodoDepend { id, add, remove, at, form } = arguments;
    changed(at, id, "depend", json!({ "add": add, "remove": remove }), *form, output)
}

pub fn attest(arguments: &TodoAttest, output: &mut Output) -> Result<Outcome, Error> {
    let TodoAttest { id, gate, note, at, form } = arguments;
    let reply = block_on(async {
        let desk = Desk::open(at).await?;
        desk.change(id, "attest", json!({ "gate": gate, "note": note, "session": desk.session() })).await
    })?;
    told(&reply, *form, output)
}

pub fn plan(arguments: &TodoPlan, output: &mut Output) -> Result<Outcome, Error> {
    let TodoPlan { id, gates, at, form } = arguments;
    let reply = block_on(async {
        let desk = Desk::open(at).await?;
        desk.change(id, "plan", json!({ "gates": gates, "session": desk.session() })).await
    })?;
    told(&reply, *form, output)
}

fn changed(
    at: &TodoAt,
    id: &str,
    what: &str,
    more: Value,
    form: Form,
    output: &mut Output,
) -> Result<Outcome, Error> {
    let reply = block_on(async {
        let desk = Desk::open(at).await?;
        desk.change(id, what, desk.by(more)).await
    })?;
    told(&reply, form, output)
}

pub fn told(reply: &Reply, form: Form, output: &mut Output) -> Result<Outcome, Error> {
    match form.json {
        true => output.line(&reply.text)?,
        false => shown(&reply.read()?, output)?,
    }
    Ok(Outcome::Done)
}

fn shown(todo: &Shown, output: &mut Output) -> Result<(), Error> {
    output.line(brief(todo))?;
    match &todo.receipt {
        Some(receipt) => output.line(styled(FAINT, format_args!("receipt {receipt}"))),
        None => Ok(()),
    }
}
