//! done: a task is proved done, or it is not done. The gates ran where the workspace is; here their results are judged.

use std::collections::BTreeSet;

use tenure::core::actor::{Role, Roles};
use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::code::Code;
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::event::Event;
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Command, Commit, Effects, NewRecord, Note};
use tenure::databases::outside::now;

use super::asked::Proved;
use super::plan::{GATES_MAX, Plan};
use super::receipt::{AGE_MAX, FORMAT, Proof, VALIDATE};
use super::refusal::{Error, Refusal};
use super::task::{PLAN, RECEIPT, RUN, Task, name_of_run};
use super::workspace::Facts;
use super::{Changed, Todos};
use crate::gate::{Check, Gate};

impl Todos {
    /// Makes a task Verified, with a proof that every blocking gate of its plan has passed on the tree of this workspace. The proof that
    /// is current changes nothing; of a task that is Verified another one is kept beside it, and is current from then on.
    pub async fn done(
        &self,
        id: ItemId,
        proved: Option<&Proved>,
        workspace: Option<&Facts>,
    ) -> Result<Changed, Error> {
        let task = self.task(id).await?;
        let session = self.session()?.clone();
        self.workspace(workspace, &id.to_string())?;
        if task.state() == "Verified" {
            return self.prove_again(task, proved, workspace).await;
        }
        let execution = self.own(&task.item, &session, Event::Commit).await?;
        let proved = judge(&task, proved, workspace)?;
        let output = serde_json::to_vec(&proved.run).expect("this is plain data");
        let commit = Commit {
            execution,
            output: Some(body(output)?),
            effects: Effects { records: vec![receipt(&proved.proof)?], ..Effects::default() },
            finish: false,
            session: Some(session.id),
            attests: vec![Guard::Workspace, Guard::GatesPass],
        };
        let reply = self.tenure.ask(Command::Commit(commit)).await?;
        match reply.answer {
            Answer::Ran(_) | Answer::Same(_) => {
                let receipt = self.entry_of(execution, &Event::Commit).await?;
                Ok(Changed { task: self.task(id).await?, receipt, fresh: reply.fresh })
            }
            no => Err(no.into()),
        }
    }

    /// Of a task that is Verified. What is proved already and current stays as it is; a proof that was current once, of a tree that is
    /// there again or too old, is kept as one more run of it.
    async fn prove_again(
        &self,
        task: Task,
        proved: Option<&Proved>,
        workspace: Option<&Facts>,
    ) -> Result<Changed, Error> {
        let proved = judge(&task, proved, workspace)?;
        let hash = proved.proof.hash();
        if is_current(&task, &hash) {
            return self.unchanged(task).await;
        }
        let times = task.receipts.iter().find(|kept| kept.sha256 == hash).map_or(0, |kept| kept.times);
        let run = serde_json::to_vec(&proved.run).expect("this is plain data");
        let run = record(RUN, &name_of_run(&hash, times), body(run)?)?;
        match self.note(task.id(), vec![receipt(&proved.proof)?, run]).await {
            // Two who prove the same at the same time give their runs the same name.
            Err(no) if no.code() == Some(Code::InvalidRequest) => {
                let task = self.task(task.id()).await?;
                if is_current(&task, &hash) { self.unchanged(task).await } else { Err(no) }
            }
            noted => noted,
        }
    }

    /// It was proved already: the answer is the entry of that.
    async fn unchanged(&self, task: Task) -> Result<Changed, Error> {
        let history = self.tenure.history(task.id()).await?;
        let version = task.proved().map(|kept| kept.version);
        let entry = history.iter().find(|entry| Some(entry.version) == version);
        let receipt = entry.map_or(task.item.head, |entry| entry.hash());
        Ok(Changed { task, receipt, fresh: false })
    }

    /// Gives a task another plan: a new version. Not for agents; they would judge themselves. What is Abandoned is proved by nobody any
    /// more; of what is Verified the proof is stale from then on.
    pub async fn replan(&self, id: ItemId, gates: Vec<Gate>) -> Result<Changed, Error> {
        let task = self.task(id).await?;
        self.only("plan", Roles::NONE.with(Role::Api).with(Role::Human).with(Role::Admin))?;
        if task.state() == "Abandoned" {
            let detail = format!("{id} is Abandoned, which is final; a plan would hold for nothing");
            return Err(Refusal::new(Code::TransitionRefused, detail).with("state", task.state()).into());
        }
        if gates.len() > GATES_MAX {
            return Err(Refusal::invalid("gates: at most 32; more belong into a script").into());
        }
        let version = task.plan.as_ref().map_or(1, |plan| plan.version);
        if task.plan.as_ref().is_some_and(|plan| plan.gates == gates) {
            return Ok(Changed { receipt: task.item.head, task, fresh: false });
        }
        let gates = serde_json::to_vec(&gates).expect("this is plain data");
        self.note(id, vec![record(PLAN, &version.saturating_add(1).to_string(), body(gates)?)?]).await
    }

    pub(super) async fn note(&self, id: ItemId, records: Vec<NewRecord>) -> Result<Changed, Error> {
        self.changed(self.tenure.ask(Command::Note(Note { item: id, records })).await?).await
    }
}

