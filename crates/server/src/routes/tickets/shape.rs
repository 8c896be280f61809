//! Tickets and their artifacts, as they are shown.

use serde::Serialize;
use serde_json::Value;
use tenure_systems::tickets::{
    Blocker, Explanation, Order, PauseState, Run, Said, Stored, Ticket, WorkOrder,
};
use utoipa::ToSchema;

use crate::shape::item::FailureView;
use crate::shape::lease::Claim;

#[derive(Debug, Serialize, ToSchema)]
pub struct TicketView {
    pub ticket_id: String,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// NEW, TODO, IN_PROGRESS, BLOCKED or DONE.
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    pub gates: Vec<String>,
    pub created_at: String,
    pub created_by: String,
    pub updated_at: String,
    /// Left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<TicketApprovalView>,
    /// Those that are open. Empty in lists.
    pub blockers: Vec<BlockerView>,
}

impl From<Ticket> for TicketView {
    fn from(ticket: Ticket) -> TicketView {
        TicketView {
            ticket_id: ticket.ticket_id.to_string(),
            title: ticket.asked.title,
            description: ticket.asked.description,
            state: ticket.state,
            budget_ms: ticket.asked.budget_ms,
            gates: ticket.asked.gates,
            created_at: ticket.created_at.to_string(),
            created_by: ticket.created_by,
            updated_at: ticket.updated_at.to_string(),
            approval: ticket.approval.map(TicketApprovalView::from),
            blockers: ticket.blockers.into_iter().map(BlockerView::from).collect(),
        }
    }
}

