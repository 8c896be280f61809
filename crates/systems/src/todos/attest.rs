//! attest and reject: a person's word on a `human:` gate. All of them are kept; the newest on a gate counts.
//!
//! A no moves nothing: the task stays with its holder, who reads the reason in it and when `done` is refused, mends it, and is
//! looked at again. The gate goes on waiting for a yes.

use tenure::core::actor::{Role, Roles};
use tenure::core::code::Code;
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::request::NewRecord;
use tenure::databases::outside::now;

use super::done::{body, record};
use super::refusal::{Error, Refusal};
use super::task::{ATTESTATION, Attestation, Task};
use super::{Changed, KIND, Todos};
use crate::gate::{Check, Gate, Weight};
use crate::inbox::{Said, Waiting, Word};

impl Todos {
    /// A person says yes to a `human:` gate of the plan in force.
    pub async fn attest(&self, id: ItemId, gate: &str, note: Option<String>) -> Result<Changed, Error> {
        let gate = Some(gate.to_string());
        self.say(id, &Said { word: Word::Approve, note, gate }).await
    }

    /// A person's word on one gate, or on all that wait, in one transaction.
    pub async fn say(&self, id: ItemId, said: &Said) -> Result<Changed, Error> {
        let task = self.task(id).await?;
        self.only(said.word.event(), Roles::NONE.with(Role::Human).with(Role::Admin))?;
        let gates = asked(&task, said.gate.as_deref())?;
        let note = said.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        match said.word {
            Word::Approve => {}
            Word::Reject if task.item.phase().is_ended() => return Err(over(&task, "nothing was changed")),
            Word::Reject if note.is_none() => {
                return Err(
                    Refusal::invalid("note: say why; who works on it has nothing else to go by").into()
                );
            }
            Word::Reject => {}
        }
        let by = self.actor.to_string();
        let mut records = Vec::new();
        for gate in gates {
            let gate = gate.to_string();
            let one = Attestation {
                approved: said.word == Word::Approve,
                by: by.clone(),
                gate,
                note: note.map(str::to_string),
                at: Default::default(),
            };
            records.extend(self.new_word(&task, &one)?);
        }
        if records.is_empty() {
            return Ok(Changed { receipt: task.item.head, task, fresh: false });
        }
        let changed = self.note(id, records).await?;
        match (said.word, changed.task.item.phase().is_ended()) {
            // Whoever finished it had a yes when they did.
            (Word::Reject, true) => Err(over(&changed.task, "your no came too late and is kept with it")),
            (Word::Approve | Word::Reject, _) => Ok(changed),
        }
    }

    /// The record of a word, unless it was this person's last one on the gate.
    fn new_word(&self, task: &Task, said: &Attestation) -> Result<Option<NewRecord>, Error> {
        let is_last = |last: &Attestation| last.approved == said.approved && last.by == said.by;
        let is_same = task.last_word(&said.gate).is_some_and(is_last);
        // To a no more can be said; another yes says nothing.
        if is_same && (said.approved || task.last_word(&said.gate).is_some_and(|last| last.note == said.note))
        {
            return Ok(None);
        }
        let before =
            task.attestations.iter().filter(|one| one.gate == said.gate && one.by == said.by).count();
        let mut name = format!("{}/{}", &Hash::of(said.gate.as_bytes()).to_string()[..24], self.actor.id);
        if before > 0 {
            name = format!("{name}/{}", before + 1);
        }
        let said = serde_json::to_vec(said).expect("this is plain data");
        record(ATTESTATION, &name, body(said)?).map(Some)
    }

    /// What a person is asked about a task: nothing, unless somebody holds it and its plan wants a person's word.
    pub(crate) async fn waiting(&self, id: ItemId) -> Result<Option<Waiting>, tenure::Error> {
        let task = match self.task(id).await {
            Err(Error::Engine(error)) => return Err(error),
            Err(Error::Refused(_)) => return Ok(None),
            Ok(task) => task,
        };
        // A claim that has lapsed is nobody's, whether or not that has been written down yet.
        let is_held = task.item.lease.as_ref().is_some_and(|lease| lease.is_live(now()));
        Ok(is_held.then(|| about(&task)).filter(|waiting| !waiting.question.is_empty()))
    }

    pub(crate) async fn answer(&self, id: ItemId, said: Said) -> Result<Waiting, Error> {
        Ok(about(&self.say(id, &said).await?.task))
    }
}

fn about(task: &Task) -> Waiting {
    let questions: Vec<String> = task.unattested().map(|gate| question(task, gate)).collect();
    Waiting {
        id: task.id(),
        kind: KIND.to_string(),
        state: task.state().to_string(),
        ticket_id: None,
        title: task.title.clone(),
        question: questions.join("; "),
        since: task.item.updated,
    }
}

fn question(task: &Task, gate: &Gate) -> String {
    let what = match &gate.check {
        Check::Human(what) => what.as_str(),
        Check::Cmd(_) | Check::Test(_) | Check::Build(_) | Check::FileExists(_) | Check::FileHash { .. } => {
            ""
        }
    };
    let weight = match gate.weight {
        Weight::Blocking => "",
        Weight::Advisory => " (advisory)",
    };
    let no = task.last_word(&gate.to_string()).map_or(String::new(), |no| format!(" ({})", no.in_words()));
    format!("{what}{weight}{no}")
}

/// The gates that a word is about.
fn asked<'a>(task: &'a Task, named: Option<&str>) -> Result<Vec<&'a Gate>, Error> {
    let waiting: Vec<&Gate> = task.unattested().collect();
    let Some(named) = named else {
        return match waiting.is_empty() {
            false => Ok(waiting),
            true => Err(Refusal::new(Code::TransitionRefused, "no gate of it waits for a person")
                .with("state", task.state())
                .into()),
        };
    };
    let mut gates = task.plan.iter().flat_map(|plan| &plan.gates).filter(|gate| gate.is_human());
    let is_it = |gate: &&Gate| {
        gate.to_string() == named || matches!(&gate.check, Check::Human(what) if what == named)
    };
    gates.find(is_it).map(|gate| vec![gate]).ok_or_else(|| {
        let waiting: Vec<String> = waiting.iter().map(ToString::to_string).collect();
        let detail = format!("gate: {named:?} is no human: gate of its plan; there are {waiting:?}");
        Refusal::invalid(detail).into()
    })
}

fn over(task: &Task, what: &str) -> Error {
    let detail = format!("{} is {}, which is final; {what}", task.id(), task.state());
    Refusal::new(Code::TransitionRefused, detail).with("state", task.state()).into()
}
