//! `tenure pause KIND`, `tenure resume KIND`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::cli::{Pause, PauseOf, Resume};
use crate::client::{Client, Reply, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::time::{Stopwatch, pause};

/// How soon a drain looks again, and how late at most.
const LOOK_MIN: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_secs(1);

pub fn run(arguments: &Pause, output: &mut Output) -> Result<Outcome, Error> {
    let Pause { said, drain, timeout } = arguments;
    let PauseOf { kind, form, .. } = said;
    let shown = block_on(async {
        let client = Client::at(&said.at, Access::Existing).await?;
        let shown = say(&client, said, Say::Pause).await?.text;
        match drain {
            true => emptied(&client, kind, timeout.map(Duration::from_secs), shown).await,
            false => Ok(shown),
        }
    })?;
    match (form.json, drain) {
        (true, _) => output.line(shown)?,
        (false, true) => {
            output.line(format!("{kind} is paused and none is held; `tenure resume {kind}` lets it go on"))?
        }
        (false, false) => output.line(format!("{kind} is paused; `tenure resume {kind}` lets it go on"))?,
    }
    Ok(Outcome::Done)
}

pub fn resume(arguments: &Resume, output: &mut Output) -> Result<Outcome, Error> {
    let PauseOf { kind, at, form, .. } = &arguments.said;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        say(&client, &arguments.said, Say::Resume).await
    })?;
    match form.json {
        true => output.line(reply.text)?,
        false => output.line(format!("{kind} goes on"))?,
    }
    Ok(Outcome::Done)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Say {
    Pause,
    Resume,
}

async fn say(client: &Client, said: &PauseOf, say: Say) -> Result<Reply, Error> {
    let body = json!({ "kind": said.kind, "paused": say == Say::Pause, "reason": said.reason });
    client.post(limits(), &body).await
}

fn limits() -> Target {
    Target::new(["v1", "limits"])
}

/// The part of what holds a kind back that says how much of it is held.
#[derive(Deserialize)]
struct Shown {
    kind: String,
    active: u64,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
}

fn active_of(shown: &str) -> Result<Shown, Error> {
    serde_json::from_str(shown).map_err(|why| Error::Strange(format!("an answer that does not fit: {why}")))
}

/// Waits until none is held, and has what is shown of the kind then. Nothing new can be: the pause holds on every node from the moment it was answered.
async fn emptied(
    client: &Client,
    kind: &str,
    patience: Option<Duration>,
    mut shown: String,
) -> Result<String, Error> {
    let (began, mut look) = (Stopwatch::start(), LOOK_MIN);
    loop {
        let active = active_of(&shown)?.active;
        if active == 0 {
            return Ok(shown);
        }
        if patience.is_some_and(|patience| began.elapsed() >= patience) {
            return Err(Error::StillHeld { kind: kind.to_string(), active });
        }
        pause(look).await;
        look = (look * 2).min(LOOK_MAX);
        let page: Page = client.get(limits()).await?.read()?;
        for raw in page.items {
            if active_of(raw.get())?.kind == kind {
                shown = raw.get().to_string();
            }
        }
    }
}
