//! What is kept of claims, and what is answered about them.
//!
//! The payloads and bodies here are promises: what was written once is read for ever.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::core::body::Body;
use tenure::core::id::{ItemId, RecordId};
use tenure::core::time::Time;
use tenure::core::word::{Key, Label};
use tenure::core::world::Record;
use tenure::databases::Whole;

use super::Error;
use super::policy::{EvidenceType, Outcome, Share, Status};

/// The kinds, as their lifecycles name them.
pub const CLAIM: &str = "claim";
pub const EVIDENCE: &str = "evidence";
pub const VALIDATION: &str = "validation";
pub const VERDICT: &str = "verdict";
pub const RECHECK: &str = "recheck";

pub const DECOMPOSED: &str = "decomposed";
pub const FAILED: &str = "failed";
pub const SUBMITTED: &str = "submitted";
pub const COMPUTED: &str = "computed";

/// Records: of a claim, of a validation. Those of a verdict are called as its kind is.
pub const TRUTHBIT: &str = "truthbit";
pub const JUDGEMENT: &str = "judgement";

/// The link from whatever belongs to a claim to that claim.
pub const OF_CLAIM: &str = "claim";

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClaimPayload {
    pub domain: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    pub claim_id: ItemId,
    pub decomposition_status: String,
    /// Why it failed, as long as it is.
    pub failed_reason: Option<String>,
    /// How often it was leased.
    pub attempt: u64,
    pub created_at: Time,
    pub updated_at: Time,
    /// Left out in lists; nothing once erased.
    pub payload: Option<ClaimPayload>,
}

/// What an enqueue is answered with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enqueued {
    pub claim_id: ItemId,
    pub decomposition_status: String,
    /// Of the enqueue in force.
    pub enqueued_at: Time,
}

/// What came of a decomposition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decomposed {
    pub claim_id: ItemId,
    pub completed_at: Time,
    /// The ids of all TruthBits, or why there are none.
    pub outcome: Result<Vec<RecordId>, String>,
}

/// The body of a TruthBit's record. Its key is the record's name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TruthBitBody {
    /// Its place among those of its claim, from 0: the order of the text.
    #[serde(default)]
    pub place: usize,
    pub statement: String,
    pub expected_type: String,
    /// The version of the policy in force.
    #[serde(default)]
    pub policy: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TruthBit {
    pub id: RecordId,
    pub claim_id: ItemId,
    pub key: String,
    pub statement: String,
    pub expected_type: String,
    pub policy: String,
    pub created_at: Time,
}

/// The TruthBits of a claim, in the order of its text. Before it is decomposed it has none, whatever an attempt left behind.
pub fn truthbits(claim: &Whole) -> Vec<TruthBit> {
    if claim.item.state_name().as_str() != DECOMPOSED {
        return Vec::new();
    }
    let mut found: Vec<(usize, TruthBit)> = Vec::new();
    for record in claim.records.iter().filter(|record| record.label.as_str() == TRUTHBIT) {
        if let Some(body) = read::<TruthBitBody>(record.body.as_ref()) {
            found.push((body.place, truthbit(record, body)));
        }
    }
    found.sort_by(|(a, left), (b, right)| (a, &left.key).cmp(&(b, &right.key)));
    found.into_iter().map(|(_, truthbit)| truthbit).collect()
}

