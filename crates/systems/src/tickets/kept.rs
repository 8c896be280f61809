//! What is kept, as types. The names of the fields are a promise: they are in the schemas.

use std::time::Duration;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};
use tenure::New;
use tenure::core::body::Body;
use tenure::core::code::Problem;
use tenure::core::id::{ItemId, RecordId};
use tenure::core::item::Item;
use tenure::core::time::Time;
use tenure::core::world::Record;

use crate::gate::{self, NotAGate};

pub(super) const TICKET: &str = "ticket";
pub(super) const READY: &str = "ticket_ready";
pub(super) const ORDER: &str = "work_order";
pub(super) const GATE: &str = "gate";
pub(super) const BLOCKER: &str = "blocker";

pub(super) const SNAPSHOT: &str = "context_snapshot";
pub(super) const BUNDLE: &str = "output_bundle";
pub(super) const RUN: &str = "run_record";
pub(super) const PAUSE: &str = "pause_state";
pub(super) const ATTESTATION: &str = "attestation";
/// The name of a record of which its item has one.
pub(super) const ONLY: &str = "1";

/// Work orders of a ticket, from one word of a person to the next: what has failed three times fails the fourth time too.
pub const WORK_ORDERS_MAX: u32 = 3;
/// How long a work order may take where its ticket does not say: long for a command, short for somebody who waits.
pub const BUDGET: Duration = Duration::from_secs(600);

/// The schema allows no larger budget: up to here every reader of JSON has the same integer.
const WHOLE_MAX: f64 = 9_007_199_254_740_991.0;

/// What failed is told in the ticket's history too; all of it is in the run record.
const WHY_CHARS_MAX: usize = 2_000;

/// The payload of a ticket.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NewTicket {
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, deserialize_with = "integer", skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// What must hold of the result, as it is written: `cmd:COMMAND`, `test:COMMAND`, `human:WHAT TO LOOK AT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
}

/// A whole number as JSON Schema has it: `5.0` is one.
fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=WHOLE_MAX).contains(number));
    let found = number.as_u64().or(whole.map(|whole| whole as u64));
    found.map(Some).ok_or_else(|| de::Error::custom(format!("{number} is no number of milliseconds")))
}

impl NewTicket {
    pub(super) fn budget_ms(&self) -> u64 {
        self.budget_ms.unwrap_or(BUDGET.as_millis() as u64)
    }

    /// What must hold of the result. Nothing else is written; whoever writes a ticket past its operations is told by the scheduler.
    pub(super) fn gates(&self) -> Result<Vec<gate::Gate>, NotAGate> {
        self.gates.iter().map(|gate| gate::Gate::of_ticket(gate)).collect()
    }
}

/// A ticket as it is shown.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ticket {
    pub ticket_id: ItemId,
    pub state: String,
    pub asked: NewTicket,
    pub created_at: Time,
    pub created_by: String,
    pub updated_at: Time,
    /// None before it was approved, and in lists.
    pub approval: Option<Said>,
    /// Those that are open. None in lists.
    pub blockers: Vec<Blocker>,
}

/// A person's word: who, when, and what they said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Said {
    pub by: String,
    pub at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Blocker {
    pub blocker_id: ItemId,
    pub reason: String,
    pub state: String,
    pub created_at: Time,
}

/// The payload of a ticket_ready.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Event {
    pub ticket_id: String,
}

/// What the scheduler saw when it planned a work order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    pub event_id: ItemId,
    pub ticket_id: ItemId,
    /// Which work order of the ticket this is for, from 1.
    pub number: u32,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub gates: Vec<gate::Gate>,
    pub budget_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Said>,
    /// The last word of somebody who resolved its blockers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Said>,
    /// What came of the work orders before, oldest first.
    pub earlier: Vec<Earlier>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Earlier {
    pub work_order_id: ItemId,
    pub outcome: String,
    /// The gates that failed, and why.
    pub failed: Vec<String>,
}

/// The payload of a work order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorkOrder {
    pub event_id: ItemId,
    pub ticket_id: ItemId,
    pub number: u32,
    pub budget_ms: u64,
    pub context_snapshot_id: RecordId,
    #[serde(default)]
    pub gates: Vec<gate::Gate>,
}

/// The payload of a gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Gate {
    pub work_order_id: ItemId,
    pub ticket_id: ItemId,
    #[serde(default)]
    pub awaiting: bool,
}

