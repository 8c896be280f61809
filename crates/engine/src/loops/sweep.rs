//! Sweeping: what time has ended is ended in the database too. What is really due is decided when the sweep is; a list that is
//! old by then does no harm.

use tenure_core::actor::{Actor, Role};
use tenure_core::id::ItemId;
use tenure_core::request::{Command, Effects, Request, Sweep};
use tenure_databases::batch::Reply;
use tenure_databases::{Error, Found, Overdue};

use super::Parts;

/// What one turn does at most.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Rows that are looked at and swept at once.
    page: usize,
    /// More is left for the next turn.
    pages: usize,
}

/// Ten thousand rows: some seconds of work, after which others have their turn.
const BOUNDS: Bounds = Bounds { page: 200, pages: 50 };

/// How far the sweep has come. A turn begins where the one before it had to stop, or rows that are refused every time would keep those
/// behind them from ever being looked at.
#[derive(Debug, Default)]
pub(super) struct Pass {
    ended: Option<ItemId>,
    lapsed: Option<ItemId>,
}

pub(super) async fn turn(parts: &Parts, pass: &mut Pass) -> Result<bool, Error> {
    let ended = pages(parts, Overdue::Time, &mut pass.ended, BOUNDS).await?;
    let lapsed = pages(parts, Overdue::Lapsed, &mut pass.lapsed, BOUNDS).await?;
    Ok(ended || lapsed)
}

/// True: there is more, and it is worth while to go on at once.
async fn pages(
    parts: &Parts,
    what: Overdue,
    after: &mut Option<ItemId>,
    bounds: Bounds,
) -> Result<bool, Error> {
    let mut fresh = false;
    for _ in 0..bounds.pages {
        let found = parts.kept.due(what, *after, bounds.page).await?;
        *after = found.last().map(|last| last.item).filter(|_| found.len() >= bounds.page);
        fresh |= sweep(parts, found).await;
        if after.is_none() {
            return Ok(false);
        }
    }
    Ok(fresh)
}

/// Whether anything was ended.
async fn sweep(parts: &Parts, found: Vec<Found>) -> bool {
    if found.is_empty() {
        return false;
    }
    let mut fresh = false;
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
                Ok(None) => fresh |= heard(parts, request, &reply),
                Ok(Some(again)) => match parts.gather.ask(again.clone()).await {
                    Ok(reply) => fresh |= heard(parts, &again, &reply),
                    Err(error) => parts.counters.failed_turn(&error.to_string()),
                },
                Err(error) => parts.counters.failed_turn(&error.to_string()),
            },
            // It is found again in the next turn.
            Err(error) => parts.counters.failed_turn(&error.to_string()),
        }
    }
    fresh
}

fn heard(parts: &Parts, request: &Request, reply: &Reply) -> bool {
    parts.bells.heard(request, reply);
    parts.counters.failures(request, reply);
    if reply.fresh {
        parts.counters.one_swept();
    }
    reply.fresh
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::lifecycle::shipped::SHIPPED;
    use tenure_core::request::{Acquire, Terms};

    use super::*;
    use crate::tenure::{New, Tenure};
    use crate::time::pause;

    // covers: K-51
    #[test]
    fn rows_that_are_refused_every_time_keep_no_other_from_being_swept() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            // Its end must write what nobody here can say.
            let job = SHIPPED.iter().find(|file| file.file == "job.md").unwrap().source;
            let expire = |effect: &str| format!("attempts left |{effect}|\n| RUNNING | expire   | FAILED    | system        |               |{effect}|");
            let parcel = job.replace("# job\n", "# parcel\n").replace(
                &expire("                                     "),
                &expire(" record why                          "),
            );
            assert!(parcel.contains("record why"));
            tenure.add_lifecycle(parcel).await.unwrap();
            for kind in ["parcel", "parcel", "parcel", "parcel", "job"] {
                tenure.create(New::of(kind, &1)).await.unwrap();
            }
            let worker = tenure.acting(tenure.store().clone(), "worker:gone".parse().unwrap());
            let terms = Terms { lease: Some(Duration::from_secs(1)), start: true, ..Terms::default() };
            let kinds = ["parcel", "job"].map(|kind| kind.parse().unwrap()).to_vec();
            worker.ask(Command::Acquire(Acquire { kinds, max: 5, terms })).await.unwrap();
            let parts = tenure.parts();
            while parts.kept.due(Overdue::Time, None, 10).await.unwrap().len() < 5 {
                pause(Duration::from_millis(10)).await;
            }
            let bounds = Bounds { page: 1, pages: 2 };
            let mut after = None;
            let mut turns = Vec::new();
            for _ in 0..3 {
                turns.push(pages(&parts, Overdue::Time, &mut after, bounds).await.unwrap());
            }
            assert_eq!(tenure.counters().swept(), 1, "the one behind them");
            // Nothing is gained by going on at once where all is refused. The end is where the next turn begins anew.
            assert_eq!((turns, after), (vec![false, false, false], None));
        });
    }
}
