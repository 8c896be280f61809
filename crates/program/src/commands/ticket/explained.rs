//! `tenure ticket explain`: its runs, from what their workers left.

use serde::Deserialize;
use serde_json::Value;

use super::{client, event, reader, state};
use crate::cli::ItemOne;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::{BAD, FAINT, GOOD, Output, styled};

#[derive(Debug, Deserialize)]
struct Explanation {
    ticket_id: String,
    title: String,
    state: String,
    runs: Vec<Run>,
    blockers: Vec<Blocker>,
}

#[derive(Debug, Deserialize)]
struct Blocker {
    blocker_id: String,
    reason: String,
    state: String,
}

#[derive(Debug, Deserialize)]
struct Run {
    event_id: String,
    announced_at: String,
    reason: Option<String>,
    #[serde(default)]
    context_snapshot: Value,
    work_order_id: Option<String>,
    work_order_state: Option<String>,
    #[serde(default)]
    output_bundle: Value,
    gate_id: Option<String>,
    gate_state: Option<String>,
    #[serde(default)]
    run_record: Value,
    #[serde(default)]
    pause_state: Value,
}

pub fn run(arguments: &ItemOne, output: &mut Output) -> Result<Outcome, Error> {
    let ItemOne { id, at, form } = arguments;
    let reply =
        block_on(async { client(at, Access::Existing, reader()).await?.get(event(id, "explain")).await })?;
    if form.json {
        output.line(&reply.text)?;
        return Ok(Outcome::Done);
    }
    let explained: Explanation = reply.read()?;
    output.line(format!("{} {} {}", explained.ticket_id, state(&explained.state), explained.title))?;
    if explained.runs.is_empty() {
        output.line("  it has had no run yet")?;
    }
    for (index, run) in explained.runs.iter().enumerate() {
        output.line(format!("run {}", index + 1))?;
        for (name, line) in lines(run) {
            output.line(format!("  {}{line}", styled(FAINT, format!("{name:<12}"))))?;
        }
    }
    for blocker in &explained.blockers {
        output.line(format!("blocker {} {}: {}", blocker.blocker_id, blocker.state, blocker.reason))?;
    }
    Ok(Outcome::Done)
}

/// A run, a line an artifact.
fn lines(run: &Run) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let reason = run.reason.as_deref().unwrap_or("it waits for the scheduler");
    lines.push(("event", format!("{} at {}: {reason}", run.event_id, run.announced_at)));
    let approval = &run.context_snapshot["approval"];
    if approval.is_object() {
        let note = approval["note"].as_str().map_or(String::new(), |note| format!(": {note}"));
        lines.push(("approved", format!("by {} at {}{note}", text(&approval["by"]), text(&approval["at"]))));
    }
    if let Some(order) = &run.work_order_id {
        let number = run.context_snapshot["number"].as_u64().unwrap_or(1);
        let state = run.work_order_state.as_deref().unwrap_or_default();
        lines.push(("work order", format!("{order} (number {number}): {state}")));
    }
    let bundle = &run.output_bundle;
    if bundle.is_object() {
        let why = bundle["reason"].as_str().map_or(String::new(), |why| format!(": {why}"));
        let took = bundle["took_ms"].as_u64().unwrap_or_default();
        lines.push(("output", format!("{} after {took} ms{why}", text(&bundle["outcome"]))));
        if let Some(branch) = bundle["patch"]["branch"].as_str() {
            lines.push(("branch", branch.to_string()));
        }
    }
    if let Some(gate) = &run.gate_id {
        lines.push(("gate", format!("{gate}: {}", run.gate_state.as_deref().unwrap_or_default())));
    }
    for next in next(run) {
        lines.push(("next", next));
    }
    for gate in run.run_record["gates"].as_array().into_iter().flatten() {
        let mark = if gate["passed"] == true { styled(GOOD, "passed") } else { styled(BAD, "failed") };
        lines.push(("", format!("{mark} {}: {}", text(&gate["gate"]), text(&gate["detail"]))));
    }
    if run.run_record.is_object() {
        let moved = run.run_record["moved_to"].as_str().unwrap_or("nowhere");
        lines.push(("verdict", format!("{}, to {moved}", text(&run.run_record["verdict"]))));
    }
    if run.pause_state.is_object() {
        lines.push(("paused", text(&run.pause_state["reason"])));
        for action in run.pause_state["next_actions"].as_array().into_iter().flatten() {
            lines.push(("next", text(action)));
        }
    }
    lines
}

/// What a run waits for that has not paused.
fn next(run: &Run) -> Vec<String> {
    let patch = &run.output_bundle["patch"];
    match (run.work_order_state.as_deref(), run.gate_state.as_deref(), &run.gate_id) {
        (Some("CREATED"), ..) => {
            vec!["a runner carries it out: tenure runner -- COMMAND, in a git repository".to_string()]
        }
        (_, Some("AWAITING"), Some(gate)) => {
            let diff = patch["base"].as_str().zip(patch["branch"].as_str());
            let look = diff.map(|(base, branch)| format!("look at it: git diff {base}..{branch}"));
            let say = format!("say so: tenure inbox approve {gate} --note NOTE, or reject");
            look.into_iter().chain([say]).collect()
        }
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}
