//! Everything that waits for a person: tickets to be approved, tickets that are blocked, outputs to be looked at.

use tenure::Error;
use tenure::core::actor::Actor;
use tenure::core::answer::{Answer, Refusal};
use tenure::core::code::{Code, Problem};
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::event::Event;
use tenure::core::request::Effects;
use tenure::core::time::Time;
use tenure::databases::Query;

use super::artifact::record;
use super::family::Family;
use super::kept::{ATTESTATION, Attestation, GATE, Gate, ONLY, TICKET, is_kind, is_state, read};
use super::operations::{asked, refused};
use super::{Tickets, none};

/// One thing that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub id: ItemId,
    pub kind: String,
    pub state: String,
    /// The ticket that it is about.
    pub ticket_id: ItemId,
    pub title: String,
    /// What is asked of the person.
    pub question: String,
    pub since: Time,
}

/// What a person says to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    Approve,
    Reject,
}

impl Tickets {
    /// A page of what waits, oldest first, after an item.
    pub async fn inbox(&self, after: Option<ItemId>, limit: usize) -> Result<Vec<Waiting>, Error> {
        let mut found = Vec::new();
        for (kind, state) in [(TICKET, "NEW"), (TICKET, "BLOCKED"), (GATE, "AWAITING")] {
            let (kind, state) = (Some(kind.parse()?), Some(state.parse()?));
            let query = Query { kind, state, after, limit, ..Query::default() };
            found.extend(self.tenure.list(query).await?);
        }
        found.sort_by_key(|item| item.id);
        found.truncate(limit);
        let mut waiting = Vec::new();
        for item in &found {
            waiting.push(self.waiting(item).await?);
        }
        Ok(waiting)
    }

    async fn waiting(&self, item: &Item) -> Result<Waiting, Error> {
        let about = |ticket_id: ItemId, title: String, question: String| Waiting {
            id: item.id,
            kind: item.table.kind.to_string(),
            state: item.state_name().to_string(),
            ticket_id,
            title,
            question,
            since: item.updated,
        };
        if is_kind(item, GATE) {
            let gate: Option<Gate> = read(self.tenure.whole(item.id).await?.payload.as_ref());
            let ticket = gate.map_or(item.id, |gate| gate.ticket_id);
            let asked = asked(&self.ticket(ticket).await?);
            let gates: Vec<&str> =
                asked.gates.iter().filter_map(|gate| gate.strip_prefix("human:")).collect();
            return Ok(about(ticket, asked.title.clone(), gates.join("; ")));
        }
        let title = asked(&self.ticket(item.id).await?).title;
        let mut reasons = Vec::new();
        for blocker in Family::of(&self.tenure, item.id).await?.open_blockers() {
            reasons.push(self.blocker(blocker).await?.reason);
        }
        let question = match (is_state(item, "NEW"), reasons.is_empty()) {
            (true, true) => "may it be worked on?".to_string(),
            (true, false) => format!("it was rejected: {}", reasons.join("; ")),
            (false, _) => reasons.join("; "),
        };
        Ok(about(item.id, title, question))
    }

    /// A person's word. A ticket that is NEW is approved, one that is BLOCKED resolved, an output attested; a NEW ticket that is
    /// rejected gets a blocker, so that approving it later starts nothing before that is resolved.
    pub async fn answer(
        &self,
        id: ItemId,
        word: Word,
        by: &Actor,
        note: Option<String>,
    ) -> Result<Waiting, Error> {
        let item = match self.tenure.item(id).await {
            Ok(item) if is_kind(&item, TICKET) || is_kind(&item, GATE) => item,
            Ok(_) | Err(Error::NotFound(_)) => return Err(none(TICKET, id)),
            Err(error) => return Err(error),
        };
        let said = || note.clone().unwrap_or_else(|| "it was rejected".to_string());
        match (item.table.kind.as_str(), item.state_name().as_str(), word) {
            (GATE, _, _) => self.attest(&item, word, by, note).await?,
            (_, "NEW", Word::Reject) => drop(self.add_blocker(id, &said()).await?),
            (_, "BLOCKED", Word::Approve) => drop(self.resolve(id, note).await?),
            (_, _, Word::Approve) => drop(self.approve(id, note).await?),
            (_, _, Word::Reject) => return Err(not_rejected(&item)),
        }
        self.waiting(&self.tenure.item(id).await?).await
    }

    async fn attest(&self, gate: &Item, word: Word, by: &Actor, note: Option<String>) -> Result<(), Error> {
        let said = Attestation { approved: word == Word::Approve, by: by.to_string(), note: note.clone() };
        let records = vec![record(ATTESTATION, ONLY, &said).map_err(refused)?];
        let effects = Effects { records, ..Effects::default() };
        self.advance(gate.id, "attest", note, effects).await.map(drop)
    }
}

fn not_rejected(item: &Item) -> Error {
    let detail =
        format!("a ticket that is {} is not rejected; it waits for nobody's word", item.state_name());
    let refusal = Refusal {
        item: item.id,
        state: item.state_name().clone(),
        event: Event::Plain("reject".parse().expect("a valid event")),
        allowed: item.table.events_from(item.state).into_iter().cloned().collect(),
        problem: Problem::new(Code::TransitionRefused, detail),
    };
    Error::Refused(Box::new(Answer::Refused(Box::new(refusal))))
}
