//! Why an item is where it is, and how it moves on: in plain words for people, in fields for programs.
//!
//! ```text
//!   database ─▶ Facts::read ─▶ Facts ─▶ explain() ─▶ Explanation
//! ```
//!
//! The second half is pure, and nothing is judged in it a second time: guards and limits are asked of the kernel, over the same
//! world that a request would be decided in.

mod ended;
mod facts;
mod held;
mod moves;
mod next;
mod waits;
mod words;

use serde::Serialize;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::Phase;
use tenure_core::lifecycle::event::Event;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Label, Store};

use crate::error::Error;
use crate::refused::Refused;
use crate::tenure::Tenure;

pub use ended::{Ended, Failed, Tries};
pub use facts::{AHEAD_MAX, Facts, Known};
pub use held::Held;
pub use moves::Move;
pub use next::Next;

/// Other items that are named one by one; of more than that the first are.
const RELATED_MAX: usize = 20;

/// Why an item is where it is. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Explanation {
    pub id: ItemId,
    pub kind: Kind,
    pub store: Store,
    /// None, as the phase: its row can not be read.
    pub state: Option<Label>,
    pub phase: Option<&'static str>,
    /// What the lifecycle says of the state.
    pub meaning: String,
    /// When it came into this state.
    pub since: Option<Time>,
    /// When it was looked at, by the database's clock.
    pub at: Time,
    /// One sentence: where it is, and the first reason.
    pub summary: String,
    /// Why it is there, the weightiest first. Never empty.
    pub because: Vec<Because>,
    /// What happens by itself. None: nothing does.
    pub next: Option<Next>,
    /// What somebody can do.
    pub moves: Vec<Move>,
    pub held: Option<Held>,
    pub ended: Option<Ended>,
    pub attempts: Option<Tries>,
    /// The last that failed, oldest first.
    pub failures: Vec<Failed>,
    /// The items that it is linked to.
    pub links: Vec<Related>,
    pub retry_of: Option<ItemId>,
    pub retried_as: Option<ItemId>,
    /// The item whose commit or move made it.
    pub made_by: Option<ItemId>,
    /// Which writes are refused. None: nobody has ever held it.
    pub refused_writes: Option<String>,
    /// Those that were since this process began, the latest last.
    pub refused: Vec<Refused>,
}

/// One reason. `reason` is for programs, `text` for people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Because {
    pub reason: Reason,
    pub text: String,
    /// Time alone ends it then.
    pub until: Option<Time>,
    /// Who holds it, said so, or is waited for.
    pub who: Option<String>,
    /// Those that it waits for.
    pub items: Vec<Related>,
}

impl Because {
    fn new(reason: Reason, text: impl Into<String>) -> Because {
        Because { reason, text: text.into(), until: None, who: None, items: Vec::new() }
    }

    fn until(self, until: Option<Time>) -> Because {
        Because { until, ..self }
    }

    fn who(self, who: impl ToString) -> Because {
        Because { who: Some(who.to_string()), ..self }
    }

    fn items(self, items: Vec<Related>) -> Because {
        Because { items, ..self }
    }
}

/// Every reason there is, by a word that never changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Ready: its place in the queue.
    InLine,
    /// Ready, and nobody holds anything of its kind.
    Unattended,
    /// Its creator, or a move, said not before.
    Scheduled,
    /// It failed and waits before it is tried again.
    Backoff,
    /// Its holder gave it back for a while.
    Snoozed,
    /// Another of its key runs, and one runs at a time.
    KeyHeld,
    /// Older ones of its key come first.
    KeyTurn,
    KeyConcurrency,
    KeyRate,
    Concurrency,
    Rate,
    Paused,
    Breaker,
    /// It waits for somebody's move.
    Actor,
    /// It waits for the engine's move, which comes with another item's.
    Engine,
    /// A condition of a row does not hold: a dependency, a blocker, a field.
    Condition,
    /// Somebody holds it.
    Held,
    /// It is held and was not started.
    NotStarted,
    /// It has committed and was not finished.
    Committed,
    /// Its lease or its window has ended, and nobody has swept it yet.
    Expired,
    CancelRequested,
    Succeeded,
    Failed,
    Stopped,
    /// Another item was made in its place.
    Retried,
    /// Its row can not be read.
    SetAside,
}

/// Another item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Related {
    pub id: ItemId,
    /// The link's label; None where it is not a link.
    pub label: Option<Label>,
    /// None, as what follows: there is no such item in this store.
    pub kind: Option<Kind>,
    pub state: Option<Label>,
    pub owner: Option<String>,
    pub until: Option<Time>,
}

impl Related {
    fn of(facts: &Facts, id: ItemId, label: Option<&Label>) -> Related {
        let item = facts.world.items.get(&id);
        let lease = item.and_then(|item| item.lease.as_ref());
        Related {
            id,
            label: label.cloned(),
            kind: item.map(|item| item.table.kind.clone()),
            state: item.map(|item| item.state_name().clone()),
            owner: lease.map(|lease| lease.owner.to_string()),
            until: lease.map(|lease| lease.expires),
        }
    }
}

