//! An item's life as its entries tell it, one after the other.

use tenure_core::actor::{Actor, Role};
use tenure_core::entry::{Cancelled, Committed, Entry, Facts as EntryFacts};
use tenure_core::id::ItemId;
use tenure_core::lifecycle::event::Event;
use tenure_core::time::Time;

use super::{Facts, Judged, Takeover};

#[derive(Clone, Debug, Default)]
pub struct Life {
    /// Its idempotency key.
    pub name: Option<String>,
    /// Whose commit made it.
    pub parent: Option<ItemId>,
    pub children: usize,
    pub commits: usize,
    version: u64,
    fence: u64,
    last: Time,
    held: Option<Holder>,
    /// Its last holder was struck then, and nobody has it yet.
    waits: Option<(Time, std::time::Duration)>,
}

#[derive(Clone, Debug)]
struct Holder {
    actor: Actor,
    since: Time,
}

impl Life {
    pub fn read(&mut self, entry: &Entry, facts: &Facts, judged: &mut Judged) {
        if entry.version != self.version + 1 {
            judged.other.push(format!("{}: version {} follows {}", entry.item, entry.version, self.version));
        }
        if entry.at < self.last {
            judged
                .other
                .push(format!("{}: version {} is older than the one before", entry.item, entry.version));
        }
        (self.version, self.last) = (entry.version, entry.at);
        if entry.action == Event::Lease {
            return self.lease(entry, judged);
        }
        self.is_by_the_holder(entry, judged);
        match (&entry.action, &entry.facts) {
            (Event::Create, EntryFacts::Create(birth)) => {
                self.name = birth.name.as_ref().map(ToString::to_string);
                self.parent = entry.cause.as_ref().map(|cause| cause.item);
            }
            (Event::Commit, EntryFacts::Commit(Committed { finish, .. })) => {
                self.commits += 1;
                if *finish {
                    self.held = None;
                }
            }
            (Event::Expire | Event::Orphan, _) => self.expire(entry, facts, judged),
            (Event::Cancel, EntryFacts::Cancel(Cancelled { asked: true, .. })) => {}
            (Event::Cancel, EntryFacts::Cancel(Cancelled { on: Some(Event::Expire), .. })) => {
                self.expire(entry, facts, judged);
            }
            (Event::Progress | Event::Start | Event::Note, _) => {}
            _ => self.held = None,
        }
        // An end is as good as another holder: nobody waits for the one that was struck.
        if self.held.is_none()
            && ["FAILED", "CANCELLED"].contains(&&*entry.state)
            && let Some((struck, lease)) = self.waits.take()
        {
            judged.takeovers.push(Takeover { took: entry.at.since(struck), lease });
        }
    }

    fn lease(&mut self, entry: &Entry, judged: &mut Judged) {
        if let Some(holder) = &self.held {
            judged.overlaps.push(format!(
                "{}: {} leased it at {} while {} held it",
                entry.item, entry.actor, entry.at, holder.actor
            ));
        }
        if entry.fence.0 <= self.fence || self.commits > 0 {
            judged
                .overlaps
                .push(format!("{}: leased under fence {} after {}", entry.item, entry.fence, self.fence));
        }
        self.fence = entry.fence.0;
        // The entry is later than the grant if the item's history is ahead of the node's clock, which it read before a pause.
        let granted = match &entry.facts {
            EntryFacts::Lease(grant) => grant.at,
            _ => None,
        };
        self.held = Some(Holder { actor: entry.actor.clone(), since: granted.unwrap_or(entry.at) });
        if let Some((struck, lease)) = self.waits.take() {
            judged.takeovers.push(Takeover { took: entry.at.since(struck), lease });
        }
    }

    /// What a worker writes it writes as the holder, under the fence in force.
    fn is_by_the_holder(&self, entry: &Entry, judged: &mut Judged) {
        let is_holder = self.held.as_ref().is_some_and(|holder| holder.actor == entry.actor);
        if entry.actor.role == Role::Worker && !(is_holder && entry.fence.0 == self.fence) {
            judged.overlaps.push(format!(
                "{}: {} wrote `{}` under fence {} and did not hold it (fence {})",
                entry.item, entry.actor, entry.action, entry.fence, self.fence
            ));
        }
    }

    /// A lease that was lost: not before its time.
    fn expire(&mut self, entry: &Entry, facts: &Facts, judged: &mut Judged) {
        judged.expiries += 1;
        let Some(holder) = self.held.take() else {
            return judged.overlaps.push(format!("{}: expired and nobody held it", entry.item));
        };
        let Some(lease) = facts.lease(&holder.actor.id) else { return };
        if entry.at < holder.since.after(lease) {
            judged.overlaps.push(format!(
                "{}: the lease of {} ended after {} ms and was {} ms long",
                entry.item,
                holder.actor,
                entry.at.since(holder.since).as_millis(),
                lease.as_millis()
            ));
        }
        self.waits = facts.struck(&holder.actor.id, holder.since, entry.at).map(|struck| (struck, lease));
    }
}
