//! What a model answered, read as data of one form. Anything else is a no with its reason, never half a set.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::ask::TYPES;
use crate::claims::decompose::Part;
use crate::text::nfc;

/// A sentence is shorter; what is longer was not taken apart.
const STATEMENT_BYTES_MAX: usize = 2_000;

/// A key stands in paths and in people's terminals.
const KEY_BYTES_MAX: usize = 100;

/// So much of what somebody else said goes into a reason.
const EXCERPT_CHARACTERS_MAX: usize = 200;

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    parts: Vec<Part>,
}

pub fn read(body: &[u8], parts_max: usize, tokens_max: u32) -> Result<Vec<Part>, String> {
    let completion: Completion =
        serde_json::from_slice(body).map_err(|why| format!("answered no completion: {why}"))?;
    let choice = completion.choices.into_iter().next().ok_or("answered without a choice")?;
    if let Some(refusal) = choice.message.refusal {
        return Err(format!("refused: {}", excerpt(&refusal)));
    }
    match choice.finish_reason.as_deref() {
        Some("stop") | None => {}
        Some("length") => return Err(format!("was cut off after {tokens_max} tokens")),
        Some("content_filter") => return Err("refused: its content filter stopped it".to_string()),
        Some(other) => return Err(format!("stopped for another reason: {}", excerpt(other))),
    }
    let content = choice.message.content.ok_or("answered nothing")?;
    let Parts { parts } = serde_json::from_str(&content)
        .map_err(|why| format!("answered something else than parts ({why}): {}", excerpt(&content)))?;
    checked(parts, parts_max)
}

fn checked(parts: Vec<Part>, parts_max: usize) -> Result<Vec<Part>, String> {
    if parts.is_empty() {
        return Err("found no statement in the text".to_string());
    }
    if parts.len() > parts_max {
        return Err(format!("answered {} parts, more than {parts_max}", parts.len()));
    }
    let mut keys = BTreeSet::new();
    let mut good = Vec::with_capacity(parts.len());
    for Part { key, statement, expected_type } in parts {
        let statement = normalized(&statement);
        if !is_key(&key) {
            return Err(format!("answered the key {:?}, which is none", excerpt(&key)));
        }
        if !keys.insert(key.clone()) {
            return Err(format!("answered the key {key} twice"));
        }
        if !TYPES.contains(&expected_type.as_str()) {
            return Err(format!("expects {:?} of {key}, which is no type", excerpt(&expected_type)));
        }
        if statement.is_empty() || statement.len() > STATEMENT_BYTES_MAX {
            return Err(format!("answered a statement of {} bytes for {key}", statement.len()));
        }
        good.push(Part { key, statement, expected_type });
    }
    Ok(good)
}

/// Letters, digits, `-`, `_`, `.`, and a slash inside.
fn is_key(key: &str) -> bool {
    let inner = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_' | '.' | '/');
    let ends = key.starts_with(char::is_alphanumeric) && key.ends_with(char::is_alphanumeric);
    key.len() <= KEY_BYTES_MAX && ends && key.chars().all(inner) && nfc(key) == key
}

fn normalized(statement: &str) -> String {
    let composed = nfc(statement);
    let words = composed.split(|it: char| it.is_whitespace() || it.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The beginning of what somebody said, in one line.
pub fn excerpt(said: &str) -> String {
    let line = normalized(said);
    match line.char_indices().nth(EXCERPT_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
