//! A ticket's runs, read back from their artifacts alone: no log is needed to know what was done, by whom and why.

use serde_json::Value;
use tenure::Error;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::databases::Whole;

use super::Tickets;
use super::family::Family;
use super::kept::{BUNDLE, Blocker, NewTicket, PAUSE, READY, RUN, SNAPSHOT, latest, read};
use super::operations::asked;
use super::orders::Stored;

/// What has become of a ticket so far.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    pub ticket: Item,
    pub asked: NewTicket,
    /// Oldest first.
    pub runs: Vec<Run>,
    /// All of them, closed ones too.
    pub blockers: Vec<Blocker>,
    /// Of what made the ticket pause and is no run: somebody blocked it.
    pub paused: Option<Stored>,
}

/// What came of one event.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub event: Item,
    /// The terminal reason: SCHEDULED, MISSING_TICKET, NON_EXECUTABLE_STATUS or BLOCKED. None: it waits for the scheduler.
    pub reason: Option<String>,
    pub snapshot: Option<Stored>,
    pub order: Option<Item>,
    pub bundle: Option<Stored>,
    pub gate: Option<Item>,
    pub record: Option<Stored>,
    /// The last one of this run.
    pub pause: Option<Stored>,
}

impl Tickets {
    /// Reads a ticket's runs back from what they left.
    pub async fn explain(&self, id: ItemId) -> Result<Explanation, Error> {
        let whole = self.ticket(id).await?;
        let family = Family::of(&self.tenure, id).await?;
        let mut runs = Vec::new();
        for event in family.events() {
            runs.push(self.run(event, &family).await?);
        }
        let mut blockers = Vec::new();
        for blocker in family.blockers() {
            blockers.push(self.blocker(blocker).await?);
        }
        let paused = stored(&whole, PAUSE);
        Ok(Explanation { asked: asked(&whole), ticket: whole.item, runs, blockers, paused })
    }

    async fn run(&self, event: &Item, family: &Family) -> Result<Run, Error> {
        let whole = self.tenure.whole(event.id).await?;
        let mut run = Run {
            event: event.clone(),
            reason: read::<Value>(whole.output.as_ref())
                .and_then(|reason| Some(reason.as_str()?.to_string())),
            snapshot: stored(&whole, SNAPSHOT),
            order: None,
            bundle: None,
            gate: None,
            record: None,
            pause: stored(&whole, PAUSE),
        };
        let Some(order) = family.orders().find(|order| order.linked(READY).any(|to| to == event.id)) else {
            return Ok(run);
        };
        let whole = self.tenure.whole(order.id).await?;
        (run.bundle, run.order) = (stored(&whole, BUNDLE), Some(order.clone()));
        run.pause = stored(&whole, PAUSE).or(run.pause);
        if let Some(gate) = family.gate_of(order.id) {
            let whole = self.tenure.whole(gate.id).await?;
            (run.record, run.gate) = (stored(&whole, RUN), Some(gate.clone()));
            run.pause = stored(&whole, PAUSE).or(run.pause);
        }
        Ok(run)
    }
}

fn stored(whole: &Whole, label: &str) -> Option<Stored> {
    latest(&whole.records, label).and_then(Stored::of)
}
