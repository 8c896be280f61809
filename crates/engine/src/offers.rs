//! What goes with an end that is not a commit: a row may have to write more than its own move, and whoever fails or sweeps an item
//! does not know what. The system that the kind belongs to says it, as a function of the item.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::request::{Command, Effects, Request};
use tenure_core::word::Kind;
use tenure_databases::Error;
use tenure_databases::batch::Reply;

use crate::kept::Kept;

/// What is offered with the end of an item, and why it ends. The row that is taken writes what it lists of it, and nothing else.
pub type Offer = fn(&Item, reason: &str) -> Effects;

/// The offers of this process, by kind. Where a kind has none, what can not end without is left for a process that has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers(Arc<BTreeMap<Kind, Offer>>);

impl Offers {
    pub fn new(offers: BTreeMap<Kind, Offer>) -> Offers {
        Offers(Arc::new(offers))
    }

    /// The same request with what its row must write, where it was refused for want of that. Most ends need nothing, so only a
    /// refusal costs a look at the item.
    pub async fn again(
        &self,
        kept: &Kept,
        request: &Request,
        reply: &Reply,
    ) -> Result<Option<Request>, Error> {
        if self.0.is_empty() || !is_refused(&reply.answer) {
            return Ok(None);
        }
        let Some((id, reason)) = ended(&request.command) else { return Ok(None) };
        let Some(item) = kept.item(&request.store, id).await? else { return Ok(None) };
        let Some(offer) = self.0.get(&item.table.kind) else { return Ok(None) };
        // A system's mistake costs this end and not the ones that are written with it.
        let offered = catch_unwind(AssertUnwindSafe(|| offer(&item, reason)));
        let offers = offered.map_err(|_| {
            Error::Statement(format!("what the end of a {} must write panicked: item {id}", item.table.kind))
        })?;
        let command = match request.command.clone() {
            Command::Fail(fail) => Command::Fail(tenure_core::request::Fail { offers, ..fail }),
            Command::Sweep(sweep) => Command::Sweep(tenure_core::request::Sweep { offers, ..sweep }),
            other => other,
        };
        Ok(Some(Request { command, ..request.clone() }))
    }
}

fn is_refused(answer: &Answer) -> bool {
    matches!(answer, Answer::Refused(refusal) if refusal.problem.code == Code::TransitionRefused)
}

/// What ends, and why, if it was asked for without offers.
fn ended(command: &Command) -> Option<(ItemId, &str)> {
    match command {
        Command::Fail(fail) if fail.offers.is_empty() => Some((fail.execution.item, &fail.reason)),
        Command::Sweep(sweep) if sweep.offers.is_empty() => Some((sweep.item, "its runner was lost")),
        _ => None,
    }
}
