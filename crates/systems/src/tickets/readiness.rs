//! Readiness: every ticket that can be worked on has its event, every output its gate, and what has an open blocker is BLOCKED, where
//! people find it. Whatever moves a ticket sees to that; this repairs what somebody moved by hand, or ended by hand.

use tenure::core::actor::{Actor, Role};
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::request::{Command, Effects, Move};
use tenure::core::word::Store;
use tenure::databases::Query;
use tenure::{Error, Tenure};

use super::artifact::record;
use super::family::Family;
use super::judge;
use super::kept::{
    BUNDLE, Bundle, PAUSE, PauseState, RUN, TICKET, WorkOrder, blocker, gate, is_kind, is_state, latest,
    read, ready, recorded,
};
use super::operations::refused;
use super::scheduler::has_open;

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
            "IN_PROGRESS" => self.submit(ticket).await,
            _ => Ok(false),
        }
    }

    /// One that is executable and has no event gets one. Two who do this at once make one event: the database says so.
    async fn announce(&self, ticket: &Item) -> Result<bool, Error> {
        let family = Family::of(&self.tenure, ticket.id).await?;
        if family.is_announced() {
            return Ok(false);
        }
        let open: Vec<String> = family.open_blockers().map(|blocker| blocker.id.to_string()).collect();
        if !open.is_empty() {
            return self.block(ticket, &has_open(&open)).await;
        }
        // Its event may have been processed between the two looks: then it has moved on.
        if self.tenure.item(ticket.id).await?.version != ticket.version {
            return Ok(false);
        }
        self.tenure.create(ready(ticket.id)).await?;
        Ok(true)
    }

    /// One that is TODO in spite of an open blocker waits for a person, as if the scheduler had found it so.
    async fn block(&self, ticket: &Item, why: &str) -> Result<bool, Error> {
        let pause = PauseState::blocked(ticket.id, None, why);
        let name = format!("block-{}", ticket.version);
        let records = vec![record(PAUSE, &name, &pause).map_err(refused)?];
        let step = Move {
            // Whoever has moved it meanwhile has had a reason.
            expected_version: Some(ticket.version),
            reason: Some(why.to_string()),
            effects: Effects { records, ..Effects::default() },
            ..Move::new(ticket.id, "block".parse()?)
        };
        Ok(self.system()?.ask(Command::Move(step)).await?.answer.is_yes())
    }

    /// A ticket whose output was judged without a run record, by a commit under a table that asks for none: nothing would ever move it, so
    /// a person is asked.
    async fn give_up(&self, ticket: &Item, gate: &Item) -> Result<bool, Error> {
        let is_judged = gate.phase().is_ended();
        if !is_judged || latest(&self.tenure.whole(gate.id).await?.records, RUN).is_some() {
            return Ok(false);
        }
        let why = format!("gate {} ended without a run record: nobody has judged the output", gate.id);
        let creates = vec![blocker(ticket.id, &why).into_create()?];
        let step = Move {
            expected_version: Some(ticket.version),
            reason: Some(why),
            effects: Effects { creates, ..Effects::default() },
            ..Move::new(ticket.id, "block".parse()?)
        };
        Ok(self.system()?.ask(Command::Move(step)).await?.answer.is_yes())
    }

    /// Whoever may what the tables leave to the workers of tickets.
    fn system(&self) -> Result<Tenure, Error> {
        let system = Actor::new(Role::System, "tickets".parse()?);
        Ok(self.tenure.acting(self.store.clone(), system))
    }

    /// A work order that was executed and has no gate gets one: it was committed under a table that asks for none. A person is asked
    /// where the ticket wants that, as if its runner had made the gate.
    async fn submit(&self, ticket: &Item) -> Result<bool, Error> {
        let family = Family::of(&self.tenure, ticket.id).await?;
        let Some(order) = family.orders().next_back().filter(|order| is_state(order, "EXECUTED")) else {
            return Ok(false);
        };
        if let Some(gate) = family.gate_of(order.id) {
            return self.give_up(ticket, gate).await;
        }
        let whole = self.tenure.whole(order.id).await?;
        let planned: Option<WorkOrder> = read(whole.payload.as_ref());
        let made: Option<Bundle> = recorded(&whole.records, BUNDLE);
        let awaits = planned.zip(made).is_some_and(|(planned, made)| judge::awaits(&planned, &made));
        self.system()?.create(gate(order.id, ticket.id, awaits)).await?;
        Ok(true)
    }
}
