//! `tenure validate`: is the list of tasks sound, and may anything be changed from here?

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_systems::todos::validate::{LIMIT, LIMIT_MIN};

use super::todo::desk::{Desk, deciding};
use super::todo::list::{Stale, stale};
use crate::cli::Validate;
use crate::client::Target;
use crate::database::run as block_on;
use crate::outcome::{Error, Outcome};
use crate::output::{BAD, GOOD, NOTE, Output, count, styled};

#[derive(Debug, Deserialize)]
struct Shown {
    passed: bool,
    looked_at: u64,
    checks: Vec<Check>,
}

#[derive(Debug, Deserialize)]
struct Check {
    check: String,
    passed: bool,
    faults: Vec<String>,
}

pub fn run(arguments: &Validate, output: &mut Output) -> Result<Outcome, Error> {
    let asked = || {
        block_on(async {
            let desk = Desk::look(&arguments.at).await?;
            desk.attend().await;
            let facts = desk.workspace.as_ref().map(|workspace| workspace.facts());
            let limit_ms = arguments.timeout.clamp(LIMIT_MIN, LIMIT).as_millis() as u64;
            // Run by a gate, it leaves out the task which that gate decides.
            let body = json!({ "workspace": facts, "except": deciding(), "all": true, "limit_ms": limit_ms });
            let target = Target::new(["v1", "todos", "validate"]);
            let reply = desk.client.clone().patient(LIMIT).post(target, &body).await?;
            // The output of a gate is part of its proof and must not depend on other proofs.
            let stale = if deciding().is_none() { stale(&desk).await? } else { Vec::new() };
            Ok((reply, stale))
        })
    };
    let (reply, stale) = output.meanwhile("validating", asked).map_err(Error::of_tasks)?;
    let found: Shown = reply.read()?;
    if arguments.form.json {
        let mut told: Map<String, Value> = reply.read()?;
        told.insert("stale".to_string(), json!(stale));
        output.json(&told)?;
    } else {
        for check in &found.checks {
            let said = if check.passed { styled(GOOD, "ok") } else { styled(BAD, "not ok") };
            output.line(format_args!("{said} {}", check.check))?;
            check.faults.iter().try_for_each(|fault| output.line(format_args!("   {fault}")))?;
        }
        for Stale { todo_id, title, stale } in &stale {
            output.line(format_args!("{} {todo_id} {title}: {}", styled(NOTE, "stale"), stale.join("; ")))?;
        }
        output.line(format_args!("{} looked at", count(found.looked_at as usize, "task")))?;
    }
    Ok(if found.passed { Outcome::Done } else { Outcome::Refused })
}
