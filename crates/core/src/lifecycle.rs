//! A lifecycle: the transition table that a kind of item obeys.
//!
//! The table is the program. It is read from a Markdown file ([`parse`]), and from it come the checks at run time, who
//! may call what, the legal moves a database enforces, the model that `tenure check` explores, and the diagram.
//!
//! This file declares what a table *is*; it evaluates nothing. Guards are judged in `decide`, against a world.

// A layout is arithmetic over its own vectors; an index out of range there is a bug in a picture, not in a promise.
#[allow(clippy::indexing_slicing)]
pub mod diagram;
pub mod effect;
pub mod event;
pub mod guard;
pub mod parse;
pub mod schema;
pub mod settings;
pub mod shipped;
pub mod tables;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::actor::{Role, Roles};
use crate::code::Code;
use crate::hash::Hash;
use crate::word::{Kind, Label};
use effect::Effect;
use event::Event;
use guard::Guard;
use schema::Schema;
use settings::{Coalesce, Settings};

/// What a state means to the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Not eligible: waits for somebody's move.
    Waiting,
    /// May be leased, once its `run_at` has come.
    Ready,
    /// Held under a lease.
    Active,
    Succeeded,
    Failed,
    Stopped,
}

impl Phase {
    pub const ALL: [Phase; 6] =
        [Phase::Waiting, Phase::Ready, Phase::Active, Phase::Succeeded, Phase::Failed, Phase::Stopped];

    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting",
            Phase::Ready => "ready",
            Phase::Active => "active",
            Phase::Succeeded => "succeeded",
            Phase::Failed => "failed",
            Phase::Stopped => "stopped",
        }
    }

    /// The work is over (a failed one may still be retried, where the table has an exit).
    pub fn is_ended(self) -> bool {
        match self {
            Phase::Waiting | Phase::Ready | Phase::Active => false,
            Phase::Succeeded | Phase::Failed | Phase::Stopped => true,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A state's place in its table. Means nothing without that table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateId(pub u8);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub name: Label,
    pub phase: Phase,
    pub meaning: String,
    pub line: u32,
}

/// Where a row leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum To {
    State(StateId),
    /// `! CODE`: the event is refused here, with this code.
    Refuse(Code),
}

/// One row of the transition table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// None for `—`: the row creates.
    pub from: Option<StateId>,
    pub event: Event,
    /// The domain's own name for the event, shown in log and API.
    pub alias: Option<Label>,
    pub to: To,
    pub actors: Roles,
    pub guards: Vec<Guard>,
    pub effects: Vec<Effect>,
    pub line: u32,
}

impl Row {
    /// From = To: answers the current state and writes nothing.
    pub fn is_no_op(&self) -> bool {
        match (self.from, &self.to) {
            (Some(from), To::State(to)) => from == *to,
            (None, _) | (_, To::Refuse(_)) => false,
        }
    }

    /// A row that really leaves its state.
    pub fn is_exit(&self) -> bool {
        match self.to {
            To::State(_) => self.from.is_some() && !self.is_no_op(),
            To::Refuse(_) => false,
        }
    }

    /// The event as the domain calls it.
    pub fn shown(&self) -> &str {
        match &self.alias {
            Some(alias) => alias,
            None => self.event.as_str(),
        }
    }
}

/// A lifecycle, parsed and found sound in itself. Two tables are equal when they mean the same (see [`Table::hash`]).
pub struct Table {
    pub kind: Kind,
    /// The prose between the title and the States heading.
    pub summary: String,
    pub states: Vec<State>,
    pub rows: Vec<Row>,
    pub settings: Settings,
    pub schema: Option<Schema>,
    /// The Markdown it was read from; empty when it was put together by a program. Not part of its identity.
    pub source: Arc<str>,
    hash: Hash,
    /// Of each row its state and its event's ordinal: looking for a row reads these few bytes and not all rows.
    places: Vec<(Option<StateId>, u8)>,
    exclusive: bool,
    supersedes: bool,
    holds_others: bool,
    reads_payload: bool,
}

