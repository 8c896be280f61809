//! Tasks, sessions and proofs as they are shown and asked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure::core::hash::Hash;
use tenure::databases::outside::now;
use tenure_systems::todos::receipt::{Artifact, DeclaredPath, GateResult, Now, Proof, Receipt, Run};
use tenure_systems::todos::session::Shared;
use tenure_systems::todos::validate::{Report, Scope};
use tenure_systems::todos::workspace::Facts;
use tenure_systems::todos::{Changed, Session, Task};
use utoipa::ToSchema;

use crate::problem::Problem;

/// Where the caller works.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceBody {
    /// The branch that is checked out. Left out: none is.
    branch: Option<String>,
    commit: Option<String>,
    /// Where it is, for people.
    path: Option<String>,
    /// The tree of the working copy, with all that is not committed in it.
    tree: Option<String>,
}

impl From<WorkspaceBody> for Facts {
    fn from(body: WorkspaceBody) -> Facts {
        let WorkspaceBody { branch, commit, path, tree } = body;
        Facts { branch, commit, path, tree }
    }
}

/// A file that a gate looked at.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofArtifactView {
    path: String,
    sha256: String,
}

/// A file or a folder that a gate declares, and what the tree has there as `git ls-tree` prints it: mode, type and object.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofPathView {
    entry: String,
    path: String,
}

impl From<&DeclaredPath> for ProofPathView {
    fn from(declared: &DeclaredPath) -> ProofPathView {
        ProofPathView { entry: declared.entry.clone(), path: declared.path.clone() }
    }
}

impl From<ProofPathView> for DeclaredPath {
    fn from(view: ProofPathView) -> DeclaredPath {
        DeclaredPath { entry: view.entry, path: view.path }
    }
}

/// What came of a gate.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GateResultView {
    /// As the plan has it, or `validate`, which comes first.
    gate: String,
    /// Left out where no command ran.
    exit: Option<i32>,
    /// Of the normalized output.
    output_sha256: String,
    passed: bool,
}

fn hash(field: &str, text: &str) -> Result<Hash, Problem> {
    text.parse().map_err(|_| Problem::wrong(field, "a hash has 64 hexadecimal digits in lower case"))
}

impl GateResultView {
    pub fn read(self) -> Result<GateResult, Problem> {
        let output_sha256 = hash("results.output_sha256", &self.output_sha256)?;
        Ok(GateResult { gate: self.gate, exit: self.exit, output_sha256, passed: self.passed })
    }
}

impl ProofArtifactView {
    pub fn read(self) -> Result<Artifact, Problem> {
        Ok(Artifact { sha256: hash("artifacts.sha256", &self.sha256)?, path: self.path })
    }
}

/// A person's word on a `human:` gate. The newest one counts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AttestationView {
    /// False: they said no.
    approved: bool,
    by: String,
    gate: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    at: String,
}

/// A task.
#[derive(Debug, Serialize, ToSchema)]
pub struct TodoView {
    pub todo_id: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Draft, Claimed, Verified or Abandoned.
    state: String,
    priority: i8,
    tags: Vec<String>,
    store: String,
    version: u64,
    /// Who holds it, in which session, and until when unless that session is used again.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_until: Option<String>,
    /// What must be Verified before it can be claimed.
    depends: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_reference: Option<String>,
    /// Of the plan in force. Left out: what is kept is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_version: Option<u32>,
    gates: Vec<String>,
    /// What people said to its `human:` gates, oldest first.
    attestations: Vec<AttestationView>,
    /// Of the newest proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proved_at: Option<String>,
    /// The tree that it was proved on.
    #[serde(skip_serializing_if = "Option::is_none")]
    proved_tree: Option<String>,
    /// The paths that its gates declare, as they were proved. Empty: the proof depends on the whole tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    proved_paths: Vec<ProofPathView>,
    /// In which ways the newest proof is not current any more, as far as can be told without the workspace.
    stale: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    created_at: String,
    created_by: String,
    updated_at: String,
    /// The canonical hash of the log entry of the change that this answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<String>,
}

impl TodoView {
    pub fn of(task: &Task) -> TodoView {
        let item = &task.item;
        let lease = item.lease.as_ref();
        let shown = |id: &tenure::core::id::ItemId| id.to_string();
        let proved = task.proved();
        let proof = proved.and_then(|kept| kept.proof.as_ref());
        let (plan, unknown) = (task.plan.as_ref(), BTreeMap::new());
        let now = Now { at: now(), tree: None, entries: &BTreeMap::new(), artifacts: &unknown, plan };
        let drift = proved.zip(proof).map(|(kept, proof)| proof.drift(kept.at, &now)).unwrap_or_default();
        let attestation = |one: &tenure_systems::todos::Attestation| AttestationView {
            approved: one.approved,
            by: one.by.clone(),
            gate: one.gate.clone(),
            note: one.note.clone(),
            at: one.at.to_string(),
        };
        TodoView {
            todo_id: item.id.to_string(),
            title: task.title.clone(),
            description: task.description.clone(),
            state: task.state().to_string(),
            priority: item.priority,
            tags: task.tags.clone(),
            store: item.store.to_string(),
            version: item.version,
            owner_id: lease.map(|lease| lease.owner.id.to_string()),
            session_id: lease.and_then(|lease| lease.session).map(|id| id.to_string()),
            claimed_until: lease.map(|lease| lease.expires.to_string()),
            depends: task.depends().iter().map(shown).collect(),
            parent: task.parent.as_ref().map(shown),
            external_reference: task.external_reference.clone(),
            plan_version: task.plan.as_ref().map(|plan| plan.version),
            gates: task.plan.iter().flat_map(|plan| &plan.gates).map(ToString::to_string).collect(),
            attestations: task.attestations.iter().map(attestation).collect(),
            proof_sha256: proved.map(|kept| kept.sha256.to_string()),
            proved_at: proved.map(|kept| kept.at.to_string()),
            proved_tree: proof.map(|proof| proof.tree.clone()),
            proved_paths: proof.iter().flat_map(|proof| &proof.paths).map(ProofPathView::from).collect(),
            stale: drift.iter().map(ToString::to_string).collect(),
            reason: reason(task),
            created_at: item.created.to_string(),
            created_by: item.created_by.to_string(),
            updated_at: item.updated.to_string(),
            receipt: None,
        }
    }

