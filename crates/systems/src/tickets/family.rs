//! Everything that belongs to a ticket: the items that have a link to it.

use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::{Error, Tenure};

use super::kept::{BLOCKER, GATE, ORDER, READY, is_kind};

/// Read at once.
const PAGE: usize = 200;
/// Pages that are read at most: a ticket with more than a thousand artifacts needs a person, not a worker.
const PAGES_MAX: usize = 5;

/// What belongs to a ticket, oldest first.
#[derive(Debug)]
pub(super) struct Family(Vec<Item>);

impl Family {
    pub async fn of(tenure: &Tenure, ticket: ItemId) -> Result<Family, Error> {
        let mut all: Vec<Item> = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = tenure.linked(ticket, all.last().map(|item| item.id), PAGE).await?;
            let full = page.len() >= PAGE;
            all.extend(page);
            if !full {
                break;
            }
        }
        Ok(Family(all))
    }

    fn of_kind<'a>(&'a self, kind: &'a str) -> impl DoubleEndedIterator<Item = &'a Item> {
        self.0.iter().filter(move |item| is_kind(item, kind))
    }

    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.of_kind(READY)
    }

    pub fn orders(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.of_kind(ORDER)
    }

    pub fn gates(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.of_kind(GATE)
    }

    pub fn blockers(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.of_kind(BLOCKER)
    }

    pub fn open_blockers(&self) -> impl Iterator<Item = &Item> {
        self.blockers().filter(|blocker| !blocker.phase().is_ended())
    }

    /// Whatever may have made the ticket pause.
    pub fn pausing(&self) -> impl Iterator<Item = &Item> {
        self.0.iter().filter(|item| !is_kind(item, BLOCKER))
    }

    /// Whether its event waits for the scheduler.
    pub fn is_announced(&self) -> bool {
        self.events().any(|event| !event.phase().is_ended())
    }

    /// The gate of a work order.
    pub fn gate_of(&self, order: ItemId) -> Option<&Item> {
        self.gates().find(|gate| gate.linked(ORDER).any(|to| to == order))
    }
}
