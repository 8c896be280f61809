//! What a worker asks of the service: leases, their renewal, and how an attempt ended.

use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tenure::Lines;
use tenure_databases::outside::chance;
use tokio::time::timeout;

use super::hold::Hold;
use super::told::Told;
use crate::client::{Client, Target};
use crate::outcome::Error;
use crate::time::{Stopwatch, pause};

/// How long one request waits for work. A worker that is stopped waits for its end.
const WAIT: Duration = Duration::from_secs(3);
/// An answer comes so soon after that, or is asked for again.
const ANSWER: Duration = Duration::from_secs(10);
/// A service that is away is asked again after so long.
const AWAY: Duration = Duration::from_secs(1);

/// A lease as the service gives it.
#[derive(Debug, Deserialize)]
pub struct Lease {
    pub execution: String,
    pub item: String,
    pub kind: String,
    pub store: String,
    pub key: Option<String>,
    pub payload: Option<Box<RawValue>>,
    pub attempt: u64,
    pub lease_token: String,
    pub lease_expires_at: String,
    /// Counted from when it was asked for.
    pub lease_left_ms: u64,
    pub window_left_ms: Option<u64>,
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
}

/// Leases, and when they were asked for.
#[derive(Debug)]
pub struct Asked {
    pub at: Stopwatch,
    pub leases: Vec<Lease>,
}

#[derive(Debug, Deserialize)]
struct Leases {
    leases: Vec<Lease>,
}

#[derive(Debug, Deserialize)]
pub struct Renewed {
    pub cancel_requested: bool,
}

/// Why nothing more is written under a lease.
#[derive(Debug)]
pub struct Lost(pub String);

#[derive(Debug)]
pub struct Desk {
    pub client: Client,
    kind: String,
    /// This process, and no other before or after it.
    worker: String,
    pub lease: Duration,
    /// The last request for leases that got no answer: repeated, it gets the same ones.
    unanswered: Mutex<Option<String>>,
}

impl Desk {
    pub fn new(client: Client, kind: &str, lease: Duration) -> Desk {
        Desk {
            client,
            kind: kind.to_string(),
            worker: format!("work-{:012x}", chance() & 0xffff_ffff_ffff),
            lease,
            unanswered: Mutex::new(None),
        }
    }

    pub fn worker(&self) -> &str {
        &self.worker
    }

    /// Waits a while for work. None there is no error, and neither is a service that is away.
    pub async fn acquire(&self, most: usize) -> Result<Asked, Error> {
        let fresh = || format!("{:016x}", chance());
        let request = self.unanswered().take().unwrap_or_else(fresh);
        // A lease counts from when it was asked for: it must not be spent with waiting.
        let wait = WAIT.min(self.lease / 4);
        let body = json!({
            "kinds": [self.kind], "worker": self.worker, "max": most, "start": true, "request_id": request,
            "lease_ms": self.lease.as_millis() as u64, "wait_ms": wait.as_millis() as u64,
        });
        let at = Stopwatch::start();
        let answer = timeout(wait + ANSWER, self.client.post(Target::new(["v1", "leases"]), &body)).await;
        let away = match answer {
            Ok(Ok(reply)) => return Ok(Asked { at, leases: reply.read::<Leases>()?.leases }),
            Ok(Err(error)) if !is_away(&error) => return Err(error),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_string(),
        };
        eprintln!("no work now: {away}; trying again");
        *self.unanswered() = Some(request);
        pause(AWAY).await;
        Ok(Asked { at, leases: Vec::new() })
    }

    fn unanswered(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.unanswered.lock().expect("nobody panics while holding it")
    }

    /// None: no answer; it may be asked again.
    pub async fn renew(
        &self,
        lease: &Lease,
        patience: Duration,
    ) -> Result<Option<(Stopwatch, Renewed)>, Lost> {
        let body = json!({ "lease_token": lease.lease_token, "lease_ms": self.lease.as_millis() as u64 });
        let at = Stopwatch::start();
        match timeout(patience, self.client.post(under(lease, "renew"), &body)).await {
            Ok(Ok(reply)) => Ok(reply.read().ok().map(|renewed| (at, renewed))),
            Ok(Err(error)) if is_away(&error) => {
                pause(patience.min(AWAY)).await;
                Ok(None)
            }
            Ok(Err(error)) => Err(Lost(error.to_string())),
            Err(_) => Ok(None),
        }
    }

    /// Says how an attempt ended, as long as the lease lasts. A commit that is refused is a failure that says why.
    pub async fn tell(&self, lease: &Lease, hold: &Hold, lines: &Lines, told: Told) -> Result<Told, Lost> {
        if !lines.lines.is_empty() {
            let record = json!({ "label": Lines::LABEL, "name": lease.attempt.to_string(), "body": lines });
            // They are for people who look into it: an attempt does not fail for want of them.
            let body = json!({ "lease_token": lease.lease_token, "records": [record] });
            let _ = self.until_answered(under(lease, "progress"), &body, hold).await;
        }
        let answer = match &told {
            Told::Committed { output } => {
                let body = Commit { lease_token: &lease.lease_token, output: output.as_deref() };
                self.until_answered(under(lease, "commit"), &body, hold).await
            }
            Told::Failed { reason } => self.fail(lease, hold, reason).await,
            Told::GivenBack { reason, delay } => {
                let delay = delay.as_millis() as u64;
                let body = json!({ "lease_token": lease.lease_token, "reason": reason, "delay_ms": delay });
                self.until_answered(under(lease, "release"), &body, hold).await
            }
        };
        match (answer, told) {
            (Ok(()), told) => Ok(told),
            (Err(Error::Refused(refused)), Told::Committed { .. }) if !is_lost(&refused.code) => {
                let reason = format!("its output was refused: {}: {}", refused.code, refused.detail);
                let failed = self.fail(lease, hold, &reason).await;
                failed.map(|()| Told::Failed { reason }).map_err(|error| Lost(error.to_string()))
            }
            (Err(error), _) => Err(Lost(error.to_string())),
        }
    }

    async fn fail(&self, lease: &Lease, hold: &Hold, reason: &str) -> Result<(), Error> {
        let body = json!({ "lease_token": lease.lease_token, "reason": reason });
        self.until_answered(under(lease, "fail"), &body, hold).await
    }

    /// Repeats it until there is an answer or the lease is over.
    pub async fn until_answered(
        &self,
        target: Target,
        body: &impl Serialize,
        hold: &Hold,
    ) -> Result<(), Error> {
        loop {
            let left = hold.until_end();
            let answer = timeout(left.min(ANSWER), self.client.post(target.clone(), body)).await;
            match answer {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) if !is_away(&error) || hold.is_over() => return Err(error),
                Err(_) if hold.is_over() => {
                    return Err(Error::Strange("no answer before the lease was over".to_string()));
                }
                Ok(Err(_)) | Err(_) => pause(hold.patience().min(AWAY)).await,
            }
        }
    }
}

#[derive(Serialize)]
struct Commit<'a> {
    lease_token: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a RawValue>,
}

fn under(lease: &Lease, what: &str) -> Target {
    Target::new(["v1", "executions", &lease.execution, what])
}

/// The world failed, and may be better soon.
fn is_away(error: &Error) -> bool {
    matches!(error, Error::NoServer { .. } | Error::Unavailable { .. })
        || matches!(error, Error::Refused(refused) if refused.code == "RATE_LIMITED")
}

/// The lease is over: there is nothing left to fail.
pub fn is_lost(code: &str) -> bool {
    matches!(code, "LEASE_LOST" | "ALREADY_COMMITTED")
}
