//! What of tickets waits for a person: those to be approved, those that are blocked, outputs to be looked at.

use tenure::Error;
use tenure::core::item::Item;
use tenure::core::lifecycle::event::Event;
use tenure::core::request::Effects;

use super::Tickets;
use super::artifact::record;
use super::family::Family;
use super::kept::{
    ATTESTATION, Attestation, BUNDLE, Bundle, GATE, Gate, ONLY, Patch, is_kind, is_state, read, recorded,
};
use super::operations::{asked, refused};
use super::patch::short;
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
            let ticket = gate.as_ref().map_or(item.id, |gate| gate.ticket_id);
            let asked = asked(&self.ticket(ticket).await?);
            let gates: Vec<&str> =
                asked.gates.iter().filter_map(|gate| gate.strip_prefix("human:")).collect();
            let look = match gate {
                Some(gate) => self.look_at(&gate).await?,
                None => String::new(),
            };
            return Ok(about(ticket, asked.title.clone(), format!("{}{look}", gates.join("; "))));
        }
        let title = asked(&self.ticket(item.id).await?).title;
        let mut reasons = Vec::new();
        for blocker in Family::of(&self.tenure, item.id).await?.open_blockers() {
            reasons.push(self.blocker(blocker).await?.reason);
        }
        let question = match (is_state(item, "NEW"), reasons.is_empty()) {
            (true, true) => "may it be worked on?".to_string(),
            (true, false) => format!("it was rejected: {}", reasons.join("; ")),
            (false, true) => "nothing blocks it any more: may it be worked on?".to_string(),
            (false, false) => reasons.join("; "),
        };
        Ok(about(item.id, title, question))
    }

    /// Where a person finds what was made: a branch, and how it differs from the commit that it began at; or the run itself.
    async fn look_at(&self, gate: &Gate) -> Result<String, Error> {
        let made: Option<Bundle> = recorded(&self.tenure.whole(gate.work_order_id).await?.records, BUNDLE);
        Ok(match made.and_then(|made| made.patch) {
            Some(Patch { base, branch, .. }) => {
                format!(" (ticket {}; branch {branch}: git diff {}..{branch})", gate.ticket_id, short(&base))
            }
            None => format!(" (ticket {0}: tenure ticket explain {0})", gate.ticket_id),
        })
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
