//! Verdicts, read and asked for. Nothing is computed here: reading one never makes one, and who asks for one does not wait.

use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::request::Command;
use tenure::databases::PAGE_MAX;

use super::kept::{self, Asked, CLAIM, COMPUTED, Judgements, VERDICT};
use super::validation::{is_validation, recomputation};
use super::{Claims, Error};

/// A claim that more people have judged is none that this is made for: all of it is read for every verdict.
pub const VALIDATIONS_MAX: usize = 10_000;

/// What belongs to a claim.
#[derive(Debug, Default)]
pub(super) struct Belongings {
    /// Oldest first, in whatever state.
    pub validations: Vec<Item>,
    /// Computations that came to a verdict, in the order in which they did.
    pub computed: Vec<Item>,
}

impl Claims {
    /// The newest verdict on a claim and on its TruthBits.
    pub async fn verdict(&self, claim: ItemId) -> Result<Judgements, Error> {
        self.item(CLAIM, claim).await?;
        match self.belongings(claim).await?.computed.last() {
            Some(newest) => Ok(kept::verdicts(&self.tenure.whole(newest.id).await?)),
            None => Ok(Judgements::default()),
        }
    }

    /// What was computed before, newest first: so many, from behind a computation on. Each with its id, which is where the next page
    /// begins.
    pub async fn verdict_history(
        &self,
        claim: ItemId,
        before: Option<ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Judgements)>, Error> {
        self.item(CLAIM, claim).await?;
        let computed = self.belongings(claim).await?.computed;
        let from = before.and_then(|before| computed.iter().rposition(|item| item.id == before));
        let older = &computed[..from.unwrap_or(computed.len())];
        let mut found = Vec::new();
        for item in older.iter().rev().take(limit) {
            found.push((item.id, kept::verdicts(&self.tenure.whole(item.id).await?)));
        }
        Ok(found)
    }

    /// Asks for a recomputation and answers at once.
    pub async fn compute_verdict(&self, claim: ItemId) -> Result<Asked, Error> {
        self.decomposed(claim).await?;
        let reply = self.tenure.ask(Command::Create(recomputation(claim)?)).await?;
        match reply.answer {
            Answer::Created(item) | Answer::Coalesced(item) => Ok(Asked {
                claim_id: claim,
                computation_id: item.id,
                status: item.state_name().to_string(),
                requested_at: item.created,
            }),
            no => Err(Error::refused(no)),
        }
    }

    pub(super) async fn belongings(&self, claim: ItemId) -> Result<Belongings, Error> {
        let (mut found, mut after) = (Belongings::default(), None);
        loop {
            let page = self.tenure.linked(claim, after, PAGE_MAX).await?;
            after = page.last().map(|last| last.id).or(after);
            let is_last = page.len() < PAGE_MAX;
            for item in page {
                if is_validation(&item) {
                    found.validations.push(item);
                } else if item.table.kind.as_str() == VERDICT && item.state_name().as_str() == COMPUTED {
                    found.computed.push(item);
                }
            }
            if found.validations.len() > VALIDATIONS_MAX {
                return Err(Error::invalid(format!("claim {claim} has over {VALIDATIONS_MAX} validations")));
            }
            if is_last {
                // One that was put off may come to its verdict after one that was asked for later.
                found.computed.sort_by_key(|item| (item.updated, item.id));
                return Ok(found);
            }
        }
    }
}
