//! `tenure todo receipt`, and how `tenure verify` checks such a file: by itself, without asking anybody, and where its list is, against that.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use serde::Serialize;
use tenure_core::word::Store;
use tenure_databases::outside::now;
use tenure_server::PAGE_MAX;
use tenure_systems::todos::receipt::{DeclaredPath, FORMAT, Now, Receipt};

use super::desk::{Desk, actor, file, here, repository};
use super::gates::{Deadline, artifact};
use super::shown::Shown;
use crate::cli::TodoReceipt;
use crate::client::{Client, Loops, Target};
use crate::commands::export::whole;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{GOOD, NOTE, Output, STRONG, styled};
use crate::source::STDIN;

/// A receipt with the ends of 32 outputs has some hundred kilobytes.
const FILE_BYTES_MAX: u64 = 4 << 20;

pub fn run(arguments: &TodoReceipt, output: &mut Output) -> Result<Outcome, Error> {
    let TodoReceipt { id, file, at } = arguments;
    let reply = block_on(async {
        let desk = Desk::look(at).await?;
        desk.attend().await;
        desk.client.get(Target::new(["v1", "todos", id, "receipt"])).await
    })?;
    match file.as_deref() {
        None | Some(STDIN) => output.line(&reply.text)?,
        Some(file) => {
            whole(file, |out| Ok(writeln!(out, "{}", reply.text)?))?;
            output.line(format_args!("{file}: the proof of {id}; `tenure verify {file}` checks it"))?;
        }
    }
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct Checked<'a> {
    name: &'a str,
    sound: bool,
    /// None: there was nothing to hold it against.
    current: Option<bool>,
    task_id: &'a str,
    sha256: String,
    faults: &'a [String],
    stale: &'a [String],
}

/// What the list and the working copy here say of a receipt.
#[derive(Default)]
struct Held {
    /// It is not what was written here.
    faults: Vec<String>,
    /// It was, and holds no more for what is here.
    stale: Vec<String>,
}

/// Checks a file, if it is a receipt: by itself, and where its list and a working copy are, against these. None: it is something else.
pub fn checked(path: &str, json: bool, output: &mut Output) -> Result<Option<Outcome>, Error> {
    if !fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= FILE_BYTES_MAX) {
        return Ok(None);
    }
    let Ok(text) = fs::read_to_string(path) else { return Ok(None) };
    let form = FORMAT.split('/').next().unwrap_or(FORMAT);
    if !text.trim_start().starts_with('{') || !text.contains(form) {
        return Ok(None);
    }
    let receipt: Receipt = match serde_json::from_str(&text) {
        Ok(receipt) => receipt,
        Err(why) => return Err(Error::Unproved { file: path.to_string(), faults: vec![why.to_string()] }),
    };
    let mut faults = receipt.faults();
    let held = if faults.is_empty() { held(&receipt)? } else { None };
    let is_held = held.is_some();
    let Held { faults: not_here, stale } = held.unwrap_or_default();
    faults.extend(not_here);
    let outcome = if faults.is_empty() && stale.is_empty() { Outcome::Done } else { Outcome::Refused };
    if json {
        output.json(&Checked {
            name: path,
            sound: faults.is_empty(),
            current: is_held.then_some(stale.is_empty()),
            task_id: &receipt.task_id,
            sha256: receipt.sha256.to_string(),
            faults: &faults,
            stale: &stale,
        })?;
        return Ok(Some(outcome));
    }
    if !faults.is_empty() {
        return Err(Error::Unproved { file: path.to_string(), faults });
    }
    let Receipt { title, agent, proved_at, sha256, proof, .. } = &receipt;
    output.line(format_args!("{}: {} · {title}", styled(STRONG, path), styled(GOOD, "sound")))?;
    output.line(format_args!("proved {proved_at} by {agent} on the tree {}", proof.tree))?;
    for DeclaredPath { entry, path } in &proof.paths {
        output.line(format_args!("  depends on {path}: {entry}"))?;
    }
    for result in &proof.results {
        let said = if result.passed { "passed" } else { "did not pass" };
        output.line(format_args!("  {} {said}", result.gate))?;
    }
    output.line(format_args!("receipt {sha256}"))?;
    match (is_held, stale.is_empty()) {
        (false, _) => output.line("the hash is right; held against no list")?,
        (true, true) => output.line("current: the list and the working copy here are as it says")?,
        (true, false) => {
            stale.iter().try_for_each(|why| output.line(format_args!("{} {why}", styled(NOTE, "stale:"))))?;
        }
    }
    Ok(Some(outcome))
}

/// None: here is no working copy with a list, or none that knows the task.
fn held(receipt: &Receipt) -> Result<Option<Held>, Error> {
    let Some(workspace) = here()? else { return Ok(None) };
    let (list, store) = (file(&workspace), receipt.store.parse::<Store>());
    let Some(store) = store.ok().filter(|_| list.is_file()) else { return Ok(None) };
    let id = receipt.task_id.as_str();
    let asked = block_on(async {
        let (reach, _) = repository(&list)?;
        let client = Client::open(&reach, Some(store), Access::Existing, Loops::LeftToOthers).await?;
        let client = client.acting(actor(None));
        let todo = client.get(Target::new(["v1", "todos", id])).await?;
        let history =
            client.get(Target::new(["v1", "items", id, "log"]).with("limit", Some(PAGE_MAX))).await?;
        Ok((todo.read::<Shown>()?, history.text))
    });
    let (todo, history) = match asked {
        Err(Error::Refused(_)) => return Ok(None),
        asked => asked?,
    };
    let mut held = Held::default();
    if let Some(entry) = receipt.entry_sha256.filter(|entry| !history.contains(&entry.to_string())) {
        held.faults.push(format!("its log entry {entry} is not in the history of {id} here"));
    }
    if !history.contains(&receipt.sha256.to_string()) {
        held.faults.push(format!("{id} has no such proof here"));
    }
    if let Some(newest) = todo.proof_sha256.as_ref().filter(|newest| **newest != receipt.sha256.to_string()) {
        held.stale.push(format!("a newer proof is kept: {newest}"));
    }
    let plan = todo.plan();
    let artifacts = block_on(async {
        let mut found = BTreeMap::new();
        for path in receipt.proof.artifacts.iter().map(|one| &one.path) {
            // Whoever asks about one receipt waits until all that it names is read.
            let artifact = artifact(&workspace, path, Deadline::never()).await?;
            found.insert(path.clone(), artifact.map(|artifact| artifact.sha256));
        }
        Ok(found)
    })?;
    let trees = workspace.trees()?;
    let tree = trees.now()?;
    let declared = receipt.proof.paths.iter().map(|one| one.path.clone()).collect();
    let entries = trees.entries(&tree, &declared)?;
    let plan = plan.as_ref();
    let now = Now { at: now(), tree: Some(&tree), entries: &entries, artifacts: &artifacts, plan };
    held.stale.extend(receipt.proof.drift(receipt.proved_at, &now).iter().map(ToString::to_string));

    Ok(Some(held))
}
