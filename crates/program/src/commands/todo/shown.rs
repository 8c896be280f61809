//! Tasks as people read them.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenure_core::time::Time;
use tenure_databases::outside::now;
use tenure_systems::gate::Gate;
use tenure_systems::todos::plan::Plan;
use tenure_systems::todos::receipt::{Basis, DeclaredPath, Drift, Entries};

use crate::outcome::Error;
use crate::output::{BAD, FAINT, GOOD, NOTE, Output, STRONG, styled};

/// As the service shows it; what is not told of here is left out.
#[derive(Clone, Debug, Deserialize)]
pub struct Shown {
    pub todo_id: String,
    pub title: String,
    pub description: Option<String>,
    pub state: String,
    pub priority: i32,
    pub tags: Vec<String>,
    pub owner_id: Option<String>,
    pub claimed_until: Option<String>,
    pub depends: Vec<String>,
    pub parent: Option<String>,
    pub plan_version: Option<u32>,
    pub gates: Vec<String>,
    pub attestations: Vec<Attested>,
    pub proof_sha256: Option<String>,
    pub proved_at: Option<String>,
    pub proved_tree: Option<String>,
    #[serde(default)]
    pub proved_paths: Vec<DeclaredPath>,
    pub stale: Vec<String>,
    pub reason: Option<String>,
    pub created_by: String,
    pub created_at: String,
    pub receipt: Option<String>,
}

/// The working copy as it is now. Parts that could not be read are left out.
#[derive(Clone, Debug, Default)]
pub struct WorkingCopy {
    pub tree: Option<String>,
    /// At the paths that proofs name.
    pub entries: Entries,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Attested {
    pub approved: bool,
    pub by: String,
    pub gate: String,
    pub note: Option<String>,
    pub at: String,
}

impl Shown {
    pub fn is_attested(&self, gate: &str) -> bool {
        self.last_word(gate).is_some_and(|last| last.approved)
    }

    /// Whether a proof of it is of any use that this agent brings: the task is theirs, or it is proved already and may be proved again.
    pub fn may_be_proved_by(&self, agent: &str) -> bool {
        match self.state.as_str() {
            "Claimed" => self.owner_id.as_deref() == Some(agent),
            state => state == "Verified",
        }
    }

    /// What was last said to a gate: it counts.
    fn last_word(&self, gate: &str) -> Option<&Attested> {
        self.attestations.iter().rev().find(|one| one.gate == gate)
    }

    /// The plan in force. None: what is kept is no plan.
    pub fn plan(&self) -> Option<Plan> {
        let gates: Result<Vec<Gate>, _> = self.gates.iter().map(|gate| gate.parse()).collect();
        gates.ok().zip(self.plan_version).map(|(gates, version)| Plan { version, gates })
    }

    /// With what only the workspace knows: the tree is not the one that was proved, or a file is not.
    pub fn on(mut self, copy: &WorkingCopy, files: Vec<Drift>) -> Shown {
        let basis = self.proved_tree.as_deref().map(|tree| Basis { tree, paths: &self.proved_paths });
        let drift = basis.map(|basis| basis.drift(copy.tree.as_deref(), &copy.entries));
        let told: Vec<String> = drift.iter().flatten().chain(&files).map(ToString::to_string).collect();
        // A path that is declared may also be one that a gate looks at.
        for drift in told {
            if !self.stale.contains(&drift) {
                self.stale.push(drift);
            }
        }
        self
    }

    fn state(&self) -> String {
        match (self.state.as_str(), self.stale.is_empty()) {
            ("Verified", true) => styled(GOOD, "Verified"),
            ("Verified", false) => styled(NOTE, "Verified, stale"),
            ("Claimed", _) => styled(STRONG, "Claimed"),
            ("Abandoned", _) => styled(FAINT, "Abandoned"),
            (state, _) => state.to_string(),
        }
    }

    /// Whether the claim is over and nobody has come by since to end it.
    fn has_lapsed(&self) -> bool {
        let until = self.claimed_until.as_deref().and_then(|until| until.parse::<Time>().ok());
        until.is_some_and(|until| until <= now())
    }