/// Who said it, when, and what.
#[derive(Debug, Serialize, ToSchema)]
pub struct TicketApprovalView {
    pub by: String,
    pub at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl From<Said> for TicketApprovalView {
    fn from(said: Said) -> TicketApprovalView {
        TicketApprovalView { by: said.by, at: said.at.to_string(), note: said.note }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct BlockerView {
    pub blocker_id: String,
    pub reason: String,
    /// OPEN or CLOSED.
    pub state: String,
    pub created_at: String,
}

impl From<Blocker> for BlockerView {
    fn from(blocker: Blocker) -> BlockerView {
        let (blocker_id, created_at) = (blocker.blocker_id.to_string(), blocker.created_at.to_string());
        BlockerView { blocker_id, reason: blocker.reason, state: blocker.state, created_at }
    }
}

/// A ticket's runs, from their artifacts.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExplanationView {
    pub ticket_id: String,
    pub title: String,
    pub state: String,
    /// Oldest first.
    pub runs: Vec<TicketRunView>,
    /// Closed ones too.
    pub blockers: Vec<BlockerView>,
    /// Why somebody blocked it, the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub pause_state: Option<Value>,
}

impl From<Explanation> for ExplanationView {
    fn from(explained: Explanation) -> ExplanationView {
        ExplanationView {
            ticket_id: explained.ticket.id.to_string(),
            title: explained.asked.title,
            state: explained.ticket.state_name().to_string(),
            runs: explained.runs.into_iter().map(TicketRunView::from).collect(),
            blockers: explained.blockers.into_iter().map(BlockerView::from).collect(),
            pause_state: explained.paused.map(|stored| stored.body),
        }
    }
}

/// What came of one event.
#[derive(Debug, Serialize, ToSchema)]
pub struct TicketRunView {
    pub event_id: String,
    pub announced_at: String,
    /// SCHEDULED, MISSING_TICKET, NON_EXECUTABLE_STATUS or BLOCKED. Null: it waits for the scheduler.
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub context_snapshot: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_order_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_order_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub output_bundle: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub run_record: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub pause_state: Option<Value>,
}

impl From<Run> for TicketRunView {
    fn from(run: Run) -> TicketRunView {
        let body = |stored: Option<Stored>| stored.map(|stored| stored.body);
        let (order, gate) = (run.order.as_ref(), run.gate.as_ref());
        TicketRunView {
            event_id: run.event.id.to_string(),
            announced_at: run.event.created.to_string(),
            reason: run.reason,
            context_snapshot: body(run.snapshot),
            work_order_id: order.map(|order| order.id.to_string()),
            work_order_state: order.map(|order| order.state_name().to_string()),
            output_bundle: body(run.bundle),
            gate_id: gate.map(|gate| gate.id.to_string()),
            gate_state: gate.map(|gate| gate.state_name().to_string()),
            run_record: body(run.record),
            pause_state: body(run.pause),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RunRecordView {
    pub run_record_id: String,
    /// The gate that judged.
    pub gate_id: String,
    pub at: String,
    #[schema(value_type = serde_json::Value)]
    pub run_record: Value,
}

impl From<Stored> for RunRecordView {
    fn from(stored: Stored) -> RunRecordView {
        let (run_record_id, gate_id) = (stored.id.to_string(), stored.item.to_string());
        RunRecordView { run_record_id, gate_id, at: stored.at.to_string(), run_record: stored.body }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct PauseStateView {
    pub pause_state_id: String,
    pub at: String,
    pub ticket_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_order_id: Option<String>,
    /// RUN_COMPLETE, GATE_FAILED, BUDGET_EXHAUSTED or BLOCKED.
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// One to three things that somebody can do now.
    pub next_actions: Vec<String>,
}

impl PauseStateView {
    pub fn of(stored: Stored) -> Option<PauseStateView> {
        let paused: PauseState = serde_json::from_value(stored.body).ok()?;
        Some(PauseStateView {
            pause_state_id: stored.id.to_string(),
            at: stored.at.to_string(),
            ticket_id: paused.ticket_id.to_string(),
            work_order_id: paused.work_order_id.map(|id| id.to_string()),
            reason: paused.reason,
            detail: paused.detail,
            next_actions: paused.next_actions,
        })
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct WorkOrderView {
    pub work_order_id: String,
    /// CREATED, EXECUTING, EXECUTED or FAILED.
    pub state: String,
    /// What follows is null once erased.
    pub ticket_id: Option<String>,
    pub event_id: Option<String>,
    /// Which work order of its ticket it is, from 1, since a person's last word.
    pub number: Option<u32>,
    pub budget_ms: Option<u64>,
    pub context_snapshot_id: Option<String>,
    pub gates: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Claim>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    pub created_at: String,
    pub updated_at: String,
    /// Left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub context_snapshot: Option<Value>,
}

impl From<Order> for WorkOrderView {
    fn from(order: Order) -> WorkOrderView {
        let Order { item, order, snapshot } = order;
        let of = |text: fn(&WorkOrder) -> String| order.as_ref().map(text);
        let failed = item.failures > 0;
        let reason = item.reason.as_deref().filter(|_| failed);
        WorkOrderView {
            work_order_id: item.id.to_string(),
            state: item.state_name().to_string(),
            ticket_id: of(|order| order.ticket_id.to_string()),
            event_id: of(|order| order.event_id.to_string()),
            number: order.as_ref().map(|order| order.number),
            budget_ms: order.as_ref().map(|order| order.budget_ms),
            context_snapshot_id: of(|order| order.context_snapshot_id.to_string()),
            gates: order.iter().flat_map(|order| &order.gates).map(ToString::to_string).collect(),
            lease: Claim::of(&item),
            failure: reason.map(|reason| FailureView { reason: reason.to_string() }),
            created_at: item.created.to_string(),
            updated_at: item.updated.to_string(),
            context_snapshot: snapshot.and_then(|snapshot| serde_json::to_value(snapshot).ok()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct OutputView {
    pub output_bundle_id: String,
    pub work_order_id: String,
    pub at: String,
    #[schema(value_type = serde_json::Value)]
    pub output_bundle: Value,
}

impl From<Stored> for OutputView {
    fn from(stored: Stored) -> OutputView {
        let (output_bundle_id, work_order_id) = (stored.id.to_string(), stored.item.to_string());
        OutputView { output_bundle_id, work_order_id, at: stored.at.to_string(), output_bundle: stored.body }
    }
}
