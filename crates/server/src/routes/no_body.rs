//! Refuses a body where a route reads none. Whether it reads one is what its description says, so no route has to remember it.
//!
//! No body, an empty one and `{}` are the same: a client may send an object without fields with every request.

use std::sync::{Arc, LazyLock};

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use serde_json::{Map, Value};

use crate::app::App;
use crate::extract::read;
use crate::fault::cut;
use crate::problem::Problem;

/// The methods of one path whose descriptions have a body.
pub type WithBody = fn() -> Vec<Method>;

/// The same handlers; those without a body refuse one. The descriptions are made when the first body arrives.
pub fn refuse(handlers: MethodRouter<App>, with_body: WithBody) -> MethodRouter<App> {
    handlers.route_layer(from_fn_with_state(Arc::new(LazyLock::new(with_body)), check))
}

async fn check(
    State(with_body): State<Arc<LazyLock<Vec<Method>>>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.body().is_end_stream() || with_body.contains(request.method()) {
        return Ok(next.run(request).await);
    }
    let (parts, body) = request.into_parts();
    let mut unread = Request::new(body);
    *unread.extensions_mut() = parts.extensions.clone();
    has_no_field(&read(unread).await?)?;
    Ok(next.run(Request::from_parts(parts, Body::empty())).await)
}

fn has_no_field(bytes: &[u8]) -> Result<(), Problem> {
    const NONE: &str = "this call reads no body; leave it out";
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    let fields: Map<String, Value> = serde_json::from_slice(bytes).map_err(|_| Problem::invalid(NONE))?;
    match fields.keys().next() {
        None => Ok(()),
        Some(name) => Err(Problem::wrong(&cut(name), format!("there is no such field; {NONE}"))),
    }
}
