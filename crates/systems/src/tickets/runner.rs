//! The runner: one work order is carried out within its budget, and one bundle is stored of it, good or bad.

use std::sync::Arc;
use std::time::Duration;

use tenure::core::id::ItemId;
use tenure::core::lifecycle::guard::Guard;
use tenure::{Done, Failure, Job, Tenure};

use super::artifact::checked;
use super::executor::{Errand, Executor, Made, NotExecuted};
use super::judge;
use super::kept::{BUNDLE, Bundle, ONLY, Outcome, Snapshot, WorkOrder, gate, read};
use crate::time::{Stopwatch, within};

/// A bundle is a body, and bodies have an end.
const BUNDLE_BYTES_MAX: usize = 1 << 20;

pub(super) async fn execute(tenure: Tenure, executor: Arc<dyn Executor>, job: Job) -> Result<Done, Failure> {
    let order: WorkOrder = job.payload()?;
    let snapshot = tenure.record(order.context_snapshot_id).await?;
    let Some(snapshot) = snapshot.and_then(|record| read::<Snapshot>(record.body.as_ref())) else {
        return Err(Failure::permanent("its context snapshot is gone"));
    };
    let errand = Errand { work_order_id: job.id(), work_order: order.clone(), context_snapshot: snapshot };
    let began = Stopwatch::start();
    let budget = Duration::from_millis(order.budget_ms);
    let bundle = match within(budget, executor.execute(errand)).await {
        Ok(Ok(made)) => Bundle::of(job.id(), &order, made, began.elapsed()),
        Ok(Err(NotExecuted { reason, permanent: true })) => return Err(Failure::permanent(reason)),
        Ok(Err(NotExecuted { reason, permanent: false })) => return Err(Failure::retry(reason)),
        Err(_) => Bundle::of(job.id(), &order, Made::exhausted(order.budget_ms), began.elapsed()),
    };
    let awaits = judge::awaits(&order, &bundle);
    let gate = gate(job.id(), order.ticket_id, awaits);
    Done::default().attest(Guard::OutputBundle).record(BUNDLE, ONLY, &checked(BUNDLE, bundle)?)?.create(gate)
}

impl Bundle {
    /// What is stored of a work order.
    pub fn of(work_order_id: ItemId, order: &WorkOrder, made: Made, took: Duration) -> Bundle {
        let bundle = Bundle {
            work_order_id,
            ticket_id: order.ticket_id,
            outcome: made.outcome,
            budget_ms: order.budget_ms,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            exit_code: made.exit_code,
            reason: made.reason,
            output: made.output,
            patch: made.patch,
            checks: made.checks,
            lines: made.lines,
        };
        bundle.within_bounds()
    }

    /// The same, or without what is too large to be kept, which it then says.
    fn within_bounds(self) -> Bundle {
        match serde_json::to_vec(&self) {
            Ok(bytes) if bytes.len() <= BUNDLE_BYTES_MAX => self,
            _ => {
                let reason = format!("what it made has more than {BUNDLE_BYTES_MAX} bytes");
                let (outcome, reason) = (Outcome::Failed, Some(reason));
                Bundle { outcome, reason, output: None, patch: None, lines: Vec::new(), ..self }
            }
        }
    }
}
