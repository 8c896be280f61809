//! Readiness: every ticket that can be worked on has its event, and every output its gate. Whatever moves a ticket brings both
//! along; this repairs what somebody moved by hand, or ended by hand.

use tenure::core::actor::{Actor, Role};
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::word::Store;
use tenure::databases::Query;
use tenure::{Error, Tenure};

use super::family::Family;
use super::judge;
use super::kept::{BUNDLE, Bundle, TICKET, WorkOrder, gate, is_kind, is_state, read, ready, recorded};

/// Tickets that one look goes through.
const PAGE: usize = 100;

/// Goes through tickets page by page, again and again.
#[derive(Debug)]
pub(super) struct Readiness {
    tenure: Tenure,
    store: Store,
    /// How far it has come, of those that are TODO and those that are IN_PROGRESS.
    after: [Option<ItemId>; 2],
}

impl Readiness {
    pub fn of(tenure: &Tenure, store: &Store) -> Result<Readiness, Error> {
        let actor = Actor::new(Role::Worker, "readiness".parse()?);
        let tenure = tenure.acting(store.clone(), actor);
        Ok(Readiness { tenure, store: store.clone(), after: [None, None] })
    }

    /// Looks at one page of each sort. Answers how much it repaired.
    pub async fn sweep(&mut self) -> Result<usize, Error> {
        let mut repaired = 0;
        for (sort, state) in ["TODO", "IN_PROGRESS"].into_iter().enumerate() {
            let query = Query {
                kind: Some(TICKET.parse()?),
                state: Some(state.parse()?),
                after: self.after[sort],
                limit: PAGE,
                ..Query::default()
            };
            let page = self.tenure.list(query).await?;
            for ticket in &page {
                repaired += usize::from(self.repair(ticket).await?);
            }
            self.after[sort] = page.last().filter(|_| page.len() == PAGE).map(|last| last.id);
        }
        Ok(repaired)
    }

    /// Looks at one ticket, of which the log told.
    pub async fn look(&self, id: ItemId) -> Result<bool, Error> {
        match self.tenure.item(id).await {
            Ok(item) if is_kind(&item, TICKET) => self.repair(&item).await,
            Ok(_) | Err(Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn repair(&self, ticket: &Item) -> Result<bool, Error> {
        match ticket.state_name().as_str() {
            "TODO" => self.announce(ticket).await,
            "IN_PROGRESS" => self.submit(ticket.id).await,
            _ => Ok(false),
        }
    }

    /// One that is executable and has no event gets one. Two who do this at once make one event: the database says so.
    async fn announce(&self, ticket: &Item) -> Result<bool, Error> {
        let family = Family::of(&self.tenure, ticket.id).await?;
        if family.is_announced() || family.open_blockers().next().is_some() {
            return Ok(false);
        }
        // Its event may have been processed between the two looks: then it has moved on.
        if self.tenure.item(ticket.id).await?.version != ticket.version {
            return Ok(false);
        }
        self.tenure.create(ready(ticket.id)).await?;
        Ok(true)
    }

    /// A work order that was executed and has no gate gets one: it was committed under a table that asks for none. A person is asked
    /// where the ticket wants that, as if its runner had made the gate.
    async fn submit(&self, ticket: ItemId) -> Result<bool, Error> {
        let family = Family::of(&self.tenure, ticket).await?;
        let Some(order) = family.orders().next_back().filter(|order| is_state(order, "EXECUTED")) else {
            return Ok(false);
        };
        if family.gate_of(order.id).is_some() {
            return Ok(false);
        }
        let whole = self.tenure.whole(order.id).await?;
        let planned: Option<WorkOrder> = read(whole.payload.as_ref());
        let made: Option<Bundle> = recorded(&whole.records, BUNDLE);
        let awaits = planned.zip(made).is_some_and(|(planned, made)| judge::awaits(&planned, &made));
        let system = Actor::new(Role::System, "tickets".parse()?);
        self.tenure.acting(self.store.clone(), system).create(gate(order.id, ticket, awaits)).await?;
        Ok(true)
    }
}
