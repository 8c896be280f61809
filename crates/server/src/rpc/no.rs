//! A problem as RPC tells it: a code of the protocol, words that begin with Tenure's own code, and the problem itself as a detail.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use connectrpc::{ConnectError, ErrorCode, ErrorDetail, Protocol};
use serde_json::Value;

use super::answer;
use super::schema::Schema;
use crate::problem::Problem;

/// gRPC tells a no in headers, of which many clients take 8 KiB in all. So its words are cut, and of what only this problem has, what is
/// long is left out. Elsewhere a no has a body, and is whole.
const WORDS_MAX: usize = 512;
const MEMBER_MAX: usize = 256;
/// What every problem has.
const MEMBERS: [&str; 6] = ["type", "title", "status", "detail", "code", "instance"];

pub fn error(problem: &Problem, path: &str, protocol: Option<Protocol>) -> ConnectError {
    let mut document = problem.document(Some(path));
    if protocol != Some(Protocol::Connect) {
        fit(&mut document);
    }
    let words = format!("{}: {}", problem.code(), document["detail"].as_str().unwrap_or_default());
    let mut error = ConnectError::new(code(problem.status_code()), words).with_headers(problem.headers());
    error.details.extend(detail(document));
    error
}

/// What REST says by a status. A no of the item's state is never one that goes away by asking again.
fn code(status: u16) -> ErrorCode {
    match status {
        400 | 405 | 415 | 422 => ErrorCode::InvalidArgument,
        401 => ErrorCode::Unauthenticated,
        403 => ErrorCode::PermissionDenied,
        404 => ErrorCode::NotFound,
        409 => ErrorCode::FailedPrecondition,
        408 | 504 => ErrorCode::DeadlineExceeded,
        413 | 429 => ErrorCode::ResourceExhausted,
        503 => ErrorCode::Unavailable,
        // Lifecycles name codes of their own, and none is a mistake of ours.
        402..500 => ErrorCode::FailedPrecondition,
        _ => ErrorCode::Internal,
    }
}

fn fit(document: &mut Value) {
    let Some(members) = document.as_object_mut() else { return };
    members.retain(|name, value| MEMBERS.contains(&name.as_str()) || value.to_string().len() <= MEMBER_MAX);
    for name in ["detail", "instance"] {
        if let Some(Value::String(text)) = members.get_mut(name) {
            text.truncate(text.floor_char_boundary(WORDS_MAX));
        }
    }
}

fn detail(document: Value) -> Option<ErrorDetail> {
    let schema = Schema::get();
    let message = answer::json(&schema.pool, schema.problem, document.to_string().as_bytes()).ok()?;
    Some(ErrorDetail {
        type_url: schema.pool.message(schema.problem).full_name().to_string(),
        value: Some(STANDARD_NO_PAD.encode(message.encode_to_vec())),
        debug: Some(document),
    })
}
