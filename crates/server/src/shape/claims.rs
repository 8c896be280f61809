//! Claims and what belongs to them, as everybody sees them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_systems::claims::policy::{EvidenceType, Outcome, Share};
use tenure_systems::claims::{
    Asked, Claim, Decomposed, Enqueued, Evidence, Judged, TruthBit, Validation, Verdict, VerdictOf,
};
use utoipa::ToSchema;

use crate::problem::Problem;

#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimCreated {
    pub claim_id: String,
    pub created_at: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimView {
    pub claim_id: String,
    /// pending, queued, in_progress, decomposed or failed.
    pub decomposition_status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_reason: Option<String>,
    /// How often it was leased.
    pub attempt: u64,
    /// Left out in lists and once erased, as are the text and who it is said to come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

impl From<Claim> for ClaimView {
    fn from(claim: Claim) -> ClaimView {
        let payload = claim.payload.as_ref();
        ClaimView {
            claim_id: claim.claim_id.to_string(),
            failed_reason: claim.failed_reason.clone(),
            attempt: claim.attempt,
            domain: payload.map(|payload| payload.domain.clone()),
            text: payload.map(|payload| payload.text.clone()),
            created_by: payload.and_then(|payload| payload.created_by.clone()),
            created_at: claim.created_at.to_string(),
            updated_at: claim.updated_at.to_string(),
            decomposition_status: claim.decomposition_status,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EnqueuedView {
    pub claim_id: String,
    pub decomposition_status: String,
    /// Of the enqueue in force.
    pub enqueued_at: String,
}

impl From<Enqueued> for EnqueuedView {
    fn from(enqueued: Enqueued) -> EnqueuedView {
        EnqueuedView {
            claim_id: enqueued.claim_id.to_string(),
            decomposition_status: enqueued.decomposition_status,
            enqueued_at: enqueued.enqueued_at.to_string(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DecomposedView {
    pub claim_id: String,
    /// decomposed or failed.
    pub decomposition_status: String,
    /// All of them, in the order of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truthbit_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_reason: Option<String>,
    pub completed_at: String,
}

impl From<Decomposed> for DecomposedView {
    fn from(decomposed: Decomposed) -> DecomposedView {
        let (status, truthbits, failed_reason) = match decomposed.outcome {
            Ok(ids) => ("decomposed", Some(ids.iter().map(ToString::to_string).collect()), None),
            Err(reason) => ("failed", None, Some(reason)),
        };
        DecomposedView {
            claim_id: decomposed.claim_id.to_string(),
            decomposition_status: status.to_string(),
            truthbit_ids: truthbits,
            failed_reason,
            completed_at: decomposed.completed_at.to_string(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TruthBitView {
    /// A hash of its claim and its key.
    pub id: String,
    pub claim_id: String,
    /// Unique in its claim.
    pub key: String,
    pub statement: String,
    pub expected_type: String,
    /// The version of the policy that was in force.
    pub policy: String,
    pub created_at: String,
}

impl From<TruthBit> for TruthBitView {
    fn from(truthbit: TruthBit) -> TruthBitView {
        TruthBitView {
            id: truthbit.id.to_string(),
            claim_id: truthbit.claim_id.to_string(),
            key: truthbit.key,
            statement: truthbit.statement,
            expected_type: truthbit.expected_type,
            policy: truthbit.policy,
            created_at: truthbit.created_at.to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    PrimaryArtifact,
    SecondaryArtifact,
    ValidatorCapture,
}

impl From<EvidenceKind> for EvidenceType {
    fn from(kind: EvidenceKind) -> EvidenceType {
        match kind {
            EvidenceKind::PrimaryArtifact => EvidenceType::PrimaryArtifact,
            EvidenceKind::SecondaryArtifact => EvidenceType::SecondaryArtifact,
            EvidenceKind::ValidatorCapture => EvidenceType::ValidatorCapture,
        }
    }
}

impl From<EvidenceType> for EvidenceKind {
    fn from(kind: EvidenceType) -> EvidenceKind {
        match kind {
            EvidenceType::PrimaryArtifact => EvidenceKind::PrimaryArtifact,
            EvidenceType::SecondaryArtifact => EvidenceKind::SecondaryArtifact,
            EvidenceType::ValidatorCapture => EvidenceKind::ValidatorCapture,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EvidenceView {
    pub id: String,
    pub r#type: EvidenceKind,
    pub uri: String,
    pub captured_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
}

impl From<Evidence> for EvidenceView {
    fn from(evidence: Evidence) -> EvidenceView {
        EvidenceView {
            id: evidence.id.to_string(),
            r#type: evidence.payload.kind.into(),
            uri: evidence.payload.uri,
            captured_at: evidence.payload.captured_at.to_string(),
            metadata: evidence.payload.metadata,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    Supports,
    Refutes,
    Inconclusive,
}

impl From<OutcomeKind> for Outcome {
    fn from(kind: OutcomeKind) -> Outcome {
        match kind {
            OutcomeKind::Supports => Outcome::Supports,
            OutcomeKind::Refutes => Outcome::Refutes,
            OutcomeKind::Inconclusive => Outcome::Inconclusive,
        }
    }
}

impl From<Outcome> for OutcomeKind {
    fn from(outcome: Outcome) -> OutcomeKind {
        match outcome {
            Outcome::Supports => OutcomeKind::Supports,
            Outcome::Refutes => OutcomeKind::Refutes,
            Outcome::Inconclusive => OutcomeKind::Inconclusive,
        }
    }
}

/// What a validator says. Who that is says the token.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgementBody {
    /// At most 100.
    #[serde(default)]
    pub evidence_ids: Vec<String>,
    pub outcome: Option<OutcomeKind>,
    /// From 0 to 1.
    pub confidence: Option<f64>,
    #[schema(value_type = Option<serde_json::Value>)]
    pub extracted_value: Option<Value>,
    pub notes: Option<String>,
}

impl JudgementBody {
    pub fn judged(self) -> Result<Judged, Problem> {
        let none = |id: &str| Problem::wrong("evidence_ids", format!("there is no evidence {id:?}"));
        let evidence_ids = self.evidence_ids.iter().map(|id| id.parse().map_err(|_| none(id)));
        let share = |number| Share::of(number).ok_or_else(|| Problem::wrong("confidence", "from 0 to 1"));
        Ok(Judged {
            evidence_ids: evidence_ids.collect::<Result<_, _>>()?,
            outcome: self.outcome.map(Outcome::from),
            confidence: self.confidence.map(share).transpose()?,
            extracted_value: self.extracted_value,
            notes: self.notes,
        })
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ValidationView {
    pub id: String,
    pub claim_id: String,
    pub truthbit_id: String,
    /// pending, submitted, superseded or invalidated.
    pub status: String,
    pub evidence_ids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub extracted_value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    pub created_at: String,
    /// The validator.
    pub created_by: String,
    /// Which one took its place, or why it was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The newer one of the same validator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

impl From<Validation> for ValidationView {
    fn from(validation: Validation) -> ValidationView {
        let Judged { evidence_ids, outcome, confidence, extracted_value, notes } = validation.judged;
        ValidationView {
            id: validation.id.to_string(),
            claim_id: validation.claim_id.to_string(),
            truthbit_id: validation.truthbit_id.to_string(),
            status: validation.status,
            evidence_ids: evidence_ids.iter().map(ToString::to_string).collect(),
            outcome: outcome.map(OutcomeKind::from),
            confidence: confidence.map(Share::number),
            extracted_value,
            notes,
            created_at: validation.created_at.to_string(),
            created_by: validation.created_by,
            reason: validation.reason,
            superseded_by: validation.superseded_by.map(|newer| newer.to_string()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct VerdictView {
    pub id: String,
    /// claim or truthbit.
    pub subject_type: String,
    pub subject_id: String,
    /// unverified, supported, contested, refuted or stale.
    pub status: String,
    pub confidence: f64,
    /// What counted.
    pub validation_ids: Vec<String>,
    /// In words: what counted, what did not, and why.
    pub rationale: String,
    /// The version of the policy that it was judged by.
    pub policy: String,
    pub computed_at: String,
    /// The verdict on the same subject before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
}

impl From<Verdict> for VerdictView {
    fn from(verdict: Verdict) -> VerdictView {
        let body = verdict.body;
        let subject_type = match body.subject_type {
            VerdictOf::Claim => "claim",
            VerdictOf::TruthBit => "truthbit",
        };
        VerdictView {
            id: verdict.id.to_string(),
            subject_type: subject_type.to_string(),
            subject_id: body.subject_id,
            status: body.status.name().to_string(),
            confidence: body.confidence.number(),
            validation_ids: body.validation_ids,
            rationale: body.rationale,
            policy: body.policy,
            computed_at: verdict.computed_at.to_string(),
            supersedes: body.supersedes.map(|older| older.to_string()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct VerdictAnswer {
    pub claim_id: String,
    /// Null: none was computed yet.
    pub verdict: Option<VerdictView>,
    /// On each TruthBit, by the same computation.
    pub truthbits: Vec<VerdictView>,
    /// Every verdict on the claim, newest first, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<VerdictView>>,
    /// Goes into `cursor` for the next page of the history. Null: that was all.
    pub next_cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AskedView {
    pub claim_id: String,
    /// The item that computes it, or the one that waits already.
    pub computation_id: String,
    pub status: String,
    pub requested_at: String,
}

impl From<Asked> for AskedView {
    fn from(asked: Asked) -> AskedView {
        AskedView {
            claim_id: asked.claim_id.to_string(),
            computation_id: asked.computation_id.to_string(),
            status: asked.status,
            requested_at: asked.requested_at.to_string(),
        }
    }
}