fn truthbit(record: &Record, body: TruthBitBody) -> TruthBit {
    TruthBit {
        id: record.id,
        claim_id: record.item,
        key: record.name.to_string(),
        statement: body.statement,
        expected_type: body.expected_type,
        policy: body.policy,
        created_at: record.at,
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EvidencePayload {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    /// Where the source is. Nobody here looks at it.
    pub uri: String,
    pub captured_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    pub id: ItemId,
    pub payload: EvidencePayload,
}

/// What a validator says of a TruthBit. Without an outcome it says nothing yet.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Judged {
    #[serde(default)]
    pub evidence_ids: Vec<ItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Share>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted_value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

impl Judged {
    /// Outcome and confidence: what is needed to count.
    pub fn full(&self) -> Option<(Outcome, Share)> {
        Some((self.outcome?, self.confidence?))
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ValidationPayload {
    pub claim_id: ItemId,
    pub truthbit_id: RecordId,
    /// The TruthBit and who judges it: of each there is one that counts.
    pub validator_key: String,
    #[serde(flatten)]
    pub judged: Judged,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Validation {
    pub id: ItemId,
    pub claim_id: ItemId,
    pub truthbit_id: RecordId,
    /// pending, submitted, superseded or invalidated.
    pub status: String,
    pub judged: Judged,
    pub created_at: Time,
    /// The validator.
    pub created_by: String,
    /// Why it does not count, where it does not.
    pub reason: Option<String>,
    /// The newer one of the same validator.
    pub superseded_by: Option<ItemId>,
}

/// How the kernel says which one took the place of another.
const SUPERSEDED_BY: &str = "superseded by ";

impl Validation {
    /// None: its bodies are gone, or it was not made as validations are.
    pub fn of(whole: &Whole) -> Option<Validation> {
        let item = &whole.item;
        let payload: ValidationPayload = read(whole.payload.as_ref())?;
        let record = whole.records.iter().find(|record| record.label.as_str() == JUDGEMENT);
        // A judgement that came with the submit is the one that was handed in.
        let judged = match record {
            Some(record) => read(record.body.as_ref())?,
            None => payload.judged,
        };
        Some(Validation {
            id: item.id,
            claim_id: payload.claim_id,
            truthbit_id: payload.truthbit_id,
            status: item.state_name().to_string(),
            judged,
            created_at: item.created,
            created_by: item.created_by.to_string(),
            reason: item.reason.as_deref().map(str::to_string),
            superseded_by: item
                .reason
                .as_deref()
                .and_then(|reason| reason.strip_prefix(SUPERSEDED_BY)?.parse().ok()),
        })
    }
}

/// The payload of what is asked for about a claim: a recomputation, a look.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AboutClaim {
    pub claim_id: ItemId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictOf {
    Claim,
    #[serde(rename = "truthbit")]
    TruthBit,
}

/// The body of a verdict's record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VerdictBody {
    pub subject_type: VerdictOf,
    pub subject_id: String,
    pub status: Status,
    pub confidence: Share,
    pub validation_ids: Vec<String>,
    pub rationale: String,
    pub policy: String,
    /// The verdict on the same subject before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<RecordId>,
}

/// A snapshot. It is never changed: a newer one names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    pub id: RecordId,
    pub computed_at: Time,
    pub body: VerdictBody,
}

/// What is known of a claim's verdict.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Judgements {
    /// None: none was computed yet.
    pub claim: Option<Verdict>,
    /// Of its TruthBits, by the same computation.
    pub truthbits: Vec<Verdict>,
}

/// The verdicts that one computation came to.
pub fn verdicts(computation: &Whole) -> Judgements {
    let mut found = Judgements::default();
    for record in computation.records.iter().filter(|record| record.label.as_str() == VERDICT) {
        let Some(body) = read::<VerdictBody>(record.body.as_ref()) else { continue };
        let verdict = Verdict { id: record.id, computed_at: record.at, body };
        match verdict.body.subject_type {
            VerdictOf::Claim => found.claim = Some(verdict),
            VerdictOf::TruthBit => found.truthbits.push(verdict),
        }
    }
    found
}

/// What asking for a recomputation is answered with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    pub claim_id: ItemId,
    /// The item that computes it.
    pub computation_id: ItemId,
    pub status: String,
    pub requested_at: Time,
}

/// A body that was kept, as what it is. None: it is gone, or something else.
pub fn read<T: for<'de> Deserialize<'de>>(body: Option<&Body>) -> Option<T> {
    serde_json::from_slice(body?.bytes()).ok()
}

pub fn body(value: &impl Serialize) -> Result<Body, Error> {
    let bytes = serde_json::to_vec(value).map_err(|why| Error::invalid(why.to_string()))?;
    Ok(Body::json(bytes)?)
}

pub fn label(name: &'static str) -> Label {
    name.parse().expect("the names of this file are labels")
}

/// The id of the TruthBit with this key.
pub fn truthbit_id(claim: ItemId, key: &Key) -> RecordId {
    RecordId::of(claim, &label(TRUTHBIT), key)
}
