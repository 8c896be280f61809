//! The service over real sockets.

mod kit;
#[path = "../../../databases/tests/conformance/schema.rs"]
mod schema;

mod access;
mod bulk;
mod items;
mod jobs;
mod lifecycles;
mod log;
mod operators;
mod rpc;
mod tokens;
mod tracing;
mod watching;
mod working;
