//! Verdicts, read and asked for. Nothing is computed here: reading one never makes one, and who asks for one does not wait.

use std::collections::BTreeSet;

use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::request::Command;
use tenure::core::time::Time;
use tenure::databases::PAGE_MAX;

use super::kept::{self, Asked, CLAIM, COMPUTED, Judgements, VERDICT};
use super::validation::recomputation;
use super::{Claims, Error};

impl Claims {
    /// The newest verdict on a claim and on its TruthBits.
    pub async fn verdict(&self, claim: ItemId) -> Result<Judgements, Error> {
        self.item(CLAIM, claim).await?;
        let mut newest = None;
        self.look_at_belongings(claim, |item| newest = newest.max(computed(item))).await?;
        match newest {
            Some((_, newest)) => Ok(kept::verdicts(&self.tenure.whole(newest).await?)),
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
        let before = match before {
            Some(before) => computed(&self.item(VERDICT, before).await?),
            None => None,
        };
        // No more of them are held than are asked for, however many there are.
        let mut newest = BTreeSet::new();
        self.look_at_belongings(claim, |item| {
            newest.extend(computed(item).filter(|found| before.as_ref().is_none_or(|before| found < before)));
            if newest.len() > limit {
                newest.pop_first();
            }
        })
        .await?;
        let mut found = Vec::new();
        for (_, id) in newest.into_iter().rev() {
            found.push((id, kept::verdicts(&self.tenure.whole(id).await?)));
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

    /// Everything that has a link to a claim, oldest first. A page of it is held at a time.
    async fn look_at_belongings(&self, claim: ItemId, mut look: impl FnMut(&Item)) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = self.tenure.linked(claim, after, PAGE_MAX).await?;
            page.iter().for_each(&mut look);
            match page.last() {
                Some(last) if page.len() == PAGE_MAX => after = Some(last.id),
                _ => return Ok(()),
            }
        }
    }
}

/// A computation that came to a verdict, and when. One that was put off may have after one that was asked for later.
pub(super) fn computed(item: &Item) -> Option<(Time, ItemId)> {
    let is_one = item.table.kind.as_str() == VERDICT && item.state_name().as_str() == COMPUTED;
    is_one.then_some((item.updated, item.id))
}
