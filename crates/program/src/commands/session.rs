//! `tenure session`: the time in which you or an agent work on tasks.

use serde::Deserialize;
use serde_json::json;
use tenure_systems::todos::{ACQUIRE, acquire_as};

use super::todo::desk::{Desk, sessions};
use crate::cli::{Session, SessionOf};
use crate::client::{Reply, Target};
use crate::database::run as block_on;
use crate::outcome::{Error, Outcome, Refused};
use crate::output::Output;

#[derive(Debug, Deserialize)]
struct Shown {
    session_id: String,
    agent_id: String,
    store: String,
    expires_at: String,
    session: Option<String>,
    #[serde(default)]
    shared_with: Vec<Live>,
    free_agent_id: Option<String>,
}

/// Another live session of the same agent.
#[derive(Debug, Deserialize)]
struct Live {
    session_id: String,
    workspace: Option<String>,
}

pub fn run(command: Session, output: &mut Output) -> Result<Outcome, Error> {
    let done = match command {
        Session::Acquire(arguments) => acquire(&arguments, output),
        Session::Show(arguments) => show(&arguments, output),
        Session::Release(arguments) => release(&arguments, output),
    };
    done.map_err(Error::of_tasks)
}

/// What a shell evaluates: the session is in the environment of whatever is run from then on.
fn acquire(arguments: &SessionOf, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async {
        let desk = Desk::open(&arguments.at).await?;
        let workspace = desk.workspace.as_ref().map(|workspace| workspace.root.display().to_string());
        let body = match desk.session() {
            Some(session) => json!({ "session": session }),
            None => json!({ "workspace": workspace }),
        };
        desk.client.post(sessions(), &body).await
    })?;
    if arguments.form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let made: Shown = reply.read()?;
    let token =
        made.session.as_ref().ok_or_else(|| Error::Strange("the answer has no session".to_string()))?;
    output.line(format_args!("export TENURE_SESSION={token}"))?;
    output.line(format_args!(
        "# session {} of {} in store {}, until {} and longer with every command",
        made.session_id, made.agent_id, made.store, made.expires_at
    ))?;
    remark_shared(&made, output);
    Ok(Outcome::Done)
}

/// On standard error: a shell evaluates standard output.
fn remark_shared(made: &Shown, output: &mut Output) {
    let [first, others @ ..] = &made.shared_with[..] else { return };
    let place = first.workspace.as_ref().map_or(String::new(), |place| format!(" in {place}"));
    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    output.remark(format_args!(
        "another session of {} is live{place} ({}{more}); sessions of one name share their claims",
        made.agent_id, first.session_id
    ));
    if let Some(free) = &made.free_agent_id {
        output.remark(format_args!("for claims of your own: {}", acquire_as(free)));
    }
}

/// The live session that the environment names.
async fn named(desk: &Desk) -> Result<Reply, Error> {
    match desk.session() {
        Some(session) => desk.client.post(sessions(), &json!({ "session": session })).await,
        None => Err(none()),
    }
}

fn none() -> Error {
    let refused = Refused {
        code: "SESSION_REQUIRED".to_string(),
        detail: "no session is named: TENURE_SESSION is not set".to_string(),
        fix: Some(ACQUIRE.to_string()),
        ..Refused::default()
    };
    Error::Refused(Box::new(refused))
}

fn show(arguments: &SessionOf, output: &mut Output) -> Result<Outcome, Error> {
    let reply = block_on(async {
        let desk = Desk::open(&arguments.at).await?;
        named(&desk).await
    })?;
    if arguments.form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let found: Shown = reply.read()?;
    output.line(format_args!("{} of {} in store {}", found.session_id, found.agent_id, found.store))?;
    output.line(format_args!("until {}, longer with every command", found.expires_at))?;
    Ok(Outcome::Done)
}

fn release(arguments: &SessionOf, output: &mut Output) -> Result<Outcome, Error> {
    let found = block_on(async {
        let desk = Desk::open(&arguments.at).await?;
        let found: Shown = named(&desk).await?.read()?;
        let client = desk.client.clone().acting(format!("worker:{}", found.agent_id));
        client.delete(Target::new(["v1", "sessions", &found.session_id]), &json!({})).await?;
        Ok(found)
    })?;
    match arguments.form.json {
        true => output.json(&json!({ "session_id": found.session_id, "released": true }))?,
        false => output.line(format_args!(
            "session {} has ended; what it held is on the list again",
            found.session_id
        ))?,
    }
    Ok(Outcome::Done)
}
