//! What of tickets waits for a person: those to be approved, those that are blocked, outputs to be looked at.

use tenure::Error;
use tenure::core::item::Item;
use tenure::core::lifecycle::event::Event;
use tenure::core::request::Effects;

use super::Tickets;
use super::artifact::record;
use super::family::Family;
use super::kept::{ATTESTATION, Attestation, GATE, Gate, ONLY, is_kind, is_state, read};
use super::operations::{asked, refused};
use crate::inbox::{self, Said, Waiting, Word};

impl Tickets {
    pub(crate) async fn waiting(&self, item: &Item) -> Result<Waiting, Error> {
        let about = |ticket_id, title: String, question: String| Waiting {
            id: item.id,
            kind: item.table.kind.to_string(),
            state: item.state_name().to_string(),
            ticket_id: Some(ticket_id),
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
    pub(crate) async fn answer(&self, item: &Item, said: Said) -> Result<Waiting, Error> {
        let (id, note) = (item.id, said.note);
        let why = || note.clone().unwrap_or_else(|| "it was rejected".to_string());
        match (item.table.kind.as_str(), item.state_name().as_str(), said.word) {
            (GATE, _, word) => self.attest(item, word, note).await?,
            (_, "NEW", Word::Reject) => drop(self.add_blocker(id, &why()).await?),
            (_, "BLOCKED", Word::Approve) => drop(self.resolve(id, note).await?),
            (_, _, Word::Approve) => drop(self.approve(id, note).await?),
            (_, _, Word::Reject) => return Err(not_rejected(item)),
        }
        self.waiting(&self.tenure.item(id).await?).await
    }

    async fn attest(&self, gate: &Item, word: Word, note: Option<String>) -> Result<(), Error> {
        let by = self.tenure.actor().to_string();
        let said = Attestation { approved: word == Word::Approve, by, note: note.clone() };
        let records = vec![record(ATTESTATION, ONLY, &said).map_err(refused)?];
        let effects = Effects { records, ..Effects::default() };
        self.advance(gate.id, "attest", note, effects).await.map(drop)
    }
}

fn not_rejected(item: &Item) -> Error {
    let detail =
        format!("a ticket that is {} is not rejected; it waits for nobody's word", item.state_name());
    inbox::refused(item, Event::Plain("reject".parse().expect("a valid event")), detail)
}
