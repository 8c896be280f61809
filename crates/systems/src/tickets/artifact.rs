//! The artifacts and their JSON Schemas. What does not fit is not written, whoever writes it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;
use tenure::Failure;
use tenure::core::code::{Code, Problem};
use tenure::core::lifecycle::schema::Schema;
use tenure::core::request::NewRecord;

macro_rules! schemas {
    ($($name:literal),*) => {
        /// Every artifact with its JSON Schema. Those of items are the payload schemas of their lifecycles.
        pub const SCHEMAS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../schemas/", $name, ".schema.json")))),*];
    };
}

schemas!(
    "ticket",
    "blocker",
    "event",
    "context_snapshot",
    "workorder",
    "output_bundle",
    "run_record",
    "pause_state",
    "claim_record"
);

/// Those that are records. Nobody writes a record of such a label that does not fit.
const RECORDS: [&str; 4] = ["context_snapshot", "output_bundle", "run_record", "pause_state"];

static COMPILED: LazyLock<BTreeMap<&'static str, Schema>> = LazyLock::new(|| {
    let compile = |(name, source): &(&'static str, &str)| {
        let source = serde_json::from_str(source).expect("a shipped schema is JSON");
        (*name, Schema::compile(source).expect("a shipped schema is one"))
    };
    SCHEMAS.iter().filter(|(name, _)| RECORDS.contains(name)).map(compile).collect()
});

/// Whether a record of this label may be written. Labels that are not ours are not judged.
pub fn fits(label: &str, body: &[u8]) -> Result<(), Problem> {
    if !RECORDS.contains(&label) {
        return Ok(());
    }
    let value: Value =
        serde_json::from_slice(body).map_err(|why| Problem::invalid(format!("{label}: {why}")))?;
    match COMPILED[label].violation(&value) {
        None => Ok(()),
        Some(violation) => {
            Err(Problem::new(Code::SchemaViolation, format!("the {label} does not fit: {violation}")))
        }
    }
}

/// The record of an artifact.
pub(super) fn record(label: &str, name: &str, artifact: &impl Serialize) -> Result<NewRecord, Problem> {
    let body = super::kept::body(artifact)?;
    fits(label, body.bytes())?;
    let word = |not: tenure::core::word::NotAWord| Problem::invalid(not.to_string());
    Ok(NewRecord { label: label.parse().map_err(word)?, name: name.parse().map_err(word)?, body })
}

/// The same for a worker, whose mistake it is.
pub(super) fn checked<T: Serialize>(label: &str, artifact: T) -> Result<T, Failure> {
    let bytes = serde_json::to_vec(&artifact).map_err(|why| Failure::permanent(why.to_string()))?;
    match fits(label, &bytes) {
        Ok(()) => Ok(artifact),
        Err(problem) => Err(Failure::permanent(problem.to_string())),
    }
}
