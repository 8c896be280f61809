//! `tenure todo receipt`, and how `tenure verify` checks such a file without asking anybody.

use std::fs;
use std::io::Write;

use serde::Serialize;
use tenure_systems::todos::receipt::{FORMAT, Receipt};

use super::desk::Desk;
use crate::cli::TodoReceipt;
use crate::client::Target;
use crate::commands::export::whole;
use crate::database::run as block_on;
use crate::outcome::{Error, Outcome};
use crate::output::{GOOD, Output, STRONG, styled};
use crate::source::STDIN;

/// A receipt with the ends of 32 outputs has some hundred kilobytes.
const FILE_BYTES_MAX: u64 = 4 << 20;

pub fn run(arguments: &TodoReceipt, output: &mut Output) -> Result<Outcome, Error> {
    let TodoReceipt { id, file, at } = arguments;
    let reply = block_on(async {
        let desk = Desk::look(at).await?;
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
    task_id: &'a str,
    sha256: String,
    faults: Vec<String>,
}

/// Checks a file, if it is a receipt. None: it is something else.
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
    let faults = receipt.faults();
    if json {
        let (sound, sha256) = (faults.is_empty(), receipt.sha256.to_string());
        output.json(&Checked {
            name: path,
            sound,
            task_id: &receipt.task_id,
            sha256,
            faults: faults.clone(),
        })?;
    }
    match faults.is_empty() {
        true if json => Ok(Some(Outcome::Done)),
        true => {
            let Receipt { title, agent, proved_at, sha256, proof, .. } = &receipt;
            output.line(format_args!("{}: {} · {title}", styled(STRONG, path), styled(GOOD, "sound")))?;
            output.line(format_args!("proved {proved_at} by {agent} on the tree {}", proof.tree))?;
            for result in &proof.results {
                let said = if result.passed { "passed" } else { "did not pass" };
                output.line(format_args!("  {} {said}", result.gate))?;
            }
            output.line(format_args!("receipt {sha256}"))?;
            Ok(Some(Outcome::Done))
        }
        false if json => Ok(Some(Outcome::Refused)),
        false => Err(Error::Unproved { file: path.to_string(), faults }),
    }
}
