//! Validations: a validator's judgement on one TruthBit. The validator is whoever asks, and never what a body says.

use tenure::core::actor::{Actor, Role};
use tenure::core::answer::Answer;
use tenure::core::id::{ItemId, RecordId};
use tenure::core::item::{Item, Link};
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Command, Create, Effects, Move, NewRecord};
use tenure::core::word::EventName;
use tenure::databases::Whole;

use super::claim::named;
use super::kept::{
    self, AboutClaim, DECOMPOSED, JUDGEMENT, Judged, OF_CLAIM, TRUTHBIT, VALIDATION, VERDICT, Validation,
    ValidationPayload,
};
use super::{Claims, Error};

/// Who needs more to judge one small statement judges several.
pub const EVIDENCE_MAX: usize = 100;
/// Some pages: what is longer is evidence. All judgements of a claim are read for each of its verdicts.
pub const NOTES_BYTES_MAX: usize = 16 << 10;
/// The value that was found, as JSON. What is larger is a document, and evidence refers to it.
pub const EXTRACTED_VALUE_BYTES_MAX: usize = 16 << 10;
const PENDING: &str = "pending";

#[derive(Clone, Debug)]
pub struct NewValidation {
    pub idempotency_key: Option<String>,
    pub truthbit_id: RecordId,
    /// Of this claim, where it is said which.
    pub claim_id: Option<ItemId>,
    /// With outcome and confidence it is submitted at once.
    pub judged: Judged,
}

impl Claims {
    /// Creates a validation, and submits it where it is judged already. True: it is new.
    pub async fn create_validation(&self, new: NewValidation) -> Result<(Validation, bool), Error> {
        let claim = self.claim_of(new.truthbit_id, new.claim_id).await?;
        self.check(&new.judged).await?;
        let actor = self.tenure.actor();
        let payload = ValidationPayload {
            claim_id: claim.id,
            truthbit_id: new.truthbit_id,
            validator_key: validator_key(new.truthbit_id, actor),
            judged: new.judged,
        };
        let mut create = Create::new(VALIDATION.parse()?, kept::body(&payload)?);
        let name = new.idempotency_key.map(|key| key.parse().map_err(|not| named("idempotency_key", &not)));
        create.name = name.transpose()?;
        create.links.push(of_claim(claim.id));
        let reply = self.tenure.ask(Command::Create(create)).await?;
        let item = match reply.answer {
            Answer::Created(item) => item,
            no => return Err(Error::refused(no)),
        };
        if !is_by(&item, actor) {
            return Err(Error::forbidden(format!("validation {} is another validator's", item.id)));
        }
        // A repeat finds it as it is now: whoever died between the two is helped over it.
        if payload.judged.full().is_some() {
            self.hand_in(item.id, claim.id, None).await?;
        }
        Ok((self.validation(item.id).await?, reply.fresh))
    }

    /// Hands a validation in. One that was handed in, superseded or invalidated is answered as it is.
    pub async fn submit_validation(&self, id: ItemId, judged: Judged) -> Result<Validation, Error> {
        self.item(VALIDATION, id).await?;
        let whole = self.tenure.whole(id).await?;
        let found = Validation::of(&whole).ok_or_else(|| Error::none(VALIDATION, id))?;
        let brought = (judged != Judged::default()).then_some(judged);
        if found.status == PENDING {
            self.is_theirs(&whole)?;
            self.claim_of(found.truthbit_id, Some(found.claim_id)).await?;
            let counted = brought.as_ref().unwrap_or(&found.judged);
            self.check(counted).await?;
            if counted.full().is_none() {
                return Err(Error::invalid("outcome and confidence: a validation that counts has both"));
            }
        }
        self.hand_in(id, found.claim_id, brought).await?;
        self.validation(id).await
    }

    /// Whether there is such a validation here.
    pub async fn is_validation(&self, id: ItemId) -> Result<(), Error> {
        self.item(VALIDATION, id).await.map(drop)
    }

    /// Withdraws a validation that was not handed in.
    pub async fn invalidate_validation(&self, id: ItemId, reason: String) -> Result<Validation, Error> {
        self.item(VALIDATION, id).await?;
        let invalidate = Move { reason: Some(reason), ..Move::new(id, event("invalidate")) };
        match self.tenure.ask(Command::Move(invalidate)).await?.answer {
            Answer::Done(_) | Answer::Same(_) => self.validation(id).await,
            no => Err(Error::refused(no)),
        }
    }

