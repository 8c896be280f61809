//! What is wrong with a body or a URL, in words that are no programming language's, with the name of the field or parameter.
//!
//! A field is named by the way to it, `effects.moves[0].item`; a parameter by its name.

use crate::problem::Problem;

/// Of what somebody sent so much is repeated to them.
const SHOWN_MAX: usize = 100;

/// Where a request was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Body,
    Query,
}

impl Part {
    /// What its parts are called.
    fn one(self) -> &'static str {
        match self {
            Part::Body => "field",
            Part::Query => "parameter",
        }
    }
}

/// A fault that a reader found at this place, in the reader's own words.
pub fn told(part: Part, path: &str, why: &str) -> Problem {
    // Where in the text is of use only to who can not be told the field.
    let why = why.rsplit_once(" at line ").map_or(why, |(why, _)| why);
    let one = part.one();
    if let Some(name) = quoted(why, "missing field `") {
        return Problem::wrong(&within(path, name), "it is missing");
    }
    if let Some(name) = quoted(why, "duplicate field `") {
        return Problem::wrong(&within(path, name), "it is there twice");
    }
    if let Some(name) = quoted(why, "unknown field `") {
        let known = known(why, one);
        return Problem::wrong(&within(path, name), format!("there is no such {one}; {known}"));
    }
    // As messages of RPC have it; a list of all fields is in their description.
    if let Some((name, _)) = why.strip_prefix("unknown field \"").and_then(|rest| rest.split_once('"')) {
        return Problem::wrong(&within(path, name), format!("there is no such {one}"));
    }
    let detail = match (why.strip_prefix("invalid type: ").or(why.strip_prefix("invalid value: ")), why) {
        (Some(rest), _) => match rest.rsplit_once(", expected ") {
            Some((found, expected)) => {
                format!("it is {}, and should be {}", sent(found), wanted(expected))
            }
            None => rest.to_string(),
        },
        (None, "invalid digit found in string" | "cannot parse integer from empty string") => {
            "this is no whole number from 0 up".to_string()
        }
        (None, "number too large to fit in target type") => "this number is too large".to_string(),
        (None, "provided string was not `true` or `false`") => "this is neither true nor false".to_string(),
        (None, other) => match quoted(other, "unknown variant `") {
            Some(name) => format!("there is no `{}`; {}", cut(name), known(other, "value")),
            None => cut(other),
        },
    };
    match path {
        "." if part == Part::Query => Problem::invalid(format!("the parameters can not be read: {detail}")),
        "." => Problem::invalid(format!("the body is not as it should be: {detail}")),
        path => Problem::wrong(path, detail),
    }
}

/// The name that stands behind these words.
fn quoted<'a>(why: &'a str, before: &str) -> Option<&'a str> {
    Some(why.strip_prefix(before)?.split_once('`')?.0)
}

/// The way to a field of what is at this place. Some readers have named it already.
fn within(path: &str, name: &str) -> String {
    match path {
        "." => name.to_string(),
        path if path == name || path.ends_with(&format!(".{name}")) => path.to_string(),
        path => format!("{path}.{name}"),
    }
}

/// The names that there are.
fn known(why: &str, one: &str) -> String {
    let names = why.rsplit_once(", expected ").map_or("", |(_, names)| names);
    let names = names.strip_prefix("one of ").unwrap_or(names);
    match names.contains('`') {
        true => format!("there is {names}"),
        false => format!("there is no {one} at all"),
    }
}

/// What was found, as JSON has it.
fn sent(found: &str) -> String {
    let (sort, value) = found.split_once([' ']).unwrap_or((found, ""));
    match sort {
        "integer" | "boolean" => value.trim_matches('`').to_string(),
        "floating" => value.trim_start_matches("point ").trim_matches('`').to_string(),
        "string" => cut(value),
        "sequence" => "a list".to_string(),
        "map" => "an object".to_string(),
        _ => cut(found),
    }
}

fn wanted(expected: &str) -> String {
    let words = match expected {
        "i8" => "a whole number from -128 to 127",
        "u8" | "u16" => "a small whole number from 0 up",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 up",
        "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    words.to_string()
}

/// The beginning of a text from a request, short enough to be repeated in the answer.
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_without_a_word_of_rust_and_with_its_field() {
        for (path, why, field, detail) in [
            (".", "missing field `payload` at line 1 column 2", "payload", "payload: it is missing"),
            (
                "effects",
                "missing field `item` at line 1 column 2",
                "effects.item",
                "effects.item: it is missing",
            ),
            (
                "x",
                "unknown field `x`, expected one of `a`, `b` at line 1 column 4",
                "x",
                "x: there is no such field; there is `a`, `b`",
            ),
            (
                "priority",
                "invalid value: integer `300`, expected i8 at line 1 column 9",
                "priority",
                "priority: it is 300, and should be a whole number from -128 to 127",
            ),
            (
                "kind",
                "invalid type: integer `5`, expected a string",
                "kind",
                "kind: it is 5, and should be a string",
            ),
            (
                "a[0].b",
                "invalid type: map, expected a sequence",
                "a[0].b",
                "a[0].b: it is an object, and should be a list",
            ),
            (
                "catch_up",
                "unknown variant `some`, expected one of `skip`, `one`, `all`",
                "catch_up",
                "catch_up: there is no `some`; there is `skip`, `one`, `all`",
            ),
        ] {
            let document = told(Part::Body, path, why).document(None);
            assert_eq!(
                (document["field"].as_str(), document["detail"].as_str()),
                (Some(field), Some(detail))
            );
        }
        let document = told(Part::Query, "limit", "invalid digit found in string").document(None);
        assert_eq!(document["detail"], "limit: this is no whole number from 0 up");
        let long = format!("invalid type: string \"{}\", expected u64", "x".repeat(1_000));
        assert!(
            told(Part::Body, "n", &long).document(None)["detail"].as_str().unwrap().chars().count() < 200
        );
    }
}
