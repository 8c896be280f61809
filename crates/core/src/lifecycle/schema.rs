//! A payload schema: JSON Schema, compiled once.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use once_cell::race::OnceBox;
use serde_json::Value;

/// A JSON Schema (2020-12). References to other documents are refused, never fetched.
pub struct Schema {
    source: Value,
    /// Empty until it is needed, where it is known to be sound.
    validator: OnceBox<jsonschema::Validator>,
}

impl Schema {
    pub fn compile(source: Value) -> Result<Schema, String> {
        let schema = Schema::sound(source);
        schema.validator.get_or_try_init(|| compiled(&schema.source))?;
        Ok(schema)
    }

    /// One that has been compiled before, by the tests of this program if it is part of it. It is compiled when the first value is
    /// judged by it: a program that runs for a moment needs few of all that it knows.
    pub fn sound(source: Value) -> Schema {
        Schema { source, validator: OnceBox::new() }
    }

    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The first violation in words, with the pointer to the place.
    pub fn violation(&self, value: &Value) -> Option<String> {
        let validator = match self.validator.get_or_try_init(|| compiled(&self.source)) {
            Ok(validator) => validator,
            Err(why) => return Some(format!("the schema can not be used: {why}")),
        };
        let error = validator.iter_errors(value).next()?;
        let place = error.instance_path().to_string();
        Some(if place.is_empty() { error.to_string() } else { format!("{place}: {error}") })
    }
}

fn compiled(source: &Value) -> Result<Box<jsonschema::Validator>, String> {
    jsonschema::validator_for(source).map(Box::new).map_err(|error| error.to_string())
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.source)
    }
}
