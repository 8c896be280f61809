//! `tenure ticket`: what people do with tickets.

mod explained;

use std::fmt::Write;

use serde::Deserialize;
use serde_json::json;

use crate::cli::{Asking, At, ItemOne, JobList, Ticket, TicketBlock, TicketCreate, TicketSaid};
use crate::client::{Client, Reply, Target};
use crate::commands::asker;
use crate::commands::item::shown::to_the_second;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{BAD, FAINT, GOOD, Output, STRONG, styled};

/// A ticket as the service shows it.
#[derive(Debug, Deserialize)]
struct Shown {
    ticket_id: String,
    title: String,
    description: Option<String>,
    state: String,
    budget_ms: Option<u64>,
    gates: Vec<String>,
    created_at: String,
    created_by: String,
    updated_at: String,
    approval: Option<Said>,
    blockers: Vec<Blocker>,
}

#[derive(Debug, Deserialize)]
struct Said {
    by: String,
    at: String,
    note: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Blocker {
    reason: String,
    created_at: String,
}

#[derive(Debug, Deserialize)]
struct Page {
    items: Vec<Shown>,
    next_cursor: Option<String>,
}

pub fn run(command: Ticket, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Ticket::Create(arguments) => create(&arguments, output),
        Ticket::Show(arguments) => show(&arguments, output),
        Ticket::List(arguments) => list(&arguments, output),
        Ticket::Approve(arguments) => said(&arguments, "approve", output),
        Ticket::Block(arguments) => block(&arguments, output),
        Ticket::Resolve(arguments) => said(&arguments, "resolve", output),
        Ticket::Explain(arguments) => explained::run(&arguments, output),
    }
}

fn one(id: &str) -> Target {
    Target::new(["v1", "tickets", id])
}

/// Something of it, or that is done to it.
fn event(id: &str, event: &str) -> Target {
    Target::new(["v1", "tickets", id, event])
}

async fn client(at: &At, access: Access, who: String) -> Result<Client, Error> {
    Ok(Client::at(at, access).await?.acting(who))
}

/// Whoever looks at something.
pub fn reader() -> String {
    asker::asker(None, None)
}

fn asker_of(asking: &Asking) -> String {
    asker::asker(asking.agent.as_deref(), asking.session.as_deref())
}

fn create(arguments: &TicketCreate, output: &mut Output) -> Result<Outcome, Error> {
    let TicketCreate { title, description, gates, budget, idempotency_key, asking, at, form } = arguments;
    let who = asker::client(asking.agent.as_deref(), asking.session.as_deref());
    let budget_ms = budget.map(|budget| u64::try_from(budget.as_millis()).unwrap_or(u64::MAX));
    let body = json!({
        "title": title, "description": description, "gates": gates, "budget_ms": budget_ms,
        "idempotency_key": idempotency_key,
    });
    let reply = block_on(async {
        client(at, Access::MayCreate, who).await?.post(Target::new(["v1", "tickets"]), &body).await
    })?;
    told(&reply, form.json, output)
}

fn show(arguments: &ItemOne, output: &mut Output) -> Result<Outcome, Error> {
    let ItemOne { id, at, form } = arguments;
    let reply = block_on(async { client(at, Access::Existing, reader()).await?.get(one(id)).await })?;
    match form.json {
        true => output.line(&reply.text)?,
        false => whole(&reply.read()?, output)?,
    }
    Ok(Outcome::Done)
}

fn list(arguments: &JobList, output: &mut Output) -> Result<Outcome, Error> {
    let JobList { which, at, form } = arguments;
    let target = Target::new(["v1", "tickets"]).with("state", which.state.as_ref());
    let target = target.with("limit", Some(which.limit)).with("order", which.newest.then_some("newest"));
    let reply = block_on(async { client(at, Access::Existing, reader()).await?.get(target).await })?;
    if form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let page: Page = reply.read()?;
    if page.items.is_empty() {
        output.line("none")?;
        return Ok(Outcome::Done);
    }
    let row = |ticket: &Shown| {
        [
            ticket.ticket_id.clone(),
            ticket.state.clone(),
            to_the_second(&ticket.updated_at),
            ticket.title.clone(),
        ]
    };
    output.table(["id", "state", "updated", "title"], page.items.iter().map(row))?;
    if page.next_cursor.is_some() {
        output.line("there are more; --limit NUMBER shows them")?;
    }
    Ok(Outcome::Done)
}

fn said(arguments: &TicketSaid, verb: &str, output: &mut Output) -> Result<Outcome, Error> {
    let TicketSaid { id, note, asking, at, form } = arguments;
    let (body, who) = (json!({ "note": note }), asker_of(asking));
    let said =
        block_on(async { client(at, Access::Existing, who).await?.post(event(id, verb), &body).await });
    told(&said.map_err(|no| for_people(no, id))?, form.json, output)
}

fn block(arguments: &TicketBlock, output: &mut Output) -> Result<Outcome, Error> {
    let TicketBlock { id, reason, asking, at, form } = arguments;
    let (body, who) = (json!({ "reason": reason }), asker_of(asking));
    let said =
        block_on(async { client(at, Access::Existing, who).await?.post(event(id, "block"), &body).await });
    told(&said.map_err(|no| for_people(no, id))?, form.json, output)
}

/// What a person can do instead. The lifecycle's other events are for the workers.
fn for_people(no: Error, id: &str) -> Error {
    let Error::Refused(mut refused) = no else { return no };
    let verb = match refused.state.as_deref() {
        Some("NEW") => Some("approve"),
        Some("BLOCKED") => Some("resolve"),
        Some("TODO" | "IN_PROGRESS") => Some("explain"),
        _ => None,
    };
    if refused.code == "TRANSITION_REFUSED" {
        refused.fix = verb.map(|verb| format!("`tenure ticket {verb} {id}`"));
    }
    Error::Refused(refused)
}

/// What became of it, in a line.
fn told(reply: &Reply, json: bool, output: &mut Output) -> Result<Outcome, Error> {
    match json {
        true => output.line(&reply.text)?,
        false => output.line(brief(&reply.read()?))?,
    }
    Ok(Outcome::Done)
}

fn brief(ticket: &Shown) -> String {
    format!("{} {} {}", ticket.ticket_id, state(&ticket.state), ticket.title)
}

fn state(name: &str) -> String {
    let style = match name {
        "DONE" => GOOD,
        "BLOCKED" => BAD,
        _ => STRONG,
    };
    styled(style, name)
}

/// All of it, a line each; what it does not have is left out.
fn whole(ticket: &Shown, output: &mut Output) -> Result<(), Error> {
    output.line(brief(ticket))?;
    let mut say = |name: &str, value: Option<String>| match value {
        Some(value) => output.line(format!("  {}{value}", styled(FAINT, format!("{name:<12}")))),
        None => Ok(()),
    };
    say("description", ticket.description.clone())?;
    say("created", Some(format!("{} by {}", ticket.created_at, ticket.created_by)))?;
    say("approved", ticket.approval.as_ref().map(word))?;
    say("updated", Some(ticket.updated_at.clone()))?;
    say("budget", ticket.budget_ms.map(|budget| format!("{budget} ms")))?;
    for gate in &ticket.gates {
        say("gate", Some(gate.clone()))?;
    }
    for blocker in &ticket.blockers {
        say("blocked", Some(format!("{} {}", blocker.created_at, blocker.reason)))?;
    }
    Ok(())
}

fn word(said: &Said) -> String {
    let mut words = format!("{} by {}", said.at, said.by);
    if let Some(note) = &said.note {
        let _ = write!(words, ": {note}");
    }
    words
}
