//! `tenure explain`: why an item is where it is, what happens to it by itself, and what somebody can do.

use tenure::{Explanation, Facts, Failed, Move, Related, Tries, explain};
use tenure_databases::Database;
use tenure_databases::look::Look;

use crate::cli::Explain;
use crate::database::{self, Access, Work};
use crate::outcome::{Error, Outcome};
use crate::output::{FAINT, Output, STRONG, count, styled};

pub fn run(arguments: &Explain, output: &mut Output) -> Result<Outcome, Error> {
    let told = database::with(&arguments.db.url, Access::Existing, Asked { arguments })?;
    match arguments.form.json {
        true => output.json(&told)?,
        false => output.text(&page(&told))?,
    }
    Ok(Outcome::Done)
}

struct Asked<'a> {
    arguments: &'a Explain,
}

impl Work for Asked<'_> {
    type Done = Explanation;

    async fn run<D: Database + Look>(self, database: &D) -> Result<Explanation, Error> {
        let Explain { item, store, .. } = self.arguments;
        let facts = Facts::read(database, store, *item).await?;
        let facts = facts.ok_or_else(|| Error::NoItem { item: *item, store: store.clone() })?;
        Ok(explain(&facts))
    }
}

/// A sentence, then lines under their labels.
fn page(told: &Explanation) -> String {
    let mut page = format!("{}\n\n", styled(STRONG, &told.summary));
    let mut lines = |label: &str, lines: Vec<String>| {
        for (number, line) in lines.into_iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            page.push_str(&format!("{}  {line}\n", styled(FAINT, format!("{label:8}"))));
        }
    };
    lines("state", state(told));
    lines("because", told.because.iter().map(|because| because.text.clone()).collect());
    lines("held", held(told));
    lines("next", vec![next(told)]);
    lines("can", told.moves.iter().map(can).collect());
    lines("attempts", told.attempts.iter().filter(|tries| tries.made > 0).map(attempts).collect());
    lines("failed", told.failures.iter().map(failed).collect());
    lines("made", told.ended.iter().flat_map(|ended| &ended.created).map(ToString::to_string).collect());
    lines("links", told.links.iter().map(link).collect());
    lines("origin", origin(told));
    lines("writes", told.refused_writes.iter().cloned().collect());
    page
}

fn state(told: &Explanation) -> Vec<String> {
    let (Some(state), Some(phase)) = (&told.state, told.phase) else { return Vec::new() };
    let since = told.since.map_or(String::new(), |since| format!(" since {since}"));
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
    lines.extend(held.window_ends_at.map(|ends| format!("its window ends at {ends}")));
    lines.extend(held.session.map(|session| format!("under session {session}")));
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

fn attempts(tries: &Tries) -> String {
    let made = count(usize::try_from(tries.made).unwrap_or(usize::MAX), "attempt");
    let left = tries.left.map_or(String::new(), |left| format!(", {left} left"));
    format!("{made}, {} failed, {} given back{left}", tries.failed, tries.given_back)
}

fn failed(failed: &Failed) -> String {
    let reason = failed.reason.as_deref().unwrap_or("no reason was given");
    format!("attempt {} of {} with {} at {}: {reason}", failed.attempt, failed.owner, failed.event, failed.at)
}

fn link(link: &Related) -> String {
    let label = link.label.as_deref().unwrap_or_default();
    let state = link.state.as_deref().unwrap_or("not in this store");
    format!("{label} {} {state}", link.id)
}

fn origin(told: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(told.retry_of.map(|item| format!("it tries {item} again")));
    lines.extend(told.made_by.map(|item| format!("it was made by {item}")));
    lines
}
