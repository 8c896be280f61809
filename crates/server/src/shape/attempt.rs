//! One attempt at an item.

use serde::Serialize;
use tenure::Attempt;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub struct AttemptView {
    pub exec_id: String,
    pub job_id: String,
    pub attempt: u64,
    pub lease_owner: String,
    pub lease_expires_at: String,
    /// LEASED, IN_PROGRESS, COMMITTED, DONE or ABORTED.
    pub status: String,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    /// What ended it: `commit`, `finish`, `fail`, `release`, `expire`…
    pub ended_by: Option<String>,
    pub reason: Option<String>,
    /// The last lines that its handler left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

impl From<Attempt> for AttemptView {
    fn from(attempt: Attempt) -> AttemptView {
        AttemptView {
            exec_id: attempt.exec_id,
            job_id: attempt.job_id.to_string(),
            attempt: attempt.attempt,
            lease_owner: attempt.lease_owner,
            lease_expires_at: attempt.lease_expires_at.to_string(),
            status: attempt.status.to_string(),
            started_at: attempt.started_at.map(|at| at.to_string()),
            finished_at: attempt.finished_at.map(|at| at.to_string()),
            ended_by: attempt.ended_by,
            reason: attempt.reason,
            lines: attempt.log.lines.into(),
        }
    }
}
