//! JSON: what stands in it as lines `path: value`, an object a paragraph; a list of equal objects is a table. A value a line is a list.

use serde_json::{Map, Value};

use super::form::Form;
use super::{BROKEN, TOO_LARGE};
use crate::runs::builtin::never;
use crate::runs::sniff::json_lines;
use crate::runs::step::StepFailed;

pub(super) fn read(text: &str, form: &mut Form) -> Result<(), StepFailed> {
    // The parser refuses what is nested deeper than 128 levels, so walking it needs no bound of its own.
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(why) => by_line(text).ok_or_else(|| {
            let why = why.to_string();
            never(if why.starts_with("recursion limit") { TOO_LARGE } else { BROKEN }, why)
        })?,
    };
    walk("", 1, &value, form)
}

fn by_line(text: &str) -> Option<Value> {
    let values = json_lines(text)?.map(|line| serde_json::from_str(line).ok());
    values.collect::<Option<Vec<Value>>>().map(Value::Array)
}

fn walk(path: &str, level: u8, value: &Value, form: &mut Form) -> Result<(), StepFailed> {
    form.go_on()?;
    match value {
        Value::Object(fields) => object(path, level, fields, form),
        Value::Array(values) => match columns(values) {
            Some(columns) => {
                name(path, level, form)?;
                table(&columns, values, form)
            }
            None => list(path, level, values, form),
        },
        single => form.paragraph(&line(path, single)),
    }
}

/// What has no parts first, then the rest, each under its path.
fn object(path: &str, level: u8, fields: &Map<String, Value>, form: &mut Form) -> Result<(), StepFailed> {
    let (single, rest): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_single(value));
    if !single.is_empty() {
        name(path, level, form)?;
        let lines: Vec<String> = single.iter().map(|(key, value)| line(key, value)).collect();
        form.paragraph(&lines.join("\n"))?;
    }
    for (key, value) in rest {
        walk(&under(path, key), level.saturating_add(1), value, form)?;
    }
    Ok(())
}

fn list(path: &str, level: u8, values: &[Value], form: &mut Form) -> Result<(), StepFailed> {
    if values.iter().any(is_single) {
        name(path, level, form)?;
    }
    for (at, value) in values.iter().enumerate() {
        match is_single(value) {
            true => form.item(1, &shown(value))?,
            false => walk(&shortened(format!("{path}[{at}]")), level.saturating_add(1), value, form)?,
        }
    }
    Ok(())
}

fn name(path: &str, level: u8, form: &mut Form) -> Result<(), StepFailed> {
    match path.is_empty() {
        true => Ok(()),
        false => form.heading(level, path),
    }
}

/// The names of columns, if every value is an object of single values; in the order in which they are first met.
fn columns(values: &[Value]) -> Option<Vec<&str>> {
    let mut columns: Vec<&str> = Vec::new();
    for value in values {
        for (key, value) in value.as_object()? {
            if !is_single(value) || columns.len() > COLUMNS_MAX {
                return None;
            }
            if !columns.contains(&key.as_str()) {
                columns.push(key);
            }
        }
    }
    (values.len() >= 2 && !columns.is_empty()).then_some(columns)
}

/// Objects with more names than this are no rows of one table; each new name is looked for among the others.
const COLUMNS_MAX: usize = 64;

fn table(columns: &[&str], values: &[Value], form: &mut Form) -> Result<(), StepFailed> {
    let mut rows = vec![columns.iter().map(|column| column.to_string()).collect()];
    for value in values {
        form.cells(columns.len())?;
        rows.push(columns.iter().map(|column| value.get(column).map(shown).unwrap_or_default()).collect());
    }
    form.table(rows)
}

fn is_single(value: &Value) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) => false,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn line(path: &str, value: &Value) -> String {
    match path.is_empty() {
        true => shown(value),
        false => format!("{path}: {}", shown(value)),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A path is shown to people. Longer ones would be copied with every value beneath them; of those the end is kept.
const PATH_BYTES_MAX: usize = 256;

fn under(path: &str, key: &str) -> String {
    match path.is_empty() {
        true => shortened(key.to_string()),
        false => shortened(format!("{path}.{key}")),
    }
}

fn shortened(path: String) -> String {
    let from = path.len().saturating_sub(PATH_BYTES_MAX);
    match (from..path.len()).find(|from| path.is_char_boundary(*from)) {
        Some(from) if from > 0 => format!("…{}", &path[from..]),
        _ => path,
    }
}
