//! `tenure doc result`: what the steps of a document's latest run have made of it. A text is shown as it is, anything else as JSON.

use serde::Deserialize;
use serde_json::Value;

use super::{Document, Page, not_completed, one};
use crate::cli::DocResult;
use crate::client::{Client, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, STRONG, styled};

#[derive(Deserialize)]
struct Artifact {
    name: String,
    size: u64,
    /// None: it is too large to be listed.
    value: Option<Value>,
}

pub fn run(arguments: &DocResult, output: &mut Output) -> Result<Outcome, Error> {
    block_on(async {
        let client = Client::at(&arguments.at, Access::Existing).await?;
        let document: Document = client.get(one(&arguments.id)).await?.read()?;
        let Some(run) = document.run_id.clone().filter(|_| document.status == "COMPLETED") else {
            return Err(not_completed(document));
        };
        if let Some(step) = &arguments.step {
            let reply = client.get(artifact(&run, step)).await?;
            match arguments.form.json {
                true => output.line(&reply.text)?,
                false => output.line(text(&reply.read::<Artifact>()?.value.unwrap_or_default()))?,
            }
            return Ok(Outcome::Done);
        }
        let reply = client.get(Target::new(["v1", "runs", &run, "artifacts"])).await?;
        if arguments.form.json {
            output.line(&reply.text)?;
            return Ok(Outcome::Done);
        }
        let page: Page<Artifact> = reply.read()?;
        for made in page.items {
            output.line(styled(STRONG, format!("{} ({} bytes)", made.name, made.size)))?;
            let value = match made.value {
                Some(value) => value,
                None => client
                    .get(artifact(&run, &made.name))
                    .await?
                    .read::<Artifact>()?
                    .value
                    .unwrap_or_default(),
            };
            output.line(text(&value))?;
        }
        Ok(Outcome::Done)
    })
}

fn artifact(run: &str, step: &str) -> Target {
    Target::new(["v1", "runs", run, "artifacts", step])
}

/// What people read: a text, the text of what has one beside its structure, or else JSON.
fn text(value: &Value) -> String {
    match (value.as_str(), value["text"].as_str()) {
        (Some(text), _) | (None, Some(text)) => text.trim_end().to_string(),
        (None, None) => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}
