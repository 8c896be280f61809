//! Claims: created, read, listed, enqueued; and the TruthBits of one.

use tenure::core::answer::Answer;
use tenure::core::code::{Code, Problem};
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::Phase;
use tenure::core::request::{Command, Create, Move};
use tenure::core::time::Time;
use tenure::core::trace::Trace;
use tenure::core::word::EventName;
use tenure::databases::Query;

use std::sync::Arc;

use super::kept::{self, CLAIM, Claim, ClaimPayload, Enqueued, TruthBit};
use super::{Claims, Error};

/// A claim is a statement, and not the book that it stands in.
pub const CLAIM_TEXT_BYTES_MAX: usize = 64 << 10;
/// A domain is a name.
const DOMAIN_BYTES_MAX: usize = 255;
const ENQUEUE: &str = "enqueue";

#[derive(Clone, Debug)]
pub struct NewClaim {
    pub idempotency_key: String,
    pub domain: String,
    pub text: String,
    /// What whoever asks says of itself. Who it really was is in the log.
    pub created_by: Option<String>,
    pub trace: Option<Arc<Trace>>,
}

impl Claims {
    /// Stores a claim. True: it is new, and not a repeat of the same request.
    pub async fn create(&self, new: NewClaim) -> Result<(Claim, bool), Error> {
        let NewClaim { idempotency_key, domain, text, created_by, trace } = new;
        if text.len() > CLAIM_TEXT_BYTES_MAX {
            let detail = format!("text: {} bytes, and at most {CLAIM_TEXT_BYTES_MAX} are kept", text.len());
            return Err(Problem::new(Code::PayloadTooLarge, detail).into());
        }
        if domain.trim().is_empty() || domain.len() > DOMAIN_BYTES_MAX {
            return Err(Error::invalid(format!("domain: a name of at most {DOMAIN_BYTES_MAX} bytes")));
        }
        if text.trim().is_empty() {
            return Err(Error::invalid("text: a claim says something"));
        }
        let payload = ClaimPayload { domain, text, created_by };
        let mut create = Create::new(CLAIM.parse()?, kept::body(&payload)?);
        create.name = Some(idempotency_key.parse().map_err(|not| named("idempotency_key", &not))?);
        create.trace = trace;
        let reply = self.tenure.ask(Command::Create(create)).await?;
        match reply.answer {
            Answer::Created(item) => Ok((claim(&item, Some(payload)), reply.fresh)),
            no => Err(Error::refused(no)),
        }
    }

    pub async fn get(&self, id: ItemId) -> Result<Claim, Error> {
        self.item(CLAIM, id).await?;
        let whole = self.tenure.whole(id).await?;
        Ok(claim(&whole.item, kept::read(whole.payload.as_ref())))
    }

    /// Claims without their texts, a page in the order of the query.
    pub async fn list(&self, query: Query) -> Result<Vec<Claim>, Error> {
        let query = Query { kind: Some(CLAIM.parse()?), ..query };
        Ok(self.tenure.list(query).await?.iter().map(|item| claim(item, None)).collect())
    }

    /// Schedules a claim for decomposition. On one that is queued or in progress it changes nothing and answers with the enqueue in
    /// force.
    pub async fn enqueue(&self, id: ItemId, reason: Option<String>) -> Result<Enqueued, Error> {
        self.item(CLAIM, id).await?;
        let reply = self.tenure.ask(Command::Move(Move { reason, ..enqueue(id) })).await?;
        let (item, enqueued_at) = match reply.answer {
            Answer::Done(item) => (item.clone(), item.updated),
            Answer::Same(item) => {
                let at = self.enqueued_at(id).await?.unwrap_or(item.updated);
                (item, at)
            }
            no => return Err(Error::refused(no)),
        };
        let decomposition_status = item.state_name().to_string();
        Ok(Enqueued { claim_id: id, decomposition_status, enqueued_at })
    }

    /// When it was enqueued last, as its history has it.
    async fn enqueued_at(&self, id: ItemId) -> Result<Option<Time>, Error> {
        let history = self.tenure.history(id).await?;
        Ok(history.iter().rev().find(|entry| is_enqueue(&entry.action)).map(|entry| entry.at))
    }

    /// Whether it can be validated. Otherwise this is NOT_DECOMPOSED.
    pub async fn is_decomposed(&self, id: ItemId) -> Result<(), Error> {
        self.decomposed(id).await.map(drop)
    }

    /// Its TruthBits, in the order of its text. None before it is decomposed.
    pub async fn truthbits(&self, id: ItemId) -> Result<Vec<TruthBit>, Error> {
        self.item(CLAIM, id).await?;
        Ok(kept::truthbits(&self.tenure.whole(id).await?))
    }
}

/// The move that makes a claim ready.
pub(super) fn enqueue(id: ItemId) -> Move {
    let event: EventName = ENQUEUE.parse().expect("an event's name");
    Move::new(id, event)
}

pub(super) fn is_enqueue(action: &tenure::core::lifecycle::event::Event) -> bool {
    action.to_string() == ENQUEUE
}

fn claim(item: &Item, payload: Option<ClaimPayload>) -> Claim {
    let failed = item.phase() == Phase::Failed;
    Claim {
        claim_id: item.id,
        decomposition_status: item.state_name().to_string(),
        failed_reason: item.reason.as_deref().filter(|_| failed).map(str::to_string),
        attempt: item.fence.0,
        created_at: item.created,
        updated_at: item.updated,
        payload,
    }
}

pub(super) fn named(field: &str, not: &tenure::core::word::NotAWord) -> Error {
    Error::invalid(format!("{field}: {not}"))
}
