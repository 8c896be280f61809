//! `tenure pause KIND`, `tenure resume KIND`.

use serde_json::json;

use crate::cli::PauseOf;
use crate::client::{Client, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(said: &PauseOf, paused: bool, output: &mut Output) -> Result<Outcome, Error> {
    let PauseOf { kind, reason, at, form } = said;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        let body = json!({ "kind": kind, "paused": paused, "reason": reason });
        client.post(Target::new(["v1", "limits"]), &body).await
    })?;
    match (form.json, paused) {
        (true, _) => output.line(reply.text)?,
        (false, true) => output.line(format!("{kind} is paused; `tenure resume {kind}` lets it go on"))?,
        (false, false) => output.line(format!("{kind} goes on"))?,
    }
    Ok(Outcome::Done)
}
