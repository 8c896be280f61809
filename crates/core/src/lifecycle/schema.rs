//! A payload schema: JSON Schema, compiled once with its table.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use serde_json::Value;

/// A compiled JSON Schema (2020-12). References to other documents are refused, never fetched.
pub struct Schema {
    source: Value,
    validator: jsonschema::Validator,
}

impl Schema {
    pub fn compile(source: Value) -> Result<Schema, String> {
        let validator = jsonschema::validator_for(&source).map_err(|error| error.to_string())?;
        Ok(Schema { source, validator })
    }

    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The first violation in words, with the pointer to the place.
    pub fn violation(&self, value: &Value) -> Option<String> {
        let error = self.validator.iter_errors(value).next()?;
        let place = error.instance_path().to_string();
        Some(if place.is_empty() { error.to_string() } else { format!("{place}: {error}") })
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.source)
    }
}
