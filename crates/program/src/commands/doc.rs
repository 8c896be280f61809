//! `tenure doc`: documents, and their runs.

mod result;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tenure_core::hash::Hash;
use tenure_server::WAIT_MAX;
use tenure_systems::runs::files::DOCUMENT_BYTES_MAX;

use crate::cli::{Doc, DocAdd, DocContent, DocList, DocOne, DocWait, complain};
use crate::client::{Client, Reply, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, styled};
use crate::time::Stopwatch;

pub fn run(command: Doc, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Doc::Add(arguments) => add(&arguments, output),
        Doc::List(arguments) => list(&arguments, output),
        Doc::Show(arguments) => show(&arguments, output),
        Doc::Runs(arguments) => runs(&arguments, output),
        Doc::Reprocess(arguments) => reprocess(&arguments, output),
        Doc::Result(arguments) => result::run(&arguments, output),
        Doc::Content(arguments) => content(&arguments),
        Doc::Wait(arguments) => wait(&arguments, output),
    }
}

/// What is shown of a document.
#[derive(Deserialize)]
struct Document {
    document_id: String,
    status: String,
    name: Option<String>,
    media_type: Option<String>,
    size: Option<u64>,
    /// None: it was erased.
    sha256: Option<String>,
    created_at: String,
    run_id: Option<String>,
    failure_type: Option<String>,
}

#[derive(Deserialize)]
struct Made {
    document_id: String,
    run_id: String,
    status: String,
}

#[derive(Deserialize)]
struct Run {
    run_id: String,
    state: String,
    created_at: String,
    failure: Option<String>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    name: String,
    status: String,
    attempt: u32,
    error_code: Option<String>,
    details: Option<String>,
}

#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

fn one(id: &str) -> Target {
    Target::new(["v1", "documents", id])
}

fn of(id: &str, what: &str) -> Target {
    Target::new(["v1", "documents", id, what])
}

fn add(arguments: &DocAdd, output: &mut Output) -> Result<Outcome, Error> {
    if arguments.documents.len() > 1 && arguments.idempotency_key.is_some() {
        let why = "each file needs a key of its own: add them one by one".to_string();
        return Err(Error::NotJson { what: "--idempotency-key".to_string(), why });
    }
    block_on(async {
        let client = Client::at(&arguments.at, Access::MayCreate).await?;
        let mut worst = Outcome::Done;
        for file in &arguments.documents {
            match add_one(&client, arguments, file).await {
                Ok(reply) => match arguments.form.json {
                    true => output.line(&reply.text)?,
                    false => {
                        let Made { document_id, run_id, status } = reply.read()?;
                        output.line(format_args!(
                            "{document_id}  {status}  run {run_id}  {}",
                            file.display()
                        ))?;
                    }
                },
                Err(error) => {
                    let error = Error::NotAdded { file: file.display().to_string(), error: Box::new(error) };
                    worst = worst.max(Outcome::from(&error));
                    complain(output, &error);
                }
            }
        }
        Ok(worst)
    })
}

/// Adds one file. Its name and its content are its idempotency key, so a command that is repeated stores nothing twice.
async fn add_one(client: &Client, arguments: &DocAdd, file: &Path) -> Result<Reply, Error> {
    let unreadable = |why| Error::Unreadable { file: file.display().to_string(), why, near: None };
    let mut bytes = Vec::new();
    // One byte more tells the server that it is too much, however much there is.
    let read = File::open(file).and_then(|file| file.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(unreadable)?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let key = arguments
        .idempotency_key
        .clone()
        .unwrap_or_else(|| format!("doc-add {}", Hash::of_parts(&[name.as_bytes(), &Hash::of(&bytes).0])));
    let target = Target::new(["v1", "documents"]).with("name", Some(name));
    let reply = client.upload(target.clone().with("idempotency_key", Some(key)), bytes.clone()).await?;
    if reply.made || arguments.idempotency_key.is_some() {
        return Ok(reply);
    }
    let made: Made = reply.read()?;
    let kept: Document = client.get(one(&made.document_id)).await?.read()?;
    // A document that was erased since keeps its key, and not its content.
    if kept.sha256.is_none() { client.upload(target, bytes).await } else { Ok(reply) }
}

fn asked(at: &crate::cli::At, target: Target) -> Result<Reply, Error> {
    block_on(async { Client::at(at, Access::Existing).await?.get(target).await })
}

fn list(arguments: &DocList, output: &mut Output) -> Result<Outcome, Error> {
    let target = Target::new(["v1", "documents"]).with("limit", Some(arguments.limit));
    let reply = asked(&arguments.at, target.with("order", arguments.newest.then_some("newest")))?;
    if arguments.form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let page: Page<Document> = reply.read()?;
    if page.items.is_empty() {
        output.line("none")?;
        return Ok(Outcome::Done);
    }
    let rows = page.items.iter().map(|document| {
        [
            document.document_id.clone(),
            document.name.clone().unwrap_or_default(),
            document.status.clone(),
            document.failure_type.clone().unwrap_or_default(),
            document.created_at.clone(),
        ]
    });
    output.table(["id", "name", "status", "failure", "created"], rows.collect::<Vec<_>>())?;
    if page.next_cursor.is_some() {
        output.line("there are more; --limit NUMBER or --newest shows others")?;
    }
    Ok(Outcome::Done)
}

fn show(arguments: &DocOne, output: &mut Output) -> Result<Outcome, Error> {
    let reply = asked(&arguments.at, one(&arguments.id))?;
    told(&reply, arguments.form.json, output)
}

fn told(reply: &Reply, json: bool, output: &mut Output) -> Result<Outcome, Error> {
    if json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let document: Document = reply.read()?;
    let lines = [
        ("id", Some(document.document_id)),
        ("name", document.name),
        ("type", document.media_type),
        ("bytes", document.size.map(|size| size.to_string())),
        ("status", Some(document.status)),
        ("failure", document.failure_type),
        ("run", document.run_id),
        ("created", Some(document.created_at)),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            output.line(format_args!("{name:<8} {value}"))?;
        }
    }
    Ok(Outcome::Done)
}

