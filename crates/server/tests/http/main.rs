//! The service over real sockets.

mod kit;
#[path = "../../../databases/tests/conformance/schema.rs"]
mod schema;

mod access;
mod bulk;
mod claims;
mod documents;
mod door;
mod ending;
mod hostile;
mod items;
mod jobs;
mod lifecycles;
mod log;
mod lost;
mod metrics;
mod operators;
mod own;
mod rpc;
mod scene;
mod slow;
mod storms;
mod tenants;
mod tickets;
mod todos;
mod tokens;
mod tracing;
mod unread;
mod watching;
mod words;
mod working;
