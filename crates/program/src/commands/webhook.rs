//! `tenure webhook`: who outside is told of messages.

use serde::Deserialize;
use serde_json::json;

use crate::cli::{Webhook, WebhookCreate, WebhookList, WebhookOne};
use crate::client::{Client, Reply, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// As the service shows it.
#[derive(Deserialize)]
struct Shown {
    name: String,
    state: String,
    url: String,
    labels: Vec<String>,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Shown>,
}

pub fn run(command: Webhook, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Webhook::Create(arguments) => create(&arguments, output),
        Webhook::List(arguments) => list(&arguments, output),
        Webhook::Pause(arguments) => advance(&arguments, "pause", output),
        Webhook::Resume(arguments) => advance(&arguments, "resume", output),
        Webhook::Remove(arguments) => remove(&arguments, output),
    }
}

fn webhooks() -> Target {
    Target::new(["v1", "webhooks"])
}

fn create(arguments: &WebhookCreate, output: &mut Output) -> Result<Outcome, Error> {
    let WebhookCreate { name, to, secrets, labels, allow_private, at, form } = arguments;
    let body = json!({
        "name": name, "url": to, "secrets": secrets, "labels": labels, "allow_private": allow_private,
    });
    let reply = block_on(async { Client::at(at, Access::MayCreate).await?.post(webhooks(), &body).await })?;
    told(&reply, form.json, output)
}

fn list(arguments: &WebhookList, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async { Client::at(&arguments.at, Access::Existing).await?.get(webhooks()).await })?;
    if arguments.form.json {
        output.line(reply.text)?;
        return Ok(Outcome::Done);
    }
    let page: Page = reply.read()?;
    match page.items.is_empty() {
        true => output.line("none")?,
        false => output.table(["name", "state", "url", "labels"], page.items.into_iter().map(row))?,
    }
    Ok(Outcome::Done)
}

fn row(webhook: Shown) -> [String; 4] {
    let labels = if webhook.labels.is_empty() { "all".to_string() } else { webhook.labels.join(", ") };
    [webhook.name, webhook.state, webhook.url, labels]
}

fn advance(arguments: &WebhookOne, event: &str, output: &mut Output) -> Result<Outcome, Error> {
    let WebhookOne { name, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.post(Target::new(["v1", "webhooks", name, event]), &json!({})).await
    })?;
    told(&reply, form.json, output)
}

fn remove(arguments: &WebhookOne, output: &mut Output) -> Result<Outcome, Error> {
    let WebhookOne { name, at, form } = arguments;
    block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.delete(Target::new(["v1", "webhooks", name]), &json!({})).await
    })?;
    match form.json {
        true => output.json(&json!({ "name": name, "removed": true }))?,
        false => output.line(format!("{name} is removed; what was not delivered yet fails"))?,
    }
    Ok(Outcome::Done)
}

fn told(reply: &Reply, json: bool, output: &mut Output) -> Result<Outcome, Error> {
    if json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let Shown { name, state, url, labels } = reply.read()?;
    let what = if labels.is_empty() { "all messages".to_string() } else { labels.join(", ") };
    match state.as_str() {
        "ACTIVE" => output.line(format!("{name} {state}: {what} to {url}"))?,
        _ => output.line(format!("{name} {state}: nothing is sent before it is resumed"))?,
    }
    Ok(Outcome::Done)
}
