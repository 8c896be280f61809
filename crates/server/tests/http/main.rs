//! The service over real sockets.

mod kit;
#[path = "../../../databases/tests/conformance/schema.rs"]
mod schema;

mod access;
mod bulk;
mod hostile;
mod items;
mod jobs;
mod lifecycles;
mod log;
mod lost;
mod operators;
mod rpc;
mod slow;
mod storms;
mod tenants;
mod tickets;
mod tokens;
mod tracing;
mod watching;
mod working;
