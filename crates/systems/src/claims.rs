//! Claims: a statement is stored at once, taken apart into TruthBits by a worker, validated with evidence, and gets a verdict.
//!
//! ```text
//! create ─▶ pending ─enqueue─▶ queued ─lease─▶ in_progress ─commit─▶ decomposed        (orchestrator, then a worker)
//!                                                                        │ validations, with evidence
//!                                                                        ▼
//!                                            verdict: queued ─▶ computing ─▶ computed ─▶ recheck, when it is too old
//! ```
//!
//! | what | where it is kept |
//! |---|---|
//! | a claim, a piece of evidence, a validation | an item of that kind |
//! | a TruthBit | a record of its claim, named by its key and written by the commit that decomposes it |
//! | a verdict | a record of the item that computed it |
//!
//! Whoever asks never waits for a worker: [`Claims`] creates and reads. What goes on by itself is [`start`]ed once a process.

mod claim;
pub mod decompose;
mod decomposition;
mod error;
mod evidence;
mod guarded;
mod kept;
mod orchestrator;
pub mod policy;
mod running;
mod validation;
mod verdict;
mod weighing;

use tenure::Tenure;
use tenure::core::id::ItemId;
use tenure::core::item::Item;

pub use claim::{CLAIM_TEXT_BYTES_MAX, NewClaim};
pub use decomposition::TRUTHBITS_MAX;
pub use error::Error;
pub use evidence::NewEvidence;
pub use guarded::{Guarded, NotStarted};
pub use kept::{
    Asked, Claim, Decomposed, Enqueued, Evidence, Judged, TruthBit, Validation, Verdict, VerdictOf,
};
pub use running::{Counters, Part, Retries, Running, Settings, start};
pub use validation::{EVIDENCE_MAX, EXTRACTED_VALUE_BYTES_MAX, NOTES_BYTES_MAX, NewValidation};
pub use weighing::VALIDATIONS_MAX;

/// The operations on claims, for whoever a handle acts for, in its store.
#[derive(Clone, Debug)]
pub struct Claims {
    tenure: Tenure,
}

impl Claims {
    pub fn of(tenure: &Tenure) -> Claims {
        Claims { tenure: tenure.clone() }
    }

    /// An item of a kind. One of another kind is none.
    async fn item(&self, kind: &str, id: ItemId) -> Result<Item, Error> {
        let item = self.tenure.item(id).await?;
        match item.table.kind.as_str() == kind {
            true => Ok(item),
            false => Err(Error::none(kind, id)),
        }
    }

    /// A claim that has its TruthBits.
    async fn decomposed(&self, id: ItemId) -> Result<Item, Error> {
        let claim = self.item(kept::CLAIM, id).await?;
        match claim.state_name().as_str() == kept::DECOMPOSED {
            true => Ok(claim),
            false => Err(Error::not_decomposed(&claim)),
        }
    }
}
