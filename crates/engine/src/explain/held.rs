//! Who holds an item, until when, and what has become of that.

use serde::Serialize;
use tenure_core::execution::Status;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::time::Time;

use super::facts::Facts;
use super::words::why;
use super::{Because, RELATED_MAX, Reason};
use crate::attempts::Holding;
use crate::refused::Refused;

/// A lease, as claim records have it, and how far its execution is. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Held {
    #[serde(flatten)]
    pub lease: Holding,
    /// LEASED, IN_PROGRESS or COMMITTED.
    pub status: &'static str,
    pub started_at: Option<Time>,
    pub window_ends_at: Option<Time>,
    /// The session it was taken under; it ends with it.
    pub session: Option<ItemId>,
    pub cancel_requested: bool,
}

impl Held {
    pub(super) fn of(item: &Item) -> Option<Held> {
        let (lease, holding) = (item.lease.as_ref()?, Holding::of(item)?);
        Some(Held {
            lease: holding,
            status: lease.status().as_str(),
            started_at: lease.started,
            window_ends_at: lease.window_ends,
            session: lease.session,
            cancel_requested: item.cancel.is_some(),
        })
    }
}

pub(super) fn because(facts: &Facts, item: &Item) -> Vec<Because> {
    let now = facts.world.now;
    let Some(lease) = &item.lease else {
        return vec![Because::new(Reason::Held, "it is held by nobody that is known")];
    };
    let mut because = Vec::new();
    let held = match item.due(now) {
        Some(event) => {
            let (what, at) = match lease.window_ends.filter(|_| lease.is_timed_out(now)) {
                Some(ends) if lease.committed.is_none() => ("window", ends),
                Some(_) | None => ("lease", lease.expires),
            };
            let owner = &lease.owner;
            let text = match at <= now {
                true => format!("the {what} of {owner} ended at {at}; the next sweep takes `{event}`"),
                false => format!(
                    "the {what} of {owner} was granted until {at} by a clock that was ahead, and has ended; the next sweep takes `{event}`"
                ),
            };
            Because::new(Reason::Expired, text)
        }
        None => {
            let window = lease.window_ends.filter(|_| lease.committed.is_none());
            let until = window.map_or(lease.expires, |ends| ends.min(lease.expires));
            let (owner, heartbeat) = (&lease.owner, lease.heartbeat);
            let text = format!("{owner} holds it until {until}, with its last heartbeat at {heartbeat}");
            Because::new(Reason::Held, text).until(Some(until))
        }
    };
    because.push(held.who(&lease.owner));
    match lease.status() {
        Status::Leased => {
            because.push(Because::new(Reason::NotStarted, "it was leased and has not been started"))
        }
        Status::Committed => {
            because.push(Because::new(Reason::Committed, "it has committed; only `finish` is left"))
        }
        Status::InProgress | Status::Done | Status::Aborted => {}
    }
    if let Some(asked) = &item.cancel {
        let learns = "its holder learns of it with the next heartbeat";
        let text = format!("{} asked for it to stop{}; {learns}", asked.actor, why(asked.reason.as_deref()));
        because.push(Because::new(Reason::CancelRequested, text).who(&asked.actor));
    }
    because
}

/// Those that came too late, of many the latest.
pub(super) fn refused(facts: &Facts) -> Vec<Refused> {
    let told = facts.refused.len().saturating_sub(RELATED_MAX);
    facts.refused[told..].to_vec()
}

/// Which writes are refused now. That they were is in no log.
pub(super) fn refused_writes(item: &Item, now: Time) -> Option<String> {
    if item.fence.0 == 0 {
        return None;
    }
    let rule = match (&item.lease, item.committed) {
        (Some(lease), _) if lease.is_live(now) => format!(
            "only {} under claim_version {} can write; any other is told LEASE_LOST",
            lease.owner, item.fence.0
        ),
        (_, Some(committed)) => {
            format!("attempt {committed} has committed; a write of another is told ALREADY_COMMITTED")
        }
        (Some(lease), None) => {
            format!("the lease of {} has ended; a write under it is told LEASE_LOST", lease.owner)
        }
        (None, None) => {
            format!(
                "nobody holds it; a write under claim_version {} or less is told LEASE_LOST",
                item.fence.0
            )
        }
    };
    Some(format!("{rule}; refused writes leave no entry, and each process tells its own"))
}
