//! The payload schema: one fenced block of JSON under `## Payload schema`.

use alloc::format;
use alloc::string::{String, ToString};

use serde_json::Value;

use super::Faults;
use super::markdown::{Document, Section};
use crate::lifecycle::schema::Schema;

/// How a schema becomes one: compiled at once, or when it is needed.
pub(super) type Made = fn(Value) -> Result<Schema, String>;

pub(super) fn read(
    section: &Section,
    document: &Document,
    made: Made,
    faults: &mut Faults,
) -> Option<Schema> {
    let Some((fence, others)) = section.fences.split_first() else {
        faults.add(
            section.line,
            "`## Payload schema` has no block; put the JSON Schema between ```json and ```",
        );
        return None;
    };
    for other in others {
        faults.add(other.line, "`## Payload schema` has a second block; keep one");
    }
    if fence.language.split_whitespace().next() != Some("json") {
        faults.add(fence.line, "the payload schema is not marked as JSON: open its block with ```json");
        return None;
    }
    let source = match serde_json::from_str(&fence.text) {
        Ok(source) => source,
        Err(error) => {
            // The JSON parser counts from the line under the fence; at an open end it may count past the file.
            let within = u32::try_from(error.line()).unwrap_or(u32::MAX);
            let line = fence.line.saturating_add(within).min(document.last_line);
            // Its own "at line 3 column 5" would be a second, different line number.
            let text = error.to_string();
            let why = text.split(" at line ").next().unwrap_or(&text);
            faults.add(line, format!("the payload schema is not JSON: {why}"));
            return None;
        }
    };
    match made(source) {
        Ok(schema) => Some(schema),
        Err(why) => {
            faults.add(fence.line, format!("the payload schema is not a JSON Schema: {why}"));
            None
        }
    }
}