    /// The validations of a claim, oldest first, after one.
    pub async fn validations(
        &self,
        claim: ItemId,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<Vec<Validation>, Error> {
        self.item(kept::CLAIM, claim).await?;
        let (mut found, mut after) = (Vec::new(), after);
        while found.len() < limit {
            let page = self.tenure.linked(claim, after, limit).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            let ids = page.iter().filter(|item| is_validation(item)).map(|item| item.id);
            let wholes = self.tenure.wholes(ids.take(limit - found.len()).collect()).await?;
            found.extend(wholes.iter().filter_map(Validation::of));
        }
        Ok(found)
    }

    /// The claim of a TruthBit, which is decomposed: else it would not have one. Where it is said which claim, it is that one's.
    pub async fn claim_of(&self, truthbit: RecordId, of: Option<ItemId>) -> Result<Item, Error> {
        if let Some(claim) = of {
            self.decomposed(claim).await?;
        }
        let found = self.tenure.record(truthbit).await?;
        let found = found.filter(|record| record.label.as_str() == TRUTHBIT);
        let found = found.filter(|record| of.is_none_or(|claim| claim == record.item));
        let none = || Error::none("TruthBit", truthbit);
        let claim = self.tenure.item(found.ok_or_else(none)?.item).await?;
        match claim.state_name().as_str() == DECOMPOSED {
            true => Ok(claim),
            false => Err(Error::not_decomposed(&claim)),
        }
    }

    async fn check(&self, judged: &Judged) -> Result<(), Error> {
        if judged.outcome.is_some() != judged.confidence.is_some() {
            return Err(Error::invalid("outcome and confidence: one says nothing without the other"));
        }
        if judged.evidence_ids.len() > EVIDENCE_MAX {
            return Err(Error::invalid(format!("evidence_ids: at most {EVIDENCE_MAX}")));
        }
        if judged.notes.as_ref().is_some_and(|notes| notes.len() > NOTES_BYTES_MAX) {
            return Err(Error::invalid(format!("notes: at most {NOTES_BYTES_MAX} bytes")));
        }
        let value = judged.extracted_value.as_ref().map_or(0, |value| value.to_string().len());
        if value > EXTRACTED_VALUE_BYTES_MAX {
            let detail = format!("extracted_value: at most {EXTRACTED_VALUE_BYTES_MAX} bytes of JSON");
            return Err(Error::invalid(detail));
        }
        for id in &judged.evidence_ids {
            if self.evidence(*id).await?.is_none() {
                return Err(Error::invalid(format!("evidence_ids: there is no evidence {id} in this store")));
            }
        }
        Ok(())
    }

    /// A judgement is handed in by whoever prepared it, and in nobody else's name. An administrator may do what anybody may.
    fn is_theirs(&self, whole: &Whole) -> Result<(), Error> {
        let (actor, id) = (self.tenure.actor(), whole.item.id);
        if !is_by(&whole.item, actor) && actor.role != Role::Admin {
            return Err(Error::forbidden(format!("validation {id} is another validator's")));
        }
        match own_payload(whole) {
            Some(_) => Ok(()),
            None => Err(Error::forbidden(format!("validation {id} is in another validator's name"))),
        }
    }

    /// The submit, with the judgement that it brings and the recomputation that it asks for. Whoever asks was looked at before.
    async fn hand_in(&self, id: ItemId, claim: ItemId, brought: Option<Judged>) -> Result<(), Error> {
        let mut effects = Effects { creates: vec![recomputation(claim)?], ..Effects::default() };
        if let Some(judged) = brought {
            let (label, name) = (kept::label(JUDGEMENT), JUDGEMENT.parse()?);
            effects.records.push(NewRecord { label, name, body: kept::body(&judged)? });
        }
        let attests = vec![Guard::Judgement];
        let submit = Move { effects, attests, ..Move::new(id, event("submit")) };
        match self.tenure.ask(Command::Move(submit)).await?.answer {
            Answer::Done(_) | Answer::Same(_) => Ok(()),
            no => Err(Error::refused(no)),
        }
    }

    async fn validation(&self, id: ItemId) -> Result<Validation, Error> {
        let whole = self.tenure.whole(id).await?;
        Validation::of(&whole).ok_or_else(|| Error::none(VALIDATION, id))
    }
}

pub(super) fn is_validation(item: &Item) -> bool {
    item.table.kind.as_str() == VALIDATION
}

/// A restarted program is the same validator.
fn is_by(item: &Item, actor: &Actor) -> bool {
    item.created_by.id == actor.id && item.created_by.role == actor.role
}

/// What whoever created it says in their own name. Anybody may create an item that looks like a validation: in another's name it is none.
pub(super) fn own_payload(whole: &Whole) -> Option<ValidationPayload> {
    let payload: ValidationPayload = kept::read(whole.payload.as_ref())?;
    let theirs = validator_key(payload.truthbit_id, &whole.item.created_by);
    (payload.validator_key == theirs).then_some(payload)
}

/// Of a TruthBit and a validator one judgement counts. A restarted program is the same validator.
fn validator_key(truthbit: RecordId, actor: &Actor) -> String {
    format!("{truthbit}/{}:{}", actor.role, actor.id)
}

pub(super) fn of_claim(claim: ItemId) -> Link {
    Link { label: kept::label(OF_CLAIM), to: claim }
}

/// What computes a claim's verdict anew. One that waits already stands for it.
pub(super) fn recomputation(claim: ItemId) -> Result<Create, Error> {
    let mut create = Create::new(VERDICT.parse()?, kept::body(&AboutClaim { claim_id: claim })?);
    create.links.push(of_claim(claim));
    Ok(create)
}

fn event(name: &'static str) -> EventName {
    name.parse().expect("an event's name")
}
