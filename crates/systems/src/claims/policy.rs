//! What judgements amount to. A pure function over data: the same policy, judgements and moment give the same verdict, in
//! the same words.
//!
//! For a TruthBit:
//!
//! ```text
//! weight of a judgement = its confidence × the authority of its best evidence
//! score = weight that supports ÷ weight that supports or refutes
//!
//! no weight          → unverified
//! score ≥ 0.67       → supported   ┐ contested, if the stronger side rests on evidence that does not decide alone
//! score ≤ 0.33       → refuted     ┘ (secondary artifacts, no evidence)
//! between            → contested
//! newest evidence of what counted is past its age → stale, whatever it was
//! ```
//!
//! A claim is the first of refuted, contested, stale, unverified that any of its TruthBits is, and supported if none is any
//! of these. A policy that asks for less than full coverage passes over some unverified ones.
//!
//! What is inconclusive tells that somebody looked: it is named and counts on neither side.

mod share;
mod weigh;
mod words;

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};
use tenure::core::time::Time;

pub use share::Share;
pub use weigh::weigh;

/// How judgements are weighed. The version goes into every verdict, so that one can be told what it was judged by.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct Policy {
    pub version: String,
    /// A score from here on is supported.
    pub supported_from: Share,
    /// A score up to here is refuted.
    pub refuted_to: Share,
    /// Which share of a claim's TruthBits must be verified before the claim counts as supported.
    pub coverage_min: Share,
    pub authority: Authorities,
    pub evidence_age_max_days: u32,
}

/// What each sort of evidence is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Authorities {
    pub primary_artifact: Authority,
    pub secondary_artifact: Authority,
    pub validator_capture: Authority,
    /// Of a judgement that names no evidence.
    pub none: Authority,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authority {
    /// Confidence is multiplied by it.
    pub weight: Share,
    /// Enough by itself for supported or refuted. A side without any evidence that decides is contested at most.
    pub decides: bool,
}

/// The kinds of evidence (C-07).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceType {
    PrimaryArtifact,
    SecondaryArtifact,
    ValidatorCapture,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Supports,
    Refutes,
    Inconclusive,
}

/// Ordered by what prevails in a claim: the first that any TruthBit is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Refuted,
    Contested,
    Stale,
    Unverified,
    Supported,
}

/// A validation that was handed in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    pub validation: String,
    pub truthbit: String,
    pub validator: String,
    pub outcome: Outcome,
    pub confidence: Share,
    pub evidence: Vec<Evidence>,
    pub submitted_at: Time,
}

/// What a policy looks at in a piece of evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evidence {
    pub kind: EvidenceType,
    /// Later than the judgement that rests on it, it counts as seen at the judgement: nobody makes a verdict stay for ever.
    pub captured_at: Time,
}

/// What the judgements amount to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weighed {
    pub claim: Verdict,
    /// In the order in which the TruthBits were given.
    pub truthbits: Vec<(String, Verdict)>,
    /// When to look again, without any new judgement: the first of its verdicts is stale then.
    pub next_look: Option<Time>,
}

/// Of a claim or of a TruthBit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    pub status: Status,
    /// Of a TruthBit: its stronger side's share of the weight × the mean weight on that side. Of a claim: of what decided it,
    /// the weakest for supported and stale, the strongest for refuted and contested. Unverified is 0.
    pub confidence: Share,
    /// What counted, sorted.
    pub validation_ids: Vec<String>,
    /// What counted, what did not, and why, in sentences.
    pub rationale: String,
    /// When it is stale without anything newer. Nothing when it is already, or when nothing counted.
    pub stale_at: Option<Time>,
    /// The policy's version.
    pub policy: String,
}

impl Policy {
    fn problem(&self) -> Option<String> {
        let Policy { version, supported_from, refuted_to, evidence_age_max_days, .. } = self;
        if version.trim().is_empty() {
            return Some("a policy needs a version: verdicts name it".to_string());
        }
        if refuted_to >= supported_from {
            let bounds = format!("refuted_to ({refuted_to}) must be below supported_from ({supported_from})");
            return Some(bounds);
        }
        let always_stale = "evidence_age_max_days is at least 1: at 0 every verdict is stale";
        (*evidence_age_max_days == 0).then(|| always_stale.to_string())
    }

    fn age_max(&self) -> Duration {
        Duration::from_secs(u64::from(self.evidence_age_max_days) * 86_400)
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            version: "1".to_string(),
            supported_from: Share::percent(67),
            refuted_to: Share::percent(33),
            coverage_min: Share::ONE,
            authority: Authorities::default(),
            evidence_age_max_days: 365,
        }
    }
}

impl Default for Authorities {
    fn default() -> Authorities {
        let decides = Authority { weight: Share::ONE, decides: true };
        let adds = Authority { weight: Share::ONE, decides: false };
        Authorities {
            primary_artifact: decides,
            secondary_artifact: adds,
            validator_capture: decides,
            none: adds,
        }
    }
}

impl Authorities {
    /// Of the best evidence: what decides before what weighs more.
    fn of(&self, evidence: &[Evidence]) -> Authority {
        let each = evidence.iter().map(|evidence| match evidence.kind {
            EvidenceType::PrimaryArtifact => self.primary_artifact,
            EvidenceType::SecondaryArtifact => self.secondary_artifact,
            EvidenceType::ValidatorCapture => self.validator_capture,
        });
        each.max_by_key(|authority| (authority.decides, authority.weight)).unwrap_or(self.none)
    }
}

impl Status {
    pub const fn name(self) -> &'static str {
        match self {
            Status::Refuted => "refuted",
            Status::Contested => "contested",
            Status::Stale => "stale",
            Status::Unverified => "unverified",
            Status::Supported => "supported",
        }
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
        // The inherent one, which `remote` derives; what it reads is believed only after this.
        let policy = Policy::deserialize(deserializer)?;
        match policy.problem() {
            Some(problem) => Err(de::Error::custom(problem)),
            None => Ok(policy),
        }
    }
}