fn runs(arguments: &DocOne, output: &mut Output) -> Result<Outcome, Error> {
    let reply = asked(&arguments.at, of(&arguments.id, "runs").with("limit", Some(100)))?;
    if arguments.form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let page: Page<Run> = reply.read()?;
    for run in &page.items {
        let failure = run.failure.as_ref().map(|why| format!("  {why}")).unwrap_or_default();
        output.line(format_args!("{}  {}  {}{failure}", run.run_id, run.state, run.created_at))?;
        for step in &run.steps {
            let Step { name, status, attempt, error_code, details } = step;
            let code = error_code.as_ref().map(|code| format!("  {code}")).unwrap_or_default();
            let details = details.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
            let line = format!("  {name:<12} {attempt}  {status}{code}{details}");
            output.line(styled(crate::output::FAINT, line))?;
        }
    }
    if page.next_cursor.is_some() {
        output.line("there are more; --json with the service's cursor shows them")?;
    }
    Ok(Outcome::Done)
}

fn reprocess(arguments: &DocOne, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async {
        let client = Client::at(&arguments.at, Access::Existing).await?;
        client.post(of(&arguments.id, "reprocess"), &json!({})).await
    })?;
    match arguments.form.json {
        true => output.line(&reply.text)?,
        false => {
            let queued: serde_json::Value = reply.read()?;
            let word = |name: &str| queued[name].as_str().unwrap_or_default().to_string();
            output.line(format_args!("run {}  {}", word("run_id"), word("state")))?;
        }
    }
    Ok(Outcome::Done)
}

fn content(arguments: &DocContent) -> Result<Outcome, Error> {
    let bytes = block_on(async {
        let client = Client::at(&arguments.at, Access::Existing).await?;
        client.bytes(of(&arguments.id, "content")).await
    })?;
    match &arguments.output {
        None => io::stdout().write_all(&bytes)?,
        Some(file) => {
            let failed = |why| Error::Unreadable { file: file.display().to_string(), why, near: None };
            File::create_new(file).and_then(|mut new| new.write_all(&bytes)).map_err(failed)?;
        }
    }
    Ok(Outcome::Done)
}

/// Longer than one request may.
fn wait(arguments: &DocWait, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async {
        let client = Client::at(&arguments.at, Access::Existing).await?;
        let began = Stopwatch::start();
        loop {
            let seconds = arguments.timeout.map(Duration::from_secs);
            let left = seconds.map(|seconds| seconds.saturating_sub(began.elapsed()));
            let wait = left.unwrap_or(WAIT_MAX).min(WAIT_MAX);
            let reply = client.get(one(&arguments.id).with("wait_ms", Some(wait.as_millis()))).await?;
            let document: Document = reply.read()?;
            // One that has no run yet is not waited for: nobody may ever ask for one.
            if document.status != "PROCESSING" || left.is_some_and(|left| left <= wait) {
                return Ok::<_, Error>(reply);
            }
        }
    })?;
    let document: Document = reply.read()?;
    match document.status.as_str() {
        "COMPLETED" => told(&reply, arguments.form.json, output),
        _ => {
            if arguments.form.json {
                output.line(&reply.text)?;
            }
            Err(not_completed(document))
        }
    }
}

/// Why a document has no result.
fn not_completed(document: Document) -> Error {
    let Document { document_id, status: state, failure_type: reason, .. } = document;
    match state.as_str() {
        "PROCESSING" | "UPLOADED" => Error::StillOpen { item: document_id, state },
        _ => Error::NotProcessed { document: document_id, state, reason },
    }
}