impl Tenure {
    /// Why an item is where it is, what happens to it by itself, and how somebody moves it.
    pub async fn explain(&self, id: ItemId) -> Result<Explanation, Error> {
        let (kept, store) = (self.inner.kept.clone(), self.store.clone());
        let facts = self.beside(async move { kept.facts(&store, id).await }).await?;
        let refused = self.inner.counters.refused().of(&self.store, id);
        facts.map(|facts| explain(&Facts { refused, ..facts })).ok_or(Error::NotFound(id))
    }
}

/// What the facts come to.
pub fn explain(facts: &Facts) -> Explanation {
    match &facts.known {
        Some(known) => explain_known(facts, known),
        None => explain_set_aside(facts),
    }
}

fn explain_known(facts: &Facts, known: &Known) -> Explanation {
    let item = &known.item;
    let mut because = because(facts, known);
    if let Some(reason) = set_aside(facts) {
        because.insert(0, reason);
    }
    let links = item.links.iter().take(RELATED_MAX);
    let origin = origin(known);
    Explanation {
        id: item.id,
        kind: item.table.kind.clone(),
        store: item.store.clone(),
        state: Some(item.state_name().clone()),
        phase: Some(item.phase().as_str()),
        meaning: item.table.state(item.state).meaning.clone(),
        since: since(known),
        at: facts.world.now,
        summary: summary(&item.table.kind, item.id, item.state_name(), &because),
        because,
        next: next::next(facts, item),
        moves: moves::moves(facts, item),
        held: Held::of(item),
        ended: Ended::of(known),
        attempts: Some(Tries::of(item)),
        failures: ended::failures(known),
        links: links.map(|link| Related::of(facts, link.to, Some(&link.label))).collect(),
        retry_of: origin.filter(|_| is_retry(known)),
        retried_as: known.retried_as,
        made_by: origin.filter(|_| !is_retry(known)),
        refused_writes: held::refused_writes(item, facts.world.now),
        refused: held::refused(facts),
    }
}

fn because(facts: &Facts, known: &Known) -> Vec<Because> {
    match known.item.phase() {
        Phase::Waiting => waits::for_a_move(facts, &known.item),
        Phase::Ready => waits::for_a_lease(facts, known),
        Phase::Active => held::because(facts, &known.item),
        Phase::Succeeded | Phase::Failed | Phase::Stopped => ended::because(facts, known),
    }
}

fn summary(kind: &Kind, id: ItemId, state: &str, because: &[Because]) -> String {
    let first = because.first().expect("there is always a reason");
    format!("{kind} {id} is {state}: {}.", first.text)
}

/// The entry that brought it into the state it is in.
fn since(known: &Known) -> Option<Time> {
    let state = known.item.state_name();
    let stayed = known.history.iter().rev().take_while(|entry| entry.state == *state);
    stayed.last().map(|entry| entry.at)
}

fn origin(known: &Known) -> Option<ItemId> {
    known.item.origin
}

/// A retry has the name that every retry of its origin has.
fn is_retry(known: &Known) -> bool {
    use tenure_core::entry::Facts::Create;
    let birth = known.history.first().map(|entry| &entry.facts);
    let (Some(Create(birth)), Some(origin)) = (birth, known.item.origin) else { return false };
    birth.name == Some(crate::redrive::retry_name(origin))
}

/// The events that the engine takes when time has made them due; nobody asks for them.
fn is_times_own(event: &Event) -> bool {
    matches!(event, Event::Expire | Event::TimeOut | Event::Orphan)
}

fn set_aside(facts: &Facts) -> Option<Because> {
    let row = facts.set_aside.as_ref()?;
    let text = format!("its row can not be read and was set aside at {}: {}", row.at, row.why);
    Some(Because::new(Reason::SetAside, text))
}

fn explain_set_aside(facts: &Facts) -> Explanation {
    let row = facts.set_aside.as_ref().expect("an item is known, or it was set aside");
    let because: Vec<Because> = set_aside(facts).into_iter().collect();
    let state = row.state.as_deref().unwrap_or("unreadable");
    Explanation {
        id: facts.id,
        kind: row.kind.clone(),
        store: facts.store.clone(),
        state: row.state.clone(),
        phase: None,
        meaning: String::new(),
        since: None,
        at: facts.world.now,
        summary: summary(&row.kind, facts.id, state, &because),
        because,
        next: None,
        moves: Vec::new(),
        held: None,
        ended: None,
        attempts: None,
        failures: Vec::new(),
        links: Vec::new(),
        retry_of: None,
        retried_as: None,
        made_by: None,
        refused_writes: None,
        refused: held::refused(facts),
    }
}

/// The exits that a state has, each event once with the rows it could take, without those that only time takes.
fn exits(item: &Item) -> Vec<(&Event, Vec<&tenure_core::lifecycle::Row>)> {
    let events = item.table.events_from(item.state).into_iter().filter(|event| !is_times_own(event));
    let with_rows = events.map(|event| {
        let rows = item.table.rows_from(Some(item.state), event).filter(|row| row.is_exit());
        (event, rows.collect::<Vec<_>>())
    });
    with_rows.filter(|(_, rows)| !rows.is_empty()).collect()
}