impl Table {
    /// Assembles a table. The parser is the only caller outside tests; it has checked that every `StateId` is in range.
    pub fn new(
        kind: Kind,
        summary: String,
        states: Vec<State>,
        rows: Vec<Row>,
        settings: Settings,
        schema: Option<Schema>,
    ) -> Table {
        let exclusive = rows.iter().any(|row| row.guards.contains(&Guard::NoOtherRunning));
        let mut effects = rows.iter().flat_map(|row| &row.effects);
        let supersedes = effects.any(|effect| matches!(effect, Effect::MoveOlder(_)));
        let holds_others = rows.iter().any(|row| row.effects.contains(&Effect::LapseHeld));
        let mut guards = rows.iter().flat_map(|row| &row.guards);
        let reads_payload = guards.any(|guard| matches!(guard, Guard::Payload(_)));
        let places = rows.iter().map(|row| (row.from, row.event.ordinal())).collect();
        let hash = Hash([0; 32]);
        let mut table = Table {
            kind,
            summary,
            states,
            rows,
            settings,
            schema,
            source: Arc::default(),
            hash,
            places,
            exclusive,
            supersedes,
            holds_others,
            reads_payload,
        };
        table.hash = Hash::of(table.canonical().as_bytes());
        table
    }

    /// Names the version of this lifecycle. Covers what the table *does*: prose, meanings and line numbers may change
    /// without making a new version.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    fn canonical(&self) -> String {
        let mut text = format!("kind {}\n", self.kind);
        for state in &self.states {
            text.push_str(&format!("state {} {}\n", state.name, state.phase));
        }
        for row in &self.rows {
            text.push_str(&format!("row {}\n", self.describe(row)));
        }
        for setting in self.settings.canonical().lines() {
            text.push_str(&format!("setting {setting}\n"));
        }
        if let Some(schema) = &self.schema {
            text.push_str(&format!("schema {}\n", schema.source()));
        }
        text
    }

    /// A row in one line, as the table would show it.
    pub fn describe(&self, row: &Row) -> String {
        let from = row.from.map_or("—", |from| self.name(from));
        let to = match &row.to {
            To::State(to) => String::from(self.name(*to)),
            To::Refuse(code) => format!("! {code}"),
        };
        let alias = row.alias.as_ref().map_or(String::new(), |alias| format!(" as {alias}"));
        let list = |items: Vec<String>, separator: &str| items.join(separator);
        let guards = list(row.guards.iter().map(|guard| format!("{guard}")).collect(), ", ");
        let effects = list(row.effects.iter().map(|effect| format!("{effect}")).collect(), "; ");
        format!("{from} {}{alias} → {to} [{}; {guards}] {{{effects}}}", row.event, row.actors)
    }

    pub fn state(&self, id: StateId) -> &State {
        self.states.get(usize::from(id.0)).expect("a StateId is only made for a state of its own table")
    }

    pub fn name(&self, id: StateId) -> &str {
        &self.state(id).name
    }

    pub fn phase(&self, id: StateId) -> Phase {
        self.state(id).phase
    }

    pub fn state_ids(&self) -> impl Iterator<Item = StateId> + use<> {
        // The parser allows 64 states, so the index fits.
        (0..self.states.len()).map(|index| StateId(index as u8))
    }

    pub fn state_named(&self, name: &str) -> Option<StateId> {
        self.state_ids().find(|id| self.name(*id) == name)
    }

    /// The rows of an event in one state, in the order in which they are tried.
    pub fn rows_from(&self, from: Option<StateId>, event: &Event) -> impl Iterator<Item = &Row> {
        let place = (from, event.ordinal());
        let rows = self.places.iter().zip(&self.rows).filter(move |(found, _)| **found == place);
        rows.map(|(_, row)| row).filter(move |row| row.event == *event)
    }

    /// Everything that can happen in a state, in the table's order, each event once.
    pub fn events_from(&self, from: StateId) -> Vec<&Event> {
        let mut events: Vec<&Event> = Vec::new();
        for row in self.rows.iter().filter(|row| row.from == Some(from)) {
            if matches!(row.to, To::State(_)) && !events.contains(&&row.event) {
                events.push(&row.event);
            }
        }
        events
    }

    /// Everyone who may cause this event in any state: the role is judged before the state.
    pub fn roles_of(&self, event: &Event) -> Roles {
        let ordinal = event.ordinal();
        let rows = self.places.iter().zip(&self.rows).filter(|((_, found), _)| *found == ordinal);
        rows.filter(|(_, row)| row.event == *event).fold(Roles::NONE, |all, (_, row)| all.and(row.actors))
    }

    pub fn has_row(&self, from: StateId, event: &Event) -> bool {
        self.rows_from(Some(from), event).next().is_some()
    }

    /// Every move from one state to another that some row makes, sorted, each once. What a database lets happen.
    pub fn moves(&self) -> Vec<(StateId, StateId)> {
        let mut moves: Vec<(StateId, StateId)> = Vec::new();
        for row in self.rows.iter().filter(|row| row.is_exit()) {
            if let (Some(from), To::State(to)) = (row.from, &row.to) {
                moves.push((from, *to));
            }
        }
        moves.sort_unstable();
        moves.dedup();
        moves
    }

    /// Has a row leaving it.
    pub fn has_exit(&self, id: StateId) -> bool {
        self.rows.iter().any(|row| row.from == Some(id) && row.is_exit())
    }

    /// Ended, and no row leaves it. Nothing ever moves an item out of such a state.
    pub fn is_final(&self, id: StateId) -> bool {
        self.phase(id).is_ended() && !self.has_exit(id)
    }

    /// Where nothing happens by itself: final, or failed with an exit that a named actor can take.
    pub fn is_at_rest(&self, id: StateId) -> bool {
        self.phase(id).is_ended()
    }

    /// Who may append records and links to an item, or erase its bodies: those who may create it.
    pub fn may_append(&self, role: Role) -> bool {
        self.roles_of(&Event::Create).allow(role)
    }

    /// One running item a key: the kind's lease rows demand it.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// An item that succeeds moves the one of its key that succeeded before it.
    pub fn supersedes(&self) -> bool {
        self.supersedes
    }

    /// Leases can be taken under an item of this kind, because its end takes them with it: a session.
    pub fn is_session(&self) -> bool {
        self.holds_others
    }

    /// Whether a guard of this table looks into the payload. Where none does, no decision needs its bytes.
    pub fn reads_payload(&self) -> bool {
        self.reads_payload
    }

    /// Whether items of this kind share a lane with others of their key.
    pub fn uses_lanes(&self) -> bool {
        self.is_laned() || self.supersedes || self.settings.coalesce != Coalesce::No
    }

    /// Whether ready items with a key wait behind their lane: a key has its turn, or limits of its own.
    pub fn is_laned(&self) -> bool {
        self.exclusive || self.limits_keys()
    }

    /// Whether each key has a limit of concurrency or rate.
    pub fn limits_keys(&self) -> bool {
        self.settings.concurrency.key.is_some() || self.settings.rate.key.is_some()
    }

    /// Whether there is something to look at before an item of this kind is leased.
    pub fn is_governed(&self) -> bool {
        let limited = self.settings.concurrency.kind.is_some() || self.settings.rate.kind.is_some();
        limited || self.counts_failures()
    }

    /// Whether a failure of this kind counts for more than its own item.
    pub fn counts_failures(&self) -> bool {
        self.settings.retry_budget.is_some() || self.settings.breaker.is_some()
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.hash == other.hash
    }
}

impl Eq for Table {}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:?}", self.kind, self.hash)
    }
}

/// A table is shared by every item that was created under it.
pub type SharedTable = Arc<Table>;