/// Whether this proof is the one that was shown last, and not too old: nothing is gained by showing it again.
fn is_current(task: &Task, hash: &Hash) -> bool {
    task.proved().is_some_and(|kept| kept.sha256 == *hash && now().since(kept.at) <= AGE_MAX)
}

/// The proof, if it is one: of this task's plan, on this tree, with nothing in it that contradicts itself.
fn judge<'a>(
    task: &Task,
    proved: Option<&'a Proved>,
    workspace: Option<&Facts>,
) -> Result<&'a Proved, Refusal> {
    let Some(plan) = &task.plan else {
        return Err(unproved(vec!["the plan can not be read: give it another".into()]));
    };
    let Some(proved) = proved else {
        let none = Proof::new(None, String::new(), Vec::new(), Vec::new());
        let mut failing = none.failing(&run_by_machines(plan));
        failing.extend(waiting(task, plan));
        return Err(unproved(failing));
    };
    let proof = &proved.proof;
    let mut failing = proof.failing(&run_by_machines(plan));
    failing.extend(waiting(task, plan));
    failing.extend(contradictions(task, plan, proof));
    failing.extend(undeclared(plan, proof));
    if proof.format != FORMAT {
        failing.push(format!("the proof has the form {}, and {FORMAT} is known", proof.format));
    }
    if !proof.is_of(plan) {
        failing.push(format!("the results are not those of the plan in force, version {}", plan.version));
    }
    let here = workspace.cloned().unwrap_or_default();
    if here.tree.as_deref() != Some(&proof.tree) || here.commit != proof.commit {
        failing.push("the tree has changed since the gates ran".into());
    }
    if failing.is_empty() { Ok(proved) } else { Err(unproved(failing)) }
}

fn unproved(failing: Vec<String>) -> Refusal {
    let detail = format!("it is not proved: {}", failing.join("; "));
    Refusal::new(Code::VerificationRequired, detail).with("failing", failing)
}

/// The plan without the gates that are passed by a person's word, which is kept here.
fn run_by_machines(plan: &Plan) -> Plan {
    let gates = plan.gates.iter().filter(|gate| !gate.is_human()).cloned().collect();
    Plan { version: plan.version, gates }
}

/// The gates that hold it up until a person says yes, each with what the last one said.
fn waiting(task: &Task, plan: &Plan) -> Vec<String> {
    let gates = plan.gates.iter().filter(|gate| gate.is_human() && gate.is_blocking());
    let waits =
        gates.filter(|gate| !task.is_attested(gate)).map(|gate| match task.last_word(&gate.to_string()) {
            Some(no) => format!("{gate} ({})", no.in_words()),
            None => format!("{gate} (waits for a person: tenure inbox approve {})", task.id()),
        });
    waits.collect()
}

/// What no honest run would bring.
fn contradictions(task: &Task, plan: &Plan, proof: &Proof) -> Vec<String> {
    let mut found = Vec::new();
    for gate in &plan.gates {
        let text = gate.to_string();
        let Some(result) = proof.results.iter().find(|result| result.gate == text) else { continue };
        let artifact = gate.path().and_then(|path| proof.artifacts.iter().find(|one| one.path == path));
        let honest = match &gate.check {
            Check::Cmd(_) | Check::Test(_) | Check::Build(_) => result.passed == (result.exit == Some(0)),
            Check::FileExists(_) => result.passed == artifact.is_some(),
            Check::FileHash { sha256, .. } => {
                result.passed == artifact.is_some_and(|one| one.sha256 == *sha256)
            }
            Check::Human(_) => result.passed == task.is_attested(gate),
        };
        match (honest, gate.is_human()) {
            (true, _) => {}
            // That it waits is said already.
            (false, true) if result.passed => {}
            (false, true) => {
                found.push(format!("{text} (a person said yes since it was looked at: run it again)"))
            }
            (false, false) => found.push(format!("{text} (its result contradicts itself)")),
        }
    }
    if proof.results.iter().filter(|result| result.gate == VALIDATE).count() > 1 {
        found.push("validate (has two results)".into());
    }
    found
}

/// Why the proof does not show what the tree has at the paths that the plan declares.
fn undeclared(plan: &Plan, proof: &Proof) -> Vec<String> {
    let declared = plan.paths().unwrap_or_default();
    let shown: BTreeSet<String> = proof.paths.iter().map(|one| one.path.clone()).collect();
    let missing = declared.difference(&shown).map(|path| {
        format!("{path} (a gate declares it, and the tree has nothing there that git does not ignore)")
    });
    let unknown = shown.difference(&declared).map(|path| format!("{path} (no gate declares it)"));
    let twice = (shown.len() < proof.paths.len()).then(|| "paths (one is named twice)".to_string());
    missing.chain(unknown).chain(twice).collect()
}

fn receipt(proof: &Proof) -> Result<NewRecord, Error> {
    record(RECEIPT, &proof.hash().to_string(), body(proof.canonical())?)
}

pub(super) fn record(label: &str, name: &str, body: Body) -> Result<NewRecord, Error> {
    let (label, name) =
        (label.parse().map_err(tenure::Error::from)?, name.parse().map_err(tenure::Error::from)?);
    Ok(NewRecord { label, name, body })
}

pub(super) fn body(bytes: Vec<u8>) -> Result<Body, Error> {
    Ok(Body::json(bytes).map_err(|problem| Refusal::new(problem.code, problem.detail))?)
}