/// How the executor came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    Completed,
    Failed,
    BudgetExhausted,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Completed => "COMPLETED",
            Outcome::Failed => "FAILED",
            Outcome::BudgetExhausted => "BUDGET_EXHAUSTED",
        }
    }
}

/// What a runner stores of a work order, good or bad.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bundle {
    pub work_order_id: ItemId,
    pub ticket_id: ItemId,
    pub outcome: Outcome,
    pub budget_ms: u64,
    pub took_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Patch>,
    /// What the runner has checked of it already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Checked>,
    /// The last lines that the executor said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// A change of a repository: the difference to a commit, and the branch that has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Patch {
    pub base: String,
    pub branch: String,
    pub diff: String,
}

/// One gate and what was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Checked {
    pub gate: String,
    pub passed: bool,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_sha256: Option<String>,
}

impl Checked {
    pub(super) fn new(gate: &str, passed: bool, detail: impl Into<String>) -> Checked {
        Checked {
            gate: gate.to_string(),
            passed,
            detail: detail.into(),
            exit_code: None,
            output_sha256: None,
        }
    }
}

/// A person's word on the output of a work order, for its `human:` gates.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attestation {
    pub approved: bool,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    pub work_order_id: ItemId,
    pub ticket_id: ItemId,
    pub event_id: ItemId,
    pub gate_id: ItemId,
    pub number: u32,
    /// PASS or FAIL.
    pub verdict: String,
    /// As in the bundle; NONE: there was none that could be read.
    pub outcome: String,
    /// Where the ticket went: DONE, TODO or BLOCKED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    pub gates: Vec<Checked>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PauseState {
    pub ticket_id: ItemId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_order_id: Option<ItemId>,
    /// RUN_COMPLETE, GATE_FAILED, BUDGET_EXHAUSTED or BLOCKED.
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// One to three things that somebody can do now.
    pub next_actions: Vec<String>,
}

impl PauseState {
    /// Of a ticket that waits for a person.
    pub(super) fn blocked(ticket: ItemId, order: Option<ItemId>, why: &str) -> PauseState {
        let look = match order {
            Some(_) => format!("read what happened: tenure ticket explain {ticket}"),
            None => format!("read why: tenure ticket show {ticket}"),
        };
        let resolve = format!("deal with it, then: tenure ticket resolve {ticket} --note NOTE");
        PauseState {
            ticket_id: ticket,
            work_order_id: order,
            reason: "BLOCKED".to_string(),
            detail: Some(why.to_string()),
            next_actions: vec![look, resolve],
        }
    }
}

pub(super) fn body(value: &impl Serialize) -> Result<Body, Problem> {
    let bytes = serde_json::to_vec(value).map_err(|why| Problem::invalid(why.to_string()))?;
    Body::json(bytes)
}

/// A body as a type. None: it was erased, or is something else.
pub(super) fn read<T: DeserializeOwned>(body: Option<&Body>) -> Option<T> {
    serde_json::from_slice(body?.bytes()).ok()
}

/// The latest record of a label, as a type.
pub(super) fn recorded<T: DeserializeOwned>(records: &[Record], label: &str) -> Option<T> {
    read(latest(records, label)?.body.as_ref())
}

pub(super) fn latest<'r>(records: &'r [Record], label: &str) -> Option<&'r Record> {
    records.iter().filter(|record| &*record.label == label).max_by_key(|record| (record.version, record.id))
}

/// As much of a reason as a history takes.
pub(super) fn shortened(why: &str) -> String {
    why.chars().take(WHY_CHARS_MAX).collect()
}

/// The event of a ticket that can be worked on.
pub(super) fn ready(ticket: ItemId) -> New {
    New::of(READY, &Event { ticket_id: ticket.to_string() }).link(TICKET, ticket)
}

pub(super) fn blocker(ticket: ItemId, reason: &str) -> New {
    let payload = serde_json::json!({ "ticket_id": ticket, "reason": reason });
    New::of(BLOCKER, &payload).link(TICKET, ticket)
}

/// The gate that judges a work order: one, whoever asks for it.
pub(super) fn gate(order: ItemId, ticket: ItemId, awaiting: bool) -> New {
    let payload = Gate { work_order_id: order, ticket_id: ticket, awaiting };
    New::of(GATE, &payload).idempotency_key(order.to_string()).link(TICKET, ticket).link(ORDER, order)
}

pub(super) fn is_kind(item: &Item, kind: &str) -> bool {
    item.table.kind.as_str() == kind
}

pub(super) fn is_state(item: &Item, state: &str) -> bool {
    item.state_name().as_str() == state
}
