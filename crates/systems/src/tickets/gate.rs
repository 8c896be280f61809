//! The gate worker: one executed work order becomes one run record, and the ticket moves on, in one commit.

use std::path::PathBuf;

use tenure::core::lifecycle::guard::Guard;
use tenure::{Done, Failure, Job, Tenure};

use super::artifact::checked;
use super::judge::{self, Evidence, Judged};
use super::kept::{
    ATTESTATION, Attestation, BUNDLE, Bundle, Checked, Gate, ONLY, Outcome, PAUSE, PauseState, RUN,
    RunRecord, WorkOrder, blocker, is_state, read, ready, recorded, shortened,
};
use super::patch;

pub(super) async fn judge(tenure: Tenure, repository: Option<PathBuf>, job: Job) -> Result<Done, Failure> {
    let gate: Gate = job.payload()?;
    let whole = tenure.whole(gate.work_order_id).await?;
    let Some(order) = read::<WorkOrder>(whole.payload.as_ref()) else {
        return Err(Failure::retry("the work order was erased; nothing is left to be judged"));
    };
    let bundle: Option<Bundle> = recorded(&whole.records, BUNDLE);
    let attestation: Option<Attestation> = recorded(&tenure.whole(job.id()).await?.records, ATTESTATION);
    let own = match (&repository, &bundle) {
        (Some(repository), Some(bundle)) => Some(match &bundle.patch {
            Some(patch) => patch::check(repository, patch, &order.gates).await,
            None => patch::check_unpatched(repository, &order.gates).await,
        }),
        (None, _) | (Some(_), None) => None,
    };
    let evidence = Evidence {
        order: &order,
        bundle: bundle.as_ref(),
        checks: own.as_deref(),
        attestation: attestation.as_ref(),
    };
    let gates = judge::gates(&evidence);
    let judged = judge::judged(&gates, order.number);
    let moves = is_state(&tenure.item(order.ticket_id).await?, "IN_PROGRESS");
    let (event, state) = judged.moves();
    let record = RunRecord {
        work_order_id: gate.work_order_id,
        ticket_id: order.ticket_id,
        event_id: order.event_id,
        gate_id: job.id(),
        number: order.number,
        verdict: if judged == Judged::Pass { "PASS" } else { "FAIL" }.to_string(),
        outcome: bundle.as_ref().map_or("NONE", |bundle| bundle.outcome.as_str()).to_string(),
        moved_to: moves.then(|| state.to_string()),
        gates,
    };
    let pause = pause(&order, &record, bundle.as_ref(), judged);
    let why = pause.detail.clone();
    let done = Done::with(&record.verdict)?.record(PAUSE, ONLY, &checked(PAUSE, pause)?)?.record(
        RUN,
        ONLY,
        &checked(RUN, record)?,
    )?;
    let done = done.attest(Guard::RunRecord);
    // Somebody else has moved it: that is kept, and the judgement too.
    if !moves {
        return Ok(done);
    }
    let done = done.advance(order.ticket_id, event, why.as_deref())?;
    match judged {
        Judged::Pass => Ok(done),
        Judged::Retry => done.create(ready(order.ticket_id)),
        Judged::Block => done.create(blocker(order.ticket_id, why.as_deref().unwrap_or("its gates failed"))),
    }
}

/// Why the ticket pauses, and what somebody can do now.
fn pause(order: &WorkOrder, record: &RunRecord, bundle: Option<&Bundle>, judged: Judged) -> PauseState {
    let (ticket, order_id) = (order.ticket_id, record.work_order_id);
    let failed: Vec<String> = record.gates.iter().filter(|gate| !gate.passed).map(line).collect();
    let why = shortened(&failed.join("; "));
    let look = format!("read what happened: tenure ticket explain {ticket}");
    let next = match judged {
        Judged::Pass => {
            let branch = bundle.and_then(|bundle| bundle.patch.as_ref()).map(|patch| &patch.branch);
            let branch = branch.map(|branch| format!("review and merge the branch {branch}"));
            vec![branch.unwrap_or(look)]
        }
        Judged::Retry => vec![format!("nothing: work order {} of 3 follows", order.number + 1), look],
        Judged::Block => return PauseState::blocked(ticket, Some(order_id), &why),
    };
    let exhausted = bundle.is_some_and(|bundle| bundle.outcome == Outcome::BudgetExhausted);
    let reason = match judged {
        Judged::Pass => "RUN_COMPLETE",
        Judged::Retry | Judged::Block if exhausted => "BUDGET_EXHAUSTED",
        Judged::Retry | Judged::Block => "GATE_FAILED",
    };
    PauseState {
        ticket_id: ticket,
        work_order_id: Some(order_id),
        reason: reason.to_string(),
        detail: (!why.is_empty()).then_some(why),
        next_actions: next,
    }
}

fn line(gate: &Checked) -> String {
    format!("{}: {}", gate.gate, gate.detail)
}
