//! What is asked for once, however often it is sent: the idempotency key of a request, and the status of its answer.

use axum::http::{HeaderMap, HeaderValue, StatusCode};

use crate::problem::Problem;

const HEADER: &str = "idempotency-key";

/// The key that the header has.
pub fn header(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let text = |value: &HeaderValue| value.to_str().map(str::to_string).is_ok();
    match headers.get(HEADER) {
        Some(value) if text(value) => Ok(value.to_str().ok()),
        Some(_) => Err(Problem::wrong("Idempotency-Key", "only visible ASCII fits into a header")),
        None => Ok(None),
    }
}

/// The key of a body or of its header, which are the same: what is said in two places is said once.
pub fn key(field: Option<String>, headers: &HeaderMap) -> Result<Option<String>, Problem> {
    one(field, header(headers)?)
}

pub fn one(said: Option<String>, other: Option<&str>) -> Result<Option<String>, Problem> {
    match (said, other) {
        (Some(said), Some(other)) if said != other => {
            Err(Problem::wrong("idempotency_key", "it is said twice, and not the same; leave one out"))
        }
        (said, other) => Ok(said.or_else(|| other.map(str::to_string))),
    }
}

/// 201 for what is new, 200 for a repeat.
pub fn status(fresh: bool) -> StatusCode {
    if fresh { StatusCode::CREATED } else { StatusCode::OK }
}
