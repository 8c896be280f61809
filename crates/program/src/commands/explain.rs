//! `tenure explain`: why an item is where it is, what happens to it by itself, and what somebody can do.

use serde::Deserialize;

use crate::cli::Explain;
use crate::client::{Client, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{FAINT, Output, STRONG, count, joined, styled};

pub fn run(arguments: &Explain, output: &mut Output) -> Result<Outcome, Error> {
    let Explain { item, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.get(Target::new(["v1", "items", item, "explain"])).await
    })?;
    match form.json {
        true => output.line(reply.text)?,
        false => output.text(&page(&reply.read()?))?,
    }
    Ok(Outcome::Done)
}

/// The parts of the service's explanation that are shown.
#[derive(Deserialize)]
struct Explanation {
    summary: String,
    state: Option<String>,
    phase: Option<String>,
    meaning: String,
    since: Option<String>,
    because: Vec<Said>,
    next: Option<Said>,
    moves: Vec<Move>,
    held: Option<Held>,
    ended: Option<Ended>,
    attempts: Option<Tries>,
    failures: Vec<Failed>,
    links: Vec<Related>,
    retry_of: Option<String>,
    made_by: Option<String>,
    refused_writes: Option<String>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Said {
    text: String,
}

#[derive(Deserialize)]
struct Move {
    event: String,
    roles: Vec<String>,
    needs: Vec<String>,
    barred: Option<String>,
    command: Option<String>,
}

#[derive(Deserialize)]
struct Held {
    status: String,
    #[serde(flatten)]
    lease: Lease,
    window_ends_at: Option<String>,
    session: Option<String>,
}

#[derive(Deserialize)]
struct Lease {
    owner_id: String,
    acquired_at: String,
    claim_version: u64,
}

#[derive(Deserialize)]
struct Ended {
    created: Vec<String>,
}

#[derive(Deserialize)]
struct Tries {
    made: u64,
    failed: u64,
    given_back: u64,
    left: Option<u64>,
}

#[derive(Deserialize)]
struct Failed {
    attempt: u64,
    owner: String,
    event: String,
    at: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Refused {
    attempt: u64,
    owner: String,
    write: String,
    code: String,
    times: usize,
    at: String,
}

#[derive(Deserialize)]
struct Related {
    id: String,
    label: Option<String>,
    state: Option<String>,
}

/// A sentence, then lines under their labels.
fn page(told: &Explanation) -> String {
    let mut page = format!("{}\n\n", styled(STRONG, joined(&told.summary)));
    let mut lines = |label: &str, lines: Vec<String>| {
        // What has several lines itself stays under its label, too.
        for (number, line) in lines.iter().flat_map(|text| text.lines()).enumerate() {
            let label = if number == 0 { label } else { "" };
            page.push_str(&format!("{}  {line}\n", styled(FAINT, format!("{label:8}"))));
        }
    };
    lines("state", state(told));
    lines("because", told.because.iter().map(|because| because.text.clone()).collect());
    lines("held", held(told));
    lines("next", vec![next(told)]);
    lines("can", told.moves.iter().map(can).collect());
    lines(
        "attempts",
        told.attempts.iter().filter(|tries| tries.made > 0).map(|tries| attempts(told, tries)).collect(),
    );
    lines("failed", told.failures.iter().map(failed).collect());
    lines("made", told.ended.iter().flat_map(|ended| &ended.created).cloned().collect());
    lines("links", told.links.iter().map(link).collect());
    lines("origin", origin(told));
    lines("writes", told.refused_writes.iter().cloned().collect());
    lines("refused", told.refused.iter().map(refused).collect());
    page
}

fn state(told: &Explanation) -> Vec<String> {
    let (Some(state), Some(phase)) = (&told.state, &told.phase) else { return Vec::new() };
    let since = told.since.as_ref().map_or(String::new(), |since| format!(" since {since}"));
    let meaning = if told.meaning.is_empty() { String::new() } else { format!(": {}", told.meaning) };
    vec![format!("{state} ({phase}){since}{meaning}")]
}

fn held(told: &Explanation) -> Vec<String> {
    let Some(held) = &told.held else { return Vec::new() };
    let lease = &held.lease;
    let mut lines = vec![format!(
        "{} by {} since {}, claim_version {}",
        held.status, lease.owner_id, lease.acquired_at, lease.claim_version
    )];
    lines.extend(held.window_ends_at.iter().map(|ends| format!("its window ends at {ends}")));
    lines.extend(held.session.iter().map(|session| format!("under session {session}")));
    lines
}

fn next(told: &Explanation) -> String {
    told.next.as_ref().map_or_else(|| "nothing happens by itself".to_string(), |next| next.text.clone())
}

fn can(one: &Move) -> String {
    let mut text = format!("{} by {}", one.event, one.roles.join("/"));
    if !one.needs.is_empty() {
        text.push_str(&format!(", with {}", one.needs.join(", ")));
    }
    if let Some(barred) = &one.barred {
        text.push_str(&format!(", but not now: {barred}"));
    }
    if let Some(command) = &one.command {
        text.push_str(&format!(": {command}"));
    }
    text
}

fn attempts(told: &Explanation, tries: &Tries) -> String {
    let made = count(usize::try_from(tries.made).unwrap_or(usize::MAX), "attempt");
    let left = tries.left.map_or(String::new(), |left| format!(", {left} left"));
    // Attempts before somebody made it ready again count for nothing any more, and are listed all the same.
    let failed = match told.failures.len() as u64 > tries.failed {
        true => format!("{} failed since it was made ready again", tries.failed),
        false => format!("{} failed", tries.failed),
    };
    format!("{made}, {failed}, {} given back{left}", tries.given_back)
}

fn failed(failed: &Failed) -> String {
    let reason = failed.reason.as_deref().unwrap_or("no reason was given");
    format!("attempt {} of {} with {} at {}: {reason}", failed.attempt, failed.owner, failed.event, failed.at)
}

fn refused(refused: &Refused) -> String {
    let Refused { attempt, owner, write, code, times, at } = refused;
    let times = if *times == 1 { String::new() } else { format!(", {times} times, last") };
    format!("{write} of attempt {attempt} by {owner}{times} at {at}: {code}")
}

fn link(link: &Related) -> String {
    let label = link.label.as_deref().unwrap_or_default();
    let state = link.state.as_deref().unwrap_or("not in this store");
    format!("{label} {} {state}", link.id)
}

fn origin(told: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(told.retry_of.iter().map(|item| format!("it tries {item} again")));
    lines.extend(told.made_by.iter().map(|item| format!("it was made by {item}")));
    lines
}
