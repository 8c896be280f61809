//! The lanes of a database, each held against what the log makes of it.
//!
//! Others may go on writing. A lane is read after the log was and before it is read on, so what it says must be what the log makes
//! of it somewhere in between. When something was started lately is left out: it is forgotten with time.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::id::ItemId;
use tenure_core::world::{Lane, LaneKey};

use super::{At, Pass};
use crate::export::{page, sequence};
use crate::look::Look;
use crate::{Database, Error};

/// Compares these lanes, and all that the log knows of.
pub async fn compare<D: Database + Look>(
    database: &D,
    pass: &mut Pass,
    mut position: u64,
    mut keys: BTreeSet<LaneKey>,
) -> Result<(), Error> {
    keys.extend(pass.lanes().keys().cloned());
    let mut differing = BTreeMap::new();
    for key in keys {
        let kept = database.lane(&key).await?;
        if !is_same(&kept, &logged(pass, &key)) {
            differing.insert(key, kept);
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    sequence(database).await?;
    let to = database.head().await?.position;
    while position < to {
        let entries = page(database, position, to).await?;
        let Some((last, _)) = entries.last() else { break };
        position = *last;
        pass.tables(database.tables());
        for (_, entry) in &entries {
            for key in pass.follow(entry) {
                let now = logged(pass, &key);
                if differing.get(&key).is_some_and(|kept| is_same(kept, &now)) {
                    differing.remove(&key);
                }
            }
        }
    }
    for (key, kept) in differing {
        let should = logged(pass, &key);
        let about = should.items().chain(kept.items()).next().map(|item| (item, None));
        let what = format!(
            "the lane of {} `{}` in store {} says {}, and should say {}",
            key.kind,
            key.key,
            key.store,
            said(&kept),
            said(&should)
        );
        pass.fault(At::Item, about, what);
    }
    Ok(())
}

fn logged(pass: &Pass, key: &LaneKey) -> Lane {
    pass.lanes().get(key).cloned().unwrap_or_default()
}

fn is_same(one: &Lane, other: &Lane) -> bool {
    (&one.running, one.open, one.latest) == (&other.running, other.open, other.latest)
}

fn said(lane: &Lane) -> String {
    let one = |name: &str, item: Option<ItemId>| item.map(|item| format!("{name} {item}"));
    let running = lane.running.iter().map(|item| format!("running {item}"));
    let words: Vec<String> =
        running.chain(one("open", lane.open)).chain(one("latest", lane.latest)).collect();
    if words.is_empty() { "nothing".to_string() } else { words.join(", ") }
}