    /// What a line of the list says besides: who has it, or what it waits for.
    fn note(&self) -> String {
        match (&self.owner_id, self.depends.len()) {
            (Some(owner), _) if self.has_lapsed() => format!("lapsed; it was {owner}'s"),
            (Some(owner), _) => {
                format!("{owner} until {}", clock(self.claimed_until.as_deref().unwrap_or_default()))
            }
            (None, 0) => self.tags.join(" "),
            (None, 1) => format!("after {}", self.depends[0]),
            (None, number) => format!("after {number} others"),
        }
    }
}

/// `2026-11-16 16:04`.
fn clock(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}

/// What became of it, in a line.
pub fn brief(todo: &Shown) -> String {
    format!("{} {} {}", todo.todo_id, todo.state(), todo.title)
}

pub fn table(todos: &[Shown], output: &mut Output) -> Result<(), Error> {
    let row = |todo: &Shown| {
        let priority = if todo.priority == 0 { String::new() } else { todo.priority.to_string() };
        [todo.todo_id.clone(), todo.state(), priority, todo.title.clone(), todo.note()]
    };
    output.table(["id", "state", "prio", "title", ""], todos.iter().map(row))
}

pub fn whole(todo: &Shown, titles: &BTreeMap<String, String>, output: &mut Output) -> Result<(), Error> {
    output.line(format_args!("{}  {}", styled(STRONG, &todo.title), todo.state()))?;
    output.line(&todo.todo_id)?;
    if let Some(description) = &todo.description {
        output.line(format_args!("\n{description}\n"))?;
    }
    if let Some(owner) = &todo.owner_id {
        let until = clock(todo.claimed_until.as_deref().unwrap_or_default());
        output.line(format_args!(
            "claimed by {owner} until {until}, longer with every command of the session"
        ))?;
    }
    if let Some(reason) = &todo.reason {
        output.line(format_args!("because: {reason}"))?;
    }
    for id in &todo.depends {
        output.line(format_args!("depends on {id} {}", titles.get(id).map_or("", String::as_str)))?;
    }
    if let Some(parent) = &todo.parent {
        output.line(format_args!("part of {parent} {}", titles.get(parent).map_or("", String::as_str)))?;
    }
    if !todo.tags.is_empty() {
        output.line(format_args!("tags: {}", todo.tags.join(" ")))?;
    }
    match todo.plan_version {
        None => output.line(styled(BAD, "its plan can not be read; `tenure todo plan` gives it another"))?,
        Some(_) if todo.gates.is_empty() => output.line("gates: validate")?,
        Some(version) => output.line(format_args!("gates (plan {version}): validate"))?,
    }
    for gate in &todo.gates {
        let waits = gate.contains("human:") && !todo.is_attested(gate);
        let said = match (waits, todo.last_word(gate)) {
            (false, _) => String::new(),
            (true, None) => styled(NOTE, "  waits for a person"),
            (true, Some(_)) => styled(BAD, "  a person said no; it waits for a yes"),
        };
        output.line(format_args!("  {gate}{said}"))?;
    }
    for one in &todo.attestations {
        let note = one.note.as_deref().map_or(String::new(), |note| format!(": {note}"));
        let word = if one.approved { "yes" } else { "no" };
        output.line(format_args!("  {} said {word} to {} at {}{note}", one.by, one.gate, clock(&one.at)))?;
    }
    if let (Some(proof), Some(at)) = (&todo.proof_sha256, &todo.proved_at) {
        output.line(format_args!("proved {} by {proof}", clock(at)))?;
    }
    for drift in &todo.stale {
        output.line(format_args!("{} {drift}", styled(NOTE, "stale:")))?;
    }
    // In which session is of no use to anybody who reads it here.
    let by = todo.created_by.split('/').next().unwrap_or_default();
    output.line(format_args!("added {} by {by}", clock(&todo.created_at)))
}
