//! Retention: what has been kept for as long as its kind is kept is removed. What really goes is decided when it is asked for.
//!
//! There is no index by age, because every item would pay for it with every step. Ids are in the order of creation, so the old
//! ones come first: the loop reads all items by id, a page at a time, up to those that are younger than anything is kept for,
//! and rests in proportion to what it read. Where there has never been an item of a kind that has a retention no item is read at all.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tenure_core::actor::{Actor, Role};
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::request::{Command, Prune, Request};
use tenure_core::word::Kind;
use tenure_databases::outside;
use tenure_databases::{Error, PAGE_MAX, Query};

use super::Parts;
use crate::time::{now, pause};

/// Pages of one turn. More is left for the next.
const PAGES_MAX: usize = 20;
/// Items that are removed in one transaction at most: each takes a dozen statements, and others wait meanwhile.
const TOGETHER_MAX: usize = 100;
/// A row is read in a few microseconds: so much rest a row is a few percent of one core at most, and far less on the average.
const REST_PER_ROW: Duration = Duration::from_micros(200);
/// A minute is the shortest that anything is kept; a few seconds more do not matter.
const REST_MIN: Duration = Duration::from_secs(10);
/// Where nothing is kept for a time only, it is looked again so soon: a first item of such a kind is kept for a minute at least.
const REST_IDLE: Duration = Duration::from_secs(60);
/// Between two turns of a pass: others read the same rows.
const TURN_REST: Duration = Duration::from_millis(200);
/// However many rows there are, some of them may have been due for long.
const REST_MAX: Duration = Duration::from_secs(3600);

/// How far the loop has come.
#[derive(Debug, Default)]
pub(super) struct Pass {
    after: Option<ItemId>,
    rows: u32,
    rests_until: Option<Instant>,
    /// The shortest that anything is kept of which there is any, as it was when this pass began. None between two.
    shortest: Option<Duration>,
}

impl Pass {
    /// From the beginning, after a rest.
    fn end(&mut self, least: Duration) {
        let rest = (REST_PER_ROW * self.rows).clamp(least, REST_MAX);
        *self = Pass { rests_until: Some(now() + rest), ..Pass::default() };
    }
}

/// The shortest that anything is kept of which there has ever been an item.
async fn shortest(parts: &Parts) -> Result<Option<Duration>, Error> {
    let tables = parts.kept.tables();
    if tables.iter().all(|table| table.settings.retention.is_none()) {
        return Ok(None);
    }
    let seen: BTreeSet<Kind> = parts.kept.backlog(None).await?.into_iter().map(|of| of.kind).collect();
    let kept = tables.iter().filter(|table| seen.contains(&table.kind));
    Ok(kept.filter_map(|table| table.settings.retention).min())
}

/// True: there is more.
pub(super) async fn turn(parts: &Parts, pass: &mut Pass) -> Result<bool, Error> {
    if pass.rests_until.is_some_and(|until| now() < until) {
        return Ok(false);
    }
    if pass.shortest.is_none() {
        pass.shortest = shortest(parts).await?;
    }
    let Some(shortest) = pass.shortest else {
        pass.end(REST_IDLE);
        return Ok(false);
    };
    let tables = parts.kept.tables();
    for _ in 0..PAGES_MAX {
        let page = parts.kept.list(&Query { after: pass.after, limit: PAGE_MAX, ..Query::default() }).await?;
        // This machine's clock chooses whom to ask about; the database's decides.
        let at = outside::now();
        let is_due = |item: &&Item| item.kept_until(&tables).is_some_and(|until| until <= at);
        let due: Vec<&Item> = page.iter().filter(is_due).collect();
        for some in due.chunks(TOGETHER_MAX) {
            prune(parts, some).await;
        }
        pass.rows = pass.rows.saturating_add(u32::try_from(page.len()).unwrap_or(u32::MAX));
        let Some(last) = page.last() else {
            pass.end(REST_MIN);
            return Ok(false);
        };
        pass.after = Some(last.id);
        if last.created.after(shortest) > at {
            pass.end(REST_MIN);
            return Ok(false);
        }
    }
    pause(TURN_REST).await;
    Ok(true)
}

async fn prune(parts: &Parts, items: &[&Item]) {
    let actor = Actor::new(Role::System, parts.node.clone());
    let request = |item: &&Item| Request {
        store: item.store.clone(),
        actor: actor.clone(),
        command: Command::Prune(Prune { item: item.id }),
    };
    for reply in parts.gather.ask_all(items.iter().map(request).collect()).await {
        match reply {
            Ok(reply) if reply.fresh => parts.counters.one_pruned(),
            // Somebody still needs it, or another process was first.
            Ok(_) => {}
            Err(error) => parts.counters.failed_turn(&error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenure::{New, Tenure};

    // The shipped lifecycles have one with a retention; most databases have no item of it.
    #[test]
    fn only_what_there_is_decides_whether_old_items_are_read() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            let parts = tenure.parts();
            tenure.create(New::job(&1)).await.unwrap();
            let kept = parts.kept.tables().iter().any(|table| table.settings.retention.is_some());
            assert_eq!((kept, shortest(&parts).await.unwrap()), (true, None));
            let table = tenure.lifecycles().current(&"job".parse().unwrap()).unwrap().source.to_string();
            let table = table
                .replace("| derived  | yes                    |", "| derived | yes |\n| retention | 1 h |");
            tenure.add_lifecycle(table).await.unwrap();
            assert_eq!(shortest(&parts).await.unwrap(), Some(Duration::from_secs(3_600)));
        });
    }
}
