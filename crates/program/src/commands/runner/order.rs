//! One work order: a worktree, the command in it, the patch, and what is told of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tenure::Lines;
use tenure_core::body::BODY_BYTES_MAX;
use tenure_core::id::ItemId;
use tenure_systems::tickets::{Bundle, Errand, Made, Outcome, Snapshot, WorkOrder, Worktree, check};
use tokio::time::timeout;

use super::Signals;
use crate::client::Target;
use crate::commands::work::desk::{Desk, Lease, is_lost};
use crate::commands::work::hold::Hold;
use crate::commands::work::keeper::Keeper;
use crate::commands::work::process::Process;
use crate::commands::work::told::Told;
use crate::outcome::Error;
use crate::time::{Stopwatch, pause};

pub struct Orders {
    pub desk: Desk,
    pub keeper: Arc<Keeper>,
    pub command: Vec<String>,
    pub repository: PathBuf,
    pub base: String,
}

/// How the work on an order ended.
enum Ended {
    Made(Box<Bundle>),
    /// The runner could not work at all.
    Failed(String),
    Stopped,
    Lost(String),
}

/// What the service says of an order beside its payload.
#[derive(Deserialize)]
struct Shown {
    context_snapshot: Option<Snapshot>,
}

impl Orders {
    /// Carries an order out, and says in a line what came of it. True: the runner was told to stop meanwhile.
    pub async fn carry_out(&self, lease: &Lease, asked: Stopwatch, signals: &mut Signals) -> (String, bool) {
        let mut hold = Hold::new(asked, lease, self.desk.lease);
        let mut stops = false;
        let ended = self.attend(lease, &mut hold, signals, &mut stops).await;
        let line = match ended {
            Ended::Made(bundle) => self.deliver(lease, &hold, &bundle).await,
            Ended::Failed(reason) => self.tell(lease, &hold, Told::Failed { reason }).await,
            Ended::Stopped => self.tell(lease, &hold, Told::given_back()).await,
            Ended::Lost(why) => format!("lost its lease: {why}"),
        };
        (format!("{} {line}", lease.item), stops)
    }

    /// Keeps the lease while the work goes on. Whatever else ends it drops the work, and the command with it.
    async fn attend(&self, lease: &Lease, hold: &mut Hold, signals: &mut Signals, stops: &mut bool) -> Ended {
        let mut work = std::pin::pin!(self.work(lease));
        loop {
            let held = *hold;
            let renewal = async {
                pause(held.until_renewal()).await;
                self.desk.renew(lease, held.patience()).await
            };
            tokio::select! {
                biased;
                made = &mut work => return made.map_or_else(Ended::Failed, |bundle| Ended::Made(Box::new(bundle))),
                () = signals.next() => {
                    if *stops {
                        return Ended::Stopped;
                    }
                    *stops = true;
                }
                () = pause(held.until_end()) => return Ended::Lost(hold.reason().to_string()),
                renewed = renewal => match renewed {
                    Ok(Some((at, _))) => hold.renewed(at),
                    Ok(None) => {}
                    Err(lost) => return Ended::Lost(lost.0),
                },
            }
        }
    }

    async fn work(&self, lease: &Lease) -> Result<Bundle, String> {
        let errand = self.errand(lease).await?;
        let (id, order) = (errand.work_order_id, errand.work_order.clone());
        let worktree = Worktree::make(&self.repository, &self.base, id).await?;
        // The budget is the command's. What is done around it has bounds of its own.
        let began = Stopwatch::start();
        let made = self.execute(&errand, &worktree).await;
        let took = began.elapsed();
        let made = match made {
            Ok(made) => self.patched(made, &errand, &worktree).await,
            Err(why) => Err(why),
        };
        worktree.remove().await;
        Ok(Bundle::of(id, &order, made?, took))
    }

    /// What the command gets: the order is in the lease, its context is asked for.
    async fn errand(&self, lease: &Lease) -> Result<Errand, String> {
        let payload = lease.payload.as_ref().map_or("null", |payload| payload.get());
        let work_order: WorkOrder =
            serde_json::from_str(payload).map_err(|why| format!("the work order does not fit: {why}"))?;
        let work_order_id: ItemId = lease.item.parse().map_err(|_| "the work order has no id".to_string())?;
        let shown = self.desk.client.get(Target::new(["v1", "work-orders", &lease.item])).await;
        let shown: Shown = shown.and_then(|reply| reply.read()).map_err(|why| why.to_string())?;
        let context_snapshot = shown.context_snapshot.ok_or("its context snapshot is gone")?;
        Ok(Errand { work_order_id, work_order, context_snapshot })
    }

    async fn execute(&self, errand: &Errand, worktree: &Worktree) -> Result<Made, String> {
        let variables = errand.variables();
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let input = serde_json::to_vec(errand).map_err(|why| why.to_string())?;
        let (name, folder) = (errand.work_order_id.to_string(), Some(worktree.folder.as_path()));
        let (kept, process) = Process::start(&self.command, &variables, input, &name, &self.keeper, folder)
            .map_err(|why| format!("the command could not be started: {why}"))?;
        let budget_ms = errand.work_order.budget_ms;
        let ended = timeout(Duration::from_millis(budget_ms), process.end(&kept)).await;
        drop(kept);
        match ended {
            Err(_) => Ok(Made::exhausted(budget_ms)),
            Ok(Err(why)) => Err(format!("its command was lost: {why}")),
            Ok(Ok(ended)) => {
                let lines = ended.lines.lines;
                Ok(match ended.output {
                    Some(output) => Made::ended(ended.status.code(), &output, lines),
                    None => Made::failed(format!("it wrote more than {BODY_BYTES_MAX} bytes of output")),
                })
            }
        }
    }

    /// With what the command has changed, checked. What failed keeps its patch too, for whoever looks into it.
    async fn patched(&self, made: Made, errand: &Errand, worktree: &Worktree) -> Result<Made, String> {
        let message = format!("{}\n\nTicket {}", errand.context_snapshot.title, errand.work_order.ticket_id);
        let patch = match worktree.patch(&message).await {
            Ok(patch) => patch,
            Err(why) => return Ok(Made { patch: None, ..Made::failed(why) }),
        };
        let is_good = made.outcome == Outcome::Completed && !patch.diff.is_empty();
        let checks = match is_good {
            true => check(&self.repository, &patch, &errand.work_order.gates).await,
            false => Vec::new(),
        };
        Ok(Made { patch: Some(patch), checks, ..made })
    }

    async fn deliver(&self, lease: &Lease, hold: &Hold, bundle: &Bundle) -> String {
        let body = json!({
            "execution": lease.execution, "lease_token": lease.lease_token, "output_bundle": bundle,
        });
        let target = Target::new(["v1", "work-orders", &lease.item, "output"]);
        match self.desk.until_answered(target, &body, hold).await {
            Ok(()) => format!("executed: {}", bundle.outcome.as_str()),
            Err(Error::Refused(refused)) if !is_lost(&refused.code) => {
                let reason = format!("its output was refused: {}: {}", refused.code, refused.detail);
                self.tell(lease, hold, Told::Failed { reason }).await
            }
            Err(error) => format!("lost its lease: {error}"),
        }
    }

    async fn tell(&self, lease: &Lease, hold: &Hold, told: Told) -> String {
        match self.desk.tell(lease, hold, &Lines::default(), told).await {
            Ok(told) => told.in_words(),
            Err(lost) => format!("lost its lease: {}", lost.0),
        }
    }
}
