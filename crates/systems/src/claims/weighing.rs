//! A computation of a verdict: everything that was handed in is read, weighed by the policy, and kept as a snapshot.

use std::collections::BTreeMap;

use tenure::core::actor::{Actor, Role};
use tenure::core::id::{ItemId, RecordId};
use tenure::core::item::Item;
use tenure::core::time::Time;
use tenure::databases::{PAGE_MAX, Whole};
use tenure::{Done, Failure, Job, New, Tenure};

use super::kept::{
    self, AboutClaim, Judgements, OF_CLAIM, RECHECK, SUBMITTED, VERDICT, Validation, VerdictBody, VerdictOf,
};
use super::policy::{Evidence, Judgement, Policy, Verdict, Weighed, weigh};
use super::validation::{is_validation, own_payload};
use super::verdict::computed;
use super::{Claims, Error};

/// The name of the claim's own verdict among the records of a computation. Others are named by their TruthBits.
const OF_THE_CLAIM: &str = "claim";
/// A claim that more people have judged is none that this is made for: every judgement that counts is read for every verdict.
pub const VALIDATIONS_MAX: usize = 10_000;
/// Judgements that are held with their notes at a time. What is weighed of them is small; a body can be a mebibyte.
const WHOLES_AT_ONCE: usize = 50;

/// Computes the verdict that a job asks for.
pub(super) async fn compute(tenure: Tenure, policy: &Policy, job: Job) -> Result<Done, Failure> {
    let AboutClaim { claim_id } = job.payload()?;
    let claims = Claims::of(&tenure.acting(job.item().store.clone(), worker()));
    // The database's clock: the moment at which it was taken up.
    let now = job.item().lease.as_ref().map_or(job.item().updated, |lease| lease.since);
    let read = claims.read(claim_id).await.map_err(failure)?;
    let weighed = weigh(policy, &read.truthbits, &read.judgements, now);
    kept_as(claim_id, &weighed, &read.before)
}

/// When its time has come it asks for a recomputation.
pub(super) async fn recheck(job: Job) -> Result<Done, Failure> {
    let about: AboutClaim = job.payload()?;
    Done::default().create(New::of(VERDICT, &about).link(OF_CLAIM, about.claim_id))
}

fn worker() -> Actor {
    Actor::new(Role::Worker, "claims".parse().expect("an actor's id"))
}

/// What will be so next time too is not tried again.
fn failure(error: Error) -> Failure {
    match error.is_retryable() {
        true => Failure::retry(error.to_string()),
        false => Failure::permanent(error.to_string()),
    }
}

/// All that a verdict rests on.
struct Read {
    truthbits: Vec<String>,
    judgements: Vec<Judgement>,
    before: Judgements,
}

impl Claims {
    async fn read(&self, claim: ItemId) -> Result<Read, Error> {
        self.decomposed(claim).await?;
        let truthbits = kept::truthbits(&self.tenure.whole(claim).await?);
        let mut evidence: BTreeMap<ItemId, Evidence> = BTreeMap::new();
        let (mut judgements, mut submitted, mut newest, mut after) = (Vec::new(), 0, None, None);
        loop {
            let page = self.tenure.linked(claim, after, PAGE_MAX).await?;
            newest = page.iter().filter_map(computed).max().max(newest);
            let counting: Vec<ItemId> =
                page.iter().filter(|item| is_submitted(item)).map(|item| item.id).collect();
            submitted += counting.len();
            if submitted > VALIDATIONS_MAX {
                let detail = format!("claim {claim} has over {VALIDATIONS_MAX} validations that count");
                return Err(Error::invalid(detail));
            }
            for some in counting.chunks(WHOLES_AT_ONCE) {
                for whole in self.tenure.wholes(some.to_vec()).await? {
                    if let Some(validation) = counted(&whole, claim) {
                        judgements.extend(self.judgement(&whole, &validation, &mut evidence).await?);
                    }
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE_MAX => after = Some(last.id),
                _ => break,
            }
        }
        let before = match newest {
            Some((_, newest)) => kept::verdicts(&self.tenure.whole(newest).await?),
            None => Judgements::default(),
        };
        let truthbits = truthbits.iter().map(|truthbit| truthbit.id.to_string()).collect();
        Ok(Read { truthbits, judgements, before })
    }

    async fn judgement(
        &self,
        whole: &Whole,
        validation: &Validation,
        known: &mut BTreeMap<ItemId, Evidence>,
    ) -> Result<Option<Judgement>, Error> {
        let Some((outcome, confidence)) = validation.judged.full() else { return Ok(None) };
        let mut evidence = Vec::new();
        for id in &validation.judged.evidence_ids {
            if !known.contains_key(id)
                && let Some(found) = self.evidence(*id).await?
            {
                known.insert(*id, Evidence { kind: found.kind, captured_at: found.captured_at });
            }
            evidence.extend(known.get(id));
        }
        Ok(Some(Judgement {
            validation: validation.id.to_string(),
            truthbit: validation.truthbit_id.to_string(),
            validator: validation.created_by.clone(),
            outcome,
            confidence,
            evidence,
            submitted_at: submitted_at(whole),
        }))
    }
}

/// What is handed in moves no more but to be superseded, and then it does not count.
fn submitted_at(whole: &Whole) -> Time {
    whole.item.updated
}

/// What was superseded, withdrawn or never handed in is passed over, however much of it there is.
fn is_submitted(item: &Item) -> bool {
    is_validation(item) && item.state_name().as_str() == SUBMITTED
}

/// A validation of this claim by whoever made it. In another's name it counts for nothing.
fn counted(whole: &Whole, claim: ItemId) -> Option<Validation> {
    own_payload(whole).filter(|payload| payload.claim_id == claim).and_then(|_| Validation::of(whole))
}

/// The snapshot: a verdict on the claim, one on each TruthBit, and the time for another look.
fn kept_as(claim: ItemId, weighed: &Weighed, before: &Judgements) -> Result<Done, Failure> {
    let older = |subject: &str| -> Option<RecordId> {
        let found = before.truthbits.iter().find(|verdict| verdict.body.subject_id == subject);
        found.map(|verdict| verdict.id)
    };
    let body = body_of(VerdictOf::Claim, claim.to_string(), &weighed.claim);
    let body = VerdictBody { supersedes: before.claim.as_ref().map(|verdict| verdict.id), ..body };
    let mut done = Done::default().record(VERDICT, OF_THE_CLAIM, &body)?;
    for (truthbit, verdict) in &weighed.truthbits {
        let body = body_of(VerdictOf::TruthBit, truthbit.clone(), verdict);
        done = done.record(VERDICT, truthbit, &VerdictBody { supersedes: older(truthbit), ..body })?;
    }
    match weighed.next_look {
        Some(at) => done.create(look(claim, at)),
        None => Ok(done),
    }
}

fn look(claim: ItemId, at: Time) -> New {
    let new = New::of(RECHECK, &AboutClaim { claim_id: claim }).run_at(at).link(OF_CLAIM, claim);
    new.idempotency_key(format!("{claim}/{at}"))
}

fn body_of(subject_type: VerdictOf, subject_id: String, verdict: &Verdict) -> VerdictBody {
    VerdictBody {
        subject_type,
        subject_id,
        status: verdict.status,
        confidence: verdict.confidence,
        validation_ids: verdict.validation_ids.clone(),
        rationale: verdict.rationale.clone(),
        policy: verdict.policy.clone(),
        supersedes: None,
    }
}
