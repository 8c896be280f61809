//! `tenure lifecycle add FILE`: puts a lifecycle in force.
//!
//! What can not be read is told as `tenure check` tells it, before anybody is asked. What the service finds when it explores the
//! table is told with the answer.

use serde::Deserialize;
use serde_json::json;

use super::Found;
use crate::cli::Add;
use crate::client::{Client, Loops, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, count};
use crate::source::Source;

/// The parts of the answer that are told.
#[derive(Deserialize)]
struct Added {
    kind: String,
    hash: String,
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct Warning {
    line: u32,
    what: String,
}

pub fn run(arguments: &Add, output: &mut Output) -> Result<Outcome, Error> {
    let Add { file, reach, form } = arguments;
    let source = Found::read(Source::read(file)?, None)?.source;
    let reply = block_on(async {
        let client = Client::open(reach, None, Access::MayCreate, Loops::LeftToOthers).await?;
        client.post(Target::new(["v1", "lifecycles"]), &json!({ "source": source.text })).await
    })?;
    if form.json {
        output.line(reply.text)?;
        return Ok(Outcome::Done);
    }
    let added: Added = reply.read()?;
    for warning in &added.warnings {
        output.line(format_args!("{}:{}: {}", source.file, warning.line, warning.what))?;
    }
    output.line(format_args!("{} is in force as {}", added.kind, added.hash))?;
    if !added.warnings.is_empty() {
        let found = count(added.warnings.len(), "warning");
        output.line(format_args!("{found}; `tenure check {file}` shows how each comes about"))?;
    }
    Ok(Outcome::Done)
}
