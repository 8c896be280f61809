//! The inbox: everything of a store that waits for a person, whatever system it belongs to, and their word on it.
//!
//! | what waits | yes | no |
//! |---|---|---|
//! | a ticket that is NEW, or BLOCKED | it is approved, or resolved | a NEW one gets a blocker |
//! | the output of a work order with a `human:` gate | it passes | it fails, as by any other gate |
//! | a task that is held and whose plan has a `human:` gate | the gate passes | it does not, with a reason |
//! | an item of any other lifecycle, in a state that only people lead out of | its event `approve` | its event `reject` |
//!
//! Which states those are is read from the tables: where another role takes the person's place in one, nothing waits for a
//! person there any more. What has failed for good is over, and is not in here.

use std::collections::BTreeSet;

use tenure::core::actor::{Role, Roles};
use tenure::core::answer::{Answer, Refusal};
use tenure::core::body::Body;
use tenure::core::code::{Code, Problem};
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::event::Event;
use tenure::core::lifecycle::{Phase, Row, StateId, Table};
use tenure::core::request::{Command, Move};
use tenure::core::time::Time;
use tenure::core::word::{EventName, Kind, Label};
use tenure::databases::Query;
use tenure::{Error, Tenure};

use crate::tickets::{self, Tickets};
use crate::todos::{self, Settings, Todos};

/// Items that are looked at for one page, of which it shows those that wait. It is some reading for each of them, and a tenth of
/// a second on a busy database; a list with more goes on behind its cursor.
const LOOKED_AT_MAX: usize = 500;

/// One thing that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub id: ItemId,
    pub kind: String,
    pub state: String,
    /// The ticket that it is about, if it is about one.
    pub ticket_id: Option<ItemId>,
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

impl Word {
    pub fn event(self) -> &'static str {
        match self {
            Word::Approve => "approve",
            Word::Reject => "reject",
        }
    }
}

/// A person's word, and what they said with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    pub word: Word,
    pub note: Option<String>,
    /// The one gate of a task that it is about. None: all that wait.
    pub gate: Option<String>,
}

/// A part of what waits. It may be short, or empty, and still have others behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    pub waiting: Vec<Waiting>,
    /// Where the next one begins. None: that was all.
    pub next: Option<ItemId>,
}

/// What waits for people, for whoever a handle acts for, in its store.
#[derive(Clone, Debug)]
pub struct Inbox {
    tenure: Tenure,
    tickets: Tickets,
    todos: Todos,
}

impl Inbox {
    pub fn of(tenure: &Tenure) -> Inbox {
        // No branch is changed by what a person says.
        let todos = Todos::new(tenure, tenure.actor().clone(), None, Settings::default());
        Inbox { tenure: tenure.clone(), tickets: Tickets::of(tenure), todos }
    }

