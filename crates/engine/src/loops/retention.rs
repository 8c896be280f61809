//! Retention: what has been kept for as long as its kind is kept is removed. What really goes is decided when it is asked for.
//!
//! There is no index by age, because every item would pay for it with every step. Ids are in the order of creation, so the old
//! ones come first: the loop reads all items by id, a page at a time, up to those that are younger than anything is kept for,
//! and rests in proportion to what it read. Where no kind has a retention nothing is read at all.

use std::time::{Duration, Instant};

use tenure_core::actor::{Actor, Role};
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::request::{Command, Prune, Request};
use tenure_databases::outside;
use tenure_databases::{Error, PAGE_MAX, Query};

use super::Parts;
use crate::time::now;

/// Pages of one turn. More is left for the next.
const PAGES_MAX: usize = 20;
/// Items that are removed in one transaction at most: each takes a dozen statements, and others wait meanwhile.
const TOGETHER_MAX: usize = 100;
/// A row is read in a few microseconds: so much rest a row is a few percent of one core at most, and far less on the average.
const REST_PER_ROW: Duration = Duration::from_micros(200);
/// A minute is the shortest that anything is kept; a few seconds more do not matter.
const REST_MIN: Duration = Duration::from_secs(10);
/// However many rows there are, some of them may have been due for long.
const REST_MAX: Duration = Duration::from_secs(3600);

/// How far the loop has come.
#[derive(Debug, Default)]
pub(super) struct Pass {
    after: Option<ItemId>,
    rows: u32,
    rests_until: Option<Instant>,
}

impl Pass {
    /// From the beginning, after a rest.
    fn end(&mut self) {
        let rest = (REST_PER_ROW * self.rows).clamp(REST_MIN, REST_MAX);
        *self = Pass { rests_until: Some(now() + rest), ..Pass::default() };
    }
}

/// True: there is more.
pub(super) async fn turn(parts: &Parts, pass: &mut Pass) -> Result<bool, Error> {
    let tables = parts.kept.tables();
    let shortest = tables.iter().filter_map(|table| table.settings.retention).min();
    let Some(shortest) = shortest else { return Ok(false) };
    if pass.rests_until.is_some_and(|until| now() < until) {
        return Ok(false);
    }
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
            pass.end();
            return Ok(false);
        };
        pass.after = Some(last.id);
        if last.created.after(shortest) > at {
            pass.end();
            return Ok(false);
        }
    }
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
