//! What is asked for when something is created.

use serde::Deserialize;
use serde_json::value::RawValue;
use tenure::core::request::Create;
use tenure::core::time::Time;
use tenure::core::word::Key;
use utoipa::ToSchema;

use crate::extract::body;
use crate::once;
use crate::problem::Problem;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateBody {
    pub kind: String,
    #[schema(value_type = serde_json::Value)]
    pub payload: Box<RawValue>,
    /// Repeated with the same key, it is the same item. The header `Idempotency-Key` is the same.
    pub idempotency_key: Option<String>,
    /// What it is about: some kinds run one of a key at a time.
    pub key: Option<String>,
    /// A head start: higher is sooner.
    pub priority: Option<i8>,
    /// Not before this time (RFC 3339).
    pub run_at: Option<String>,
    pub max_attempts: Option<u32>,
    pub store: Option<String>,
}

impl CreateBody {
    pub fn create(&self, header: Option<&str>) -> Result<Create, Problem> {
        let kind = self.kind.parse().map_err(|not| Problem::wrong("kind", not))?;
        let name = once::one(self.idempotency_key.clone(), header)?;
        let mut create = Create::new(kind, body(&self.payload)?);
        create.name = key("idempotency_key", name.as_deref())?;
        create.key = key("key", self.key.as_deref())?;
        create.priority = self.priority;
        create.run_at = self.run_at.as_deref().map(|text| time("run_at", text)).transpose()?;
        create.attempts = self.max_attempts;
        Ok(create)
    }
}

pub fn key(field: &str, text: Option<&str>) -> Result<Option<Key>, Problem> {
    let parse = |text: &str| text.parse().map_err(|not| Problem::wrong(field, not));
    text.map(parse).transpose()
}

pub fn time(field: &str, text: &str) -> Result<Time, Problem> {
    text.parse().map_err(|_| Problem::wrong(field, "not an RFC 3339 time, as 2026-11-15T20:25:00Z"))
}