    pub fn changed(changed: &Changed) -> TodoView {
        TodoView { receipt: Some(changed.receipt.to_string()), ..TodoView::of(&changed.task) }
    }
}

/// Why it is where it is. Of what is held or proved the last reason is that of an attempt before.
fn reason(task: &Task) -> Option<String> {
    let is_told = matches!(task.state(), "Draft" | "Abandoned");
    task.item.reason.as_deref().filter(|_| is_told).map(str::to_string)
}

/// What is claimed, if there was something to claim.
#[derive(Debug, Serialize, ToSchema)]
pub struct NextView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<TodoView>,
}

/// The envelope of a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    session_id: String,
    agent_id: String,
    store: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    issued_at: String,
    expires_at: String,
    /// What proves the session: shown to whoever began it, and to nobody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Other live sessions of the same agent: they share its claims. Told when a session is acquired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shared_with: Vec<LiveSessionView>,
    /// A name without a live session, if other sessions have this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_agent_id: Option<String>,
}

/// Another live session of the same agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct LiveSessionView {
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    issued_at: String,
    expires_at: String,
}

impl From<Session> for LiveSessionView {
    fn from(session: Session) -> LiveSessionView {
        LiveSessionView {
            session_id: session.id.to_string(),
            workspace: session.workspace,
            issued_at: session.issued_at.to_string(),
            expires_at: session.expires_at.to_string(),
        }
    }
}

impl SessionView {
    /// The same, with the sessions that share its claims.
    pub fn sharing(self, shared: Option<Shared>) -> SessionView {
        let Some(Shared { others, free }) = shared else { return self };
        let shared_with = others.into_iter().map(LiveSessionView::from).collect();
        SessionView { shared_with, free_agent_id: Some(free), ..self }
    }

    pub fn of(session: &Session, token: Option<String>) -> SessionView {
        SessionView {
            session_id: session.id.to_string(),
            agent_id: session.agent_id().to_string(),
            store: session.store.to_string(),
            workspace: session.workspace.clone(),
            issued_at: session.issued_at.to_string(),
            expires_at: session.expires_at.to_string(),
            session: token,
            shared_with: Vec::new(),
            free_agent_id: None,
        }
    }
}

/// What is proved: the receipt's hash is over this, as JSON with sorted keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProofView {
    artifacts: Vec<ProofArtifactView>,
    commit: Option<String>,
    format: String,
    /// The paths that the gates declare, as the tree has them. Left out: the proof depends on the whole tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<ProofPathView>,
    results: Vec<GateResultView>,
    tree: String,
}

impl From<Proof> for ProofView {
    fn from(proof: Proof) -> ProofView {
        let artifact = |one: Artifact| ProofArtifactView { path: one.path, sha256: one.sha256.to_string() };
        let result = |one: GateResult| GateResultView {
            gate: one.gate,
            exit: one.exit,
            output_sha256: one.output_sha256.to_string(),
            passed: one.passed,
        };
        ProofView {
            artifacts: proof.artifacts.into_iter().map(artifact).collect(),
            commit: proof.commit,
            format: proof.format,
            paths: proof.paths.iter().map(ProofPathView::from).collect(),
            results: proof.results.into_iter().map(result).collect(),
            tree: proof.tree,
        }
    }
}

/// A proof with its hash, and beside it who and when: `tenure verify FILE` checks it without a server.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProofReceiptView {
    agent: String,
    proof: ProofView,
    proved_at: String,
    /// Of the log entry that says when it was last proved.
    entry_sha256: Option<String>,
    #[schema(value_type = serde_json::Value)]
    run: Option<Run>,
    sha256: String,
    store: String,
    task_id: String,
    title: String,
}

impl From<Receipt> for ProofReceiptView {
    fn from(receipt: Receipt) -> ProofReceiptView {
        ProofReceiptView {
            agent: receipt.agent,
            proof: receipt.proof.into(),
            proved_at: receipt.proved_at.to_string(),
            entry_sha256: receipt.entry_sha256.map(|hash| hash.to_string()),
            run: receipt.run,
            sha256: receipt.sha256.to_string(),
            store: receipt.store,
            task_id: receipt.task_id,
            title: receipt.title,
        }
    }
}

/// One of the checks that `validate` makes.
#[derive(Debug, Serialize, ToSchema)]
pub struct TodoCheckView {
    check: String,
    passed: bool,
    /// What was found, with the tasks that it is about.
    faults: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TodoValidationView {
    passed: bool,
    /// How many tasks were looked at.
    looked_at: u64,
    checks: Vec<TodoCheckView>,
}

impl TodoValidationView {
    pub fn of(report: &Report, scope: Scope) -> TodoValidationView {
        let check = |name: &&str| {
            let faults: Vec<String> = report
                .faults
                .iter()
                .filter(|fault| fault.check == *name)
                .map(|fault| fault.task.map_or(fault.what.clone(), |task| format!("{task}: {}", fault.what)))
                .collect();
            TodoCheckView { check: name.to_string(), passed: faults.is_empty(), faults }
        };
        let checks = scope.checks().iter().map(check).collect();
        TodoValidationView { passed: report.is_sound(), looked_at: report.looked_at, checks }
    }
}