    /// A page of what waits, oldest first, after an item, of the kinds that the reader may see.
    pub async fn page(
        &self,
        may_see: impl Fn(&Kind) -> bool,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<Page, Error> {
        let (mut found, mut known_to) = (Vec::new(), None::<ItemId>);
        for (kind, state) in self.places(may_see) {
            let (kind, state) = (Some(kind), Some(state));
            let query = Query { kind, state, after, limit: LOOKED_AT_MAX, ..Query::default() };
            let items = self.tenure.list(query).await?;
            // Behind the last one of a list that is full there may be more of its sort.
            if let Some(last) = items.last().filter(|_| items.len() == LOOKED_AT_MAX) {
                known_to = Some(known_to.map_or(last.id, |known| known.min(last.id)));
            }
            found.extend(items);
        }
        found.sort_by_key(|item| item.id);
        found.retain(|item| known_to.is_none_or(|known| item.id <= known));
        let all = found.len();
        let (mut waiting, mut looked_at, mut last) = (Vec::new(), 0, None);
        for item in found.iter().take(LOOKED_AT_MAX) {
            waiting.extend(self.waiting(item).await?);
            (looked_at, last) = (looked_at + 1, Some(item.id));
            if waiting.len() == limit {
                break;
            }
        }
        let is_all = looked_at == all && known_to.is_none();
        Ok(Page { waiting, next: last.filter(|_| !is_all) })
    }

    /// The states, of every version of every lifecycle, in which something may wait for a person.
    fn places(&self, may_see: impl Fn(&Kind) -> bool) -> BTreeSet<(Kind, Label)> {
        let tables = self.tenure.lifecycles();
        let mut places = BTreeSet::new();
        for table in tables.versions().filter(|table| may_see(&table.kind)) {
            let states = table.state_ids().filter(|state| waits_in(table, *state));
            places.extend(states.map(|state| (table.kind.clone(), table.state(state).name.clone())));
        }
        places
    }

    /// What is asked about an item, if a person is asked.
    async fn waiting(&self, item: &Item) -> Result<Option<Waiting>, Error> {
        match item.table.kind.as_str() {
            _ if !waits_in(&item.table, item.state) => Ok(None),
            todos::KIND => self.todos.waiting(item.id).await,
            tickets::KIND | tickets::GATE_KIND => self.tickets.waiting(item).await.map(Some),
            _ => self.other(item).await.map(Some),
        }
    }

    /// An item of a lifecycle that none of the systems has.
    async fn other(&self, item: &Item) -> Result<Waiting, Error> {
        let whole = self.tenure.whole(item.id).await?;
        let payload = whole.payload.as_ref().and_then(Body::value);
        let title = payload.as_ref().and_then(|payload| payload["title"].as_str());
        let key = || item.key.as_ref().map_or(item.table.kind.as_str(), |key| key.as_str());
        let moves: BTreeSet<&str> = exits(&item.table, item.state).map(Row::shown).collect();
        let moves: Vec<&str> = moves.into_iter().collect();
        let meaning = &item.table.state(item.state).meaning;
        Ok(Waiting {
            id: item.id,
            kind: item.table.kind.to_string(),
            state: item.state_name().to_string(),
            ticket_id: None,
            title: title.map_or_else(|| key().to_string(), str::to_string),
            question: format!("{meaning} ({})", moves.join(", ")).trim_start().to_string(),
            since: item.updated,
        })
    }

    /// A person's word on something that waits, or has waited. What comes back is how it is now.
    pub async fn answer(&self, id: ItemId, said: Said) -> Result<Waiting, todos::Error> {
        let item = match self.tenure.item(id).await {
            Err(Error::NotFound(_)) => return Err(nothing(id).into()),
            item => item?,
        };
        let kind = item.table.kind.as_str();
        if said.gate.is_some() && kind != todos::KIND {
            let problem =
                Problem::invalid("gate: only of a task one gate is named; this is answered as a whole");
            return Err(Answer::Invalid(problem).into());
        }
        match kind {
            todos::KIND => self.todos.answer(id, said).await,
            tickets::KIND | tickets::GATE_KIND => Ok(self.tickets.answer(&item, said).await?),
            _ if !item.table.state_ids().any(|state| waits_in(&item.table, state)) => Err(nothing(id).into()),
            _ => Ok(self.advance(&item, said).await?),
        }
    }

    /// The event of that name, where the table has one.
    async fn advance(&self, item: &Item, said: Said) -> Result<Waiting, Error> {
        let name: EventName = said.word.event().parse()?;
        let event = Event::Plain(name.clone());
        if !exits(&item.table, item.state).any(|row| row.event == event) {
            let moves: BTreeSet<&str> = exits(&item.table, item.state).map(Row::shown).collect();
            let moves: Vec<&str> = moves.into_iter().collect();
            let detail = format!(
                "a {} that is {} has no {event}: `tenure item move {} EVENT`, with one of {}",
                item.table.kind,
                item.state_name(),
                item.id,
                moves.join(", ")
            );
            return Err(refused(item, event, detail));
        }
        let step = Move { reason: said.note, ..Move::new(item.id, name) };
        match self.tenure.ask(Command::Move(step)).await?.answer {
            Answer::Done(item) | Answer::Same(item) => self.other(&item).await,
            no => Err(Error::Refused(Box::new(no))),
        }
    }
}

/// Whether only people lead out of a state: every way out is open to them, and one to nobody else. A task that is held is asked
/// about by its plan.
fn waits_in(table: &Table, state: StateId) -> bool {
    let people = Roles::NONE.with(Role::Human);
    match table.phase(state) {
        Phase::Waiting => {
            exits(table, state).all(|row| row.actors.names(Role::Human))
                && exits(table, state)
                    .any(|row| row.actors == people || row.actors == people.with(Role::Admin))
        }
        Phase::Active => table.kind.as_str() == todos::KIND,
        Phase::Ready | Phase::Succeeded | Phase::Failed | Phase::Stopped => false,
    }
}

fn exits(table: &Table, state: StateId) -> impl Iterator<Item = &Row> {
    table.rows.iter().filter(move |row| row.from == Some(state) && row.is_exit())
}

fn nothing(id: ItemId) -> Error {
    let problem =
        Problem::new(Code::NotFound, format!("nothing called {id} waits for a person in this store"));
    Error::Refused(Box::new(Answer::Invalid(problem)))
}

/// A word that nobody waits for.
pub(crate) fn refused(item: &Item, event: Event, detail: String) -> Error {
    let refusal = Refusal {
        item: item.id,
        state: item.state_name().clone(),
        event,
        allowed: item.table.events_from(item.state).into_iter().cloned().collect(),
        problem: Problem::new(Code::TransitionRefused, detail),
    };
    Error::Refused(Box::new(Answer::Refused(Box::new(refusal))))
}
