//! Payloads that make every payload guard of a table hold once and fail once.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use crate::body::Body;
use crate::lifecycle::Table;
use crate::lifecycle::guard::{Comparison, Guard};

/// Each guarded field may double the number of payloads; so many fields are varied, the rest stay at their first value.
const FIELDS_MAX: usize = 6;

pub fn variants(table: &Table) -> Vec<Body> {
    let mut fields: Vec<(String, Vec<Value>)> = Vec::new();
    for guard in table.rows.iter().flat_map(|row| &row.guards) {
        let Guard::Payload(comparison) = guard else { continue };
        let values = around(comparison);
        match fields.iter_mut().find(|(pointer, _)| *pointer == comparison.pointer) {
            Some((_, known)) => known.extend(values),
            None => fields.push((comparison.pointer.clone(), values)),
        }
    }
    if let Some(key) = &table.settings.key {
        fields.retain(|(pointer, _)| pointer != key);
        fields.push((key.clone(), alloc::vec![Value::String("k".into())]));
    }
    let mut payloads = alloc::vec![Value::Object(Map::new())];
    for (at, (pointer, values)) in fields.iter().enumerate() {
        let values = if at < FIELDS_MAX { values.as_slice() } else { values.get(..1).unwrap_or_default() };
        let with = |payload: &Value| -> Vec<Value> {
            values.iter().map(|value| set(payload.clone(), pointer, value.clone())).collect()
        };
        payloads = payloads.iter().flat_map(with).collect();
    }
    distinct(table, payloads)
        .iter()
        .filter_map(|payload| Body::json(format!("{payload}").into_bytes()).ok())
        .collect()
}

/// One payload for each way the guards can turn out.
fn distinct(table: &Table, payloads: Vec<Value>) -> Vec<Value> {
    let guards = table.rows.iter().flat_map(|row| &row.guards);
    let comparisons: Vec<&Comparison> = guards
        .filter_map(|guard| match guard {
            Guard::Payload(comparison) => Some(comparison),
            _ => None,
        })
        .collect();
    let mut seen = BTreeSet::new();
    let turns_out = |payload: &Value| comparisons.iter().map(|c| c.holds(payload)).collect::<Vec<bool>>();
    payloads.into_iter().filter(|payload| seen.insert(turns_out(payload))).collect()
}

/// The literal itself, something below it and something above it.
fn around(comparison: &Comparison) -> Vec<Value> {
    match &comparison.literal {
        Value::Number(number) => {
            let middle = number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or(0.0) as i64);
            let mut values: Vec<Value> =
                [middle.saturating_sub(1), middle.saturating_add(1)].map(Value::from).into();
            values.insert(0, Value::Number(number.clone()));
            values
        }
        Value::String(text) => alloc::vec![
            Value::String(text.clone()),
            Value::String(String::new()),
            Value::String(format!("{text}~"))
        ],
        Value::Bool(_) => alloc::vec![Value::Bool(true), Value::Bool(false)],
        _ => alloc::vec![Value::Null, Value::Bool(true)],
    }
}

fn set(mut payload: Value, pointer: &str, value: Value) -> Value {
    let mut place = &mut payload;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(fields) = place else { break };
        place = fields.entry(part).or_insert(Value::Null);
    }
    *place = value;
    payload
}
