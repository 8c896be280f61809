//! An item, as everybody sees it.

use serde::Serialize;
use serde_json::value::RawValue;
use tenure::core::body::Body;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::Phase;
use tenure::databases::Whole;
use utoipa::ToSchema;

use super::lease::Claim;
use crate::hidden::Originated;

#[derive(Debug, Serialize, ToSchema)]
pub struct ItemView {
    pub id: String,
    pub kind: String,
    pub store: String,
    pub state: String,
    /// waiting, ready, active, succeeded, failed or stopped.
    pub phase: String,
    pub version: u64,
    /// How often it was leased; also the number of the latest execution.
    pub attempt: u64,
    /// Executions that count against its attempts.
    pub failures: u32,
    /// Null: no limit.
    pub max_attempts: Option<u32>,
    pub key: Option<String>,
    pub priority: i8,
    pub run_at: String,
    /// Left out in lists; null once erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Option<Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Claim>,
    pub created_at: String,
    pub created_by: String,
    pub updated_at: String,
    /// What its committed execution came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub output: Option<Box<RawValue>>,
    /// Why it failed or was stopped; of one that goes on, why its latest attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// The item it retries, or the one whose commit made it. Left out too where the caller may not see that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Somebody asked for it to stop, and its holder has not yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancel_requested: bool,
    /// Its bodies were erased; its history stays.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct FailureView {
    pub reason: String,
}

impl ItemView {
    /// As a list shows it: without its bodies.
    pub fn brief(item: &Item) -> ItemView {
        let ended_so = match item.phase() {
            Phase::Failed | Phase::Stopped => true,
            Phase::Waiting | Phase::Ready | Phase::Active => item.failures > 0,
            // What was tried before it succeeded is in its executions.
            Phase::Succeeded => false,
        };
        let reason = item.reason.as_deref().filter(|_| ended_so);
        ItemView {
            id: item.id.to_string(),
            kind: item.table.kind.to_string(),
            store: item.store.to_string(),
            state: item.state_name().to_string(),
            phase: item.phase().to_string(),
            version: item.version,
            attempt: item.fence.0,
            failures: item.failures,
            max_attempts: item.attempts,
            key: item.key.as_ref().map(ToString::to_string),
            priority: item.priority,
            run_at: item.run_at.to_string(),
            payload: None,
            lease: Claim::of(item),
            created_at: item.created.to_string(),
            created_by: item.created_by.to_string(),
            updated_at: item.updated.to_string(),
            output: None,
            failure: reason.map(|reason| FailureView { reason: reason.to_string() }),
            origin: item.origin.map(|origin| origin.to_string()),
            cancel_requested: item.cancel.is_some(),
            erased: item.erased,
        }
    }

    pub fn with(item: &Item, payload: Option<&Body>) -> ItemView {
        ItemView { payload: Some(payload.and_then(raw)), ..ItemView::brief(item) }
    }

    pub fn whole(whole: &Whole) -> ItemView {
        let output = whole.output.as_ref().and_then(raw);
        ItemView { output, ..ItemView::with(&whole.item, whole.payload.as_ref()) }
    }
}

impl Originated for ItemView {
    fn origin(&self) -> Option<ItemId> {
        self.origin.as_ref()?.parse().ok()
    }

    fn hide_origin(&mut self) {
        self.origin = None;
    }
}

/// Bytes that were accepted as JSON, unchanged.
pub fn raw(body: &Body) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(body.bytes()).ok()?;
    RawValue::from_string(text.to_string()).ok()
}
