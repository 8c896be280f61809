//! Sweeping: what time has ended is ended in the database too. What is really due is decided when the sweep is; a list that is
//! old by then does no harm.

use tenure_core::actor::{Actor, Role};
use tenure_core::id::ItemId;
use tenure_core::request::{Command, Effects, Request, Sweep};
use tenure_databases::batch::Reply;
use tenure_databases::{Error, Found, Overdue};

use super::Parts;

/// Rows that are looked at and swept at once.
const PAGE: usize = 200;
/// Pages of one turn. More is left for the next.
const PAGES_MAX: usize = 50;

pub(super) async fn turn(parts: &Parts) -> Result<bool, Error> {
    let ended = pages(parts, Overdue::Time).await?;
    let lapsed = pages(parts, Overdue::Lapsed).await?;
    Ok(ended || lapsed)
}

/// True: there is more.
async fn pages(parts: &Parts, what: Overdue) -> Result<bool, Error> {
    let mut after: Option<ItemId> = None;
    for _ in 0..PAGES_MAX {
        let found = parts.kept.due(what, after, PAGE).await?;
        let Some(last) = found.last() else { return Ok(false) };
        after = Some(last.item);
        let full = found.len() >= PAGE;
        sweep(parts, found).await;
        if !full {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn sweep(parts: &Parts, found: Vec<Found>) {
    let actor = Actor::new(Role::System, parts.node.clone());
    let request = |found: Found| {
        let Found { store, item, fence, due } = found;
        let sweep = Sweep { item, fence, due, offers: Effects::default() };
        Request { store, actor: actor.clone(), command: Command::Sweep(sweep) }
    };
    let requests: Vec<Request> = found.into_iter().map(request).collect();
    let replies = parts.gather.ask_all(requests.clone()).await;
    for (request, reply) in requests.iter().zip(replies) {
        match reply {
            Ok(reply) => match parts.offers.again(&parts.kept, request, &reply).await {
                Ok(None) => heard(parts, request, &reply),
                Ok(Some(again)) => match parts.gather.ask(again.clone()).await {
                    Ok(reply) => heard(parts, &again, &reply),
                    Err(error) => parts.counters.failed_turn(&error.to_string()),
                },
                Err(error) => parts.counters.failed_turn(&error.to_string()),
            },
            // It is found again in the next turn.
            Err(error) => parts.counters.failed_turn(&error.to_string()),
        }
    }
}

fn heard(parts: &Parts, request: &Request, reply: &Reply) {
    parts.bells.heard(request, reply);
    if reply.fresh {
        parts.counters.one_swept();
    }
}
