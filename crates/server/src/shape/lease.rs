//! Leases: who holds what, and what a worker is given.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use tenure::Holding;
use tenure::core::answer::Granted;
use tenure::core::item::Item;
use tenure::core::trace::Trace;
use utoipa::ToSchema;

use super::item::raw;
use crate::caller::Caller;

/// A claim record.
#[derive(Debug, Serialize, ToSchema)]
pub struct Claim {
    pub resource_type: String,
    pub resource_id: String,
    pub owner_id: String,
    pub acquired_at: String,
    pub lease_expires_at: String,
    pub heartbeat_at: String,
    pub claim_version: u64,
}

impl Claim {
    /// None: nobody holds it.
    pub fn of(item: &Item) -> Option<Claim> {
        Holding::of(item).map(Claim::from)
    }
}

impl From<Holding> for Claim {
    fn from(holding: Holding) -> Claim {
        Claim {
            resource_type: holding.resource_type,
            resource_id: holding.resource_id.to_string(),
            owner_id: holding.owner_id,
            acquired_at: holding.acquired_at.to_string(),
            lease_expires_at: holding.lease_expires_at.to_string(),
            heartbeat_at: holding.heartbeat_at.to_string(),
            claim_version: holding.claim_version,
        }
    }
}

/// A lease as its worker gets it.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeaseView {
    /// Goes into the path of what is done under the lease.
    pub execution: String,
    pub item: String,
    pub kind: String,
    pub store: String,
    pub key: Option<String>,
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Box<RawValue>>,
    pub attempt: u64,
    pub claim_version: u64,
    /// Proves the lease. Goes into the body of what is done under it.
    pub lease_token: String,
    pub lease_expires_at: String,
    /// How long the lease lasts, counted from when this request was sent: for a worker whose clock differs from the database's.
    pub lease_left_ms: u64,
    /// When the execution times out, renewed or not. `null` if its kind has no window.
    pub window_ends_at: Option<String>,
    /// How long that is, counted from when this request was sent. End the work then: another attempt may begin.
    pub window_left_ms: Option<u64>,
    /// The trace that the item was created in (W3C Trace Context): the parent of a span around the work.
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
}

impl LeaseView {
    /// `waited` is how long the request had waited for work when it was granted.
    pub fn of(granted: &Granted, waited: Duration, caller: &Caller) -> Option<LeaseView> {
        let item = &granted.item;
        let lease = item.lease.as_ref()?;
        let trace = item.trace.as_deref();
        Some(LeaseView {
            execution: granted.execution.to_string(),
            item: item.id.to_string(),
            kind: item.table.kind.to_string(),
            store: item.store.to_string(),
            key: item.key.as_ref().map(ToString::to_string),
            payload: granted.payload.as_ref().and_then(raw),
            attempt: item.fence.0,
            claim_version: item.fence.0,
            lease_token: caller.lease_token(granted)?,
            lease_expires_at: lease.expires.to_string(),
            lease_left_ms: millis(waited + granted.remaining.lease),
            window_ends_at: lease.window_ends.map(|ends| ends.to_string()),
            window_left_ms: granted.remaining.window.map(|window| millis(waited + window)),
            traceparent: trace.map(|trace| trace.parent().to_string()),
            tracestate: trace.and_then(Trace::state).map(str::to_string),
        })
    }
}

/// Whole milliseconds, never more than there are.
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
